// SPDX-License-Identifier: Apache-2.0
// Reports of jobs step by step: each report counts once, whatever the network does.

#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "core/scheduler/scheduler.h"
#include "tests/core/state/blame_fixture.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

class SchedulerStepsTest : public BlameSchedulerTest {
 protected:
  // A sweep of one train job, which runs on "w1" as attempt 1.
  void StartOne() {
    AddWorker("w1");
    SweepSpec spec = Trains({"a"}, {"x"}, 1);
    spec.retry.failures_max = 2;
    sweep_ = Submit(std::move(spec));
    Sync();
    ASSERT_EQ(RunningOn("w1"), 1u);
  }
  JobId job() const { return {sweep_, 0}; }
  AttemptId Id(uint32_t attempt) const { return {job(), {attempt}}; }
  uint32_t Counted() { return scheduler().views().ViewJob(job()).steps; }
  static std::vector<AttemptStep> Steps(AttemptId id, const std::vector<int64_t>& steps) {
    std::vector<AttemptStep> all;
    for (const int64_t step : steps) {
      all.push_back({id, {step, "f1", static_cast<double>(step)}});
    }
    return all;
  }
  // A Sync of the worker with these reports, whose turn is ended.
  void Report(const std::string& worker, std::vector<AttemptStep> steps) {
    SyncRequest request = WorkerCalled(worker).MakeRequest();
    request.steps = std::move(steps);
    ASSERT_OK(scheduler().Sync(request));
    harness().EndTurn();
  }

  SweepId sweep_;
};

TEST_F(SchedulerStepsTest, ARepeatedReportCountsOnceAndOneThatWasLostWithItsSyncIsTakenLater) {
  StartOne();
  Report("w1", Steps(Id(1), {1, 2}));
  EXPECT_EQ(Counted(), 2u);
  Report("w1", Steps(Id(1), {1, 2, 3}));  // the answer to the first was lost
  EXPECT_EQ(Counted(), 3u);
  harness().RestartCoordinator();
  EXPECT_EQ(Counted(), 3u);
  Report("w1", Steps(Id(1), {2, 3, 4}));
  EXPECT_EQ(Counted(), 4u);
}

TEST_F(SchedulerStepsTest, ProgressShowsWhileTheAttemptRunsAlsoAfterARestart) {
  StartOne();
  AddWorker("w2");
  const auto say = [&](const std::string& worker, AttemptId id, int64_t done) {
    SyncRequest request = WorkerCalled(worker).MakeRequest();
    request.progress = {{id, done, 4}};
    ASSERT_OK(scheduler().Sync(request));
    harness().EndTurn();
  };
  const auto done = [&] { return scheduler().views().FindSweep(sweep_)->running_done; };
  say("w1", Id(1), 1);
  EXPECT_EQ(done(), 0.25);
  EXPECT_EQ(scheduler().views().ViewJob(job()).of, 4);
  say("w2", Id(1), 3);  // it does not hold the job
  say("w1", Id(2), 3);  // nor is there such an attempt
  say("w1", {{{99}, 0}, {1}}, 3);
  EXPECT_EQ(done(), 0.25);
  harness().RestartCoordinator();
  EXPECT_EQ(done(), 0);
  say("w1", Id(1), 2);
  EXPECT_EQ(done(), 0.5);
  FinishAllWell("w1");
  say("w1", Id(1), 4);
  EXPECT_EQ(done(), 0);
  EXPECT_EQ(scheduler().views().ViewJob(job()).of, 0);
}

TEST_F(SchedulerStepsTest, TheLastReportsCountTogetherWithTheResult) {
  StartOne();
  FinishAllWell("w1");
  Report("w1", Steps(Id(1), {1}));
  EXPECT_EQ(StateOf(sweep_, 0), JobState::kSucceeded);
  EXPECT_EQ(Counted(), 1u);
  Report("w1", Steps(Id(1), {2}));  // after its end
  EXPECT_EQ(Counted(), 1u);
}

TEST_F(SchedulerStepsTest, ReportsOfOlderAttemptsAndOfWorkersThatDoNotHoldTheJobAreIgnored) {
  StartOne();
  AddWorker("w2");
  Report("w2", Steps(Id(1), {1}));
  ASSERT_OK(scheduler().DrainWorker("w2", true));
  EXPECT_EQ(Counted(), 0u);
  Report("w1", Steps(Id(2), {1}));  // there was no such attempt
  Report("w1", Steps({{sweep_, 7'000}, {1}}, {1}));
  Report("w1", Steps({{{99}, 0}, {1}}, {1}));
  EXPECT_EQ(Counted(), 0u);
  // The second attempt begins anew: what the first reported stays, the rest counts.
  Report("w1", Steps(Id(1), {1, 2}));
  FinishAll("w1", FailureOf(FailureClass::kFailed));
  Sync();
  Sync();
  ASSERT_EQ(scheduler().views().ViewJob(job()).attempt.number, 2u);
  Report("w1", Steps(Id(1), {3}));
  EXPECT_EQ(Counted(), 2u);
  Report("w1", Steps(Id(2), {1, 2, 3}));
  EXPECT_EQ(Counted(), 3u);
}

TEST_F(SchedulerStepsTest, AnAttemptThatComesBackAfterItsLeaseHasEndedGoesOnReporting) {
  StartOne();
  SetSilent("w1", true);
  for (int i = 0; i < 60; ++i) {
    Sync();
  }
  ASSERT_EQ(StateOf(sweep_, 0), JobState::kReady);
  Report("w1", Steps(Id(1), {1, 2}));
  EXPECT_EQ(StateOf(sweep_, 0), JobState::kRunning);
  EXPECT_EQ(Counted(), 2u);
}

TEST_F(SchedulerStepsTest, AJobThatIsRunAgainBeginsWithoutReports) {
  StartOne();
  Report("w1", Steps(Id(1), {1, 2}));
  FinishAllWell("w1");
  Sync();
  ASSERT_EQ(StateOf(sweep_, 0), JobState::kSucceeded);
  FinishAllWell("w1");
  Sync();
  ASSERT_OK(scheduler().RetryJobs(sweep_, {0}, /*rerun_succeeded=*/true));
  harness().EndTurn();
  EXPECT_EQ(Counted(), 0u);
  Sync();
  ASSERT_EQ(scheduler().views().ViewJob(job()).attempt.number, 2u);
  Report("w1", Steps(Id(2), {1}));
  EXPECT_EQ(Counted(), 1u);
  harness().RestartCoordinator();
  EXPECT_EQ(Counted(), 1u);
}

TEST_F(SchedulerStepsTest, AReusedJobShowsTheReportsOfTheOneThatRan) {
  StartOne();
  Report("w1", Steps(Id(1), {1, 2}));
  FinishAllWell("w1");
  Sync();
  const SweepId again = Submit(Trains({"a"}, {"x"}, 1));
  harness().EndTurn();
  ASSERT_TRUE(scheduler().views().ViewJob({again, 0}).reused_from.has_value());
  EXPECT_EQ(scheduler().views().ViewJob({again, 0}).steps, 2u);
}

TEST_F(SchedulerStepsTest, AReusedJobShowsNoReportsOnceTheOneThatRanHasRunAgain) {
  StartOne();
  Report("w1", Steps(Id(1), {1, 2}));
  FinishAllWell("w1");
  Sync();
  FinishAllWell("w1");
  Sync();
  const SweepId again = Submit(Trains({"a"}, {"x"}, 1));
  harness().EndTurn();
  ASSERT_EQ(scheduler().views().ReporterOf({again, 0}), job());
  ASSERT_OK(scheduler().RetryJobs(sweep_, {0}, /*rerun_succeeded=*/true));
  EXPECT_FALSE(scheduler().views().ReporterOf({again, 0}).has_value());  // it has no result
  Sync();
  ASSERT_EQ(scheduler().views().ViewJob(job()).attempt.number, 2u);
  Report("w1", Steps(Id(2), {1}));
  JobResult result = SuccessOf(Id(2), /*is_train=*/true);
  result.start_time = absl::FromUnixSeconds(1'700'000'000);
  FinishAll("w1", result);
  Sync();
  ASSERT_EQ(StateOf(sweep_, 0), JobState::kSucceeded);
  EXPECT_EQ(Counted(), 1u);
  EXPECT_FALSE(scheduler().views().ReporterOf({again, 0}).has_value());  // it has another one
  EXPECT_EQ(scheduler().views().ViewJob({again, 0}).steps, 0u);
}

TEST_F(SchedulerStepsTest, AJobThatReusesAReusedResultShowsTheReportsOfTheOneThatRan) {
  const SweepId canceled = Submit(Trains({"a"}, {"x"}, 1));
  ASSERT_OK(scheduler().CancelJob({canceled, 0}));
  harness().EndTurn();
  StartOne();
  Report("w1", Steps(Id(1), {1, 2}));
  FinishAllWell("w1");
  Sync();
  FinishAllWell("w1");
  Sync();
  ASSERT_OK(scheduler().RetryJobs(canceled, {0}, /*rerun_succeeded=*/false));
  Sync();
  ASSERT_EQ(scheduler().views().ViewJob({canceled, 0}).reused_from, job());
  harness().RestartCoordinator();  // equal results: the first in order is taken now
  const SweepId last = Submit(Trains({"a"}, {"x"}, 1));
  harness().EndTurn();
  ASSERT_EQ(scheduler().views().ViewJob({last, 0}).reused_from, (JobId{canceled, 0}));
  EXPECT_EQ(scheduler().views().ReporterOf({last, 0}), job());
  EXPECT_EQ(scheduler().views().ViewJob({last, 0}).steps, 2u);
}

}  // namespace
}  // namespace concur::testing
