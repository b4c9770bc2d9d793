// SPDX-License-Identifier: Apache-2.0
// Semantic fusion unit (Mnemonic Reader: Hu et al., 2018, section 3.3): a gate between an input and
// what it becomes together with what is fused into it.
//
// Thread-compatible.
#ifndef CONCUR_STUDIES_READERS_LAYERS_SEMANTIC_FUSION_H_
#define CONCUR_STUDIES_READERS_LAYERS_SEMANTIC_FUSION_H_

#include <torch/torch.h>

#include <cstdint>

namespace concur::readers {

// r = tanh(W_r [x; f] + b_r), g = sigmoid(W_g [x; f] + b_g), output g ∘ r + (1 - g) ∘ x.
class SemanticFusionImpl : public torch::nn::Module {
 public:
  SemanticFusionImpl(int64_t input, int64_t fusion)
      : result_(register_module("linear_r", torch::nn::Linear(input + fusion, input))),
        gate_(register_module("linear_g", torch::nn::Linear(input + fusion, input))) {}

  torch::Tensor Forward(const torch::Tensor& x, const torch::Tensor& fused) {
    const torch::Tensor both = torch::cat({x, fused}, -1);
    const torch::Tensor gate = torch::sigmoid(gate_(both));
    return gate * torch::tanh(result_(both)) + (1 - gate) * x;
  }

 private:
  torch::nn::Linear result_ = nullptr, gate_ = nullptr;
};
TORCH_MODULE(SemanticFusion);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_LAYERS_SEMANTIC_FUSION_H_
