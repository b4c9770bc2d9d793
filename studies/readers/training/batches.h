// SPDX-License-Identifier: Apache-2.0
// Turns examples into the tensors that networks read, and orders questions into batches of similar
// length.
//
// Thread-compatible.
#ifndef CONCUR_STUDIES_READERS_TRAINING_BATCHES_H_
#define CONCUR_STUDIES_READERS_TRAINING_BATCHES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "base/random.h"
#include "studies/readers/approaches/approach.h"
#include "studies/readers/reader.h"
#include "studies/readers/text/examples.h"
#include "studies/readers/text/vocabulary.h"

namespace concur::readers {

// Longer texts are cut; no data set of the studies has one.
inline constexpr int64_t kPassageTokensMax = 4000;
inline constexpr int64_t kQuestionTokensMax = 500;
inline constexpr int64_t kWordCharactersMax = 64;
struct TokensMax {
  int64_t passage = kPassageTokensMax;
  int64_t question = kQuestionTokensMax;
};

class BatchMaker {
 public:
  BatchMaker(const Inputs& inputs, Vocabulary words, Vocabulary characters);

  // The form of a word that its id is looked up by.
  std::string WordForm(absl::string_view word) const;
  const Vocabulary& words() const { return words_; }
  const Vocabulary& characters() const { return characters_; }
  void AddWord(absl::string_view form) { words_.Add(form); }

  // Words, characters, columns and tags; not the width of word vectors.
  InputSizes Sizes() const;

  // The questions `rows` of `examples`. The first answer of each is the one to learn, -1 without
  // any; answers that end behind the cut count as absent. REQUIRES: passages have a token.
  Batch Make(const Examples& examples, const std::vector<size_t>& rows,
             const TokensMax& tokens_max = {}) const;

 private:
  using Texts = std::vector<const AnnotatedText*>;

  torch::Tensor WordIds(const Texts& texts, int64_t length) const;
  torch::Tensor CharacterIds(const Texts& texts, int64_t length) const;
  torch::Tensor FeatureRows(const Texts& texts, const Texts& others, int64_t length) const;
  std::vector<int64_t> CharactersOfWord(absl::string_view word) const;

  Inputs inputs_;
  Vocabulary words_;
  Vocabulary characters_;
};

// The questions `rows` in batches of `size`: sorted by length, questions of equal length shuffled,
// then the batches shuffled. The order depends on `random` only.
std::vector<std::vector<size_t>> Batches(const Examples& examples, std::vector<size_t> rows,
                                         int64_t size, Random& random);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_TRAINING_BATCHES_H_
