// SPDX-License-Identifier: Apache-2.0
#include "core/state/running_jobs.h"

#include "tests/testing/test.h"

namespace concur {
namespace {

constexpr JobId kJob{{1}, 7};

TEST(RunningJobsTest, AHolderIsAWorkerProcessAndKeepsItsNumber) {
  RunningJobs running;
  const uint32_t first = running.AddHolder("w", "1");
  const uint32_t second = running.AddHolder("w", "2");
  EXPECT_NE(first, second);
  EXPECT_EQ(running.AddHolder("w", "1"), first);
  EXPECT_EQ(running.WorkerOf(second), "w");
  EXPECT_EQ(running.holder(second).incarnation, "2");
  running.CheckInvariants();
}

TEST(RunningJobsTest, ALeaseIsThereFromItsBeginningToItsEnd) {
  RunningJobs running;
  EXPECT_EQ(running.Find(kJob), nullptr);
  running.Begin(kJob, {.holder = running.AddHolder("w", "1"), .gpu_mask = 3, .key = Sha256Of("k")});
  ASSERT_NE(running.Find(kJob), nullptr);
  EXPECT_EQ(running.Find(kJob)->gpu_mask, 3u);
  EXPECT_EQ(running.size(), 1u);
  EXPECT_EQ(running.End(kJob).key, Sha256Of("k"));
  EXPECT_EQ(running.Find(kJob), nullptr);
  running.CheckInvariants();
}

TEST(RunningJobsTest, AJobThatRunsAgainIsNoLongerLost) {
  RunningJobs running;
  const uint32_t first = running.AddHolder("w", "1");
  const uint32_t second = running.AddHolder("v", "1");
  running.AddLost(kJob, {.holder = first, .gpu_mask = 1});
  running.AddLost(kJob, {.holder = second, .gpu_mask = 2});
  ASSERT_NE(running.FindLost(kJob), nullptr);
  EXPECT_EQ(running.FindLost(kJob)->holder, second) << "the latest counts";
  running.Begin(kJob, {.holder = first, .gpu_mask = 0, .key = {}});
  EXPECT_EQ(running.FindLost(kJob), nullptr);
  running.CheckInvariants();
}

TEST(RunningJobsTest, ProgressIsAddedUpAndEndsWithTheLease) {
  RunningJobs running;
  const uint32_t holder = running.AddHolder("w", "1");
  constexpr JobId kOther{{1}, 8};
  constexpr JobId kElsewhere{{2}, 0};
  for (const JobId job : {kJob, kOther, kElsewhere}) {
    running.Begin(job, {.holder = holder, .gpu_mask = 0, .key = {}});
  }
  EXPECT_EQ(running.DoneOf(kJob.sweep), 0);
  EXPECT_TRUE(running.SetProgress(kJob, 1, 4));
  EXPECT_FALSE(running.SetProgress(kJob, 1, 4));
  EXPECT_TRUE(running.SetProgress(kOther, 1, 2));
  EXPECT_TRUE(running.SetProgress(kElsewhere, 5, 5));
  EXPECT_DOUBLE_EQ(running.DoneOf(kJob.sweep), 0.75);
  running.End(kJob);
  EXPECT_DOUBLE_EQ(running.DoneOf(kJob.sweep), 0.5);
  running.CheckInvariants();
}

TEST(RunningJobsTest, AJobThatRunsAndIsLostEndsTheProcess) {
  RunningJobs running;
  const uint32_t holder = running.AddHolder("w", "1");
  running.Begin(kJob, {.holder = holder, .gpu_mask = 0, .key = {}});
  running.AddLost(kJob, {.holder = holder, .gpu_mask = 0});
  EXPECT_DEATH(running.CheckInvariants(), "contains");
}

}  // namespace
}  // namespace concur
