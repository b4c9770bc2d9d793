// SPDX-License-Identifier: Apache-2.0
#include "analysis/line_intervals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include "analysis/intervals.h"
#include "base/random.h"

namespace concur::analysis {
namespace {

const std::vector<double>& LineX() {
  static const auto* const x = new std::vector<double>{10, 20, 30, 40, 50, 62, 75};
  return *x;
}
const std::vector<double>& LineY() {
  static const auto* const y = new std::vector<double>{12, 19, 33, 38, 51, 70, 69};
  return *y;
}

// sandwich 3.0-2 of R 4.2.2: vcovHC(lm(y ~ x), type = "HC3"), with qt(.975, 5).
TEST(LineIntervalsTest, IntervalsAreSandwichsHc3) {
  const LineIntervals intervals(LineX(), LineY(), 0.95);
  EXPECT_NEAR(intervals.Slope()->low, 0.601107588141767, 1e-12);
  EXPECT_NEAR(intervals.Slope()->high, 1.33705605957841, 1e-12);
  EXPECT_NEAR(intervals.Intercept()->low, -8.20788300640586, 1e-11);
  EXPECT_NEAR(intervals.Intercept()->high, 12.1717448784501, 1e-11);
  EXPECT_NEAR(intervals.At(45)->low, 38.1337100048776, 1e-11);
  EXPECT_NEAR(intervals.At(45)->high, 53.0475160145745, 1e-11);
}

// The squares of the ends of cor.test(x, y)$conf.int.
TEST(LineIntervalsTest, RSquaredHasTheSquareOfFishersInterval) {
  const Line line = FitLine(LineX(), LineY());
  const std::optional<Interval> interval = RSquaredInterval(line.r_squared, LineX().size(), 0.95);
  EXPECT_NEAR(interval->low, 0.770432687988738, 1e-12);
  EXPECT_NEAR(interval->high, 0.994845657748467, 1e-12);
  EXPECT_EQ(RSquaredInterval(0.01, 10, 0.95)->low, 0) << "the root may have either sign";
  EXPECT_FALSE(RSquaredInterval(0.9, 3, 0.95).has_value());
}

TEST(LineIntervalsTest, TwoPointsHaveNoInterval) {
  EXPECT_FALSE(LineIntervals({1, 2}, {1, 3}, 0.95).Slope().has_value());
  EXPECT_FALSE(LineIntervals({1, 1, 1}, {1, 2, 3}, 0.95).Slope().has_value());
  // The last point decides the line: the variance is that of equal scatter, not zero.
  EXPECT_TRUE(std::isfinite(LineIntervals({0, 0, 0, 1}, {1, 2, 3, 9}, 0.95).Slope()->low));
}

// Original scores with noise of a third of their spread: the line is too flat, the corrected one
// is not.
TEST(LineIntervalsTest, NoiseInXFlattensTheLineAndTheCorrectionUndoesIt) {
  Random random(4, "line_intervals_test");
  double plain = 0;
  double corrected = 0;
  int held = 0;
  constexpr int kTrials = 200;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> x;
    std::vector<double> y;
    for (int i = 0; i < 40; ++i) {
      const double truth = 60 + 10 * random.Normal();
      x.push_back(truth + 5 * random.Normal());
      y.push_back(5 + 0.9 * truth + 2 * random.Normal());
    }
    plain += FitLine(x, y).slope / kTrials;
    const std::optional<CorrectedLine> line =
        CorrectForNoise(x, y, std::vector<double>(x.size(), 25.0), 0.95);
    ASSERT_TRUE(line.has_value());
    corrected += line->slope / kTrials;
    held += line->slope_interval->low <= 0.9 && 0.9 <= line->slope_interval->high ? 1 : 0;
  }
  EXPECT_NEAR(plain, 0.9 * 0.8, 0.02);
  EXPECT_NEAR(corrected, 0.9, 0.04);
  EXPECT_GT(held, kTrials * 0.91);
}

TEST(LineIntervalsTest, MuchNoiseHasNoCorrection) {
  EXPECT_FALSE(
      CorrectForNoise({1, 2, 3, 4}, {1, 2, 3, 4}, std::vector<double>(4, 1.0), 0.95).has_value());
}

}  // namespace
}  // namespace concur::analysis
