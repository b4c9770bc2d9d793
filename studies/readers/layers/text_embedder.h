// SPDX-License-Identifier: Apache-2.0
// Words as AllenNLP embeds them: what a convolution finds in their characters (Kim, 2014), then
// their vectors.
//
// Thread-compatible.
#ifndef CONCUR_STUDIES_READERS_LAYERS_TEXT_EMBEDDER_H_
#define CONCUR_STUDIES_READERS_LAYERS_TEXT_EMBEDDER_H_

#include <torch/torch.h>

#include <cstdint>

#include "studies/readers/options.h"

namespace concur::readers {

// Filters over characters, relu, and the largest value of each over the word. In AllenNLP 2 a
// window counts only if it lies entirely in the word, so that a word shorter than a window is zero;
// in versions before, windows over padding count as well (`mask_windows` = false).
class CharacterConvolutionImpl : public torch::nn::Module {
 public:
  CharacterConvolutionImpl(int64_t characters, int64_t dim, int64_t filters, int64_t width,
                           bool mask_windows);
  // ids [N, C], 0 is padding → [N, filters].
  torch::Tensor Forward(const torch::Tensor& ids);

 private:
  bool mask_windows_;
  int64_t width_;
  torch::nn::Embedding characters_ = nullptr;
  torch::nn::Conv1d convolution_ = nullptr;
};
TORCH_MODULE(CharacterConvolution);

class TextEmbedderImpl : public torch::nn::Module {
 public:
  // Options: vocab, word_dim, char_vocab, char_dim, char_filters, char_ngram.
  TextEmbedderImpl(const Options& options, double drop_characters, bool mask_windows);
  // ids [B, T], characters [B, T, C] → [B, T, output()].
  torch::Tensor Forward(const torch::Tensor& ids, const torch::Tensor& characters);
  int64_t output() const { return output_; }
  torch::Tensor words() const { return words_->weight; }

 private:
  double drop_characters_;
  int64_t output_;
  torch::nn::Embedding words_ = nullptr;
  CharacterConvolution characters_ = nullptr;
};
TORCH_MODULE(TextEmbedder);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_LAYERS_TEXT_EMBEDDER_H_
