// SPDX-License-Identifier: Apache-2.0
#include "analysis/statistics/correlation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "absl/status/status.h"
#include "base/random.h"
#include "tests/testing/sanitizers.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

using List = std::vector<double>;

TEST(CorrelationTest, KnownValues) {
  const struct {
    const char* name;
    List x;
    List y;
    double tau;
    double r;
    double rho;
  } cases[] = {
      {"same order", {1, 2, 3, 4}, {1, 4, 9, 16}, 1, 25 / std::sqrt(5 * 129.0), 1},
      {"opposite order", {1, 2, 3}, {3, 2, 1}, -1, -1, -1},
      {"two values", {1, 2}, {5, 4}, -1, -1, -1},
      {"one swap", {1, 2, 3, 4}, {2, 1, 3, 4}, 4.0 / 6, 0.8, 0.8},
      {"ties in one list",
       {1, 1, 2, 3},
       {1, 2, 3, 4},
       5 / std::sqrt(30.0),
       3.5 / std::sqrt(13.75),
       4.5 / std::sqrt(22.5)},
      {"same ties in both", {1, 1, 2, 2}, {3, 3, 7, 7}, 1, 1, 1},
      {"no relation", {1, 2, 3, 4}, {1, 4, 4, 1}, 0, 0, 0},
  };
  for (const auto& test : cases) {
    EXPECT_NEAR(KendallTauB(test.x, test.y).value, test.tau, 1e-15) << test.name;
    EXPECT_NEAR(PearsonR(test.x, test.y).value, test.r, 1e-15) << test.name;
    EXPECT_NEAR(SpearmanRho(test.x, test.y).value, test.rho, 1e-15) << test.name;
  }
}

TEST(CorrelationTest, UndefinedComesWithItsReason) {
  const struct {
    const char* name;
    List x;
    List y;
    Undefined undefined;
  } cases[] = {
      {"nothing", {}, {}, Undefined::kTooFew},
      {"one value", {1}, {2}, Undefined::kTooFew},
      {"first constant", {1, 1, 1}, {1, 2, 3}, Undefined::kFirstConstant},
      {"second constant", {1, 2, 3}, {0, -0.0, 0}, Undefined::kSecondConstant},
      {"both constant", {1, 1}, {2, 2}, Undefined::kBothConstant},
  };
  for (const auto& test : cases) {
    for (const Coefficient coefficient :
         {Coefficient::kKendall, Coefficient::kPearson, Coefficient::kSpearman}) {
      const Correlation result = Correlate(coefficient, test.x, test.y);
      EXPECT_EQ(result.undefined, test.undefined) << test.name;
      EXPECT_EQ(result.value, 0) << test.name;
      EXPECT_TRUE(std::isnan(result.p_value)) << test.name;
      EXPECT_NE(UndefinedReason(result.undefined), "") << test.name;
    }
  }
}

TEST(CorrelationTest, KendallAgreesWithCountingEveryPair) {
  for (const int n : {2, 3, 5, 10, 64, 65, 200}) {
    for (const int levels : {2, 3, 10, 1000}) {
      Random random(1, "correlation_test");
      List x(n);
      List y(n);
      for (int i = 0; i < n; ++i) {
        x[i] = static_cast<double>(random.Below(levels));
        y[i] = static_cast<double>(random.Below(levels)) - 5;
      }
      double difference = 0;
      double pairs_x = 0;
      double pairs_y = 0;
      for (int i = 0; i < n; ++i) {
        for (int j = 0; j < i; ++j) {
          const int sx = x[i] > x[j] ? 1 : x[i] < x[j] ? -1 : 0;
          const int sy = y[i] > y[j] ? 1 : y[i] < y[j] ? -1 : 0;
          difference += sx * sy;
          pairs_x += sx * sx;
          pairs_y += sy * sy;
        }
      }
      const Correlation result = KendallTauB(x, y);
      if (pairs_x == 0 || pairs_y == 0) {
        EXPECT_FALSE(result.defined());
      } else {
        EXPECT_NEAR(result.value, difference / std::sqrt(pairs_x * pairs_y), 1e-14)
            << "n=" << n << " levels=" << levels;
      }
    }
  }
}

TEST(CorrelationTest, ScaleAndExtremesDoNotMatter) {
  const List x = {1e308, -1e308, 3e307, 5e300};
  const List y = {1e-308, -1e-308, 3e-309, 5e-316};
  EXPECT_NEAR(PearsonR(x, y).value, 1, 1e-6);
  EXPECT_EQ(KendallTauB(x, y).value, 1);
}

TEST(CorrelationTest, PearsonDoesNotLoseDigitsToALargeMean) {
  Random random(3, "correlation_test");
  for (const int n : {3, 10, 40}) {
    List a(n);
    List b(n);
    for (int i = 0; i < n; ++i) {
      a[i] = static_cast<double>(random.Below(1000));
      b[i] = a[i] - static_cast<double>(random.Below(3000));
    }
    const double r = PearsonR(a, b).value;
    for (const double offset : {1e9, -1e12}) {
      List x = a;
      for (double& value : x) {
        value += offset;
      }
      EXPECT_NEAR(PearsonR(x, b).value, r, 1e-15) << offset;
    }
    List x = a;
    List y = b;
    for (int i = 0; i < n; ++i) {
      x[i] = 1 + a[i] * 0x1p-52;  // neighbours of 1: nothing is rounded
      y[i] = 1 + (b[i] + 3000) * 0x1p-52;
    }
    EXPECT_NEAR(PearsonR(x, y).value, r, 1e-15);
  }
}

TEST(CorrelationTest, SpearmansPValuesOfFewValuesAreExact) {
  const struct {
    List y;
    double p;
  } cases[] = {
      // cor.test(1:n, y, method = "spearman") of R 4.2.2.
      {{1, 2, 3, 4}, 0.083333333333333329},
      {{2, 1, 3, 4}, 0.33333333333333331},
      {{1, 3, 4, 2}, 0.75},
      {{3, 6, 1, 4, 5, 2}, 0.80277777777777781},
      {{6, 7, 2, 3, 1, 4, 5}, 0.44444444444444442},
      {{5, 1, 7, 8, 6, 2, 3, 4}, 0.7033234126984127},
      {{9, 4, 7, 1, 8, 3, 2, 5, 6}, 0.46299052028218696},
      {{2, 1, 3, 4, 5, 6, 7, 8, 9}, 4.9603174603174603e-05},
  };
  for (const auto& test : cases) {
    List x(test.y.size());
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<double>(i);
    }
    EXPECT_NEAR(SpearmanRho(x, test.y).p_value, test.p, 1e-12) << test.y.size();
  }
}

TEST(CorrelationTest, SpearmansPValuesOfTiesAreThoseOfAllOrders) {
  Random random(4, "correlation_test");
  for (int trial = 0; trial < 20; ++trial) {
    const size_t n = 3 + random.Below(testing::kSanitized ? 4 : 5);
    List x(n);
    List y(n);
    for (size_t i = 0; i < n; ++i) {
      x[i] = static_cast<double>(random.Below(4));
      y[i] = static_cast<double>(random.Below(4));
    }
    const Correlation result = SpearmanRho(x, y);
    if (!result.defined()) {
      continue;
    }
    std::vector<size_t> order(n);
    std::iota(order.begin(), order.end(), size_t{0});
    int as_far = 0;
    int all = 0;
    do {
      List other(n);
      for (size_t i = 0; i < n; ++i) {
        other[i] = y[order[i]];
      }
      ++all;
      as_far += std::abs(SpearmanRho(x, other).value) >= std::abs(result.value) - 1e-12 ? 1 : 0;
    } while (std::next_permutation(order.begin(), order.end()));
    EXPECT_NEAR(result.p_value, static_cast<double>(as_far) / all, 1e-12) << "trial " << trial;
  }
}

TEST(CorrelationTest, APerfectOrderOfManyValuesHasNoPValueOfZero) {
  List x(12);
  std::iota(x.begin(), x.end(), 0.0);
  EXPECT_NEAR(SpearmanRho(x, x).p_value, 2 / 479001600.0, 1e-20);
}

TEST(CorrelationTest, PerfectAgreementIsExactlyOne) {
  Random random(2, "correlation_test");
  for (int n = 2; n < 200; ++n) {
    List x(n);
    for (double& value : x) {
      value = static_cast<double>(random.Below(50));
    }
    x[0] = 100;
    EXPECT_EQ(KendallTauB(x, x).value, 1) << n;
    EXPECT_EQ(PearsonR(x, x).value, 1) << n;
    EXPECT_EQ(SpearmanRho(x, x).value, 1) << n;
  }
}

TEST(CorrelationTest, TiesShareTheirAverageRank) {
  EXPECT_THAT(AverageRanks(List{30, 10, 20, 10, 10}), ElementsAre(5, 2, 4, 2, 2));
  EXPECT_THAT(AverageRanks(List{}), ElementsAre());
}

TEST(CorrelationTest, CoefficientsAreNamedStrictly) {
  for (const char* name : {"kendall", "pearson", "spearman"}) {
    ASSERT_OK_AND_ASSIGN(const Coefficient coefficient, ParseCoefficient(name));
    EXPECT_EQ(CoefficientName(coefficient), name);
  }
  EXPECT_THAT(ParseCoefficient("Kendall"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("got \"Kendall\"")));
}

}  // namespace
}  // namespace concur::analysis
