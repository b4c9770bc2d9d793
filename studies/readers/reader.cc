// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/reader.h"

#include "studies/readers/layers/span_search.h"

namespace concur::readers {

torch::Tensor Reader::Loss(const Scores& scores, const Batch& batch) const {
  const auto negative_log_likelihood = [](const torch::Tensor& logits,
                                          const torch::Tensor& target) {
    return torch::nll_loss(torch::log_softmax(logits, 1), target, {}, at::Reduction::Mean, -1);
  };
  return negative_log_likelihood(scores.starts, batch.starts) +
         negative_log_likelihood(scores.ends, batch.ends);
}

std::vector<std::vector<Span>> Reader::Decode(const Scores& scores, const Batch& /*batch*/,
                                              const Limits& limits) const {
  torch::NoGradGuard no_gradients;
  const torch::Tensor starts = torch::softmax(scores.starts, 1).cpu();
  const torch::Tensor ends = torch::softmax(scores.ends, 1).cpu();
  std::vector<std::vector<Span>> all;
  for (int64_t row = 0; row < starts.size(0); ++row) {
    torch::Tensor products = torch::outer(starts[row], ends[row]).triu();
    if (limits.tokens_max > 0) {
      products = products.tril(limits.tokens_max - 1);
    }
    all.push_back(BestSpans(products, limits.spans_max));
  }
  return all;
}

}  // namespace concur::readers
