// SPDX-License-Identifier: Apache-2.0
// BiDAF++: Clark and Gardner (2018), "Simple and Effective Multi-Paragraph Reading Comprehension",
// section 2.1, in the form of Joshi et al. (2019), whose model studies re-implemented without its
// pair vectors and ELMo; code: mandarjoshi90/pair2vec@413ed96f, endtasks/bidaf_pair2vec.py on
// AllenNLP 0.8.3.
//
// Where code and paper differ, this follows the code: no learned "no alignment" in the
// self-attention, windows of the character convolution over padding, and a decoder that keeps the
// best start so far (see Decode).
#include "base/status_macros.h"
#include "studies/readers/approaches/approach.h"
#include "studies/readers/layers/attention.h"
#include "studies/readers/layers/dropout.h"
#include "studies/readers/layers/paths.h"
#include "studies/readers/layers/rnn.h"
#include "studies/readers/layers/text_embedder.h"
#include "studies/readers/layers/trilinear.h"

namespace concur::readers {
namespace {

constexpr double kPaddingScore = -1e7;  // AllenNLP's before version 1

class BidafPlusPlusReader : public Reader {
 public:
  explicit BidafPlusPlusReader(const Options& options) : dropout_(options.Real("dropout")) {
    const int64_t hidden = options.Int("hidden");
    const int64_t states = 2 * hidden;
    const auto encoder = [&](const char* name, int64_t input) {
      return RegisterAt(*this, name, Rnn(Cell::kGru, input, hidden));
    };
    embedder_ = register_module("_text_field_embedder", TextEmbedder(options, dropout_, false));
    phrase_ = encoder("_phrase_layer._module", embedder_->output());
    similarity_ = register_module("_matrix_attention", Trilinear(states));
    merge_ = RegisterAt(*this, "_merge_atten._module", torch::nn::Linear(4 * states, states));
    residual_ = encoder("_residual_encoder._module", states);
    self_similarity_ = register_module("_self_attention", Trilinear(states));
    merge_self_ =
        RegisterAt(*this, "_merge_self_attention._module", torch::nn::Linear(3 * states, states));
    start_encoder_ = encoder("_span_start_encoder._module", states);
    end_encoder_ = encoder("_span_end_encoder._module", 2 * states);
    start_ = RegisterAt(*this, "_span_start_predictor._module", torch::nn::Linear(states, 1));
    end_ = RegisterAt(*this, "_span_end_predictor._module", torch::nn::Linear(states, 1));
  }

  Scores Forward(const Batch& batch) override {
    const torch::Tensor& passage_mask = batch.passage_mask;
    const torch::Tensor& question_mask = batch.question_mask;
    // Embedding and pre-processing.
    const torch::Tensor question_words =
        Drop(embedder_->Forward(batch.question, batch.question_characters));
    const torch::Tensor passage_words =
        Drop(embedder_->Forward(batch.passage, batch.passage_characters));
    const torch::Tensor question = Drop(phrase_->Forward(question_words, question_mask));
    const torch::Tensor passage = Drop(phrase_->Forward(passage_words, passage_mask));

    // Attention.
    const torch::Tensor similarity = similarity_->Forward(passage, question);
    const torch::Tensor to_question =
        WeightedSum(question, RenormalisedSoftmax(similarity, question_mask.unsqueeze(1)));
    const torch::Tensor largest = std::get<0>(
        similarity.masked_fill(question_mask.logical_not().unsqueeze(1), kPaddingScore).max(2));
    const torch::Tensor to_passage =
        WeightedSum(passage, RenormalisedSoftmax(largest, passage_mask)).unsqueeze(1);
    const torch::Tensor merged =
        torch::relu(merge_(MergeAttention(passage, to_question, to_passage)));

    // Self-attention, without a token's attention to itself, as a residual.
    const torch::Tensor residual = Drop(residual_->Forward(merged, passage_mask));
    const torch::Tensor itself =
        torch::eye(passage.size(1), torch::TensorOptions(torch::kBool).device(passage.device()));
    const torch::Tensor pairs = passage_mask.unsqueeze(1)
                                    .logical_and(passage_mask.unsqueeze(2))
                                    .logical_and(itself.logical_not());
    const torch::Tensor attended = WeightedSum(
        residual, RenormalisedSoftmax(self_similarity_->Forward(residual, residual), pairs));
    const torch::Tensor merged_self =
        torch::relu(merge_self_(torch::cat({attended, residual, residual * attended}, 2)));
    const torch::Tensor final_passage = Drop(merged + merged_self);

    // Prediction.
    const torch::Tensor start_states = start_encoder_->Forward(final_passage, passage_mask);
    const torch::Tensor end_states =
        end_encoder_->Forward(torch::cat({final_passage, start_states}, 2), passage_mask);
    const torch::Tensor padding = passage_mask.logical_not();
    Scores scores;
    scores.starts = start_(start_states).squeeze(2).masked_fill(padding, kPaddingScore);
    scores.ends = end_(end_states).squeeze(2).masked_fill(padding, kPaddingScore);
    return scores;
  }

  // The original scans ends from left to right with the best start so far, also when that start is
  // too far away for the length allowed: a better pair with a later start is missed then. One span
  // for each question; the first token where none is allowed.
  std::vector<std::vector<Span>> Decode(const Scores& scores, const Batch& /*batch*/,
                                        const Limits& limits) const override {
    const torch::Tensor starts = scores.starts.detach().to(torch::kCPU, torch::kFloat32);
    const torch::Tensor ends = scores.ends.detach().to(torch::kCPU, torch::kFloat32);
    const auto start = starts.accessor<float, 2>();
    const auto end = ends.accessor<float, 2>();
    std::vector<std::vector<Span>> all;
    for (int64_t row = 0; row < starts.size(0); ++row) {
      Span best = {0, 0, -1e20};
      int64_t best_start = 0;
      for (int64_t last = 0; last < starts.size(1); ++last) {
        if (start[row][last] > start[row][best_start]) {
          best_start = last;
        }
        const float score = start[row][best_start] + end[row][last];
        const bool allowed = limits.tokens_max == 0 || last - best_start < limits.tokens_max;
        if (score > best.score && allowed) {
          best = {best_start, last, score};
        }
      }
      all.push_back({best});
    }
    return all;
  }

  torch::Tensor WordVectors() override { return embedder_->words(); }

 private:
  torch::Tensor Drop(const torch::Tensor& x) const {
    return VariationalDropout(x, dropout_, is_training());
  }

  double dropout_;
  TextEmbedder embedder_ = nullptr;
  Rnn phrase_ = nullptr, residual_ = nullptr, start_encoder_ = nullptr, end_encoder_ = nullptr;
  Trilinear similarity_ = nullptr, self_similarity_ = nullptr;
  torch::nn::Linear merge_ = nullptr, merge_self_ = nullptr, start_ = nullptr, end_ = nullptr;
};

absl::StatusOr<std::shared_ptr<Reader>> MakeBidafPlusPlus(const Options& options) {
  return std::make_shared<BidafPlusPlusReader>(options);
}

}  // namespace

// Hyperparameters: experiments/pair2vec_squad2.json, and, for words instead of ELMo, those of the
// original (allenai/document-qa@2f9fa687).
Approach BidafPlusPlusApproach() {
  Approach approach;
  approach.name = "bidaf-plus-plus";
  approach.summary = "BiDAF++ (Clark and Gardner, 2018), as pair2vec has it, with words for ELMo";
  approach.inputs.unknown_words = UnknownWords::kRandom;
  approach.inputs.characters = Characters::kBytes;
  approach.settings.optimizer = Optimizer::kSgd;
  approach.settings.learning_rate = 0.01;
  approach.settings.momentum = 0.9;
  approach.settings.schedule = Schedule::kOnPlateau;
  approach.settings.schedule_factor = 0.5;
  approach.settings.schedule_period = 3;
  approach.settings.batch = 30;
  approach.settings.epochs = 30;
  approach.settings.patience = 10;
  approach.settings.selection = Selection::kF1;
  approach.settings.answer_tokens_max = 18;  // max_span_length 17 counts steps, not tokens
  approach.options = {
      {"vocab", int64_t{0}},     {"word_dim", int64_t{300}},       {"char_vocab", int64_t{262}},
      {"char_dim", int64_t{20}}, {"char_filters", int64_t{100}},   {"char_ngram", int64_t{5}},
      {"hidden", int64_t{100}},  {"max_span_length", int64_t{17}}, {"dropout", 0.2}};
  approach.sizes = {.words = "vocab",
                    .word_dim = "word_dim",
                    .characters = "char_vocab",
                    .features = "",
                    .pos_tags = "",
                    .entity_tags = ""};
  approach.signs = {"_text_field_embedder.", "_residual_encoder.", "_merge_self_attention.",
                    "_span_end_encoder."};
  approach.make = MakeBidafPlusPlus;
  return approach;
}

}  // namespace concur::readers
