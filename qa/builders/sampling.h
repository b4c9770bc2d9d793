// SPDX-License-Identifier: Apache-2.0
// Seeded samples without replacement.
//
// Thread-safe (stateless).
#ifndef CONCUR_QA_BUILDERS_SAMPLING_H_
#define CONCUR_QA_BUILDERS_SAMPLING_H_

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "base/random.h"

namespace concur::qa {

// The first `count` elements of a random permutation of 0 … size-1, in permutation order. With
// equal `random` and `size`, a larger count extends a smaller one: samples are nested.
// REQUIRES: count <= size < 2^32.
inline std::vector<uint32_t> SampleInOrder(size_t size, size_t count, Random& random) {
  std::vector<uint32_t> indices(size);
  std::iota(indices.begin(), indices.end(), 0U);
  for (size_t i = 0; i < count; ++i) {
    std::swap(indices[i], indices[i + random.Below(size - i)]);
  }
  indices.resize(count);
  return indices;
}

// The same sample as marks: result[i] says whether i was drawn.
inline std::vector<bool> SampleMarks(size_t size, size_t count, Random& random) {
  std::vector<bool> marks(size, false);
  for (const uint32_t index : SampleInOrder(size, count, random)) {
    marks[index] = true;
  }
  return marks;
}

}  // namespace concur::qa

#endif  // CONCUR_QA_BUILDERS_SAMPLING_H_
