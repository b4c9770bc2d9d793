// SPDX-License-Identifier: Apache-2.0
#include "qa/json_text.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/escape.h"
#include "base/utf8.h"

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

// The value at `at` that is none: up to the commas, brackets and spaces around it.
absl::string_view WordAt(absl::string_view text, size_t at) {
  constexpr absl::string_view kAround = ",:[]{} \t\r\n";
  const size_t before = text.find_last_of(kAround, at);
  text.remove_prefix(before == absl::string_view::npos ? 0 : before + 1);
  return text.substr(0, text.find_first_of(kAround));
}

// The library's `reason`, found at `at`, in words about the text; as it is where there are none.
std::string PlainReason(absl::string_view text, size_t at, absl::string_view reason) {
  if (absl::StartsWith(reason, "unexpected end of input")) {
    return absl::StripAsciiWhitespace(text).empty() ? "an empty text"
                                                    : "the text ends within a value";
  }
  if (absl::EndsWith(reason, "expected end of input")) {
    return "more text behind the value";
  }
  const absl::string_view before = absl::StripTrailingAsciiWhitespace(text.substr(0, at));
  if (absl::StartsWith(reason, "unexpected") && absl::EndsWith(before, ",")) {
    return absl::StrCat("a comma before ", Shown(text.substr(at, 1)));
  }
  if (const absl::string_view word = WordAt(text, at);
      absl::StartsWith(reason, "invalid literal") && !word.empty()) {
    return absl::StrCat(Shown(word), " is no JSON value");
  }
  if (absl::StartsWith(reason, "number overflow")) {
    return absl::StrCat("the number ", Shown(WordAt(text, at)), " is too large");
  }
  return std::string(reason.substr(0, reason.find("; last read:")));
}

}  // namespace

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
    return JsonReason(error.what());
  }
  const size_t at = finder.position == 0 ? 0 : finder.position - 1;
  std::string reason = PlainReason(text, std::min(at, text.size()), JsonReason(finder.message));
  if (reason.size() > 240) {
    reason = absl::StrCat(reason.substr(0, 200), "…");
    while (FindInvalidUtf8(reason) != absl::string_view::npos) {
      reason.erase(FindInvalidUtf8(reason), 1);
    }
  }
  return absl::StrCat(place(at), ": ", reason);
}

std::string Shown(absl::string_view text) { return Quoted(text, 60); }

}  // namespace concur::qa
