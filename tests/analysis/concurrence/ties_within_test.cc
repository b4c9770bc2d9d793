// SPDX-License-Identifier: Apache-2.0
// Scores that differ by at most ties_within are tied, in every way in which tau-b is computed.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/bootstrap.h"
#include "analysis/concurrence/matrix.h"
#include "analysis/concurrence/structure.h"
#include "analysis/resampling.h"
#include "analysis/score_table.h"
#include "base/random.h"
#include "report/writers.h"
#include "tests/analysis/simulated_tables.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

// Daniels' coefficient with the signs of differences beyond `within`; NaN where undefined.
double PlainTauWithin(const std::vector<double>& x, const std::vector<double>& y,
                      const std::vector<int32_t>& weights, double within) {
  const auto sign = [&](double a, double b) { return (a - b > within) - (b - a > within); };
  double xy = 0;
  double xx = 0;
  double yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (std::isnan(x[i] + x[j] + y[i] + y[j])) {
        continue;
      }
      const double weight = static_cast<double>(weights[i]) * static_cast<double>(weights[j]);
      xy += weight * sign(x[i], x[j]) * sign(y[i], y[j]);
      xx += weight * sign(x[i], x[j]) * sign(x[i], x[j]);
      yy += weight * sign(y[i], y[j]) * sign(y[i], y[j]);
    }
  }
  return xy / std::sqrt(xx * yy);
}

// Whole numbers, half of the time with gaps; differences of exactly 2 are ties.
TEST(TiesWithinTest, EveryWayIsThatOfTheDefinition) {
  Random random(1, "ties_within_test");
  for (const size_t n : {3U, 9U, 40U, 300U}) {
    for (const bool gaps : {false, true}) {
      for (const double within : {0.0, 2.0, 30.0}) {
        Columns columns(4, std::vector<double>(n));
        for (std::vector<double>& column : columns) {
          for (double& score : column) {
            score =
                gaps && random.Chance(0.2) ? kNoScore : static_cast<double>(random.Below(25)) + 41;
          }
        }
        ScoreTable table = SimulatedTable(columns, {});
        ASSERT_OK(table.SetTiesWithin(within));
        ASSERT_OK_AND_ASSIGN(const ConcurrenceMatrix matrix, ComputeMatrix(table, {}));
        std::vector<int32_t> weights(n, 1);
        const WeightedCoefficients evaluator(table, Coefficient::kKendall);
        WeightedCoefficients::Scratch scratch;
        std::vector<double> out(6);
        const auto expect_all = [&](bool is_matrix) {
          for (size_t i = 0; i < matrix.pairs.size(); ++i) {
            const MatrixPair& pair = matrix.pairs[i];
            const double expected =
                PlainTauWithin(columns[pair.a], columns[pair.b], weights, within);
            const double got = !is_matrix                   ? out[i]
                               : pair.correlation.defined() ? pair.correlation.value
                                                            : kNoScore;
            EXPECT_EQ(std::isnan(got), std::isnan(expected)) << n << " " << within;
            if (!std::isnan(expected)) {
              EXPECT_NEAR(got, expected, 1e-12) << n << " " << within << " " << gaps;
            }
          }
        };
        expect_all(true);
        for (int32_t& weight : weights) {
          weight = static_cast<int32_t>(random.Below(4));
        }
        evaluator.Evaluate(weights, 0, 4, scratch, out.data());
        expect_all(false);
      }
    }
  }
}

// .913 - .903 is more than .01 by rounding alone.
TEST(TiesWithinTest, RoundingBreaksNoTie) {
  ASSERT_OK_AND_ASSIGN(
      const ParsedScores parsed,
      ParseScoresCsv("approach,A,B\na,.903,.1\nb,.913,.2\nc,.8,.3\nd,.7,.15\n", "s.csv"));
  ASSERT_GT(.913 - .903, .01);
  ScoreTable table = parsed.table;
  ASSERT_OK(table.SetTiesWithin(.01));
  ASSERT_OK_AND_ASSIGN(const ConcurrenceMatrix matrix, ComputeMatrix(table, {}));
  EXPECT_NEAR(matrix.pairs[0].correlation.value, (2 - 3) / std::sqrt(5.0 * 6.0), 1e-12);
}

TEST(TiesWithinTest, SwapsIntervalsAndTitlesFollow) {
  const Columns columns = {{1, 2, 3, 4, 5, 6, 7, 8}, {2.4, 1.9, 3, 8, 5, 6, 7, 4}};
  ScoreTable table = SimulatedTable(columns, {});
  EXPECT_EQ(FindSwaps(table.Oriented(), 0, 1).size(), 8);
  ASSERT_OK(table.SetTiesWithin(1));
  EXPECT_EQ(FindSwaps(table.Oriented(), 0, 1).size(), 3) << "d with f and h, f with h";
  MatrixOptions options;
  options.bootstrap.emplace();
  options.bootstrap->replicates = 500;
  ASSERT_OK_AND_ASSIGN(const ConcurrenceMatrix matrix, ComputeMatrix(table, options));
  ASSERT_OK(table.SetTiesWithin(0));
  ASSERT_OK_AND_ASSIGN(const ConcurrenceMatrix plain, ComputeMatrix(table, options));
  EXPECT_NE(matrix.pairs[0].interval->low, plain.pairs[0].interval->low);
  EXPECT_FALSE(matrix.pairs[0].noise_free.has_value());
  EXPECT_THAT(WriteMatrix(matrix, TableFormat::kText),
              HasSubstr("Kendall's tau-b (ties within 1) over 8 approaches"));
  EXPECT_THAT(WriteMatrix(matrix, TableFormat::kJson), HasSubstr(R"("ties_within":1)"));
}

TEST(TiesWithinTest, OtherMethodsAndMixedScalesAreRefused) {
  ScoreTable table = SimulatedTable({{1, 2, 3, 4}, {2, 1, 3, 4}}, {});
  for (const double within : {-1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_THAT(table.SetTiesWithin(within),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("ties-within")));
  }
  ASSERT_OK(table.SetTiesWithin(1));
  MatrixOptions pearson;
  pearson.coefficient = Coefficient::kPearson;
  MatrixOptions tests;
  tests.p_values = true;
  MatrixOptions bounds;
  bounds.bounds = true;
  MatrixOptions fisher;
  fisher.fisher_level = 0.95;
  for (const MatrixOptions& options : {pearson, tests, bounds, fisher}) {
    EXPECT_THAT(ComputeMatrix(table, options),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("ties-within: needs")));
  }
  ScoreTable mixed = SimulatedTable({{1, 2, 3, 4}, {.2, .1, .3, .4}}, {});
  EXPECT_THAT(mixed.SetTiesWithin(1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("b0 and b1 of different")));
}

}  // namespace
}  // namespace concur::analysis
