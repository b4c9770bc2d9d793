// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/layers/highway.h"

namespace concur::readers {

HighwayImpl::HighwayImpl(int64_t width, int64_t layers) {
  register_module("_layers", layers_);
  for (int64_t i = 0; i < layers; ++i) {
    torch::nn::Linear layer(width, 2 * width);
    torch::NoGradGuard no_gradients;
    layer->bias.narrow(0, width, width).fill_(1);
    layers_->push_back(layer);
  }
}

torch::Tensor HighwayImpl::Forward(torch::Tensor x) {
  for (const auto& layer : *layers_) {
    const std::vector<torch::Tensor> halves =
        layer->as<torch::nn::LinearImpl>()->forward(x).chunk(2, -1);
    const torch::Tensor gate = torch::sigmoid(halves[1]);
    x = gate * x + (1 - gate) * torch::relu(halves[0]);
  }
  return x;
}

}  // namespace concur::readers
