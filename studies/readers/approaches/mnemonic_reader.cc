// SPDX-License-Identifier: Apache-2.0
// Mnemonic Reader: Hu, Peng, Huang, Qiu, Wei, Zhou (2018), "Reinforced Mnemonic Reader for Machine
// Reading Comprehension", section 3, without reinforcement; code:
// HKUST-KnowComp/MnemonicReader@76aeb1d9, m_reader.py, layers.py.
//
// Where code and paper differ, this follows the code: RNNs always read padding, so that an answer
// may depend on how long the other passages of its batch are; a word's characters are the states at
// the last character slot, mostly padding; a token is aligned with itself with a score of 0; and
// the pointer begins with the state of the last question slot.
#include "base/status_macros.h"
#include "studies/readers/approaches/approach.h"
#include "studies/readers/layers/attention.h"
#include "studies/readers/layers/dropout.h"
#include "studies/readers/layers/rnn.h"
#include "studies/readers/layers/semantic_fusion.h"
#include "studies/readers/layers/unique_words.h"

namespace concur::readers {
namespace {

// Scores [c; z; c ∘ z] of each token c against a memory z with one hidden layer.
class TokenScorerImpl : public torch::nn::Module {
 public:
  TokenScorerImpl(int64_t states, int64_t hidden, double dropout)
      : dropout_(dropout),
        hidden_(register_module("linear1", torch::nn::Linear(3 * states, hidden))),
        output_(register_module("linear2", torch::nn::Linear(hidden, 1))) {}

  // passage [B, P, D], memory [B, 1, D], mask [B, P] → [B, P], minus infinity at padding.
  torch::Tensor Forward(const torch::Tensor& passage, const torch::Tensor& memory,
                        const torch::Tensor& mask) {
    const torch::Tensor both =
        torch::cat({passage, memory.expand_as(passage), passage * memory}, 2);
    const torch::Tensor hidden = Dropout(torch::relu(hidden_(both)), dropout_, is_training());
    return MaskScores(output_(hidden).squeeze(2), mask);
  }

 private:
  double dropout_;
  torch::nn::Linear hidden_ = nullptr, output_ = nullptr;
};
TORCH_MODULE(TokenScorer);

class MnemonicReader : public Reader {
 public:
  MnemonicReader(const Options& options, Cell cell)
      : drop_embedding_(options.Real("dropout_emb")),
        drop_rnn_(options.Real("dropout_rnn")),
        drop_output_(options.Flag("dropout_rnn_output")),
        hops_(static_cast<size_t>(options.Int("hop"))) {
    const int64_t hidden = options.Int("hidden_size");
    const int64_t states = 2 * hidden;
    const int64_t character_hidden = options.Int("char_hidden_size");
    const auto embedding = [&](const char* count, const char* width) {
      return torch::nn::Embedding(
          torch::nn::EmbeddingOptions(options.Int(count), options.Int(width)).padding_idx(0));
    };
    words_ = register_module("embedding", embedding("vocab_size", "embedding_dim"));
    characters_ = register_module("char_embedding", embedding("char_size", "char_embedding_dim"));
    StackedRnnOptions rnn;
    rnn.cell = cell;
    rnn.dropout = {drop_rnn_, false};
    rnn.drop_output = drop_output_;
    rnn.hidden = character_hidden;
    rnn.input = options.Int("char_embedding_dim");
    character_rnn_ = register_module("char_rnn", StackedRnn(rnn));
    rnn.hidden = hidden;
    rnn.input = options.Int("embedding_dim") + 2 * character_hidden + options.Int("num_features");
    encoder_ = register_module("encoding_rnn", StackedRnn(rnn));
    rnn.input = states;
    register_module("interactive_SFUs", interactive_fusions_);
    register_module("self_SFUs", self_fusions_);
    register_module("aggregate_rnns", aggregators_);
    auto pointer = register_module("mem_ans_ptr", std::make_shared<torch::nn::Module>());
    pointer->register_module("FFNs_start", start_scorers_);
    pointer->register_module("SFUs_start", start_memories_);
    pointer->register_module("FFNs_end", end_scorers_);
    pointer->register_module("SFUs_end", end_memories_);
    for (size_t i = 0; i < hops_; ++i) {
      interactive_fusions_->push_back(SemanticFusion(states, 3 * states));
      self_fusions_->push_back(SemanticFusion(states, 3 * states));
      aggregators_->push_back(StackedRnn(rnn));
      start_scorers_->push_back(TokenScorer(states, hidden, drop_rnn_));
      start_memories_->push_back(SemanticFusion(states, states));
      end_scorers_->push_back(TokenScorer(states, hidden, drop_rnn_));
      end_memories_->push_back(SemanticFusion(states, states));
    }
  }

  Scores Forward(const Batch& batch) override {
    const torch::Tensor& mask = batch.passage_mask;
    // Encoding: word, characters, features.
    torch::Tensor passage =
        Encode(batch.passage, batch.passage_characters, batch.passage_features, mask);
    const torch::Tensor question = Encode(batch.question, batch.question_characters,
                                          batch.question_features, batch.question_mask);

    // Iterative aligning: with the question, with itself, then aggregation.
    for (size_t i = 0; i < hops_; ++i) {
      const torch::Tensor aligned = AlignWith(passage, question, batch.question_mask);
      const torch::Tensor aware = Fuse(*interactive_fusions_, i, passage, aligned);
      const torch::Tensor self_aware = Fuse(*self_fusions_, i, aware, SelfAlignment(aware, mask));
      passage = aggregators_->ptr<StackedRnnImpl>(i)->Forward(self_aware, mask);
    }

    // Memory-based answer pointing.
    Scores scores;
    torch::Tensor memory = question.narrow(1, question.size(1) - 1, 1);
    for (size_t i = 0; i < hops_; ++i) {
      scores.starts = start_scorers_->ptr<TokenScorerImpl>(i)->Forward(passage, memory, mask);
      memory = Remember(*start_memories_, i, memory, passage, scores.starts);
      scores.ends = end_scorers_->ptr<TokenScorerImpl>(i)->Forward(passage, memory, mask);
      memory = Remember(*end_memories_, i, memory, passage, scores.ends);
    }
    return scores;
  }

  torch::Tensor WordVectors() override { return words_->weight; }

 private:
  torch::Tensor Encode(const torch::Tensor& ids, const torch::Tensor& characters,
                       const torch::Tensor& features, const torch::Tensor& mask) {
    const bool training = is_training();
    const auto spell = [&](const torch::Tensor& spellings) {
      return character_rnn_->LastStep(Dropout(characters_(spellings), drop_embedding_, training));
    };
    // In training each word loses characters of its own.
    const torch::Tensor spelled =
        training ? spell(characters.flatten(0, 1)).view({ids.size(0), ids.size(1), -1})
                 : ForEachWord(characters, spell);
    std::vector<torch::Tensor> parts = {Dropout(words_(ids), drop_embedding_, training), spelled};
    if (features.defined()) {
      parts.push_back(features);
    }
    return encoder_->Forward(torch::cat(parts, 2), mask);
  }

  static torch::Tensor AlignWith(const torch::Tensor& x, const torch::Tensor& y,
                                 const torch::Tensor& y_mask) {
    const torch::Tensor scores = x.bmm(y.transpose(1, 2));
    return torch::softmax(MaskScores(scores, y_mask.unsqueeze(1)), 2).bmm(y);
  }

  static torch::Tensor Fuse(torch::nn::ModuleListImpl& fusions, size_t hop, const torch::Tensor& x,
                            const torch::Tensor& aligned) {
    return fusions.ptr<SemanticFusionImpl>(hop)->Forward(
        x, torch::cat({aligned, x * aligned, x - aligned}, 2));
  }

  // The memory after it has read the passage where the scores point.
  static torch::Tensor Remember(torch::nn::ModuleListImpl& memories, size_t hop,
                                const torch::Tensor& memory, const torch::Tensor& passage,
                                const torch::Tensor& scores) {
    const torch::Tensor evidence = torch::softmax(scores, 1).unsqueeze(1).bmm(passage);
    return memories.ptr<SemanticFusionImpl>(hop)->Forward(memory, evidence);
  }

  double drop_embedding_, drop_rnn_;
  bool drop_output_;
  size_t hops_;
  torch::nn::Embedding words_ = nullptr, characters_ = nullptr;
  StackedRnn character_rnn_ = nullptr, encoder_ = nullptr;
  torch::nn::ModuleList interactive_fusions_, self_fusions_, aggregators_;
  torch::nn::ModuleList start_scorers_, start_memories_, end_scorers_, end_memories_;
};

absl::StatusOr<std::shared_ptr<Reader>> MakeMnemonicReader(const Options& options) {
  CONCUR_ASSIGN_OR_RETURN(const Cell cell, ParseCell(options.Text("rnn_type")));
  return std::make_shared<MnemonicReader>(options, cell);
}

}  // namespace

// Hyperparameters: defaults of the code, whose Adamax does not get the learning rate.
Approach MnemonicReaderApproach(bool external_features) {
  Approach approach;
  approach.name = external_features ? "mnemonic-reader" : "mnemonic-reader-no-features";
  approach.summary = external_features ? "Mnemonic Reader (Hu et al., 2018)"
                                       : "Mnemonic Reader without part of speech and entity";
  approach.inputs.characters = Characters::kFixed;
  approach.inputs.match_features = true;
  approach.inputs.question_features = true;
  approach.inputs.tags = external_features ? Inputs::Tags::kColumns : Inputs::Tags::kNone;
  approach.settings.optimizer = Optimizer::kAdamax;
  approach.settings.learning_rate = 2e-3;
  approach.settings.batch = 45;
  approach.settings.epochs = 40;
  approach.settings.selection = Selection::kExactMatch;
  approach.settings.gradient_norm_max = 10;
  approach.settings.answer_tokens_max = 15;
  approach.options = {{"vocab_size", int64_t{0}},
                      {"embedding_dim", int64_t{0}},
                      {"char_size", int64_t{0}},
                      {"char_embedding_dim", int64_t{50}},
                      {"char_hidden_size", int64_t{50}},
                      {"num_features", int64_t{0}},
                      {"hidden_size", int64_t{100}},
                      {"hop", int64_t{2}},
                      {"rnn_type", std::string("lstm")},
                      {"dropout_emb", 0.2},
                      {"dropout_rnn", 0.2},
                      {"dropout_rnn_output", true}};
  approach.sizes = {.words = "vocab_size",
                    .word_dim = "embedding_dim",
                    .characters = "char_size",
                    .features = "num_features",
                    .pos_tags = "",
                    .entity_tags = ""};
  if (external_features) {
    approach.signs = {"char_rnn.", "interactive_SFUs.", "mem_ans_ptr."};
  }
  approach.make = MakeMnemonicReader;
  return approach;
}

}  // namespace concur::readers
