// SPDX-License-Identifier: Apache-2.0
// Well-formed UTF-8 (Unicode 15, table 3-7): overlong forms, surrogates and what lies beyond
// U+10FFFF are ill-formed.
//
// Pure functions.
#ifndef CONCUR_BASE_UTF8_H_
#define CONCUR_BASE_UTF8_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace concur {

// Bytes of the character at the start of `text`; 0 when it is ill-formed.
// REQUIRES: !text.empty()
size_t Utf8CharacterBytes(absl::string_view text);

// The character that starts at `at`, which then is the byte after it; of an ill-formed byte U+FFFD.
// REQUIRES: at < text.size()
char32_t NextCodePoint(absl::string_view text, size_t& at);

// The offset of the first byte of `text` that is ill-formed, or npos.
size_t FindInvalidUtf8(absl::string_view text);
inline bool IsUtf8(absl::string_view text) {
  return FindInvalidUtf8(text) == absl::string_view::npos;
}
bool IsAscii(absl::string_view text);

// `text` with U+FFFD in the place of each ill-formed byte, cut between two characters to at most
// `bytes_max` bytes.
std::string CleanUtf8(absl::string_view text, size_t bytes_max = absl::string_view::npos);

}  // namespace concur

#endif  // CONCUR_BASE_UTF8_H_
