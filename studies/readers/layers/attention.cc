// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/layers/attention.h"

#include <limits>

namespace concur::readers {

torch::Tensor MaskScores(const torch::Tensor& scores, const torch::Tensor& mask) {
  return scores.masked_fill(mask.logical_not(), -std::numeric_limits<double>::infinity());
}

torch::Tensor WeightedSum(const torch::Tensor& values, const torch::Tensor& weights) {
  return weights.dim() == 2 ? weights.unsqueeze(1).bmm(values).squeeze(1) : weights.bmm(values);
}

torch::Tensor RenormalisedSoftmax(const torch::Tensor& scores, const torch::Tensor& mask) {
  const torch::Tensor kept = mask.to(scores.dtype());
  const torch::Tensor weights = torch::softmax(scores * kept, -1) * kept;
  return weights / (weights.sum(-1, true) + 1e-13);
}

torch::Tensor FillWithLowest(const torch::Tensor& scores, const torch::Tensor& mask) {
  const double lowest = scores.dtype() == torch::kFloat64 ? std::numeric_limits<double>::lowest()
                                                          : std::numeric_limits<float>::lowest();
  return scores.masked_fill(mask.logical_not(), lowest);
}

torch::Tensor LowestSoftmax(const torch::Tensor& scores, const torch::Tensor& mask) {
  return torch::softmax(FillWithLowest(scores, mask), -1);
}

AlignedAttentionImpl::AlignedAttentionImpl(int64_t width, bool project, DropoutKind dropout)
    : dropout_(dropout) {
  if (project) {
    linear_ = register_module("linear", torch::nn::Linear(width, width));
  }
}

torch::Tensor AlignedAttentionImpl::Forward(torch::Tensor x, torch::Tensor y,
                                            const torch::Tensor& y_mask) {
  torch::Tensor x_key = x;
  torch::Tensor y_key = y;
  if (!linear_.is_empty()) {
    x = dropout_(x, is_training());
    y = dropout_(y, is_training());
    x_key = torch::relu(linear_(x));
    y_key = torch::relu(linear_(y));
  }
  const torch::Tensor scores = x_key.bmm(y_key.transpose(1, 2));
  return torch::softmax(MaskScores(scores, y_mask.unsqueeze(1)), -1).bmm(y);
}

torch::Tensor SelfAlignment(const torch::Tensor& x, const torch::Tensor& mask) {
  const torch::Tensor same =
      torch::eye(x.size(1), torch::TensorOptions(torch::kBool).device(x.device()));
  const torch::Tensor scores = x.bmm(x.transpose(1, 2)).masked_fill(same, 0);
  return torch::softmax(MaskScores(scores, mask.unsqueeze(1)), -1).bmm(x);
}

LinearScoresImpl::LinearScoresImpl(int64_t width)
    : linear_(register_module("linear", torch::nn::Linear(width, 1))) {}

torch::Tensor LinearScoresImpl::Forward(const torch::Tensor& x, const torch::Tensor& mask) {
  return MaskScores(linear_(x).squeeze(-1), mask);
}

BilinearScoresImpl::BilinearScoresImpl(int64_t x_width, int64_t y_width)
    : linear_(register_module("linear", torch::nn::Linear(y_width, x_width))) {}

torch::Tensor BilinearScoresImpl::Forward(const torch::Tensor& x, const torch::Tensor& y,
                                          const torch::Tensor& mask) {
  return MaskScores(x.bmm(linear_(y).unsqueeze(2)).squeeze(2), mask);
}

}  // namespace concur::readers
