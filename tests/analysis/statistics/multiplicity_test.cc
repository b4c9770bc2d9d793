// SPDX-License-Identifier: Apache-2.0
#include "analysis/multiplicity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace concur::analysis {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

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

}  // namespace
}  // namespace concur::analysis
