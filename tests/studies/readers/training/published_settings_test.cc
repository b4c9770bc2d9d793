// SPDX-License-Identifier: Apache-2.0
// Each approach is trained with what its program was, unless somebody says otherwise: the
// values below are those of the code and configurations that the concurrence study (Liu et al., ACL
// 2023, appendix A) names, and of the fine-tuning programs of the pretrained encoders.

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "studies/readers/approaches/approach.h"
#include "studies/readers/fine_tuning/settings.h"
#include "studies/readers/options.h"
#include "studies/readers/training/settings.h"
#include "tests/testing/test.h"

namespace concur::readers {
namespace {

struct PublishedValues {
  std::string approach;
  std::vector<std::pair<std::string, std::string>> values;
};

void ExpectValues(const PublishedValues& published, const Options& options) {
  for (const auto& [name, text] : published.values) {
    ASSERT_TRUE(options.Has(name)) << published.approach << " " << name;
    Options stated = options;
    ASSERT_OK(stated.Parse(name, text)) << published.approach << " " << name;
    EXPECT_EQ(OptionText(options.values().find(name)->second),
              OptionText(stated.values().find(name)->second))
        << published.approach << " " << name;
  }
}

// shimisalant/RaSoR, rasor.py.
PublishedValues RasorValues() {
  return {"rasor",
          {{"optimizer", "adam"},
           {"learning_rate", "0.001"},
           {"beta1", "0.9"},
           {"beta2", "0.999"},
           {"epsilon", "1e-8"},
           {"schedule", "decay_every_steps"},
           {"schedule_factor", "0.95"},
           {"schedule_period", "5000"},
           {"batch", "40"},
           {"epochs", "150"},
           {"selection", "exact_match"},
           {"gradient_norm_max", "10"},
           {"average_decay", "0"},
           {"train_answer_tokens_max", "30"},
           {"answer_tokens_max", "30"},
           {"tuned_words", "0"},
           {"hidden_dim", "100"},
           {"ff_dims", "100"},
           {"num_bilstm_layers", "2"},
           {"max_ans_len", "30"},
           {"lstm_couple_i_and_f", "true"},
           {"lstm_tie_x_dropout", "true"},
           {"lstm_drop_x", "0.4"},
           {"lstm_drop_h", "0.1"},
           {"ff_drop_x", "0.2"},
           {"init_scale", "0.005"},
           {"q_aln_ff_tie", "true"},
           {"objective", "span_multinomial"}}};
}

// allenai/allennlp-models, training_config/rc/bidaf.jsonnet.
PublishedValues BidafValues() {
  return {"bidaf",
          {{"optimizer", "adam"},
           {"learning_rate", "0.001"},
           {"beta1", "0.9"},
           {"beta2", "0.9"},
           {"schedule", "on_plateau"},
           {"schedule_factor", "0.5"},
           {"schedule_period", "2"},
           {"batch", "40"},
           {"epochs", "20"},
           {"patience", "10"},
           {"selection", "exact_match"},
           {"gradient_norm_max", "5"},
           {"average_decay", "0"},
           {"answer_tokens_max", "0"},
           {"tuned_words", "0"},
           {"char_dim", "16"},
           {"char_filters", "100"},
           {"char_ngram", "5"},
           {"hidden", "100"},
           {"modeling_layers", "2"},
           {"dropout", "0.2"}}};
}

// felixgwu/FastFusionNet, defaults of train.py with --model_type drqa.
PublishedValues DocumentReaderValues(const std::string& name) {
  const std::string tags = name == "document-reader" ? "true" : "false";
  return {name,
          {{"optimizer", "adamax"},
           {"learning_rate", "0.002"},
           {"schedule", "constant"},
           {"batch", "32"},
           {"epochs", "40"},
           {"patience", "0"},
           {"selection", "f1"},
           {"gradient_norm_max", "10"},
           {"average_decay", "0"},
           {"answer_tokens_max", "15"},
           {"passage_tokens_max", "0"},
           {"tuned_words", "1000"},
           {"hidden_size", "128"},
           {"doc_layers", "3"},
           {"question_layers", "3"},
           {"concat_rnn_layers", "true"},
           {"dropout_emb", "0.4"},
           {"dropout_rnn", "0.4"},
           {"dropout_rnn_output", "true"},
           {"variational_dropout", "true"},
           {"pos_dim", "12"},
           {"ner_dim", "8"},
           {"pos", tags},
           {"ner", tags}}};
}

// mandarjoshi90/pair2vec, experiments/pair2vec_squad2.json.
PublishedValues BidafPlusPlusValues() {
  return {"bidaf-plus-plus",
          {{"optimizer", "sgd"},
           {"learning_rate", "0.01"},
           {"momentum", "0.9"},
           {"schedule", "on_plateau"},
           {"schedule_factor", "0.5"},
           {"schedule_period", "3"},
           {"batch", "30"},
           {"epochs", "30"},
           {"patience", "10"},
           {"selection", "f1"},
           {"gradient_norm_max", "0"},
           {"average_decay", "0"},
           {"char_dim", "20"},
           {"char_filters", "100"},
           {"char_ngram", "5"},
           {"hidden", "100"},
           {"max_span_length", "17"},
           {"dropout", "0.2"}}};
}

// HKUST-KnowComp/MnemonicReader.
PublishedValues MnemonicValues(const std::string& name) {
  return {name,
          {{"optimizer", "adamax"},
           {"learning_rate", "0.002"},
           {"schedule", "constant"},
           {"batch", "45"},
           {"epochs", "40"},
           {"patience", "0"},
           {"selection", "exact_match"},
           {"gradient_norm_max", "10"},
           {"average_decay", "0"},
           {"answer_tokens_max", "15"},
           {"tuned_words", "0"},
           {"char_embedding_dim", "50"},
           {"char_hidden_size", "50"},
           {"hidden_size", "100"},
           {"hop", "2"},
           {"dropout_emb", "0.2"},
           {"dropout_rnn", "0.2"},
           {"dropout_rnn_output", "true"}}};
}

// allenai/allennlp-models, training_config/rc/qanet.jsonnet.
PublishedValues QanetValues() {
  return {"qanet",
          {{"optimizer", "adam"},
           {"learning_rate", "0.001"},
           {"beta1", "0.8"},
           {"beta2", "0.999"},
           {"epsilon", "1e-7"},
           {"weight_decay", "1e-7"},
           {"schedule", "constant"},
           {"batch", "25"},
           {"epochs", "50"},
           {"patience", "10"},
           {"selection", "exact_match"},
           {"gradient_norm_max", "5"},
           {"average_decay", "0.9999"},
           {"passage_tokens_max", "400"},
           {"question_tokens_max", "50"},
           {"answer_tokens_max", "0"},
           {"char_dim", "64"},
           {"char_filters", "200"},
           {"char_ngram", "5"},
           {"hidden", "128"},
           {"num_heads", "8"},
           {"phrase_blocks", "1"},
           {"phrase_convs", "4"},
           {"phrase_kernel", "7"},
           {"modeling_blocks", "7"},
           {"modeling_convs", "2"},
           {"modeling_kernel", "5"},
           {"dropout", "0.1"},
           {"layer_dropout", "0.1"}}};
}

// felixgwu/FastFusionNet, the README's command for FusionNet; its loop runs one epoch less than the
// 100 that it asks for.
PublishedValues FusionNetValues(const std::string& name) {
  const std::string tags = name == "fusionnet" ? "true" : "false";
  return {name,
          {{"optimizer", "adamax"},
           {"learning_rate", "0.001"},
           {"schedule", "constant"},
           {"batch", "32"},
           {"epochs", "99"},
           {"patience", "0"},
           {"selection", "f1"},
           {"gradient_norm_max", "20"},
           {"average_decay", "0"},
           {"answer_tokens_max", "15"},
           {"tuned_words", "1000"},
           {"hidden_size", "125"},
           {"end_gru", "true"},
           {"fusion_understanding_layers", "1"},
           {"fusion_final_layers", "1"},
           {"fusion_self_boost_times", "1"},
           {"dropout_emb", "0.4"},
           {"dropout_rnn", "0.4"},
           {"pos", tags},
           {"ner", tags}}};
}

TEST(PublishedSettingsTest, ReadersAreTrainedAsTheirProgramsWere) {
  for (const PublishedValues& published :
       {RasorValues(), BidafValues(), DocumentReaderValues("document-reader"),
        DocumentReaderValues("document-reader-no-features"), BidafPlusPlusValues(),
        MnemonicValues("mnemonic-reader"), MnemonicValues("mnemonic-reader-no-features"),
        QanetValues(), FusionNetValues("fusionnet"), FusionNetValues("fusionnet-no-features")}) {
    ASSERT_OK_AND_ASSIGN(const Approach* approach, FindApproach(published.approach));
    Options options = OptionsOf(approach->settings);
    for (const auto& [name, value] : approach->options.values()) {
      options.Set(name, value);
    }
    ExpectValues(published, options);
  }
}

TEST(PublishedSettingsTest, ReadersReadWhatTheirProgramsRead) {
  const struct {
    const char* approach;
    const char* vectors;
    Characters characters;
    bool match_features;
  } cases[] = {{"rasor", "glove.840B.300d", Characters::kNone, false},
               {"bidaf", "glove.6B.100d", Characters::kBytes, false},
               {"document-reader", "glove.840B.300d", Characters::kNone, true},
               {"document-reader-no-features", "glove.840B.300d", Characters::kNone, true},
               {"bidaf-plus-plus", "glove.840B.300d", Characters::kBytes, false},
               {"mnemonic-reader", "glove.840B.300d", Characters::kFixed, true},
               {"mnemonic-reader-no-features", "glove.840B.300d", Characters::kFixed, true},
               {"qanet", "glove.840B.300d", Characters::kVocabulary, false},
               {"fusionnet", "glove.840B.300d", Characters::kNone, true},
               {"fusionnet-no-features", "glove.840B.300d", Characters::kNone, true}};
  for (const auto& published : cases) {
    ASSERT_OK_AND_ASSIGN(const Approach* approach, FindApproach(published.approach));
    EXPECT_EQ(approach->settings.vectors, published.vectors) << published.approach;
    EXPECT_EQ(approach->inputs.characters, published.characters) << published.approach;
    EXPECT_EQ(approach->inputs.match_features, published.match_features) << published.approach;
  }
}

// run_qa.py of transformers 4.9 with its README; the publications of ALBERT and RoBERTa; the
// fine-tuning programs of ELECTRA and of SpanBERT with its README.
TEST(PublishedSettingsTest, EncodersAreFineTunedAsTheirProgramsWere) {
  const std::vector<PublishedValues> all = {{"bert",
                                             {{"optimizer", "adamw"},
                                              {"learning_rate", "3e-5"},
                                              {"beta1", "0.9"},
                                              {"beta2", "0.999"},
                                              {"epsilon", "1e-8"},
                                              {"correct_bias", "true"},
                                              {"weight_decay", "0"},
                                              {"warmup", "0"},
                                              {"epochs", "2"},
                                              {"batch", "12"},
                                              {"gradient_norm_max", "1"},
                                              {"windows", "run_qa"},
                                              {"length", "384"},
                                              {"stride", "128"},
                                              {"answer_tokens_max", "30"},
                                              {"best", "20"},
                                              {"layer_decay", "1"}}},
                                            {"albert",
                                             {{"optimizer", "adamw"},
                                              {"learning_rate", "5e-5"},
                                              {"weight_decay", "0.01"},
                                              {"warmup", "0.1"},
                                              {"epochs", "2"},
                                              {"batch", "48"},
                                              {"length", "384"},
                                              {"stride", "128"}}},
                                            {"roberta",
                                             {{"optimizer", "adamw"},
                                              {"learning_rate", "1.5e-5"},
                                              {"beta2", "0.98"},
                                              {"epsilon", "1e-6"},
                                              {"weight_decay", "0.01"},
                                              {"warmup", "0.06"},
                                              {"epochs", "2"},
                                              {"batch", "48"},
                                              {"length", "512"},
                                              {"stride", "128"}}},
                                            {"electra",
                                             {{"optimizer", "bert_adam"},
                                              {"learning_rate", "1e-4"},
                                              {"layer_decay", "0.8"},
                                              {"weight_decay", "0.01"},
                                              {"warmup", "0.1"},
                                              {"epochs", "3"},
                                              {"batch", "32"},
                                              {"length", "512"},
                                              {"stride", "128"},
                                              {"question_tokens_max", "64"},
                                              {"answer_tokens_max", "30"},
                                              {"best", "20"}}},
                                            {"spanbert",
                                             {{"optimizer", "bert_adam"},
                                              {"learning_rate", "2e-5"},
                                              {"epsilon", "1e-6"},
                                              {"weight_decay", "0.01"},
                                              {"warmup", "0.1"},
                                              {"parameter_norm_max", "1"},
                                              {"gradient_norm_max", "0"},
                                              {"epochs", "4"},
                                              {"batch", "32"},
                                              {"windows", "run_squad"},
                                              {"length", "512"},
                                              {"stride", "128"},
                                              {"question_tokens_max", "64"},
                                              {"answer_tokens_max", "30"},
                                              {"best", "20"}}}};
  EXPECT_EQ(all.size(), PretrainedApproaches().size());
  for (const PublishedValues& published : all) {
    const PretrainedApproach* approach = FindPretrained(published.approach);
    ASSERT_NE(approach, nullptr) << published.approach;
    ExpectValues(published, approach->options);
  }
}

}  // namespace
}  // namespace concur::readers
