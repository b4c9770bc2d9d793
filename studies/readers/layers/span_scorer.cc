// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/layers/span_scorer.h"

#include <limits>

#include "studies/readers/layers/attention.h"
#include "studies/readers/layers/span_search.h"

namespace concur::readers {

torch::Tensor ScoreSpans(const torch::Tensor& starts, const torch::Tensor& ends,
                         const torch::Tensor& weights, int64_t tokens_max) {
  const torch::Tensor padded = torch::constant_pad_nd(ends, {0, 0, 0, tokens_max - 1});
  const torch::Tensor shifted = padded.unfold(1, tokens_max, 1).transpose(2, 3);  // [B, P, K, D]
  return torch::relu(starts.unsqueeze(2) + shifted).matmul(weights);
}

torch::Tensor SpansInPassage(const torch::Tensor& mask, int64_t tokens_max) {
  return torch::constant_pad_nd(mask, {0, tokens_max - 1}, 0).unfold(1, tokens_max, 1);
}

torch::Tensor SpanClasses(const torch::Tensor& starts, const torch::Tensor& ends,
                          int64_t tokens_max) {
  const torch::Tensor steps = ends - starts;
  const torch::Tensor known =
      starts.ge(0).logical_and(steps.ge(0)).logical_and(steps.lt(tokens_max));
  return torch::where(known, starts * tokens_max + steps, torch::full_like(starts, -1));
}

std::vector<std::vector<Span>> BestScoredSpans(const Scores& scores, const Limits& limits) {
  torch::NoGradGuard no_gradients;
  const int64_t width = scores.spans.size(2);
  torch::Tensor allowed = scores.spans_mask;
  if (limits.tokens_max > 0) {
    const torch::Tensor steps = torch::arange(width, allowed.device());
    allowed = allowed.logical_and(steps.lt(limits.tokens_max));
  }
  const torch::Tensor masked = MaskScores(scores.spans, allowed).cpu();
  std::vector<std::vector<Span>> all;
  for (int64_t row = 0; row < masked.size(0); ++row) {
    std::vector<Span> best = BestSpans(masked[row], limits.spans_max);
    for (Span& span : best) {
      span.last += span.first;  // was the step from the first token
    }
    all.push_back(best);
  }
  return all;
}

}  // namespace concur::readers
