// SPDX-License-Identifier: Apache-2.0
// Word vectors and their nearest neighbours. Vectors are normalised and rounded to 16-bit integers,
// so that the search is exact integer arithmetic: the same neighbours on every machine, and fast
// enough that no index is needed. (The rival was an approximate index; its results depend on its
// version and on threads.)
//
// WordVectors is immutable and thread-safe; NeighbourTable is thread-compatible.
#ifndef CONCUR_QA_BUILDERS_WORD_VECTORS_H_
#define CONCUR_QA_BUILDERS_WORD_VECTORS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
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

// Whether a word can be an answer: it has a letter or digit and is no article, so that SQuAD's
// normalization leaves something of it.
bool IsAnswerable(absl::string_view word);

// The nearest neighbours of words by Euclidean distance of their normalised vectors (the same order
// as by their inner product), computed on first use. Ties go to the earlier word; a word is
// not its own neighbour.
class NeighbourTable {
 public:
  // `vectors` outlives the table. Every word has min(neighbours, vectors.size() - 1) neighbours.
  NeighbourTable(const WordVectors& vectors, size_t neighbours);

  size_t neighbours() const { return neighbours_; }
  // Finds the neighbours of those `words` for which that has not been done.
  void Fill(const std::vector<uint32_t>& words);
  // Nearest first. REQUIRES: Fill was called with `word`.
  absl::Span<const uint32_t> Of(uint32_t word) const;

 private:
  static constexpr uint32_t kUnknown = UINT32_MAX;

  void Search(const uint32_t* queries, size_t count);

  const WordVectors& vectors_;
  size_t neighbours_;
  std::vector<uint32_t> slots_;  // of a word: which run of `found_` is its own
  std::vector<uint32_t> found_;
};

}  // namespace concur::qa

#endif  // CONCUR_QA_BUILDERS_WORD_VECTORS_H_
