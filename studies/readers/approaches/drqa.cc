// SPDX-License-Identifier: Apache-2.0
// DrQA's Document Reader: Chen, Fisch, Weston, Bordes (2017), "Reading Wikipedia to Answer
// Open-Domain Questions", section 3.2; code: facebookresearch/DrQA@6d7c1b70, drqa/reader.
//
// Where code and paper differ, this follows the code: both bilinear terms have a bias, and training
// steps let the RNNs read padding, which prediction leaves out (rnn_padding turns that off).
#include "base/status_macros.h"
#include "studies/readers/approaches/approach.h"
#include "studies/readers/layers/attention.h"
#include "studies/readers/layers/rnn.h"

namespace concur::readers {
namespace {

class DrQaReader : public Reader {
 public:
  DrQaReader(const Options& options, Cell cell)
      : drop_embedding_(options.Real("dropout_emb")), use_aligned_(options.Flag("use_qemb")) {
    const int64_t word_dim = options.Int("embedding_dim");
    words_ = register_module(
        "embedding",
        torch::nn::Embedding(
            torch::nn::EmbeddingOptions(options.Int("vocab_size"), word_dim).padding_idx(0)));
    if (use_aligned_) {
      aligned_ = register_module("qemb_match", AlignedAttention(word_dim, true));
    }
    StackedRnnOptions rnn;
    rnn.cell = cell;
    rnn.hidden = options.Int("hidden_size");
    rnn.padding = options.Flag("rnn_padding") ? Padding::kLeftOut : Padding::kLeftOutInEvaluation;
    rnn.dropout = {options.Real("dropout_rnn"), false};
    rnn.drop_output = options.Flag("dropout_rnn_output");
    rnn.concatenate_layers = options.Flag("concat_rnn_layers");
    rnn.input = word_dim + options.Int("num_features") + (use_aligned_ ? word_dim : 0);
    rnn.layers = options.Int("doc_layers");
    const int64_t passage_width = rnn.output();
    passage_rnn_ = register_module("doc_rnn", StackedRnn(rnn));
    rnn.input = word_dim;
    rnn.layers = options.Int("question_layers");
    const int64_t question_width = rnn.output();
    question_rnn_ = register_module("question_rnn", StackedRnn(rnn));
    question_scores_ = register_module("self_attn", LinearScores(question_width));
    start_ = register_module("start_attn", BilinearScores(passage_width, question_width));
    end_ = register_module("end_attn", BilinearScores(passage_width, question_width));
  }

  Scores Forward(const Batch& batch) override {
    const torch::Tensor passage = Dropout(words_(batch.passage), drop_embedding_, is_training());
    const torch::Tensor question = Dropout(words_(batch.question), drop_embedding_, is_training());

    // Paragraph encoding: the word, the question aligned with it, and its features.
    std::vector<torch::Tensor> parts = {passage};
    if (use_aligned_) {
      parts.push_back(aligned_->Forward(passage, question, batch.question_mask));
    }
    if (batch.passage_features.defined()) {
      parts.push_back(batch.passage_features);
    }
    const torch::Tensor encoded = passage_rnn_->Forward(torch::cat(parts, 2), batch.passage_mask);

    // Question encoding: its words' states, weighted by their importance.
    const torch::Tensor states = question_rnn_->Forward(question, batch.question_mask);
    const torch::Tensor importance = question_scores_->Forward(states, batch.question_mask);
    const torch::Tensor summary = WeightedSum(states, torch::softmax(importance, 1));

    // Prediction.
    Scores scores;
    scores.starts = start_->Forward(encoded, summary, batch.passage_mask);
    scores.ends = end_->Forward(encoded, summary, batch.passage_mask);
    return scores;
  }

  torch::Tensor WordVectors() override { return words_->weight; }

 private:
  double drop_embedding_;
  bool use_aligned_;
  torch::nn::Embedding words_ = nullptr;
  AlignedAttention aligned_ = nullptr;
  StackedRnn passage_rnn_ = nullptr, question_rnn_ = nullptr;
  LinearScores question_scores_ = nullptr;
  BilinearScores start_ = nullptr, end_ = nullptr;
};

absl::StatusOr<std::shared_ptr<Reader>> MakeDrQaReader(const Options& options) {
  CONCUR_ASSIGN_OR_RETURN(const Cell cell, ParseCell(options.Text("rnn_type")));
  // The original's other way, "avg", fails under the torch versions that it runs with.
  CONCUR_RETURN_IF_ERROR(CheckOneOf(options, "question_merge", {"self_attn"}));
  return std::make_shared<DrQaReader>(options, cell);
}

}  // namespace

// Hyperparameters: defaults of scripts/reader/train.py. Its Adamax does not get the option
// --learning-rate: torch's default counts.
Approach DrqaApproach() {
  Approach approach;
  approach.name = "drqa";
  approach.summary = "DrQA's Document Reader, its authors' own network (Chen et al., 2017)";
  approach.inputs.match_features = true;
  approach.inputs.tags = Inputs::Tags::kColumns;
  approach.settings.optimizer = Optimizer::kAdamax;
  approach.settings.learning_rate = 2e-3;
  approach.settings.batch = 32;
  approach.settings.epochs = 40;
  approach.settings.selection = Selection::kF1;
  approach.settings.gradient_norm_max = 10;
  approach.settings.answer_tokens_max = 15;
  approach.settings.tuned_words = 1000;  // as the README's model; the option's default is 0
  approach.options = {{"embedding_dim", int64_t{0}},
                      {"vocab_size", int64_t{0}},
                      {"num_features", int64_t{0}},
                      {"hidden_size", int64_t{128}},
                      {"doc_layers", int64_t{3}},
                      {"question_layers", int64_t{3}},
                      {"rnn_type", std::string("lstm")},
                      {"concat_rnn_layers", true},
                      {"question_merge", std::string("self_attn")},
                      {"use_qemb", true},
                      {"dropout_emb", 0.4},
                      {"dropout_rnn", 0.4},
                      {"dropout_rnn_output", true},
                      {"rnn_padding", false}};
  approach.sizes = {.words = "vocab_size",
                    .word_dim = "embedding_dim",
                    .characters = "",
                    .features = "num_features",
                    .pos_tags = "",
                    .entity_tags = ""};
  approach.signs = {"doc_rnn.", "start_attn."};
  approach.make = MakeDrQaReader;
  return approach;
}

}  // namespace concur::readers
