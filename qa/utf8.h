// SPDX-License-Identifier: Apache-2.0
// Conversion between offsets in code points and in bytes. Files give answer positions in code
// points; Concur uses bytes.
//
// Thread-safe (stateless functions, immutable values).
#ifndef CONCUR_QA_UTF8_H_
#define CONCUR_QA_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"

namespace concur::qa {

// Code points of valid UTF-8.
int64_t CountCodePoints(absl::string_view text);

// True when no character is cut at byte `offset` of valid UTF-8; the end is a boundary.
inline bool IsCodePointBoundary(absl::string_view text, size_t offset) {
  return offset == text.size() ||
         (offset < text.size() && (static_cast<unsigned char>(text[offset]) & 0xC0) != 0x80);
}

// Code-point offsets of one text as byte offsets, each look-up in constant time.
class CodePointMap {
 public:
  // REQUIRES: `text` is valid UTF-8. Keeps no reference to it.
  explicit CodePointMap(absl::string_view text);

  // Number of code points.
  int64_t size() const { return size_; }
  // The byte at which code point `index` starts; the text's size in bytes for index == size().
  // REQUIRES: 0 <= index <= size().
  int64_t ByteOf(int64_t index) const {
    return starts_.empty() ? index : starts_[static_cast<size_t>(index)];
  }

 private:
  int64_t size_ = 0;
  std::vector<uint32_t> starts_;  // empty for ASCII
};

}  // namespace concur::qa

#endif  // CONCUR_QA_UTF8_H_
