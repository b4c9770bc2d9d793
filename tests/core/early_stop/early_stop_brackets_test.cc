// SPDX-License-Identifier: Apache-2.0
#include "core/early_stop/early_stop_brackets.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

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

}  // namespace
}  // namespace concur
