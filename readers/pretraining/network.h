// SPDX-License-Identifier: Apache-2.0
// An encoder with what pretraining adds to it: masked words are predicted through the embeddings'
// transpose (Devlin et al., 2019), tokens of a span also from the tokens around it and their place
// within it (Joshi et al., 2020), the order of two segments from [CLS] (Lan et al., 2020), and
// which tokens a generator replaced, with whom the encoder shares its embeddings (Clark et al.,
// 2020).
//
// Thread-compatible; draws from torch's default generator.
#ifndef CONCUR_READERS_PRETRAINING_NETWORK_H_
#define CONCUR_READERS_PRETRAINING_NETWORK_H_

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "readers/pretrained/encoder.h"
#include "readers/pretraining/settings.h"
#include "readers/text/pretraining_rows.h"
#include "readers/training/optimizer.h"

namespace concur::readers {

// B rows of T tokens, of which M in all are predicted. Places count tokens through all rows.
struct PretrainingBatch {
  torch::Tensor ids, original, segments;  // [B, T] int64
  torch::Tensor masked;                   // [M] int64: places, rising
  torch::Tensor before, after, within;  // [M] int64: the places around its span; which token of it
  torch::Tensor swapped;                // [B] float: 1 where segments are exchanged
};
// REQUIRES: rows of one length.
PretrainingBatch BatchOfRows(absl::Span<const PretrainingRow> rows);

// The scores of every entry at some tokens: a layer, then the embeddings' transpose.
class WordScores : public torch::nn::Module {
 public:
  explicit WordScores(const EncoderConfig& config);
  // states [M, width], words [entries, embedding width] to [M, entries].
  torch::Tensor Forward(const torch::Tensor& states, const torch::Tensor& words);

 private:
  bool tanh_;  // the approximation of gelu
  torch::nn::Linear dense_{nullptr};
  torch::nn::LayerNorm norm_{nullptr};
  torch::Tensor bias_;
};

// A state for each token of a span, from the states before and after the span and the token's place
// in it: two layers, each with gelu and then layer norm.
class SpanBoundary : public torch::nn::Module {
 public:
  // `places`: of a token within its span; those beyond count as the last.
  SpanBoundary(int64_t width, int64_t places, double norm_epsilon);
  // before, after [M, width], within [M] to [M, width].
  torch::Tensor Forward(const torch::Tensor& before, const torch::Tensor& after,
                        const torch::Tensor& within);

 private:
  int64_t places_;
  torch::nn::Embedding embedding_{nullptr};
  torch::nn::Linear first_{nullptr}, second_{nullptr};
  torch::nn::LayerNorm first_norm_{nullptr}, second_norm_{nullptr};
};

// Sums that means are made of.
struct PretrainingCounts {
  double masked = 0, masked_right = 0;      // words predicted
  double tokens = 0, tokens_right = 0;      // replaced or not
  double segments = 0, segments_right = 0;  // exchanged or not
};

class PretrainingNetwork : public torch::nn::Module {
 public:
  // Draws the weights from torch's generator, as Encoder::Initialise.
  explicit PretrainingNetwork(const PretrainSettings& settings);

  Encoder& encoder() { return *encoder_; }
  // Of the encoder and the generator: Encoder::SetProductType. Heads compute in the weights' type.
  void SetProductType(std::optional<torch::ScalarType> type);

  // The sum of the objectives' mean losses; adds to `counts`. REQUIRES: something is predicted.
  torch::Tensor Loss(const PretrainingBatch& batch, PretrainingCounts& counts);

  // What training changes: without the head for answers, and each shared embedding once.
  std::vector<Trained> Parameters(double weight_decay) const;

 private:
  torch::Tensor Predict(WordScores& head, const torch::Tensor& states, const torch::Tensor& targets,
                        PretrainingCounts* counts, torch::Tensor* scores = nullptr);
  torch::Tensor ReplacedLoss(const PretrainingBatch& batch, PretrainingCounts& counts);
  torch::Tensor OrderLoss(const torch::Tensor& states, const torch::Tensor& swapped,
                          PretrainingCounts& counts);

  PretrainSettings settings_;
  std::shared_ptr<Encoder> encoder_, generator_;
  std::shared_ptr<WordScores> words_, boundary_words_;
  std::shared_ptr<SpanBoundary> boundary_;
  torch::nn::Linear pooler_{nullptr}, order_{nullptr};
  torch::nn::Linear replaced_dense_{nullptr}, replaced_{nullptr};
};

}  // namespace concur::readers

#endif  // CONCUR_READERS_PRETRAINING_NETWORK_H_
