// SPDX-License-Identifier: Apache-2.0
#include "qa/utf8.h"

#include "base/utf8.h"

namespace concur::qa {

int64_t CountCodePoints(absl::string_view text) {
  int64_t count = 0;
  for (const char c : text) {
    count += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  }
  return count;
}

CodePointMap::CodePointMap(absl::string_view text) {
  if (IsAscii(text)) {
    size_ = static_cast<int64_t>(text.size());
    return;
  }
  starts_.reserve(text.size() + 1);
  for (size_t i = 0; i < text.size(); ++i) {
    if (IsCodePointBoundary(text, i)) {
      starts_.push_back(static_cast<uint32_t>(i));
    }
  }
  size_ = static_cast<int64_t>(starts_.size());
  starts_.push_back(static_cast<uint32_t>(text.size()));
}

}  // namespace concur::qa
