// SPDX-License-Identifier: Apache-2.0
#include "report/sweep_table.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "analysis/comparison/generalization.h"
#include "core/job_score.h"
#include "core/sweep/sweep.h"
#include "report/ranking_tables.h"
#include "report/writers.h"
#include "tests/core/sweep/sweep_builder.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

using ::concur::testing::AddValidationSet;
using ::concur::testing::Benchmark;
using ::concur::testing::PlainTrainSet;
using ::concur::testing::TrainedApproach;
using ::concur::testing::UntrainedApproach;

// "tuned" learns, "rule" does not; benchmarks x and y, and a train set of its own, "mixed".
SweepSpec TwoApproaches() {
  SweepSpec spec;
  spec.name = "demo";
  spec.approaches = {TrainedApproach("tuned"), UntrainedApproach("rule")};
  spec.approaches[0].tags = {{"trained", "yes"}};
  spec.benchmarks = {Benchmark("x"), Benchmark("y")};
  spec.train_sets = {PlainTrainSet(spec, 0), PlainTrainSet(spec, 1)};
  TrainSet mixed;
  mixed.name = "mixed";
  mixed.parts = {{0, 0}, {1, 0}};
  spec.train_sets.push_back(mixed);
  return spec;
}

JobScore ScoreOf(const std::string& approach, const std::string& train, const std::string& test,
                 uint32_t setting, int64_t seed, std::optional<double> value,
                 JobState state = JobState::kSucceeded) {
  JobScore score;
  score.approach = approach;
  score.train_set = train;
  score.test_benchmark = test;
  score.setting = setting;
  score.seed = seed;
  score.metric = "exact_match";
  score.value = value;
  score.examples = 10;
  score.state = state;
  return score;
}

TEST(SweepTableTest, AxesAreTheSweepsWithTrainSetsThatAreNoBenchmarksLast) {
  const analysis::SelectionOptions options = SelectionOptionsOf(TwoApproaches());
  ASSERT_THAT(options.approaches, SizeIs(2));
  EXPECT_EQ(options.approaches[0], (analysis::AxisEntry{"tuned", {{"trained", "yes"}}}));
  EXPECT_EQ(options.approaches[1].name, "rule");
  ASSERT_THAT(options.benchmarks, SizeIs(3));
  EXPECT_EQ(options.benchmarks[0].name, "x");
  EXPECT_EQ(options.benchmarks[1].name, "y");
  EXPECT_EQ(options.benchmarks[2].name, "mixed");
}

TEST(SweepTableTest, TheSweepsRuleChoosesTheSettingUnlessAnotherIsGiven) {
  SweepSpec spec = TwoApproaches();
  const std::vector<JobScore> scores = {
      ScoreOf("tuned", "x", "x", 0, 1, 40), ScoreOf("tuned", "x", "x", 0, 2, 60),
      ScoreOf("tuned", "x", "x", 1, 1, 70), ScoreOf("tuned", "x", "x", 1, 2, 90)};
  const auto value = [&](const std::string& select) {
    const absl::StatusOr<analysis::ScoreTable> table = SweepTable(spec, scores, {.select = select});
    EXPECT_OK(table);
    return table.ok() ? table->cell(0, 0).value : -1;
  };
  for (const auto& [rule, expected] : std::vector<std::pair<Selection, double>>{
           {Selection::kBest, 80}, {Selection::kDefault, 50}, {Selection::kMean, 65}}) {
    spec.select = rule;
    EXPECT_EQ(value(""), expected);
    EXPECT_EQ(value("default"), 50);
    EXPECT_EQ(value("best"), 80);
  }
  spec.select = Selection::kEach;
  ASSERT_OK_AND_ASSIGN(const analysis::ScoreTable each, SweepTable(spec, scores));
  EXPECT_EQ(each.approaches()[1].name, "tuned #1");
}

TEST(SweepTableTest, PerplexityWithSelectBestTakesTheBestSetting) {
  // Took the worst one, silently.
  SweepSpec spec = TwoApproaches();
  spec.benchmarks[0].format = DataFormat::kFile;
  spec.benchmarks[0].metric = "perplexity";
  spec.benchmarks[0].meaning.goal = Goal::kMinimize;
  std::vector<JobScore> scores = {ScoreOf("tuned", "x", "x", 0, 1, 40),
                                  ScoreOf("tuned", "x", "x", 1, 1, 30),
                                  ScoreOf("tuned", "x", "x", 2, 1, 50)};
  for (JobScore& score : scores) {
    score.metric = "perplexity";
  }
  ASSERT_OK_AND_ASSIGN(analysis::ScoreTable table, SweepTable(spec, scores, {.select = "best"}));
  EXPECT_EQ(table.cell(0, 0).value, 30);
  EXPECT_EQ(table.cell(0, 0).setting, 1);
  EXPECT_EQ(table.Minimized(), std::vector<std::string>{"x"});
  for (JobScore& score : scores) {
    score.metric = "accuracy";
  }
  ASSERT_OK_AND_ASSIGN(table, SweepTable(spec, scores, {.select = "best"}));
  EXPECT_EQ(table.cell(0, 0).value, 50) << "the goal is that of perplexity alone";
}

TEST(SweepTableTest, MinimizeIsKnownBeforeSettingsAreChosen) {
  // --minimize ppl turned the ranks around, of the settings with the highest perplexities.
  SweepSpec spec = TwoApproaches();
  std::vector<JobScore> scores = {
      ScoreOf("tuned", "x", "x", 0, 1, 40),     ScoreOf("tuned", "x", "x", 1, 1, 30),
      ScoreOf("tuned", "y", "y", 0, 1, 40),     ScoreOf("tuned", "y", "y", 1, 1, 30),
      ScoreOf("tuned", "mixed", "x", 0, 1, 20), ScoreOf("tuned", "mixed", "x", 1, 1, 10)};
  ASSERT_OK_AND_ASSIGN(analysis::ScoreTable table,
                       SweepTable(spec, scores, {.select = "best", .minimize = {"x", "*→*"}}));
  EXPECT_EQ(table.cell(0, 0).setting, 1);
  EXPECT_EQ(table.cell(0, 0).value, 30);
  EXPECT_EQ(table.cell(0, 1).value, 40) << "more of y is better";
  EXPECT_EQ(table.cell(0, 2).value, 10);
  EXPECT_EQ(table.Minimized(), (std::vector<std::string>{"x", "mixed → x"}));
  ASSERT_OK_AND_ASSIGN(
      table,
      SweepTable(spec, scores,
                 {.select = "best", .minimize = {"x"}, .layout = analysis::Layout::kTrainInRows}));
  EXPECT_EQ(table.cell(0, 0).value, 30) << "tuned ← x on x";
  EXPECT_THAT(SweepTable(spec, scores, {.minimize = {"xx"}}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("minimize: unknown column \"xx\" (did you mean \"x\"?)")));
}

TEST(SweepTableTest, AMetricHasTheGoalOfTheBenchmarkWhoseOwnItIs) {
  // --metric took the worst setting of the other benchmarks.
  SweepSpec spec = TwoApproaches();
  for (BenchmarkSpec& benchmark : spec.benchmarks) {
    benchmark.format = DataFormat::kFile;
    benchmark.metric = "accuracy";
  }
  spec.benchmarks[1].metric = "error";
  spec.benchmarks[1].meaning.goal = Goal::kMinimize;
  std::vector<JobScore> scores = {ScoreOf("tuned", "x", "x", 0, 1, 0.2),
                                  ScoreOf("tuned", "x", "x", 1, 1, 0.3),
                                  ScoreOf("tuned", "y", "y", 0, 1, 0.2)};
  for (JobScore& score : scores) {
    score.metric = "error";
  }
  ASSERT_OK_AND_ASSIGN(const analysis::ScoreTable table,
                       SweepTable(spec, scores, {.select = "best"}));
  EXPECT_EQ(table.cell(0, 0).value, 0.2);
  EXPECT_EQ(table.Minimized(), (std::vector<std::string>{"x", "y"}));
}

TEST(SweepTableTest, AMetricThatNoBenchmarkStatesIsMinimizedIfItsNameSaysSo) {
  // --metric mae showed the worst setting of each approach, without a word.
  SweepSpec spec = TwoApproaches();
  spec.benchmarks[0].format = DataFormat::kFile;
  spec.benchmarks[0].metric = "mse";
  spec.benchmarks[0].meaning.goal = Goal::kMinimize;
  std::vector<JobScore> scores = {ScoreOf("tuned", "x", "x", 0, 1, 0.9),
                                  ScoreOf("tuned", "x", "x", 1, 1, 0.2)};
  for (JobScore& score : scores) {
    score.metric = "mae";
  }
  ASSERT_OK_AND_ASSIGN(const analysis::ScoreTable table,
                       SweepTable(spec, scores, {.select = "best"}));
  EXPECT_EQ(table.cell(0, 0).value, 0.2);
  EXPECT_EQ(table.Minimized(), std::vector<std::string>{"x"});
}

TEST(SweepTableTest, MetricsThatWorkersComputeArePercents) {
  SweepSpec spec = TwoApproaches();
  ASSERT_OK_AND_ASSIGN(const analysis::ScoreTable table,
                       SweepTable(spec, {ScoreOf("tuned", "x", "x", 0, 1, 0.4)}));
  EXPECT_EQ(table.range(0)->high, 100) << "0.4 is a percent, not a fraction";
}

TEST(SweepTableTest, WhatNeedsNoTrainingStandsInTheColumnOfItsTestSet) {
  ASSERT_OK_AND_ASSIGN(
      const analysis::ScoreTable table,
      SweepTable(TwoApproaches(),
                 {ScoreOf("tuned", "x", "x", 0, 1, 40), ScoreOf("tuned", "y", "y", 0, 1, 50),
                  ScoreOf("tuned", "mixed", "x", 0, 1, 45), ScoreOf("rule", "", "x", 0, 1, 10),
                  ScoreOf("rule", "", "y", 0, 1, 20)}));
  ASSERT_THAT(table.benchmarks(), SizeIs(3));
  EXPECT_EQ(table.benchmarks()[0].name, "x");
  EXPECT_EQ(table.benchmarks()[1].name, "y");
  EXPECT_EQ(table.benchmarks()[2].name, "mixed → x");
  EXPECT_EQ(table.cell(1, 0).value, 10);
  EXPECT_EQ(table.cell(1, 1).value, 20);
  EXPECT_EQ(table.cell(1, 2).state, analysis::CellState::kMissing);
}

TEST(SweepTableTest, WhatNeedsNoTrainingStandsBesideTheOneTrainSetOfAStudy) {
  // Made columns of its own: "x → y" had the trained approach alone, and "y" the other one.
  ASSERT_OK_AND_ASSIGN(
      const analysis::ScoreTable table,
      SweepTable(TwoApproaches(),
                 {ScoreOf("tuned", "x", "x", 0, 1, 40), ScoreOf("tuned", "x", "y", 0, 1, 50),
                  ScoreOf("rule", "", "x", 0, 1, 10), ScoreOf("rule", "", "y", 0, 1, 20)},
                 {.minimize = {"y"}}));
  EXPECT_EQ(analysis::NamesOf(table.benchmarks()), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(table.cell(0, 1).value, 50);
  EXPECT_EQ(table.cell(1, 0).value, 10);
  EXPECT_EQ(table.cell(1, 1).value, 20);
}

TEST(SweepTableTest, WhatNeedsNoTrainingHasOneRowOfACrossTable) {
  // Had a row for each test set, as if it had been trained on that.
  ASSERT_OK_AND_ASSIGN(
      const analysis::ScoreTable table,
      SweepTable(TwoApproaches(),
                 {ScoreOf("tuned", "x", "x", 0, 1, 40), ScoreOf("tuned", "x", "y", 0, 1, 50),
                  ScoreOf("tuned", "y", "x", 0, 1, 60), ScoreOf("tuned", "y", "y", 0, 1, 70),
                  ScoreOf("rule", "", "x", 0, 1, 10), ScoreOf("rule", "", "y", 0, 1, 20)},
                 {.layout = analysis::Layout::kTrainInRows}));
  EXPECT_EQ(analysis::WriteScores(table, analysis::TableFormat::kCsv),
            "approach,train,trained,x,y\ntuned ← x,x,yes,40,50\ntuned ← y,y,yes,60,70\nrule,,,10,"
            "20\n");
  ASSERT_OK_AND_ASSIGN(const analysis::Table cross, analysis::CrossTable(table));
  EXPECT_EQ(analysis::WriteTable(cross, analysis::TableFormat::kCsv),
            "approach,train,x,x sd,y,y sd\ntuned,x,40,,50,\ntuned,y,60,,70,\nrule,,10,,20,\n");
  EXPECT_FALSE(cross.rows[2][2].is_marked) << "there was nothing to choose from";
}

// Three settings of "tuned" on x, of which the second is best by validation and the third by test.
std::vector<JobScore> ValidatedScores() {
  return {ScoreOf("tuned", "x", "x", 0, 1, 40), ScoreOf("tuned", "x", "x.validation", 0, 1, 41),
          ScoreOf("tuned", "x", "x", 1, 1, 60), ScoreOf("tuned", "x", "x.validation", 1, 1, 65),
          ScoreOf("tuned", "x", "x", 2, 1, 70), ScoreOf("tuned", "x", "x.validation", 2, 1, 55)};
}

TEST(SweepTableTest, TheSettingIsChosenOnTheValidationSetWhereThereIsOne) {
  SweepSpec spec = TwoApproaches();
  AddValidationSet(0, &spec);
  std::vector<JobScore> scores = ValidatedScores();
  ASSERT_OK_AND_ASSIGN(analysis::ScoreTable table, SweepTable(spec, scores));
  ASSERT_THAT(table.benchmarks(), SizeIs(1)) << "validation columns are hidden";
  EXPECT_EQ(table.cell(0, 0).setting, 1);
  EXPECT_EQ(table.cell(0, 0).value, 60);
  EXPECT_EQ(table.benchmarks()[0].choice, (analysis::SettingChoice{"validation", 10}));
  const std::vector<std::string> notes = analysis::ScoresTable(table, false).details;
  EXPECT_THAT(notes, Contains("Settings were chosen on validation sets."));
  EXPECT_THAT(notes, Contains("Choosing on the test sets instead would make scores look better "
                              "by, on the mean over approaches: x 10.00."));
  const std::string json = analysis::WriteScores(table, analysis::TableFormat::kJson);
  EXPECT_THAT(json, HasSubstr("\"chosen_on\":\"validation\",\"optimism\":10"));
  EXPECT_THAT(json, Not(HasSubstr("70"))) << "the test score of a setting that was not chosen";

  ASSERT_OK_AND_ASSIGN(table, SweepTable(spec, scores, {.select = "best-on-test"}));
  EXPECT_EQ(table.cell(0, 0).value, 70);
  EXPECT_EQ(table.benchmarks()[0].choice, (analysis::SettingChoice{"test", std::nullopt}));
  EXPECT_THAT(analysis::ScoresTable(table, false).details,
              Contains(HasSubstr("scores are too good")));

  ASSERT_OK_AND_ASSIGN(table, SweepTable(spec, scores, {.show_validation = true}));
  ASSERT_THAT(table.benchmarks(), SizeIs(2));
  EXPECT_EQ(table.benchmarks()[1].name, "x.validation");
  EXPECT_EQ(table.cell(0, 1).value, 65);
  scores.push_back(ScoreOf("tuned", "y", "y", 0, 1, 5));
  ASSERT_OK_AND_ASSIGN(table, SweepTable(spec, scores, {.show_validation = true}));
  EXPECT_EQ(analysis::NamesOf(table.benchmarks()),
            (std::vector<std::string>{"x", "x.validation", "y"}));
  scores.pop_back();

  ASSERT_OK_AND_ASSIGN(table, SweepTable(spec, scores, {.select = "each"}));
  EXPECT_EQ(table.cell(2, 0).value, 70) << "shown when it is asked for";
  EXPECT_EQ(table.benchmarks()[0].choice, analysis::SettingChoice());
}

TEST(SweepTableTest, TestScoresHaveNoPartInAChoiceByValidation) {
  SweepSpec spec = TwoApproaches();
  AddValidationSet(0, &spec);
  std::vector<JobScore> scores = ValidatedScores();
  const auto state = [&scores](size_t index, JobState to) {
    scores[index].value.reset();
    scores[index].state = to;
  };
  state(4, JobState::kFailed);  // the test of a setting that is not chosen
  ASSERT_OK_AND_ASSIGN(analysis::ScoreTable table, SweepTable(spec, scores));
  EXPECT_EQ(table.cell(0, 0).value, 60);
  EXPECT_FALSE(table.cell(0, 0).IsPartial());
  state(5, JobState::kRunning);  // its validation could still change the choice
  ASSERT_OK_AND_ASSIGN(table, SweepTable(spec, scores));
  EXPECT_EQ(table.cell(0, 0).value, 60);
  EXPECT_EQ(table.cell(0, 0).pending, 1);
  state(2, JobState::kFailed);  // the test of the chosen one: no other takes its place
  ASSERT_OK_AND_ASSIGN(table, SweepTable(spec, scores));
  EXPECT_EQ(table.cell(0, 0).state, analysis::CellState::kFailed);
  for (const size_t validation : {1, 3, 5}) {
    state(validation, JobState::kRunning);
  }
  ASSERT_OK_AND_ASSIGN(table, SweepTable(spec, scores));
  EXPECT_EQ(table.cell(0, 0).state, analysis::CellState::kPending) << "nothing can be chosen yet";
  EXPECT_EQ(table.cell(0, 0).pending, 3);
}

TEST(SweepTableTest, AMixtureIsTunedOnTheMeanOfItsValidationSets) {
  SweepSpec spec = TwoApproaches();
  AddValidationSet(0, &spec);
  AddValidationSet(1, &spec);
  const std::vector<JobScore> scores = {
      ScoreOf("tuned", "mixed", "x", 0, 1, 1),
      ScoreOf("tuned", "mixed", "x", 1, 1, 2),
      ScoreOf("tuned", "mixed", "x", 2, 1, 3),
      ScoreOf("tuned", "mixed", "x.validation", 0, 1, 90),
      ScoreOf("tuned", "mixed", "y.validation", 0, 1, 10),
      ScoreOf("tuned", "mixed", "x.validation", 1, 1, 60),
      ScoreOf("tuned", "mixed", "y.validation", 1, 1, 50),
      ScoreOf("tuned", "mixed", "x.validation", 2, 1, 99),
      ScoreOf("tuned", "mixed", "y.validation", 2, 1, std::nullopt, JobState::kFailed)};
  ASSERT_OK_AND_ASSIGN(const analysis::ScoreTable table, SweepTable(spec, scores));
  EXPECT_EQ(table.cell(0, 0).setting, 1);
  EXPECT_EQ(table.cell(0, 0).failed, 1);
}

TEST(SweepTableTest, OfAMetricToBeMinimizedTheLeastValidationScoreWins) {
  SweepSpec spec = TwoApproaches();
  spec.benchmarks[0].format = DataFormat::kFile;
  spec.benchmarks[0].metric = "perplexity";
  spec.benchmarks[0].meaning.goal = Goal::kMinimize;
  AddValidationSet(0, &spec);
  std::vector<JobScore> scores = ValidatedScores();
  for (JobScore& score : scores) {
    score.metric = "perplexity";
  }
  ASSERT_OK_AND_ASSIGN(analysis::ScoreTable table, SweepTable(spec, scores));
  EXPECT_EQ(table.cell(0, 0).setting, 0);
  EXPECT_EQ(table.benchmarks()[0].choice, (analysis::SettingChoice{"validation", 0}));
  spec.benchmarks[0].meaning.goal = spec.benchmarks[2].meaning.goal = Goal::kMaximize;
  ASSERT_OK_AND_ASSIGN(table, SweepTable(spec, scores, {.minimize = {"x"}}));
  EXPECT_EQ(table.cell(0, 0).setting, 0) << "of the hidden column as of the one that is shown";
}

TEST(SweepTableTest, WhatNeedsNoTrainingIsTunedOnTheValidationSetOfItsTestSet) {
  SweepSpec spec = TwoApproaches();
  AddValidationSet(0, &spec);
  ASSERT_OK_AND_ASSIGN(
      const analysis::ScoreTable table,
      SweepTable(spec, {ScoreOf("rule", "", "x", 0, 1, 10), ScoreOf("rule", "", "x", 1, 1, 20),
                        ScoreOf("rule", "", "x.validation", 0, 1, 30),
                        ScoreOf("rule", "", "x.validation", 1, 1, 25)}));
  ASSERT_THAT(table.benchmarks(), SizeIs(1));
  EXPECT_EQ(table.cell(1, 0).value, 10);
}

TEST(SweepTableTest, EveryStateCountsAsItShould) {
  const std::vector<std::pair<JobState, analysis::CellState>> expected = {
      {JobState::kBlocked, analysis::CellState::kPending},
      {JobState::kReady, analysis::CellState::kPending},
      {JobState::kBackoff, analysis::CellState::kPending},
      {JobState::kRunning, analysis::CellState::kPending},
      {JobState::kFailed, analysis::CellState::kFailed},
      {JobState::kSkipped, analysis::CellState::kFailed},
      {JobState::kCanceled, analysis::CellState::kMissing},
      {JobState::kStopped, analysis::CellState::kStopped},
      {JobState::kSucceeded, analysis::CellState::kMissing}};  // without the metric
  for (const auto& [state, cell] : expected) {
    ASSERT_OK_AND_ASSIGN(
        const analysis::ScoreTable table,
        SweepTable(TwoApproaches(), {ScoreOf("tuned", "x", "x", 0, 1, 40),
                                     ScoreOf("rule", "", "x", 0, 1, std::nullopt, state)}));
    EXPECT_EQ(table.cell(1, 0).state, cell) << JobStateName(state);
  }
}

// Scores of settings that lost were missing without a word.
TEST(SweepTableTest, SettingsThatWereStoppedEarlyAreMarked) {
  const std::vector<JobScore> scores = {
      ScoreOf("tuned", "x", "x", 0, 1, std::nullopt, JobState::kStopped),
      ScoreOf("tuned", "x", "x", 1, 1, 40), ScoreOf("rule", "", "x", 0, 1, 30)};
  ASSERT_OK_AND_ASSIGN(const analysis::ScoreTable best, SweepTable(TwoApproaches(), scores));
  EXPECT_EQ(best.cell(0, 0).value, 40);
  EXPECT_EQ(best.cell(0, 0).stopped, 1);
  EXPECT_TRUE(best.cell(0, 0).IsPartial());
  EXPECT_FALSE(best.cell(1, 0).IsPartial());
  SweepTableOptions asked;
  asked.select = "each";
  ASSERT_OK_AND_ASSIGN(const analysis::ScoreTable each, SweepTable(TwoApproaches(), scores, asked));
  EXPECT_EQ(each.cell(0, 0).state, analysis::CellState::kStopped);
  EXPECT_EQ(each.cell(1, 0).value, 40);
}

TEST(SweepTableTest, CanceledJobsStayVisible) {
  // The column of a canceled benchmark vanished, and "close 0.31*" became "close 0.31".
  ASSERT_OK_AND_ASSIGN(
      const analysis::ScoreTable table,
      SweepTable(TwoApproaches(),
                 {ScoreOf("tuned", "x", "x", 0, 1, 40),
                  ScoreOf("tuned", "x", "x", 0, 2, std::nullopt, JobState::kCanceled),
                  ScoreOf("tuned", "x", "x", 1, 1, std::nullopt, JobState::kCanceled),
                  ScoreOf("tuned", "y", "y", 0, 1, std::nullopt, JobState::kCanceled)}));
  ASSERT_THAT(table.benchmarks(), SizeIs(2));
  EXPECT_EQ(table.cell(0, 0).value, 40);
  EXPECT_EQ(table.cell(0, 0).missing, 2) << "of both settings";
  EXPECT_TRUE(table.cell(0, 0).IsPartial());
  EXPECT_EQ(table.benchmarks()[1].name, "y");
  EXPECT_EQ(table.cell(0, 1).state, analysis::CellState::kMissing);
  EXPECT_EQ(analysis::ScoresTable(table, false).notes[0],
            "3 of 4 cells have no score: 3 missing (—).");
}

TEST(SweepTableTest, AMetricThatNoJobReportedIsRefusedWithTheKnownOnes) {
  // Was an empty table.
  const auto scores = [](JobState state) {
    JobScore score = ScoreOf("rule", "", "x", 0, 1, std::nullopt, state);
    score.metric = "exact_mach";
    return std::vector<JobScore>{score,
                                 ScoreOf("rule", "", "y", 0, 1, std::nullopt, JobState::kFailed)};
  };
  EXPECT_THAT(SweepTable(TwoApproaches(), scores(JobState::kSucceeded)).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("metric: no job reported \"exact_mach\" (did you mean "
                                 "\"exact_match\"?); the benchmarks name exact_match, f1")));
  EXPECT_THAT(SweepTable(TwoApproaches(), scores(JobState::kRunning)).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("no job has reported \"exact_mach\" yet (did you mean")))
      << "an empty table, until the first job was done";
  EXPECT_OK(SweepTable(TwoApproaches(),
                       {ScoreOf("rule", "", "x", 0, 1, std::nullopt, JobState::kRunning)}));
  SweepSpec with_text = TwoApproaches();
  BenchmarkSpec& text = with_text.benchmarks.emplace_back();  // to be trained on alone
  text.name = "text";
  text.format = DataFormat::kFile;
  text.metric = "";
  EXPECT_THAT(SweepTable(with_text, scores(JobState::kSucceeded)).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("; the benchmarks name exact_match, f1")));
  std::vector<JobScore> one = scores(JobState::kSucceeded);
  one.push_back(ScoreOf("tuned", "y", "y", 0, 1, 50));
  EXPECT_OK(SweepTable(TwoApproaches(), one).status()) << "y has it";
}

TEST(SweepTableTest, UnknownRulesAndForeignScoresAreRefused) {
  EXPECT_THAT(SweepTable(TwoApproaches(), {}, {.select = "worst"}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("worst")));
  EXPECT_THAT(SweepTable(TwoApproaches(), {ScoreOf("other", "x", "x", 0, 1, 1)}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("other")));
}

}  // namespace
}  // namespace concur
