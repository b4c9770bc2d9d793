// SPDX-License-Identifier: Apache-2.0
// Attention: for each element of one sequence, or for all of it, a weighted mean of the elements
// of a sequence. Masks are true at tokens.
//
// Thread-compatible.
#ifndef CONCUR_STUDIES_READERS_LAYERS_ATTENTION_H_
#define CONCUR_STUDIES_READERS_LAYERS_ATTENTION_H_

#include <torch/torch.h>

#include <cstdint>

#include "studies/readers/layers/dropout.h"

namespace concur::readers {

// Scores with minus infinity where the mask (of a shape that broadcasts) is false.
torch::Tensor MaskScores(const torch::Tensor& scores, const torch::Tensor& mask);

// values [B, T, D] weighted by [B, T] → [B, D], or by [B, S, T] → [B, S, D].
torch::Tensor WeightedSum(const torch::Tensor& values, const torch::Tensor& weights);

// AllenNLP's softmax under a mask: softmax(scores · mask) · mask, divided by its sum plus 1e-13.
// Not the softmax of the scores that the mask keeps: a score of zero takes part for each one that
// it drops. A row without any is zero.
torch::Tensor RenormalisedSoftmax(const torch::Tensor& scores, const torch::Tensor& mask);
// AllenNLP's "memory efficient" form: dropped scores become the lowest float, then softmax. A row
// without any token is uniform.
torch::Tensor LowestSoftmax(const torch::Tensor& scores, const torch::Tensor& mask);
torch::Tensor FillWithLowest(const torch::Tensor& scores, const torch::Tensor& mask);

// The question aligned with each token of a passage (DrQA, section 3.2): weights are the softmax of
// relu(W x + b) · relu(W y + b), or of x · y without a projection. Parameters: `linear`.
class AlignedAttentionImpl : public torch::nn::Module {
 public:
  AlignedAttentionImpl(int64_t width, bool project, DropoutKind dropout = {});
  // x [B, S, D], y [B, T, D], y_mask [B, T] → [B, S, D].
  torch::Tensor Forward(torch::Tensor x, torch::Tensor y, const torch::Tensor& y_mask);

 private:
  DropoutKind dropout_;  // applied to x and y
  torch::nn::Linear linear_ = nullptr;
};
TORCH_MODULE(AlignedAttention);

// A passage aligned with itself (Mnemonic Reader, section 3.1): the softmax of x_i · x_j. The
// authors' code scores a token with itself 0, where the paper leaves it out.
torch::Tensor SelfAlignment(const torch::Tensor& x, const torch::Tensor& mask);

// Scores of tokens, w · x + b: the softmax of them summarises a question. Parameters: `linear`.
class LinearScoresImpl : public torch::nn::Module {
 public:
  explicit LinearScoresImpl(int64_t width);
  // x [B, T, D], mask [B, T] → [B, T], minus infinity at padding.
  torch::Tensor Forward(const torch::Tensor& x, const torch::Tensor& mask);

 private:
  torch::nn::Linear linear_ = nullptr;
};
TORCH_MODULE(LinearScores);

// Scores of tokens against one vector, x · (W y + b). Parameters: `linear`.
class BilinearScoresImpl : public torch::nn::Module {
 public:
  BilinearScoresImpl(int64_t x_width, int64_t y_width);
  // x [B, T, Dx], y [B, Dy], mask [B, T] → [B, T], minus infinity at padding.
  torch::Tensor Forward(const torch::Tensor& x, const torch::Tensor& y, const torch::Tensor& mask);

 private:
  torch::nn::Linear linear_ = nullptr;
};
TORCH_MODULE(BilinearScores);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_LAYERS_ATTENTION_H_
