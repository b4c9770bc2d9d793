// SPDX-License-Identifier: Apache-2.0
// Plans for Pearson's r and Spearman's rho; those for tau-b are in plan_test.cc.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/plan/plan.h"
#include "analysis/plan/plan_estimate.h"
#include "analysis/plan/plan_next.h"
#include "analysis/plan/plan_power.h"
#include "analysis/score_table.h"
#include "analysis/statistics/coefficient.h"
#include "analysis/statistics/correlation.h"
#include "report/plan_tables.h"
#include "report/table.h"
#include "tests/analysis/plan/plan_tables.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

constexpr Coefficient kPlannable[] = {Coefficient::kKendall, Coefficient::kPearson,
                                      Coefficient::kSpearman};

CellSample SampleOfAll(const ScoreTable& table, const std::vector<double>& weights) {
  CellSample sample;
  sample.has.assign(table.approaches().size() * table.benchmarks().size(), true);
  sample.probability = CellGrid(table.approaches().size(), table.benchmarks().size(), 1);
  for (size_t i = 0; i < weights.size(); ++i) {
    for (size_t b = 0; b < table.benchmarks().size(); ++b) {
      sample.probability.at(i, b) = 1 / weights[i];
    }
  }
  return sample;
}

PairEstimate EstimateOf(const ScoreTable& table, const std::vector<double>& weights,
                        Coefficient coefficient) {
  PairEstimateOptions options;
  options.coefficient = coefficient;
  return EstimatePairs(RankedTable(table), SampleOfAll(table, weights), options)[0];
}

TEST(PlanCoefficientsTest, OnlyThoseWithPlansAreTaken) {
  EXPECT_EQ(ParsePlannedCoefficient("spearman").value_or(Coefficient::kTopK),
            Coefficient::kSpearman);
  for (const char* name : {"top-k", "rbo", "weighted-kendall", "spearmen", ""}) {
    EXPECT_THAT(ParsePlannedCoefficient(name),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("expected kendall, pearson or spearman, got")))
        << name;
  }
}

// An approach of weight 3 counts as three of the same scores.
TEST(PlanCoefficientsTest, WeightsCountAsRepetitions) {
  const ScoreTable table = Abilities(25, 2, 0.5, 3);
  std::vector<double> weights;
  std::vector<double> x;
  std::vector<double> y;
  for (size_t i = 0; i < 25; ++i) {
    weights.push_back(static_cast<double>(1 + i % 4));
    for (size_t copy = 0; copy <= i % 4; ++copy) {
      x.push_back(table.cell(i, 0).value);
      y.push_back(table.cell(i, 1).value);
    }
  }
  EXPECT_NEAR(EstimateOf(table, weights, Coefficient::kPearson).value, PearsonR(x, y).value, 1e-12);
  EXPECT_NEAR(EstimateOf(table, weights, Coefficient::kSpearman).value, SpearmanRho(x, y).value,
              1e-12);
}

// The variance rests on derivatives with respect to the weights: here by differences.
TEST(PlanCoefficientsTest, VariancesAreThoseOfNumericalDerivatives) {
  for (const double step : {0.0, 0.7}) {
    const ScoreTable table = Abilities(18, 2, step, 5);
    std::vector<double> weights;
    double total = 0;
    for (size_t i = 0; i < 18; ++i) {
      weights.push_back(1 + 0.3 * static_cast<double>(i % 5));
      total += weights.back();
    }
    for (const Coefficient coefficient : kPlannable) {
      double sum = 0;
      for (size_t i = 0; i < 18; ++i) {
        constexpr double kStep = 1e-5;
        std::vector<double> more = weights;
        std::vector<double> less = weights;
        more[i] += kStep;
        less[i] -= kStep;
        const double derivative = (EstimateOf(table, more, coefficient).value -
                                   EstimateOf(table, less, coefficient).value) /
                                  (2 * kStep);
        sum += derivative * derivative * weights[i];
      }
      EXPECT_NEAR(EstimateOf(table, weights, coefficient).unit_variance, sum * total * 18 / 17,
                  1e-6 * sum * total)
          << PlannedTitle(coefficient) << " step " << step;
    }
  }
}

TEST(PlanCoefficientsTest, AWholeTableIsCertain) {
  const ScoreTable table = Abilities(30, 2, 0.5, 1);
  std::vector<double> x;
  std::vector<double> y;
  for (size_t i = 0; i < 30; ++i) {
    x.push_back(table.cell(i, 0).value);
    y.push_back(table.cell(i, 1).value);
  }
  for (const Coefficient coefficient : kPlannable) {
    const PairEstimate pair = EstimateOf(table, std::vector<double>(30, 1.0), coefficient);
    EXPECT_NEAR(pair.value, Correlate(coefficient, x, y).value, 1e-12);
    EXPECT_EQ(pair.interval.low, pair.value);
    EXPECT_EQ(pair.interval.high, pair.value);
  }
}

TEST(PlanCoefficientsTest, APerfectLineOfFewIsNotCertainAndAConstantIsUndefined) {
  std::vector<std::vector<double>> rows;
  for (int i = 0; i < 12; ++i) {
    rows.push_back({0.1 * i, 7 - 0.3 * i, 5});
  }
  const ScoreTable table = TableOfScores(rows);
  for (const Coefficient coefficient : kPlannable) {
    PairEstimateOptions options;
    options.coefficient = coefficient;
    const std::vector<PairEstimate> pairs = EstimatePairs(
        RankedTable(table), SampleOfAll(table, std::vector<double>(12, 4.0)), options);
    EXPECT_NEAR(pairs[0].value, -1, 1e-12);
    EXPECT_NEAR(pairs[0].interval.low, -1, 1e-2);
    EXPECT_GT(pairs[0].interval.high, -0.97) << PlannedTitle(coefficient);
    EXPECT_FALSE(pairs[1].defined);
    EXPECT_EQ(pairs[1].interval.low, -1);
    EXPECT_EQ(pairs[1].interval.high, 1);
  }
}

TEST(PlanCoefficientsTest, WhatToRunNextNamesItsCoefficient) {
  const ScoreTable table = Abilities(20, 3, 0, 2);
  NextOptions options;
  options.coefficient = Coefficient::kPearson;
  ASSERT_OK_AND_ASSIGN(const NextCells next, PlanNext(table, EqualCosts(table), options));
  EXPECT_EQ(next.half_width, 0);
  // For normal scores with r about .5: 1.96 (1 - r²) / sqrt(20) on Fisher's scale.
  EXPECT_NEAR(next.sample_half_width, 0.33, 0.12);
  EXPECT_THAT(NextTable(next, table, EqualCosts(table), options).title,
              HasSubstr("for Pearson's r within ± 0.1"));
}

// For independent lists the variance of r (normal scores) and of rho is 1 / (n - 1).
TEST(PlanCoefficientsTest, PowerIsThatOfTheCoefficient) {
  EXPECT_NEAR(HalfWidths(Coefficient::kPearson, 0, 0.95).Of(101), 0.196, 0.015);
  EXPECT_NEAR(HalfWidths(Coefficient::kSpearman, 0, 0.95).Of(101), 0.196, 0.015);
  EXPECT_NEAR(HalfWidths(Coefficient::kPearson, 0.6, 0.95).Of(101), 0.64 * 0.196, 0.015);
  EXPECT_NEAR(ShiftByNoise(Coefficient::kPearson, 0.5, 0.1), 0.05, 1e-12);
  // rho = 6/pi asin(r/2): rho = .482584 for r = .5, .433429 for r = .45.
  EXPECT_NEAR(ShiftByNoise(Coefficient::kSpearman, 0.4825837, 0.1), 0.0491545, 1e-6);
  PowerOptions options;
  options.coefficient = Coefficient::kPearson;
  ASSERT_OK_AND_ASSIGN(const Table table, PowerTable(options));
  EXPECT_THAT(table.title, HasSubstr("Pearson's r"));
  int64_t needed = 0;
  for (const TableRow& row : table.rows) {
    needed = row[0].text == "approaches" && row[4].integer == 1 ? row[1].integer : needed;
  }
  EXPECT_NEAR(needed, 386, 40);  // 1 + (1.959964 / .1)²
}

}  // namespace
}  // namespace concur::analysis
