#include "analysis/text_table.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace concur::analysis {
namespace {

// The next code point of `text` at `at`, which is moved past it; U+FFFD for a byte out of place.
char32_t NextCodePoint(absl::string_view text, size_t& at) {
  const auto lead = static_cast<unsigned char>(text[at++]);
  if (lead < 0x80) {
    return lead;
  }
  const size_t continuation = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
  if (continuation == 0 || at + continuation > text.size()) {
    return 0xFFFD;
  }
  char32_t code = lead & (0x3FU >> continuation);
  for (size_t i = 0; i < continuation; ++i) {
    const auto next = static_cast<unsigned char>(text[at + i]);
    if ((next & 0xC0U) != 0x80U) {
      return 0xFFFD;  // of the lead alone: what follows is text of its own
    }
    code = (code << 6) | (next & 0x3FU);
  }
  at += continuation;
  constexpr char32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < kLeast[continuation] || code > 0x10FFFF || surrogate ? 0xFFFD : code;
}

// The blocks that matter in names; not the whole of Unicode's tables.
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

std::vector<size_t> TextTable::Widths() const {
  std::vector<size_t> widths(columns_.size(), 0);
  for (const std::vector<std::string>& row : rows_) {
    for (size_t i = 0; i < row.size() && i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], DisplayWidth(row[i]));
    }
  }
  return widths;
}

size_t TextTable::Width() const {
  size_t width = 0;
  for (const size_t column : Widths()) {
    width += column + 2;
  }
  return width >= 2 ? width - 2 : 0;
}

std::string TextTable::ToString() const {
  const std::vector<size_t> widths = Widths();
  std::string text;
  for (const std::vector<std::string>& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size() && i < widths.size(); ++i) {
      const std::string blanks(widths[i] - DisplayWidth(row[i]), ' ');
      line += i > 0 ? "  " : "";
      line += columns_[i] == Align::kRight ? blanks + row[i] : row[i] + blanks;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line;
    text += '\n';
  }
  return text;
}

}  // namespace concur::analysis
