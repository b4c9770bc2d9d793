// SPDX-License-Identifier: Apache-2.0
// QANet's encoder (Yu et al., 2018, section 2.2): blocks of separable convolutions, self-attention
// and a feed-forward layer, each normalised before and added to its input.
//
// Thread-compatible.
#ifndef CONCUR_STUDIES_READERS_LAYERS_CONVOLUTION_ENCODER_H_
#define CONCUR_STUDIES_READERS_LAYERS_CONVOLUTION_ENCODER_H_

#include <torch/torch.h>

#include <cstdint>

namespace concur::readers {

struct ConvolutionEncoderOptions {
  int64_t width = 128;
  int64_t attention_width = 128;  // width of queries, keys and values, over all heads
  int64_t heads = 8;
  int64_t feedforward_width = 128;
  int64_t blocks = 1;
  int64_t convolutions = 4;  // in each block
  int64_t kernel = 7;
  double dropout = 0.1;
  double layer_dropout = 0.1;  // rate of a block's last layer; grows linearly from its first
};

// x [B, T, D] plus sine and cosine of positions, in halves, of D/2 time scales from 1 to 10,000.
torch::Tensor AddPositions(const torch::Tensor& x);

// Attention of a sequence to itself with several heads. The scores are divided by the root of
// width / heads, where the paper has that of the keys' width; padding is left out.
class MultiHeadAttentionImpl : public torch::nn::Module {
 public:
  explicit MultiHeadAttentionImpl(const ConvolutionEncoderOptions& options);
  torch::Tensor Forward(const torch::Tensor& x, const torch::Tensor& mask);

 private:
  int64_t heads_;
  double scale_;
  torch::nn::Linear combined_ = nullptr, output_ = nullptr;
};
TORCH_MODULE(MultiHeadAttention);

class ConvolutionBlockImpl : public torch::nn::Module {
 public:
  explicit ConvolutionBlockImpl(const ConvolutionEncoderOptions& options);
  torch::Tensor Forward(const torch::Tensor& x, const torch::Tensor& mask);

 private:
  // Adds what layer `index` of the block (from 1) makes of x. In training the layer is left out at
  // random; in evaluation its part is scaled by the probability that it was not.
  torch::Tensor Add(const torch::Tensor& x, const torch::Tensor& change, int64_t index) const;
  torch::Tensor Drop(const torch::Tensor& x) const;
  torch::Tensor Convolve(const torch::nn::Module& layers, const torch::Tensor& x) const;

  ConvolutionEncoderOptions options_;
  torch::nn::ModuleList convolution_norms_, convolutions_;
  torch::nn::LayerNorm attention_norm_ = nullptr, feedforward_norm_ = nullptr;
  MultiHeadAttention attention_ = nullptr;
  torch::nn::Linear wide_ = nullptr, narrow_ = nullptr;
};
TORCH_MODULE(ConvolutionBlock);

class ConvolutionEncoderImpl : public torch::nn::Module {
 public:
  explicit ConvolutionEncoderImpl(const ConvolutionEncoderOptions& options);
  // x [B, T, width], mask [B, T] → [B, T, width]. Convolutions see padding.
  torch::Tensor Forward(torch::Tensor x, const torch::Tensor& mask);

 private:
  torch::nn::ModuleList blocks_;
};
TORCH_MODULE(ConvolutionEncoder);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_LAYERS_CONVOLUTION_ENCODER_H_
