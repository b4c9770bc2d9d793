// SPDX-License-Identifier: Apache-2.0
#include "core/leases.h"

#include <gtest/gtest.h>

namespace concur {
namespace {

constexpr JobId kJob{{1}, 7};

TEST(LeasesTest, AHolderIsAWorkerProcessAndKeepsItsNumber) {
  Leases leases;
  const uint32_t first = leases.AddHolder("w", "1");
  const uint32_t second = leases.AddHolder("w", "2");
  EXPECT_NE(first, second);
  EXPECT_EQ(leases.AddHolder("w", "1"), first);
  EXPECT_EQ(leases.WorkerOf(second), "w");
  EXPECT_EQ(leases.holder(second).incarnation, "2");
  leases.CheckInvariants();
}

TEST(LeasesTest, ALeaseIsThereFromItsBeginningToItsEnd) {
  Leases leases;
  EXPECT_EQ(leases.Find(kJob), nullptr);
  leases.Begin(kJob, {.holder = leases.AddHolder("w", "1"), .gpu_mask = 3, .key = Sha256Of("k")});
  ASSERT_NE(leases.Find(kJob), nullptr);
  EXPECT_EQ(leases.Find(kJob)->gpu_mask, 3u);
  EXPECT_EQ(leases.size(), 1u);
  EXPECT_EQ(leases.End(kJob).key, Sha256Of("k"));
  EXPECT_EQ(leases.Find(kJob), nullptr);
  leases.CheckInvariants();
}

TEST(LeasesTest, AJobThatRunsAgainIsNoLongerLost) {
  Leases leases;
  const uint32_t first = leases.AddHolder("w", "1");
  const uint32_t second = leases.AddHolder("v", "1");
  leases.AddLost(kJob, {.holder = first, .gpu_mask = 1});
  leases.AddLost(kJob, {.holder = second, .gpu_mask = 2});
  ASSERT_NE(leases.FindLost(kJob), nullptr);
  EXPECT_EQ(leases.FindLost(kJob)->holder, second) << "the latest counts";
  leases.Begin(kJob, {.holder = first, .gpu_mask = 0, .key = {}});
  EXPECT_EQ(leases.FindLost(kJob), nullptr);
  leases.CheckInvariants();
}

TEST(LeasesTest, AJobThatRunsAndIsLostEndsTheProcess) {
  Leases leases;
  const uint32_t holder = leases.AddHolder("w", "1");
  leases.Begin(kJob, {.holder = holder, .gpu_mask = 0, .key = {}});
  leases.AddLost(kJob, {.holder = holder, .gpu_mask = 0});
  EXPECT_DEATH(leases.CheckInvariants(), "contains");
}

}  // namespace
}  // namespace concur
