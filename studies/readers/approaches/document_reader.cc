// SPDX-License-Identifier: Apache-2.0
// DocumentReader: DrQA's network (Chen et al., 2017) as FastFusionNet has it, which studies of many
// benchmarks used; code: felixgwu/FastFusionNet@f55bf739, qa/rnn_reader.py `RnnDocReader`.
//
// Differences to DrQA's own code (studies/readers/approaches/drqa.cc): tags are embedded, dropout
// is variational, inputs are zero at padding, and the RNNs read padding, in prediction, too, so
// that an answer may depend on how long the other passages of its batch are (rnn_padding turns that
// off).
#include "base/status_macros.h"
#include "studies/readers/approaches/approach.h"
#include "studies/readers/layers/fusion_inputs.h"

namespace concur::readers {
namespace {

class DocumentReader : public FusionReader {
 public:
  explicit DocumentReader(const Options& options) : FusionReader(options) {
    const auto encoder = [&](int64_t input, const char* layers) {
      StackedRnnOptions rnn = RnnOf(options, input, options.Int(layers));
      rnn.drop_output = options.Flag("dropout_rnn_output");
      rnn.concatenate_layers = options.Flag("concat_rnn_layers");
      // The original's RnnDocReader does not pass on `residual` and `squeeze_excitation`.
      return StackedRnn(rnn);
    };
    passage_rnn_ = register_module("doc_rnn", encoder(passage_width(), "doc_layers"));
    question_rnn_ = register_module("question_rnn", encoder(question_width(), "question_layers"));
    const int64_t question_states = question_rnn_->options().output();
    question_scores_ = register_module("self_attn", LinearScores(question_states));
    pointer_ = std::make_unique<SpanPointer>(*this, passage_rnn_->options().output(),
                                             question_states, options.Flag("end_gru"));
  }

  Scores Forward(const Batch& batch) override {
    const Inputs inputs = Embed(batch);
    const torch::Tensor passage = passage_rnn_->Forward(inputs.passage, batch.passage_mask);
    const torch::Tensor question = question_rnn_->Forward(inputs.question, batch.question_mask);
    const torch::Tensor importance = question_scores_->Forward(question, batch.question_mask);
    const torch::Tensor summary = WeightedSum(question, torch::softmax(importance, 1));
    return pointer_->Forward(passage, summary, batch.passage_mask, DropoutKind(), is_training());
  }

 private:
  StackedRnn passage_rnn_ = nullptr, question_rnn_ = nullptr;
  LinearScores question_scores_ = nullptr;
  std::unique_ptr<SpanPointer> pointer_;
};

absl::StatusOr<std::shared_ptr<Reader>> MakeDocumentReader(const Options& options) {
  CONCUR_RETURN_IF_ERROR(CheckFusionOptions(options));
  return std::make_shared<DocumentReader>(options);
}

}  // namespace

// Hyperparameters: defaults of train.py. The most frequent 1,000 words are tuned.
Approach DocumentReaderApproach(bool external_features) {
  Approach approach;
  approach.name = external_features ? "document-reader" : "document-reader-no-features";
  approach.summary = external_features
                         ? "DocumentReader (Chen et al., 2017), as FastFusionNet has it"
                         : "DocumentReader without part of speech and entity";
  approach.inputs.match_features = true;
  approach.inputs.tags = external_features ? Inputs::Tags::kIds : Inputs::Tags::kNone;
  approach.settings.optimizer = Optimizer::kAdamax;
  approach.settings.learning_rate = 2e-3;
  approach.settings.batch = 32;
  approach.settings.epochs = 40;
  approach.settings.selection = Selection::kF1;
  approach.settings.gradient_norm_max = 10;
  approach.settings.answer_tokens_max = 15;
  approach.settings.tuned_words = 1000;
  approach.options = FusionOptions();
  approach.options.Set("doc_layers", int64_t{3});
  approach.options.Set("question_layers", int64_t{3});
  approach.options.Set("concat_rnn_layers", true);
  approach.options.Set("dropout_rnn_output", true);
  approach.options.Set("pos", external_features);
  approach.options.Set("ner", external_features);
  approach.sizes = FusionSizes();
  if (external_features) {
    approach.signs = {"doc_rnn.", "start_attn.", "variational_dropout"};
  }
  approach.make = MakeDocumentReader;
  return approach;
}

}  // namespace concur::readers
