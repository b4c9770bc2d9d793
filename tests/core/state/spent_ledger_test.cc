// SPDX-License-Identifier: Apache-2.0
#include "core/state/spent_ledger.h"

#include <limits>

#include "tests/testing/test.h"

namespace concur {
namespace {

using ::testing::Optional;

constexpr absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

Spent Usd(int64_t dollars) { return {.usd_micros = dollars * kUsdMicros}; }

TEST(SpentTest, NumbersThatCannotBeAreRefused) {
  EXPECT_EQ(*SpentOf("usd", 0.25), Spent{.usd_micros = 250'000});
  EXPECT_EQ(*SpentOf("tokens_in", 1e12), Spent{.tokens_in = kSpentMax});
  EXPECT_EQ(*SpentOf("tokens_out", 0), Spent());
  for (const double value : {-0.01, 1e300, std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity()}) {
    for (const char* name : {"usd", "tokens_in", "tokens_out"}) {
      EXPECT_THAT(SpentOf(name, value), StatusIs(absl::StatusCode::kInvalidArgument,
                                                 HasSubstr("expected what the attempt has spent")))
          << value;
    }
  }
  EXPECT_FALSE(SpentOf("usd", 1'000'001).ok());
}

TEST(SpentTest, SmallAmountsOfMoneySaySomething) {
  EXPECT_EQ(UsdText(0), "$0.00");
  EXPECT_EQ(UsdText(0.00123), "$0.0012");
  EXPECT_EQ(UsdText(12.345), "$12.35");
}

TEST(SpentLedgerTest, TheLargestReportOfEachAttemptCountsOnce) {
  SpentLedger ledger;
  EXPECT_NE(ledger.Report(0, 1, Usd(2), kNow), nullptr);
  EXPECT_EQ(ledger.Report(0, 1, Usd(2), kNow), nullptr);
  EXPECT_EQ(ledger.Report(0, 1, Usd(1), kNow), nullptr);
  EXPECT_EQ(ledger.Report(0, 1, Spent(), kNow), nullptr);
  EXPECT_NE(ledger.Report(0, 2, Usd(5), kNow), nullptr);
  EXPECT_NE(ledger.Report(0, 1, {.tokens_in = 7}, kNow), nullptr);
  EXPECT_EQ(ledger.total(), (Spent{.tokens_in = 7, .usd_micros = 7 * kUsdMicros}));
  EXPECT_EQ(ledger.Of(0).size(), 2u);
  EXPECT_TRUE(ledger.Of(1).empty());
}

TEST(SpentLedgerTest, AJobCostsWhatSuchJobsHaveElseItsApproachElseAll) {
  SpentLedger ledger;
  const SpentLedger::Kind kind{.is_train = false, .approach = 0, .group = 3};
  const SpentLedger::Kind other_group{.is_train = false, .approach = 0, .group = 4};
  const SpentLedger::Kind other_approach{.is_train = false, .approach = 1, .group = 5};
  const SpentLedger::Kind train{.is_train = true, .approach = 0, .group = 6};
  EXPECT_EQ(ledger.MeanUsdMicros(kind), std::nullopt);
  ledger.Report(0, 1, Usd(1), kNow);
  ledger.Report(0, 2, Usd(2), kNow);
  ledger.AddFinished(0, kind);
  ledger.AddFinished(1, kind);  // it cost nothing
  ledger.Report(2, 1, Usd(9), kNow);
  ledger.AddFinished(2, other_group);
  EXPECT_THAT(ledger.MeanUsdMicros(kind), Optional(Eq(kUsdMicros * 3 / 2)));
  EXPECT_THAT(ledger.MeanUsdMicros({false, 0, 7}), Optional(Eq(4 * kUsdMicros)));
  EXPECT_THAT(ledger.MeanUsdMicros(other_approach), Optional(Eq(4 * kUsdMicros)));
  EXPECT_EQ(ledger.MeanUsdMicros(train), std::nullopt);
  ledger.RemoveFinished(0, kind);
  ledger.RemoveFinished(1, kind);
  EXPECT_THAT(ledger.MeanUsdMicros(kind), Optional(Eq(9 * kUsdMicros)));
}

}  // namespace
}  // namespace concur
