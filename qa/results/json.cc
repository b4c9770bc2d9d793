// SPDX-License-Identifier: Apache-2.0
#include "qa/results/json.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/decimal.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "qa/json_fields.h"
#include "qa/raw_bytes.h"
#include "qa/results/results.h"
#include "qa/results/settings.h"

namespace concur::imports {
namespace {

using simdjson::dom::element_type;

// `text` with NaN, Infinity and -Infinity outside strings as null.
std::string WithoutNonFinite(absl::string_view text) {
  std::string result;
  result.reserve(text.size() + 64);
  bool in_string = false;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (in_string) {
      const size_t width = c == '\\' && i + 1 < text.size() ? 2 : 1;
      result.append(text.data() + i, width);
      in_string = c != '"';
      i += width;
      continue;
    }
    in_string = c == '"';
    size_t width = 0;
    for (const absl::string_view word : {"NaN", "Infinity", "-Infinity"}) {
      if (absl::StartsWith(text.substr(i), word)) {
        width = word.size();
      }
    }
    if (width > 0) {
      result += "null";
      i += width;
    } else {
      result += c;
      ++i;
    }
  }
  return result;
}

std::string KindOfValue(const MaybeJson& value) {
  if (!value.has_value()) {
    return "nothing";
  }
  switch (value->type()) {
    case element_type::ARRAY:
      return "a list";
    case element_type::OBJECT:
      return "an object";
    case element_type::STRING: {
      const std::string_view text = *value;
      return absl::StrCat("\"", absl::string_view(text.data(), text.size()).substr(0, 60), "\"");
    }
    default:
      return simdjson::minify(*value);
  }
}

}  // namespace

absl::StatusOr<JsonValue> JsonDocument::Parse(absl::string_view text, absl::string_view place) {
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");
  JsonValue root;
  simdjson::error_code error = parser_.parse(text.data(), text.size()).get(root);
  if (error == simdjson::SUCCESS) {
    return root;
  }
  if (absl::StrContains(text, "NaN") || absl::StrContains(text, "Infinity")) {
    const std::string clean = WithoutNonFinite(text);
    error = parser_.parse(clean.data(), clean.size()).get(root);
    if (error == simdjson::SUCCESS) {
      return root;
    }
  }
  qa::JsonFields fields;
  fields.place = std::string(place);
  return fields.BadJson(text, error);
}

absl::StatusOr<JsonValue> JsonDocument::ReadAny(const std::string& path) {
  CONCUR_ASSIGN_OR_RETURN(const std::string text, qa::ReadUnpacked(path, kDocumentBytesMax));
  digest_ = Sha256Of(text);
  return Parse(text, path);
}

absl::StatusOr<JsonValue> JsonDocument::Read(const std::string& path) {
  CONCUR_ASSIGN_OR_RETURN(const JsonValue root, ReadAny(path));
  if (!root.is_object()) {
    return WrongField(path, "the document", "an object", root);
  }
  return root;
}

absl::StatusOr<MaybeJson> NextLine(qa::LineReader& lines, JsonDocument& document) {
  do {
    CONCUR_ASSIGN_OR_RETURN(const bool more, lines.Next());
    if (!more) {
      return MaybeJson();
    }
  } while (lines.line().empty());
  CONCUR_ASSIGN_OR_RETURN(const JsonValue value, document.Parse(lines.line(), lines.place()));
  return MaybeJson(value);
}

MaybeJson Field(const MaybeJson& value, absl::string_view name) {
  simdjson::dom::object object;
  JsonValue found;
  if (!value.has_value() || value->get(object) != simdjson::SUCCESS ||
      object.at_key(std::string_view(name.data(), name.size())).get(found) != simdjson::SUCCESS ||
      found.is_null()) {
    return std::nullopt;
  }
  return found;
}

std::optional<double> Number(const MaybeJson& value) {
  double number = 0;
  if (!value.has_value() || !value->is_number() || value->get(number) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  return number;
}

std::optional<double> LooseNumber(const MaybeJson& value) {
  double number = 0;
  if (const auto exact = Number(value)) {
    return exact;
  }
  if (absl::SimpleAtod(Text(value), &number) && std::isfinite(number)) {
    return number;
  }
  return std::nullopt;
}

std::optional<int64_t> Integer(const MaybeJson& value) {
  int64_t number = 0;
  if (!value.has_value() || value->get(number) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  return number;
}

std::optional<bool> Boolean(const MaybeJson& value) {
  bool truth = false;
  if (!value.has_value() || value->get(truth) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  return truth;
}

std::string Text(const MaybeJson& value) {
  std::string_view text;
  if (value.has_value() && value->get(text) == simdjson::SUCCESS) {
    return std::string(text);
  }
  if (const std::optional<int64_t> integer = Integer(value)) {
    return absl::StrCat(*integer);
  }
  const std::optional<double> number = Number(value);
  return number.has_value() ? ShortestDecimal(*number) : "";
}

std::optional<simdjson::dom::object> Object(const MaybeJson& value) {
  simdjson::dom::object object;
  if (!value.has_value() || value->get(object) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  return object;
}

std::optional<simdjson::dom::array> List(const MaybeJson& value) {
  simdjson::dom::array list;
  if (!value.has_value() || value->get(list) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  return list;
}

void AddSettings(Settings& settings, absl::string_view group, const MaybeJson& value,
                 std::initializer_list<absl::string_view> except) {
  const auto object = Object(value);
  if (!value.has_value()) {
    return;
  }
  if (!object.has_value()) {
    const std::string text = value->is_string() ? Text(value) : simdjson::minify(*value);
    AddSetting(settings, "", group, value->is_number() ? Text(value) : text);
    return;
  }
  for (const auto field : *object) {
    const absl::string_view name(field.key.data(), field.key.size());
    if (std::find(except.begin(), except.end(), name) != except.end()) {
      continue;
    }
    if (field.value.is_object()) {
      AddSettings(settings, name, field.value, except);
    } else if (!field.value.is_null()) {
      const MaybeJson scalar(field.value);
      const bool is_plain = scalar->is_number() || scalar->is_string();
      AddSetting(settings, group, name, is_plain ? Text(scalar) : simdjson::minify(*scalar));
    }
  }
}

void AddDataSettings(Settings& settings, absl::string_view group, const MaybeJson& value) {
  const std::string text = Text(value);
  if (!text.empty() && absl::StrContains("/~.", text[0])) {
    AddSetting(settings, "", group, text.substr(text.rfind('/') + 1));
  } else {
    AddSettings(settings, group, value);
  }
}

absl::Status WrongField(absl::string_view place, absl::string_view field,
                        absl::string_view expected, const MaybeJson& found) {
  return absl::InvalidArgumentError(
      absl::StrCat(place, ": ", field, ": expected ", expected, ", got ", KindOfValue(found)));
}

}  // namespace concur::imports
