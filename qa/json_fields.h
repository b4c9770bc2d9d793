// Fields of JSON values that come from outside, with errors that name the place: what was
// expected, what was found. For .cc files only (it includes simdjson).
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
  // The fields of an object that the caller knows; lives on the stack, as there is one for each
  // value of a file.
  using Known = std::initializer_list<std::pair<absl::string_view, std::optional<Element>*>>;

  // InvalidArgument "PLACE: MESSAGE".
  absl::Status Invalid(absl::string_view message) const;
  // InvalidArgument "PLACE: FIELD: expected EXPECTED, got FOUND".
  absl::Status Wrong(absl::string_view field, absl::string_view expected,
                     const Element& found) const;
  // Why `text` is not JSON, after the parser said `code`. Lines count from `first_line`.
  absl::Status BadJson(absl::string_view text, simdjson::error_code code,
                       int64_t first_line = 1) const;

  // Fills the known fields that `value` has; ignores others. InvalidArgument when `value`, which
  // the message calls `what`, is no object or has a known field twice.
  absl::Status Collect(const Element& value, absl::string_view what, const Known& known) const;
  // InvalidArgument when the field is missing or of another type.
  absl::StatusOr<std::string> Text(const std::optional<Element>& value,
                                   absl::string_view field) const;
  absl::StatusOr<simdjson::dom::array> List(const std::optional<Element>& value,
                                            absl::string_view field) const;
  absl::StatusOr<int64_t> Integer(const std::optional<Element>& value,
                                  absl::string_view field) const;

  std::string place;     // of the value at hand: "FILE:LINE: qas[2]"
  absl::string_view id;  // of the question at hand, which errors name after the place; whoever sets
                         // it takes it back
};

}  // namespace concur::qa

#endif  // CONCUR_QA_JSON_FIELDS_H_
