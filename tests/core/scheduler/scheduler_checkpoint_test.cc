// SPDX-License-Identifier: Apache-2.0
// Checkpoints: which attempt goes on from what, and when a job begins anew.

#include <optional>
#include <string>
#include <utility>

#include "core/scheduler/reason_text.h"
#include "core/scheduler/scheduler.h"
#include "tests/core/state/blame_fixture.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

Checkpoint Left(const std::string& text, int64_t bytes = 100) {
  return {Sha256Of(text), bytes, /*attempt=*/0};
}

class SchedulerCheckpointTest : public BlameSchedulerTest {
 protected:
  // One train job, and its eval job; a worker.
  void Start(uint32_t failures_max = 10) {
    SweepSpec spec = Trains({"a"}, {"x"}, 1);
    spec.retry.failures_max = failures_max;
    sweep_ = Submit(std::move(spec));
    AddWorker("w");
    Sync();
    ASSERT_EQ(RunningOn("w"), 1u);
  }
  JobView Train() { return scheduler().views().ViewJob({sweep_, 0}); }
  AttemptId Latest() { return {{sweep_, 0}, Train().attempt}; }
  // The attempt that runs ends so, and the next one has begun.
  void End(FailureClass failure, std::optional<Checkpoint> left = {}) {
    JobResult result = FailureOf(failure);
    const std::optional<Checkpoint> given = WorkerCalled("w").CheckpointOf(Latest());
    result.resumed_from = given ? given->attempt : 0;
    WorkerCalled("w").Finish(Latest(), std::move(result), left);
    Sync();
    for (int seconds = 0; RunningOn("w") == 0 && seconds < 60; ++seconds) {
      Sync();
    }
    ASSERT_EQ(RunningOn("w"), 1u);
  }
  std::optional<Checkpoint> Given() { return WorkerCalled("w").CheckpointOf(Latest()); }
  int64_t StoredBytes() { return scheduler().views().owners().UseOf("me").stored_bytes; }

  SweepId sweep_;
};

TEST_F(SchedulerCheckpointTest, TheNextAttemptGoesOnFromWhatAPreemptedOneLeft) {
  Start();
  EXPECT_EQ(Given(), std::nullopt);
  const int64_t before = StoredBytes();
  End(FailureClass::kPreempted, Left("one", 100));
  EXPECT_EQ(Given(), (Checkpoint{Sha256Of("one"), 100, 1}));
  EXPECT_EQ(StoredBytes(), before + 100) << "it counts for the owner";
  End(FailureClass::kPreempted, Left("two", 300));
  EXPECT_EQ(Given(), (Checkpoint{Sha256Of("two"), 300, 2}));
  EXPECT_EQ(StoredBytes(), before + 300);
  End(FailureClass::kPreempted);
  EXPECT_EQ(Given(), (Checkpoint{Sha256Of("two"), 300, 2})) << "one that left nothing";
  End(FailureClass::kTemporary, Left("two", 300));
  EXPECT_EQ(Given()->attempt, 2u) << "it has come no further";
}

TEST_F(SchedulerCheckpointTest, ALostAttemptCostsWhatWasDoneSinceTheLastCheckpoint) {
  Start();
  End(FailureClass::kPreempted, Left("one"));
  Restart("w");
  Sync();
  ASSERT_EQ(RunningOn("w"), 1u);
  EXPECT_EQ(Train().attempt.number, 3u);
  EXPECT_EQ(Given(), (Checkpoint{Sha256Of("one"), 100, 1}));
}

TEST_F(SchedulerCheckpointTest, ARestartOfTheCoordinatorKeepsIt) {
  Start();
  End(FailureClass::kPreempted, Left("one"));
  harness().RestartCoordinator();
  Sync();
  EXPECT_EQ(Train().checkpoint, (Checkpoint{Sha256Of("one"), 100, 1}));
  End(FailureClass::kPreempted);
  EXPECT_EQ(Given(), (Checkpoint{Sha256Of("one"), 100, 1}));
}

TEST_F(SchedulerCheckpointTest, AJobThatHasEndedHasNone) {
  Start();
  const int64_t before = StoredBytes();
  End(FailureClass::kPreempted, Left("one"));
  ASSERT_OK(scheduler().CancelJob({sweep_, 0}));
  harness().EndTurn();
  EXPECT_EQ(Train().checkpoint, std::nullopt);
  EXPECT_EQ(StoredBytes(), before);
  // A checkpoint that the canceled attempt leaves belongs to nobody.
  WorkerCalled("w").Finish(Latest(), FailureOf(FailureClass::kPreempted), Left("late"));
  Sync();
  EXPECT_EQ(Train().checkpoint, std::nullopt);
  ASSERT_OK(scheduler().RetryJobs(sweep_, {0}, /*rerun_succeeded=*/false));
  Sync();
  EXPECT_EQ(Given(), std::nullopt) << "a retry begins anew";
  End(FailureClass::kPreempted, Left("two"));
  WorkerCalled("w").Finish(Latest(), SuccessOf(Latest(), /*is_train=*/true));
  Sync();
  EXPECT_EQ(Train().state, JobState::kSucceeded);
  EXPECT_EQ(Train().checkpoint, std::nullopt);
}

// A damaged checkpoint made the job fail for ever.
TEST_F(SchedulerCheckpointTest, AnAttemptThatWentOnAndFailedBeginsTheNextAnew) {
  Start();
  End(FailureClass::kFailed, Left("one"));
  EXPECT_EQ(Given(), (Checkpoint{Sha256Of("one"), 100, 1})) << "the first failure may be chance";
  End(FailureClass::kFailed, Left("one"));
  EXPECT_EQ(Given(), std::nullopt) << "it came no further";
  End(FailureClass::kOutOfMemory, Left("three"));
  EXPECT_EQ(Given()->digest, Sha256Of("three"));
  End(FailureClass::kFailed);
  EXPECT_EQ(Given(), std::nullopt) << "it left nothing";
}

// A training that saves at SIGTERM and ends with 1, as its worker was told to end at the same time.
TEST_F(SchedulerCheckpointTest, AFailureThatComesFurtherIsGoneOnFromExceptByTheLastAttempt) {
  Start(/*failures_max=*/3);
  End(FailureClass::kPreempted, Left("one"));
  End(FailureClass::kFailed, Left("two"));
  EXPECT_EQ(Given(), (Checkpoint{Sha256Of("two"), 100, 2}));
  End(FailureClass::kFailed, Left("three"));
  EXPECT_EQ(Train().failures, 2u);
  EXPECT_EQ(Given(), std::nullopt) << "what they left may be what makes them fail";
}

// A job that has a checkpoint may leave a larger one, again and again.
TEST_F(SchedulerCheckpointTest, AtTheQuotaOfStoredBytesNothingGoesOnUntilACancelFreesCheckpoints) {
  SchedulerPolicy policy;
  policy.quotas.otherwise.stored_bytes_max = 1000;
  Use(policy);
  sweep_ = Submit(Trains({"a"}, {"x"}, 2));
  AddWorker("w", 2);
  Sync();
  const AttemptId first{{sweep_, 0}, {1}};
  const AttemptId second{{sweep_, 2}, {1}};
  ASSERT_THAT(RunningSetOf("w"), ElementsAre(first, second));
  WorkerCalled("w").Finish(first, FailureOf(FailureClass::kPreempted));
  WorkerCalled("w").Finish(second, FailureOf(FailureClass::kPreempted), Left("one", 2000));
  Sync();
  EXPECT_THAT(RunningSetOf("w"), IsEmpty());
  for (const uint32_t job : {0, 2}) {
    EXPECT_THAT(ReasonText(scheduler().views().ReasonOf({sweep_, job})),
                AllOf(HasSubstr("2000 of them are checkpoints of jobs that have not ended"),
                      HasSubstr("`concur sweep cancel`"), HasSubstr("a higher quota")));
  }
  ASSERT_OK(scheduler().CancelJob({sweep_, 2}));
  Sync();
  EXPECT_THAT(RunningSetOf("w"), ElementsAre(AttemptId{{sweep_, 0}, {2}})) << "there is room";
}

TEST_F(SchedulerCheckpointTest, AfterATimeOutItGoesOnAsLongAsItComesFurther) {
  Start();
  End(FailureClass::kTimeout, Left("one"));
  End(FailureClass::kTimeout, Left("two"));
  EXPECT_EQ(Given(), (Checkpoint{Sha256Of("two"), 100, 2}));
  End(FailureClass::kTimeout, Left("two"));
  EXPECT_EQ(Given(), std::nullopt);
}

TEST_F(SchedulerCheckpointTest, ARepeatedReportChangesNothing) {
  Start();
  SetDeaf("w", true);  // it hears neither that its report was taken nor of a new attempt
  const AttemptId first = Latest();
  WorkerCalled("w").Finish(first, FailureOf(FailureClass::kPreempted), Left("one"));
  Sync();
  Sync();
  EXPECT_EQ(Train().checkpoint, (Checkpoint{Sha256Of("one"), 100, 1}));
  SetDeaf("w", false);
  Sync();
  EXPECT_EQ(Train().checkpoint, (Checkpoint{Sha256Of("one"), 100, 1}));
}

// Ten kills of an evaluation cost ten answers, not ten evaluations.
TEST_F(SchedulerCheckpointTest, AnEvaluationGoesOnUntilItsLastAttempt) {
  Start(/*failures_max=*/4);
  WorkerCalled("w").Finish(Latest(), SuccessOf(Latest(), /*is_train=*/true));
  Sync();
  const auto view = [&] { return scheduler().views().ViewJob({sweep_, 1}); };
  uint32_t given = 0;
  for (const char* left : {"one", "two", "three"}) {
    ASSERT_EQ(view().state, JobState::kRunning);
    const AttemptId eval{{sweep_, 1}, view().attempt};
    JobResult result = FailureOf(FailureClass::kFailed);
    result.resumed_from = given;
    WorkerCalled("w").Finish(eval, std::move(result), Left(left));
    Sync();
    EXPECT_EQ(view().checkpoint, (Checkpoint{Sha256Of(left), 100, eval.attempt.number}));
    harness().RestartCoordinator();
    for (int seconds = 0; RunningOn("w") == 0 && seconds < 60; ++seconds) {
      Sync();
    }
    given = eval.attempt.number;
  }
  const AttemptId last{{sweep_, 1}, view().attempt};
  EXPECT_EQ(WorkerCalled("w").CheckpointOf(last)->digest, Sha256Of("three"));
  WorkerCalled("w").Finish(last, SuccessOf(last, /*is_train=*/false));
  Sync();
  EXPECT_EQ(view().state, JobState::kSucceeded);
  EXPECT_EQ(view().checkpoint, std::nullopt);
}

}  // namespace
}  // namespace concur::testing
