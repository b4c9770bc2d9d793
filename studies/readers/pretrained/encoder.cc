// SPDX-License-Identifier: Apache-2.0
// Code: transformers 4.9, models/{bert,albert,roberta,electra}/modeling_*.py. What is masked gets
// -10,000 and not minus infinity, and padding has scores; both as there.
#include "studies/readers/pretrained/encoder.h"

#include <cmath>

#include "base/status_macros.h"
#include "studies/readers/files/checkpoint_files.h"
#include "studies/readers/layers/dropout.h"
#include "studies/readers/layers/paths.h"
#include "studies/readers/pretrained/attention.h"
#include "studies/readers/tensors.h"

namespace concur::readers {
namespace {

constexpr double kMaskedScore = -10000;

torch::Tensor Activate(Activation activation, const torch::Tensor& x) {
  switch (activation) {
    case Activation::kGelu:
      return torch::gelu(x);
    case Activation::kGeluTanh:
      return torch::gelu(x, "tanh");
    case Activation::kRelu:
      return torch::relu(x);
    case Activation::kSilu:
      break;
  }
  return torch::silu(x);
}

}  // namespace

Encoder::Encoder(const EncoderConfig& config) : config_(config), steps_(config.Steps()) {
  for (const auto& [name, shape] : config.Tensors()) {
    const size_t dot = name.rfind('.');
    ModuleAt(*this, name.substr(0, dot))
        .register_parameter(name.substr(dot + 1), torch::zeros(shape));
  }
  const std::string prefix = config.family->prefix;
  words_ = At(prefix + "embeddings.word_embeddings").weight;
  positions_ = At(prefix + "embeddings.position_embeddings").weight;
  segments_ = At(prefix + "embeddings.token_type_embeddings").weight;
  embeddings_norm_ = At(prefix + "embeddings.LayerNorm");
  if (config.projects()) {
    projection_ = At(prefix + config.family->projection);
  }
  for (const std::string& path : config.LayerPaths()) {
    layers_.emplace_back();
    for (size_t part = 0; part < kLayerParts; ++part) {
      layers_.back()[part] = At(path + config.family->parts[part]);
    }
  }
  head_ = At("qa_outputs");
}

Encoder::Affine Encoder::At(const std::string& path) {
  const auto parameters = ModuleAt(*this, path).named_parameters(false);
  const torch::Tensor* bias = parameters.find("bias");
  return {parameters["weight"], bias == nullptr ? torch::Tensor() : *bias};
}

torch::Tensor Encoder::Product(const Affine& affine, const torch::Tensor& x) const {
  return torch::linear(InProductType(x), InProductType(affine.weight), InProductType(affine.bias));
}

torch::Tensor Encoder::Norm(const Affine& norm, const torch::Tensor& x) const {
  return torch::layer_norm(x, {x.size(-1)}, norm.weight, norm.bias, config_.norm_epsilon);
}

torch::Tensor Encoder::Drop(const torch::Tensor& x) const {
  return Dropout(x, config_.dropout, is_training());
}

// The embedding of padding is never trained.
torch::Tensor Encoder::Embed(const TokenBatch& batch) const {
  const int64_t padding = config_.padding_id;
  torch::Tensor sum = torch::embedding(words_, batch.ids, padding);
  sum = sum + (config_.family->segments && batch.segments.defined()
                   ? torch::embedding(segments_, batch.segments)
                   : segments_[0]);
  if (config_.family->positions_after_padding) {
    const torch::Tensor real = batch.ids.ne(padding).to(torch::kInt64);
    sum = sum + torch::embedding(positions_, real.cumsum(1) * real + padding, padding);
  } else {
    sum = sum + positions_.narrow(0, 0, batch.ids.size(1));
  }
  const torch::Tensor embedded = Drop(Norm(embeddings_norm_, sum));
  return config_.projects() ? projection_(embedded) : embedded;
}

torch::Tensor Encoder::Attend(const Layer& layer, const torch::Tensor& x, const torch::Tensor& bias,
                              EncoderTrace* trace) const {
  const int64_t width = config_.width / config_.heads;
  const auto heads = [&](LayerPart part) {
    return Product(layer[part], x)
        .view({x.size(0), x.size(1), config_.heads, width})
        .transpose(1, 2);
  };
  // The originals divide scores. There are fewer queries, and in half precision scores may be
  // large.
  const torch::Tensor query = heads(kQuery) / std::sqrt(static_cast<double>(width));
  torch::Tensor weights;
  const torch::Tensor context =
      Attention(query, heads(kKey), heads(kValue), bias, {config_.attention_dropout, is_training()},
                trace == nullptr ? nullptr : &weights);
  if (trace != nullptr) {
    trace->attentions.push_back(weights);
  }
  return context.transpose(1, 2).reshape(x.sizes());
}

torch::Tensor Encoder::Apply(const Layer& layer, const torch::Tensor& x, const torch::Tensor& bias,
                             EncoderTrace* trace) const {
  const torch::Tensor context = Product(layer[kAttentionOutput], Attend(layer, x, bias, trace));
  const torch::Tensor attended = Norm(layer[kAttentionNorm], Drop(context) + x);
  const torch::Tensor output =
      Product(layer[kDown], Activate(config_.activation, Product(layer[kUp], attended)));
  return Norm(layer[kNorm],
              (config_.family->drops_after_feed_forward ? Drop(output) : output) + attended);
}

torch::Tensor Encoder::Encode(const TokenBatch& batch, EncoderTrace* trace) {
  torch::Tensor x = Embed(batch);
  torch::Tensor bias;
  if (batch.mask.defined()) {
    bias = batch.mask.logical_not().to(x.dtype()).mul(kMaskedScore).unsqueeze(1).unsqueeze(1);
  }
  const auto keep = [&] {
    if (trace != nullptr) {
      trace->states.push_back(x);
    }
  };
  keep();
  for (const std::vector<size_t>& step : steps_) {
    for (const size_t layer : step) {
      x = Apply(layers_[layer], x, bias, trace);
    }
    keep();
  }
  return x;
}

Scores Encoder::Forward(const TokenBatch& batch, EncoderTrace* trace) {
  const torch::Tensor logits = head_(Encode(batch, trace));
  Scores scores;
  scores.starts = logits.select(2, 0);
  scores.ends = logits.select(2, 1);
  return scores;
}

torch::Tensor Encoder::Loss(const Scores& scores, const torch::Tensor& starts,
                            const torch::Tensor& ends) {
  const int64_t outside = scores.starts.size(1);
  const auto negative_log_likelihood = [outside](const torch::Tensor& logits,
                                                 const torch::Tensor& target) {
    return torch::nll_loss(torch::log_softmax(logits, 1), target.clamp(0, outside), {},
                           at::Reduction::Mean, outside);
  };
  return (negative_log_likelihood(scores.starts, starts) +
          negative_log_likelihood(scores.ends, ends)) /
         2;
}

absl::StatusOr<std::shared_ptr<Encoder>> LoadEncoder(const std::string& directory) {
  CONCUR_ASSIGN_OR_RETURN(const CheckpointFiles files, ReadCheckpointFiles(directory));
  auto encoder = std::make_shared<Encoder>(files.config);
  CONCUR_RETURN_IF_ERROR(LoadState(*encoder, files.tensors, files.weights_path));
  encoder->eval();
  return encoder;
}

absl::StatusOr<std::shared_ptr<Encoder>> LoadForTraining(const std::string& directory,
                                                         uint64_t seed, bool& drew_head) {
  CONCUR_ASSIGN_OR_RETURN(const CheckpointFiles files,
                          ReadCheckpointFiles(directory, Head::kOptional));
  auto encoder = std::make_shared<Encoder>(files.config);
  drew_head = !files.has_head;
  torch::manual_seed(seed);
  const torch::NoGradGuard no_gradients;
  for (auto& [name, tensor] : StateOf(*encoder)) {
    const auto stored = files.tensors.find(name);
    if (stored != files.tensors.end()) {
      torch::Tensor(tensor).copy_(ToTensor(stored->second));
    } else if (tensor.dim() > 1) {  // the head's biases stay 0
      torch::Tensor(tensor).normal_(0, files.config.initial_deviation);
    }
  }
  return encoder;
}

}  // namespace concur::readers
