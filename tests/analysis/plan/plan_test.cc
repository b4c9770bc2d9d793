// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan/plan.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
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

std::vector<size_t> CountsByBenchmark(const CellSample& sample) {
  std::vector<size_t> counts(sample.probability.benchmarks, 0);
  for (size_t at = 0; at < sample.has.size(); ++at) {
    counts[at % counts.size()] += sample.has[at] ? 1 : 0;
  }
  return counts;
}

TEST(PlanTest, EqualCostsRunWholeApproaches) {
  const CellPlan plan(EqualCosts(EmptyTable(7, 4)), 3);
  ASSERT_EQ(plan.cells().size(), 28U);
  std::set<size_t> approaches;
  for (size_t k = 0; k < plan.cells().size(); ++k) {
    EXPECT_EQ(plan.cells()[k].approach, plan.cells()[k / 4 * 4].approach);
    approaches.insert(plan.cells()[k].approach);
  }
  EXPECT_EQ(approaches.size(), 7U);
  // The rest of the budget buys no part of an approach.
  const CellSample sample = plan.Within(14);
  EXPECT_EQ(sample.cost, 12);
  EXPECT_THAT(CountsByBenchmark(sample), Each(3U));
}

TEST(PlanTest, DependsOnTheSeedAlone) {
  const CellCosts costs = SteepCosts(EmptyTable(30, 5), 1);
  const CellPlan one(costs, 1);
  const CellPlan again(costs, 1);
  const CellPlan other(costs, 2);
  bool differs = false;
  for (size_t k = 0; k < one.cells().size(); ++k) {
    EXPECT_EQ(one.cells()[k].key, again.cells()[k].key);
    EXPECT_EQ(one.cells()[k].approach, again.cells()[k].approach);
    differs = differs || one.cells()[k].approach != other.cells()[k].approach;
  }
  EXPECT_TRUE(differs);
}

TEST(PlanTest, CheapBenchmarksAreRunForMoreApproachesAndNoBudgetIsExceeded) {
  const CellCosts costs = SteepCosts(EmptyTable(100, 5), 1);
  const CellPlan plan(costs, 1);
  for (const double share : {0.02, 0.1, 0.4, 0.9}) {
    const CellSample sample = plan.Within(share * plan.total_cost());
    EXPECT_LE(sample.cost, share * plan.total_cost());
    const std::vector<size_t> counts = CountsByBenchmark(sample);
    EXPECT_TRUE(std::is_sorted(counts.rbegin(), counts.rend()));
    EXPECT_GT(counts[0], counts[4]);
  }
  const CellSample whole = plan.Within(plan.total_cost());
  EXPECT_THAT(CountsByBenchmark(whole), Each(100U));
  EXPECT_THAT(whole.probability.values, Each(1.0));
}

// Estimates rest on this: a cell is in the sample as often as its probability says.
TEST(PlanTest, ProbabilitiesAreThoseOfTheDraw) {
  const CellCosts costs = SteepCosts(EmptyTable(12, 3), 4);
  const double threshold = CellPlan(costs, 1).cells()[18].key;
  std::vector<double> shares(36, 0.0);
  constexpr int kDraws = 4000;
  CellGrid probability;
  for (int seed = 0; seed < kDraws; ++seed) {
    const CellSample sample = CellPlan(costs, static_cast<uint64_t>(seed)).Below(threshold);
    probability = sample.probability;
    for (size_t at = 0; at < shares.size(); ++at) {
      shares[at] += sample.has[at] ? 1.0 / kDraws : 0;
    }
  }
  for (size_t at = 0; at < shares.size(); ++at) {
    EXPECT_NEAR(shares[at], probability.values[at], 0.04) << at;
  }
}

TEST(PlanTest, MissingCostsAreTheProductOfTheOthers) {
  ScoreTable costs = EmptyTable(4, 3);
  for (size_t i = 0; i < 4; ++i) {
    for (size_t b = 0; b < 3; ++b) {
      if (i != 1 || b != 2) {
        SetScore(costs, i, b, std::pow(2.0, static_cast<double>(i)) * (1 + static_cast<double>(b)));
      }
    }
  }
  const auto matched = MatchCosts(EmptyTable(5, 3), costs);
  ASSERT_TRUE(matched.ok()) << matched.status();
  EXPECT_NEAR(matched->grid.at(1, 2), 6, 1e-9);
  EXPECT_EQ(matched->grid.at(3, 1), 16);
  // The fifth approach has no cost: a typical one.
  EXPECT_GT(matched->grid.at(4, 2), 3);
  EXPECT_LT(matched->grid.at(4, 2), 24);
  EXPECT_EQ(matched->estimated, 4);
}

TEST(PlanTest, CostsThatCannotBeAreRefused) {
  ScoreTable costs = EmptyTable(3, 2);
  SetScore(costs, 0, 0, 5);
  EXPECT_THAT(MatchCosts(EmptyTable(3, 2), costs),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("benchmark \"b1\" has none")));
  SetScore(costs, 1, 1, -2);
  EXPECT_THAT(
      MatchCosts(EmptyTable(3, 2), costs),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("approach \"a1\", benchmark \"b1\"")));
}

// The definition, over all pairs of approaches.
double WeightedTauB(const ScoreTable& table, const CellSample& sample, size_t a, size_t b) {
  const auto sign = [](double x, double y) { return x < y ? -1.0 : x > y ? 1.0 : 0.0; };
  double difference = 0;
  double untied_a = 0;
  double untied_b = 0;
  for (size_t i = 0; i < table.approaches().size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (!sample.Has(i, a) || !sample.Has(i, b) || !sample.Has(j, a) || !sample.Has(j, b)) {
        continue;
      }
      const auto weight = [&](size_t k) {
        return 1 / std::min(sample.probability.at(k, a), sample.probability.at(k, b));
      };
      const double both = weight(i) * weight(j);
      const double in_a = sign(table.cell(i, a).value, table.cell(j, a).value);
      const double in_b = sign(table.cell(i, b).value, table.cell(j, b).value);
      difference += both * in_a * in_b;
      untied_a += both * in_a * in_a;
      untied_b += both * in_b * in_b;
    }
  }
  return difference / std::sqrt(untied_a * untied_b);
}

TEST(PlanTest, TauOfASampleIsTheWeightedShareOfPairs) {
  const ScoreTable table = AbilityTable(40, 5, 7);
  const CellSample sample =
      CellPlan(SteepCosts(table, 2), 5).Below(CellPlan(SteepCosts(table, 2), 5).cells()[130].key);
  for (const PairEstimate& pair : EstimatePairs(RankedTable(table), sample, {})) {
    ASSERT_TRUE(pair.defined);
    EXPECT_NEAR(pair.value, WeightedTauB(table, sample, pair.a, pair.b), 1e-12);
    EXPECT_LE(pair.interval.low, pair.pooled);
    EXPECT_GE(pair.interval.high, pair.pooled);
  }
}

TEST(PlanTest, TauOfAWholeTableIsTauBAndCertain) {
  const ScoreTable table = AbilityTable(30, 4, 1);
  const CellPlan plan(EqualCosts(table), 1);
  for (const PairEstimate& pair :
       EstimatePairs(RankedTable(table), plan.Within(plan.total_cost()), {})) {
    std::vector<double> x;
    std::vector<double> y;
    for (size_t i = 0; i < 30; ++i) {
      x.push_back(table.cell(i, pair.a).value);
      y.push_back(table.cell(i, pair.b).value);
    }
    EXPECT_NEAR(pair.value, KendallTauB(x, y).value, 1e-12);
    EXPECT_EQ(pair.interval.low, pair.value);
    EXPECT_EQ(pair.interval.high, pair.value);
    EXPECT_EQ(pair.pooled, pair.value);
  }
}

TEST(PlanTest, PerfectAgreementOfFewIsNotCertain) {
  ScoreTable table = EmptyTable(40, 2);
  for (size_t i = 0; i < 40; ++i) {
    SetScore(table, i, 0, static_cast<double>(i));
    SetScore(table, i, 1, static_cast<double>(2 * i));
  }
  const CellPlan plan(EqualCosts(table), 1);
  const std::vector<PairEstimate> pairs = EstimatePairs(RankedTable(table), plan.Within(20), {});
  EXPECT_EQ(pairs[0].value, 1);
  EXPECT_EQ(pairs[0].interval.high, 1);
  EXPECT_LT(pairs[0].interval.low, 0.95);
  // Too few approaches, or a benchmark that tells none apart, are no coefficient.
  EXPECT_FALSE(EstimatePairs(RankedTable(table), plan.Within(4), {})[0].defined);
  for (size_t i = 0; i < 40; ++i) {
    SetScore(table, i, 1, 5);
  }
  EXPECT_FALSE(EstimatePairs(RankedTable(table), plan.Within(80), {})[0].defined);
}

// Keeps the scores of the first cells of a plan.
ScoreTable Partly(const ScoreTable& table, const CellPlan& plan, size_t count) {
  ScoreTable partly = EmptyTable(table.approaches().size(), table.benchmarks().size());
  for (size_t k = 0; k < count; ++k) {
    const PlannedCell& cell = plan.cells()[k];
    partly.cell(cell.approach, cell.benchmark) = table.cell(cell.approach, cell.benchmark);
  }
  return partly;
}

TEST(PlanTest, FollowingThePlanKnowsEveryCoefficientForLessThanEveryCell) {
  const ScoreTable table = AbilityTable(80, 5, 2);
  const CellCosts costs = SteepCosts(table, 3);
  ScoreTable partly = Partly(table, CellPlan(costs, 1), 100);
  double last = 2;
  for (int round = 0; round < 20; ++round) {
    const auto next = PlanNext(partly, costs, {});
    ASSERT_TRUE(next.ok()) << next.status();
    EXPECT_TRUE(next->in_order);
    if (next->steps.empty()) {
      EXPECT_LE(next->half_width, 0.1);
      EXPECT_GT(next->cost_of_rest, 0);
      return;
    }
    EXPECT_LT(next->half_width, last + 0.1);
    last = next->half_width;
    for (const NextStep& step : next->steps) {
      for (const size_t b : step.benchmarks) {
        partly.cell(step.approach, b) = table.cell(step.approach, b);
      }
    }
  }
  FAIL() << "no end; half-width " << last;
}

TEST(PlanTest, SaysHowManyMoreApproachesASampleNeeds) {
  const ScoreTable table = AbilityTable(20, 3, 2);
  const auto next = PlanNext(table, EqualCosts(table), {});
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_TRUE(next->steps.empty());
  EXPECT_EQ(next->half_width, 0);
  EXPECT_GT(next->sample_half_width, 0.1);
  EXPECT_GT(next->approaches_more, 20);
  const Table output = NextTable(*next, table, EqualCosts(table), {});
  EXPECT_THAT(output.notes[0], HasSubstr("Stop"));
  EXPECT_THAT(output.notes[1], HasSubstr("more approaches"));
}

TEST(PlanTest, CellsThatWereStoppedEarlyAreNotPlannedAndCounted) {
  const ScoreTable table = AbilityTable(40, 3, 2);
  const CellPlan plan(EqualCosts(table), 1);
  ScoreTable partly = Partly(table, plan, 60);
  partly.cell(plan.cells()[5].approach, plan.cells()[5].benchmark).state = CellState::kStopped;
  NextOptions options;
  options.within = 0.02;
  const auto next = PlanNext(partly, EqualCosts(table), options);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->stopped, 1);
  EXPECT_EQ(next->failed, 0);
  EXPECT_THAT(NextTable(*next, partly, EqualCosts(table), options).notes,
              Contains("Cells whose settings were stopped early are not planned again: 1."));
}

TEST(PlanTest, FailedCellsAreNotPlannedAndScoresInAnotherOrderAreSaid) {
  const ScoreTable table = AbilityTable(40, 3, 2);
  const CellPlan plan(EqualCosts(table), 1);
  ScoreTable partly = Partly(table, plan, 60);
  partly.cell(plan.cells()[5].approach, plan.cells()[5].benchmark).state = CellState::kFailed;
  NextOptions options;
  options.within = 0.02;
  auto next = PlanNext(partly, EqualCosts(table), options);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->failed, 1);
  EXPECT_TRUE(next->in_order);
  for (const NextStep& step : next->steps) {
    EXPECT_NE(step.approach, plan.cells()[5].approach);
  }
  options.seed = 9;
  next = PlanNext(partly, EqualCosts(table), options);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_FALSE(next->in_order);
  options.within = 0;
  EXPECT_THAT(PlanNext(partly, EqualCosts(table), options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("within")));
}

TEST(PlanTest, CellsThatTheSweepExcludesAreNotPlanned) {
  const ScoreTable table = AbilityTable(40, 3, 2);
  const CellPlan plan(EqualCosts(table), 1);
  ScoreTable partly = Partly(table, plan, 60);
  const PlannedCell excluded = plan.cells()[60];
  const PlannedCell canceled = plan.cells()[63];
  for (const PlannedCell& cell : plan.cells()) {
    ScoreCell& of_sweep = partly.cell(cell.approach, cell.benchmark);
    if (of_sweep.state != CellState::kValue) {
      of_sweep.state = CellState::kPending;
    }
  }
  partly.cell(excluded.approach, excluded.benchmark).state = CellState::kMissing;
  ScoreCell& of_canceled = partly.cell(canceled.approach, canceled.benchmark);
  of_canceled.state = CellState::kMissing;
  of_canceled.missing = 1;
  NextOptions options;
  options.within = 0.02;
  const auto planned = [&](const PlannedCell& cell) {
    const auto next = PlanNext(partly, EqualCosts(table), options);
    EXPECT_OK(next);
    EXPECT_EQ(next->excluded, options.empty_is_excluded ? 1 : 0);
    EXPECT_EQ(next->cost_of_rest, options.empty_is_excluded ? 59 : 60);
    for (const NextStep& step : next->steps) {
      if (step.approach == cell.approach &&
          std::count(step.benchmarks.begin(), step.benchmarks.end(), cell.benchmark) > 0) {
        return true;
      }
    }
    return false;
  };
  EXPECT_TRUE(planned(excluded)) << "of a file of scores";
  options.empty_is_excluded = true;
  EXPECT_FALSE(planned(excluded));
  EXPECT_TRUE(planned(canceled)) << "can be run again";
}

// Nine approaches were enough for tau .9 ± .1, and a matrix of nine gave ± .24.
TEST(PlanTest, HalfWidthsAreThoseThatAMatrixGives) {
  EXPECT_NEAR(HalfWidths(Coefficient::kKendall, 0.9, 0.95).Of(9), 0.3, 0.08);
  EXPECT_GT(HalfWidths(Coefficient::kKendall, 0.9, 0.95).Of(5), 0.5) << "mostly in perfect order";
  // Kendall's exact variance under independence says .318, .244 and .133.
  EXPECT_NEAR(HalfWidths(Coefficient::kKendall, 0, 0.95).Of(20), 0.318, 0.05);
  EXPECT_NEAR(HalfWidths(Coefficient::kKendall, 0, 0.95).Of(32), 0.244, 0.03);
  EXPECT_NEAR(HalfWidths(Coefficient::kKendall, 0, 0.95).Of(100), 0.133, 0.01);
  EXPECT_LT(HalfWidths(Coefficient::kKendall, 0.6, 0.95).Of(20),
            HalfWidths(Coefficient::kKendall, 0, 0.95).Of(20));
}

TEST(PlanTest, PowerNamesWhatIsNeeded) {
  EXPECT_NEAR(ShiftByNoise(Coefficient::kKendall, 0.5, 0), 0, 1e-12);
  EXPECT_NEAR(ShiftByNoise(Coefficient::kKendall, 0.5, 0.5),
              0.5 - 2 / std::acos(-1.0) * std::asin(std::sqrt(0.125)), 1e-12);
  const auto table = PowerTable({});
  ASSERT_TRUE(table.ok()) << table.status();
  std::map<std::string, int64_t> needed;
  for (const TableRow& row : table->rows) {
    if (row[4].integer == 1) {
      needed[row[0].text] = row[1].integer;
    }
  }
  EXPECT_EQ(needed.size(), 3U);
  EXPECT_LE(HalfWidths(Coefficient::kKendall, 0, 0.95).Of(needed["approaches"]), 0.1);
  EXPECT_GT(HalfWidths(Coefficient::kKendall, 0, 0.95).Of(needed["approaches"] - 1), 0.1);
  EXPECT_EQ(needed["seeds"], 1);
  EXPECT_GT(needed["examples"], 100);
  PowerOptions options;
  options.accuracy = 100;
  EXPECT_THAT(PowerTable(options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("accuracy")));
}

}  // namespace
}  // namespace concur::analysis
