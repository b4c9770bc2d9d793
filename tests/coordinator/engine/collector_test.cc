// SPDX-License-Identifier: Apache-2.0
#include "coordinator/engine/collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status_macros.h"
#include "tests/coordinator/engine/engine_fixture.h"
#include "tests/testing/status_matchers.h"

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

}  // namespace
}  // namespace concur::testing
