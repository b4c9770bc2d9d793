// SPDX-License-Identifier: Apache-2.0
// Reads fields of JSON values from input files; errors name the place, what was expected and what
// was found. For .cc files only (it includes simdjson).
//
// Thread-compatible.
#ifndef CONCUR_QA_JSON_FIELDS_H_
#define CONCUR_QA_JSON_FIELDS_H_

#include <simdjson.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace concur::qa {

class JsonFields {
 public:
  using Element = simdjson::dom::element;
  // The fields of an object to read. An initializer list, to avoid an allocation for each object.
  using Known = std::initializer_list<std::pair<absl::string_view, std::optional<Element>*>>;

  // InvalidArgument "PLACE: MESSAGE".
  absl::Status Invalid(absl::string_view message) const;
  // InvalidArgument "PLACE: FIELD: expected EXPECTED, got FOUND".
  absl::Status Wrong(absl::string_view field, absl::string_view expected,
                     const Element& found) const;
  // Explains why the parser failed on `text` with `code`. Lines count from `first_line`.
  absl::Status BadJson(absl::string_view text, simdjson::error_code code,
                       int64_t first_line = 1) const;

  // Sets the known fields that `value` has; ignores others. InvalidArgument when `value`, called
  // `what` in the message, is not an object or has a known field twice.
  absl::Status Collect(const Element& value, absl::string_view what, const Known& known) const;
  // InvalidArgument when the field is missing or of another type.
  absl::StatusOr<std::string> Text(const std::optional<Element>& value,
                                   absl::string_view field) const;
  // An id: a string, or a whole number as its decimal digits.
  absl::StatusOr<std::string> Id(const std::optional<Element>& value,
                                 absl::string_view field) const;
  absl::StatusOr<simdjson::dom::array> List(const std::optional<Element>& value,
                                            absl::string_view field) const;
  absl::StatusOr<int64_t> Integer(const std::optional<Element>& value,
                                  absl::string_view field) const;

  std::string place;     // the current value's: "FILE:LINE: qas[2]"
  absl::string_view id;  // the current question's; named in errors unless empty
};

}  // namespace concur::qa

#endif  // CONCUR_QA_JSON_FIELDS_H_
