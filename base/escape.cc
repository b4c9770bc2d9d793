// SPDX-License-Identifier: Apache-2.0
#include "base/escape.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/utf8.h"

namespace concur {

std::string OneLine(absl::string_view text, size_t bytes_max) {
  std::string line;
  for (const char c : CleanUtf8(text, bytes_max)) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) {
      absl::StrAppend(&line, absl::CHexEscape(absl::string_view(&c, 1)));
    } else {
      line += c;
    }
  }
  return line;
}

std::string Quoted(absl::string_view text, size_t bytes_max) {
  return absl::StrCat("\"", absl::Utf8SafeCHexEscape(CleanUtf8(text, bytes_max)),
                      text.size() > bytes_max ? "…\"" : "\"");
}

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

std::string JsonReason(absl::string_view error) {
  if (absl::StartsWith(error, "[json.")) {
    error.remove_prefix(std::min(error.find("] "), error.size() - 2) + 2);
  }
  const size_t cut = absl::StartsWith(error, "parse error") ? error.find(" - ") : error.npos;
  return std::string(cut == error.npos ? error : error.substr(cut + 3));
}

}  // namespace concur
