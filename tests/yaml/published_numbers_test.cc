// SPDX-License-Identifier: Apache-2.0
// Files of configs/ against the tables that the four publications print: which approaches and
// benchmarks there are, sizes, seeds and metrics. A table that is not on this machine is skipped by
// its name.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "base/csv.h"
#include "base/file.h"
#include "core/sweep/params.h"
#include "tests/testing/shared_data.h"
#include "tests/testing/test.h"
#include "tests/yaml/config_files.h"
#include "yaml/approach_yaml.h"
#include "yaml/sweep_yaml.h"

namespace concur::spec {
namespace {

using ::testing::UnorderedElementsAreArray;

// Rows of a published table by column name.
using PublishedRows = std::vector<std::map<std::string, std::string>>;

PublishedRows ReadPublished(const std::string& path) {
  PublishedRows rows;
  const auto text = ReadFile(path);
  EXPECT_OK(text.status());
  const auto records = ParseCsv(text.value_or(""), path);
  EXPECT_OK(records.status());
  for (size_t i = 1; records.ok() && i < records->size(); ++i) {
    for (size_t c = 0; c < (*records)[i].fields.size(); ++c) {
      rows.resize(i);
      rows.back()[(*records)[0].fields[c]] = (*records)[i].fields[c];
    }
  }
  EXPECT_FALSE(rows.empty()) << path;
  return rows;
}

#define CONCUR_PUBLISHED_OR_SKIP(variable, name)                                                  \
  const std::string variable##_path = ::concur::testing::SharedData("../reference/tables/" name); \
  if (variable##_path.empty()) {                                                                  \
    GTEST_SKIP() << name << " is not on this machine (see CONCUR_SHARED_DIR)";                    \
  }                                                                                               \
  const PublishedRows variable = ReadPublished(variable##_path)

LoadedSweep SweepOf(const std::string& name) {
  auto sweep = LoadWithHiddenSets(absl::StrCat(ConfigDirectory(), "/sweeps/", name, ".yaml"));
  EXPECT_OK(sweep.status());
  return sweep.ok() ? *std::move(sweep) : LoadedSweep();
}

std::string TextOfConfig(const std::string& name) {
  return ReadFile(absl::StrCat(ConfigDirectory(), "/", name)).value_or("");
}

// The name here of a column of the concurrence study.
std::string BenchmarkOf(const std::string& printed) {
  static const auto& others =
      *new std::map<std::string, std::string>{{"MRQA NewsQA", "mrqa-newsqa"},
                                              {"MRQA NaturalQuestions", "mrqa-natural-questions"},
                                              {"MRQA DROP", "drop"},
                                              {"MRQA HotpotQA", "mrqa-hotpotqa"},
                                              {"CBT (CN)", "cbt-cn"},
                                              {"CBT (NE)", "cbt-ne"},
                                              {"CNN (100K)", "cnn"},
                                              {"FuzzySyntheticQA", "fuzzy-uniform"},
                                              {"WikidataSyntheticQA", "wikidata"}};
  const auto other = others.find(printed);
  return other != others.end()
             ? other->second
             : absl::StrReplaceAll(absl::AsciiStrToLower(printed), {{" (9k)", "-10k"}, {" ", "-"}});
}

// The name here of a row of the concurrence study: "BERT (base, uncased)" is bert-base.
std::string ApproachOf(const std::string& printed) {
  return absl::StrReplaceAll(absl::AsciiStrToLower(printed),
                             {{" (no external features)", "-no-features"},
                              {"whole-word masking", "wwm"},
                              {", uncased", ""},
                              {", v1", ""},
                              {", ", "-"},
                              {" (", "-"},
                              {")", ""},
                              {"++", "-plus-plus"},
                              {"documentreader", "document-reader"},
                              {"mnemonicreader", "mnemonic-reader"}});
}

TEST(PublishedNumbersTest, ConcurrenceHasThePrintedColumnsAndTheirSizes) {
  CONCUR_PUBLISHED_OR_SKIP(columns, "concurrence-columns.csv");
  const LoadedSweep sweep = SweepOf("concurrence-44");
  std::map<std::string, const BenchmarkSpec*> here;
  for (const BenchmarkSpec& benchmark : sweep.spec.benchmarks) {
    here[benchmark.name] = &benchmark;
  }
  EXPECT_EQ(here.size(), columns.size());
  for (const auto& column : columns) {
    const auto found = here.find(BenchmarkOf(column.at("benchmark")));
    ASSERT_NE(found, here.end()) << column.at("benchmark");
    const std::string& group = column.at("group");
    const auto size = found->second->tags.find("size");
    if (absl::StartsWith(group, "babi-")) {
      EXPECT_EQ(absl::StrCat("babi-", size->second), group) << found->first;
    } else if (group == "downsampled") {  // "SQuAD 1K" has 1,000
      EXPECT_EQ(absl::StrCat("SQuAD ", size->second.substr(0, size->second.size() - 3), "K"),
                column.at("benchmark"));
      EXPECT_THAT(TextOfConfig(absl::StrCat("benchmarks/downsampled/", found->first, ".yaml")),
                  HasSubstr(absl::StrCat("--questions ", size->second, " ")));
    }
  }
}

TEST(PublishedNumbersTest, ConcurrenceHasThePrintedApproachesSettingsAndMetric) {
  CONCUR_PUBLISHED_OR_SKIP(rows, "concurrence-em.csv");
  for (const char* name : {"concurrence", "concurrence-44"}) {
    const LoadedSweep sweep = SweepOf(name);
    std::map<std::string, std::string> here;
    for (const ApproachSpec& approach : sweep.spec.approaches) {
      here[approach.name] = approach.tags.count("pretrained") > 0 ? "yes" : "no";
    }
    EXPECT_EQ(here.size(), rows.size());
    for (const auto& row : rows) {
      EXPECT_EQ(here[ApproachOf(row.at("approach"))], row.at("pretrained")) << row.at("approach");
    }
    for (const BenchmarkSpec& benchmark : sweep.spec.benchmarks) {
      EXPECT_EQ(benchmark.metric, "exact_match") << benchmark.name;
    }
  }
}

TEST(PublishedNumbersTest, BabisProtocolsExpandToWhatTheySay) {
  // The honest one: the default setting, and no look at the test questions. As published: six
  // settings, each with the test set to choose its epoch.
  const LoadedSweep honest = SweepOf("replicate-babi");
  const LoadedSweep published = SweepOf("replicate-babi-as-published");
  EXPECT_EQ(honest.spec.random_settings, 0u);
  EXPECT_EQ(published.spec.random_settings, 5u);
  ASSERT_EQ(published.spec.approaches.size(), honest.spec.approaches.size());
  for (size_t i = 0; i < honest.spec.approaches.size(); ++i) {
    const ApproachSpec& approach = published.spec.approaches[i];
    EXPECT_THAT(honest.spec.approaches[i].train_command, Contains("--dev=none"));
    EXPECT_THAT(approach.train_command, Contains("--dev={validation}"));
    EXPECT_EQ(approach.name, honest.spec.approaches[i].name);
    EXPECT_EQ(approach.hyperparameters.defaults,
              honest.spec.approaches[i].hyperparameters.defaults);
  }
  size_t validated = 0;
  for (const BenchmarkSpec& benchmark : published.spec.benchmarks) {
    if (benchmark.validation_of) {
      const BenchmarkSpec& of = published.spec.benchmarks[*benchmark.validation_of];
      EXPECT_EQ(benchmark.test->path, of.test->path);
      ++validated;
    }
  }
  EXPECT_EQ(validated, honest.spec.benchmarks.size());
}

// The part of the shared task that a row is about, as the tag `group` says it.
std::string GroupOf(const std::string& split, bool test) {
  return split == "I"    ? "in-domain"
         : split == "II" ? absl::StrCat("out-of-domain-1", test ? "-test" : "")
                         : "out-of-domain-2";
}

TEST(PublishedNumbersTest, MrqaHasThePrintedDataSetsSplitsAndCharacteristics) {
  CONCUR_PUBLISHED_OR_SKIP(rows, "mrqa-table01-datasets.csv");
  const std::map<std::string, std::string> words = {
      {"domain experts", "experts"},     {"search logs", "search-log"},
      {"science articles", "science"},   {"textbook", "textbooks"},
      {"transcriptions", "transcripts"}, {"news articles", "news"}};
  const auto word_of = [&words](const std::string& printed) {
    const std::string lower = absl::AsciiStrToLower(printed);
    const auto found = words.find(lower);
    return found != words.end() ? found->second : absl::StrReplaceAll(lower, {{" ", "-"}});
  };
  const std::map<std::string, std::string> names = {{"natural questions", "natural-questions"},
                                                    {"relationextraction", "relation-extraction"},
                                                    {"complexwebq", "complex-web-questions"}};
  std::set<std::string> printed;
  for (const auto& row : rows) {
    std::string name = absl::AsciiStrToLower(row.at("dataset"));
    name = absl::StrCat("mrqa-", names.count(name) > 0 ? names.at(name) : name);
    const std::string tags =
        absl::StrCat(word_of(row.at("question")), ", ", word_of(row.at("context")), ", ",
                     row.at("question_independent_of_context"));
    const std::string& split = row.at("split");
    if (!row.at("dev").empty()) {
      printed.insert(absl::StrCat(name, ": ", GroupOf(split, false), ", ", tags));
    }
    if (!row.at("test").empty()) {
      printed.insert(
          absl::StrCat(name, split == "II" ? "-test" : "", ": ", GroupOf(split, true), ", ", tags));
    }
  }
  const LoadedSweep sweep = SweepOf("mrqa");
  std::vector<std::string> here;
  for (const BenchmarkSpec& benchmark : sweep.spec.benchmarks) {
    const auto& tags = benchmark.tags;
    here.push_back(absl::StrCat(benchmark.name, ": ", tags.at("group"), ", ", tags.at("question"),
                                ", ", tags.at("context"), ", ", tags.at("independent")));
    EXPECT_EQ(benchmark.metric, "f1") << benchmark.name;
  }
  EXPECT_THAT(here, UnorderedElementsAreArray(printed));
  EXPECT_EQ(sweep.spec.train_sets[0].parts.size(),
            static_cast<size_t>(std::count_if(rows.begin(), rows.end(), [](const auto& row) {
              return !row.at("train").empty();
            })));
}

TEST(PublishedNumbersTest, MrqasFinalScoresAreOfSetsThatHaveBenchmarks) {
  CONCUR_PUBLISHED_OR_SKIP(rows, "mrqa-table06-split2-test.csv");
  size_t sets = 0;
  for (const auto& [column, value] : rows[0]) {
    if (absl::EndsWith(column, "_f1")) {
      const std::string name = absl::AsciiStrToLower(column.substr(0, column.size() - 3));
      EXPECT_EQ(HiddenSets().count(absl::StrCat(
                    "mrqa-", name == "relext" ? "relation-extraction" : name, "-test")),
                1u)
          << column;
      ++sets;
    }
  }
  EXPECT_EQ(sets, 6u);
}

TEST(PublishedNumbersTest, BeatTheAiHasThePrintedSizesSeedsAndMetric) {
  CONCUR_PUBLISHED_OR_SKIP(rows, "beat-table03-datasets.csv");
  CONCUR_PUBLISHED_OR_SKIP(scores, "beat-table06-train-test.csv");
  const std::string sample = TextOfConfig("benchmarks/adversarial/d-squad-10k.yaml");
  std::set<std::string> sets;
  for (const auto& row : rows) {
    const std::string name =
        absl::StrReplaceAll(absl::AsciiStrToLower(row.at("resource")), {{"dsquad", "d-squad"},
                                                                        {"dbidaf", "d-bidaf"},
                                                                        {"dbert", "d-bert"},
                                                                        {"droberta", "d-roberta"}});
    sets.insert(name);
    if (name != "d-squad") {
      EXPECT_THAT(sample, HasSubstr(absl::StrCat("--questions ", row.at("qas_train"), " ")));
    }
  }
  const LoadedSweep sweep = SweepOf("beat-the-ai");
  std::set<std::string> models;
  for (const auto& row : scores) {
    models.insert(row.at("model"));
  }
  EXPECT_EQ(sweep.spec.approaches.size(), models.size());
  std::set<std::string> tested;
  for (const uint32_t index : sweep.spec.evaluate_benchmarks) {
    const BenchmarkSpec& benchmark = sweep.spec.benchmarks[index];
    EXPECT_EQ(benchmark.metric, "exact_match") << benchmark.name;  // it is tuned for
    tested.insert(benchmark.name);
  }
  for (const std::string& name : sets) {
    EXPECT_EQ(tested.count(name), 1u) << name;
  }
}

TEST(PublishedNumbersTest, CnnTrainsOnAHundredThousandQuestions) {
  // Liu et al., 2023, Table 12: "CNN (100K Examples)".
  EXPECT_THAT(TextOfConfig("benchmarks/cloze/cnn.yaml"), HasSubstr("--questions-max 100000 "));
}

TEST(PublishedNumbersTest, SyntheticBenchmarksNameWhatThePublicationDraws) {
  // Liu et al., 2023: FastText's vectors for all five passages; WikiText-2 raw, WikiText-103;
  // Wikidata with hypernyms, 8,376 train passages.
  for (const std::string& path : FilesOf("benchmarks/synthetic")) {
    ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(path));
    if (absl::StrContains(path, "fuzzy")) {
      EXPECT_THAT(text, HasSubstr("--vectors crawl-300d-2M.vec")) << path;
    }
  }
  EXPECT_THAT(TextOfConfig("data/fasttext-crawl.yaml"), HasSubstr("crawl-300d-2M.vec"));
  EXPECT_THAT(TextOfConfig("benchmarks/synthetic/fuzzy-uniform.yaml"), HasSubstr("wikitext-2-raw"));
  EXPECT_THAT(TextOfConfig("benchmarks/synthetic/fuzzy-3-gram.yaml"), HasSubstr("wikitext-103"));
  EXPECT_THAT(TextOfConfig("benchmarks/synthetic/wikidata.yaml"),
              AllOf(HasSubstr("--hypernyms"), HasSubstr("--train-passages 8376")));
}

}  // namespace
}  // namespace concur::spec
