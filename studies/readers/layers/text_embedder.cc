// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/layers/text_embedder.h"

#include "studies/readers/layers/dropout.h"
#include "studies/readers/layers/paths.h"
#include "studies/readers/layers/unique_words.h"

namespace concur::readers {

CharacterConvolutionImpl::CharacterConvolutionImpl(int64_t characters, int64_t dim, int64_t filters,
                                                   int64_t width, bool mask_windows)
    : mask_windows_(mask_windows),
      width_(width),
      characters_(RegisterAt(*this, "_embedding._module", torch::nn::Embedding(characters, dim))),
      convolution_(RegisterAt(*this, "_encoder._module.conv_layer_0",
                              torch::nn::Conv1d(dim, filters, width))) {
  torch::nn::init::xavier_uniform_(characters_->weight);
}

torch::Tensor CharacterConvolutionImpl::Forward(const torch::Tensor& ids) {
  const torch::Tensor mask = ids.ne(0);
  torch::Tensor embedded = characters_(ids);
  embedded = embedded * mask.unsqueeze(2).to(embedded.dtype());
  const torch::Tensor found = torch::relu(convolution_(embedded.transpose(1, 2)));  // [N, F, W]
  if (!mask_windows_) {
    return std::get<0>(found.max(2));
  }
  const torch::Tensor windows = (mask.sum(1, true) - width_ + 1).clamp_min(0);  // [N, 1]
  const torch::Tensor outside = torch::arange(found.size(2), ids.options()).ge(windows);
  // relu leaves nothing below zero: a window outside never exceeds one inside, and is 0 alone.
  return std::get<0>(found.masked_fill(outside.unsqueeze(1), 0).max(2));
}

TextEmbedderImpl::TextEmbedderImpl(const Options& options, double drop_characters,
                                   bool mask_windows)
    : drop_characters_(drop_characters),
      output_(options.Int("char_filters") + options.Int("word_dim")),
      words_(register_module("token_embedder_tokens",
                             torch::nn::Embedding(options.Int("vocab"), options.Int("word_dim")))),
      characters_(
          register_module("token_embedder_token_characters",
                          CharacterConvolution(options.Int("char_vocab"), options.Int("char_dim"),
                                               options.Int("char_filters"),
                                               options.Int("char_ngram"), mask_windows))) {}

torch::Tensor TextEmbedderImpl::Forward(const torch::Tensor& ids, const torch::Tensor& characters) {
  const torch::Tensor found = ForEachWord(
      characters, [this](const torch::Tensor& words) { return characters_->Forward(words); });
  return torch::cat({Dropout(found, drop_characters_, is_training()), words_(ids)}, 2);
}

}  // namespace concur::readers
