// SPDX-License-Identifier: Apache-2.0
// Shape that a reader of YAML asks for at a place of its document, as its reads tell: the one
// source of the JSON Schemas (yaml/schema.h).
//
// Thread-compatible.
#ifndef CONCUR_YAML_SHAPE_H_
#define CONCUR_YAML_SHAPE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace concur::spec {

struct Shape {
  enum class Scalar { kText, kName, kPath, kBool, kNumber, kCpus, kParam, kDuration, kBytes };
  struct Range {
    int64_t low = 0;
    int64_t high = 0;
  };

  std::set<Scalar> scalars;
  std::optional<Range> integer;
  std::vector<std::string> choices;  // the words that are accepted, where they are fixed
  std::map<std::string, std::unique_ptr<Shape>, std::less<>> fields;
  // Fields that every reading of this mapping required; nullopt: never read as one.
  std::optional<std::set<std::string>> required;
  std::unique_ptr<Shape> items;    // in a list
  std::unique_ptr<Shape> entries;  // in a mapping with any keys
  std::string about;               // text that says what is expected

  Shape& Field(absl::string_view key);
  Shape& Items();
  Shape& Entries();
  void AddScalar(Scalar scalar) { scalars.insert(scalar); }
  // The widest of all ranges.
  void AddInteger(int64_t low, int64_t high);
  // Adds the choices of an enumeration's error: `expected a KIND (a, b), got …`.
  void AddChoices(absl::string_view error);
  void AddAbout(absl::string_view what);
  // One reading of a mapping was finished, which required these fields.
  void AddReading(const std::set<std::string>& needed);

  // True if any form is known.
  bool IsKnown() const;
  // Amount of what is known, all below included.
  size_t Size() const;
};

}  // namespace concur::spec

#endif  // CONCUR_YAML_SHAPE_H_
