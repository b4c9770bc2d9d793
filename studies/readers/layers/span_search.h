// SPDX-License-Identifier: Apache-2.0
// The best spans of a passage by the scores of all.
//
// Thread-safe (stateless).
#ifndef CONCUR_STUDIES_READERS_LAYERS_SPAN_SEARCH_H_
#define CONCUR_STUDIES_READERS_LAYERS_SPAN_SEARCH_H_

#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "studies/readers/batch.h"

namespace concur::readers {

// scores [P, P]: element (s, e) is that of the span from s to e. The `spans_max` largest, the
// largest first; the first in the order of the matrix among equals.
std::vector<Span> BestSpans(const torch::Tensor& scores, int64_t spans_max);

// For each question the spans with the largest sum of the logits of both ends, with at most
// `limits.tokens_max` tokens.
std::vector<std::vector<Span>> BestSumsOfLogits(const Scores& scores, const Limits& limits);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_LAYERS_SPAN_SEARCH_H_
