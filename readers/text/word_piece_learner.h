// SPDX-License-Identifier: Apache-2.0
// A vocabulary for WordPiece, learned from text by byte-pair encoding (Sennrich et al., 2016, on
// characters): words begin as single characters, and the pair of neighbours that occurs most often
// becomes an entry, again and again. BERT's authors never published how theirs was learned;
// likelihood as the criterion (Schuster and Nakajima, 2012) would need a language model.
//
// Texts are hostile input. Thread-compatible.
#ifndef CONCUR_READERS_TEXT_WORD_PIECE_LEARNER_H_
#define CONCUR_READERS_TEXT_WORD_PIECE_LEARNER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "readers/text/bert_words.h"

namespace concur::readers {

// A learned vocabulary begins with [PAD], [UNK], [CLS], [SEP] and [MASK].
inline constexpr int32_t kLearnedUnknown = 1, kLearnedFirst = 2, kLearnedSeparator = 3,
                         kLearnedMask = 4, kLearnedSpecials = 5;

// The most frequent characters, each at the start of a word and within one, that become entries;
// words with others are not learned from.
inline constexpr size_t kLearnedCharactersMax = 2000;

// A word takes some hundred bytes of memory; a gigabyte of prose has about a million.
inline constexpr size_t kLearnedWordsMax = size_t{1} << 22;

class WordPieceLearner {
 public:
  // Of at most so many different words.
  explicit WordPieceLearner(const BertWordOptions& options, size_t words_max = kLearnedWordsMax)
      : options_(options), words_max_(words_max) {}

  // Counts the words of a text. REQUIRES: text.size() < 2^31.
  void Add(absl::string_view text);

  // `size` entries: special tokens, characters, then merges by falling frequency; of pairs that
  // occur equally often the one that is first by its bytes. InvalidArgument when the text gives
  // fewer, when the special tokens and characters alone are more, and for more different words than
  // may be.
  absl::StatusOr<std::vector<std::string>> Learn(size_t size) const;

 private:
  BertWordOptions options_;
  size_t words_max_;
  bool words_left_out_ = false;
  std::map<std::string, int64_t> words_;  // with how often each occurs
};

}  // namespace concur::readers

#endif  // CONCUR_READERS_TEXT_WORD_PIECE_LEARNER_H_
