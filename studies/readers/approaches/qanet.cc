// SPDX-License-Identifier: Apache-2.0
// QANet: Yu, Dohan, Luong, Zhao, Chen, Norouzi, Le (2018), "QANet: Combining Local Convolution with
// Global Self-Attention for Reading Comprehension", section 2; code:
// allenai/allennlp-models@b1f37224, rc/models/qanet.py.
//
// Where code and paper differ, this follows the code: the start is predicted from the first and the
// second modeling pass, the end from the first and the third; convolutions see padding.
#include "base/status_macros.h"
#include "studies/readers/approaches/approach.h"
#include "studies/readers/layers/attention.h"
#include "studies/readers/layers/convolution_encoder.h"
#include "studies/readers/layers/dropout.h"
#include "studies/readers/layers/highway.h"
#include "studies/readers/layers/span_search.h"
#include "studies/readers/layers/text_embedder.h"
#include "studies/readers/layers/trilinear.h"

namespace concur::readers {
namespace {

ConvolutionEncoderOptions EncoderOf(const Options& options, const std::string& part) {
  ConvolutionEncoderOptions encoder;
  encoder.width = options.Int("hidden");
  encoder.attention_width = options.Int("attention_projection_dim");
  encoder.heads = options.Int("num_heads");
  encoder.feedforward_width = options.Int("feedforward_hidden_dim");
  encoder.blocks = options.Int(part + "_blocks");
  encoder.convolutions = options.Int(part + "_convs");
  encoder.kernel = options.Int(part + "_kernel");
  encoder.dropout = options.Real("dropout");
  encoder.layer_dropout = options.Real("layer_dropout");
  return encoder;
}

torch::nn::Linear LinearWithoutBias(int64_t input, int64_t output) {
  return torch::nn::Linear(torch::nn::LinearOptions(input, output).bias(false));
}

class QanetReader : public Reader {
 public:
  explicit QanetReader(const Options& options) : dropout_(options.Real("dropout")) {
    const int64_t width = options.Int("hidden");
    embedder_ = register_module("_text_field_embedder", TextEmbedder(options, 0, true));
    narrow_ =
        register_module("_embedding_proj_layer", torch::nn::Linear(embedder_->output(), width));
    highway_ = register_module("_highway_layer", Highway(width, options.Int("num_highway_layers")));
    project_ = register_module("_encoding_proj_layer", LinearWithoutBias(width, width));
    phrase_ = register_module("_phrase_layer", ConvolutionEncoder(EncoderOf(options, "phrase")));
    similarity_ = register_module("_matrix_attention", Trilinear(width));
    merge_ = register_module("_modeling_proj_layer", LinearWithoutBias(4 * width, width));
    modeling_ =
        register_module("_modeling_layer", ConvolutionEncoder(EncoderOf(options, "modeling")));
    start_ = register_module("_span_start_predictor", torch::nn::Linear(2 * width, 1));
    end_ = register_module("_span_end_predictor", torch::nn::Linear(2 * width, 1));
  }

  Scores Forward(const Batch& batch) override {
    const torch::Tensor& passage_mask = batch.passage_mask;
    const torch::Tensor& question_mask = batch.question_mask;
    // Input embedding and embedding encoder.
    const torch::Tensor question = Encode(batch.question, batch.question_characters, question_mask);
    const torch::Tensor passage = Encode(batch.passage, batch.passage_characters, passage_mask);

    // Context-query attention.
    const torch::Tensor similarity = similarity_->Forward(passage, question);
    const torch::Tensor rows = LowestSoftmax(similarity, question_mask.unsqueeze(1));
    const torch::Tensor columns =
        LowestSoftmax(similarity.transpose(1, 2), passage_mask.unsqueeze(1));
    const torch::Tensor to_question = rows.bmm(question);
    const torch::Tensor to_passage = rows.bmm(columns.bmm(passage));

    // Model encoder: three passes with the same weights.
    torch::Tensor modeled = merge_(Drop(MergeAttention(passage, to_question, to_passage)));
    std::vector<torch::Tensor> passes;
    for (int i = 0; i < 3; ++i) {
      modeled = Drop(modeling_->Forward(modeled, passage_mask));
      passes.push_back(modeled);
    }

    // Output.
    Scores scores;
    const auto score = [&](torch::nn::Linear& layer, const torch::Tensor& last) {
      return FillWithLowest(layer(torch::cat({passes[0], last}, 2)).squeeze(2), passage_mask);
    };
    scores.starts = score(start_, passes[1]);
    scores.ends = score(end_, passes[2]);
    return scores;
  }

  std::vector<std::vector<Span>> Decode(const Scores& scores, const Batch& /*batch*/,
                                        const Limits& limits) const override {
    return BestSumsOfLogits(scores, limits);
  }

  torch::Tensor WordVectors() override { return embedder_->words(); }

 private:
  torch::Tensor Drop(const torch::Tensor& x) const { return Dropout(x, dropout_, is_training()); }
  torch::Tensor Encode(const torch::Tensor& ids, const torch::Tensor& characters,
                       const torch::Tensor& mask) {
    const torch::Tensor words = narrow_(Drop(embedder_->Forward(ids, characters)));
    return Drop(phrase_->Forward(project_(highway_->Forward(words)), mask));
  }

  double dropout_;
  TextEmbedder embedder_ = nullptr;
  Highway highway_ = nullptr;
  torch::nn::Linear narrow_ = nullptr, project_ = nullptr, merge_ = nullptr;
  torch::nn::Linear start_ = nullptr, end_ = nullptr;
  ConvolutionEncoder phrase_ = nullptr, modeling_ = nullptr;
  Trilinear similarity_ = nullptr;
};

absl::StatusOr<std::shared_ptr<Reader>> MakeQanet(const Options& options) {
  const int64_t heads = options.Int("num_heads");
  if (heads < 1 || options.Int("hidden") % heads != 0 ||
      options.Int("attention_projection_dim") % heads != 0) {
    return absl::InvalidArgumentError(
        "num_heads: expected a divisor of hidden and of attention_projection_dim");
  }
  return std::make_shared<QanetReader>(options);
}

}  // namespace

// Hyperparameters: training_config/rc/qanet.jsonnet.
Approach QanetApproach() {
  Approach approach;
  approach.name = "qanet";
  approach.summary = "QANet (Yu et al., 2018), as AllenNLP has it";
  approach.inputs.lower_case_words = true;
  approach.inputs.unknown_words = UnknownWords::kRandom;
  approach.inputs.characters = Characters::kVocabulary;
  approach.settings.optimizer = Optimizer::kAdam;
  approach.settings.learning_rate = 1e-3;
  approach.settings.beta1 = 0.8;
  approach.settings.epsilon = 1e-7;
  approach.settings.weight_decay = 1e-7;  // part of the loss (L2), not apart from the gradient
  approach.settings.batch = 25;
  approach.settings.epochs = 50;
  approach.settings.patience = 10;
  approach.settings.selection = Selection::kExactMatch;
  approach.settings.gradient_norm_max = 5;
  approach.settings.average_decay = 0.9999;
  approach.settings.passage_tokens_max = 400;
  approach.settings.question_tokens_max = 50;
  approach.options = {{"vocab", int64_t{0}},
                      {"word_dim", int64_t{300}},
                      {"char_vocab", int64_t{0}},
                      {"char_dim", int64_t{64}},
                      {"char_filters", int64_t{200}},
                      {"char_ngram", int64_t{5}},
                      {"num_highway_layers", int64_t{2}},
                      {"hidden", int64_t{128}},
                      {"attention_projection_dim", int64_t{128}},
                      {"num_heads", int64_t{8}},
                      {"feedforward_hidden_dim", int64_t{128}},
                      {"phrase_blocks", int64_t{1}},
                      {"phrase_convs", int64_t{4}},
                      {"phrase_kernel", int64_t{7}},
                      {"modeling_blocks", int64_t{7}},
                      {"modeling_convs", int64_t{2}},
                      {"modeling_kernel", int64_t{5}},
                      {"dropout", 0.1},
                      {"layer_dropout", 0.1}};
  approach.sizes = {.words = "vocab",
                    .word_dim = "word_dim",
                    .characters = "char_vocab",
                    .features = "",
                    .pos_tags = "",
                    .entity_tags = ""};
  approach.signs = {"_text_field_embedder.", "_phrase_layer._encoder_blocks."};
  approach.make = MakeQanet;
  return approach;
}

}  // namespace concur::readers
