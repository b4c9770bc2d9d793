// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/layers/span_search.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace concur::readers {

std::vector<Span> BestSpans(const torch::Tensor& scores, int64_t spans_max) {
  const torch::Tensor flat = scores.to(torch::kCPU, torch::kFloat64).contiguous().view(-1);
  const double* values = flat.data_ptr<double>();
  std::vector<int64_t> order(static_cast<size_t>(flat.numel()));
  std::iota(order.begin(), order.end(), 0);
  const auto count = std::min<int64_t>(spans_max, flat.numel());
  std::partial_sort(order.begin(), order.begin() + count, order.end(),
                    [values](int64_t a, int64_t b) {
                      return values[a] != values[b] ? values[a] > values[b] : a < b;
                    });
  std::vector<Span> spans;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t index = order[static_cast<size_t>(i)];
    spans.push_back({index / scores.size(1), index % scores.size(1), values[index]});
  }
  return spans;
}

std::vector<std::vector<Span>> BestSumsOfLogits(const Scores& scores, const Limits& limits) {
  torch::NoGradGuard no_gradients;
  const int64_t length = scores.starts.size(1);
  torch::Tensor allowed = torch::ones({length, length}, torch::kBool).triu();
  if (limits.tokens_max > 0) {
    allowed = allowed.tril(limits.tokens_max - 1);
  }
  const torch::Tensor starts = scores.starts.cpu();
  const torch::Tensor ends = scores.ends.cpu();
  std::vector<std::vector<Span>> all;
  for (int64_t row = 0; row < starts.size(0); ++row) {
    const torch::Tensor sums = starts[row].unsqueeze(1) + ends[row].unsqueeze(0);
    all.push_back(
        BestSpans(sums.masked_fill(allowed.logical_not(), -std::numeric_limits<double>::infinity()),
                  limits.spans_max));
  }
  return all;
}

}  // namespace concur::readers
