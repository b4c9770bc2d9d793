// SPDX-License-Identifier: Apache-2.0
#include "core/state/backoffs.h"

#include <optional>

#include "tests/testing/test.h"

namespace concur {
namespace {

constexpr JobId kFirst{{1}, 0};
constexpr JobId kSecond{{1}, 1};
constexpr JobId kThird{{2}, 0};

absl::Time At(int64_t seconds) { return absl::FromUnixSeconds(seconds); }

TEST(BackoffsTest, JobsComeInTheOrderInWhichTheirWaitsEnd) {
  Backoffs backoffs;
  EXPECT_EQ(backoffs.NextEnd(), absl::InfiniteFuture());
  backoffs.Add(kThird, At(10));
  backoffs.Add(kSecond, At(20));
  backoffs.Add(kFirst, At(20));
  EXPECT_EQ(backoffs.NextEnd(), At(10));
  EXPECT_EQ(backoffs.FirstEnded(At(9)), std::nullopt);
  EXPECT_EQ(backoffs.FirstEnded(At(10)), kThird);
  backoffs.Remove(kThird);
  EXPECT_EQ(backoffs.FirstEnded(At(19)), std::nullopt);
  EXPECT_EQ(backoffs.FirstEnded(At(30)), kFirst) << "of two that end at once, the lower job";
  backoffs.Remove(kFirst);
  EXPECT_EQ(backoffs.FirstEnded(At(30)), kSecond);
  backoffs.CheckInvariants();
}

TEST(BackoffsTest, AJobThatIsRemovedNoLongerWaits) {
  Backoffs backoffs;
  backoffs.Add(kFirst, At(10));
  EXPECT_EQ(backoffs.EndOf(kFirst), At(10));
  backoffs.Remove(kFirst);
  EXPECT_EQ(backoffs.EndOf(kFirst), std::nullopt);
  EXPECT_EQ(backoffs.size(), 0u);
  backoffs.Add(kFirst, At(30));
  EXPECT_EQ(backoffs.EndOf(kFirst), At(30));
  backoffs.CheckInvariants();
}

TEST(BackoffsTest, WaitsDoubleUpToTheLongestAndVaryByAQuarter) {
  RetryPolicy retry;
  retry.backoff_min = absl::Seconds(4);
  retry.backoff_max = absl::Seconds(20);
  for (uint32_t attempt = 1; attempt < 50; ++attempt) {
    const auto wait = [&](int failures) {
      return absl::ToDoubleSeconds(
          Backoffs::WaitAfter(retry, failures, {kFirst, {attempt}}, /*seed=*/1));
    };
    EXPECT_NEAR(wait(1), 4, 1);
    EXPECT_NEAR(wait(2), 8, 2);
    EXPECT_NEAR(wait(3), 16, 4);
    EXPECT_NEAR(wait(4), 20, 5);
    EXPECT_NEAR(wait(1000), 20, 5);
    EXPECT_LE(absl::Seconds(wait(4)), Backoffs::LongestWait(retry));
    EXPECT_EQ(wait(2), wait(2));
  }
  EXPECT_NE(Backoffs::WaitAfter(retry, 1, {kFirst, {1}}, 1),
            Backoffs::WaitAfter(retry, 1, {kFirst, {2}}, 1));
}

}  // namespace
}  // namespace concur
