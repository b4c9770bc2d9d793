// SPDX-License-Identifier: Apache-2.0
// BiDAF (Seo et al., 2017) without characters and highways, as FastFusionNet has it beside its own
// readers; code: felixgwu/FastFusionNet@f55bf739, qa/rnn_reader.py `BiDAF`. No study used it: it is
// here because its attention is also that of other readers there.
//
// Unlike AllenNLP's (studies/readers/approaches/bidaf.cc) its RNNs read padding, and padded rows of
// the passage have no question.
#include <cmath>

#include "base/status_macros.h"
#include "studies/readers/approaches/approach.h"
#include "studies/readers/layers/fusion_inputs.h"
#include "studies/readers/layers/trilinear.h"

namespace concur::readers {
namespace {

class FusionBidafReader : public FusionReader {
 public:
  explicit FusionBidafReader(const Options& options) : FusionReader(options) {
    const int64_t states = 2 * options.Int("hidden_size");
    const auto encoder = [&](int64_t input, int64_t layers) {
      return StackedRnn(RnnOf(options, input, layers));
    };
    // One encoder for both texts, under both names, when they are equally wide.
    passage_encoder_ = register_module("doc_enc", encoder(passage_width(), 1));
    question_encoder_ = register_module("question_enc", passage_width() == question_width()
                                                            ? passage_encoder_
                                                            : encoder(question_width(), 1));
    auto attention = register_module("biattn", std::make_shared<torch::nn::Module>());
    const auto weights = [&](const char* name) {
      // As kaiming_uniform, which takes the 1 of this shape for the fan-in.
      return attention->register_parameter(
          name, torch::empty({states, 1}).uniform_(-std::sqrt(6.0), std::sqrt(6.0)));
    };
    passage_weights_ = weights("w_x");
    question_weights_ = weights("w_y");
    product_weights_ = weights("w_dot");
    bias_ = attention->register_parameter("bias", torch::zeros({1}));
    modeling_ = register_module("model_enc", encoder(4 * states, 2));
    end_encoder_ = register_module("end_enc", encoder(7 * states, 1));
    start_ = register_module("start_attn", LinearScores(5 * states));
    end_ = register_module("end_attn", LinearScores(5 * states));
  }

  Scores Forward(const Batch& batch) override {
    const torch::Tensor& mask = batch.passage_mask;
    const bool training = is_training();
    const Inputs inputs = Embed(batch);
    const torch::Tensor passage = passage_encoder_->Forward(inputs.passage, mask);
    const torch::Tensor question = question_encoder_->Forward(inputs.question, batch.question_mask);

    const torch::Tensor similarity =
        TrilinearSimilarity(passage, question, passage_weights_.squeeze(1),
                            question_weights_.squeeze(1), product_weights_.squeeze(1), bias_);
    const torch::Tensor scores = MaskScores(similarity, batch.question_mask.unsqueeze(1));
    const torch::Tensor padding = mask.logical_not();
    const torch::Tensor to_question =
        torch::softmax(scores, 2).bmm(question).masked_fill(padding.unsqueeze(2), 0);
    const torch::Tensor largest = MaskScores(std::get<0>(scores.max(2)), mask);
    const torch::Tensor to_passage =
        WeightedSum(passage, torch::softmax(largest, 1)).unsqueeze(1).expand_as(passage);
    const torch::Tensor merged =
        torch::cat({to_question, to_passage, passage * to_question, passage}, 2);

    const torch::Tensor modeled = modeling_->Forward(merged, mask);
    Scores result;
    result.starts = start_->Forward(drop()(torch::cat({modeled, merged}, 2), training), mask);
    const torch::Tensor first =
        WeightedSum(modeled, torch::softmax(result.starts, 1)).unsqueeze(1).expand_as(modeled);
    const torch::Tensor end_states =
        end_encoder_->Forward(torch::cat({merged, modeled, first, modeled * first}, 2), mask);
    result.ends = end_->Forward(drop()(torch::cat({end_states, merged}, 2), training), mask);
    return result;
  }

 private:
  StackedRnn passage_encoder_ = nullptr, question_encoder_ = nullptr;
  StackedRnn modeling_ = nullptr, end_encoder_ = nullptr;
  torch::Tensor passage_weights_, question_weights_, product_weights_, bias_;
  LinearScores start_ = nullptr, end_ = nullptr;
};

absl::StatusOr<std::shared_ptr<Reader>> MakeFusionBidaf(const Options& options) {
  CONCUR_RETURN_IF_ERROR(CheckFusionOptions(options));
  return std::make_shared<FusionBidafReader>(options);
}

}  // namespace

// Hyperparameters: defaults of train.py, without features.
Approach FusionBidafApproach() {
  Approach approach;
  approach.name = "bidaf-fastfusionnet";
  approach.summary = "BiDAF without characters, as FastFusionNet has it";
  approach.settings.batch = 32;
  approach.settings.epochs = 40;
  approach.settings.gradient_norm_max = 10;
  approach.settings.answer_tokens_max = 15;
  approach.settings.tuned_words = 1000;
  approach.options = FusionOptions();
  for (const char* name : {"pos", "ner", "use_qemb"}) {
    approach.options.Set(name, false);
  }
  approach.sizes = FusionSizes();
  approach.signs = {"biattn.", "model_enc."};
  approach.make = MakeFusionBidaf;
  return approach;
}

}  // namespace concur::readers
