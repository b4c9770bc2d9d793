// SPDX-License-Identifier: Apache-2.0
#include "report/text.h"

#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "analysis/statistics/intervals.h"
#include "base/utf8.h"

namespace concur::analysis {
namespace {

// Only the Unicode blocks that occur in names.
size_t WidthOf(char32_t code) {
  const auto in = [code](char32_t low, char32_t high) { return code >= low && code <= high; };
  if (in(0x0300, 0x036F) || in(0x1AB0, 0x1AFF) || in(0x20D0, 0x20FF) || in(0x200B, 0x200F) ||
      in(0xFE00, 0xFE0F)) {
    return 0;
  }
  if (in(0x1100, 0x115F) || in(0x2E80, 0xA4CF) || in(0xAC00, 0xD7A3) || in(0xF900, 0xFAFF) ||
      in(0xFE30, 0xFE6F) || in(0xFF00, 0xFF60) || in(0xFFE0, 0xFFE6) || in(0x1F300, 0x1FAFF) ||
      in(0x20000, 0x3FFFD)) {
    return 2;
  }
  return 1;
}

bool IsControl(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x202A && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0x2028 || code == 0x2029;
}

}  // namespace

size_t DisplayWidth(absl::string_view text) {
  size_t width = 0;
  for (size_t at = 0; at < text.size();) {
    width += WidthOf(NextCodePoint(text, at));
  }
  return width;
}

std::string Printable(absl::string_view text, size_t width_max) {
  std::string shown;
  size_t width = 0;
  const bool cut = width_max > 0 && DisplayWidth(text) > width_max;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t code = NextCodePoint(text, at);
    width += WidthOf(code);
    if (cut && width > width_max - 1) {
      break;
    }
    if (IsControl(code) || code == 0xFFFD) {
      shown += "\xEF\xBF\xBD";
    } else {
      shown.append(text.data() + begin, at - begin);
    }
  }
  if (cut) {
    shown += "…";
  }
  return shown;
}

std::string ShortName(absl::string_view text, size_t width_max) {
  std::string shown = Printable(text);
  if (DisplayWidth(shown) <= width_max || width_max == 0) {
    return shown;
  }
  const size_t head_max = width_max / 2;
  const size_t tail_max = width_max - 1 - head_max;
  size_t head = 0;  // bytes
  for (size_t at = 0, width = 0; at < shown.size(); head = at) {
    width += WidthOf(NextCodePoint(shown, at));
    if (width > head_max) {
      break;
    }
  }
  size_t tail = head;  // the first byte of an end that is narrow enough
  while (DisplayWidth(absl::string_view(shown).substr(tail)) > tail_max) {
    NextCodePoint(shown, tail);
  }
  return absl::StrCat(shown.substr(0, head), "…", shown.substr(tail));
}

std::string ScreenName(absl::string_view name) { return Printable(name, 60); }

std::string Fixed(double value, int decimals) {
  std::string text = absl::StrFormat("%.*f", decimals, value);
  if (text[0] == '-' && text.find_first_not_of("-0.") == std::string::npos) {
    text.erase(0, 1);
  }
  return text;
}

std::string FixedOrUndef(std::optional<double> value, int decimals) {
  return value.has_value() ? Fixed(*value, decimals) : "undef";
}

std::string Counted(size_t count, absl::string_view one, absl::string_view plural) {
  return absl::StrCat(count, " ", one, count == 1 ? "" : plural);
}

std::string IntervalText(const Interval& interval, int decimals) {
  return absl::StrCat("[", Fixed(interval.low, decimals), ", ", Fixed(interval.high, decimals),
                      "]");
}

}  // namespace concur::analysis
