// SPDX-License-Identifier: Apache-2.0
// Mixes several data sets into one training set.
//
// Thread-safe (stateless). Deterministic in the seed, the part names and the parts' contents.
#ifndef CONCUR_QA_BUILDERS_MIXTURE_H_
#define CONCUR_QA_BUILDERS_MIXTURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "qa/dataset_io.h"

namespace concur::qa {

struct MixturePart {
  std::string name;          // unique in a mixture, e.g. the benchmark's name
  std::string path;          // a data set in any form that ReadDataset takes
  int64_t examples_max = 0;  // cap on questions; 0: all
};

// Writes the questions of all parts to `out_path` as MRQA JSON lines. A part with more questions
// than its cap contributes a uniform sample of them, drawn from a stream of its own name: a larger
// cap keeps all questions of a smaller one, and other parts do not change it. Passages without a
// drawn question are left out; the rest are shuffled. A question id that occurs in several parts
// becomes "NAME:id" in each of them. InvalidArgument for no part, a repeated part name, a negative
// cap, malformed data, ids that collide even so, or when what is drawn takes more than
// `memory_max`. On failure nothing appears at `out_path`.
absl::Status BuildMixture(const std::vector<MixturePart>& parts, uint64_t seed,
                          const std::string& out_path, int64_t memory_max = kDatasetMemoryMax);

}  // namespace concur::qa

#endif  // CONCUR_QA_BUILDERS_MIXTURE_H_
