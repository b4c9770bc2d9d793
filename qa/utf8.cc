#include "qa/utf8.h"

#include <cstring>

namespace concur::qa {
namespace {

// Length of the well-formed sequence at `p`, or 0 (Unicode 15, table 3-7).
size_t SequenceLength(const unsigned char* p, size_t left) {
  const unsigned char lead = p[0];
  const auto tail = [&](size_t i, unsigned char low = 0x80, unsigned char high = 0xBF) {
    return i < left && p[i] >= low && p[i] <= high;
  };
  if (lead < 0x80) {
    return 1;
  }
  if (lead >= 0xC2 && lead <= 0xDF) {
    return tail(1) ? 2 : 0;
  }
  if (lead >= 0xE0 && lead <= 0xEF) {
    const unsigned char low = lead == 0xE0 ? 0xA0 : 0x80;
    const unsigned char high = lead == 0xED ? 0x9F : 0xBF;
    return tail(1, low, high) && tail(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const unsigned char low = lead == 0xF0 ? 0x90 : 0x80;
    const unsigned char high = lead == 0xF4 ? 0x8F : 0xBF;
    return tail(1, low, high) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

// Length of the run of ASCII at the start of `text`.
size_t AsciiPrefix(absl::string_view text) {
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + i, 8);
    if ((word & 0x8080808080808080ULL) != 0) {
      break;
    }
  }
  while (i < text.size() && static_cast<unsigned char>(text[i]) < 0x80) {
    ++i;
  }
  return i;
}

}  // namespace

size_t FindInvalidUtf8(absl::string_view text) {
  size_t i = AsciiPrefix(text);
  const auto* data = reinterpret_cast<const unsigned char*>(text.data());
  while (i < text.size()) {
    const size_t length = SequenceLength(data + i, text.size() - i);
    if (length == 0) {
      return i;
    }
    i += length;
  }
  return absl::string_view::npos;
}

bool IsAscii(absl::string_view text) { return AsciiPrefix(text) == text.size(); }

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
