// SPDX-License-Identifier: Apache-2.0
// The vectors of the words that a data set has, from a file in the text form of word2vec or GloVe,
// which may be larger than memory.
//
// Thread-compatible.
#ifndef CONCUR_STUDIES_READERS_TEXT_WORD_VECTORS_H_
#define CONCUR_STUDIES_READERS_TEXT_WORD_VECTORS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "qa/builders/wordnet.h"

namespace concur::readers {

enum class VectorsCase {
  kExact,  // a word's own row alone
  kLower,  // else that of the word in lower case
  kLemma,  // else that of this word's lemma in WordNet
};

class WordVectorRows {
 public:
  // Reads the rows of `forms`; of a word that repeats, the first. `path` may be gzipped.
  // InvalidArgument as "PATH:LINE: …" for a malformed row, and as "PATH: …" when rows have another
  // width than `width` (0: any). NotFound names the Debian package that lemmas need.
  static absl::StatusOr<WordVectorRows> Read(const std::string& path, int64_t width,
                                             const absl::flat_hash_set<std::string>& forms,
                                             VectorsCase letters);

  // A row, or nothing for a word without one.
  absl::Span<const float> Find(absl::string_view word) const;

  int64_t width() const { return width_; }

 private:
  // The words whose rows a word takes that has none, the first first.
  std::vector<std::string> Substitutes(absl::string_view word) const;

  VectorsCase letters_ = VectorsCase::kExact;
  qa::WordClasses lemmas_;  // used with kLemma
  int64_t width_ = 0;
  absl::flat_hash_map<std::string, size_t> index_;
  std::vector<float> values_;
};

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_TEXT_WORD_VECTORS_H_
