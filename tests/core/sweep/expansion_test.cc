// SPDX-License-Identifier: Apache-2.0
#include "core/sweep/expansion.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "core/sweep/train_from.h"
#include "tests/core/sweep/sweep_builder.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

using ::concur::testing::AddStages;
using ::concur::testing::AddValidationSet;
using ::concur::testing::Benchmark;
using ::concur::testing::FileOf;
using ::concur::testing::PlainTrainSet;
using ::concur::testing::SmallSweep;
using ::concur::testing::TrainedApproach;

Expansion MakeOrDie(SweepSpec spec) {
  absl::StatusOr<Expansion> expansion = Expansion::Make(std::move(spec));
  CONCUR_CHECK_OK(expansion.status());
  return *std::move(expansion);
}

struct BadSpec {
  const char* name;
  std::function<void(SweepSpec&)> damage;
  const char* message;
};

TEST(ExpansionTest, ASpecThatCannotBeMeantIsRefusedByField) {
  const std::vector<BadSpec> cases = {
      {"no approach", [](SweepSpec& s) { s.approaches.clear(); }, "approaches: expected at least"},
      {"no benchmark", [](SweepSpec& s) { s.benchmarks.clear(); }, "benchmarks: expected at least"},
      {"no seed", [](SweepSpec& s) { s.seeds.clear(); }, "seeds: expected at least one"},
      {"seed twice",
       [](SweepSpec& s) {
         s.seeds = {3, 1, 3};
       },
       "seeds: 3 stands twice"},
      {"bad name", [](SweepSpec& s) { s.name = "a b"; }, "name: expected a name of letters"},
      {"same name", [](SweepSpec& s) { s.approaches[1].name = "a"; },
       "approaches[1].name: \"a\" stands twice"},
      {"no version", [](SweepSpec& s) { s.approaches[0].version = ""; },
       "approaches[0].version: expected"},
      {"no predict", [](SweepSpec& s) { s.approaches[0].predict_command.clear(); },
       "approaches[0].predict.command: expected the command"},
      {"placeholder", [](SweepSpec& s) { s.approaches[0].train_command[2] = "{tran}"; },
       "approaches[0].train.command[2]: expected a placeholder"},
      {"empty program", [](SweepSpec& s) { s.approaches[0].train_command[0] = ""; },
       "approaches[0].train.command[0]: expected the name of a program"},
      {"space", [](SweepSpec& s) { s.approaches[0].hyperparameters.space["x"] = Choice{}; },
       "approaches[0].hyperparameters: space.x"},
      {"environment", [](SweepSpec& s) { s.approaches[0].env["CONCUR_JOB"] = "1"; },
       "approaches[0].env: expected the name"},
      {"secret", [](SweepSpec& s) { s.approaches[0].secrets["KEY"] = "a b"; },
       "approaches[0].secrets.KEY: expected a name of letters"},
      {"secret's variable", [](SweepSpec& s) { s.approaches[0].secrets["1"] = "a"; },
       "approaches[0].secrets: expected the name of an environment variable"},
      {"secret and variable",
       [](SweepSpec& s) {
         s.approaches[0].env["KEY"] = "1";
         s.approaches[0].secrets["KEY"] = "a";
       },
       "approaches[0].secrets.KEY: the variable is in env, too"},
      {"gpus", [](SweepSpec& s) { s.approaches[0].train_resources.gpus = 65; },
       "approaches[0].train.resources.gpus: expected 0 to 64, got 65"},
      {"label",
       [](SweepSpec& s) {
         s.approaches[0].train_labels = {{"a b", "c"}};
       },
       "approaches[0].train.resources.labels: expected a name of letters"},
      {"long label",
       [](SweepSpec& s) {
         s.benchmarks[0].labels = {{"a", std::string(201, 'x')}};
       },
       "benchmarks[0].resources.labels.a: expected at most 200 bytes"},
      {"timeout", [](SweepSpec& s) { s.approaches[0].predict_timeout = absl::ZeroDuration(); },
       "approaches[0].predict.timeout: expected at least 1s"},
      {"no data", [](SweepSpec& s) { s.benchmarks[2].test.reset(); },
       "benchmarks[2]: expected a train or a test file"},
      {"metric", [](SweepSpec& s) { s.benchmarks[0].metric = "bleu"; },
       "benchmarks[0].metric: expected exact_match or f1"},
      {"goal of exact match", [](SweepSpec& s) { s.benchmarks[0].meaning.goal = Goal::kMinimize; },
       "benchmarks[0].metric: expected goal maximize and scale percent for exact_match"},
      {"scale backwards",
       [](SweepSpec& s) {
         s.benchmarks[0].format = DataFormat::kFile;
         s.benchmarks[0].meaning.scale = {Scale::Kind::kRange, 5, 1};
       },
       "benchmarks[0].metric.scale: expected finite ends, the lower one first, got 5 and 1"},
      {"suffix", [](SweepSpec& s) { s.benchmarks[0].test->suffix = "../x"; },
       "benchmarks[0].test.suffix"},
      {"part index", [](SweepSpec& s) { s.train_sets[1].parts[0].benchmark = 9; },
       "train_sets[1].parts[0].benchmark: expected an index below 3"},
      {"part without train", [](SweepSpec& s) { s.train_sets[1].parts[0].benchmark = 2; },
       "\"z\" has no train file"},
      {"part twice",
       [](SweepSpec& s) {
         s.train_sets[0].parts.push_back({0, 5});
       },
       "\"x\" stands twice"},
      {"rule of nothing", [](SweepSpec& s) { s.exclude.emplace_back(); }, "exclude[0]: expected"},
      {"rule index",
       [](SweepSpec& s) {
         s.exclude.push_back({2, {}, {}});
       },
       "exclude[0].approach: expected an index below 2"},
      {"listed none", [](SweepSpec& s) { s.evaluate_on = EvaluateOn::kListed; },
       "evaluate_on: expected at least one"},
      {"listed index", [](SweepSpec& s) { s.evaluate_benchmarks = {3}; },
       "evaluate_on[0]: expected an index below 3"},
      {"validation of none",
       [](SweepSpec& s) {
         AddValidationSet(0, &s);
         s.benchmarks.back().validation_of = 4;
       },
       "benchmarks[3].validation_of: expected an index below 4"},
      {"validation of itself",
       [](SweepSpec& s) {
         AddValidationSet(0, &s);
         s.benchmarks.back().validation_of = 3;
       },
       "benchmarks[3].validation_of: expected a benchmark, got the validation set"},
      {"validation with a train file",
       [](SweepSpec& s) {
         AddValidationSet(0, &s);
         s.benchmarks.back().train = FileOf("a");
       },
       "benchmarks[3].validation_of: expected a validation set to have a test file and no train"},
      {"validation by another metric",
       [](SweepSpec& s) {
         AddValidationSet(0, &s);
         s.benchmarks.back().metric = "f1";
       },
       "benchmarks[3].validation_of: expected the format, metric, resources and needs of \"x\""},
      {"two validation sets",
       [](SweepSpec& s) {
         AddValidationSet(0, &s);
         AddValidationSet(0, &s);
         s.benchmarks.back().name = "other";
       },
       "benchmarks[4].validation_of: \"x\" has another validation set already"},
      {"evaluated on a validation set",
       [](SweepSpec& s) {
         AddValidationSet(0, &s);
         s.evaluate_on = EvaluateOn::kListed;
         s.evaluate_benchmarks = {3};
       },
       "evaluate_on[0]: expected a benchmark, got the validation set \"x.validation\""},
      {"rule of a validation set",
       [](SweepSpec& s) {
         AddValidationSet(0, &s);
         s.exclude = {{{}, {}, 3}};
       },
       "exclude[0].test_benchmark: expected a benchmark, got the validation set"},
      {"validation that is not there",
       [](SweepSpec& s) {
         AddValidationSet(0, &s);
         s.approaches[0].train_command.emplace_back("{validation}");
       },
       "approaches[0].train.command: expected a validation set of \"y\" for {validation}, got "
       "none; "
       "give the benchmark \"y\" the field validation"},
      {"validation at prediction",
       [](SweepSpec& s) { s.approaches[1].predict_command.emplace_back("{validation}"); },
       "approaches[1].predict.command[4]: expected a placeholder of the predict command"},
      {"retry", [](SweepSpec& s) { s.retry.failures_max = 0; }, "retry.failures_max"},
      {"priority", [](SweepSpec& s) { s.priority = INT32_MIN; }, "priority: expected"},
      {"excluded all",
       [](SweepSpec& s) {
         s.exclude = {{0, {}, {}}, {1, {}, {}}};
       },
       "the sweep has no job"},
      {"too many settings", [](SweepSpec& s) { s.random_settings = kSettingsMax; },
       "settings.random: expected at most"},
      {"too large a grid",
       [](SweepSpec& s) {
         s.random_settings = kSettingsMax / 2;
         s.approaches[0].hyperparameters.defaults["g"] = true;
         s.approaches[0].hyperparameters.space["g"] = Choice{{true, false, int64_t{3}}, true};
       },
       "approaches[0].hyperparameters.space: expected at most 100000 settings"},
  };
  for (const BadSpec& bad : cases) {
    SweepSpec spec = SmallSweep();
    bad.damage(spec);
    EXPECT_THAT(Expansion::Make(spec),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(bad.message)))
        << bad.name;
  }
}

// SmallSweep with validation sets of x and y, and a search of four trials.
SweepSpec SearchedSweep() {
  SweepSpec spec = SmallSweep();
  AddValidationSet(0, &spec);
  AddValidationSet(1, &spec);
  spec.random_settings = 3;
  spec.search = SearchSpec{.parallel = 2};
  return spec;
}

TEST(ExpansionTest, ASearchThatCannotBeMeantIsRefusedByField) {
  const std::vector<BadSpec> cases = {
      {"one trial", [](SweepSpec& s) { s.random_settings = 0; }, "settings.trials: expected 2 to"},
      {"too many trials", [](SweepSpec& s) { s.random_settings = kTrialsMax; },
       "settings.trials: expected 2 to"},
      {"settings that would fill the store",
       [](SweepSpec& s) {
         s.random_settings = kTrialsMax - 1;
         s.approaches[0].hyperparameters.defaults["prompt"] = std::string(40'000, 'x');
       },
       "settings.trials: expected settings to choose of at most 32 MiB together, got about 76 MiB"},
      {"none at a time", [](SweepSpec& s) { s.search->parallel = 0; },
       "settings.parallel: expected 1 to"},
      {"no space", [](SweepSpec& s) { s.approaches[0].hyperparameters.space.clear(); },
       "settings.search: expected an approach with a space"},
      {"a space of one setting",
       [](SweepSpec& s) {
         s.approaches[0].hyperparameters.space = {{"lr", Choice{{0.1}}}};
       },
       "settings.search: expected a space with more than one setting, got one of \"a\" on \"x\""},
      {"no validation set", [](SweepSpec& s) { s.benchmarks.pop_back(); },
       "settings.by: expected a validation set on which trials of \"a\" on \"y\" are compared"},
      {"goals that differ",
       [](SweepSpec& s) {
         for (const size_t i : {0, 3}) {
           s.benchmarks[i].format = DataFormat::kFile;
           s.benchmarks[i].metric = "loss";
           s.benchmarks[i].meaning.goal = Goal::kMinimize;
         }
         s.approaches[0].train_command.clear();
         s.approaches[0].predict_command = {"answer", "{test}", "{predictions}", "{metrics}"};
       },
       "settings.search: expected one goal of all scores that compare trials of \"a\""},
      {"a proposal for a block that is not searched",
       [](SweepSpec& s) {
         s.search->proposals = {{2, 1, {{"lr", 0.5}}}};
       },
       "settings.proposals: expected one setting each of blocks that are searched"},
      {"a proposal for the default",
       [](SweepSpec& s) {
         s.search->proposals = {{0, 0, {{"lr", 0.5}}}};
       },
       "settings.proposals"},
      {"a proposal beyond the trials",
       [](SweepSpec& s) {
         s.search->proposals = {{0, 4, {{"lr", 0.5}}}};
       },
       "settings.proposals"},
      {"a proposal without values",
       [](SweepSpec& s) {
         s.search->proposals = {{0, 1, {}}};
       },
       "settings.proposals"},
      {"two proposals for one setting",
       [](SweepSpec& s) {
         s.search->proposals = {{0, 1, {{"lr", 0.5}}}, {0, 1, {{"lr", 0.6}}}};
       },
       "got setting 1 of block 0"},
      {"early stopping beside it",
       [](SweepSpec& s) { s.early_stop = EarlyStopSpec{.rule = {.max = 9}, .metric = "f1"}; },
       "settings.search: expected no early_stop beside it"},
  };
  for (const BadSpec& bad : cases) {
    SweepSpec spec = SearchedSweep();
    bad.damage(spec);
    EXPECT_THAT(Expansion::Make(spec),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(bad.message)))
        << bad.name;
  }
}

TEST(ExpansionTest, SettingsOfASearchAreThereOnceTheyAreChosen) {
  const Expansion first = MakeOrDie(SearchedSweep());
  EXPECT_TRUE(first.IsSearched(0) && first.IsSearched(1) && !first.IsSearched(2));
  EXPECT_EQ(first.SettingOf(0, 0), (Setting{{"lr", 0.1}}));
  EXPECT_FALSE(first.HasSetting(0, 2));
  EXPECT_EQ(first.SettingOf(0, 2), Setting());
  const Expansion more = first.WithProposals({{1, 2, {{"lr", 0.5}}}});
  EXPECT_EQ(more.job_count(), first.job_count());
  EXPECT_FALSE(more.HasSetting(0, 2));
  EXPECT_EQ(more.SettingOf(1, 2), (Setting{{"lr", 0.5}}));
  EXPECT_EQ(MakeOrDie(more.spec()).SettingOf(1, 2), more.SettingOf(1, 2));
}

TEST(ExpansionTest, TrialsAreComparedOnTheSetsOfWhatTheyAreTrainedOn) {
  SweepSpec spec = SearchedSweep();
  spec.evaluate_on = EvaluateOn::kAll;
  const Expansion by_validation = MakeOrDie(spec);
  EXPECT_THAT(by_validation.ComparedOn(by_validation.blocks()[1]), ElementsAre(4));
  spec.search->on_test = true;
  const Expansion by_test = MakeOrDie(spec);
  EXPECT_THAT(by_test.ComparedOn(by_test.blocks()[1]), ElementsAre(1));
  spec.evaluate_on = EvaluateOn::kListed;
  spec.evaluate_benchmarks = {0, 2};
  const Expansion elsewhere = MakeOrDie(spec);
  EXPECT_THAT(elsewhere.ComparedOn(elsewhere.blocks()[1]), ElementsAre(0));
}

TEST(ExpansionTest, MoreJobsThanTheLimitAreRefusedBeforeTheyAreCounted) {
  SweepSpec spec = SmallSweep();
  spec.seeds.clear();
  for (int64_t seed = 0; seed < 1'000'000; ++seed) {
    spec.seeds.push_back(seed);
  }
  spec.random_settings = 99;
  EXPECT_THAT(Expansion::Make(spec),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("more than 100000000 jobs")));
}

TEST(ExpansionTest, BlocksFollowApproachThenTrainSet) {
  const Expansion expansion = MakeOrDie(SmallSweep());
  ASSERT_EQ(expansion.blocks().size(), 3u);
  // a on x, a on y: 3 settings × 2 seeds × (train + own test); r: 2 seeds × 3 tests.
  EXPECT_EQ(expansion.blocks()[0].JobCount(), 12u);
  EXPECT_EQ(expansion.blocks()[1].first_job, 12u);
  EXPECT_THAT(expansion.blocks()[1].tests, ElementsAre(1));
  EXPECT_EQ(expansion.blocks()[2].train_set, kNoTrainSet);
  EXPECT_THAT(expansion.blocks()[2].tests, ElementsAre(0, 1, 2));
  EXPECT_EQ(expansion.blocks()[2].settings, 1u) << "an empty space has the default alone";
  EXPECT_EQ(expansion.job_count(), 30u);
  EXPECT_EQ(expansion.cell_count(), 14u);
}

TEST(ExpansionTest, EveryJobHasItsOwnPlace) {
  SweepSpec spec = SmallSweep();
  spec.evaluate_on = EvaluateOn::kAll;
  const Expansion expansion = MakeOrDie(spec);
  std::set<std::string> places;
  for (uint32_t job = 0; job < expansion.job_count(); ++job) {
    const JobCoordinates at = expansion.Locate(job);
    EXPECT_TRUE(places.insert(expansion.Describe(job)).second) << expansion.Describe(job);
    EXPECT_LE(at.first_job_of_cell, job);
    EXPECT_LT(job, expansion.EndOfCell(job));
    const Block& block = expansion.blocks()[at.block];
    if (at.is_train || !block.has_train) {
      EXPECT_EQ(expansion.SourceOf(job), std::nullopt);
    } else {
      const uint32_t train = *expansion.SourceOf(job);
      EXPECT_TRUE(expansion.Locate(train).is_train);
      EXPECT_EQ(expansion.Locate(train).setting, at.setting);
      EXPECT_EQ(expansion.Locate(train).seed_index, at.seed_index);
      EXPECT_EQ(expansion.EndOfCell(train), expansion.EndOfCell(job));
    }
  }
}

TEST(ExpansionTest, StagesStartFromTheDefaultSettingOfTheirSourceWithTheSameSeed) {
  SweepSpec spec = SmallSweep();
  spec.approaches.insert(spec.approaches.begin() + 1, TrainedApproach("b"));
  AddStages(&spec, "t", /*chain=*/true);
  const Expansion expansion = MakeOrDie(spec);
  // a and b on x and y with three settings and an eval job each, r, and p on t alone with one.
  EXPECT_EQ(expansion.job_count(), 2u * (4 * 3 * 2) + 2 * 3 + 2);
  std::set<uint32_t> stages;
  for (uint32_t job = 0; job < expansion.job_count(); ++job) {
    const JobCoordinates at = expansion.Locate(job);
    const Block& block = expansion.blocks()[at.block];
    std::set<uint32_t> dependents;
    expansion.ForEachDependent(job, [&](uint32_t other) {
      EXPECT_EQ(expansion.SourceOf(other), job);
      EXPECT_TRUE(dependents.insert(other).second);
    });
    const std::string& approach = spec.approaches[block.approach].name;
    const size_t stages_here = approach == "p" ? 2 * 3 : approach == "a" && at.setting == 0 ? 3 : 0;
    EXPECT_EQ(dependents.size(), at.is_train ? block.tests.size() + stages_here : 0);
    if (!at.is_train || approach == "p") {
      continue;
    }
    const JobCoordinates source = expansion.Locate(*expansion.SourceOf(job));
    const Block& source_block = expansion.blocks()[source.block];
    EXPECT_TRUE(source.is_train);
    EXPECT_EQ(source.setting, 0u);
    EXPECT_EQ(source.seed_index, at.seed_index);
    EXPECT_EQ(spec.approaches[source_block.approach].name, approach == "a" ? "p" : "a");
    EXPECT_EQ(spec.train_sets[source_block.train_set].name,
              approach == "a" ? "t" : spec.train_sets[block.train_set].name);
    stages.insert(expansion.StageOf(job));
  }
  EXPECT_EQ(stages, (std::set<uint32_t>{1, 2}));
}

TEST(ExpansionTest, ACellOutsideTheProductIsTrainedWhereAnotherStartsFromIt) {
  SweepSpec spec = SmallSweep();
  spec.approaches.push_back(TrainedApproach("b"));
  spec.approaches[2].train_command.emplace_back("{start}");
  spec.approaches[2].train_from = TrainFrom{0, 0};  // a on x
  spec.train_sets[0].source_only = true;
  const Expansion expansion = MakeOrDie(spec);
  std::vector<std::string> blocks;
  for (const Block& block : expansion.blocks()) {
    blocks.push_back(
        absl::StrCat(spec.approaches[block.approach].name, " on ",
                     block.has_train ? spec.train_sets[block.train_set].name : "nothing", ": ",
                     block.cells, " cells, ", block.tests.size(), " tests"));
  }
  EXPECT_THAT(blocks, ElementsAre("a on x: 2 cells, 0 tests", "a on y: 6 cells, 1 tests",
                                  "r on nothing: 2 cells, 3 tests", "b on y: 6 cells, 1 tests"));
  spec.exclude = {{0, 0, {}}};
  EXPECT_THAT(Expansion::Make(spec).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("exclude: expected no rule that leaves out \"a\" trained on "
                                 "\"x\", since \"b\" starts from it")));
}

TEST(ExpansionTest, StagesThatCannotBeMeantAreRefusedByField) {
  const std::vector<BadSpec> cases = {
      {"no {start}", [](SweepSpec& s) { s.approaches[0].train_command.pop_back(); },
       "approaches[0].train_from: expected {start} in the train command"},
      {"no train_from", [](SweepSpec& s) { s.approaches[0].train_from.reset(); },
       "approaches[0].train.command: expected the field train_from beside {start}"},
      {"approach", [](SweepSpec& s) { s.approaches[0].train_from->approach = 9; },
       "approaches[0].train_from.approach: expected an index below 3, got 9"},
      {"train set", [](SweepSpec& s) { s.approaches[0].train_from->train_set = 9; },
       "approaches[0].train_from.train_set: expected an index below 3, got 9"},
      {"untrained source", [](SweepSpec& s) { s.approaches[0].train_from->approach = 1; },
       "approaches[0].train_from.approach: expected an approach that trains, got \"r\""},
      {"itself", [](SweepSpec& s) { s.approaches[0].train_from->approach = 0; },
       "approaches[0].train_from: expected no circle, got \"a\" from \"a\""},
      {"a circle",
       [](SweepSpec& s) {
         s.approaches[2].train_command.emplace_back("{start}");
         s.approaches[2].train_from = TrainFrom{0, {}};
       },
       "approaches[0].train_from: expected no circle, got \"a\" from \"p\" from \"a\""},
      {"nobody starts from it",
       [](SweepSpec& s) {
         s.approaches[0].train_command.pop_back();
         s.approaches[0].train_from.reset();
       },
       "approaches[2].predict.command: expected the command that predicts"},
      {"too long a chain",
       [](SweepSpec& s) {
         for (uint32_t i = 0; i < kStagesMax; ++i) {
           ApproachSpec stage = s.approaches[0];
           stage.name = absl::StrCat("stage", i);
           stage.train_from = TrainFrom{i == 0 ? 0 : i + 2, {}};
           s.approaches.push_back(std::move(stage));
         }
       },
       "train_from: expected at most 8 trainings before one, got more"},
  };
  for (const BadSpec& bad : cases) {
    SweepSpec spec = SmallSweep();
    AddStages(&spec, "t", /*chain=*/false);
    ASSERT_OK(Expansion::Make(spec)) << bad.name;
    bad.damage(spec);
    EXPECT_THAT(Expansion::Make(spec).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(bad.message)))
        << bad.name;
  }
}

TEST(ExpansionTest, JobsOfOneKindStandAtOnePlaceInEveryCell) {
  SweepSpec spec = SmallSweep();
  spec.evaluate_on = EvaluateOn::kAll;
  spec.exclude = {{0, 0, 1}};
  const Expansion expansion = MakeOrDie(spec);
  uint32_t kind = 0;
  std::set<uint32_t> jobs;
  expansion.ForEachKind([&](const Block& block, std::optional<uint32_t> test) {
    for (uint32_t cell = 0; cell < block.cells; ++cell) {
      const uint32_t job = block.JobOf(cell, kind);
      EXPECT_TRUE(jobs.insert(job).second);
      const JobCoordinates at = expansion.Locate(job);
      EXPECT_EQ(&expansion.blocks()[at.block], &block);
      EXPECT_EQ(at.kind, kind);
      EXPECT_EQ(at.is_train, !test.has_value());
      EXPECT_EQ(at.setting * spec.seeds.size() + at.seed_index, cell);
      if (test) {
        EXPECT_EQ(at.test_benchmark, *test);
        EXPECT_EQ(block.KindOfTest(*test), kind);
      }
    }
    ++kind;
  });
  EXPECT_EQ(kind, expansion.kind_count());
  EXPECT_EQ(jobs.size(), expansion.job_count());
  EXPECT_EQ(expansion.blocks()[0].KindOfTest(1), std::nullopt) << "it is excluded";
}

TEST(ExpansionTest, ADescriptionNamesTheCellAndTheTest) {
  const Expansion expansion = MakeOrDie(SmallSweep());
  EXPECT_EQ(expansion.Describe(0), "a on x, setting 0, seed 1");
  EXPECT_EQ(expansion.Describe(3), "a on x, setting 0, seed 2, evaluated on x");
  EXPECT_EQ(expansion.Describe(29), "r, setting 0, seed 2, evaluated on z");
}

TEST(ExpansionTest, EvaluateOnListedTestsEverySystemOnTheListSorted) {
  SweepSpec spec = SmallSweep();
  spec.evaluate_on = EvaluateOn::kListed;
  spec.evaluate_benchmarks = {2, 1, 2};
  const Expansion expansion = MakeOrDie(spec);
  for (const Block& block : expansion.blocks()) {
    EXPECT_THAT(block.tests, ElementsAre(1, 2));
  }
}

TEST(ExpansionTest, AMixtureIsEvaluatedOnTheTestsOfItsParts) {
  SweepSpec spec = SmallSweep();
  spec.train_sets = {TrainSet{"both", {{0, 0}, {1, 100}}, 1, {}}};
  const Expansion expansion = MakeOrDie(spec);
  ASSERT_EQ(expansion.blocks().size(), 2u);
  EXPECT_THAT(expansion.blocks()[0].tests, ElementsAre(0, 1));
}

TEST(ExpansionTest, ARuleExcludesWhatItNamesAndNoMore) {
  SweepSpec spec = SmallSweep();
  spec.evaluate_on = EvaluateOn::kAll;
  spec.exclude = {{0, 0, 2}, {std::nullopt, std::nullopt, 1}, {std::nullopt, 1, 0}};
  const Expansion expansion = MakeOrDie(spec);
  ASSERT_EQ(expansion.blocks().size(), 3u);
  EXPECT_THAT(expansion.blocks()[0].tests, ElementsAre(0));     // a on x: not y, not z
  EXPECT_THAT(expansion.blocks()[1].tests, ElementsAre(2));     // a on y: not y, not x
  EXPECT_THAT(expansion.blocks()[2].tests, ElementsAre(0, 2));  // r
}

TEST(ExpansionTest, WhatIsTrainedOnABenchmarkIsEvaluatedOnItsValidationSetToo) {
  SweepSpec spec = SmallSweep();
  AddValidationSet(0, &spec);
  for (const EvaluateOn on : {EvaluateOn::kSame, EvaluateOn::kAll, EvaluateOn::kListed}) {
    spec.evaluate_on = on;
    spec.evaluate_benchmarks =
        on == EvaluateOn::kListed ? std::vector<uint32_t>{0, 2} : std::vector<uint32_t>{};
    const Expansion expansion = MakeOrDie(spec);
    const auto tests = [&](size_t block) { return expansion.blocks()[block].tests; };
    switch (on) {
      case EvaluateOn::kSame:
        EXPECT_THAT(tests(0), ElementsAre(0, 3));
        EXPECT_THAT(tests(1), ElementsAre(1)) << "y has none";
        EXPECT_THAT(tests(2), ElementsAre(0, 1, 2, 3)) << "an approach without training";
        break;
      case EvaluateOn::kAll:
        EXPECT_THAT(tests(0), ElementsAre(0, 1, 2, 3));
        EXPECT_THAT(tests(1), ElementsAre(0, 1, 2));
        break;
      case EvaluateOn::kListed:
        EXPECT_THAT(tests(0), ElementsAre(0, 2, 3));
        EXPECT_THAT(tests(1), ElementsAre(0, 2));
        EXPECT_THAT(tests(2), ElementsAre(0, 2, 3));
        break;
    }
  }
}

TEST(ExpansionTest, AMixtureIsEvaluatedOnTheValidationSetsOfItsParts) {
  SweepSpec spec = SmallSweep();
  AddValidationSet(1, &spec);
  AddValidationSet(0, &spec);
  spec.train_sets = {TrainSet{"both", {{0, 0}, {1, 100}}, 1, {}}};
  spec.approaches[0].train_command.emplace_back("{validation}");
  const Expansion expansion = MakeOrDie(spec);
  EXPECT_THAT(expansion.blocks()[0].tests, ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(expansion.ValidationInputsOf(expansion.blocks()[0]), ElementsAre(3, 4));
  EXPECT_TRUE(expansion.ValidationInputsOf(expansion.blocks()[1]).empty());
}

TEST(ExpansionTest, ARuleThatExcludesACellExcludesItsValidation) {
  SweepSpec spec = SmallSweep();
  AddValidationSet(0, &spec);
  spec.exclude = {{std::nullopt, std::nullopt, 0}};
  const Expansion expansion = MakeOrDie(spec);
  ASSERT_EQ(expansion.blocks().size(), 2u) << "a on x has no test left, so that none is chosen for";
  EXPECT_EQ(expansion.blocks()[0].train_set, 1u);
  EXPECT_THAT(expansion.blocks()[1].tests, ElementsAre(1, 2));
}

TEST(ExpansionTest, ACellThatLosesAllItsTestsIsNotTrained) {
  SweepSpec spec = SmallSweep();
  spec.exclude = {{0, std::nullopt, 0}};
  const Expansion expansion = MakeOrDie(spec);
  ASSERT_EQ(expansion.blocks().size(), 2u);
  EXPECT_EQ(expansion.blocks()[0].train_set, 1u);
}

TEST(ExpansionTest, ATrainSetWithoutATestIsTrainedOnly) {
  SweepSpec spec = SmallSweep();
  spec.benchmarks[0] = Benchmark("x", true, false);
  const Expansion expansion = MakeOrDie(spec);
  EXPECT_EQ(expansion.blocks()[0].JobsPerCell(), 1u);
  EXPECT_TRUE(expansion.Locate(5).is_train);
}

TEST(ExpansionTest, AddingAnApproachOrBenchmarkChangesNoSetting) {
  const Expansion before = MakeOrDie(SmallSweep());
  SweepSpec spec = SmallSweep();
  spec.approaches.insert(spec.approaches.begin(), TrainedApproach("new"));
  spec.benchmarks.push_back(Benchmark("w"));
  spec.train_sets.insert(spec.train_sets.begin(), PlainTrainSet(spec, 3));
  spec.random_settings = 5;
  const Expansion after = MakeOrDie(spec);
  for (uint32_t setting = 0; setting < 3; ++setting) {
    EXPECT_EQ(before.Settings(0)[setting], after.Settings(1)[setting]);
  }
}

TEST(ExpansionTest, EveryBenchmarkOfAJobHasTheParametersThatItsCommandNames) {
  SweepSpec spec = SmallSweep();
  spec.approaches[0].predict_command.emplace_back("{benchmark.task}");
  spec.benchmarks[0].parameters = {{"task", "mmlu"}};
  EXPECT_THAT(Expansion::Make(spec),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("approaches[0].predict.command: "),
                             HasSubstr("got none of \"y\"; give it parameters: {task: …}"))));
  spec.benchmarks[1].parameters = {{"task", "arc"}};
  spec.benchmarks[1].parameters["2nd"] = "";
  EXPECT_THAT(Expansion::Make(spec), StatusIs(absl::StatusCode::kInvalidArgument,
                                              HasSubstr("expected the name of a parameter")));
}

TEST(ExpansionTest, AJobAsksForTheLabelsOfItsApproachAndOfTheDataThatItReads) {
  SweepSpec spec = SmallSweep();
  EXPECT_FALSE(MakeOrDie(spec).has_labels());
  spec.approaches[0].train_labels = {{"gpu", "a100"}};
  spec.benchmarks[0].labels = {{"vault", "yes"}};
  spec.benchmarks[2].labels = {{"site", "b"}};
  spec.evaluate_on = EvaluateOn::kAll;
  const Expansion expansion = MakeOrDie(spec);
  EXPECT_TRUE(expansion.has_labels());
  const Block& on_x = expansion.blocks()[0];
  EXPECT_EQ(expansion.LabelsOf(on_x, std::nullopt), (Labels{{"gpu", "a100"}, {"vault", "yes"}}));
  EXPECT_EQ(expansion.LabelsOf(on_x, 0), (Labels{{"vault", "yes"}}));
  EXPECT_EQ(expansion.LabelsOf(on_x, 1), Labels());
  EXPECT_EQ(expansion.LabelsOf(on_x, 2), (Labels{{"site", "b"}}));
  EXPECT_EQ(expansion.LabelsOf(expansion.blocks()[1], std::nullopt), (Labels{{"gpu", "a100"}}));
}

TEST(ExpansionTest, AMixtureAsksForTheLabelsOfAllItsParts) {
  SweepSpec spec = SmallSweep();
  spec.benchmarks[0].labels = {{"vault", "yes"}};
  spec.benchmarks[1].labels = {{"site", "b"}};
  spec.train_sets[0].parts = {{0, 0}, {1, 0}};
  spec.train_sets[0].name = "both";
  const Expansion expansion = MakeOrDie(spec);
  EXPECT_EQ(expansion.LabelsOf(expansion.blocks()[0], std::nullopt),
            (Labels{{"site", "b"}, {"vault", "yes"}}));
  spec.benchmarks[1].labels = {{"vault", "no"}};
  EXPECT_THAT(Expansion::Make(spec),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("benchmarks[1].resources.labels: expected labels that a worker "
                                 "can have together with those of the approach \"a\" and the "
                                 "mixture \"both\", which asks for vault=yes, got vault=no")));
}

TEST(ExpansionTest, TwoValuesOfOneLabelAreRefusedUnlessTheyNeverMeet) {
  SweepSpec spec = SmallSweep();
  spec.approaches[0].predict_labels = {{"gpu", "a100"}};
  spec.benchmarks[1].labels = {{"gpu", "h100"}};
  EXPECT_THAT(Expansion::Make(spec),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("benchmarks[1].resources.labels: expected labels that a worker "
                                 "can have together with those of the approach \"a\", which asks "
                                 "for gpu=a100, got gpu=h100; exclude one for the other")));
  spec.exclude = {{0, std::nullopt, 1}};
  EXPECT_TRUE(Expansion::Make(spec).ok());
}

// Only an environment names an image: it is checked, and one label cannot hide another.
TEST(ExpansionTest, TheLabelOfAnImageIsNoneThatJobsMayAskFor) {
  const Labels labels = {{kImageLabel, "evil:latest"}};
  const auto refused = [](const SweepSpec& spec, const std::string& field) {
    EXPECT_THAT(Expansion::Make(spec),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(field + ".resources.labels: expected no environment.image; give "
                                           "the approach an environment: {image: ")));
  };
  SweepSpec spec = SmallSweep();
  spec.approaches[0].train_labels = labels;
  refused(spec, "approaches[0].train");
  spec = SmallSweep();
  spec.approaches[0].predict_labels = labels;
  refused(spec, "approaches[0].predict");
  spec = SmallSweep();
  spec.benchmarks[1].labels = labels;
  refused(spec, "benchmarks[1]");
}

TEST(ExpansionTest, AMillionJobsTakeTheMemoryOfTheirAxes) {
  SweepSpec spec = SmallSweep();
  spec.approaches.resize(1);
  for (int i = 0; i < 97; ++i) {
    spec.benchmarks.push_back(Benchmark("b" + std::to_string(i)));
  }
  spec.evaluate_on = EvaluateOn::kAll;
  spec.random_settings = 99;
  spec.seeds.clear();
  for (int64_t seed = 1; seed <= 50; ++seed) {
    spec.seeds.push_back(seed);
  }
  const Expansion expansion = MakeOrDie(spec);
  EXPECT_EQ(expansion.job_count(), 2u * 100 * 50 * 101);
  EXPECT_EQ(expansion.blocks().size(), 2u);
  EXPECT_EQ(expansion.Describe(expansion.job_count() - 1),
            "a on y, setting 99, seed 50, evaluated on b96");
}

}  // namespace
}  // namespace concur
