// SPDX-License-Identifier: Apache-2.0
// Blame before action, quotas of owners, and what a retry takes along.

#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/scheduler/reason_text.h"
#include "tests/core/state/blame_fixture.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

// --- workers -------------------------------------------------------------------------------------

TEST_F(BlameSchedulerTest, AWorkerThatFailsWhatOthersCanDoGetsNothingForAWhile) {
  AddWorker("bad");
  AddWorker("good");
  Submit(Evals({"a"}, {"x"}, 40));
  RoundsUntilQuarantined("bad");
  const WorkerView bad = ViewOf("bad");
  EXPECT_THAT(bad.quarantine_reason, AllOf(HasSubstr("failed 3 jobs that succeeded on good: "),
                                           HasSubstr("eval jobs of a on x")));
  EXPECT_THAT(ViewOf("good").quarantine_reason, IsEmpty());
  Sync();
  EXPECT_EQ(RunningOn("bad"), 0u);
  EXPECT_EQ(RunningOn("good"), 1u);
  // It gets another chance, and when it fails again, a longer time to be mended.
  const absl::Duration first = bad.quarantine_end - harness().now();
  harness().Advance(harness().policy().quarantine_min);
  RoundsUntilQuarantined("bad");
  EXPECT_GT(ViewOf("bad").quarantine_end - harness().now(), first);
}

TEST_F(BlameSchedulerTest, WhatFailsEverywhereIsNoWorkersFault) {
  AddWorker("w1");
  AddWorker("w2");
  Submit(Evals({"a"}, {"x"}, 10));
  for (int round = 0; round < 8; ++round) {
    Round({"w1", "w2"});
  }
  EXPECT_THAT(ViewOf("w1").quarantine_reason, IsEmpty());
  EXPECT_THAT(ViewOf("w2").quarantine_reason, IsEmpty());
}

// An approach failed for some seeds: the worker that had got three of them first was in quarantine.
TEST_F(BlameSchedulerTest, AnApproachThatFailsForSomeSeedsQuarantinesNobody) {
  AddWorker("w1");
  AddWorker("w2", 4);
  SweepSpec spec = Evals({"a"}, {"x"}, 40);
  spec.retry.failures_max = 3;
  spec.failures_max_per_block = 0;
  const SweepId id = Submit(spec);
  for (int round = 0; round < 40; ++round) {
    RoundOf([](const JobCoordinates& at) { return at.seed_index % 5 < 2; });
    EXPECT_THAT(ViewOf("w1").quarantine_reason, IsEmpty());
    EXPECT_THAT(ViewOf("w2").quarantine_reason, IsEmpty());
  }
  EXPECT_EQ(CountOf(id, JobState::kFailed), 16u);
  EXPECT_EQ(CountOf(id, JobState::kSucceeded), 24u);
}

// A job that one worker failed was given to it again and again, and nobody could compare.
TEST_F(BlameSchedulerTest, AFailedJobIsTriedElsewhereWhileThereIsOtherWork) {
  AddWorker("w1");
  AddWorker("w2");
  const SweepId id = Submit(Evals({"a", "b"}, {"x"}, 2));
  std::map<JobId, std::set<std::string>> failed_on;
  for (int round = 0; round < 2; ++round) {
    Sync();
    for (const char* worker : {"w1", "w2"}) {
      ASSERT_EQ(RunningOn(worker), 1u);
      EXPECT_TRUE(failed_on[RunningSetOf(worker).begin()->job].insert(worker).second) << worker;
    }
    FinishAll("w1", FailureOf(FailureClass::kFailed));
    FinishAll("w2", FailureOf(FailureClass::kFailed));
  }
  // The last one is tried where it failed rather than not at all.
  ASSERT_OK(scheduler().CancelSweep(id));
  Round({});
  const SweepId last = Submit(Evals({"c"}, {"x"}, 1));
  for (int round = 0; round < 6; ++round) {
    Round({"w1", "w2"});
  }
  EXPECT_GE(scheduler().views().ViewJob({last, 0}).attempt.number, 3u);
}

// A broken worker was the only one with room while the others were busy for long: it failed job
// after job for good.
TEST_F(BlameSchedulerTest, OneWorkerFailsNoJobForGoodThatAnotherCouldRun) {
  AddWorker("bad");
  AddWorker("good");
  SweepSpec spec = Evals({"a"}, {"x"}, 4);
  spec.retry.failures_max = 3;
  spec.failures_max_per_block = 0;
  const SweepId id = Submit(spec);
  for (int round = 0; round < 20; ++round) {
    Sync();
    FinishAll("bad", FailureOf(FailureClass::kFailed));
  }
  EXPECT_EQ(CountOf(id, JobState::kFailed), 0u);
  EXPECT_EQ(RunningOn("bad"), 0u);
  for (int round = 0; round < 8; ++round) {
    RoundOf([](const JobCoordinates&) { return false; });
  }
  EXPECT_EQ(CountOf(id, JobState::kSucceeded), 4u);
}

// A failure that is its worker's counts for no attempt: each of two waited for the other.
TEST_F(BlameSchedulerTest, TheLastAttemptWaitsForNobodyWhoHasFailedTheJob) {
  AddWorker("w1");
  AddWorker("w2");
  SweepSpec spec = Evals({"a"}, {"x"}, 1);
  spec.retry.failures_max = 2;
  const SweepId id = Submit(spec);
  Sync();
  const bool is_first = RunningOn("w1") == 1;
  FinishAll(is_first ? "w1" : "w2", FailureOf(FailureClass::kWorker));
  Sync();
  harness().Advance(absl::Minutes(5));  // its back-off
  Sync();
  ASSERT_EQ(RunningOn(is_first ? "w2" : "w1"), 1u);
  FinishAll(is_first ? "w2" : "w1", FailureOf(FailureClass::kFailed));
  Sync();
  harness().Advance(absl::Minutes(5));
  Sync();
  EXPECT_EQ(RunningOn("w1") + RunningOn("w2"), 1u);
  EXPECT_EQ(scheduler().views().ViewJob({id, 0}).attempt.number, 3u);
}

TEST_F(BlameSchedulerTest, WorkersOfOneHostAreNotCompared) {
  AddWorker("bad");
  AddWorker("good");
  WorkerCalled("bad").info().host = WorkerCalled("good").info().host = "here";
  Submit(Evals({"a"}, {"x"}, 40));
  for (int round = 0; round < 10; ++round) {
    Round({"bad"});
  }
  EXPECT_THAT(ViewOf("bad").quarantine_reason, IsEmpty());
  AddWorker("far");
  WorkerCalled("far").info().host = "there";
  for (int round = 0; round < 10; ++round) {
    Round({"bad"});
  }
  EXPECT_THAT(ViewOf("bad").quarantine_reason, HasSubstr("that succeeded on far: "));
}

// A worker without the key of an interface failed its jobs; one that had it then did them. Started
// again with the key, the first one was still in quarantine.
TEST_F(BlameSchedulerTest, AWorkerThatIsStartedAgainBeginsAnew) {
  AddWorker("bad");
  AddWorker("good");
  Submit(Evals({"a"}, {"x"}, 40));
  RoundsUntilQuarantined("bad");
  ASSERT_THAT(ViewOf("bad").quarantine_reason, Not(IsEmpty()));
  Restart("bad");
  Round({});
  Sync();
  EXPECT_THAT(ViewOf("bad").quarantine_reason, IsEmpty());
  EXPECT_EQ(RunningOn("bad"), 1u);
}

TEST_F(BlameSchedulerTest, TheLastWorkerIsNotTakenAway) {
  AddWorker("bad");
  AddWorker("good");
  Submit(Evals({"a"}, {"x"}, 40));
  Round({"bad"});
  ASSERT_OK(scheduler().DrainWorker("good", true));
  RoundsUntilQuarantined("bad");
  EXPECT_GT(ViewOf("bad").failed, 3u);
  EXPECT_THAT(ViewOf("bad").quarantine_reason, IsEmpty());
}

TEST_F(BlameSchedulerTest, UndoingADrainEndsTheQuarantine) {
  AddWorker("bad");
  AddWorker("good");
  Submit(Evals({"a"}, {"x"}, 40));
  RoundsUntilQuarantined("bad");
  ASSERT_THAT(ViewOf("bad").quarantine_reason, Not(IsEmpty()));
  ASSERT_OK(scheduler().DrainWorker("bad", false));
  EXPECT_THAT(ViewOf("bad").quarantine_reason, IsEmpty());
  Sync();
  EXPECT_EQ(RunningOn("bad"), 1u);
}

// A command was corrected and the sweep submitted again: the worker that had failed most with the
// wrong one was in quarantine for "failing what succeeds on" the other, and so again when the old
// sweep was retried.
TEST_F(BlameSchedulerTest, MendingOnesOwnMistakeQuarantinesNobody) {
  AddWorker("w1", 3);
  AddWorker("w2");
  SweepSpec wrong = Evals({"a"}, {"x"}, 30);
  wrong.approaches[0].predict_command = {"wrong", "{test}"};
  wrong.retry.failures_max = 1;
  wrong.failures_max_per_block = 0;
  SweepSpec mended = wrong;
  mended.approaches[0].predict_command = {"right", "{test}"};
  const SweepId first = Submit(wrong);
  for (int round = 0; round < 4; ++round) {
    Round({"w1", "w2"});
  }
  ASSERT_GE(ViewOf("w1").failed, 9u);
  ASSERT_OK(scheduler().CancelSweep(first));
  const SweepId second = Submit(mended);
  for (int round = 0; round < 10; ++round) {
    Round({});
  }
  EXPECT_EQ(scheduler().views().FindSweep(second)->state, SweepState::kSucceeded);
  EXPECT_THAT(ViewOf("w1").quarantine_reason, IsEmpty());
  ASSERT_OK(scheduler().RetryJobs(first, {}, false));
  Submit(Evals({"a"}, {"y"}, 30));
  for (int round = 0; round < 12; ++round) {
    RoundOf([&](const JobCoordinates&) { return false; });
  }
  EXPECT_THAT(ViewOf("w1").quarantine_reason, IsEmpty());
  EXPECT_THAT(ViewOf("w2").quarantine_reason, IsEmpty());
}

// The same when what was mended is not part of the content, as a script that no `code` names.
TEST_F(BlameSchedulerTest, ARetryAfterAMendQuarantinesNobody) {
  AddWorker("w1", 3);
  AddWorker("w2");
  SweepSpec spec = Evals({"a"}, {"x"}, 20);
  spec.retry.failures_max = 1;
  spec.failures_max_per_block = 0;
  const SweepId id = Submit(spec);
  for (int round = 0; round < 7; ++round) {
    Round({"w1", "w2"});
  }
  ASSERT_EQ(scheduler().views().FindSweep(id)->state, SweepState::kFailed);
  AddWorker("w0");  // has failed nothing, and is the first to succeed
  ASSERT_OK(scheduler().RetryJobs(id, {}, false));
  for (int round = 0; round < 7; ++round) {
    Round({});
  }
  EXPECT_EQ(scheduler().views().FindSweep(id)->state, SweepState::kSucceeded);
  for (const char* worker : {"w0", "w1", "w2"}) {
    EXPECT_THAT(ViewOf(worker).quarantine_reason, IsEmpty()) << worker;
  }
}

TEST_F(BlameSchedulerTest, ADeletedSweepLeavesNoBlame) {
  AddWorker("w1");
  const SweepId id = Submit(Evals({"a"}, {"x"}, 2));
  Round({"w1"});
  Sync();
  ASSERT_THAT(scheduler().views().ListBlame(), Not(IsEmpty()));
  ASSERT_OK(scheduler().CancelSweep(id));
  Round({});
  Sync();
  ASSERT_OK(scheduler().DeleteSweep(id));
  harness().EndTurn();
  EXPECT_THAT(scheduler().views().ListBlame(), IsEmpty());
}

// A restart freed a broken worker, and it ate the queue again.
TEST_F(BlameSchedulerTest, AQuarantineOutlivesARestart) {
  AddWorker("bad");
  AddWorker("good");
  Submit(Evals({"a"}, {"x"}, 40));
  RoundsUntilQuarantined("bad");
  const WorkerView before = ViewOf("bad");
  ASSERT_THAT(before.quarantine_reason, Not(IsEmpty()));
  harness().RestartCoordinator();
  const WorkerView after = ViewOf("bad");
  EXPECT_EQ(after.quarantine_reason, before.quarantine_reason);
  EXPECT_EQ(after.quarantine_end, before.quarantine_end);
  Sync();
  EXPECT_EQ(RunningOn("bad"), 0u);
  EXPECT_EQ(RunningOn("good"), 1u);
  // It ends when it would have, and the next one is longer.
  harness().Advance(harness().policy().quarantine_min);
  EXPECT_THAT(ViewOf("bad").quarantine_reason, IsEmpty());
  harness().RestartCoordinator();
  RoundsUntilQuarantined("bad");
  EXPECT_EQ(ViewOf("bad").quarantine_span, 2 * harness().policy().quarantine_min);
}

TEST_F(BlameSchedulerTest, WhatAWorkerFailedBeforeARestartCountsAfterIt) {
  AddWorker("bad");
  AddWorker("good");
  Submit(Evals({"a"}, {"x"}, 40));
  for (int round = 0; round < 4; ++round) {
    Round({"bad"});
  }
  Sync();
  ASSERT_THAT(ViewOf("bad").quarantine_reason, IsEmpty());
  harness().RestartCoordinator();
  Round({"bad"});
  Sync();
  EXPECT_THAT(ViewOf("bad").quarantine_reason, HasSubstr("failed 3 jobs that succeeded on good"));
}

TEST_F(BlameSchedulerTest, AWorkerThatIsForgottenLeavesNothingBehind) {
  AddWorker("bad");
  AddWorker("good");
  Submit(Evals({"a"}, {"x"}, 40));
  for (int round = 0; round < 3; ++round) {
    Round({"bad"});
  }
  ASSERT_THAT(scheduler().views().ListBlame(), Not(IsEmpty()));
  harness().Advance(harness().policy().lease);
  harness().EndTurn();
  harness().Advance(harness().policy().lost_worker_kept);
  harness().EndTurn();
  EXPECT_THAT(scheduler().views().ListWorkers(), IsEmpty());
  EXPECT_THAT(scheduler().views().ListBlame(), IsEmpty());
}

TEST_F(BlameSchedulerTest, AttemptsLostOrAskedToComeAgainBlameNobody) {
  AddWorker("w1");
  AddWorker("w2");
  Submit(Evals({"a"}, {"x"}, 40));
  for (int round = 0; round < 8; ++round) {
    Round({"w1"}, FailureClass::kTemporary);
  }
  EXPECT_THAT(ViewOf("w1").quarantine_reason, IsEmpty());
}

TEST_F(BlameSchedulerTest, AWaitingJobsExplanationTellsOfTheQuarantine) {
  AddWorker("bad", 8);
  AddWorker("good", 1);
  Submit(Evals({"a"}, {"x"}, 4));
  RoundsUntilQuarantined("bad");
  ASSERT_THAT(ViewOf("bad").quarantine_reason, Not(IsEmpty()));
  SweepSpec large = Evals({"large"}, {"x"}, 1);
  large.approaches[0].version = "2";  // no work that is done
  large.approaches[0].predict_resources.cpu_millis = 4000;
  const SweepId id = Submit(large);
  Sync();
  EXPECT_THAT(ReasonText(scheduler().views().ReasonOf({id, 0})),
              AllOf(HasSubstr("fits on none"), HasSubstr("1 is in quarantine")));
}

// --- quotas --------------------------------------------------------------------------------------

TEST_F(BlameSchedulerTest, AnOwnerRunsNoMoreThanTheQuotaAndOthersGoOn) {
  SchedulerPolicy policy;
  policy.quotas.otherwise.running_jobs_max = 2;
  policy.quotas.owners["big"] = Quota{.running_jobs_max = 5};
  Use(policy);
  AddWorker("w", 8);
  const SweepId mine = Submit(Evals({"a"}, {"x"}, 10), "me");
  const SweepId big = Submit(Evals({"b"}, {"y"}, 10), "big");
  Sync();
  EXPECT_EQ(scheduler().views().owners().UseOf("me").running_jobs, 2);
  EXPECT_EQ(scheduler().views().owners().UseOf("big").running_jobs, 5);
  EXPECT_THAT(ReasonText(scheduler().views().ReasonOf({mine, 9})),
              AllOf(HasSubstr("me runs 2 jobs"), HasSubstr("running_jobs_max is 2")));
  EXPECT_THAT(ReasonText(scheduler().views().ReasonOf({big, 9})),
              HasSubstr("running_jobs_max is 5"));
  EXPECT_EQ(scheduler().views().FindSweep(mine)->owner_use.running_jobs, 2);
  for (int round = 0; round < 8; ++round) {
    Round({});
    EXPECT_LE(scheduler().views().owners().UseOf("me").running_jobs, 2);
  }
  Sync();
  EXPECT_EQ(scheduler().views().FindSweep(mine)->state, SweepState::kSucceeded);
  EXPECT_EQ(scheduler().views().owners().UseOf("me").running_jobs, 0);
}

TEST_F(BlameSchedulerTest, ASweepWhoseDataIsTooMuchIsRefusedAndTheSameDataCountsOnce) {
  SweepSpec spec = Evals({"a"}, {"x"}, 1);
  const int64_t bytes = spec.benchmarks[0].test->bytes;
  SchedulerPolicy policy;
  policy.quotas.otherwise.stored_bytes_max = bytes + 1;
  Use(policy);
  const SweepId id = Submit(spec);
  EXPECT_EQ(scheduler().views().owners().UseOf("me").stored_bytes, bytes);
  Submit(spec);
  EXPECT_EQ(scheduler().views().owners().UseOf("me").stored_bytes, bytes);
  EXPECT_THAT(
      harness().Submit(Evals({"a"}, {"long-name"}, 1), "other text"),
      StatusIs(absl::StatusCode::kResourceExhausted,
               AllOf(HasSubstr(absl::StrCat("me stores ", bytes)), HasSubstr("stored_bytes_max"))));
  ASSERT_OK(harness().Submit(Evals({"a"}, {"y"}, 1), "by somebody else", "you"));
  // Deleted, it no longer counts.
  ASSERT_OK(scheduler().CancelSweep(id));
  ASSERT_OK(scheduler().DeleteSweep(id));
  EXPECT_EQ(scheduler().views().owners().UseOf("me").stored_bytes, bytes);
  ASSERT_OK(scheduler().CancelSweep({2}));
  ASSERT_OK(scheduler().DeleteSweep({2}));
  EXPECT_EQ(scheduler().views().owners().UseOf("me").stored_bytes, 0);
}

TEST_F(BlameSchedulerTest, WhatResultsKeepCountsAndStopsNewJobs) {
  SweepSpec spec = Trains({"a"}, {"x"}, 3);
  const int64_t data = spec.benchmarks[0].test->bytes + spec.benchmarks[0].train->bytes;
  SchedulerPolicy policy;
  policy.quotas.otherwise.stored_bytes_max = data + 1;
  Use(policy);
  AddWorker("w", 1);
  const SweepId id = Submit(spec);
  Round({});
  Sync();  // the first system is stored: nothing more starts
  EXPECT_GT(scheduler().views().owners().UseOf("me").stored_bytes, data);
  EXPECT_EQ(RunningOn("w"), 0u);
  EXPECT_THAT(ReasonText(scheduler().views().ReasonOf({id, 2})),
              AllOf(HasSubstr("waits for its owner's quota"), HasSubstr("stored_bytes_max")));
}

// --- mended --------------------------------------------------------------------------------------

// A sweep that ended while it was paused stayed so: a later retry waited for ever.
TEST_F(BlameSchedulerTest, ASweepThatEndsWhilePausedRunsWhenItIsRetried) {
  AddWorker("w");
  SweepSpec spec = Evals({"a"}, {"x"}, 1);
  spec.retry.failures_max = 1;
  const SweepId id = Submit(spec);
  Sync();
  ASSERT_OK(scheduler().PauseSweep(id));
  Round({"w"});
  Sync();
  ASSERT_EQ(scheduler().views().FindSweep(id)->state, SweepState::kFailed);
  ASSERT_OK(scheduler().RetryJobs(id, {}, false));
  EXPECT_EQ(scheduler().views().FindSweep(id)->state, SweepState::kActive);
  Sync();
  EXPECT_EQ(StateOf(id, 0), JobState::kRunning);
}

// Retrying one eval job of a cell left its siblings skipped, though their train job ran again.
TEST_F(BlameSchedulerTest, RetryingOneEvalJobTakesItsSkippedSiblingsAlong) {
  AddWorker("w");
  SweepSpec spec = Trains({"a"}, {"x", "y"}, 1);
  spec.evaluate_on = EvaluateOn::kAll;
  spec.train_sets.resize(1);
  const SweepId id = Submit(spec);  // 0: train; 1 and 2: eval
  Round({"w"});
  Sync();
  ASSERT_EQ(StateOf(id, 1), JobState::kSkipped);
  ASSERT_EQ(StateOf(id, 2), JobState::kSkipped);
  ASSERT_OK_AND_ASSIGN(const uint32_t retried, scheduler().RetryJobs(id, {1}, false));
  EXPECT_EQ(retried, 3u);
  for (int round = 0; round < 4; ++round) {
    Round({});
  }
  EXPECT_EQ(scheduler().views().FindSweep(id)->state, SweepState::kSucceeded);
}

}  // namespace
}  // namespace concur::testing
