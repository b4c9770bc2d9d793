// SPDX-License-Identifier: Apache-2.0
// Workers that call, and whose attempts never end.

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/scheduler/reason_text.h"
#include "core/scheduler/scheduler.h"
#include "tests/core/state/blame_fixture.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

constexpr absl::Duration kJobTimeout = absl::Minutes(2);
constexpr absl::Duration kGrace = absl::Minutes(1);
constexpr absl::Duration kSyncStep = absl::Seconds(20);
constexpr absl::Duration kSyncTick = absl::Seconds(1);  // passes in each Sync of the fixture

class OverdueSchedulerTest : public BlameSchedulerTest {
 protected:
  static SchedulerPolicy Policy() {
    SchedulerPolicy policy;
    policy.overdue_grace = kGrace;
    return policy;
  }
  static SweepSpec TimedEvals(int jobs, absl::Duration timeout = kJobTimeout) {
    SweepSpec spec = Evals({"a"}, {"x"}, jobs);
    spec.approaches[0].predict_timeout = timeout;
    return spec;
  }
  void SyncFor(absl::Duration time) {
    for (absl::Duration passed; passed < time; passed += kSyncStep) {
      harness().Advance(kSyncStep - kSyncTick);
      Sync();
    }
  }
  // One job, on "stuck", which calls and never reports; "well" has come since.
  void BeginOnStuck(SweepSpec spec) {
    Use(Policy());
    AddWorker("stuck");
    sweep_ = Submit(std::move(spec));
    Sync();  // gives it
    Sync();  // lists it
    AddWorker("well");
  }
  std::string WorkerOf(uint32_t job) { return scheduler().views().ViewJob({sweep_, job}).worker; }

  SweepId sweep_;
};

// A worker whose heartbeats passed and whose executor was stuck kept its job for ever.
TEST_F(OverdueSchedulerTest, AWorkerThatCallsButReportsNothingLosesTheAttempt) {
  BeginOnStuck(TimedEvals(1));
  SyncFor(kJobTimeout + kGrace);
  EXPECT_EQ(WorkerOf(0), "stuck") << "its time is not over";
  Sync();
  const AttemptId first{{sweep_, 0}, {1}};
  EXPECT_EQ(WorkerCalled("stuck").stopping().count(first), 1u);
  EXPECT_THAT(ReasonText(scheduler().views().ReasonOf({sweep_, 0})),
              HasSubstr("attempt 1 ended as worker"));
  EXPECT_EQ(ViewOf("stuck").used.cpu_millis, 1000) << "what it may still run keeps its room";
  EXPECT_EQ(ViewOf("stuck").failed, 1u);
  Sync();
  EXPECT_EQ(WorkerOf(0), "well");
  EXPECT_EQ(scheduler().views().ViewJob({sweep_, 0}).attempt.number, 2u);
  EXPECT_EQ(scheduler().views().ViewJob({sweep_, 0}).lost, 1u);
  // The late result is refused, whether it comes before or after that of the second attempt.
  WorkerCalled("stuck").Finish(first, SuccessOf(first, /*is_train=*/false));
  Sync();
  EXPECT_EQ(scheduler().views().refused_results(), 1u);
  EXPECT_EQ(StateOf(sweep_, 0), JobState::kRunning);
  FinishAllWell("well");
  Sync();
  EXPECT_EQ(StateOf(sweep_, 0), JobState::kSucceeded);
  EXPECT_EQ(scheduler().views().ViewJob({sweep_, 0}).attempt.number, 2u);
  EXPECT_EQ(ViewOf("stuck").used.cpu_millis, 0);
}

TEST_F(OverdueSchedulerTest, ALateSuccessIsRefusedWhileTheJobWaits) {
  Use(Policy());
  AddWorker("stuck");
  SweepSpec spec = TimedEvals(1);
  spec.retry.backoff_min = absl::Hours(1);
  spec.retry.backoff_max = absl::Hours(1);
  sweep_ = Submit(std::move(spec));
  Sync();
  Sync();
  SyncFor(kJobTimeout + kGrace + kSyncStep);
  ASSERT_EQ(StateOf(sweep_, 0), JobState::kBackoff);
  const AttemptId first{{sweep_, 0}, {1}};
  WorkerCalled("stuck").Finish(first, SuccessOf(first, /*is_train=*/false));
  Sync();
  EXPECT_EQ(StateOf(sweep_, 0), JobState::kBackoff);
  EXPECT_EQ(scheduler().views().refused_results(), 1u);
  EXPECT_THAT(WorkerCalled("stuck").finished(), IsEmpty()) << "it was told to forget it";
}

TEST_F(OverdueSchedulerTest, AJobWithoutATimeoutIsKeptAsLongAsItsWorkerCalls) {
  BeginOnStuck(TimedEvals(1, absl::InfiniteDuration()));
  SyncFor(absl::Hours(10));
  EXPECT_EQ(StateOf(sweep_, 0), JobState::kRunning);
  EXPECT_EQ(WorkerOf(0), "stuck");
}

// Requests arrived and answers did not: the lease was renewed for ever, and the job never started.
TEST_F(OverdueSchedulerTest, AnOrderThatNeverArrivesIsGivenToAnotherWorker) {
  Use(Policy());
  AddWorker("deaf");
  sweep_ = Submit(TimedEvals(1, absl::InfiniteDuration()));
  SetDeaf("deaf", true);
  Sync();
  ASSERT_EQ(WorkerOf(0), "deaf");
  AddWorker("well");
  SyncFor(kGrace);
  EXPECT_EQ(WorkerOf(0), "deaf") << "its time is not over";
  Sync();
  Sync();
  EXPECT_EQ(WorkerOf(0), "well");
  EXPECT_THAT(ReasonText(scheduler().views().ReasonOf({sweep_, 0})), Not(HasSubstr("deaf")));
}

TEST_F(OverdueSchedulerTest, OnlyTimeInWhichTheWorkerCallsCounts) {
  BeginOnStuck(TimedEvals(1));
  SetSilent("well", true);
  // Silent for an hour, it comes back before anybody else has taken the job, and goes on.
  SyncFor(kJobTimeout);
  harness().Advance(absl::Hours(1));
  Sync();
  ASSERT_EQ(WorkerOf(0), "stuck");
  EXPECT_EQ(StateOf(sweep_, 0), JobState::kRunning);
  SyncFor(kGrace - kSyncStep);
  EXPECT_EQ(StateOf(sweep_, 0), JobState::kRunning);
  // Coming and going does not begin its time anew.
  SyncFor(2 * kSyncStep);
  EXPECT_NE(StateOf(sweep_, 0), JobState::kRunning);
}

TEST_F(OverdueSchedulerTest, ARestartGivesTheGraceAnewAndNotTheTimeout) {
  BeginOnStuck(TimedEvals(1));
  SyncFor(kJobTimeout);
  harness().RestartCoordinator();
  SyncFor(kGrace);
  EXPECT_EQ(WorkerOf(0), "stuck") << "its time is not over";
  SyncFor(3 * kSyncStep);
  EXPECT_EQ(WorkerOf(0), "well");
}

// A GPU was given to a second attempt while the first one still used it.
TEST_F(OverdueSchedulerTest, TheGpuOfAnAttemptThatNobodyKnowsIsNotGivenAgain) {
  Use(Policy());
  AddWorker("stuck");
  WorkerCalled("stuck").info().capacity.gpus = 2;
  SweepSpec spec = TimedEvals(1);
  spec.approaches[0].predict_resources = {.cpu_millis = 0, .memory_bytes = 0, .gpus = 1};
  sweep_ = Submit(spec);
  Sync();
  Sync();
  ASSERT_EQ(RunningOn("stuck"), 1u);
  ASSERT_TRUE(scheduler().CancelSweep(sweep_).ok());
  SyncFor(2 * kGrace);
  ASSERT_TRUE(scheduler().DeleteSweep(sweep_).ok());
  Sync();
  harness().RestartCoordinator();
  spec.approaches[0].version = "2";
  const SweepId next = Submit(spec);
  SyncFor(kGrace);
  EXPECT_EQ(StateOf(next, 0), JobState::kReady);
  WorkerCalled("stuck").Drop({{sweep_, 0}, {1}});
  Sync();
  EXPECT_EQ(StateOf(next, 0), JobState::kRunning);
}

TEST_F(OverdueSchedulerTest, AWorkerThatGetsStuckAgainAndAgainIsQuarantined) {
  Use(Policy());
  AddWorker("stuck", /*cpus=*/4);
  AddWorker("well");
  sweep_ = Submit(TimedEvals(12));
  for (int i = 0; i < 30 && ViewOf("stuck").quarantine_reason.empty(); ++i) {
    SyncFor(kSyncStep);
    FinishAllWell("well");
  }
  EXPECT_THAT(ViewOf("stuck").quarantine_reason, HasSubstr("failed 3 jobs that succeeded on well"));
}

TEST_F(OverdueSchedulerTest, ACanceledSweepEndsThoughItsWorkerNeverStops) {
  SchedulerPolicy policy = Policy();
  policy.quotas.otherwise.running_jobs_max = 1;
  Use(policy);
  AddWorker("stuck");
  sweep_ = Submit(TimedEvals(1, absl::InfiniteDuration()));
  Sync();
  Sync();
  ASSERT_TRUE(scheduler().CancelSweep(sweep_).ok());
  AddWorker("well");
  const SweepId next = Submit(Evals({"b"}, {"x"}, 1));
  SyncFor(kGrace);
  EXPECT_EQ(scheduler().views().FindSweep(sweep_)->state, SweepState::kCanceling);
  EXPECT_EQ(StateOf(next, 0), JobState::kReady) << "its owner may run one job";
  Sync();
  EXPECT_EQ(scheduler().views().FindSweep(sweep_)->state, SweepState::kCanceled);
  Sync();
  EXPECT_EQ(StateOf(next, 0), JobState::kRunning);
  EXPECT_EQ(ViewOf("stuck").used.cpu_millis, 1000) << "what it may still run keeps its room";
  ASSERT_TRUE(scheduler().DeleteSweep(sweep_).ok());
  SyncFor(kGrace);
  WorkerCalled("stuck").Drop({{sweep_, 0}, {1}});
  Sync();
  EXPECT_EQ(ViewOf("stuck").used.cpu_millis, 0);
}

}  // namespace
}  // namespace concur::testing
