// SPDX-License-Identifier: Apache-2.0
#include "coordinator/engine/collector.h"

#include <vector>

#include "base/status_macros.h"
#include "tests/coordinator/engine/engine_fixture.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

class CollectorTest : public EngineTest {
 protected:
  bool IsLive(const Digest& digest) {
    absl::StatusOr<RetentionPlan> plan = absl::UnknownError("no answer");
    PlanCollection(*engine_, store_, [&](absl::StatusOr<RetentionPlan> made) { plan = made; });
    engine_->RunUntilIdle();
    EXPECT_OK(plan);
    return plan.ok() && plan->live.contains(digest);
  }
};

TEST_F(CollectorTest, WhatAJobIsToGoOnFromIsKeptUntilTheJobEnds) {
  ASSERT_OK_AND_ASSIGN(const SweepId sweep, Submit(1));
  Answer answer = Sync(SyncOf("w", 1));
  ASSERT_TRUE(answer->has_value());
  ASSERT_OK(**answer);
  ASSERT_EQ((**answer)->start.size(), 1u);
  const Digest left = Sha256Of("checkpoint");
  FinishedAttempt preempted = Finished((**answer)->start[0].id, /*is_train=*/true);
  preempted.result.succeeded = false;
  preempted.result.failure = FailureClass::kPreempted;
  preempted.result.artifacts.clear();
  preempted.checkpoint = Checkpoint{left, 10, 0};
  SyncRequest request = SyncOf("w", 2);
  request.finished = {preempted};
  Sync(request);
  EXPECT_TRUE(IsLive(left));
  engine_->Call<bool>(
      [&](Scheduler& scheduler) -> absl::StatusOr<bool> {
        CONCUR_RETURN_IF_ERROR(scheduler.CancelSweep(sweep));
        return true;
      },
      [](const absl::StatusOr<bool>& canceled) { EXPECT_OK(canceled); });
  engine_->RunUntilIdle();
  EXPECT_FALSE(IsLive(left));
}

// Else its artifacts would be gone when it is loaded again.
TEST_F(CollectorTest, NothingIsCollectedWhileASweepIsNotLoadedAndTheBoardListsIt) {
  ASSERT_OK(Submit(1, "first"));
  ASSERT_OK(Submit(2, "second"));
  options_.policy.job_memory_max = 4 * SweepBook::kJobMemoryBytes;
  Restart();
  absl::Status status;
  PlanCollection(*engine_, store_,
                 [&](const absl::StatusOr<RetentionPlan>& plan) { status = plan.status(); });
  engine_->RunUntilIdle();
  const auto is_not_loaded = StatusIs(absl::StatusCode::kFailedPrecondition,
                                      HasSubstr("sweep s1 is on disk and was not loaded"));
  EXPECT_THAT(status, is_not_loaded);
  EXPECT_THAT(engine_->board().Find("s1", "owner").status(), is_not_loaded);
  EXPECT_OK(engine_->board().Find("s2", "owner").status());
  const std::vector<SweepFacts> listed = engine_->board().List(0, "", 10);
  ASSERT_EQ(listed.size(), 2u);
  EXPECT_OK(listed[0].load_status);
  EXPECT_THAT(listed[1].load_status, is_not_loaded);
}

}  // namespace
}  // namespace concur::testing
