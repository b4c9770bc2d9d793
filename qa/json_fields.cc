// SPDX-License-Identifier: Apache-2.0
#include "qa/json_fields.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "qa/json_text.h"

namespace concur::qa {
namespace {

using simdjson::dom::element_type;

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

std::string KindOf(const JsonFields::Element& value) {
  switch (value.type()) {
    case element_type::ARRAY:
      return "a list";
    case element_type::OBJECT:
      return "an object";
    case element_type::STRING:
      return Shown(View(std::string_view(value)));
    case element_type::NULL_VALUE:
      return "null";
    default:
      return simdjson::minify(value);
  }
}

}  // namespace

absl::Status JsonFields::Invalid(absl::string_view message) const {
  return absl::InvalidArgumentError(
      absl::StrCat(place, id.empty() ? "" : absl::StrCat(" (id ", Shown(id), ")"), ": ", message));
}

absl::Status JsonFields::Wrong(absl::string_view field, absl::string_view expected,
                               const Element& found) const {
  return Invalid(absl::StrCat(field, ": expected ", expected, ", got ", KindOf(found)));
}

absl::Status JsonFields::BadJson(absl::string_view text, simdjson::error_code code,
                                 int64_t first_line) const {
  if (code == simdjson::MEMALLOC) {
    return absl::ResourceExhaustedError(absl::StrCat(place, ": out of memory"));
  }
  std::string reason = ExplainJsonError(text, first_line);
  if (reason.empty()) {
    reason = simdjson::error_message(code);
  }
  return Invalid(absl::StrCat("not valid JSON: ", reason));
}

absl::Status JsonFields::Collect(const Element& value, absl::string_view what,
                                 const Known& known) const {
  if (!value.is_object()) {
    return Wrong(what, "an object", value);
  }
  for (const auto& [key, field_value] : simdjson::dom::object(value)) {
    for (const auto& [name, slot] : known) {
      if (View(key) == name) {
        if (slot->has_value()) {
          return Invalid(absl::StrCat(name, ": appears twice in one object"));
        }
        *slot = field_value;
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> JsonFields::Text(const std::optional<Element>& value,
                                             absl::string_view field) const {
  if (!value.has_value()) {
    return Invalid(absl::StrCat(field, ": missing; expected a string"));
  }
  if (!value->is_string()) {
    return Wrong(field, "a string", *value);
  }
  return std::string(std::string_view(*value));
}

absl::StatusOr<std::string> JsonFields::Id(const std::optional<Element>& value,
                                           absl::string_view field) const {
  if (value.has_value() && (value->is_int64() || value->is_uint64())) {
    return simdjson::minify(*value);
  }
  return Text(value, field);
}

absl::StatusOr<simdjson::dom::array> JsonFields::List(const std::optional<Element>& value,
                                                      absl::string_view field) const {
  if (!value.has_value()) {
    return Invalid(absl::StrCat(field, ": missing; expected a list"));
  }
  if (!value->is_array()) {
    return Wrong(field, "a list", *value);
  }
  return simdjson::dom::array(*value);
}

absl::StatusOr<int64_t> JsonFields::Integer(const std::optional<Element>& value,
                                            absl::string_view field) const {
  if (!value.has_value()) {
    return Invalid(absl::StrCat(field, ": missing; expected a whole number"));
  }
  int64_t number = 0;
  if (value->get(number) != simdjson::SUCCESS) {
    return Wrong(field, "a whole number", *value);
  }
  return number;
}

}  // namespace concur::qa
