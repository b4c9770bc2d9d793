// SPDX-License-Identifier: Apache-2.0
#include "qa/normalize.h"

#include <unicode/bytestream.h>
#include <unicode/casemap.h>
#include <unicode/stringpiece.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include "base/check.h"
#include "base/utf8.h"

namespace concur::qa {
namespace {

// Treatment of an ASCII byte by the normalization.
enum class AsciiClass : uint8_t { kSpace, kWord, kPunctuation, kOther };

constexpr std::array<AsciiClass, 128> kAsciiClasses = [] {
  std::array<AsciiClass, 128> classes{};
  for (size_t c = 0; c < classes.size(); ++c) {
    const bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool space = (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20);
    classes[c] = word                  ? AsciiClass::kWord
                 : space               ? AsciiClass::kSpace
                 : c > 0x20 && c < 127 ? AsciiClass::kPunctuation
                                       : AsciiClass::kOther;
  }
  return classes;
}();

bool IsArticle(absl::string_view word) { return word == "a" || word == "an" || word == "the"; }

// Collects words, dropping runs of word characters that are articles. An article is replaced by a
// space, so that texts such as "l'áb" split as in the official script. The output is never longer
// than the input.
class Collector {
 public:
  // REQUIRES: at most `bytes_max` bytes are added.
  explicit Collector(size_t bytes_max) : out_(bytes_max, '\0'), end_(out_.data()) {}
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  void Space() {
    EndRun();
    pending_space_ = end_ != out_.data();
  }
  void Word(char c) {
    StartWord();
    *end_++ = c;
  }
  void Word(absl::string_view character) {
    StartWord();
    Append(character);
  }
  void Other(absl::string_view character) {
    EndRun();
    StartText();
    Append(character);
  }
  std::string Finish() {
    EndRun();
    out_.resize(static_cast<size_t>(end_ - out_.data()));
    return std::move(out_);
  }

 private:
  void Append(absl::string_view text) { end_ = std::copy(text.begin(), text.end(), end_); }
  void StartText() {
    if (pending_space_) {
      *end_++ = ' ';
      pending_space_ = false;
    }
  }
  void StartWord() {
    if (run_ == nullptr) {
      StartText();
      run_ = end_;
    }
  }
  void EndRun() {
    if (run_ == nullptr) {
      return;
    }
    if (IsArticle(absl::string_view(run_, static_cast<size_t>(end_ - run_)))) {
      end_ = run_;
      if (end_ != out_.data() && end_[-1] == ' ') {
        --end_;
      }
      pending_space_ = end_ != out_.data();
    }
    run_ = nullptr;
  }

  std::string out_;
  char* end_;  // the output's
  bool pending_space_ = false;
  char* run_ = nullptr;  // start of the current run of word characters, or null
};

std::string NormalizeAscii(absl::string_view text) {
  Collector collector(text.size());
  for (const char raw : text) {
    const char c = raw >= 'A' && raw <= 'Z' ? static_cast<char>(raw + ('a' - 'A')) : raw;
    switch (kAsciiClasses[static_cast<unsigned char>(c)]) {
      case AsciiClass::kWord:
        collector.Word(c);
        break;
      case AsciiClass::kSpace:
        collector.Space();
        break;
      case AsciiClass::kOther:
        collector.Other(absl::string_view(&c, 1));
        break;
      case AsciiClass::kPunctuation:
        break;
    }
  }
  return collector.Finish();
}

}  // namespace

std::string LowerCase(absl::string_view text) {
  if (IsAscii(text)) {
    std::string lower(text);
    for (char& c : lower) {
      c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    }
    return lower;
  }
  CONCUR_CHECK(text.size() <= static_cast<size_t>(std::numeric_limits<int32_t>::max()));
  std::string lower;
  lower.reserve(text.size());
  icu::StringByteSink<std::string> sink(&lower);
  UErrorCode code = U_ZERO_ERROR;
  icu::CaseMap::utf8ToLower("", 0, icu::StringPiece(text.data(), static_cast<int32_t>(text.size())),
                            sink, nullptr, code);
  CONCUR_CHECK(U_SUCCESS(code));
  return lower;
}

bool IsWordCodePoint(int32_t code_point) {
  return code_point == '_' || (U_GET_GC_MASK(code_point) & U_GC_L_MASK) != 0 ||
         u_getIntPropertyValue(code_point, UCHAR_NUMERIC_TYPE) != U_NT_NONE;
}

bool IsSpaceCodePoint(int32_t code_point) {
  return (code_point >= 0x09 && code_point <= 0x0D) || (code_point >= 0x1C && code_point <= 0x20) ||
         code_point == 0x85 || code_point == 0xA0 || code_point == 0x1680 ||
         (code_point >= 0x2000 && code_point <= 0x200A) || code_point == 0x2028 ||
         code_point == 0x2029 || code_point == 0x202F || code_point == 0x205F ||
         code_point == 0x3000;
}

std::string NormalizeAnswer(absl::string_view text) {
  if (IsAscii(text)) {
    return NormalizeAscii(text);
  }
  const std::string lower = LowerCase(text);
  Collector collector(lower.size());
  const auto size = static_cast<int32_t>(lower.size());
  for (int32_t i = 0; i < size;) {
    const int32_t begin = i;
    UChar32 code_point = 0;
    U8_NEXT_OR_FFFD(lower.data(), i, size, code_point);
    const absl::string_view character(lower.data() + begin, static_cast<size_t>(i - begin));
    if (code_point < 128 &&
        kAsciiClasses[static_cast<size_t>(code_point)] == AsciiClass::kPunctuation) {
      continue;
    }
    if (IsSpaceCodePoint(code_point)) {
      collector.Space();
    } else if (IsWordCodePoint(code_point)) {
      collector.Word(character);
    } else {
      collector.Other(character);
    }
  }
  return collector.Finish();
}

std::vector<absl::string_view> NormalizedWords(absl::string_view normalized) {
  std::vector<absl::string_view> words;
  words.reserve(static_cast<size_t>(std::count(normalized.begin(), normalized.end(), ' ')) + 1);
  while (!normalized.empty()) {
    const size_t end = normalized.find(' ');
    words.push_back(normalized.substr(0, end));
    normalized.remove_prefix(end == normalized.npos ? normalized.size() : end + 1);
  }
  return words;
}

}  // namespace concur::qa
