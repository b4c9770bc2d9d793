// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/layers/fusion_inputs.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace concur::readers {
namespace {

// Bytes of words, as FastFusionNet numbers them: 260 is padding.
constexpr int64_t kByteIds = 301;
constexpr int64_t kBytePadding = 260;

torch::nn::Embedding WordEmbedding(int64_t words, int64_t width, int64_t padding) {
  return torch::nn::Embedding(torch::nn::EmbeddingOptions(words, width).padding_idx(padding));
}

torch::Tensor ZeroPadding(const std::vector<torch::Tensor>& parts, const torch::Tensor& mask) {
  return torch::cat(parts, 2).masked_fill(mask.logical_not().unsqueeze(2), 0);
}

}  // namespace

Options FusionOptions() {
  return {{"vocab_size", int64_t{0}},
          {"embedding_dim", int64_t{0}},
          {"num_features", int64_t{0}},
          {"pos", true},
          {"pos_size", int64_t{0}},
          {"pos_dim", int64_t{12}},
          {"ner", true},
          {"ner_size", int64_t{0}},
          {"ner_dim", int64_t{8}},
          {"use_feat_emb", true},
          {"use_word_emb", true},
          {"use_qemb", true},
          {"use_demb", false},
          {"use_cove", false},
          {"use_max_char_emb", false},
          {"max_char_emb_size", int64_t{15}},
          {"max_char_emb_max_len", int64_t{16}},
          {"hidden_size", int64_t{128}},
          {"rnn_type", std::string("lstm")},
          {"rnn_padding", false},
          {"residual", false},
          {"squeeze_excitation", int64_t{0}},
          {"dropout_emb", 0.4},
          {"dropout_rnn", 0.4},
          {"variational_dropout", true},
          {"question_merge", std::string("self_attn")},
          {"end_gru", false},
          {"sentence_level", false}};
}

absl::Status CheckFusionOptions(const Options& options) {
  const auto check = [&options](const char* name, bool ok, const char* expected) {
    return ok ? absl::OkStatus()
              : absl::InvalidArgumentError(absl::StrCat(name, ": expected ", expected, ", got ",
                                                        OptionText(options.values().at(name))));
  };
  const absl::Status cell = ParseCell(options.Text("rnn_type")).status();
  CONCUR_RETURN_IF_ERROR(check("rnn_type", cell.ok(), "lstm, gru or rnn"));
  // "avg" fails in the original under the torch versions that it runs with.
  CONCUR_RETURN_IF_ERROR(
      check("question_merge", options.Text("question_merge") == "self_attn", "self_attn"));
  return check("sentence_level", !options.Flag("sentence_level"), "false");
}

FusionReader::FusionReader(const Options& options)
    : drop_{options.Real("dropout_rnn"), options.Flag("variational_dropout")},
      drop_embedding_{options.Real("dropout_emb"), options.Flag("variational_dropout")},
      use_words_(options.Flag("use_word_emb")),
      embed_tags_(options.Flag("use_feat_emb")),
      use_pos_(options.Flag("pos")),
      use_entities_(options.Flag("ner")) {
  const int64_t words = options.Int("vocab_size");
  const int64_t word_dim = options.Int("embedding_dim");
  words_ = register_module("embedding", WordEmbedding(words, word_dim, 0));
  word_width_ = use_words_ ? word_dim : 0;
  if (options.Flag("use_max_char_emb")) {
    const int64_t width = options.Int("max_char_emb_size");
    characters_ = register_module("max_char_emb", WordEmbedding(kByteIds, width, kBytePadding));
    characters_max_ = options.Int("max_char_emb_max_len");
    word_width_ += width;
  }
  if (options.Flag("use_cove")) {
    contextual_ = register_module("CoVe", ContextualVectors(words, word_dim));
    word_width_ += contextual_->output();
  }
  passage_width_ = word_width_ + options.Int("num_features");
  question_width_ = word_width_;
  const auto add_tags = [&](torch::nn::Embedding& tags, const std::string& kind) {
    const int64_t width = options.Int(absl::StrCat(kind, embed_tags_ ? "_dim" : "_size"));
    passage_width_ += width;
    if (embed_tags_) {
      const int64_t count = options.Int(absl::StrCat(kind, "_size"));
      tags = register_module(absl::StrCat(kind, "_embedding"), torch::nn::Embedding(count, width));
    }
  };
  if (use_pos_) {
    add_tags(pos_, "pos");
  }
  if (use_entities_) {
    add_tags(entities_, "ner");
  }
  if (options.Flag("use_qemb")) {
    aligned_question_ = register_module("qemb_match", AlignedAttention(word_dim, true, drop_));
    passage_width_ += word_dim;
  }
  if (options.Flag("use_demb")) {
    aligned_passage_ = register_module("demb_match", AlignedAttention(word_dim, true, drop_));
    question_width_ += word_dim;
  }
  if (!aligned_question_.is_empty() && !aligned_passage_.is_empty()) {
    word_width_ += word_dim;
  }
}

void FusionReader::WordVectorsChanged() {
  if (!contextual_.is_empty()) {
    contextual_->SetWordVectors(words_->weight);
  }
}

StackedRnnOptions FusionReader::RnnOf(const Options& options, int64_t input, int64_t layers) const {
  StackedRnnOptions rnn;
  rnn.cell = ParseCell(options.Text("rnn_type")).value();
  rnn.input = input;
  rnn.hidden = options.Int("hidden_size");
  rnn.layers = layers;
  // Unless rnn_padding is set, the original's RNNs read padding, in prediction, too.
  rnn.padding = options.Flag("rnn_padding") ? Padding::kLeftOut : Padding::kRead;
  rnn.dropout = drop_;
  return rnn;
}

// The largest value of each dimension over a word's first characters.
torch::Tensor FusionReader::CharacterMaximum(const torch::Tensor& characters) {
  const int64_t count = std::min(characters_max_, characters.size(2));
  return std::get<0>(characters_(characters.slice(2, 0, count)).max(2));
}

FusionReader::Inputs FusionReader::Embed(const Batch& batch) {
  const bool training = is_training();
  const torch::Tensor passage_words = drop_embedding_(words_(batch.passage), training);
  const torch::Tensor question_words = drop_embedding_(words_(batch.question), training);
  std::vector<torch::Tensor> passage, question;  // inputs of words only
  if (use_words_) {
    passage.push_back(passage_words);
    question.push_back(question_words);
  }
  if (!characters_.is_empty()) {
    passage.push_back(drop_embedding_(CharacterMaximum(batch.passage_characters), training));
    question.push_back(drop_embedding_(CharacterMaximum(batch.question_characters), training));
  }
  if (!contextual_.is_empty()) {
    const auto contextual = [&](const torch::Tensor& ids, const torch::Tensor& mask) {
      return drop_embedding_(contextual_->Forward(ids, mask), training);
    };
    passage.push_back(contextual(batch.passage, batch.passage_mask));
    question.push_back(contextual(batch.question, batch.question_mask));
  }
  std::vector<torch::Tensor> passage_all = passage;
  std::vector<torch::Tensor> question_all = question;
  if (batch.passage_features.defined()) {
    passage_all.insert(passage_all.begin(), batch.passage_features);
  }
  if (use_pos_) {
    passage_all.push_back(embed_tags_ ? pos_(batch.passage_pos) : batch.passage_pos);
  }
  if (use_entities_) {
    passage_all.push_back(embed_tags_ ? entities_(batch.passage_entities) : batch.passage_entities);
  }
  if (!aligned_question_.is_empty()) {
    passage_all.push_back(
        aligned_question_->Forward(passage_words, question_words, batch.question_mask));
  }
  if (!aligned_passage_.is_empty()) {
    question_all.push_back(
        aligned_passage_->Forward(question_words, passage_words, batch.passage_mask));
  }
  if (!aligned_question_.is_empty() && !aligned_passage_.is_empty()) {
    passage.push_back(passage_all.back());
    question.push_back(question_all.back());
  }
  return {ZeroPadding(passage_all, batch.passage_mask),
          ZeroPadding(question_all, batch.question_mask), ZeroPadding(passage, batch.passage_mask),
          ZeroPadding(question, batch.question_mask)};
}

SpanPointer::SpanPointer(torch::nn::Module& parent, int64_t passage, int64_t question, bool end_gru)
    : start_(parent.register_module("start_attn", BilinearScores(passage, question))),
      end_(parent.register_module("end_attn", BilinearScores(passage, question))) {
  if (end_gru) {
    gru_ = parent.register_module("end_gru", torch::nn::GRUCell(passage, question));
  }
}

Scores SpanPointer::Forward(const torch::Tensor& passage, const torch::Tensor& question,
                            const torch::Tensor& mask, const DropoutKind& drop, bool training) {
  const auto dropped = [&](const torch::Tensor& x) { return drop(x, training); };
  Scores scores;
  scores.starts = start_->Forward(dropped(passage), dropped(question), mask);
  if (gru_.is_empty()) {
    scores.ends = end_->Forward(passage, question, mask);
    return scores;
  }
  const torch::Tensor first = WeightedSum(passage, torch::softmax(scores.starts, 1));
  const torch::Tensor after = gru_(dropped(first), dropped(question));
  scores.ends = end_->Forward(dropped(passage), dropped(after), mask);
  return scores;
}

}  // namespace concur::readers
