// SPDX-License-Identifier: Apache-2.0

#include "core/scheduler/scheduler.h"
#include "tests/core/state/blame_fixture.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

using SchedulerCancelTest = BlameSchedulerTest;

// Readers were not told: until the worker had stopped the attempt, the sweep was shown as not
// canceled.
TEST_F(SchedulerCancelTest, ACancelOfASweepWhoseLastJobIsBeingStoppedIsAnnounced) {
  AddWorker("w");
  const SweepId sweep = Submit(Evals({"a"}, {"x"}, 1));
  Sync();
  ASSERT_EQ(RunningOn("w"), 1u);
  ASSERT_OK(scheduler().CancelJob({sweep, 0}));
  harness().EndTurn();
  ASSERT_EQ(scheduler().views().FindSweep(sweep)->state, SweepState::kCanceling);
  ASSERT_OK(scheduler().CancelSweep(sweep));
  EXPECT_TRUE(scheduler().views().FindSweep(sweep)->row->canceled);
  EXPECT_THAT(scheduler().TakeEffects().changed_sweeps, Contains(sweep));
}

}  // namespace
}  // namespace concur::testing
