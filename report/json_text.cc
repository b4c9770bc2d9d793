// SPDX-License-Identifier: Apache-2.0
#include "report/json_text.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/strings/str_replace.h"

namespace concur::analysis {
namespace {

std::string DumpJson(const Json& json, int indent) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string JsonLine(const Json& json) { return DumpJson(json, -1); }

std::string IndentedJson(const Json& json) { return DumpJson(json, 2); }

std::string IndentedElement(const Json& json) {
  std::string text = absl::StrReplaceAll(DumpJson(json, 2), {{"\n", "\n  "}});
  text.resize(text.size() - 3);  // the last line feed, and its blanks
  return "  " + text;
}

Json NumberOrNull(std::optional<double> value) { return value.has_value() ? Json(*value) : Json(); }

}  // namespace concur::analysis
