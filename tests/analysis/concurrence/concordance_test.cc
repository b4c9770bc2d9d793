// SPDX-License-Identifier: Apache-2.0
#include "analysis/concurrence/concordance.h"

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/bootstrap.h"
#include "analysis/score_table.h"
#include "base/random.h"
#include "tests/analysis/simulated_tables.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

Concordance ConcordanceOf(const Columns& columns, const std::vector<size_t>& families = {},
                          const std::optional<BootstrapOptions>& options = std::nullopt) {
  std::vector<size_t> all(columns.size());
  for (size_t b = 0; b < all.size(); ++b) {
    all[b] = b;
  }
  const absl::StatusOr<Concordance> result =
      ComputeConcordance(SimulatedTable(columns, families), all, options);
  EXPECT_OK(result);
  return result.value_or(Concordance());
}

// Rows as columns.
Columns Turned(const Columns& rows) {
  Columns columns(rows[0].size(), std::vector<double>(rows.size()));
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = 0; j < rows[i].size(); ++j) {
      columns[j][i] = rows[i][j];
    }
  }
  return columns;
}

// The R package irr: kendall(anxiety, correct = TRUE), whose chi-squared on 19 degrees is 30.8.
TEST(ConcordanceTest, EqualsIrrWithTies) {
  const Concordance result =
      ConcordanceOf({{3, 3, 3, 4, 5, 5, 2, 3, 5, 2, 2, 6, 1, 5, 2, 2, 1, 2, 4, 3},
                     {3, 6, 4, 6, 2, 4, 2, 4, 3, 3, 2, 3, 3, 3, 2, 2, 1, 3, 3, 4},
                     {2, 1, 4, 4, 3, 2, 1, 6, 1, 1, 1, 2, 3, 3, 1, 1, 3, 3, 2, 2}});
  EXPECT_EQ(result.n, 20);
  EXPECT_NEAR(*result.w, 0.540, 0.0005);
  EXPECT_NEAR(*result.w * 3 * 19, 30.8, 0.05);
}

// scipy.stats.friedmanchisquare's example: 10.57142857142857 of 7 raters and 3 items.
TEST(ConcordanceTest, IsFriedmansStatisticOfSciPy) {
  const Concordance result = ConcordanceOf(Turned({{72, 96, 88, 92, 74, 76, 82},
                                                   {120, 120, 132, 120, 101, 96, 112},
                                                   {76, 95, 104, 96, 84, 72, 76}}));
  EXPECT_EQ(result.n, 3);
  EXPECT_NEAR(*result.w * 7 * 2, 10.57142857142857, 1e-12);
}

// R's friedman.test(RoundingTimes), with ties (Hollander and Wolfe): 11.143 on 2 degrees.
TEST(ConcordanceTest, IsFriedmansStatisticOfRWithTies) {
  const Columns players = {
      {5.40, 5.50, 5.55}, {5.85, 5.70, 5.75}, {5.20, 5.60, 5.50}, {5.55, 5.50, 5.40},
      {5.90, 5.85, 5.70}, {5.45, 5.55, 5.60}, {5.40, 5.40, 5.35}, {5.45, 5.50, 5.35},
      {5.25, 5.15, 5.00}, {5.85, 5.80, 5.70}, {5.25, 5.20, 5.10}, {5.65, 5.55, 5.45},
      {5.60, 5.35, 5.45}, {5.05, 5.00, 4.95}, {5.50, 5.50, 5.40}, {5.45, 5.55, 5.50},
      {5.55, 5.55, 5.35}, {5.45, 5.50, 5.55}, {5.50, 5.45, 5.25}, {5.65, 5.60, 5.40},
      {5.70, 5.65, 5.55}, {6.30, 6.30, 6.25}};
  EXPECT_NEAR(*ConcordanceOf(players).w * 22 * 2, 11.143, 0.0005);
}

TEST(ConcordanceTest, IsOneForOneOrderAndUndefinedForNone) {
  EXPECT_EQ(*ConcordanceOf({{1, 2, 3, 4}, {5, 6, 7, 9}, {0, 1, 1.5, 8}}).w, 1);
  EXPECT_EQ(*ConcordanceOf({{1, 2, 3}, {3, 2, 1}}).w, 0);
  EXPECT_FALSE(ConcordanceOf({{1, 1, 1}, {2, 2, 2}}).w.has_value());
  EXPECT_FALSE(ConcordanceOf({{1, 2, 3}}).w.has_value());
  EXPECT_FALSE(ConcordanceOf({{1, kNoScore}, {kNoScore, 2}}).w.has_value());
}

// Scores of which less is better are turned round, and approaches with gaps are counted.
TEST(ConcordanceTest, IsOfOrientedScoresOfApproachesThatHaveThemAll) {
  ASSERT_OK_AND_ASSIGN(const ParsedScores parsed,
                       ParseScoresCsv("approach,A,B,C\n#goal,maximize,minimize,maximize\n"
                                      "m,1,9,\nn,2,7,5\no,3,5,\np,4,3,1\nq,,1,2\n",
                                      "s.csv"));
  ASSERT_OK_AND_ASSIGN(const Concordance result,
                       ComputeConcordance(parsed.table, {0, 1}, std::nullopt));
  EXPECT_EQ(result.n, 4);
  EXPECT_EQ(result.left_out, 1);
  EXPECT_EQ(*result.w, 1);
}

// Whole families are drawn, and two of them make no interval.
TEST(ConcordanceTest, IntervalsDrawFamilies) {
  Random random(1, "concordance_test");
  std::vector<size_t> families;
  for (size_t i = 0; i < 24; ++i) {
    families.push_back(i / 4);
  }
  const std::vector<double> x = DrawRelatives(families, 0.95, random);
  const Columns columns = {x, Mixed(x, 0.5, DrawRelatives(families, 0.95, random)),
                           Mixed(x, 0.5, DrawRelatives(families, 0.95, random))};
  BootstrapOptions options;
  options.replicates = 1000;
  const Interval declared = *ConcordanceOf(columns, families, options).interval;
  const Interval strangers = *ConcordanceOf(columns, {}, options).interval;
  EXPECT_GT(declared.high - declared.low, 1.2 * (strangers.high - strangers.low));
  for (size_t i = 0; i < 24; ++i) {
    families[i] = i / 12;
  }
  const Concordance two = ConcordanceOf(columns, families, options);
  EXPECT_FALSE(two.interval.has_value());
  EXPECT_EQ(two.warning, kTooFewFamilies);
  options.level = 2;
  EXPECT_THAT(ComputeConcordance(SimulatedTable(columns, {}), {0, 1}, options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("interval")));
}

}  // namespace
}  // namespace concur::analysis
