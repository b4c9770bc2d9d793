// SPDX-License-Identifier: Apache-2.0
// BiDAF: Seo, Kembhavi, Farhadi, Hajishirzi (2017), "Bidirectional Attention Flow for Machine
// Comprehension", section 2; code: allenai/allennlp-models@b1f37224, rc/models/bidaf.py.
//
// Where code and paper differ, this follows the code: one phrase LSTM for both texts, a softmax
// that is renormalised after masking, and no limit of an answer's length.
#include "base/status_macros.h"
#include "studies/readers/approaches/approach.h"
#include "studies/readers/layers/attention.h"
#include "studies/readers/layers/highway.h"
#include "studies/readers/layers/paths.h"
#include "studies/readers/layers/rnn.h"
#include "studies/readers/layers/span_search.h"
#include "studies/readers/layers/text_embedder.h"
#include "studies/readers/layers/trilinear.h"

namespace concur::readers {
namespace {

class BidafReader : public Reader {
 public:
  explicit BidafReader(const Options& options)
      : dropout_(options.Real("dropout")), leave_padding_out_(options.Flag("mask_lstms")) {
    const int64_t hidden = options.Int("hidden");
    const int64_t states = 2 * hidden;
    embedder_ = register_module("_text_field_embedder", TextEmbedder(options, dropout_, true));
    highway_ = RegisterAt(*this, "_highway_layer._module",
                          Highway(embedder_->output(), options.Int("num_highway_layers")));
    phrase_ =
        RegisterAt(*this, "_phrase_layer._module", Rnn(Cell::kLstm, embedder_->output(), hidden));
    similarity_ = register_module("_matrix_attention", Trilinear(states));
    modeling_ =
        RegisterAt(*this, "_modeling_layer._module",
                   Rnn(Cell::kLstm, 4 * states, hidden, options.Int("modeling_layers"), dropout_));
    end_encoder_ =
        RegisterAt(*this, "_span_end_encoder._module", Rnn(Cell::kLstm, 7 * states, hidden));
    start_ = RegisterAt(*this, "_span_start_predictor._module", torch::nn::Linear(5 * states, 1));
    end_ = RegisterAt(*this, "_span_end_predictor._module", torch::nn::Linear(5 * states, 1));
  }

  Scores Forward(const Batch& batch) override {
    const torch::Tensor& passage_mask = batch.passage_mask;
    const torch::Tensor& question_mask = batch.question_mask;
    // Character, word and contextual embedding.
    const torch::Tensor question =
        Encode(phrase_, Embed(batch.question, batch.question_characters), question_mask);
    const torch::Tensor passage =
        Encode(phrase_, Embed(batch.passage, batch.passage_characters), passage_mask);

    // Attention flow, in both directions.
    const torch::Tensor similarity = similarity_->Forward(passage, question);
    const torch::Tensor to_question =
        WeightedSum(question, RenormalisedSoftmax(similarity, question_mask.unsqueeze(1)));
    const torch::Tensor largest =
        std::get<0>(FillWithLowest(similarity, question_mask.unsqueeze(1)).max(2));
    const torch::Tensor to_passage =
        WeightedSum(passage, RenormalisedSoftmax(largest, passage_mask)).unsqueeze(1);
    const torch::Tensor merged = MergeAttention(passage, to_question, to_passage);

    // Modeling.
    const torch::Tensor modeled = Encode(modeling_, merged, passage_mask);

    // Output.
    const torch::Tensor starts = start_(Drop(torch::cat({merged, modeled}, 2))).squeeze(2);
    const torch::Tensor first =
        WeightedSum(modeled, RenormalisedSoftmax(starts, passage_mask)).unsqueeze(1);
    const torch::Tensor end_states = Encode(
        end_encoder_, torch::cat({merged, modeled, first.expand_as(modeled), modeled * first}, 2),
        passage_mask);
    const torch::Tensor ends = end_(Drop(torch::cat({merged, end_states}, 2))).squeeze(2);
    Scores scores;
    scores.starts = FillWithLowest(starts, passage_mask);
    scores.ends = FillWithLowest(ends, passage_mask);
    return scores;
  }

  std::vector<std::vector<Span>> Decode(const Scores& scores, const Batch& /*batch*/,
                                        const Limits& limits) const override {
    return BestSumsOfLogits(scores, limits);
  }

  torch::Tensor WordVectors() override { return embedder_->words(); }

 private:
  torch::Tensor Drop(const torch::Tensor& x) const { return Dropout(x, dropout_, is_training()); }
  torch::Tensor Embed(const torch::Tensor& ids, const torch::Tensor& characters) {
    return highway_->Forward(embedder_->Forward(ids, characters));
  }
  torch::Tensor Encode(Rnn& rnn, const torch::Tensor& x, const torch::Tensor& mask) const {
    return Drop(leave_padding_out_ ? rnn->Forward(x, mask) : rnn->Forward(x));
  }

  double dropout_;
  bool leave_padding_out_;
  TextEmbedder embedder_ = nullptr;
  Highway highway_ = nullptr;
  Rnn phrase_ = nullptr, modeling_ = nullptr, end_encoder_ = nullptr;
  Trilinear similarity_ = nullptr;
  torch::nn::Linear start_ = nullptr, end_ = nullptr;
};

absl::StatusOr<std::shared_ptr<Reader>> MakeBidaf(const Options& options) {
  return std::make_shared<BidafReader>(options);
}

}  // namespace

// Hyperparameters: training_config/rc/bidaf.jsonnet.
Approach BidafApproach() {
  Approach approach;
  approach.name = "bidaf";
  approach.summary = "Bidirectional Attention Flow (Seo et al., 2017), as AllenNLP has it";
  approach.inputs.lower_case_words = true;
  approach.inputs.unknown_words = UnknownWords::kRandom;
  approach.inputs.characters = Characters::kBytes;
  approach.settings.optimizer = Optimizer::kAdam;
  approach.settings.learning_rate = 1e-3;
  approach.settings.beta1 = 0.9;
  approach.settings.beta2 = 0.9;
  approach.settings.schedule = Schedule::kOnPlateau;
  approach.settings.schedule_factor = 0.5;
  approach.settings.schedule_period = 2;
  approach.settings.batch = 40;
  approach.settings.epochs = 20;
  approach.settings.patience = 10;
  approach.settings.selection = Selection::kExactMatch;
  approach.settings.gradient_norm_max = 5;
  approach.settings.vectors = "glove.6B.100d";
  approach.options = {{"vocab", int64_t{0}},
                      {"word_dim", int64_t{100}},
                      {"char_vocab", int64_t{262}},
                      {"char_dim", int64_t{16}},
                      {"char_filters", int64_t{100}},
                      {"char_ngram", int64_t{5}},
                      {"num_highway_layers", int64_t{2}},
                      {"hidden", int64_t{100}},
                      {"modeling_layers", int64_t{2}},
                      {"mask_lstms", true},
                      {"dropout", 0.2}};
  approach.sizes = {.words = "vocab",
                    .word_dim = "word_dim",
                    .characters = "char_vocab",
                    .features = "",
                    .pos_tags = "",
                    .entity_tags = ""};
  approach.signs = {"_text_field_embedder.", "_highway_layer._module.", "_span_end_encoder."};
  approach.make = MakeBidaf;
  return approach;
}

}  // namespace concur::readers
