// SPDX-License-Identifier: Apache-2.0
// Scores of whole spans (RaSoR: Lee et al., 2016, section 3.3): each span of at most K tokens is a
// class of its own.
//
// Thread-safe (stateless).
#ifndef CONCUR_STUDIES_READERS_LAYERS_SPAN_SCORER_H_
#define CONCUR_STUDIES_READERS_LAYERS_SPAN_SCORER_H_

#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "studies/readers/batch.h"

namespace concur::readers {

// starts, ends [B, P, D], weights [D] → [B, P, K]: weights · relu(starts_s + ends_{s + k}); ends
// behind the passage are zero.
torch::Tensor ScoreSpans(const torch::Tensor& starts, const torch::Tensor& ends,
                         const torch::Tensor& weights, int64_t tokens_max);

// mask [B, P] → [B, P, K]: true where s + k is a token.
torch::Tensor SpansInPassage(const torch::Tensor& mask, int64_t tokens_max);

// The class of each answer among [B, P · K]. Answers of more than K tokens have none: -1.
torch::Tensor SpanClasses(const torch::Tensor& starts, const torch::Tensor& ends,
                          int64_t tokens_max);

// For each question its best spans of at most `limits.tokens_max` tokens, too.
std::vector<std::vector<Span>> BestScoredSpans(const Scores& scores, const Limits& limits);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_LAYERS_SPAN_SCORER_H_
