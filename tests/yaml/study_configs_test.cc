// SPDX-License-Identifier: Apache-2.0
// Sweep files of configs/ are the published studies.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/file.h"
#include "core/sweep/content_key.h"
#include "core/sweep/expansion.h"
#include "tests/testing/shared_data.h"
#include "tests/testing/test.h"
#include "tests/yaml/config_files.h"
#include "yaml/approach_yaml.h"
#include "yaml/catalogue_yaml.h"
#include "yaml/sweep_yaml.h"

namespace concur::spec {
namespace {

// Counts of `concur sweep plan`.
struct PlannedSize {
  std::string sweep;
  size_t approaches = 0;
  size_t train_sets = 0;
  size_t benchmarks = 0;
  uint32_t settings = 0;
  size_t seeds = 0;
  uint64_t cells = 0;
  uint64_t eval_jobs = 0;
};

TEST(StudyConfigsTest, TheStudiesHaveThePublishedSizesAndTheirSmallFormsTheStated) {
  const std::vector<PlannedSize> stated = {
      {"concurrence", 20, 32, 32, 6, 1, 3840, 3840},
      // On SQuAD all 20 approaches, on MRQA's mixture of six the pretrained ones.
      {"shift", 20, 2, 13, 1, 1, 20 + 10, (20 + 10) * 7},
      {"mrqa", 12, 1, 24, 1, 1, 12, 12 * 24},
      {"concurrence-44", 20, 44, 44, 6, 1, 5280, 5280},
      // Six test sets, and the validation sets of what was trained on: 5 single ones, 3 unions of
      // two, one of four.
      {"beat-the-ai", 3, 9, 7, 1, 10, 270, 270 * 6 + 30 * (5 + 3 * 2 + 4)},
      {"replicate-babi", 10, 11, 11, 1, 1, 110, 110},
      // Each test set, and the same as validation set.
      {"replicate-babi-as-published", 10, 11, 11, 6, 1, 660, 2 * 660},
      {"replicate-squad", 10, 1, 3, 1, 1, 10, 20},
      // A model on the mixture, from which the other starts, and both on each of six sets.
      {"mrqa-figure-1", 2, 7, 12, 1, 1, 1 + 2 * 6, 2 * 6},
      // Each test set, and the validation set of what is trained on.
      {"small-concurrence", 13, 27, 27, 2, 1, 13 * 27 * 2, 13 * 27 * 2 * 2},
      // Two validation sets of what is trained on.
      {"small-shift", 13, 1, 5, 3, 1, 13 * 3, 13 * 3 * (3 + 2)},
      {"small-validation", 3, 3, 3, 8, 1, 72, 2 * 72},
      {"small-search", 3, 3, 3, 20, 1, 180, 2 * 180},
      {"small-mrqa", 13, 1, 12, 3, 1, 13 * 3, 13 * 3 * (12 + 6)},
      // 4 single train sets and a union of four.
      {"small-beat-the-ai", 3, 5, 4, 2, 5, 3 * 5 * 2 * 5, 3 * 2 * 5 * (5 * 4 + 4 + 4)},
  };
  for (const PlannedSize& want : stated) {
    SCOPED_TRACE(want.sweep);
    ASSERT_OK_AND_ASSIGN(const LoadedSweep sweep,
                         LoadWithHiddenSets(ConfigDirectory() + "/sweeps/" + want.sweep + ".yaml"));
    ASSERT_OK_AND_ASSIGN(const Expansion expansion, Expansion::Make(sweep.spec));
    EXPECT_EQ(sweep.spec.approaches.size(), want.approaches);
    EXPECT_EQ(sweep.spec.train_sets.size(), want.train_sets);
    EXPECT_EQ(std::count_if(sweep.spec.benchmarks.begin(), sweep.spec.benchmarks.end(),
                            [](const BenchmarkSpec& b) { return !b.validation_of; }),
              static_cast<std::ptrdiff_t>(want.benchmarks));
    EXPECT_EQ(sweep.spec.seeds.size(), want.seeds);
    uint64_t cells = 0;
    uint64_t eval_jobs = 0;
    for (const Block& block : expansion.blocks()) {
      EXPECT_EQ(block.settings, want.settings);
      cells += block.cells;
      eval_jobs += uint64_t{block.cells} * block.tests.size();
    }
    EXPECT_EQ(cells, want.cells);
    EXPECT_EQ(eval_jobs, want.eval_jobs);
    EXPECT_EQ(expansion.job_count(), want.cells + want.eval_jobs);
  }
}

// The approaches of a sweep that have a tag.
size_t CountTagged(const LoadedSweep& sweep, const std::string& tag) {
  size_t count = 0;
  for (const ApproachSpec& approach : sweep.spec.approaches) {
    count += approach.tags.count(tag);
  }
  return count;
}

TEST(StudyConfigsTest, TheStudyOfConcurrenceHasTenApproachesOfEachKindAndItsGroups) {
  ASSERT_OK_AND_ASSIGN(const LoadedSweep sweep,
                       LoadWithData(ConfigDirectory() + "/sweeps/concurrence.yaml"));
  EXPECT_EQ(CountTagged(sweep, "pretrained"), 10u);
  EXPECT_EQ(CountTagged(sweep, "non-pretrained"), 10u);
  EXPECT_EQ(CountTagged(sweep, "external-features"), 3u);
  std::map<std::string, int> groups;
  for (const BenchmarkSpec& benchmark : sweep.spec.benchmarks) {
    ++groups[benchmark.tags.at("group")];
  }
  EXPECT_EQ(groups, (std::map<std::string, int>{{"human", 3},
                                                {"in-domain", 3},
                                                {"cloze", 5},
                                                {"babi", 11},
                                                {"synthetic", 6},
                                                {"downsampled", 4}}));
}

TEST(StudyConfigsTest, TheAppendixOfConcurrenceHas44BenchmarksInItsGroups) {
  // Liu et al., 2023, Tables 9 to 23: six sets written by people, five cloze sets, eleven bAbI
  // tasks in two sizes, five kinds of FuzzySyntheticQA and one of Wikidata, SQuAD in five smaller
  // sizes.
  ASSERT_OK_AND_ASSIGN(const LoadedSweep sweep,
                       LoadWithData(ConfigDirectory() + "/sweeps/concurrence-44.yaml"));
  std::map<std::string, int> groups;
  for (const BenchmarkSpec& benchmark : sweep.spec.benchmarks) {
    ++groups[benchmark.tags.at("group")];
  }
  EXPECT_EQ(groups["human"] + groups["in-domain"], 6);
  EXPECT_EQ(groups["cloze"], 5);
  EXPECT_EQ(groups["babi"], 11);
  EXPECT_EQ(groups["babi-10k"], 11);
  EXPECT_EQ(groups["synthetic"], 6);
  EXPECT_EQ(groups["downsampled"], 5);
}

TEST(StudyConfigsTest, BeatTheAiTrainsOnUnionsWithAllOfSquadAndHasValidationSets) {
  // Bartolo et al., 2020: Table 6 compares three adversarial sets with as many questions of SQuAD;
  // Tables 7 and 8 add them to all of SQuAD; ten seeds (§ 4.1); SQuAD's dev set serves as
  // validation and test halves (Table 3).
  ASSERT_OK_AND_ASSIGN(const LoadedSweep sweep,
                       LoadWithData(ConfigDirectory() + "/sweeps/beat-the-ai.yaml"));
  const SweepSpec& spec = sweep.spec;
  const std::map<std::string, size_t> parts = [&spec] {
    std::map<std::string, size_t> counts;
    for (const TrainSet& train_set : spec.train_sets) {
      counts[train_set.name] = train_set.parts.size();
      for (const TrainSet::Part& part : train_set.parts) {
        EXPECT_EQ(part.examples_max, 0) << train_set.name;
      }
    }
    return counts;
  }();
  EXPECT_EQ(parts, (std::map<std::string, size_t>{{"d-squad-10k", 1},
                                                  {"d-bidaf", 1},
                                                  {"d-bert", 1},
                                                  {"d-roberta", 1},
                                                  {"d-squad", 1},
                                                  {"d-squad+d-bidaf", 2},
                                                  {"d-squad+d-bert", 2},
                                                  {"d-squad+d-roberta", 2},
                                                  {"d-squad+d-all", 4}}));
  EXPECT_EQ(spec.seeds.size(), 10u);
  std::set<std::string> validated;
  for (const BenchmarkSpec& benchmark : spec.benchmarks) {
    if (benchmark.validation_of) {
      validated.insert(spec.benchmarks[*benchmark.validation_of].name);
      EXPECT_NE(benchmark.test->path, spec.benchmarks[*benchmark.validation_of].test->path);
    }
  }
  EXPECT_EQ(validated,
            (std::set<std::string>{"d-bert", "d-bidaf", "d-roberta", "d-squad", "d-squad-10k"}));
}

TEST(StudyConfigsTest, BeatTheAiChoosesEpochsOnValidationSets) {
  // Bartolo et al., 2020, tune on the validation sets of Table 3. Of the three models BiDAF alone
  // chooses an epoch; the others keep the last.
  ASSERT_OK_AND_ASSIGN(const LoadedSweep sweep,
                       LoadWithData(ConfigDirectory() + "/sweeps/beat-the-ai.yaml"));
  ASSERT_EQ(sweep.spec.approaches.size(), 3u);
  EXPECT_EQ(sweep.spec.approaches[0].name, "bidaf");
  EXPECT_THAT(sweep.spec.approaches[0].train_command, Contains("--dev={validation}"));
  EXPECT_EQ(sweep.spec.approaches[1].name, "bert-large");
  EXPECT_EQ(sweep.spec.approaches[2].name, "roberta-large");
}

TEST(StudyConfigsTest, ShiftTrainsOnSquadAndOnTheMixtureOfMrqa) {
  // Miller et al., 2020: SQuAD and four new test sets, two adversarial ones; Figure 6 compares
  // systems trained on SQuAD alone with those of the MRQA shared task, trained on its mixture.
  ASSERT_OK_AND_ASSIGN(const LoadedSweep sweep,
                       LoadWithData(ConfigDirectory() + "/sweeps/shift.yaml"));
  ASSERT_OK_AND_ASSIGN(const LoadedSweep mrqa,
                       LoadWithData(ConfigDirectory() + "/sweeps/mrqa.yaml"));
  ASSERT_EQ(sweep.spec.train_sets.size(), 2u);
  const auto parts_of = [](const LoadedSweep& of, const TrainSet& train_set) {
    std::vector<std::string> parts;
    for (const TrainSet::Part& part : train_set.parts) {
      parts.push_back(
          absl::StrCat(of.spec.benchmarks[part.benchmark].train->path, " ", part.examples_max));
    }
    return parts;
  };
  EXPECT_EQ(parts_of(sweep, sweep.spec.train_sets[0]),
            (std::vector<std::string>{"/data/squad/train.jsonl 0"}));
  EXPECT_EQ(parts_of(sweep, sweep.spec.train_sets[1]), parts_of(mrqa, mrqa.spec.train_sets[0]));
  EXPECT_EQ(sweep.spec.train_sets[1].seed, mrqa.spec.train_sets[0].seed);
  std::set<std::string> tested;
  for (const uint32_t index : sweep.spec.evaluate_benchmarks) {
    tested.insert(sweep.spec.benchmarks[index].name);
    EXPECT_EQ(sweep.spec.benchmarks[index].metric, "f1");
  }
  EXPECT_EQ(tested, (std::set<std::string>{"squad", "new-wikipedia", "new-york-times", "reddit",
                                           "amazon", "addsent", "addonesent"}));
}

TEST(StudyConfigsTest, MrqaHasThePublishedTrainSets) {
  // Fisch et al., 2019: up to 75,000 examples of each of six train sets (§ 3.1).
  ASSERT_OK_AND_ASSIGN(const LoadedSweep sweep,
                       LoadWithHiddenSets(ConfigDirectory() + "/sweeps/mrqa.yaml"));
  ASSERT_EQ(sweep.spec.train_sets.size(), 1u);
  EXPECT_EQ(sweep.spec.train_sets[0].parts.size(), 6u);
  for (const TrainSet::Part& part : sweep.spec.train_sets[0].parts) {
    EXPECT_EQ(part.examples_max, 75'000) << part.benchmark;
  }
}

TEST(StudyConfigsTest, MrqaDoesWithoutTheHiddenTestSetsAndSaysSo) {
  // Fisch et al., 2019, § 3.1: six sets to train on, six out-of-domain ones for development, and
  // the twelve test sets of the evaluation, which were hidden.
  ASSERT_OK_AND_ASSIGN(const LoadedSweep sweep,
                       LoadWithData(ConfigDirectory() + "/sweeps/mrqa.yaml"));
  EXPECT_EQ(sweep.spec.benchmarks.size(), 12u);
  std::string said;
  for (const std::string& message : sweep.left_out) {
    absl::StrAppend(&said, message, "\n");
  }
  EXPECT_EQ(sweep.left_out.size(), HiddenSets().size());
  for (const std::string& name : HiddenSets()) {
    EXPECT_THAT(said, HasSubstr(absl::StrCat("the benchmark \"", name, "\" is left out")));
  }
}

TEST(StudyConfigsTest, MrqaHasTheBaselinesOfTheSharedTask) {
  // Fisch et al., 2019, § 4, and its published configuration: BERT base and large, windows of 512
  // pieces with a stride of 128, 2 epochs, batches of 6, a rate of 3e-5 that rises for a tenth.
  for (const char* size : {"base", "large"}) {
    ASSERT_OK_AND_ASSIGN(
        const ApproachSpec baseline,
        LoadApproach(absl::StrCat(ConfigDirectory(), "/approaches/mrqa/mrqa-bert-", size, ".yaml"),
                     AllVariables()));
    for (const char* argument : {"length=512", "stride=128", "optimizer=bert_adam"}) {
      EXPECT_THAT(baseline.train_command, Contains(argument)) << size;
    }
    EXPECT_THAT(baseline.train_command,
                Contains(absl::StrCat("--checkpoint=/checkpoints/bert-", size, "-uncased")));
    const auto& defaults = baseline.hyperparameters.defaults;
    EXPECT_EQ(defaults.at("epochs"), ParamValue(int64_t{2}));
    EXPECT_EQ(defaults.at("batch"), ParamValue(int64_t{6}));
    EXPECT_EQ(defaults.at("lr"), ParamValue(0.00003));
    EXPECT_EQ(defaults.at("warmup"), ParamValue(0.1));
  }
}

TEST(StudyConfigsTest, EveryTestSetOfMrqaHasACatalogueEntry) {
  // The hidden ones are to be asked for; all others have an address.
  std::set<std::string> asked_for;
  std::set<std::string> addressed;
  for (const std::string& path : FilesOf("data")) {
    ASSERT_OK_AND_ASSIGN(const DataSource source, LoadDataSource(path));
    for (const std::string& command : source.import) {
      const std::vector<std::string> parts = absl::StrSplit(command, " --out ");
      const std::vector<std::string> out = absl::StrSplit(parts.back(), '/');
      if (absl::StartsWith(out[0], "mrqa-")) {
        (source.files[0].url.empty() ? asked_for : addressed).insert(out[0]);
        EXPECT_EQ(source.files[0].url.empty(), !source.files[0].ask.empty()) << path;
      }
    }
  }
  EXPECT_EQ(asked_for, HiddenSets());
  EXPECT_EQ(addressed.size(), 12u);
}

TEST(StudyConfigsTest, TheFirstStageOfMrqasFigureIsTheTrainJobOfMrqa) {
  const auto key_of = [](const std::string& name, const std::string& job_name) {
    const absl::StatusOr<LoadedSweep> sweep =
        LoadWithData(absl::StrCat(ConfigDirectory(), "/sweeps/", name, ".yaml"));
    CONCUR_CHECK_OK(sweep.status());
    SweepSpec spec = sweep->spec;
    for (BenchmarkSpec& benchmark : spec.benchmarks) {
      if (benchmark.train) {
        benchmark.train->digest = Sha256Of(benchmark.name);
      }
    }
    const absl::StatusOr<Expansion> expansion = Expansion::Make(std::move(spec));
    CONCUR_CHECK_OK(expansion.status());
    for (uint32_t job = 0; job < expansion->job_count(); ++job) {
      if (expansion->Describe(job) == job_name) {
        return ContentKeys(*expansion).KeyOf(job);
      }
    }
    return Digest();
  };
  const char* const job = "mrqa-bert-large on six, setting 0, seed 1";
  EXPECT_FALSE(key_of("mrqa", job).IsZero());
  EXPECT_EQ(key_of("mrqa", job), key_of("mrqa-figure-1", job));
}

// The sizes of test sets tell which split was used: the printed scores are shares of them, rounded
// or cut to two decimals.
TEST(StudyConfigsTest, ClozeBenchmarksAreTheSplitsWhoseSizesThePrintedScoresHave) {
  struct Printed {
    std::string column;
    double questions = 0;
    std::string file;  // relative to configs/
    std::string split;
  };
  const std::vector<Printed> all = {
      {"CBT (CN)", 2000, "data/cbt.yaml", "cbtest_CN_valid_2000ex.txt"},
      {"CBT (NE)", 2000, "data/cbt.yaml", "cbtest_NE_valid_2000ex.txt"},
      {"LAMBADA", 4039, "data/lambada.yaml", "lambada_development_plain_text.txt"},
      {"CNN (100K)", 3924, "benchmarks/cloze/cnn.yaml", "questions/validation"}};
  for (const Printed& printed : all) {
    EXPECT_THAT(ReadFile(absl::StrCat(ConfigDirectory(), "/", printed.file)).value_or(""),
                HasSubstr(printed.split));
  }
  const std::string path = ::concur::testing::SharedData("../reference/tables/concurrence-em.csv");
  if (path.empty()) {
    GTEST_SKIP() << "the published table is not on this machine (see CONCUR_SHARED_DIR)";
  }
  ASSERT_OK_AND_ASSIGN(const std::string table, ReadFile(path));
  const std::vector<std::string> lines = absl::StrSplit(table, '\n', absl::SkipEmpty());
  const std::vector<std::string> header = absl::StrSplit(lines[0], ',');
  for (const Printed& printed : all) {
    const auto column = std::find(header.begin(), header.end(), printed.column);
    ASSERT_NE(column, header.end());
    for (size_t i = 1; i < lines.size(); ++i) {
      const std::vector<std::string> cells = absl::StrSplit(lines[i], ',');
      double score = 0;  // names have commas: counted from the right
      ASSERT_TRUE(absl::SimpleAtod(cells[cells.size() - static_cast<size_t>(header.end() - column)],
                                   &score));
      const double share = std::round(score * printed.questions / 100) / printed.questions;
      EXPECT_NEAR(100 * share, score, 0.0101) << lines[i];
    }
  }
}

}  // namespace
}  // namespace concur::spec
