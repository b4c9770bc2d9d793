// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/layers/full_attention.h"

#include "studies/readers/layers/attention.h"

namespace concur::readers {

FullAttentionImpl::FullAttentionImpl(int64_t history, int64_t width, int64_t levels,
                                     DropoutKind dropout)
    : levels_(levels),
      dropout_(dropout),
      diagonal_(register_parameter("linear_final", torch::ones({1, width}))),
      linear_(register_module(
          "linear", torch::nn::Linear(torch::nn::LinearOptions(history, width).bias(false)))) {}

torch::Tensor FullAttentionImpl::SplitLevels(const torch::Tensor& x) const {
  return x.view({x.size(0), x.size(1), levels_, -1})
      .transpose(1, 2)
      .reshape({x.size(0) * levels_, x.size(1), -1});
}

torch::Tensor FullAttentionImpl::Forward(const torch::Tensor& x, const torch::Tensor& y,
                                         const torch::Tensor& values, const torch::Tensor& mask) {
  const torch::Tensor x_key = torch::relu(linear_(dropout_(x, is_training())));
  const torch::Tensor y_key = torch::relu(linear_(dropout_(y, is_training()))) * diagonal_;
  const torch::Tensor scores = SplitLevels(x_key).bmm(SplitLevels(y_key).transpose(1, 2));
  const torch::Tensor kept = mask.unsqueeze(1).repeat_interleave(levels_, 0);
  const torch::Tensor weights = torch::softmax(MaskScores(scores, kept), -1);
  return weights.bmm(SplitLevels(values))
      .view({x.size(0), levels_, x.size(1), -1})
      .transpose(1, 2)
      .reshape({x.size(0), x.size(1), -1});
}

}  // namespace concur::readers
