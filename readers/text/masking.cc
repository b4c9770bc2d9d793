// SPDX-License-Identifier: Apache-2.0
#include "readers/text/masking.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace concur::readers {
namespace {

// Attempts to place a span, for each token of the share: SpanBERT's program tries for ever.
constexpr size_t kAttemptsOfToken = 20;

size_t TokensOf(absl::Span<const TokenSpan> words) {
  return std::accumulate(words.begin(), words.end(), size_t{0},
                         [](size_t sum, const TokenSpan& word) { return sum + word.size(); });
}

void SortByPlace(std::vector<TokenSpan>& spans) {
  std::sort(spans.begin(), spans.end(),
            [](const TokenSpan& a, const TokenSpan& b) { return a.begin < b.begin; });
}

// Takes parts in random order as long as they fit into the share.
std::vector<TokenSpan> ChooseParts(std::vector<TokenSpan> parts, size_t budget, Random& random) {
  random.Shuffle(parts);
  std::vector<TokenSpan> chosen;
  size_t taken = 0;
  for (const TokenSpan& part : parts) {
    if (taken + part.size() <= budget) {
      chosen.push_back(part);
      taken += part.size();
    }
  }
  SortByPlace(chosen);
  return chosen;
}

}  // namespace

std::vector<TokenSpan> WordsOf(absl::Span<const int32_t> ids, const EntryKinds& kinds) {
  std::vector<TokenSpan> words;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < kinds.specials) {
      continue;
    }
    if (!words.empty() && words.back().end == i && kinds.continues[static_cast<size_t>(ids[i])]) {
      ++words.back().end;
    } else {
      words.push_back({i, i + 1});
    }
  }
  return words;
}

size_t BudgetOf(size_t tokens, double share) {
  const auto rounded = static_cast<size_t>(std::lround(static_cast<double>(tokens) * share));
  return std::min(tokens, std::max<size_t>(1, rounded));
}

std::vector<TokenSpan> ChooseTokens(absl::Span<const TokenSpan> words, double share,
                                    Random& random) {
  std::vector<TokenSpan> tokens;
  for (const TokenSpan& word : words) {
    for (size_t i = word.begin; i < word.end; ++i) {
      tokens.push_back({i, i + 1});
    }
  }
  const size_t budget = BudgetOf(tokens.size(), share);
  return ChooseParts(std::move(tokens), budget, random);
}

std::vector<TokenSpan> ChooseWords(absl::Span<const TokenSpan> words, double share,
                                   Random& random) {
  return ChooseParts({words.begin(), words.end()}, BudgetOf(TokensOf(words), share), random);
}

int64_t DrawSpanWords(Random& random) {
  // By inversion of the distribution function, whose value at the cut is the norm.
  const double norm = 1 - std::pow(1 - kSpanStop, static_cast<double>(kSpanWordsMax));
  const double drawn = std::log1p(-random.Uniform() * norm) / std::log1p(-kSpanStop);
  return std::clamp<int64_t>(static_cast<int64_t>(drawn) + 1, 1, kSpanWordsMax);
}

std::vector<TokenSpan> ChooseSpans(absl::Span<const TokenSpan> words, double share,
                                   Random& random) {
  if (words.empty()) {
    return {};
  }
  const size_t budget = BudgetOf(TokensOf(words), share);
  std::vector<bool> taken(words.size() + 1, false);  // by word
  std::vector<TokenSpan> chosen;
  size_t tokens = 0;
  for (size_t attempt = 0; attempt < kAttemptsOfToken * budget && tokens < budget; ++attempt) {
    const auto length = static_cast<size_t>(DrawSpanWords(random));
    const auto first = static_cast<size_t>(random.Below(words.size()));
    TokenSpan span = {words[first].begin, words[first].begin};
    size_t end = first;  // words [first, end) are in the span
    bool free = first == 0 || !taken[first - 1];
    for (; end < words.size() && end < first + length; ++end) {
      // A span ends at a special token, and where the share is used up.
      if (words[end].begin != span.end || tokens + words[end].end - span.begin > budget) {
        break;
      }
      free = free && !taken[end];
      span.end = words[end].end;
    }
    if (end == first || !free || taken[end]) {
      continue;
    }
    std::fill(taken.begin() + static_cast<int64_t>(first),
              taken.begin() + static_cast<int64_t>(end), true);
    tokens += span.size();
    chosen.push_back(span);
  }
  SortByPlace(chosen);
  return chosen;
}

void ReplaceTokens(absl::Span<const TokenSpan> spans, const Replacement& replacement, bool by_span,
                   const EntryKinds& kinds, Random& random, std::vector<int32_t>& ids) {
  for (const TokenSpan& span : spans) {
    double kind = 0;
    for (size_t i = span.begin; i < span.end; ++i) {
      kind = by_span && i > span.begin ? kind : random.Uniform();
      if (kind < replacement.mask) {
        ids[i] = kinds.mask;
      } else if (kind < replacement.mask + replacement.random && kinds.size() > kinds.specials) {
        ids[i] = static_cast<int32_t>(random.Between(kinds.specials, kinds.size() - 1));
      }
    }
  }
}

size_t SegmentCut(absl::Span<const int32_t> ids, const EntryKinds& kinds,
                  const std::vector<bool>& ends_sentence) {
  const size_t middle = ids.size() / 2;
  const auto id_at = [ids](size_t i) { return static_cast<size_t>(ids[i]); };
  size_t word = 0;
  for (size_t distance = 0; distance <= ids.size() / 4; ++distance) {
    for (const size_t cut : {middle - distance, middle + distance}) {
      if (cut == 0 || cut >= ids.size()) {
        continue;
      }
      if (ends_sentence[id_at(cut - 1)]) {
        return cut;
      }
      if (word == 0 && !kinds.continues[id_at(cut)]) {
        word = cut;
      }
    }
  }
  return word > 0 ? word : std::max<size_t>(1, middle);
}

}  // namespace concur::readers
