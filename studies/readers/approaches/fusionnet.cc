// SPDX-License-Identifier: Apache-2.0
// FusionNet: Huang, Zhu, Shen, Chen (2018), "FusionNet: Fusing via Fully-aware Attention with
// Application to Machine Comprehension", section 3; code: felixgwu/FastFusionNet@f55bf739,
// qa/rnn_reader.py `FusionNet`.
//
// Where code and paper differ, this follows the code: RNNs read padding (rnn_padding turns that
// off); one FullAttention with three levels stands for the paper's three; both bilinear terms have
// a bias; CoVe is an option (the published 75.0 EM used it).
#include "base/status_macros.h"
#include "studies/readers/approaches/approach.h"
#include "studies/readers/layers/full_attention.h"
#include "studies/readers/layers/fusion_inputs.h"

namespace concur::readers {
namespace {

class FusionNetReader : public FusionReader {
 public:
  explicit FusionNetReader(const Options& options) : FusionReader(options) {
    const int64_t states = 2 * options.Int("hidden_size");
    const int64_t understanding = options.Int("fusion_understanding_layers");
    const auto reading = [&](int64_t input) {
      StackedRnnOptions rnn = RnnWithGates(options, input, 2);  // the low and the high level
      rnn.concatenate_layers = true;
      return StackedRnn(rnn);
    };
    passage_rnn_ = register_module("doc_rnn", reading(passage_width()));
    question_rnn_ = register_module("question_rnn", reading(question_width()));
    question_understanding_ = register_module(
        "question_urnn", StackedRnn(RnnWithGates(options, 2 * states, understanding)));
    multi_level_ = register_module("multi_level_fusion",
                                   FullAttention(word_width() + 2 * states, 3 * states, 3, drop()));
    passage_understanding_ =
        register_module("doc_urnn", StackedRnn(RnnWithGates(options, 5 * states, understanding)));
    register_module("self_boost_fusions", self_fusions_);
    register_module("doc_final_rnns", final_rnns_);
    int64_t history = word_width() + 6 * states;
    for (int64_t i = 0; i < options.Int("fusion_self_boost_times"); ++i, history += states) {
      self_fusions_->push_back(FullAttention(history, states, 1, drop()));
      final_rnns_->push_back(
          StackedRnn(RnnWithGates(options, 2 * states, options.Int("fusion_final_layers"))));
    }
    question_scores_ = register_module("self_attn", LinearScores(states));
    pointer_ = std::make_unique<SpanPointer>(*this, states, states, options.Flag("end_gru"));
  }

  Scores Forward(const Batch& batch) override {
    const torch::Tensor& mask = batch.passage_mask;
    // Input vectors, with word-level fusion.
    const Inputs inputs = Embed(batch);

    // Reading and question understanding.
    const torch::Tensor passage = passage_rnn_->Forward(inputs.passage, mask);
    const torch::Tensor question = question_rnn_->Forward(inputs.question, batch.question_mask);
    const torch::Tensor understood =
        question_understanding_->Forward(question, batch.question_mask);

    // Fully-aware multi-level fusion: higher levels.
    const torch::Tensor fused =
        multi_level_->Forward(torch::cat({inputs.passage_words, passage}, 2),
                              torch::cat({inputs.question_words, question}, 2),
                              torch::cat({question, understood}, 2), batch.question_mask);
    torch::Tensor states = passage_understanding_->Forward(torch::cat({passage, fused}, 2), mask);

    // Fully-aware self-boosted fusion.
    torch::Tensor history = torch::cat({inputs.passage_words, passage, fused, states}, 2);
    torch::Tensor last = states;
    for (size_t i = 0; i < self_fusions_->size(); ++i) {
      const torch::Tensor self_fused =
          self_fusions_->ptr<FullAttentionImpl>(i)->Forward(history, history, states, mask);
      last =
          final_rnns_->ptr<StackedRnnImpl>(i)->Forward(torch::cat({states, self_fused}, 2), mask);
      history = torch::cat({history, last}, 2);
      states = last;
    }

    // The question's summary, and the span that it points at.
    const torch::Tensor importance =
        question_scores_->Forward(drop()(understood, is_training()), batch.question_mask);
    const torch::Tensor summary = WeightedSum(understood, torch::softmax(importance, 1));
    return pointer_->Forward(last, summary, mask, drop(), is_training());
  }

 private:
  StackedRnnOptions RnnWithGates(const Options& options, int64_t input, int64_t layers) const {
    StackedRnnOptions rnn = RnnOf(options, input, layers);
    rnn.residual = options.Flag("residual");
    rnn.squeeze_excitation = options.Int("squeeze_excitation");
    return rnn;
  }

  StackedRnn passage_rnn_ = nullptr, question_rnn_ = nullptr;
  StackedRnn passage_understanding_ = nullptr, question_understanding_ = nullptr;
  FullAttention multi_level_ = nullptr;
  torch::nn::ModuleList self_fusions_, final_rnns_;
  LinearScores question_scores_ = nullptr;
  std::unique_ptr<SpanPointer> pointer_;
};

absl::StatusOr<std::shared_ptr<Reader>> MakeFusionNet(const Options& options) {
  CONCUR_RETURN_IF_ERROR(CheckFusionOptions(options));
  return std::make_shared<FusionNetReader>(options);
}

}  // namespace

// Hyperparameters: the README's command for FusionNet, otherwise defaults of train.py, whose loop
// runs one epoch less than asked for.
Approach FusionNetApproach(bool external_features) {
  Approach approach;
  approach.name = external_features ? "fusionnet" : "fusionnet-no-features";
  approach.summary = external_features ? "FusionNet (Huang et al., 2018)"
                                       : "FusionNet without part of speech and entity";
  approach.inputs.match_features = true;
  approach.inputs.tags = external_features ? Inputs::Tags::kIds : Inputs::Tags::kNone;
  approach.settings.optimizer = Optimizer::kAdamax;
  approach.settings.learning_rate = 1e-3;
  approach.settings.batch = 32;
  approach.settings.epochs = 99;
  approach.settings.selection = Selection::kF1;
  approach.settings.gradient_norm_max = 20;
  approach.settings.answer_tokens_max = 15;
  approach.settings.tuned_words = 1000;
  approach.options = FusionOptions();
  approach.options.Set("hidden_size", int64_t{125});
  approach.options.Set("end_gru", true);
  approach.options.Set("fusion_understanding_layers", int64_t{1});
  approach.options.Set("fusion_final_layers", int64_t{1});
  approach.options.Set("fusion_self_boost_times", int64_t{1});
  approach.options.Set("pos", external_features);
  approach.options.Set("ner", external_features);
  approach.sizes = FusionSizes();
  if (external_features) {
    approach.signs = {"doc_rnn.", "multi_level_fusion.", "variational_dropout", "start_attn."};
  }
  approach.make = MakeFusionNet;
  return approach;
}

}  // namespace concur::readers
