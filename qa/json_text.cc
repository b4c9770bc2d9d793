// SPDX-License-Identifier: Apache-2.0
#include "qa/json_text.h"

#include <cstddef>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/utf8.h"
#include "qa/utf8.h"

namespace concur::qa {
namespace {

// Records the first error only.
class ErrorFinder : public nlohmann::json::json_sax_t {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t at, const std::string&,
                   const nlohmann::detail::exception& error) override {
    position = at;
    message = error.what();
    return false;
  }

  size_t position = 0;
  std::string message;
};

}  // namespace

void AppendJsonString(absl::string_view text, std::string& out) {
  static constexpr char kHex[] = "0123456789abcdef";
  out.push_back('"');
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (byte >= 0x20 && byte != 0x7F) {
      out.push_back(c);
    } else if (c == '\n') {
      out.append("\\n");
    } else if (c == '\t') {
      out.append("\\t");
    } else if (c == '\r') {
      out.append("\\r");
    } else {
      out.append("\\u00");
      out.push_back(kHex[byte >> 4]);
      out.push_back(kHex[byte & 0xF]);
    }
  }
  out.push_back('"');
}

std::string ExplainJsonError(absl::string_view text, int64_t first_line) {
  const auto place = [&](size_t offset) {
    offset = std::min(offset, text.size());
    int64_t line = first_line;
    size_t column = 1;
    for (size_t i = 0; i < offset; ++i) {
      column = text[i] == '\n' ? 1 : column + 1;
      line += text[i] == '\n' ? 1 : 0;
    }
    return absl::StrCat("line ", line, ", column ", column);
  };
  const size_t invalid = FindInvalidUtf8(text);
  if (invalid != absl::string_view::npos) {
    return absl::StrCat(place(invalid), ": expected UTF-8, found byte 0x",
                        absl::Hex(static_cast<unsigned char>(text[invalid]), absl::kZeroPad2));
  }
  ErrorFinder finder;
  try {
    if (nlohmann::json::sax_parse(text.begin(), text.end(), &finder)) {
      return "";
    }
  } catch (const std::exception& error) {
    return error.what();
  }
  // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while …"
  std::string reason = finder.message;
  if (const size_t cut = reason.find("syntax error"); cut != std::string::npos) {
    reason.erase(0, cut);
  }
  if (reason.size() > 240) {
    reason = absl::StrCat(reason.substr(0, 200), "…");
    while (FindInvalidUtf8(reason) != absl::string_view::npos) {
      reason.erase(FindInvalidUtf8(reason), 1);
    }
  }
  return absl::StrCat(place(finder.position == 0 ? 0 : finder.position - 1), ": ", reason);
}

std::string Shown(absl::string_view text) {
  constexpr size_t kBytesMax = 60;
  const bool cut = text.size() > kBytesMax;
  if (cut) {
    size_t end = kBytesMax;
    while (end > 0 && !IsCodePointBoundary(text, end)) {
      --end;
    }
    text = text.substr(0, end);
  }
  return absl::StrCat("\"", absl::Utf8SafeCHexEscape(text), cut ? "…" : "", "\"");
}

}  // namespace concur::qa
