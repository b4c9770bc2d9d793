// SPDX-License-Identifier: Apache-2.0
#include "core/state/job_table.h"

#include <string>

#include "tests/testing/test.h"

namespace concur {
namespace {

JobResult Success(const std::string& message) {
  JobResult result;
  result.succeeded = true;
  result.message = message;
  return result;
}

// Job 0 has succeeded with this result.
JobTable TableWithSuccess() {
  JobTable table(3);
  table[0].attempt = 1;
  table[0].settled = true;
  table.PutResult(0, Success("first"), 7);
  table.SetState(0, JobState::kSucceeded);
  table.CheckInvariants();
  return table;
}

TEST(JobTableTest, AllJobsAreReadyAndUntouchedAtFirst) {
  const JobTable table(3);
  EXPECT_EQ(table.size(), 3u);
  EXPECT_EQ(table.count(JobState::kReady), 3u);
  EXPECT_EQ(table.unfinished(), 3u);
  EXPECT_TRUE(table[2].IsUntouched());
  EXPECT_EQ(table.Find(2), nullptr);
  EXPECT_EQ(table.ResultOf(2), nullptr);
  table.CheckInvariants();
}

TEST(JobTableTest, JobsAreCountedByTheirStates) {
  JobTable table(3);
  table.SetState(1, JobState::kBlocked);
  table.SetState(2, JobState::kBlocked);
  table.SetState(2, JobState::kSkipped);
  EXPECT_EQ(table.count(JobState::kReady), 1u);
  EXPECT_EQ(table.count(JobState::kBlocked), 1u);
  EXPECT_EQ(table.count(JobState::kSkipped), 1u);
  EXPECT_EQ(table.unfinished(), 2u);
  table.CheckInvariants();
}

TEST(JobTableTest, AnythingThatMustBeSavedTouchesAJob) {
  JobTable table(1);
  const auto touched = [&](auto change) {
    JobTable copy = table;
    change(copy[0]);
    return !copy[0].IsUntouched();
  };
  EXPECT_TRUE(touched([](JobTable::Job& job) { job.attempt = 1; }));
  EXPECT_TRUE(touched([](JobTable::Job& job) { job.failures = 1; }));
  EXPECT_TRUE(touched([](JobTable::Job& job) { job.lost = 1; }));
  EXPECT_TRUE(touched([](JobTable::Job& job) { job.settled = true; }));
  EXPECT_TRUE(touched([](JobTable::Job& job) { job.system_collected = true; }));
  EXPECT_TRUE(touched([](JobTable::Job& job) { job.no_reuse = true; }));
  EXPECT_FALSE(touched([](JobTable::Job&) {}));
}

TEST(JobTableTest, AResultStaysUntilItIsDropped) {
  JobTable table = TableWithSuccess();
  ASSERT_NE(table.Find(0), nullptr);
  EXPECT_EQ(table.Find(0)->holder, 7u);
  EXPECT_EQ(table.ResultOf(0)->message, "first");
  table.DropResult(0);
  table.SetState(0, JobState::kReady);
  EXPECT_EQ(table.ResultOf(0), nullptr);
  table.CheckInvariants();
  // Its place is used again.
  table.PutResult(1, Success("second"), 8);
  table[1].settled = true;
  table.SetState(1, JobState::kSucceeded);
  EXPECT_EQ(table.ResultOf(1)->message, "second");
  EXPECT_EQ(table.ResultOf(0), nullptr);
  table.CheckInvariants();
}

TEST(JobTableTest, AReusedResultIsCountedAndNamesItsSource) {
  JobTable table = TableWithSuccess();
  EXPECT_FALSE(table[0].reused());
  table.MarkReused(0, {{4}, 2});
  EXPECT_TRUE(table[0].reused());
  EXPECT_EQ(table.reused(), 1u);
  EXPECT_EQ(table.Find(0)->source, (JobId{{4}, 2}));
  table.CheckInvariants();
  table.DropResult(0);
  EXPECT_FALSE(table[0].reused());
  EXPECT_EQ(table.reused(), 0u);
}

TEST(JobTableTest, ASucceededJobWithoutAResultEndsTheProcess) {
  JobTable table = TableWithSuccess();
  table.DropResult(0);
  EXPECT_DEATH(table.CheckInvariants(), "has_result");
}

TEST(JobTableTest, ARunningJobWithoutAnAttemptEndsTheProcess) {
  JobTable table(1);
  table.SetState(0, JobState::kRunning);
  EXPECT_DEATH(table.CheckInvariants(), "attempt");
}

}  // namespace
}  // namespace concur
