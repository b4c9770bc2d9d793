// SPDX-License-Identifier: Apache-2.0
#include "bench/replays/plan_replay.h"

#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "analysis/plan/plan.h"
#include "analysis/score_table.h"
#include "analysis/statistics/coefficient.h"
#include "bench/replays/until_replay.h"
#include "tests/analysis/plan/plan_tables.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

TEST(ReplayPlansTest, ReplaysBeatRandomRowsAndIntervalsHold) {
  const ScoreTable table = AbilityTable(80, 10, 3);
  ReplayOptions options;
  options.budgets = {0.15, 0.3};
  options.replays = 60;
  for (const bool steep : {false, true}) {
    const auto points =
        ReplayPlans(table, steep ? SteepCosts(table, 6) : EqualCosts(table), options);
    ASSERT_TRUE(points.ok()) << points.status();
    for (const ReplayPoint& point : *points) {
      EXPECT_LT(point.planned.mean_abs_error, (steep ? 0.7 : 1) * point.rows.mean_abs_error);
      EXPECT_LT(point.rows.mean_abs_error, point.cells.mean_abs_error);
      EXPECT_GE(point.planned.coverage, 0.93) << (steep ? "steep " : "equal ") << point.budget;
      EXPECT_LE(point.planned.cost, point.budget + 1e-9);
    }
  }
}

TEST(ReplayPlansTest, ReplaysDoNotDependOnTheOrderOfWork) {
  const ScoreTable table = AbilityTable(20, 4, 3);
  ReplayOptions options;
  options.replays = 7;
  const auto forwards = ReplayPlans(table, SteepCosts(table, 6), options);
  options.parallel_for = [](size_t count, const std::function<void(size_t)>& body) {
    for (size_t i = count; i-- > 0;) {
      body(i);
    }
  };
  const auto backwards = ReplayPlans(table, SteepCosts(table, 6), options);
  ASSERT_TRUE(forwards.ok() && backwards.ok());
  EXPECT_EQ(ReplayJson(*forwards), ReplayJson(*backwards));
}

TEST(ReplayPlansTest, ReplaysOfWhatCannotBeReplayedAreRefused) {
  ScoreTable table = AbilityTable(20, 3, 3);
  ReplayOptions options;
  options.budgets = {1.5};
  EXPECT_THAT(ReplayPlans(table, EqualCosts(table), options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("budgets")));
  options.budgets = {0.5};
  options.replays = 0;
  EXPECT_THAT(ReplayPlans(table, EqualCosts(table), options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("replays")));
  options.replays = 5;
  table.cell(4, 1) = ScoreCell();
  EXPECT_THAT(ReplayPlans(table, EqualCosts(table), options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("approach \"a4\" has no score on \"b1\"")));
  const ScoreTable small = AbilityTable(4, 3, 3);
  EXPECT_THAT(ReplayPlans(small, EqualCosts(small), options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at least 5 approaches")));
}

TEST(ReplayPlansTest, IntervalsOfOtherCoefficientsHoldAndPlansBeatRandomRows) {
  const ScoreTable table = Abilities(80, 10, 0, 3);
  CellCosts costs = EqualCosts(table);
  for (size_t i = 0; i < 80; ++i) {
    for (size_t b = 0; b < 10; ++b) {
      costs.grid.at(i, b) = std::pow(2.0, static_cast<double>(b));
    }
  }
  for (const Coefficient coefficient : {Coefficient::kPearson, Coefficient::kSpearman}) {
    ReplayOptions options;
    options.coefficient = coefficient;
    options.budgets = {0.2, 0.4};
    options.replays = 60;
    ASSERT_OK_AND_ASSIGN(const std::vector<ReplayPoint> points, ReplayPlans(table, costs, options));
    for (const ReplayPoint& point : points) {
      EXPECT_LT(point.planned.mean_abs_error, 0.8 * point.rows.mean_abs_error);
      EXPECT_GE(point.planned.coverage, 0.93) << PlannedTitle(coefficient) << " " << point.budget;
      EXPECT_GE(point.rows.coverage, 0.92) << PlannedTitle(coefficient) << " " << point.budget;
    }
    EXPECT_THAT(ReplayTable(points, table, costs, options).title,
                HasSubstr(std::string(PlannedTitle(coefficient))));
  }
}

TEST(ReplayPlansTest, TheTableSaysThatSettingsWereChosenOnTheTestSet) {
  ScoreTable table = AbilityTable(6, 2, 3);
  table.SetChoice(0, {"test", {}});
  EXPECT_THAT(ReplayTable({}, table, EqualCosts(table), {}).notes,
              Contains(HasSubstr("Settings were chosen on the test")).Times(1));
}

TEST(ReplayUntilTest, IntervalsHoldAtTheTimeOfStoppingAndStoppingSaves) {
  const ScoreTable table = AbilityTable(150, 3, 5);
  for (const Coefficient coefficient :
       {Coefficient::kKendall, Coefficient::kPearson, Coefficient::kSpearman}) {
    SCOPED_TRACE(PlannedTitle(coefficient));
    UntilOptions options;
    options.rule = {coefficient, 0.15};
    ASSERT_OK_AND_ASSIGN(const UntilReplay replay, ReplayUntil(table, EqualCosts(table), options));
    EXPECT_GE(replay.coverage, 0.95);
    EXPECT_GE(replay.all_hold, 0.93);
    EXPECT_LT(replay.cost, 0.85);
    EXPECT_LE(replay.half_width, 0.15);
    ASSERT_OK_AND_ASSIGN(const UntilReplay again, ReplayUntil(table, EqualCosts(table), options));
    EXPECT_EQ(again.cost, replay.cost);
    EXPECT_EQ(again.coverage, replay.coverage);
  }
}

// A width that nothing but the whole table has: every cell is run, and nothing is uncertain.
TEST(ReplayUntilTest, WhatCannotBeKnownEarlierIsRunWhole) {
  const ScoreTable table = AbilityTable(30, 3, 5);
  UntilOptions options;
  options.rule.within = 0.001;
  options.replays = 20;
  ASSERT_OK_AND_ASSIGN(const UntilReplay replay, ReplayUntil(table, EqualCosts(table), options));
  EXPECT_EQ(replay.whole, 1);
  EXPECT_EQ(replay.cost, 1);
  EXPECT_EQ(replay.coverage, 1);
  EXPECT_EQ(replay.mean_abs_error, 0);
}

TEST(ReplayUntilTest, AnIncompleteTableAndAWidthOutOfRangeAreRefused) {
  ScoreTable table = AbilityTable(30, 3, 5);
  UntilOptions options;
  options.rule.within = 1;
  EXPECT_THAT(ReplayUntil(table, EqualCosts(table), options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("within")));
  table.cell(3, 1).state = CellState::kMissing;
  EXPECT_THAT(ReplayUntil(table, EqualCosts(table), UntilOptions()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has no score on \"b1\"")));
}

}  // namespace
}  // namespace concur::analysis
