// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

namespace concur {
namespace {

// Length of the run of ASCII at the start of `text`.
size_t AsciiPrefixBytes(absl::string_view text) {
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + i, 8);
    if ((word & 0x8080'8080'8080'8080) != 0) {
      break;
    }
  }
  while (i < text.size() && static_cast<unsigned char>(text[i]) < 0x80) {
    ++i;
  }
  return i;
}

}  // namespace

size_t Utf8CharacterBytes(absl::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const auto tail = [&](size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    const unsigned byte = i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
    return byte >= low && byte <= high;
  };
  if (lead < 0x80) {
    return 1;
  }
  if (lead >= 0xC2 && lead <= 0xDF) {
    return tail(1) ? 2 : 0;
  }
  if (lead >= 0xE0 && lead <= 0xEF) {
    return tail(1, lead == 0xE0 ? 0xA0 : 0x80, lead == 0xED ? 0x9F : 0xBF) && tail(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    return tail(1, lead == 0xF0 ? 0x90 : 0x80, lead == 0xF4 ? 0x8F : 0xBF) && tail(2) && tail(3)
               ? 4
               : 0;
  }
  return 0;
}

char32_t NextCodePoint(absl::string_view text, size_t& at) {
  const size_t bytes = Utf8CharacterBytes(text.substr(at));
  const auto lead = static_cast<unsigned char>(text[at++]);
  if (bytes <= 1) {
    return bytes == 1 ? lead : 0xFFFD;
  }
  char32_t code = lead & (0x7FU >> bytes);
  for (const size_t end = at + bytes - 1; at < end; ++at) {
    code = code << 6 | (static_cast<unsigned char>(text[at]) & 0x3FU);
  }
  return code;
}

size_t FindInvalidUtf8(absl::string_view text) {
  for (size_t i = AsciiPrefixBytes(text); i < text.size();) {
    const size_t length = Utf8CharacterBytes(text.substr(i));
    if (length == 0) {
      return i;
    }
    i += length;
  }
  return absl::string_view::npos;
}

bool IsAscii(absl::string_view text) { return AsciiPrefixBytes(text) == text.size(); }

std::string CleanUtf8(absl::string_view text, size_t bytes_max) {
  constexpr absl::string_view kReplacement = "\xEF\xBF\xBD";
  std::string clean;
  clean.reserve(std::min(text.size(), bytes_max));
  while (!text.empty()) {
    const size_t length = Utf8CharacterBytes(text);
    const absl::string_view character = length == 0 ? kReplacement : text.substr(0, length);
    if (clean.size() + character.size() > bytes_max) {
      break;
    }
    clean.append(character.data(), character.size());
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return clean;
}

}  // namespace concur
