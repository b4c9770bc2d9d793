// SPDX-License-Identifier: Apache-2.0
// The pretrained readers' network: an encoder with layer norm after each sum (Vaswani et al., 2017;
// Devlin et al., 2019), and scores of each token as the first and the last of an answer. The five
// families are the rows of studies/readers/files/encoder_config.h; parameters have the original
// library's names.
//
// Thread-compatible.
#ifndef CONCUR_STUDIES_READERS_PRETRAINED_ENCODER_H_
#define CONCUR_STUDIES_READERS_PRETRAINED_ENCODER_H_

#include <torch/torch.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "studies/readers/batch.h"
#include "studies/readers/files/encoder_config.h"

namespace concur::readers {

// B sequences of T tokens: question and passage with the family's separators, padded.
struct TokenBatch {
  torch::Tensor ids;       // [B, T] int64
  torch::Tensor mask;      // [B, T] bool: true at a token; undefined: everywhere
  torch::Tensor segments;  // [B, T] int64; undefined: all 0. RoBERTa does not read them
};

// Intermediate values, for comparisons.
struct EncoderTrace {
  std::vector<torch::Tensor> states;      // [B, T, width]: embeddings, then after each step
  std::vector<torch::Tensor> attentions;  // [B, heads, T, T], of each layer that was applied
};

class Encoder : public torch::nn::Module {
 public:
  // All parameters are zero until they are loaded.
  explicit Encoder(const EncoderConfig& config);

  const EncoderConfig& config() const { return config_; }

  // [B, T, width]; in training mode (`train()`) with dropout. c10::Error for an id without an
  // embedding, and for more tokens than positions.
  torch::Tensor Encode(const TokenBatch& batch, EncoderTrace* trace = nullptr);

  // Layers multiply matrices in this type, half precision, and do all else in that of the weights,
  // which stay as they are; nullopt: in that of the weights, too.
  void SetProductType(std::optional<torch::ScalarType> type) { product_type_ = type; }

  // `starts` and `ends` of every token, [B, T]: padding has scores, too, as in the originals.
  Scores Forward(const TokenBatch& batch, EncoderTrace* trace = nullptr);

  // The mean of the negative log-likelihoods of first and last token. Positions [B] before 0 count
  // as 0; those beyond T are left out of the mean, which is not a number when all are.
  static torch::Tensor Loss(const Scores& scores, const torch::Tensor& starts,
                            const torch::Tensor& ends);

 private:
  struct Affine {
    torch::Tensor weight, bias;
    torch::Tensor operator()(const torch::Tensor& x) const {
      return torch::linear(x, weight, bias);
    }
  };
  using Layer = std::array<Affine, kLayerParts>;

  Affine At(const std::string& path);
  torch::Tensor InProductType(const torch::Tensor& x) const {
    return product_type_.has_value() ? x.to(*product_type_) : x;
  }
  torch::Tensor Product(const Affine& affine, const torch::Tensor& x) const;
  torch::Tensor Norm(const Affine& norm, const torch::Tensor& x) const;
  torch::Tensor Drop(const torch::Tensor& x) const;
  torch::Tensor Embed(const TokenBatch& batch) const;
  torch::Tensor Attend(const Layer& layer, const torch::Tensor& x, const torch::Tensor& bias,
                       EncoderTrace* trace) const;
  torch::Tensor Apply(const Layer& layer, const torch::Tensor& x, const torch::Tensor& bias,
                      EncoderTrace* trace) const;

  EncoderConfig config_;
  std::optional<torch::ScalarType> product_type_;
  torch::Tensor words_, positions_, segments_;
  Affine embeddings_norm_, projection_, head_;
  std::vector<Layer> layers_;  // as stored; steps_ says which are applied
  std::vector<std::vector<size_t>> steps_;
};

// The encoder in a checkpoint's folder, in evaluation mode; the errors of ReadCheckpointFiles.
absl::StatusOr<std::shared_ptr<Encoder>> LoadEncoder(const std::string& directory);

// The same, with a head for answers drawn by `seed` where the checkpoint has none; `drew_head` says
// whether that was done.
absl::StatusOr<std::shared_ptr<Encoder>> LoadForTraining(const std::string& directory,
                                                         uint64_t seed, bool& drew_head);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_PRETRAINED_ENCODER_H_
