// SPDX-License-Identifier: Apache-2.0
// Common parts of the readers of FastFusionNet (felixgwu/FastFusionNet@f55bf739,
// qa/rnn_reader.py): the input layer, and how a span is pointed at. Studies used its
// DocumentReader and FusionNet.
//
// Thread-compatible.
#ifndef CONCUR_STUDIES_READERS_LAYERS_FUSION_INPUTS_H_
#define CONCUR_STUDIES_READERS_LAYERS_FUSION_INPUTS_H_

#include <torch/torch.h>

#include <string>

#include "absl/status/status.h"
#include "studies/readers/layers/attention.h"
#include "studies/readers/layers/contextual.h"
#include "studies/readers/layers/rnn.h"
#include "studies/readers/options.h"
#include "studies/readers/reader.h"

namespace concur::readers {

// The options of the input layer and of every RNN, with the authors' values.
Options FusionOptions();
// InvalidArgument for options of the original that are not built here.
absl::Status CheckFusionOptions(const Options& options);

class FusionReader : public Reader {
 public:
  torch::Tensor WordVectors() override { return words_->weight; }
  void WordVectorsChanged() override;

 protected:
  // Zero at padding.
  struct Inputs {
    torch::Tensor passage, question;              // [B, P, passage_width()], …
    torch::Tensor passage_words, question_words;  // [B, P, word_width()]: without features
  };

  // REQUIRES: CheckFusionOptions(options) is OK.
  explicit FusionReader(const Options& options);
  Inputs Embed(const Batch& batch);

  int64_t passage_width() const { return passage_width_; }
  int64_t question_width() const { return question_width_; }
  int64_t word_width() const { return word_width_; }
  // An RNN stack as the options say, with `hidden_size` for each direction.
  StackedRnnOptions RnnOf(const Options& options, int64_t input, int64_t layers) const;
  const DropoutKind& drop() const { return drop_; }

 private:
  torch::Tensor CharacterMaximum(const torch::Tensor& characters);

  DropoutKind drop_, drop_embedding_;
  bool use_words_, embed_tags_;
  int64_t characters_max_ = 0;
  int64_t passage_width_ = 0, question_width_ = 0, word_width_ = 0;
  torch::nn::Embedding words_ = nullptr, characters_ = nullptr;
  torch::nn::Embedding pos_ = nullptr, entities_ = nullptr;
  bool use_pos_, use_entities_;
  ContextualVectors contextual_ = nullptr;
  AlignedAttention aligned_question_ = nullptr, aligned_passage_ = nullptr;
};

// Points at the first token with a vector that summarises the question, then at the last with the
// same vector or with that of a GRU that has read the first (`end_gru`).
class SpanPointer {
 public:
  // Registers its layers in `parent`, where the originals have them.
  SpanPointer(torch::nn::Module& parent, int64_t passage, int64_t question, bool end_gru);
  // passage [B, P, D], question [B, Q], mask [B, P]. Each use of them drops values anew.
  Scores Forward(const torch::Tensor& passage, const torch::Tensor& question,
                 const torch::Tensor& mask, const DropoutKind& drop, bool training);

 private:
  BilinearScores start_, end_;
  torch::nn::GRUCell gru_ = nullptr;
};

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_LAYERS_FUSION_INPUTS_H_
