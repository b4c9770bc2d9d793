// SPDX-License-Identifier: Apache-2.0
#include "base/decimal.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "absl/strings/numbers.h"
#include "base/random.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

TEST(DecimalTest, NumbersArePrintedWithTheFewestDigits) {
  EXPECT_EQ(ShortestDecimal(0.1), "0.1");
  EXPECT_EQ(ShortestDecimal(100), "100");
  EXPECT_EQ(ShortestDecimal(-1e-300), "-1e-300");
  EXPECT_EQ(ShortestDecimal(100.0 / 3), "33.333333333333336");
  EXPECT_EQ(ShortestDecimal(std::numeric_limits<double>::quiet_NaN()), "");
  EXPECT_EQ(ShortestDecimal(-std::numeric_limits<double>::infinity()), "");
  std::string text = "x=";
  AppendShortestDecimal(-std::numeric_limits<double>::denorm_min(), &text);
  EXPECT_EQ(text, "x=-5e-324");
}

TEST(DecimalTest, EveryNumberReadsBackAsItself) {
  Random random(1, "decimal");
  for (int i = 0; i < 10'000; ++i) {
    const uint64_t bits = random.Next();
    double value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    double again = 0;
    if (std::isfinite(value)) {
      ASSERT_TRUE(absl::SimpleAtod(ShortestDecimal(value), &again)) << bits;
      EXPECT_EQ(again, value) << bits;
    }
  }
}

}  // namespace
}  // namespace concur
