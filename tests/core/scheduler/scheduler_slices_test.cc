// SPDX-License-Identifier: Apache-2.0
// Cancels and retries of whole sweeps that take several turns.

#include <set>

#include "core/scheduler/scheduler.h"
#include "tests/core/state/blame_fixture.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

using ::absl::StatusCode;

constexpr int kJobs = 30;

class SchedulerSlicesTest : public BlameSchedulerTest {
 protected:
  // A turn looks at 32 jobs, or changes three rows.
  SchedulerSlicesTest() {
    SchedulerPolicy policy;
    policy.slice_jobs = 32;
    Use(policy);
  }
  void Turn() {
    harness().Advance(absl::Milliseconds(1));
    harness().EndTurn();
  }
  SweepState StateOf(SweepId id) { return scheduler().views().FindSweep(id)->state; }
  const SweepRow& RowOf(SweepId id) { return *scheduler().views().FindSweep(id)->row; }
  // Turns until the retry has come to its end; with `restart`, the coordinator is killed after
  // each.
  int TurnsOfRetry(SweepId id, bool restart = false) {
    int turns = 0;
    for (; RowOf(id).retry && turns < 1'000; ++turns) {
      if (restart) {
        harness().RestartCoordinator();
      }
      Turn();
    }
    return turns;
  }
  // All jobs were tried, and some have failed for good.
  SweepId SubmitFailed(int jobs) {
    SweepSpec spec = Evals({"a"}, {"x"}, jobs);
    spec.retry.failures_max = 1;
    spec.failures_max_per_block = 0;
    const SweepId id = Submit(spec);
    AddWorker("w", jobs);
    Round({"w"});
    Sync();
    CONCUR_CHECK(CountOf(id, JobState::kFailed) == static_cast<uint32_t>(jobs));
    return id;
  }
};

TEST_F(SchedulerSlicesTest, ACancelStopsAllThatRunsAtOnceAndStartsNothing) {
  AddWorker("w", 4);
  const SweepId id = Submit(Evals({"a"}, {"x"}, 500));
  Sync();
  ASSERT_EQ(RunningOn("w"), 4u);
  ASSERT_OK(scheduler().CancelSweep(id));
  harness().EndTurn();
  EXPECT_TRUE(RowOf(id).canceled);
  EXPECT_EQ(CountOf(id, JobState::kRunning), 0u);
  EXPECT_GT(CountOf(id, JobState::kReady), 400u);
  EXPECT_THAT(ReasonText(scheduler().views().ReasonOf({id, 499})),
              HasSubstr("about to be canceled"));
  for (int turn = 0; turn < 4; ++turn) {
    const uint32_t before = CountOf(id, JobState::kReady);
    AddWorker(absl::StrCat("other", turn), 4);
    Sync();  // the harness compares with a restart, which cancels all
    EXPECT_EQ(CountOf(id, JobState::kRunning), 0u);
    EXPECT_LT(CountOf(id, JobState::kReady), before);
    EXPECT_GE(CountOf(id, JobState::kReady) + 32, before);
    EXPECT_EQ(StateOf(id), SweepState::kCanceling);
    EXPECT_LE(scheduler().NextDeadline(), harness().now()) << "the next turn comes at once";
  }
  while (CountOf(id, JobState::kReady) > 0) {
    Turn();
  }
  EXPECT_EQ(CountOf(id, JobState::kCanceled), 500u);
  for (const AttemptId& attempt : std::set<AttemptId>(WorkerCalled("w").stopping())) {
    WorkerCalled("w").Drop(attempt);
  }
  Sync();
  EXPECT_EQ(StateOf(id), SweepState::kCanceled);
  EXPECT_GT(scheduler().NextDeadline(), harness().now());
}

// Each was one turn, however large, since its rules compare jobs.
TEST_F(SchedulerSlicesTest, SoDoACancelAndARetryWithEarlyStopWhichStopNone) {
  SweepSpec spec = Trains({"a"}, {"x"}, 40);
  spec.random_settings = 2;
  spec.early_stop = EarlyStopSpec{.rule = {.min = 1, .max = 3, .eta = 3}, .metric = "f1"};
  AddWorker("w", 4);
  const SweepId id = Submit(spec);
  Sync();
  ASSERT_OK(scheduler().CancelSweep(id));
  harness().EndTurn();
  EXPECT_OK(scheduler().CancelJob({id, 239}));
  int turns = 0;
  for (; CountOf(id, JobState::kCanceled) < 240 && turns < 100; ++turns) {
    const uint32_t before = CountOf(id, JobState::kCanceled);
    Turn();
    EXPECT_LE(CountOf(id, JobState::kCanceled), before + 32);
  }
  EXPECT_GT(turns, 5);
  EXPECT_EQ(CountOf(id, JobState::kStopped), 0u);

  Sync();
  for (const AttemptId& attempt : std::set<AttemptId>(WorkerCalled("w").stopping())) {
    WorkerCalled("w").Drop(attempt);
  }
  Sync();
  ASSERT_OK_AND_ASSIGN(const uint32_t retried, scheduler().RetryJobs(id, {}, false));
  EXPECT_EQ(retried, 240u);
  EXPECT_GT(TurnsOfRetry(id), 5);
  EXPECT_EQ(CountOf(id, JobState::kCanceled) + CountOf(id, JobState::kStopped), 0u);
}

TEST_F(SchedulerSlicesTest, ARetryReturnsAFewJobsATurnAndStartsNoneBeforeTheLast) {
  const SweepId id = SubmitFailed(kJobs);
  ASSERT_OK_AND_ASSIGN(const uint32_t retried, scheduler().RetryJobs(id, {}, false));
  EXPECT_EQ(retried, static_cast<uint32_t>(kJobs));
  harness().EndTurn();
  int turns = 0;
  for (; RowOf(id).retry; ++turns) {
    const uint32_t before = CountOf(id, JobState::kReady);
    EXPECT_EQ(StateOf(id), SweepState::kActive);
    EXPECT_THAT(ReasonText(scheduler().views().ReasonOf({id, 0})), HasSubstr("is being retried"));
    Sync();
    EXPECT_LE(CountOf(id, JobState::kReady), before + 2) << "a job and its result are two rows";
    EXPECT_TRUE(RunningOn("w") == 0 || !RowOf(id).retry);
  }
  EXPECT_GT(turns, 10);
  EXPECT_EQ(CountOf(id, JobState::kRunning), static_cast<uint32_t>(kJobs));
}

// The coordinator ended: later turns of the cancel looked for the sweep, or for its retry.
TEST_F(SchedulerSlicesTest, ACancelWhoseJobsHaveAllEndedGoesOnBesideOtherRequests) {
  for (const bool is_deleted : {true, false}) {
    const SweepId id = Submit(Evals({"a"}, {"x"}, 500));
    for (uint32_t job = 0; job < 500; ++job) {
      ASSERT_OK(scheduler().CancelJob({id, job}));
    }
    ASSERT_OK(scheduler().RetryJobs(id, {3}, false));
    ASSERT_OK(scheduler().CancelSweep(id));
    harness().EndTurn();
    ASSERT_EQ(StateOf(id), SweepState::kCanceled);
    ASSERT_LE(scheduler().NextDeadline(), harness().now()) << "its turns are not over";
    if (is_deleted) {
      EXPECT_OK(scheduler().DeleteSweep(id));
    } else {
      EXPECT_THAT(scheduler().RetryJobs(id, {3}, false),
                  StatusIs(StatusCode::kFailedPrecondition, HasSubstr("try again later")));
    }
    for (int turn = 0; turn < 40; ++turn) {
      Turn();
    }
    EXPECT_EQ(scheduler().views().FindSweep(id).has_value(), !is_deleted);
    EXPECT_TRUE(is_deleted || scheduler().RetryJobs(id, {3}, false).ok());
  }
}

TEST_F(SchedulerSlicesTest, ARetryGoesOnAfterEveryRestart) {
  const SweepId failed = SubmitFailed(kJobs);
  const SweepId canceled = Submit(Trains({"b"}, {"y"}, kJobs));
  ASSERT_OK(scheduler().CancelJob({canceled, 7}));  // it has a row that says so
  ASSERT_OK(scheduler().CancelSweep(canceled));
  while (StateOf(canceled) != SweepState::kCanceled) {
    Turn();
  }
  for (const SweepId id : {failed, canceled}) {
    const uint32_t jobs = scheduler().views().FindSweep(id)->expansion->job_count();
    ASSERT_OK_AND_ASSIGN(const uint32_t retried, scheduler().RetryJobs(id, {}, false));
    EXPECT_EQ(retried, jobs);
    harness().EndTurn();
    EXPECT_GT(TurnsOfRetry(id, /*restart=*/true), 10);
    EXPECT_EQ(CountOf(id, JobState::kReady) + CountOf(id, JobState::kBlocked), jobs);
    EXPECT_EQ(StateOf(id), SweepState::kActive);
  }
  // Train jobs come before their evaluations.
  EXPECT_EQ(CountOf(canceled, JobState::kReady), static_cast<uint32_t>(kJobs));
}

TEST_F(SchedulerSlicesTest, ACancelEndsARetryAndASecondRetryBeginsAnew) {
  const SweepId id = SubmitFailed(kJobs);
  ASSERT_OK(scheduler().RetryJobs(id, {}, false));
  harness().EndTurn();
  const uint32_t returned = CountOf(id, JobState::kReady);
  ASSERT_LT(returned, 5u);
  ASSERT_OK_AND_ASSIGN(const uint32_t retried, scheduler().RetryJobs(id, {}, false));
  EXPECT_EQ(retried, kJobs - returned);
  harness().EndTurn();
  ASSERT_TRUE(RowOf(id).retry);
  ASSERT_OK(scheduler().CancelSweep(id));
  EXPECT_FALSE(RowOf(id).retry);
  EXPECT_THAT(scheduler().RetryJobs(id, {}, false),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("s1")));
  while (StateOf(id) != SweepState::kCanceled) {
    Turn();
  }
  EXPECT_GT(CountOf(id, JobState::kFailed), 0u);
  EXPECT_EQ(CountOf(id, JobState::kFailed) + CountOf(id, JobState::kCanceled),
            static_cast<uint32_t>(kJobs));
}

TEST_F(SchedulerSlicesTest, SingleJobsWaitUntilTheWholeSweepIsRetried) {
  const SweepId id = SubmitFailed(kJobs);
  ASSERT_OK(scheduler().RetryJobs(id, {}, false));
  harness().EndTurn();
  const auto refused = StatusIs(StatusCode::kFailedPrecondition,
                                AllOf(HasSubstr("s1 is being retried"), HasSubstr("try again")));
  EXPECT_THAT(scheduler().CancelJob({id, 20}), refused);
  EXPECT_THAT(scheduler().RetryJobs(id, {20}, false), refused);
  EXPECT_THAT(scheduler().DeleteSweep(id),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("s1")));
  ASSERT_OK(scheduler().PauseSweep(id));
  TurnsOfRetry(id);
  EXPECT_EQ(StateOf(id), SweepState::kPaused);
  EXPECT_EQ(CountOf(id, JobState::kReady), static_cast<uint32_t>(kJobs));
  EXPECT_OK(scheduler().CancelJob({id, 20}));
  ASSERT_OK(scheduler().ResumeSweep(id));
  Sync();
  EXPECT_EQ(RunningOn("w"), static_cast<size_t>(kJobs - 1));
}

// Its results serve nobody from then on.
TEST_F(SchedulerSlicesTest, ADeletedSweepIsGoneAtOnceAndLeavesMemoryInSlices) {
  AddWorker("w", kJobs);
  const SweepId id = Submit(Evals({"a"}, {"x"}, kJobs));
  Round({});
  Sync();
  ASSERT_EQ(CountOf(id, JobState::kSucceeded), static_cast<uint32_t>(kJobs));
  const SweepId same = Submit(Evals({"a"}, {"x"}, 1));
  ASSERT_EQ(CountOf(same, JobState::kSucceeded), 1u) << "it reuses the result";
  harness().EndTurn();
  const size_t known = scheduler().views().durations().TotalOf(0).second;
  ASSERT_OK(scheduler().DeleteSweep(id));
  EXPECT_FALSE(scheduler().views().FindSweep(id));
  EXPECT_EQ(scheduler().DeleteSweep(id).code(), StatusCode::kNotFound);
  harness().EndTurn(/*compare=*/false);
  ASSERT_OK_AND_ASSIGN(const Snapshot saved, harness().store().Load());
  EXPECT_EQ(saved.sweeps.size(), 1u);
  const SweepId again = Submit(Evals({"a"}, {"x"}, kJobs));
  EXPECT_EQ(CountOf(again, JobState::kSucceeded), 1u) << "that of the sweep that is there";
  int turns = 0;
  for (; scheduler().NextDeadline() <= harness().now() && turns < 100; ++turns) {
    scheduler().CheckInvariants();
    harness().Advance(absl::Milliseconds(1));
    harness().EndTurn(/*compare=*/false);
  }
  EXPECT_GE(turns, 1);
  EXPECT_LE(turns, 5) << "32 jobs or results a turn";
  EXPECT_LT(scheduler().views().durations().TotalOf(0).second, known);
  Sync();  // compares with a restart
}

// The failures of jobs that are not back in the queue yet would have the others given up.
TEST_F(SchedulerSlicesTest, NothingIsGivenUpForFailuresThatAreBeingRetried) {
  SweepSpec spec = Evals({"a"}, {"x"}, kJobs);
  spec.retry.failures_max = 1;
  spec.failures_max_per_block = 3;
  const SweepId id = Submit(spec);
  AddWorker("w", 4);
  Round({"w"});
  Round({"w"});
  ASSERT_GT(CountOf(id, JobState::kSkipped), 0u);
  ASSERT_OK(scheduler().RetryJobs(id, {}, false));
  TurnsOfRetry(id);
  EXPECT_EQ(CountOf(id, JobState::kReady), static_cast<uint32_t>(kJobs));
  EXPECT_EQ(CountOf(id, JobState::kSkipped), 0u);
}

}  // namespace
}  // namespace concur::testing
