// SPDX-License-Identifier: Apache-2.0
#include "analysis/concurrence/curve.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analysis/concurrence/cluster.h"
#include "analysis/concurrence/matrix.h"
#include "analysis/score_table.h"
#include "base/random.h"
#include "report/block_table.h"
#include "report/curve_tables.h"
#include "tests/analysis/reference_scores.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

ScoreTable ParseCurve(const std::string& csv, const std::vector<std::string>& tags = {}) {
  absl::StatusOr<ParsedScores> parsed = ParseScoresCsv(csv, "s.csv", {tags, {}});
  EXPECT_OK(parsed);
  return parsed.ok() ? parsed->table : ScoreTable();
}

// The mean of the best over every subset of k, one by one.
double MeanBestOfSubsets(const std::vector<double>& values, size_t k) {
  double sum = 0;
  double count = 0;
  for (unsigned mask = 1; mask < 1U << values.size(); ++mask) {
    if (static_cast<size_t>(__builtin_popcount(mask)) != k) {
      continue;
    }
    double best = -1e300;
    for (size_t i = 0; i < values.size(); ++i) {
      best = (mask >> i & 1U) != 0 ? std::max(best, values[i]) : best;
    }
    sum += best;
    ++count;
  }
  return sum / count;
}

TEST(ExpectedMaximaTest, IsTheMeanOverEverySubset) {
  const std::vector<double> values = {3, 1, 4, 1, 5, 9, 2.5};
  const std::vector<double> expected = ExpectedMaxima(values);
  ASSERT_THAT(expected, SizeIs(7));
  for (size_t k = 1; k <= 7; ++k) {
    EXPECT_NEAR(expected[k - 1], MeanBestOfSubsets(values, k), 1e-12) << k;
  }
  EXPECT_THAT(ExpectedMaxima({}), IsEmpty());
  EXPECT_THAT(ExpectedMaxima(std::vector<double>{7}), ElementsAre(7));
}

TEST(ApproachCurveTest, TheLastPointIsTheCoefficientItself) {
  const ScoreTable table =
      ParseCurve("approach,A,B,C\na,1,2,5\nb,2,1,4\nc,3,4,3\nd,4,3,2\ne,5,6,1\nf,6,5,\n");
  CurveOptions options;
  options.draws = 200;
  ASSERT_OK_AND_ASSIGN(const std::vector<CurvePoint> points, ApproachCurve(table, options));
  ASSERT_THAT(points, SizeIs(3 * 4)) << "three pairs, 3 to 6 approaches";
  ASSERT_OK_AND_ASSIGN(const ConcurrenceMatrix matrix, ComputeMatrix(table, {}));
  for (size_t pair = 0; pair < 3; ++pair) {
    const CurvePoint& last = points[4 * pair + 3];
    EXPECT_EQ(last.x, 6);
    EXPECT_EQ(last.draws, 1);
    EXPECT_NEAR(*last.value, matrix.pairs[pair].correlation.value, 1e-12);
    const CurvePoint& first = points[4 * pair];
    EXPECT_EQ(first.x, 3);
    EXPECT_EQ(first.draws + first.undefined, 200);
  }
  // Tau over all subsets of any size has the same mean without ties.
  EXPECT_NEAR(*points[0].value, *points[3].value, 0.08);
  EXPECT_GT(points[0].standard_deviation, points[2].standard_deviation);
}

TEST(ApproachCurveTest, SmallTablesAndBadOptionsAreClear) {
  ASSERT_OK_AND_ASSIGN(const std::vector<CurvePoint> none,
                       ApproachCurve(ParseCurve("approach,A,B\n"), {}));
  EXPECT_THAT(none, IsEmpty());
  ASSERT_OK_AND_ASSIGN(const std::vector<CurvePoint> one,
                       ApproachCurve(ParseCurve("approach,A,B\na,1,2\n"), {}));
  ASSERT_THAT(one, SizeIs(1));
  EXPECT_FALSE(one[0].value.has_value());
  CurveOptions options;
  options.draws = 1;
  EXPECT_THAT(ApproachCurve(ParseCurve("approach,A,B\na,1,2\n"), options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("draws: expected")));
}

TEST(SizeCurveTest, OrdersBySizeAndSkipsTheTargetItself) {
  const ScoreTable table = ParseCurve("approach,full,10K,1K\na,1,1,2\nb,2,2,1\nc,3,3,3\nd,4,4,4\n");
  ASSERT_OK_AND_ASSIGN(
      const std::vector<CurvePoint> points,
      SizeCurve(table, std::vector<SizedBenchmark>{{0, 88000}, {1, 10000}, {2, 1000}},
                std::vector<size_t>{0}, {}, std::nullopt));
  ASSERT_THAT(points, SizeIs(2));
  EXPECT_EQ(points[0].x, 1000);
  EXPECT_NEAR(*points[0].value, 2.0 / 3, 1e-15);
  EXPECT_EQ(points[1].x, 10000);
  EXPECT_EQ(*points[1].value, 1);
  EXPECT_THAT(SizesByTag(table, "train_examples"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--point")));
}

constexpr char kSettings[] =
    "approach,setting,A,B\n"
    "x #0,0,1,1\nx #1,1,5,4\nx #2,2,3,3\n"
    "y #0,0,2,2\ny #1,1,3,3\ny #2,2,2.5,\n"
    "z #0,0,4,5\nz #1,1,1,1\nz #2,2,2,2\n";

TEST(BudgetCurveTest, GoesFromOneSettingToAll) {
  ASSERT_OK_AND_ASSIGN(const SettingScores scores,
                       GroupSettings(ParseCurve(kSettings, {"setting"})));
  EXPECT_THAT(scores.approaches, ElementsAre("x", "y", "z"));
  CurveOptions options;
  options.draws = 500;
  ASSERT_OK_AND_ASSIGN(const std::vector<CurvePoint> points, BudgetCurve(scores, options));
  ASSERT_THAT(points, SizeIs(3));
  EXPECT_EQ(points[2].draws, 1);
  // Best of all: x 5 and 4, y 3 and 3, z 4 and 5: one of three pairs is reversed.
  EXPECT_NEAR(*points[2].value, 1.0 / 3, 1e-15);
}

TEST(BudgetCurveTest, ExpectedBestGrowsWithTheBudgetAndCountsSettings) {
  ASSERT_OK_AND_ASSIGN(const SettingScores scores,
                       GroupSettings(ParseCurve(kSettings, {"setting"})));
  const std::vector<ExpectedBest> curve = ExpectedBestCurve(scores);
  ASSERT_THAT(curve, SizeIs(17)) << "y has two settings on B";
  EXPECT_NEAR(curve[0].value, 3, 1e-15);
  EXPECT_NEAR(curve[1].value, (5 + 5 + 3) / 3.0, 1e-12);
  EXPECT_NEAR(curve[2].value, 5, 1e-15);
  EXPECT_EQ(curve[9].settings, 2);
}

// Scores with two digits, so that many are tied: the same runs, told as error and as accuracy, have
// the same best of any number of settings, and concur alike.
TEST(BudgetCurveTest, ErrorsAndAccuraciesHaveOneBest) {
  for (int trial = 0; trial < 100; ++trial) {
    Random random(trial, "curve_test/goals");
    std::string accuracies = "approach,setting,A,B\n";
    std::string errors = "approach,setting,A,B\n#goal,,minimize,minimize\n";
    for (const char* approach : {"x", "y", "z", "w"}) {
      for (int setting = 0; setting < 4; ++setting) {
        absl::StrAppend(&accuracies, approach, " #", setting, ",", setting);
        absl::StrAppend(&errors, approach, " #", setting, ",", setting);
        for (int benchmark = 0; benchmark < 2; ++benchmark) {
          const auto wrong = static_cast<int>(26 + random.Below(8));
          absl::StrAppend(&accuracies, ",0.", 100 - wrong);
          absl::StrAppend(&errors, ",0.", wrong);
        }
        absl::StrAppend(&accuracies, "\n");
        absl::StrAppend(&errors, "\n");
      }
    }
    ASSERT_OK_AND_ASSIGN(const SettingScores up,
                         GroupSettings(ParseCurve(accuracies, {"setting"})));
    ASSERT_OK_AND_ASSIGN(const SettingScores down, GroupSettings(ParseCurve(errors, {"setting"})));
    const std::vector<ExpectedBest> best_up = ExpectedBestCurve(up);
    const std::vector<ExpectedBest> best_down = ExpectedBestCurve(down);
    ASSERT_EQ(best_up.size(), best_down.size());
    for (size_t i = 0; i < best_up.size(); ++i) {
      EXPECT_NEAR(best_up[i].value, 1 - best_down[i].value, 1e-12) << trial;
    }
    CurveOptions options;
    options.draws = 20;
    ASSERT_OK_AND_ASSIGN(const std::vector<CurvePoint> points_up, BudgetCurve(up, options));
    ASSERT_OK_AND_ASSIGN(const std::vector<CurvePoint> points_down, BudgetCurve(down, options));
    ASSERT_EQ(points_up.size(), points_down.size());
    for (size_t i = 0; i < points_up.size(); ++i) {
      ASSERT_EQ(points_up[i].value.has_value(), points_down[i].value.has_value());
      EXPECT_EQ(points_up[i].value.value_or(0), points_down[i].value.value_or(0)) << trial;
    }
  }
}

TEST(BudgetCurveTest, TablesWithoutSettingsAreRefused) {
  EXPECT_THAT(GroupSettings(ParseCurve("approach,A\nx,1\n")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--select each")));
}

TEST(ClusterTest, SimilarBenchmarksStandSideBySide) {
  const ScoreTable table =
      ParseCurve("approach,A,B,C,D\na,1,4,1,4\nb,2,3,2,3\nc,3,2,3,2\nd,4,1,4,1\ne,5,0,4.5,-1\n");
  ASSERT_OK_AND_ASSIGN(const ConcurrenceMatrix matrix, ComputeMatrix(table, {}));
  EXPECT_THAT(ClusterOrder(matrix), ElementsAre(0, 2, 1, 3));
  ASSERT_OK_AND_ASSIGN(const ConcurrenceMatrix one,
                       ComputeMatrix(ParseCurve("approach,A\nx,1\n"), {}));
  EXPECT_THAT(ClusterOrder(one), ElementsAre(0));
  EXPECT_THAT(ClusterOrder({}), IsEmpty());
}

TEST(ClusterTest, BlocksCountEachPairOnce) {
  const ScoreTable table = ParseCurve("approach,A,B,C,D\na,1,4,1,7\nb,2,3,2,7\nc,3,2,3,7\n");
  ASSERT_OK_AND_ASSIGN(const ConcurrenceMatrix matrix, ComputeMatrix(table, {}));
  const BenchmarkGroup up = {"up", {0, 2}};
  const BenchmarkGroup rest = {"rest", {1, 3}};
  const std::string csv = WriteTable(BlockTable(matrix, {up, rest}), TableFormat::kCsv);
  EXPECT_THAT(csv, HasSubstr("up,up,1,0,1,1,A – C,1,A – C\n"));
  EXPECT_THAT(csv, HasSubstr("up,rest,4,2,-1,-1,A – B,-1,B – C\n"));
  EXPECT_THAT(csv, HasSubstr("rest,rest,1,1,,,,,\n"));
  EXPECT_THAT(WriteTable(BlockTable(matrix, {up}), TableFormat::kText),
              HasSubstr("In no group: B; D."));
}

TEST(ClusterTest, GroupsOfTheConcurrenceStudy) {
  CONCUR_LOAD_REFERENCE(table, "concurrence-em.csv");
  ASSERT_OK_AND_ASSIGN(const ConcurrenceMatrix matrix, ComputeMatrix(table, {}));
  const BenchmarkGroup human = {"human", {0, 1, 2, 3, 4, 5}};
  const Table blocks = BlockTable(matrix, {human});
  EXPECT_EQ(blocks.rows[0][2].integer, 15);
  EXPECT_NEAR(blocks.rows[0][5].number, 0.69, 0.005) << "NaturalQuestions with DROP";
  EXPECT_NEAR(blocks.rows[0][7].number, 0.94, 0.005) << "SQuAD with QAMR";
}

}  // namespace
}  // namespace concur::analysis
