// SPDX-License-Identifier: Apache-2.0
// Draws of approaches that all bootstraps over approaches share: the same seed and number of
// approaches give the same draws, so that replicates of different statistics belong together.
//
// Thread-safe (stateless).
#ifndef CONCUR_ANALYSIS_REPLICATES_H_
#define CONCUR_ANALYSIS_REPLICATES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"

namespace concur::analysis {

// Replicates that share one stream of random numbers: the unit of work of a thread.
inline constexpr size_t kReplicateChunk = 64;

inline size_t ReplicateChunks(size_t replicates) {
  return (replicates + kReplicateChunk - 1) / kReplicateChunk;
}

// Calls body(replicate, weights) for each replicate of a chunk, in order; weights[i] says how often
// approach i was drawn. Draws approaches or, when there are any, whole `families` (lists of
// approaches), as many as there are. REQUIRES: approaches > 0.
template <typename Body>
void ForEachReplicate(uint64_t seed, size_t approaches,
                      const std::vector<std::vector<size_t>>& families, size_t replicates,
                      size_t chunk, const Body& body) {
  Random random(seed, absl::StrCat("bootstrap/approaches/", chunk));
  std::vector<int32_t> weights(approaches);
  const size_t end = std::min(replicates, (chunk + 1) * kReplicateChunk);
  for (size_t replicate = chunk * kReplicateChunk; replicate < end; ++replicate) {
    std::fill(weights.begin(), weights.end(), 0);
    if (families.empty()) {
      for (size_t draw = 0; draw < approaches; ++draw) {
        ++weights[random.Below(approaches)];
      }
    }
    for (size_t draw = 0; draw < families.size(); ++draw) {
      for (const size_t member : families[random.Below(families.size())]) {
        ++weights[member];
      }
    }
    body(replicate, weights);
  }
}

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_REPLICATES_H_
