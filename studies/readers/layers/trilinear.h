// SPDX-License-Identifier: Apache-2.0
// Trilinear attention (BiDAF: Seo et al., 2017): how similar each token of one sequence is to each
// of another, w · [x; y; x ∘ y] + b.
//
// Thread-compatible.
#ifndef CONCUR_STUDIES_READERS_LAYERS_TRILINEAR_H_
#define CONCUR_STUDIES_READERS_LAYERS_TRILINEAR_H_

#include <torch/torch.h>

#include <cstdint>

namespace concur::readers {

// x [B, S, D], y [B, T, D], and weights of D values each → [B, S, T].
torch::Tensor TrilinearSimilarity(const torch::Tensor& x, const torch::Tensor& y,
                                  const torch::Tensor& x_weight, const torch::Tensor& y_weight,
                                  const torch::Tensor& product_weight, const torch::Tensor& bias);

// With the three weights in one vector, as AllenNLP's LinearMatrixAttention has them.
class TrilinearImpl : public torch::nn::Module {
 public:
  explicit TrilinearImpl(int64_t width);
  torch::Tensor Forward(const torch::Tensor& x, const torch::Tensor& y);

 private:
  torch::Tensor weights_;  // [3 width]
  torch::Tensor bias_;
};
TORCH_MODULE(Trilinear);

// [p; c2q; p ∘ c2q; p ∘ q2c]: what the attention adds to a passage p.
torch::Tensor MergeAttention(const torch::Tensor& passage, const torch::Tensor& to_question,
                             const torch::Tensor& to_passage);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_LAYERS_TRILINEAR_H_
