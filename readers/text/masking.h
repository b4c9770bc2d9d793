// SPDX-License-Identifier: Apache-2.0
// Which tokens of a text an encoder has to predict in pretraining, and what it reads there instead:
// the objectives of BERT and RoBERTa (single tokens), of BERT's later checkpoints (whole words),
// SpanBERT (spans of words) and ELECTRA (a generator's mask), and ALBERT's order of two segments.
//
// Pure functions of their arguments and the random numbers that they draw.
#ifndef CONCUR_READERS_TEXT_MASKING_H_
#define CONCUR_READERS_TEXT_MASKING_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "base/random.h"

namespace concur::readers {

// What a vocabulary's entries are, by id.
struct EntryKinds {
  std::vector<bool> continues;  // goes on with the word before it
  int32_t specials = 0;         // ids below are special tokens: never masked, never drawn
  int32_t mask = 0;             // the id of [MASK]

  int32_t size() const { return static_cast<int32_t>(continues.size()); }
};

// Tokens [begin, end) of a sequence.
struct TokenSpan {
  size_t begin = 0, end = 0;

  size_t size() const { return end - begin; }
  friend bool operator==(const TokenSpan&, const TokenSpan&) = default;
};

// The words of the sequence: runs of tokens of which all but the first continue. Special tokens are
// in no word.
std::vector<TokenSpan> WordsOf(absl::Span<const int32_t> ids, const EntryKinds& kinds);

// How many of `tokens` are to be predicted: the share of them, rounded, and at least one.
size_t BudgetOf(size_t tokens, double share);

// Each returns disjoint spans in the order of the sequence, of `share` of the words' tokens
// together, or of somewhat fewer where whole words do not fit; none where there are no words.
//
// Single tokens, all equally likely (Devlin et al., 2019).
std::vector<TokenSpan> ChooseTokens(absl::Span<const TokenSpan> words, double share,
                                    Random& random);
// Whole words, all equally likely; one that would exceed the share is passed over (BERT's
// create_pretraining_data.py).
std::vector<TokenSpan> ChooseWords(absl::Span<const TokenSpan> words, double share, Random& random);
// Spans of whole words: a length drawn from the geometric distribution with p = 0.2, cut at 10
// words and normalized, then a first word (Joshi et al., 2020). The last span is cut to what is
// left. A token that is read stands before and after each span, so that the boundary objective has
// something to predict from; SpanBERT's program lets spans touch.
std::vector<TokenSpan> ChooseSpans(absl::Span<const TokenSpan> words, double share, Random& random);

inline constexpr double kSpanStop = 0.2;
inline constexpr int64_t kSpanWordsMax = 10;
// 1 to kSpanWordsMax, as said above; 3.8 on average.
int64_t DrawSpanWords(Random& random);

// What is read in the place of a token that is to be predicted.
struct Replacement {
  double mask = 0.8, random = 0.1;  // otherwise the token itself
};
inline constexpr Replacement kBertReplacement = {0.8, 0.1};
// ELECTRA's program, run_pretraining.py: 0.85, and never a random entry.
inline constexpr Replacement kElectraReplacement = {0.85, 0};

// Replaces the tokens of the spans: each for itself, or all tokens of a span in the same way as
// SpanBERT does.
void ReplaceTokens(absl::Span<const TokenSpan> spans, const Replacement& replacement, bool by_span,
                   const EntryKinds& kinds, Random& random, std::vector<int32_t>& ids);

// Where a text of tokens is best cut into two segments: after the end of a sentence (an id for
// which `ends_sentence`) nearest to its middle, among those that leave a quarter on each side; else
// before the word nearest to the middle; else in the middle. REQUIRES: ids.size() >= 2.
size_t SegmentCut(absl::Span<const int32_t> ids, const EntryKinds& kinds,
                  const std::vector<bool>& ends_sentence);

}  // namespace concur::readers

#endif  // CONCUR_READERS_TEXT_MASKING_H_
