// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/layers/convolution_encoder.h"

#include <cmath>
#include <vector>

#include "studies/readers/layers/attention.h"
#include "studies/readers/layers/dropout.h"
#include "studies/readers/layers/paths.h"

namespace concur::readers {

torch::Tensor AddPositions(const torch::Tensor& x) {
  constexpr double kShortest = 1;
  constexpr double kLongest = 1e4;
  const int64_t scales = x.size(2) / 2;
  const auto options = torch::TensorOptions(torch::kFloat32).device(x.device());
  const double step = std::log(kLongest / kShortest) / static_cast<double>(scales - 1);
  const torch::Tensor inverse =
      kShortest * torch::exp(torch::arange(scales, options) * (scales > 1 ? -step : 0));
  const torch::Tensor angles = torch::arange(x.size(1), options).unsqueeze(1) * inverse;
  std::vector<torch::Tensor> parts = {angles.sin(), angles.cos()};
  if (x.size(2) % 2 != 0) {
    parts.push_back(torch::zeros({x.size(1), 1}, options));
  }
  return x + torch::cat(parts, 1).to(x.dtype());
}

MultiHeadAttentionImpl::MultiHeadAttentionImpl(const ConvolutionEncoderOptions& options)
    : heads_(options.heads),
      scale_(std::sqrt(static_cast<double>(options.width / options.heads))),
      combined_(register_module("_combined_projection",
                                torch::nn::Linear(options.width, 3 * options.attention_width))),
      output_(register_module("_output_projection",
                              torch::nn::Linear(options.attention_width, options.width))) {}

torch::Tensor MultiHeadAttentionImpl::Forward(const torch::Tensor& x, const torch::Tensor& mask) {
  const int64_t batch = x.size(0);
  const int64_t length = x.size(1);
  const auto split_heads = [&](const torch::Tensor& part) {  // → [B · heads, T, width / heads]
    return part.reshape({batch, length, heads_, -1})
        .transpose(1, 2)
        .reshape({batch * heads_, length, -1});
  };
  const std::vector<torch::Tensor> parts = combined_(x).chunk(3, 2);
  const torch::Tensor scores =
      (split_heads(parts[0]) / scale_).bmm(split_heads(parts[1]).transpose(1, 2));
  const torch::Tensor kept = mask.repeat_interleave(heads_, 0).unsqueeze(1);
  const torch::Tensor attended = LowestSoftmax(scores, kept).bmm(split_heads(parts[2]));
  return output_(
      attended.view({batch, heads_, length, -1}).transpose(1, 2).reshape({batch, length, -1}));
}

ConvolutionBlockImpl::ConvolutionBlockImpl(const ConvolutionEncoderOptions& options)
    : options_(options) {
  const int64_t width = options.width;
  const auto norm = [width] { return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})); };
  register_module("_conv_norm_layers", convolution_norms_);
  register_module("_conv_layers", convolutions_);
  for (int64_t i = 0; i < options.convolutions; ++i) {
    convolution_norms_->push_back(norm());
    // Depthwise, then pointwise: layers 1 and 2 after the padding.
    auto layers = std::make_shared<torch::nn::Module>();
    layers->register_module(
        "1",
        torch::nn::Conv1d(torch::nn::Conv1dOptions(width, width, options.kernel).groups(width)));
    layers->register_module("2", torch::nn::Conv1d(width, width, 1));
    convolutions_->push_back(layers);
  }
  attention_norm_ = register_module("attention_norm_layer", norm());
  attention_ = register_module("attention_layer", MultiHeadAttention(options));
  feedforward_norm_ = register_module("feedforward_norm_layer", norm());
  wide_ = RegisterAt(*this, "feedforward._linear_layers.0",
                     torch::nn::Linear(width, options.feedforward_width));
  narrow_ = RegisterAt(*this, "feedforward._linear_layers.1",
                       torch::nn::Linear(options.feedforward_width, width));
}

torch::Tensor ConvolutionBlockImpl::Drop(const torch::Tensor& x) const {
  return Dropout(x, options_.dropout, is_training());
}

torch::Tensor ConvolutionBlockImpl::Add(const torch::Tensor& x, const torch::Tensor& change,
                                        int64_t index) const {
  const double rate = options_.layer_dropout * static_cast<double>(index) /
                      static_cast<double>(options_.convolutions + 2);
  if (!is_training()) {
    return change * (1 - rate) + x;
  }
  return rate > 0 && torch::rand({1}).item<double>() < rate ? x : x + change;
}

// Both convolutions without turning x [B, T, D] around: a feature's window is a sum of shifted
// products, and a window of one step is a linear layer.
torch::Tensor ConvolutionBlockImpl::Convolve(const torch::nn::Module& layers,
                                             const torch::Tensor& x) const {
  const auto parameters = layers.named_parameters();
  const torch::Tensor windows = parameters["1.weight"].squeeze(1).t();  // [kernel, D]
  const torch::Tensor padded =
      torch::constant_pad_nd(x, {0, 0, options_.kernel / 2, (options_.kernel - 1) / 2});
  torch::Tensor depthwise = parameters["1.bias"];
  for (int64_t k = 0; k < options_.kernel; ++k) {
    depthwise = torch::addcmul(depthwise, padded.narrow(1, k, x.size(1)), windows[k]);
  }
  return torch::relu(
      torch::linear(depthwise, parameters["2.weight"].squeeze(2), parameters["2.bias"]));
}

torch::Tensor ConvolutionBlockImpl::Forward(const torch::Tensor& x, const torch::Tensor& mask) {
  torch::Tensor output = AddPositions(x);
  int64_t index = 0;
  for (size_t i = 0; i < convolutions_->size(); ++i) {
    const torch::Tensor normed =
        Drop(convolution_norms_->ptr<torch::nn::LayerNormImpl>(i)->forward(output));
    output = Add(output, Drop(Convolve(*convolutions_[i], normed)), ++index);
  }
  output = Add(output, Drop(attention_->Forward(Drop(attention_norm_(output)), mask)), ++index);
  const torch::Tensor wide = Drop(torch::relu(wide_(Drop(feedforward_norm_(output)))));
  return Add(output, Drop(Drop(narrow_(wide))), ++index);  // as the original: dropped twice
}

ConvolutionEncoderImpl::ConvolutionEncoderImpl(const ConvolutionEncoderOptions& options) {
  register_module("_encoder_blocks", blocks_);
  for (int64_t i = 0; i < options.blocks; ++i) {
    blocks_->push_back(ConvolutionBlock(options));
  }
}

torch::Tensor ConvolutionEncoderImpl::Forward(torch::Tensor x, const torch::Tensor& mask) {
  for (const auto& block : *blocks_) {
    x = block->as<ConvolutionBlockImpl>()->Forward(x, mask);
  }
  return x;
}

}  // namespace concur::readers
