// SPDX-License-Identifier: Apache-2.0
// Named values that describe a network: sizes, switches, rates. An approach declares each of its
// options with the authors' value; a command line, a model file or a fixture may change it.
//
// Thread-compatible.
#ifndef CONCUR_STUDIES_READERS_OPTIONS_H_
#define CONCUR_STUDIES_READERS_OPTIONS_H_

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace concur::readers {

class Options {
 public:
  using Value = std::variant<bool, int64_t, double, std::string>;
  using Values = std::map<std::string, Value, std::less<>>;

  Options() = default;
  Options(std::initializer_list<std::pair<const std::string, Value>> values) : values_(values) {}

  // REQUIRES: the option is declared, with this type.
  bool Flag(absl::string_view name) const;
  int64_t Int(absl::string_view name) const;
  double Real(absl::string_view name) const;
  const std::string& Text(absl::string_view name) const;
  bool Has(absl::string_view name) const { return values_.find(name) != values_.end(); }

  // Declares the option or replaces its value.
  void Set(absl::string_view name, Value value) {
    values_.insert_or_assign(std::string(name), std::move(value));
  }
  // Gives a declared option a value of its own type; an integer also serves as a real number.
  // InvalidArgument for an unknown option, with a suggestion, and for a value of another type.
  absl::Status Assign(absl::string_view name, const Value& value);
  // The same from text: "true", "12", "0.4", "lstm".
  absl::Status Parse(absl::string_view name, absl::string_view text);

  const Values& values() const { return values_; }

 private:
  const Value& At(absl::string_view name) const;

  Values values_;
};

// The value as `Parse` takes it.
std::string OptionText(const Options::Value& value);

// Names and values of `--setting NAME=VALUE`. InvalidArgument for one without "=", and for a name
// that is there twice.
absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ParseAssignments(
    const std::vector<std::string>& assignments);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_OPTIONS_H_
