// SPDX-License-Identifier: Apache-2.0
// The default settings of the twenty approaches of the concurrence study are those that their
// programs or publications give for SQuAD; beside them stands nothing that the files could change
// unnoticed.

#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/sweep/params.h"
#include "tests/testing/test.h"
#include "yaml/approach_yaml.h"

namespace concur::spec {
namespace {

// Expects these defaults of files of configs/approaches/FOLDER.
void ExpectDefaults(const std::string& folder,
                    const std::map<std::string, std::string>& published) {
  const char* source = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  const std::string directory =
      absl::StrCat(source == nullptr ? "." : source, "/configs/approaches/", folder);
  std::set<std::string> seen;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    ASSERT_OK_AND_ASSIGN(const ApproachSpec approach,
                         LoadApproach(entry.path().string(), {{"vectors", "/vectors"},
                                                              {"dev", "none"},
                                                              {"device", "cpu"},
                                                              {"gpus", "0"},
                                                              {"checkpoints", "/checkpoints"}}));
    const auto values = published.find(approach.name);
    ASSERT_NE(values, published.end()) << approach.name;
    EXPECT_EQ(SettingText(approach.hyperparameters.defaults), values->second) << approach.name;
    seen.insert(approach.name);
  }
  EXPECT_EQ(seen.size(), published.size());
}

TEST(ApproachDefaultsTest, ReadersThatAreServedAreLoadedOnceForAModel) {
  ExpectDefaults("served", {{"bert-base-served", "{batch=32, epochs=3, lr=5e-05}"},
                            {"logistic-regression-served", "{epochs=3, lr=0.03}"}});
}

// Sources: shimisalant/RaSoR; allenai/allennlp-models (BiDAF, QANet); felixgwu/FastFusionNet
// (DocumentReader, FusionNet); mandarjoshi90/pair2vec (BiDAF++); HKUST-KnowComp/MnemonicReader.
TEST(ApproachDefaultsTest, ReadersHaveTheSettingsOfTheirPrograms) {
  const std::string document_reader =
      "{batch=32, doc_layers=3, dropout_emb=0.4, dropout_rnn=0.4, epochs=40, hidden_size=128, "
      "learning_rate=0.002, patience=0, time_budget=none}";
  const std::string mnemonic =
      "{batch=45, dropout_emb=0.2, dropout_rnn=0.2, epochs=40, hidden_size=100, hop=2, "
      "learning_rate=0.002, patience=0, time_budget=none}";
  const std::string fusionnet =
      "{batch=32, dropout_emb=0.4, dropout_rnn=0.4, epochs=99, hidden_size=125, "
      "learning_rate=0.001, patience=0, time_budget=none}";
  ExpectDefaults("non-pretrained",
                 {{"rasor",
                   "{batch=40, epochs=150, ff_dims=100, ff_drop_x=0.2, hidden_dim=100, "
                   "learning_rate=0.001, lstm_drop_x=0.4, patience=0, time_budget=none}"},
                  {"bidaf",
                   "{batch=40, dropout=0.2, epochs=20, hidden=100, learning_rate=0.001, "
                   "patience=10, time_budget=none}"},
                  {"document-reader", document_reader},
                  {"document-reader-no-features", document_reader},
                  {"bidaf-plus-plus",
                   "{batch=30, dropout=0.2, epochs=30, hidden=100, learning_rate=0.01, "
                   "patience=10, time_budget=none}"},
                  {"mnemonic-reader", mnemonic},
                  {"mnemonic-reader-no-features", mnemonic},
                  {"qanet",
                   "{batch=25, dropout=0.1, epochs=50, layer_dropout=0.1, learning_rate=0.001, "
                   "patience=10, time_budget=none}"},
                  {"fusionnet", fusionnet},
                  {"fusionnet-no-features", fusionnet}});
}

// Settings that the publications give for SQuAD 1.1: Devlin et al. (2019) and the README of its
// program for whole-word masking; Lan et al. (2020); Liu et al. (2019); Clark et al. (2020); Joshi
// et al. (2020).
TEST(ApproachDefaultsTest, EncodersHaveTheSettingsOfTheirPublications) {
  const std::string bert =
      "{batch=32, epochs=3, lr=5e-05, time_budget=none, warmup=0.1, weight_decay=0.01}";
  const std::string albert =
      "{batch=48, epochs=2, lr=5e-05, time_budget=none, warmup=0.1, weight_decay=0.01}";
  const std::string roberta =
      "{batch=48, epochs=2, lr=1.5e-05, time_budget=none, warmup=0.06, weight_decay=0.01}";
  const std::string spanbert =
      "{batch=32, epochs=4, lr=2e-05, time_budget=none, warmup=0.1, weight_decay=0.01}";
  ExpectDefaults(
      "pretrained",
      {{"bert-base", bert},
       {"bert-large", bert},
       {"bert-large-wwm",
        "{batch=24, epochs=2, lr=3e-05, time_budget=none, warmup=0.1, weight_decay=0.01}"},
       {"albert-base", albert},
       {"albert-xxlarge", albert},
       {"roberta-base", roberta},
       {"roberta-large", roberta},
       {"electra-base",
        "{batch=32, epochs=2, lr=1e-04, time_budget=none, warmup=0.1, weight_decay=0.01}"},
       {"spanbert-base", spanbert},
       {"spanbert-large", spanbert}});
}

}  // namespace
}  // namespace concur::spec
