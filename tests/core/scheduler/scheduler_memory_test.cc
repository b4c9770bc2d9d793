// SPDX-License-Identifier: Apache-2.0
// The memory for jobs: sweeps that would pass it are refused, before anything of them is there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/scheduler/scheduler.h"
#include "tests/core/state/blame_fixture.h"
#include "tests/testing/status_matchers.h"

namespace concur::testing {
namespace {

using ::absl::StatusCode;
using ::testing::AllOf;
using ::testing::HasSubstr;

class SchedulerMemoryTest : public BlameSchedulerTest {
 protected:
  // Room for ten jobs.
  SchedulerMemoryTest() {
    SchedulerPolicy policy;
    policy.job_memory_max = 11 * SweepBook::kJobMemoryBytes - 1;
    Use(policy);
  }
  absl::StatusOr<SweepId> TrySubmit(int jobs, const std::string& request_id = "") {
    return harness().Submit(Evals({"a"}, {"x"}, jobs), absl::StrCat(jobs, " jobs"), "me",
                            request_id);
  }
};

TEST_F(SchedulerMemoryTest, ASweepBeyondItIsRefusedWithTheNumbersUntilAnotherIsDeleted) {
  ASSERT_OK_AND_ASSIGN(const SweepId first, TrySubmit(6, "r"));
  EXPECT_THAT(TrySubmit(5).status(),
              StatusIs(StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("memory for 10 jobs (limits.job_memory_max of 7699 bytes"),
                             HasSubstr("its sweeps have 6, and this one has 5: delete sweeps"))));
  harness().EndTurn();
  EXPECT_EQ(scheduler().views().sweep_count(), 1u);
  EXPECT_EQ(scheduler().views().CountAll().job_memory, 6 * SweepBook::kJobMemoryBytes);
  EXPECT_OK(TrySubmit(6, "r")) << "a repeated request adds nothing";
  EXPECT_OK(TrySubmit(4));
  harness().EndTurn();
  harness().RestartCoordinator();
  EXPECT_EQ(TrySubmit(1).status().code(), StatusCode::kResourceExhausted);
  ASSERT_OK(scheduler().CancelSweep(first));
  ASSERT_OK(scheduler().DeleteSweep(first));
  EXPECT_OK(TrySubmit(5));
}

TEST_F(SchedulerMemoryTest, SoIsAnImport) {
  ASSERT_OK(TrySubmit(5));
  EXPECT_EQ(harness().Import(ImportedSweep(), "import", ImportedScores({0, 2})).status().code(),
            StatusCode::kResourceExhausted)
      << "it has six jobs";
}

}  // namespace
}  // namespace concur::testing
