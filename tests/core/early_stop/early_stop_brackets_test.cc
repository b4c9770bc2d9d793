// SPDX-License-Identifier: Apache-2.0
#include "core/early_stop_brackets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/early_stop_replay.h"

namespace concur {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

EarlyStopRule Hyperband(int64_t min, int64_t max, int64_t eta) {
  return {.method = EarlyStopMethod::kHyperband, .min = min, .max = max, .eta = eta};
}

TEST(EarlyStopBracketsTest, EachRungBeginsABracketAndInTheLastNothingStops) {
  const EarlyStopBrackets brackets(Hyperband(1, 27, 3), 49);
  ASSERT_THAT(brackets.rules(), SizeIs(4));
  std::vector<int64_t> mins;
  std::vector<uint32_t> sizes;
  for (uint32_t b = 0; b < 4; ++b) {
    EXPECT_EQ(brackets.rules()[b].method, EarlyStopMethod::kAsha);
    EXPECT_EQ(brackets.rules()[b].max, 27);
    mins.push_back(brackets.rules()[b].min);
    sizes.push_back(brackets.SizeOf(b, 49));
  }
  EXPECT_THAT(mins, ElementsAre(1, 3, 9, 27));
  EXPECT_THAT(sizes, ElementsAre(27, 12, 6, 4)) << "what the publication takes for max 27";
}

TEST(EarlyStopBracketsTest, MoreSettingsMoveNoneToAnotherBracket) {
  const EarlyStopRule rule = Hyperband(1, 100, 3);
  const EarlyStopBrackets many(rule, 200);
  for (uint32_t settings = 0; settings <= 200; ++settings) {
    const EarlyStopBrackets brackets(rule, settings);
    uint32_t sum = 0;
    for (uint32_t b = 0; b < brackets.rules().size(); ++b) {
      EXPECT_EQ(brackets.SizeOf(b, settings), many.SizeOf(b, settings));
      EXPECT_EQ(b<many.CountFor(settings), many.SizeOf(b, settings)> 0);
      sum += many.SizeOf(b, settings);
    }
    EXPECT_EQ(sum, settings);
    for (uint32_t setting = 0; setting < settings; ++setting) {
      const EarlyStopBrackets::Place place = many.PlaceOf(setting);
      EXPECT_EQ(brackets.PlaceOf(setting), place);
      EXPECT_EQ(many.SettingAt(place), setting);
    }
  }
  EXPECT_EQ(many.PlaceOf(0).bracket, 0u);
}

TEST(EarlyStopBracketsTest, OtherMethodsHaveOneBracketOfTheirOwnRule) {
  for (const EarlyStopMethod method : {EarlyStopMethod::kAsha, EarlyStopMethod::kMedian}) {
    EarlyStopRule rule = Hyperband(2, 27, 3);
    rule.method = method;
    const EarlyStopBrackets brackets(rule, 5);
    ASSERT_THAT(brackets.rules(), SizeIs(1));
    EXPECT_EQ(brackets.rules()[0].method, method);
    EXPECT_EQ(brackets.PlaceOf(4), (EarlyStopBrackets::Place{0, 4}));
  }
}

TEST(EarlyStopBracketsTest, TheLargestRulesHaveBrackets) {
  const EarlyStopBrackets brackets(Hyperband(1, int64_t{1} << 53, 2), 1'000);
  EXPECT_THAT(brackets.rules(), SizeIs(54));
  EXPECT_EQ(EarlyStopBrackets(Hyperband(5, 5, 2), 3).rules()[0].min, 5);
}

// Two curves that are best only late: one that every rung stops, beside many that start well.
TEST(EarlyStopBracketsTest, ALateRiserIsSelectedWhereHalvingAloneStopsIt) {
  std::vector<LearningCurve> curves;
  for (uint32_t s = 0; s < 13; ++s) {
    LearningCurve& curve = curves.emplace_back();
    for (int64_t step = 1; step <= 9; ++step) {
      curve.points.push_back({step, 50.0 + s});
    }
  }
  const EarlyStopRule rule = Hyperband(1, 9, 3);
  const EarlyStopBrackets brackets(rule, 13);
  const uint32_t late = brackets.SettingAt({2, 0});  // where nothing stops
  for (LearningCurve::Point& point : curves[late].points) {
    point.value = point.step < 9 ? 10 : 90;
  }
  EarlyStopRule halving = rule;
  halving.method = EarlyStopMethod::kAsha;
  EXPECT_NE(ReplayEarlyStop(halving, curves, 4).selected, late);
  const EarlyStopReplay replay = ReplayEarlyStop(rule, curves, 4);
  EXPECT_EQ(replay.selected, late);
  EXPECT_EQ(replay.selected_value, 90);
  EXPECT_LT(replay.cost, replay.full_cost);
}

// Against the definition: each bracket decides as an EarlyStop of its settings alone.
TEST(EarlyStopBracketsTest, AReplayIsThatOfEachBracketByItself) {
  const EarlyStopRule rule = Hyperband(1, 9, 3);
  const EarlyStopBrackets brackets(rule, 20);
  std::vector<LearningCurve> curves(20);
  for (uint32_t s = 0; s < 20; ++s) {
    for (int64_t step = 1; step <= 9; ++step) {
      curves[s].points.push_back({step, static_cast<double>((s * 7 + 3) % 20) + 0.1 * step});
    }
  }
  double cost = 0;
  uint32_t finished = 0;
  for (uint32_t b = 0; b < brackets.rules().size(); ++b) {
    std::vector<LearningCurve> own;
    for (uint32_t number = 0; number < brackets.SizeOf(b, 20); ++number) {
      own.push_back(curves[brackets.SettingAt({b, number})]);
    }
    const EarlyStopReplay replay = ReplayEarlyStop(brackets.rules()[b], own, 1);
    cost += replay.cost;
    finished += replay.finished;
  }
  const EarlyStopReplay whole = ReplayEarlyStop(rule, curves, 1);
  EXPECT_EQ(whole.cost, cost);
  EXPECT_EQ(whole.finished, finished);
  EXPECT_EQ(whole.selected, whole.best);
}

}  // namespace
}  // namespace concur
