// SPDX-License-Identifier: Apache-2.0
// RaSoR: Lee, Salant, Kwiatkowski, Parikh, Das, Berant (2016), "Learning Recurrent Span
// Representations for Extractive Question Answering", section 3; code:
// shimisalant/RaSoR@5f8bfe30, model.py.
//
// Where code and paper differ, this follows the code: the LSTM's input gate is one minus its forget
// gate, and both texts share the layer that aligns them.
#include "base/status_macros.h"
#include "studies/readers/approaches/approach.h"
#include "studies/readers/layers/attention.h"
#include "studies/readers/layers/coupled_lstm.h"
#include "studies/readers/layers/dropout.h"
#include "studies/readers/layers/span_scorer.h"
#include "studies/readers/layers/span_search.h"

namespace concur::readers {
namespace {

class RasorReader : public Reader {
 public:
  explicit RasorReader(const Options& options)
      : objective_(options.Text("objective")),
        use_independent_(options.Text("ablation") != "only_q_align"),
        use_aligned_(options.Text("ablation") != "only_q_indep"),
        drop_separately_(options.Flag("sep_stt_end_drop")),
        drop_(options.Real("ff_drop_x")),
        drop_extra_(options.Real("extra_drop_x")),
        tokens_max_(options.Int("max_ans_len")) {
    const int64_t word_dim = options.Int("emb_dim");
    const int64_t width = options.Int("ff_dims");
    CoupledLstmOptions lstm;
    lstm.hidden = options.Int("hidden_dim");
    lstm.layers = options.Int("num_bilstm_layers");
    lstm.couple_gates = options.Flag("lstm_couple_i_and_f");
    lstm.learn_initial_state = options.Flag("lstm_learn_initial_state");
    lstm.drop_input = options.Real("lstm_drop_x");
    lstm.tie_input_dropout = options.Flag("lstm_tie_x_dropout");
    lstm.drop_state = options.Real("lstm_drop_h");
    const int64_t states = 2 * lstm.hidden;
    words_ = register_buffer("emb", torch::zeros({options.Int("vocab"), word_dim}));
    lstm.input = word_dim;
    int64_t passage_width = word_dim;
    if (use_independent_) {
      question_lstm_ = std::make_unique<CoupledLstm>(*this, "q_indep_lstm", lstm);
      importance_ = Layer("q_indep_ff_l1", states, width);
      importance_weights_ = Vector("w_q", width);
      passage_width += states;
    }
    if (use_aligned_) {
      const bool tie = options.Flag("q_aln_ff_tie");
      align_passage_ = Layer(tie ? "q_align_ff_l1" : "q_align_ff_p_l1", word_dim, width);
      align_question_ = tie ? align_passage_ : Layer("q_align_ff_q_l1", word_dim, width);
      passage_width += word_dim;
    }
    lstm.input = passage_width;
    passage_lstm_ = std::make_unique<CoupledLstm>(*this, "p_level_lstm", lstm);
    if (objective_ == "span_endpoints") {
      start_ = Layer("p_stt_ff_l1", states, width);
      end_ = Layer("p_end_ff_l1", states, width);
      start_weights_ = Vector("w_a_stt", width);
      end_weights_ = Vector("w_a_end", width);
    } else {
      start_ = Layer("p_stt_lin", states, width);
      end_.weights = register_parameter("p_end_lin_W", torch::zeros({states, width}));
      start_weights_ = Vector("w_a", width);
    }
    const double scale = options.Real("init_scale");
    for (torch::Tensor& parameter : parameters()) {
      torch::nn::init::uniform_(parameter, -scale, scale);
    }
  }

  Scores Forward(const Batch& batch) override {
    const bool training = is_training();
    const torch::Tensor passage = torch::embedding(words_, batch.passage);
    const torch::Tensor question = torch::embedding(words_, batch.question);
    std::vector<torch::Tensor> parts = {passage};

    // The question on its own: its states, weighted by importance.
    if (use_independent_) {
      const torch::Tensor states = question_lstm_->Forward(question, batch.question_mask, training);
      const torch::Tensor hidden = Dropout(Relu(importance_, states), drop_extra_, training);
      const torch::Tensor scores = hidden.matmul(importance_weights_);
      const torch::Tensor summary =
          WeightedSum(states, torch::softmax(MaskScores(scores, batch.question_mask), 1));
      parts.push_back(summary.unsqueeze(1).expand({-1, passage.size(1), -1}));
    }

    // The question aligned with each token of the passage.
    if (use_aligned_) {
      const torch::Tensor scores =
          Relu(align_passage_, passage).bmm(Relu(align_question_, question).transpose(1, 2));
      const torch::Tensor kept = batch.question_mask.unsqueeze(1);
      parts.push_back(torch::softmax(MaskScores(scores, kept), 2).bmm(question));
    }

    // The passage with both.
    const torch::Tensor states =
        passage_lstm_->Forward(torch::cat(parts, 2), batch.passage_mask, training);
    const torch::Tensor start_states = Dropout(states, drop_, training);
    const torch::Tensor end_states =
        drop_separately_ ? Dropout(states, drop_, training) : start_states;

    // Span scores.
    Scores scores;
    if (objective_ == "span_endpoints") {
      scores.starts = MaskScores(torch::relu(Linear(start_, start_states)).matmul(start_weights_),
                                 batch.passage_mask);
      scores.ends = MaskScores(torch::relu(Linear(end_, end_states)).matmul(end_weights_),
                               batch.passage_mask);
      return scores;
    }
    scores.spans = ScoreSpans(Linear(start_, start_states), Linear(end_, end_states),
                              start_weights_, tokens_max_);
    scores.spans_mask = SpansInPassage(batch.passage_mask, tokens_max_);
    return scores;
  }

  torch::Tensor Loss(const Scores& scores, const Batch& batch) const override {
    if (!scores.spans.defined()) {
      return Reader::Loss(scores, batch);
    }
    const torch::Tensor classes = SpanClasses(batch.starts, batch.ends, tokens_max_);
    if (objective_ == "span_multinomial") {
      const torch::Tensor logits = MaskScores(scores.spans, scores.spans_mask).flatten(1);
      return torch::nll_loss(torch::log_softmax(logits, 1), classes, {}, at::Reduction::Mean, -1);
    }
    // Each span is right or wrong on its own.
    const torch::Tensor known = classes.ge(0);
    const torch::Tensor right =
        scores.spans.flatten(1).gather(1, classes.clamp_min(0).unsqueeze(1)).squeeze(1);
    const torch::Tensor wrong =
        torch::softplus(scores.spans).masked_fill(scores.spans_mask.logical_not(), 0);
    return (wrong.flatten(1).sum(1) - right).masked_select(known).mean();
  }

  std::vector<std::vector<Span>> Decode(const Scores& scores, const Batch& /*batch*/,
                                        const Limits& limits) const override {
    if (scores.spans.defined()) {
      return BestScoredSpans(scores, limits);
    }
    Scores normalised;
    normalised.starts = torch::log_softmax(scores.starts, 1);
    normalised.ends = torch::log_softmax(scores.ends, 1);
    Limits shorter = limits;
    shorter.tokens_max =
        limits.tokens_max == 0 ? tokens_max_ : std::min(limits.tokens_max, tokens_max_);
    return BestSumsOfLogits(normalised, shorter);
  }

  torch::Tensor WordVectors() override { return words_; }

 private:
  struct LinearLayer {
    torch::Tensor weights, bias;
  };

  LinearLayer Layer(const std::string& name, int64_t input, int64_t output) {
    return {register_parameter(name + "_W", torch::zeros({input, output})),
            register_parameter(name + "_b", torch::zeros({output}))};
  }
  torch::Tensor Vector(const std::string& name, int64_t size) {
    return register_parameter(name, torch::zeros({size}));
  }
  static torch::Tensor Linear(const LinearLayer& layer, const torch::Tensor& x) {
    const torch::Tensor product = x.matmul(layer.weights);
    return layer.bias.defined() ? product + layer.bias : product;
  }
  torch::Tensor Relu(const LinearLayer& layer, const torch::Tensor& x) const {
    return torch::relu(Linear(layer, Dropout(x, drop_, is_training())));
  }

  std::string objective_;
  bool use_independent_, use_aligned_, drop_separately_;
  double drop_, drop_extra_;
  int64_t tokens_max_;
  torch::Tensor words_;  // never trained
  std::unique_ptr<CoupledLstm> question_lstm_, passage_lstm_;
  LinearLayer importance_, align_passage_, align_question_, start_, end_;
  torch::Tensor importance_weights_, start_weights_, end_weights_;
};

absl::StatusOr<std::shared_ptr<Reader>> MakeRasor(const Options& options) {
  CONCUR_RETURN_IF_ERROR(
      CheckOneOf(options, "objective", {"span_multinomial", "span_endpoints", "span_binary"}));
  CONCUR_RETURN_IF_ERROR(CheckOneOf(options, "ablation", {"", "only_q_indep", "only_q_align"}));
  if (options.Int("max_ans_len") < 1) {
    return absl::InvalidArgumentError("max_ans_len: expected at least 1");
  }
  return std::make_shared<RasorReader>(options);
}

}  // namespace

// Hyperparameters: rasor.py `Config`. Weights and biases all begin uniform within ±0.005.
Approach RasorApproach() {
  Approach approach;
  approach.name = "rasor";
  approach.summary = "RaSoR, Recurrent Span Representations (Lee et al., 2016)";
  approach.inputs.unknown_words = UnknownWords::kFixedRandom;
  approach.settings.optimizer = Optimizer::kAdam;
  approach.settings.learning_rate = 1e-3;
  approach.settings.schedule = Schedule::kDecayEverySteps;
  approach.settings.schedule_factor = 0.95;
  approach.settings.schedule_period = 5000;
  approach.settings.batch = 40;
  approach.settings.epochs = 150;
  approach.settings.selection = Selection::kExactMatch;
  approach.settings.gradient_norm_max = 10;
  approach.settings.train_answer_tokens_max = 30;
  approach.settings.answer_tokens_max = 30;
  approach.options = {{"vocab", int64_t{0}},
                      {"emb_dim", int64_t{0}},
                      {"hidden_dim", int64_t{100}},
                      {"ff_dims", int64_t{100}},
                      {"num_bilstm_layers", int64_t{2}},
                      {"max_ans_len", int64_t{30}},
                      {"objective", std::string("span_multinomial")},
                      {"ablation", std::string()},
                      {"q_aln_ff_tie", true},
                      {"sep_stt_end_drop", true},
                      {"lstm_couple_i_and_f", true},
                      {"lstm_learn_initial_state", false},
                      {"lstm_tie_x_dropout", true},
                      {"lstm_drop_x", 0.4},
                      {"lstm_drop_h", 0.1},
                      {"ff_drop_x", 0.2},
                      {"extra_drop_x", 0.0},
                      {"init_scale", 5e-3}};
  approach.sizes = {.words = "vocab",
                    .word_dim = "emb_dim",
                    .characters = "",
                    .features = "",
                    .pos_tags = "",
                    .entity_tags = ""};
  approach.signs = {"p_level_lstm_l1_fwd_W", "max_ans_len"};
  approach.make = MakeRasor;
  return approach;
}

}  // namespace concur::readers
