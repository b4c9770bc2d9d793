// SPDX-License-Identifier: Apache-2.0
#include "qa/importers/text_spans.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"

namespace concur::qa {
namespace {

bool IsWordPartBefore(absl::string_view text, size_t position) {
  auto at = static_cast<int32_t>(position);
  UChar32 c = 0;
  U8_PREV(reinterpret_cast<const uint8_t*>(text.data()), 0, at, c);
  return c >= 0 && u_isalnum(c);
}

bool IsWordPartAt(absl::string_view text, size_t position) {
  auto at = static_cast<int32_t>(position);
  UChar32 c = 0;
  U8_NEXT(reinterpret_cast<const uint8_t*>(text.data()), at, static_cast<int32_t>(text.size()), c);
  return c >= 0 && u_isalnum(c);
}

size_t Find(absl::string_view text, absl::string_view words, LetterCase letter_case, size_t from) {
  if (letter_case == LetterCase::kExact) {
    return text.find(words, from);
  }
  const auto equal = [](char a, char b) {
    return absl::ascii_tolower(static_cast<unsigned char>(a)) ==
           absl::ascii_tolower(static_cast<unsigned char>(b));
  };
  const auto* const it =
      std::search(text.begin() + from, text.end(), words.begin(), words.end(), equal);
  return it == text.end() ? absl::string_view::npos : static_cast<size_t>(it - text.begin());
}

}  // namespace

std::optional<Span> FindWords(absl::string_view text, absl::string_view words,
                              LetterCase letter_case, size_t from) {
  if (words.empty()) {
    return std::nullopt;
  }
  // Only a letter or digit at the end of `words` can be cut.
  const bool check_begin = IsWordPartAt(words, 0);
  const bool check_end = IsWordPartBefore(words, words.size());
  while (from <= text.size()) {
    const size_t begin = Find(text, words, letter_case, from);
    if (begin == absl::string_view::npos) {
      return std::nullopt;
    }
    const size_t end = begin + words.size();
    if (!(check_begin && begin > 0 && IsWordPartBefore(text, begin)) &&
        !(check_end && end < text.size() && IsWordPartAt(text, end))) {
      return Span{static_cast<int64_t>(begin), static_cast<int64_t>(end)};
    }
    from = begin + 1;
  }
  return std::nullopt;
}

std::vector<Span> FindAllWords(absl::string_view text, absl::string_view words) {
  std::vector<Span> spans;
  for (std::optional<Span> span = FindWords(text, words); span.has_value();
       span = FindWords(text, words, LetterCase::kExact, static_cast<size_t>(span->end))) {
    spans.push_back(*span);
  }
  return spans;
}

void AddAnswer(absl::string_view answer, std::vector<std::string>& answers) {
  if (std::find(answers.begin(), answers.end(), answer) == answers.end()) {
    answers.emplace_back(answer);
  }
}

}  // namespace concur::qa
