// SPDX-License-Identifier: Apache-2.0
// Tables of sweeps of which one job gives the scores of several parts of a benchmark.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analysis/comparison/generalization.h"
#include "analysis/comparison/parts.h"
#include "analysis/comparison/rank_sets.h"
#include "analysis/score_table.h"
#include "core/job_score.h"
#include "core/sweep/sweep.h"
#include "report/notes.h"
#include "report/ranking_tables.h"
#include "report/sweep_table.h"
#include "tests/core/sweep/sweep_builder.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

using ::concur::testing::AddValidationSet;
using ::concur::testing::Benchmark;
using ::concur::testing::PlainTrainSet;
using ::concur::testing::TrainedApproach;
using ::concur::testing::UntrainedApproach;

SweepSpec Spec(const std::vector<std::string>& approaches) {
  SweepSpec spec;
  spec.name = "demo";
  for (const std::string& name : approaches) {
    spec.approaches.push_back(UntrainedApproach(name));
  }
  spec.benchmarks = {Benchmark("mmlu"), Benchmark("squad")};
  for (BenchmarkSpec& benchmark : spec.benchmarks) {
    benchmark.format = DataFormat::kFile;
    benchmark.metric = "acc";
  }
  return spec;
}

using Parts = std::map<std::string, double>;

JobScore ScoreOf(const std::string& approach, const std::string& test, std::optional<double> value,
                 const Parts& parts = {}, JobState state = JobState::kSucceeded) {
  JobScore score;
  score.approach = approach;
  score.test_benchmark = test;
  score.seed = 1;
  score.metric = "acc";
  score.value = value;
  score.state = state;
  for (const auto& [part, of_part] : parts) {
    score.parts.push_back({"acc", of_part, 10, std::nullopt, part});
  }
  return score;
}

std::vector<std::string> Names(const analysis::ScoreTable& table) {
  return analysis::NamesOf(table.benchmarks());
}

TEST(PartsTableTest, PartsAreColumnsInThePlaceOfTheirBenchmark) {
  const SweepSpec spec = Spec({"a", "b"});
  const std::vector<JobScore> scores = {ScoreOf("a", "mmlu", 0.5, {{"law", 0.4}, {"art", 0.6}}),
                                        ScoreOf("a", "squad", 0.8), ScoreOf("b", "squad", 0.7),
                                        ScoreOf("b", "mmlu", 0.3, {{"law", 0.3}})};
  ASSERT_OK_AND_ASSIGN(const analysis::ScoreTable table, SweepTable(spec, scores));
  EXPECT_THAT(Names(table), ElementsAre("mmlu/art", "mmlu/law", "squad"))
      << "their mean stands beside none of them";
  EXPECT_EQ(analysis::TagValue(table.benchmarks()[0], analysis::kPartTag), "mmlu");
  EXPECT_EQ(analysis::TagValue(table.benchmarks()[2], analysis::kPartTag), "");
  EXPECT_EQ(table.cell(0, 0).value, 0.6);
  EXPECT_EQ(table.cell(0, 0).examples, 10);
  EXPECT_EQ(table.cell(1, 1).value, 0.3);
  EXPECT_EQ(table.cell(1, 0).state, analysis::CellState::kMissing);
  EXPECT_EQ(table.cell(1, 0).missing, 1);
  EXPECT_THAT(analysis::ScoreNotes(table),
              AllOf(Contains(HasSubstr("1 of 6 cells have no score: 1 missing (—)")),
                    Contains(HasSubstr("1 cell of the parts of mmlu lacks scores that no job will "
                                       "make, as their jobs reported no such part or were "
                                       "canceled: b on mmlu/art; --columns mmlu takes"))));
}

TEST(PartsTableTest, ABenchmarkThatIsAskedForByNameStaysWhole) {
  const SweepSpec spec = Spec({"a"});
  const std::vector<JobScore> scores = {ScoreOf("a", "mmlu", 0.5, {{"law", 0.4}, {"art", 0.6}}),
                                        ScoreOf("a", "squad", 0.8, {{"x", 0.8}})};
  ASSERT_OK_AND_ASSIGN(const analysis::ScoreTable table,
                       SweepTable(spec, scores, {.columns = {"mmlu"}}));
  EXPECT_THAT(Names(table), ElementsAre("mmlu", "squad/x"));
  EXPECT_EQ(table.cell(0, 0).value, 0.5);
}

TEST(PartsTableTest, JobsThatFailedOrAreStillToRunCountInEachPart) {
  const SweepSpec spec = Spec({"a", "b", "c", "d"});
  const std::vector<JobScore> scores = {ScoreOf("a", "mmlu", 0.5, {{"law", 0.4}, {"art", 0.6}}),
                                        ScoreOf("b", "mmlu", std::nullopt, {}, JobState::kFailed),
                                        ScoreOf("c", "mmlu", std::nullopt, {}, JobState::kRunning),
                                        ScoreOf("d", "mmlu", 0.5)};
  ASSERT_OK_AND_ASSIGN(const analysis::ScoreTable table, SweepTable(spec, scores));
  for (size_t part = 0; part < 2; ++part) {
    EXPECT_EQ(table.cell(1, part).state, analysis::CellState::kFailed);
    EXPECT_EQ(table.cell(2, part).state, analysis::CellState::kPending);
    EXPECT_EQ(table.cell(3, part).state, analysis::CellState::kMissing) << "only the whole";
  }
}

TEST(PartsTableTest, ASettingIsChosenByTheScoreOfTheWhole) {
  SweepSpec spec = Spec({});
  spec.approaches = {TrainedApproach("a")};
  spec.train_sets = {PlainTrainSet(spec, 0)};
  std::vector<JobScore> scores = {ScoreOf("a", "mmlu", 0.5, {{"law", 0.1}, {"art", 0.9}}),
                                  ScoreOf("a", "mmlu", 0.6, {{"law", 0.7}, {"art", 0.5}}),
                                  ScoreOf("a", "mmlu", 0.2, {{"law", 0.2}})};
  for (size_t setting = 0; setting < scores.size(); ++setting) {
    scores[setting].train_set = "mmlu";
    scores[setting].setting = static_cast<uint32_t>(setting);
  }
  ASSERT_OK_AND_ASSIGN(const analysis::ScoreTable table, SweepTable(spec, scores));
  ASSERT_THAT(Names(table), ElementsAre("mmlu/art", "mmlu/law"));
  EXPECT_EQ(table.cell(0, 0).value, 0.5) << "of setting 1, though 0 is better on this part";
  EXPECT_EQ(table.cell(0, 0).setting, 1);
  EXPECT_EQ(table.cell(0, 1).value, 0.7);
  EXPECT_EQ(table.cell(0, 0).missing, 0) << "a setting that was not chosen lacks this part";
  EXPECT_EQ(table.benchmarks()[0].choice.on, "test");
  spec.benchmarks[0].meaning.goal = Goal::kMinimize;
  ASSERT_OK_AND_ASSIGN(const analysis::ScoreTable least, SweepTable(spec, scores));
  EXPECT_EQ(least.cell(0, 1).setting, 2);
  EXPECT_EQ(least.cell(0, 0).state, analysis::CellState::kMissing);
  ASSERT_OK_AND_ASSIGN(const analysis::ScoreTable asked,
                       SweepTable(Spec({"a"}), {ScoreOf("a", "mmlu", 0.5, {{"law", 0.1}})},
                                  {.minimize = {"mmlu/*"}}));
  EXPECT_THAT(asked.Minimized(), ElementsAre("mmlu/law"));
}

TEST(PartsTableTest, AMetricOfPartsAloneHasATableWithoutAChoice) {
  const std::vector<JobScore> scores = {ScoreOf("a", "mmlu", std::nullopt, {{"law", 0.4}})};
  ASSERT_OK_AND_ASSIGN(const analysis::ScoreTable table, SweepTable(Spec({"a"}), scores));
  EXPECT_THAT(Names(table), ElementsAre("mmlu/law"));
  EXPECT_EQ(table.cell(0, 0).value, 0.4);
}

TEST(PartsTableTest, AHardPartInPercentIsNoFraction) {
  const std::vector<JobScore> scores = {ScoreOf("a", "mmlu", 40, {{"law", 0.5}, {"art", 79.5}})};
  ASSERT_OK_AND_ASSIGN(const analysis::ScoreTable table, SweepTable(Spec({"a"}), scores));
  EXPECT_EQ(table.full_score(1), 100) << "mmlu/law";
}

TEST(PartsTableTest, OtherNumbersOfExamplesAndMixedScalesAreSaid) {
  std::vector<JobScore> scores = {ScoreOf("a", "mmlu", 50, {{"law", 40}, {"art", 60}}),
                                  ScoreOf("b", "mmlu", 0.5, {{"law", 0.4}, {"art", 0.6}})};
  scores[1].parts[1].examples = 9;
  ASSERT_OK_AND_ASSIGN(const analysis::ScoreTable table, SweepTable(Spec({"a", "b"}), scores));
  EXPECT_THAT(analysis::PartWarnings(table),
              ElementsAre("1 part of mmlu has scores over different numbers of examples: on "
                          "mmlu/law a has 10, b 9; evaluate all approaches on the same examples",
                          "scores on the parts of mmlu are percents (a has 60), and at most 1 for "
                          "b; write all of them in percent, or all from 0 to 1"));
  scores.pop_back();
  ASSERT_OK_AND_ASSIGN(const analysis::ScoreTable one, SweepTable(Spec({"a", "b"}), scores));
  EXPECT_THAT(analysis::PartWarnings(one), IsEmpty());
}

TEST(PartsTableTest, PartsOfABenchmarkAreOneUnitOfTheInference) {
  const SweepSpec spec = Spec({"a", "b", "c"});
  std::vector<JobScore> scores;
  for (const char* approach : {"a", "b", "c"}) {
    const double base = approach[0] - 'a';
    scores.push_back(ScoreOf(approach, "mmlu", 50 + base,
                             {{"p1", 40 + base}, {"p2", 41 + 2 * base}, {"p3", 45 + base}}));
    scores.push_back(ScoreOf(approach, "squad", 60 - 2 * base, {{"q1", 50 - base}, {"q2", 62}}));
  }
  ASSERT_OK_AND_ASSIGN(const analysis::ScoreTable table, SweepTable(spec, scores));
  std::vector<analysis::BenchmarkGroup> groups = analysis::GroupsByGoal(table);
  analysis::AddPartGroups(table, groups);
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[1].name, "mmlu");
  EXPECT_THAT(groups[1].benchmarks, ElementsAre(0, 1, 2));
  ASSERT_OK_AND_ASSIGN(const analysis::RankEstimate estimate,
                       analysis::EstimateOverBenchmarks(table.Oriented(), groups, {0, 1, 2}));
  EXPECT_EQ(estimate.unit, "2 groups of benchmarks");
}

TEST(PartsTableTest, ValidationSetsStayWhole) {
  SweepSpec spec = Spec({});
  spec.approaches = {TrainedApproach("a")};
  AddValidationSet(0, &spec);
  spec.train_sets = {PlainTrainSet(spec, 0)};
  std::vector<JobScore> scores = {
      ScoreOf("a", "mmlu", 0.5, {{"law", 0.4}, {"art", 0.6}}),
      ScoreOf("a", "mmlu.validation", 0.5, {{"law", 0.4}, {"art", 0.6}})};
  for (JobScore& score : scores) {
    score.train_set = "mmlu";
  }
  ASSERT_OK_AND_ASSIGN(const analysis::ScoreTable table,
                       SweepTable(spec, scores, {.show_validation = true}));
  EXPECT_THAT(Names(table), Contains("mmlu.validation"));
  EXPECT_THAT(Names(table), Not(Contains("mmlu.validation/law")));
}

TEST(PartsTableTest, MorePartsThanATableMayHaveAreRefused) {
  std::vector<JobScore> scores;
  for (int job = 0; job <= static_cast<int>(kPartCellsMax / kPartsMax); ++job) {
    scores.push_back(ScoreOf("a", "mmlu", 0.5));
    scores.back().seed = job;
  }
  for (size_t part = 0; part < kPartsMax; ++part) {
    scores[0].parts.push_back({"acc", 0.5, 1, std::nullopt, absl::StrCat("p", part)});
  }
  EXPECT_THAT(SweepTable(Spec({"a"}), scores).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("mmlu has 1000 parts and 2001 jobs; --columns mmlu takes")));
}

}  // namespace
}  // namespace concur
