// SPDX-License-Identifier: Apache-2.0
// The nearest neighbours of words. An exact search compares with all words, which is fast enough
// for tens of thousands; for more there is an approximate one. Both give the same neighbours on
// every machine.
//
// Thread-compatible.
#ifndef CONCUR_QA_BUILDERS_NEIGHBOUR_TABLE_H_
#define CONCUR_QA_BUILDERS_NEIGHBOUR_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "qa/builders/neighbour_forest.h"
#include "qa/builders/word_vectors.h"

namespace concur::qa {

enum class NeighbourSearch {
  kExact,        // compares with all words
  kApproximate,  // with those that a NeighbourForest finds; misses some neighbours
};

// The nearest neighbours of words by Euclidean distance of their normalised vectors (the same order
// as by their inner product), computed on first use. Ties go to the earlier word; a word is
// not its own neighbour.
class NeighbourTable {
 public:
  // `vectors` outlives the table. Every word has min(neighbours, vectors.size() - 1) neighbours.
  NeighbourTable(const WordVectors& vectors, size_t neighbours,
                 NeighbourSearch search = NeighbourSearch::kExact);

  size_t neighbours() const { return neighbours_; }
  // Finds the neighbours of those `words` for which that has not been done.
  void Fill(const std::vector<uint32_t>& words);
  // Nearest first. REQUIRES: Fill was called with `word`.
  absl::Span<const uint32_t> Of(uint32_t word) const;

 private:
  static constexpr uint32_t kUnknown = UINT32_MAX;

  void Search(const uint32_t* queries, size_t count);
  void SearchForest(uint32_t query);

  const WordVectors& vectors_;
  size_t neighbours_;
  std::optional<NeighbourForest> forest_;  // set for an approximate search
  std::vector<uint32_t> slots_;            // by word: number of its own run of `found_`
  std::vector<uint32_t> found_;
};

}  // namespace concur::qa

#endif  // CONCUR_QA_BUILDERS_NEIGHBOUR_TABLE_H_
