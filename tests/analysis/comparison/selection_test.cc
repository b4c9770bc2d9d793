// SPDX-License-Identifier: Apache-2.0
#include "analysis/comparison/selection.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/random.h"
#include "report/notes.h"
#include "report/writers.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

ScoreRecord Record(const std::string& approach, const std::string& train, int setting, int seed,
                   const std::string& test, double value) {
  return {approach, train, setting, seed, test, value, 100, CellState::kValue};
}

ScoreRecord WithoutValue(const std::string& approach, const std::string& train, int setting,
                         int seed, const std::string& test, CellState state) {
  return {approach, train, setting, seed, test, 0, 0, state};
}

SelectionOptions OptionsSelection(Select select) {
  SelectionOptions options;
  options.approaches = {{"a", {{"kind", "old"}}}, {"b", {}}};
  options.benchmarks = {{"X", {}}, {"Y", {}}};
  options.select = select;
  return options;
}

TEST(SelectionTest, AConcurrenceSweepHasItsBenchmarksAsColumns) {
  ASSERT_OK_AND_ASSIGN(
      const ScoreTable table,
      BuildScoreTable({Record("b", "Y", 0, 1, "Y", 4), Record("a", "X", 0, 1, "X", 1),
                       Record("a", "Y", 0, 1, "Y", 2), Record("b", "X", 0, 1, "X", 3)},
                      OptionsSelection(Select::kBest)));
  EXPECT_EQ(WriteScores(table, TableFormat::kCsv), "approach,kind,X,Y\na,old,1,2\nb,,3,4\n");
}

TEST(SelectionTest, AShiftSweepHasItsTestSetsAsColumns) {
  ASSERT_OK_AND_ASSIGN(const ScoreTable table, BuildScoreTable({Record("a", "X", 0, 1, "X", 1),
                                                                Record("a", "X", 0, 1, "Y", 2)},
                                                               OptionsSelection(Select::kBest)));
  EXPECT_THAT(NamesOf(table.benchmarks()), ElementsAre("X", "Y"));
  EXPECT_EQ(table.cell(1, 0).state, CellState::kMissing);
}

TEST(SelectionTest, CrossEvaluationNamesTrainAndTest) {
  const std::vector<ScoreRecord> records = {
      Record("a", "X", 0, 1, "X", 1), Record("a", "X", 0, 1, "Y", 2),
      Record("a", "Y", 0, 1, "X", 3), Record("a", "Y", 0, 1, "Y", 4)};
  ASSERT_OK_AND_ASSIGN(const ScoreTable columns,
                       BuildScoreTable(records, OptionsSelection(Select::kBest)));
  EXPECT_THAT(NamesOf(columns.benchmarks()), ElementsAre("X", "X → Y", "Y → X", "Y"));
  SelectionOptions options = OptionsSelection(Select::kBest);
  options.layout = Layout::kTrainInRows;
  options.approaches = {{"a", {}}};
  ASSERT_OK_AND_ASSIGN(const ScoreTable rows, BuildScoreTable(records, options));
  EXPECT_EQ(WriteScores(rows, TableFormat::kCsv), "approach,train,X,Y\na ← X,X,1,2\na ← Y,Y,3,4\n");
}

TEST(SelectionTest, SettingsCollapseAsAsked) {
  const std::vector<ScoreRecord> records = {
      Record("a", "X", 0, 1, "X", 10), Record("a", "X", 0, 2, "X", 12),
      Record("a", "X", 1, 1, "X", 20), Record("a", "X", 1, 2, "X", 22)};
  const struct {
    Select select;
    double value;
    double deviation;
    int64_t setting;
  } cases[] = {{Select::kDefault, 11, std::sqrt(2.0), 0},
               {Select::kBest, 21, std::sqrt(2.0), 1},
               {Select::kMean, 16, std::sqrt(2.0), -1}};
  for (const auto& test : cases) {
    ASSERT_OK_AND_ASSIGN(const ScoreTable table,
                         BuildScoreTable(records, OptionsSelection(test.select)));
    const ScoreCell& cell = table.cell(0, 0);
    EXPECT_EQ(cell.value, test.value) << SelectName(test.select);
    EXPECT_NEAR(cell.standard_deviation, test.deviation, 1e-12) << SelectName(test.select);
    EXPECT_EQ(cell.setting, test.setting) << SelectName(test.select);
    EXPECT_EQ(cell.seeds, 2) << SelectName(test.select);
    EXPECT_EQ(cell.examples, 100) << SelectName(test.select);
  }
  ASSERT_OK_AND_ASSIGN(const ScoreTable each,
                       BuildScoreTable(records, OptionsSelection(Select::kEach)));
  EXPECT_THAT(NamesOf(each.approaches()), ElementsAre("a #0", "a #1", "b #0"));
  EXPECT_EQ(each.cell(1, 0).value, 21);
}

TEST(SelectionTest, TheBestSettingIsChosenOnTheTrainBenchmarksOwnTestSet) {
  ASSERT_OK_AND_ASSIGN(
      const ScoreTable table,
      BuildScoreTable({Record("a", "Y", 0, 1, "Y", 50), Record("a", "Y", 1, 1, "Y", 40),
                       Record("a", "Y", 0, 1, "X", 10), Record("a", "Y", 1, 1, "X", 90)},
                      OptionsSelection(Select::kBest)));
  EXPECT_EQ(table.cell(0, 0).value, 10) << "the same system on every test set";
  EXPECT_EQ(table.cell(0, 1).value, 50);
}

TEST(SelectionTest, FailedAndPendingScoresAreCountedAndShown) {
  ASSERT_OK_AND_ASSIGN(const ScoreTable table,
                       BuildScoreTable({Record("a", "X", 0, 1, "X", 50),
                                        WithoutValue("a", "X", 1, 1, "X", CellState::kFailed),
                                        WithoutValue("a", "Y", 0, 1, "Y", CellState::kFailed),
                                        WithoutValue("b", "Y", 0, 1, "Y", CellState::kPending)},
                                       OptionsSelection(Select::kBest)));
  EXPECT_EQ(table.cell(0, 0).state, CellState::kValue);
  EXPECT_EQ(table.cell(0, 0).failed, 1);
  EXPECT_EQ(table.cell(0, 1).state, CellState::kFailed);
  EXPECT_EQ(table.cell(1, 1).state, CellState::kPending);
  EXPECT_EQ(table.cell(1, 0).state, CellState::kMissing);
}

TEST(SelectionTest, AFailureIsSeenBesideSettingsThatWereStopped) {
  std::vector<ScoreRecord> records = {WithoutValue("a", "X", 0, 1, "X", CellState::kStopped),
                                      WithoutValue("a", "X", 1, 1, "X", CellState::kStopped)};
  ASSERT_OK_AND_ASSIGN(ScoreTable table, BuildScoreTable(records, OptionsSelection(Select::kBest)));
  EXPECT_EQ(table.cell(0, 0).state, CellState::kStopped);
  EXPECT_EQ(table.cell(0, 0).stopped, 2);
  records[0].state = CellState::kFailed;
  ASSERT_OK_AND_ASSIGN(table, BuildScoreTable(records, OptionsSelection(Select::kBest)));
  EXPECT_EQ(table.cell(0, 0).state, CellState::kFailed);
  EXPECT_EQ(table.cell(0, 0).stopped, 1);
}

TEST(SelectionTest, OneLuckySeedOfAStoppedSettingIsNotChosenAndNobodySaysWhatItAdded) {
  std::vector<ScoreRecord> records = {
      Record("a", "X", 0, 1, "X", 5), Record("a", "X", 0, 2, "X", 5),
      Record("a", "X", 1, 1, "X", 90), Record("a", "X", 1, 2, "X", 1)};
  ASSERT_OK_AND_ASSIGN(ScoreTable table, BuildScoreTable(records, OptionsSelection(Select::kBest)));
  EXPECT_EQ(table.cell(0, 0).setting, 1);
  EXPECT_TRUE(table.benchmarks()[0].choice.optimism.has_value());
  records[3] = WithoutValue("a", "X", 1, 2, "X", CellState::kStopped);
  ASSERT_OK_AND_ASSIGN(table, BuildScoreTable(records, OptionsSelection(Select::kBest)));
  EXPECT_EQ(table.cell(0, 0).setting, 0);
  EXPECT_EQ(table.cell(0, 0).value, 5);
  EXPECT_EQ(table.cell(0, 0).stopped, 1);
  EXPECT_FALSE(table.benchmarks()[0].choice.optimism.has_value());
  records[1] = WithoutValue("a", "X", 0, 2, "X", CellState::kStopped);  // as many of each
  ASSERT_OK_AND_ASSIGN(table, BuildScoreTable(records, OptionsSelection(Select::kBest)));
  EXPECT_EQ(table.cell(0, 0).value, 90);
}

TEST(SelectionTest, TheOrderOfRecordsChangesNothing) {
  std::vector<ScoreRecord> records;
  for (int setting = 0; setting < 3; ++setting) {
    for (int seed = 0; seed < 3; ++seed) {
      for (const char* benchmark : {"X", "Y"}) {
        records.push_back(
            Record("a", benchmark, setting, seed, benchmark, 0.1 * setting + 0.01 * seed * seed));
      }
    }
  }
  for (const Select select : {Select::kBest, Select::kDefault, Select::kMean, Select::kEach}) {
    ASSERT_OK_AND_ASSIGN(const ScoreTable forward,
                         BuildScoreTable(records, OptionsSelection(select)));
    std::reverse(records.begin(), records.end());
    ASSERT_OK_AND_ASSIGN(const ScoreTable backward,
                         BuildScoreTable(records, OptionsSelection(select)));
    EXPECT_EQ(WriteScores(forward, TableFormat::kJson), WriteScores(backward, TableFormat::kJson));
  }
}

TEST(SelectionTest, BadRecordsAreRefused) {
  const SelectionOptions options = OptionsSelection(Select::kBest);
  EXPECT_THAT(BuildScoreTable({Record("c", "X", 0, 1, "X", 1)}, options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("approach \"c\"")));
  EXPECT_THAT(BuildScoreTable({Record("a", "Z", 0, 1, "X", 1)}, options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("benchmark \"Z\"")));
  EXPECT_THAT(BuildScoreTable({Record("a", "X", 0, 1, "X", std::nan(""))}, options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("finite")));
  EXPECT_THAT(
      BuildScoreTable({Record("a", "X", 0, 1, "X", 1), Record("a", "X", 0, 1, "X", 1)}, options),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("comes twice")));
}

TEST(SelectionTest, NoRecordsMakeATableWithoutColumns) {
  ASSERT_OK_AND_ASSIGN(const ScoreTable table,
                       BuildScoreTable({}, OptionsSelection(Select::kBest)));
  EXPECT_EQ(table.approaches().size(), 2U);
  EXPECT_TRUE(table.benchmarks().empty());
}

TEST(SelectionTest, EachSeedMayGetTheSettingThatIsBestOnTheOthers) {
  // Setting 1 has the best mean, 8, which rests on seed 3. Without it setting 0 is better.
  const std::vector<ScoreRecord> records = {
      Record("a", "X", 0, 1, "X", 6), Record("a", "X", 0, 2, "X", 7),
      Record("a", "X", 0, 3, "X", 5), Record("a", "X", 1, 1, "X", 4),
      Record("a", "X", 1, 2, "X", 5), Record("a", "X", 1, 3, "X", 15),
      Record("b", "X", 0, 1, "X", 3), Record("b", "X", 0, 2, "X", 3)};
  ASSERT_OK_AND_ASSIGN(ScoreTable table,
                       BuildScoreTable(records, OptionsSelection(Select::kBestOnTest)));
  EXPECT_EQ(table.cell(0, 0).value, 8);
  // 8 - (4 + 5 + 5) / 3: on seed 1 and 2 setting 1, on seed 3 setting 0.
  ASSERT_TRUE(table.benchmarks()[0].choice.optimism.has_value());
  EXPECT_DOUBLE_EQ(*table.benchmarks()[0].choice.optimism, 8 - 14.0 / 3);
  EXPECT_EQ(table.benchmarks()[0].choice.on, "test");
  EXPECT_THAT(
      ChoiceNotes(table.benchmarks()),
      Contains("Choosing on the test sets makes scores look better by at least (estimated by "
               "leaving out each seed in turn; --select best-on-other-seeds avoids it), on the "
               "mean over approaches: X 3.33."));

  ASSERT_OK_AND_ASSIGN(table,
                       BuildScoreTable(records, OptionsSelection(Select::kBestOnOtherSeeds)));
  EXPECT_DOUBLE_EQ(table.cell(0, 0).value, 14.0 / 3);
  EXPECT_EQ(table.cell(0, 0).setting, -1);
  EXPECT_EQ(table.cell(0, 0).seeds, 3);
  EXPECT_EQ(table.cell(1, 0).value, 3) << "one setting: nothing is chosen";
  EXPECT_EQ(table.benchmarks()[0].choice.on, "other seeds");
  EXPECT_THAT(
      ChoiceNotes(table.benchmarks()),
      Contains("Settings were chosen for each seed by the test scores of the other seeds."));
}

TEST(SelectionTest, LessIsBetterOnOtherSeeds) {
  SelectionOptions options = OptionsSelection(Select::kBestOnOtherSeeds);
  options.minimize = {"X"};
  ASSERT_OK_AND_ASSIGN(
      const ScoreTable table,
      BuildScoreTable({Record("a", "X", 0, 1, "X", 1), Record("a", "X", 0, 2, "X", 9),
                       Record("a", "X", 1, 1, "X", 2), Record("a", "X", 1, 2, "X", 3)},
                      options));
  EXPECT_EQ(table.cell(0, 0).value, (2 + 9) / 2.0);
}

// Where settings are equal, the best of them is above what each is worth, and other seeds are not.
TEST(SelectionTest, OtherSeedsAreNotOptimistic) {
  Random random(11, "selection_test");
  double best = 0;
  double other = 0;
  constexpr int kTrials = 400;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<ScoreRecord> records;
    for (int setting = 0; setting < 6; ++setting) {
      for (int seed = 1; seed <= 4; ++seed) {
        records.push_back(Record("a", "X", setting, seed, "X", random.Normal()));
      }
    }
    ASSERT_OK_AND_ASSIGN(ScoreTable table,
                         BuildScoreTable(records, OptionsSelection(Select::kBestOnTest)));
    best += table.cell(0, 0).value / kTrials;
    ASSERT_OK_AND_ASSIGN(table,
                         BuildScoreTable(records, OptionsSelection(Select::kBestOnOtherSeeds)));
    other += table.cell(0, 0).value / kTrials;
  }
  EXPECT_GT(best, 0.5);
  EXPECT_NEAR(other, 0, 0.1);
}

// Scores with two digits, so that many means are tied: the same runs, told as error, as accuracy
// and as accuracy in percent, have the same settings chosen.
TEST(SelectionTest, TheUnitOfAScoreDoesNotDecide) {
  for (const Select select : {Select::kBest, Select::kBestOnTest, Select::kBestOnOtherSeeds}) {
    for (int trial = 0; trial < 300; ++trial) {
      Random random(trial, "selection_test/unit");
      std::vector<ScoreRecord> errors;
      std::vector<ScoreRecord> accuracies;
      std::vector<ScoreRecord> percents;
      for (int setting = 0; setting < 4; ++setting) {
        for (int seed = 1; seed <= 4; ++seed) {
          for (const char* test : {"X", "Y"}) {
            const double error = static_cast<double>(random.Below(5)) / 100 + .26;
            errors.push_back(Record("a", "X", setting, seed, test, error));
            accuracies.push_back(Record("a", "X", setting, seed, test, 1 - error));
            percents.push_back(Record("a", "X", setting, seed, test, 100 - 100 * error));
          }
        }
      }
      SelectionOptions options = OptionsSelection(select);
      if (select == Select::kBest) {
        options.validation_of = {{1, 0}};
      }
      ASSERT_OK_AND_ASSIGN(const ScoreTable accuracy, BuildScoreTable(accuracies, options));
      ASSERT_OK_AND_ASSIGN(const ScoreTable percent, BuildScoreTable(percents, options));
      options.minimize = {"X"};
      ASSERT_OK_AND_ASSIGN(const ScoreTable error, BuildScoreTable(errors, options));
      EXPECT_EQ(accuracy.cell(0, 0).setting, error.cell(0, 0).setting) << trial;
      EXPECT_EQ(accuracy.cell(0, 0).setting, percent.cell(0, 0).setting) << trial;
      EXPECT_NEAR(accuracy.cell(0, 0).value, 1 - error.cell(0, 0).value, 1e-12) << trial;
      EXPECT_NEAR(accuracy.cell(0, 0).value, percent.cell(0, 0).value / 100, 1e-12) << trial;
    }
  }
}

TEST(SelectionTest, EqualMeansOverSeedsAreTies) {
  const std::vector<double> seeds = {.1, .7, .3, .26, .32};
  SelectionOptions options = OptionsSelection(Select::kBest);
  options.approaches.push_back({"c", {}});
  std::vector<ScoreRecord> records;
  for (int i = 0; i < 5; ++i) {
    records.push_back(Record("a", "X", 0, i, "X", seeds[static_cast<size_t>(i)]));
    records.push_back(Record("b", "X", 0, i, "X", seeds[static_cast<size_t>(4 - i)]));
    records.push_back(Record("c", "X", 0, i, "X", 1 - .664));  // the mean of the others
  }
  ASSERT_OK_AND_ASSIGN(const ScoreTable table, BuildScoreTable(records, options));
  EXPECT_EQ(table.cell(0, 0).value, table.cell(1, 0).value);
  EXPECT_EQ(table.cell(0, 0).value, table.cell(2, 0).value);
}

TEST(SelectionTest, OtherSeedsNeedASecondOne) {
  const std::vector<ScoreRecord> records = {Record("a", "X", 0, 1, "X", 6),
                                            Record("a", "X", 1, 1, "X", 7)};
  EXPECT_THAT(BuildScoreTable(records, OptionsSelection(Select::kBestOnOtherSeeds)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "select: best-on-other-seeds needs scores of two seeds, and a trained on X "
                       "has those of one; give the sweep more seeds, or use best-on-test"));
  std::vector<ScoreRecord> running = records;
  running.push_back(WithoutValue("a", "X", 0, 2, "X", CellState::kPending));
  ASSERT_OK_AND_ASSIGN(const ScoreTable table,
                       BuildScoreTable(running, OptionsSelection(Select::kBestOnOtherSeeds)));
  EXPECT_EQ(table.cell(0, 0).state, CellState::kPending);
}

}  // namespace
}  // namespace concur::analysis
