// SPDX-License-Identifier: Apache-2.0
#include "analysis/statistics/intervals.h"

#include <cmath>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

TEST(IntervalsTest, ClopperPearsonEndsAreTheTailsOfTheBinomial) {
  // With k = n the lower end solves low^n = tail, with k = 0 the upper one (1 - high)^n = tail.
  ASSERT_OK_AND_ASSIGN(const Interval all, ClopperPearson(10, 10, 0.95));
  EXPECT_NEAR(all.low, std::pow(0.025, 0.1), 1e-14);
  EXPECT_EQ(all.high, 1);
  ASSERT_OK_AND_ASSIGN(const Interval none, ClopperPearson(0, 10, 0.95));
  EXPECT_EQ(none.low, 0);
  EXPECT_NEAR(none.high, 1 - std::pow(0.025, 0.1), 1e-14);
}

TEST(IntervalsTest, ClopperPearsonTailsHoldForEveryCount) {
  constexpr int kN = 17;
  const auto choose = [](int n, int k) {
    return std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1));
  };
  for (int k = 1; k < kN; ++k) {
    ASSERT_OK_AND_ASSIGN(const Interval interval, ClopperPearson(k, kN, 0.9));
    double at_least = 0;
    double at_most = 0;
    for (int i = 0; i <= kN; ++i) {
      const auto mass = [&](double p) {
        return choose(kN, i) * std::pow(p, i) * std::pow(1 - p, kN - i);
      };
      at_least += i >= k ? mass(interval.low) : 0;
      at_most += i <= k ? mass(interval.high) : 0;
    }
    EXPECT_NEAR(at_least, 0.05, 1e-12) << k;
    EXPECT_NEAR(at_most, 0.05, 1e-12) << k;
  }
}

TEST(IntervalsTest, ClopperPearsonRefusesImpossibleCounts) {
  for (const auto& [successes, n] : std::vector<std::pair<int, int>>{{-1, 5}, {6, 5}, {0, 0}}) {
    EXPECT_THAT(ClopperPearson(successes, n, 0.95),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("successes")));
  }
  for (const double level : {0.0, 1.0, -0.1, std::nan("")}) {
    EXPECT_THAT(ClopperPearson(1, 2, level),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("level")));
  }
}

TEST(IntervalsTest, MeanIntervalIsStudents) {
  // t(0.975; 4) = 2.7764451051977987; mean 3, sd sqrt(2.5).
  ASSERT_OK_AND_ASSIGN(const Interval interval,
                       MeanInterval(std::vector<double>{1, 2, 3, 4, 5}, 0.95));
  const double half = 2.7764451051977987 * std::sqrt(2.5) / std::sqrt(5.0);
  EXPECT_NEAR(interval.low, 3 - half, 1e-12);
  EXPECT_NEAR(interval.high, 3 + half, 1e-12);
}

TEST(IntervalsTest, EqualValuesHaveNoSpread) {
  ASSERT_OK_AND_ASSIGN(const Interval interval, MeanInterval(std::vector<double>(7, 0.1), 0.95));
  EXPECT_EQ(interval.low, 0.1);
  EXPECT_EQ(interval.high, 0.1);
}

TEST(IntervalsTest, MeanIntervalNeedsTwoFiniteValues) {
  EXPECT_THAT(MeanInterval(std::vector<double>{}, 0.95),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at least 2 values, got 0")));
  EXPECT_THAT(MeanInterval(std::vector<double>{1}, 0.95),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at least 2 values, got 1")));
  EXPECT_THAT(MeanInterval(std::vector<double>{1, std::numeric_limits<double>::infinity()}, 0.95),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("value 2")));
}

}  // namespace
}  // namespace concur::analysis
