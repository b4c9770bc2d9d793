// SPDX-License-Identifier: Apache-2.0
// Fully-aware attention (FusionNet: Huang et al., 2018, section 2): words are compared by their
// whole history, all representations so far, and what is fused are representations of some levels.
//
// Thread-compatible.
#ifndef CONCUR_STUDIES_READERS_LAYERS_FULL_ATTENTION_H_
#define CONCUR_STUDIES_READERS_LAYERS_FULL_ATTENTION_H_

#include <torch/torch.h>

#include <cstdint>

#include "studies/readers/layers/dropout.h"

namespace concur::readers {

// S_ij = relu(U x_i)ᵀ D relu(U y_j) for each level, with a diagonal D and no scaling. The paper's U
// of each level are the rows of one `linear` here, its D the values of `linear_final`.
class FullAttentionImpl : public torch::nn::Module {
 public:
  // `width`: of all levels' keys together, which is also that of the values.
  FullAttentionImpl(int64_t history, int64_t width, int64_t levels, DropoutKind dropout);
  // x [B, S, history], y [B, T, history], values [B, T, width], mask of y [B, T] → [B, S, width].
  torch::Tensor Forward(const torch::Tensor& x, const torch::Tensor& y, const torch::Tensor& values,
                        const torch::Tensor& mask);

 private:
  // [B, T, width] → [B · levels, T, width / levels].
  torch::Tensor SplitLevels(const torch::Tensor& x) const;

  int64_t levels_;
  DropoutKind dropout_;
  torch::Tensor diagonal_;
  torch::nn::Linear linear_ = nullptr;
};
TORCH_MODULE(FullAttention);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_LAYERS_FULL_ATTENTION_H_
