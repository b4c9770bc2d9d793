// SPDX-License-Identifier: Apache-2.0
#include "studies/approaches/candidates.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace concur::approaches {
namespace {

bool IsMoney(const PassageText& passage, int32_t i) {
  const absl::string_view text = passage.Text(i, i);
  return text == "$" || text == "£" || text == "€" || text == "¥";
}
bool IsPercent(const PassageText& passage, int32_t i) {
  const absl::string_view text = passage.Text(i, i);
  return text == "%" || text == "°";
}

// Punctuation that candidates do not cross.
bool IsBarrier(const Token& token) {
  return token.shape == Shape::kPunctuation &&
         (token.first == ';' || token.first == '(' || token.first == ')' || token.first == '[' ||
          token.first == ']' || token.first == ':' || token.first == '?' || token.first == '!' ||
          token.first == '|' || token.first == '#');
}

struct Ends {
  std::vector<bool> starts;
  std::vector<bool> ends;
};

Ends FindEnds(const PassageText& passage) {
  const int32_t n = passage.size();
  Ends result{std::vector<bool>(static_cast<size_t>(n)), std::vector<bool>(static_cast<size_t>(n))};
  for (int32_t i = 0; i < n; ++i) {
    const Token& token = passage.tokens[static_cast<size_t>(i)];
    const bool word = token.shape != Shape::kPunctuation && !token.stop;
    result.starts[static_cast<size_t>(i)] = word || IsMoney(passage, i);
    result.ends[static_cast<size_t>(i)] = word || IsPercent(passage, i);
  }
  return result;
}

double Overlap(const TokenSpan& a, const std::pair<int32_t, int32_t>& b) {
  const int32_t shared = std::min(a.last, b.second) - std::max(a.first, b.first) + 1;
  return shared <= 0 ? 0 : 2.0 * shared / (a.last - a.first + 1 + b.second - b.first + 1);
}

}  // namespace

std::vector<TokenSpan> Candidates(const PassageText& passage, int32_t tokens_max) {
  std::vector<TokenSpan> spans;
  const int32_t n = passage.size();
  const Ends ends = FindEnds(passage);
  for (int32_t first = 0; first < n; ++first) {
    const Token& token = passage.tokens[static_cast<size_t>(first)];
    if (!ends.starts[static_cast<size_t>(first)]) {
      if (token.shape != Shape::kPunctuation) {
        spans.push_back({first, first});
      }
      continue;
    }
    const int32_t sentence_end =
        passage
            .sentence_starts[static_cast<size_t>(passage.sentence[static_cast<size_t>(first)]) + 1];
    const int32_t last_max = std::min(first + tokens_max, sentence_end);
    for (int32_t last = first; last < last_max; ++last) {
      if (IsBarrier(passage.tokens[static_cast<size_t>(last)])) {
        break;
      }
      if (ends.ends[static_cast<size_t>(last)]) {
        spans.push_back({first, last});
      }
    }
  }
  return spans;
}

namespace {

// The answer's tokens without articles and punctuation at their ends.
std::pair<int32_t, int32_t> Trim(const PassageText& passage, std::pair<int32_t, int32_t> span) {
  const auto is_edge = [&](int32_t i) {
    const Token& token = passage.tokens[static_cast<size_t>(i)];
    return token.article ||
           (token.shape == Shape::kPunctuation && !IsMoney(passage, i) && !IsPercent(passage, i));
  };
  while (span.first < span.second && is_edge(span.first)) {
    ++span.first;
  }
  while (span.first < span.second && is_edge(span.second)) {
    --span.second;
  }
  return span;
}

}  // namespace

int32_t LongestAnswer(const std::vector<PassageText>& passages, const qa::Dataset& data,
                      int32_t tokens_max) {
  int32_t longest = 0;
  for (size_t p = 0; p < passages.size() && longest < tokens_max; ++p) {
    for (const qa::Question& question : data.passages[p].questions) {
      for (const auto& span : AnswerSpans(passages[p], question)) {
        const auto [first, last] = Trim(passages[p], span);
        longest = std::max(longest, last - first + 1);
      }
    }
  }
  return std::min(longest, tokens_max);
}

int32_t LongestCandidate(const qa::Dataset& data, int32_t tokens_max) {
  std::vector<PassageText> passages;
  passages.reserve(data.passages.size());
  for (const qa::Passage& passage : data.passages) {
    passages.emplace_back(passage.context);
  }
  const int32_t longest = LongestAnswer(passages, data, tokens_max);
  return longest == 0 ? tokens_max : longest;
}

std::vector<int32_t> GoldCandidates(const PassageText& passage, const qa::Question& question,
                                    const std::vector<TokenSpan>& candidates) {
  std::vector<int32_t> gold;
  double best = 0.5;
  int32_t best_index = -1;
  for (const auto& span : AnswerSpans(passage, question)) {
    const auto [first, last] = Trim(passage, span);
    for (size_t i = 0; i < candidates.size(); ++i) {
      const double overlap = Overlap(candidates[i], {first, last});
      if (overlap >= 1) {
        gold.push_back(static_cast<int32_t>(i));
      } else if (overlap > best) {
        best = overlap;
        best_index = static_cast<int32_t>(i);
      }
    }
  }
  if (gold.empty() && best_index >= 0) {
    gold.push_back(best_index);
  }
  std::sort(gold.begin(), gold.end());
  gold.erase(std::unique(gold.begin(), gold.end()), gold.end());
  return gold;
}

}  // namespace concur::approaches
