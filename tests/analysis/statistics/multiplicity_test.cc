// SPDX-License-Identifier: Apache-2.0
#include "analysis/statistics/multiplicity.h"

#include <cmath>
#include <limits>
#include <vector>

#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

// Holm's step-down (1979), worked by hand.
TEST(MultiplicityTest, HolmStepsDownAndNeverFalls) {
  EXPECT_THAT(HolmAdjusted({0.01, 0.04, 0.03, 0.005}),
              ElementsAre(DoubleNear(0.03, 1e-15), DoubleNear(0.06, 1e-15), DoubleNear(0.06, 1e-15),
                          DoubleNear(0.02, 1e-15)));
  EXPECT_THAT(HolmAdjusted({0.9, 0.6}), ElementsAre(1.0, 1.0));
  EXPECT_THAT(HolmAdjusted({}), IsEmpty());
}

TEST(MultiplicityTest, HolmDoesNotCountTestsThatWereNotMade) {
  const std::vector<double> adjusted =
      HolmAdjusted({0.02, std::numeric_limits<double>::quiet_NaN(), 0.03});
  EXPECT_DOUBLE_EQ(adjusted[0], 0.04);
  EXPECT_TRUE(std::isnan(adjusted[1]));
  EXPECT_DOUBLE_EQ(adjusted[2], 0.04);
}

// p.adjust(c(.01, .04, .03, .005, .5, .041), method) of R 4.2.2.
TEST(MultiplicityTest, AdjustedPValuesAreThoseOfR) {
  const std::vector<double> p = {0.01, 0.04, 0.03, 0.005, 0.5, 0.041};
  const std::vector<double> bh = {0.0300, 0.0492, 0.0492, 0.0300, 0.5000, 0.0492};
  const std::vector<double> holm = {0.05, 0.12, 0.12, 0.03, 0.50, 0.12};
  const std::vector<double> our_bh = BenjaminiHochbergAdjusted(p);
  const std::vector<double> our_holm = HolmAdjusted(p);
  for (size_t i = 0; i < p.size(); ++i) {
    EXPECT_NEAR(our_bh[i], bh[i], 1e-15);
    EXPECT_NEAR(our_holm[i], holm[i], 1e-15);
  }
}

// The most and the least of 45 equal taus had intervals that held them in 62 to 83 %.
TEST(MultiplicityTest, IntervalsOfExtremesAllowForTheChoice) {
  const Interval plain{0.2, 0.8};
  const Interval two = IntervalOfExtreme(plain, 0.6, 0.95, 2);
  EXPECT_DOUBLE_EQ(two.low, plain.low) << "both were chosen";
  EXPECT_DOUBLE_EQ(two.high, plain.high);
  // The level of two statements among 45 pairs is 1 - 2 * .05 / 45: qnorm(1 - .05 / 45) of R.
  const Interval chosen = IntervalOfExtreme(plain, 0.6, 0.95, 45);
  const double stretch = 3.058 / 1.95996;
  EXPECT_NEAR(std::atanh(0.6) - std::atanh(chosen.low),
              stretch * (std::atanh(0.6) - std::atanh(0.2)), 1e-3);
  EXPECT_NEAR(std::atanh(chosen.high) - std::atanh(0.6),
              stretch * (std::atanh(0.8) - std::atanh(0.6)), 1e-3);
  EXPECT_EQ(IntervalOfExtreme({0.5, 1}, 0.9, 0.95, 45).high, 1);
  EXPECT_EQ(IntervalOfExtreme({1, 1}, 1, 0.95, 45).low, 1);
}

}  // namespace
}  // namespace concur::analysis
