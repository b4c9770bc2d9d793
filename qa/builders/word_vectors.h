// SPDX-License-Identifier: Apache-2.0
// Word vectors, normalised and rounded to 16-bit integers, so that products of them are exact: the
// same on every machine.
//
// WordVectors is immutable and thread-safe.
#ifndef CONCUR_QA_BUILDERS_WORD_VECTORS_H_
#define CONCUR_QA_BUILDERS_WORD_VECTORS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "qa/builders/vector_lines.h"

namespace concur::qa {

class WordVectors {
 public:
  // `values` holds words.size() rows of `dimensions` numbers. REQUIRES: every row is finite and not
  // all zeros; 1 <= dimensions <= kDimensionsMax.
  WordVectors(std::vector<std::string> words, const std::vector<float>& values, size_t dimensions);

  static constexpr size_t kDimensionsMax = VectorLines::kDimensionsMax;

  const std::vector<std::string>& words() const { return words_; }
  size_t size() const { return words_.size(); }
  // Numbers of a row, padded with zeros to a multiple of 16.
  size_t stride() const { return stride_; }
  const int16_t* row(size_t index) const { return rows_.data() + index * stride_; }
  // The inner product of two rows, greater for nearer ones; about 2^28 of a row with itself.
  int32_t Product(size_t a, size_t b) const;

 private:
  std::vector<std::string> words_;
  size_t stride_;
  std::vector<int16_t> rows_;
};

struct VectorsFile {
  WordVectors vectors;
  int64_t dropped = 0;  // rows of zeros; words that repeat, hold a space or cannot be answers
};

// Reads the text form of word2vec and GloVe: a word and its numbers per line, with or without a
// first line "ROWS DIMENSIONS"; at most `words_max` usable rows, the first ones. InvalidArgument as
// "PATH:LINE: …" for another count of numbers, a number that is not finite, or no usable row.
absl::StatusOr<VectorsFile> ParseVectors(absl::string_view contents, const std::string& path,
                                         size_t words_max);

// True if a word can be an answer: it has a letter or digit and is no article, so that SQuAD's
// normalization leaves something of it.
bool IsAnswerable(absl::string_view word);

}  // namespace concur::qa

#endif  // CONCUR_QA_BUILDERS_WORD_VECTORS_H_
