// SPDX-License-Identifier: Apache-2.0
#include "analysis/statistics/line_intervals.h"

#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include "analysis/statistics/intervals.h"
#include "base/random.h"
#include "tests/testing/test.h"

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

void ExpectEnds(const std::optional<Interval>& interval, double low, double high) {
  ASSERT_TRUE(interval.has_value());
  EXPECT_NEAR(interval->low, low, 1e-7);
  EXPECT_NEAR(interval->high, high, 1e-7);
}

// The matrices of the definition in rational numbers; the errors are those of sandwich 3.0-2 of R
// 4.2.2, vcovHC(lm(y ~ x), type = "HC3").
TEST(LineIntervalsTest, IntervalsHaveHc3ErrorsAndSatterthwaitesDegrees) {
  const LineIntervals intervals(LineX(), LineY(), {}, 0.95);
  ExpectEnds(intervals.Slope(), 0.4599697609064245, 1.4781938868137505);
  ExpectEnds(intervals.Intercept(), -12.720514467451675, 16.684376339495934);
  ExpectEnds(intervals.At(45), 37.330446095401854, 53.85077992405027);
}

TEST(LineIntervalsTest, FamiliesAreLeftOutWhole) {
  const LineIntervals intervals(LineX(), LineY(), {7, 7, 1, 2, 2, 3, 4}, 0.95);
  ExpectEnds(intervals.Slope(), 0.21212831584005631, 1.7260353318801185);
  ExpectEnds(intervals.Intercept(), -35.23244014079396, 39.196302012838224);
  ExpectEnds(intervals.At(45), 35.25439981047845, 55.92682620897367);
  EXPECT_FALSE(LineIntervals(LineX(), LineY(), {0, 0, 0, 0, 1, 1, 1}, 0.95).Slope().has_value())
      << "two families vary in nothing but their difference";
  EXPECT_FALSE(
      LineIntervals({1, 1, 1, 1, 2, 3}, {1, 2, 3, 4, 5, 7}, {0, 0, 1, 1, 2, 2}, 0.95).Slope())
      << "one family decides the line alone";
}

// The squares of the ends of cor.test(x, y)$conf.int.
TEST(LineIntervalsTest, RSquaredHasTheSquareOfFishersInterval) {
  const std::optional<Interval> interval = RSquaredInterval(LineX(), LineY(), {}, 0.95);
  EXPECT_NEAR(interval->low, 0.770432687988738, 1e-12);
  EXPECT_NEAR(interval->high, 0.994845657748467, 1e-12);
  EXPECT_EQ(RSquaredInterval({1, 2, 3, 4, 5}, {3, 1, 4, 2, 3}, {}, 0.95)->low, 0)
      << "the root may have either sign";
  EXPECT_FALSE(RSquaredInterval({1, 2, 3}, {1, 3, 2}, {}, 0.95).has_value());
}

// Families of one point change nothing; relatives, which agree on r, tell less of it.
TEST(LineIntervalsTest, RSquaredOfFamiliesIsThatOfTheJackknife) {
  const std::vector<double> x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  const std::vector<double> y = {2, 1, 4, 3, 5, 8, 6, 7, 10, 9};
  const std::optional<Interval> alone =
      RSquaredInterval(x, y, {9, 8, 7, 6, 5, 4, 3, 2, 1, 0}, 0.95);
  EXPECT_EQ(alone->low, RSquaredInterval(x, y, {}, 0.95)->low);
  const std::optional<Interval> families =
      RSquaredInterval(x, y, {0, 0, 1, 1, 2, 2, 3, 3, 4, 4}, 0.95);
  ASSERT_TRUE(families.has_value());
  EXPECT_GE(families->low, 0);
  EXPECT_LE(families->high, 1);
  EXPECT_NE(families->low, alone->low);
  EXPECT_FALSE(RSquaredInterval(x, y, {0, 0, 0, 0, 1, 1, 1, 2, 2, 2}, 0.95).has_value());
}

TEST(LineIntervalsTest, TwoPointsHaveNoInterval) {
  EXPECT_FALSE(LineIntervals({1, 2}, {1, 3}, {}, 0.95).Slope().has_value());
  EXPECT_FALSE(LineIntervals({1, 1, 1}, {1, 2, 3}, {}, 0.95).Slope().has_value());
  // The last point decides the line: the variance is that of equal scatter, not zero.
  EXPECT_TRUE(std::isfinite(LineIntervals({0, 0, 0, 1}, {1, 2, 3, 9}, {}, 0.95).Slope()->low));
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
        CorrectForNoise(x, y, std::vector<double>(x.size(), 25.0), {}, 0.95);
    ASSERT_TRUE(line.has_value());
    corrected += line->slope / kTrials;
    held += line->slope_interval->low <= 0.9 && 0.9 <= line->slope_interval->high ? 1 : 0;
  }
  EXPECT_NEAR(plain, 0.9 * 0.8, 0.02);
  EXPECT_NEAR(corrected, 0.9, 0.04);
  EXPECT_GT(held, kTrials * 0.91);
}

TEST(LineIntervalsTest, MuchNoiseHasNoCorrection) {
  EXPECT_FALSE(CorrectForNoise({1, 2, 3, 4}, {1, 2, 3, 4}, std::vector<double>(4, 1.0), {}, 0.95)
                   .has_value());
}

}  // namespace
}  // namespace concur::analysis
