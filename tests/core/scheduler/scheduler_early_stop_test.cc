// SPDX-License-Identifier: Apache-2.0
// Sweeps with early_stop: what is paused, goes on and is stopped, and that it stays so.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/scheduler/reason_text.h"
#include "core/scheduler/scheduler.h"
#include "tests/core/state/blame_fixture.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

class SchedulerEarlyStopTest : public BlameSchedulerTest {
 protected:
  // Approach a with so many settings on x, evaluated there; a worker for each.
  void Start(uint32_t settings, EarlyStopRule rule) {
    SweepSpec spec = Trains({"a"}, {"x"}, 1);
    spec.random_settings = settings - 1;
    spec.retry.failures_max = 2;
    spec.failures_max_per_block = 0;
    spec.early_stop = EarlyStopSpec{.rule = rule, .metric = "f1"};
    sweep_ = Submit(std::move(spec));
    for (uint32_t s = 0; s < settings; ++s) {
      AddWorker(absl::StrCat("w", s));
    }
    Sync();
  }
  // Starts three settings, the first of which runs after the deaths of two of its workers.
  void StartWithASuspect() {
    Start(3, Halving());
    for (int death = 0; death < 2; ++death) {
      ASSERT_NE(WorkerOf(0), "");
      Restart(WorkerOf(0));
      Sync();
      Sync();
    }
  }
  static EarlyStopRule Halving() { return {.min = 1, .max = 3, .eta = 3}; }

  uint32_t Train(uint32_t setting) const { return 2 * setting; }
  uint32_t Eval(uint32_t setting) const { return 2 * setting + 1; }
  JobState TrainState(uint32_t setting) { return StateOf(sweep_, Train(setting)); }
  JobView View(uint32_t setting) { return scheduler().views().ViewJob({sweep_, Train(setting)}); }
  // The worker that runs the setting's train job; "" when none does.
  std::string WorkerOf(uint32_t setting) {
    for (const std::string& name : WorkerNames()) {
      for (const AttemptId& id : RunningSetOf(name)) {
        if (id.job == JobId{sweep_, Train(setting)} &&
            !WorkerCalled(name).stopping().contains(id)) {
          return name;
        }
      }
    }
    return "";
  }
  AttemptId AttemptOf(uint32_t setting) {
    return {{sweep_, Train(setting)}, View(setting).attempt};
  }
  // The job reports, in one Sync; `finished`, with its result.
  void Report(uint32_t setting, std::vector<std::pair<int64_t, double>> scores,
              bool finished = false) {
    const std::string worker = WorkerOf(setting);
    ASSERT_NE(worker, "") << "setting " << setting << " does not run";
    const AttemptId id = AttemptOf(setting);
    if (finished) {
      WorkerCalled(worker).Finish(id, SuccessOf(id, /*is_train=*/true));
    }
    SyncRequest request = WorkerCalled(worker).MakeRequest();
    for (const auto& [step, score] : scores) {
      request.steps.push_back({id, {step, "f1", score}});
    }
    ASSERT_OK(scheduler().Sync(request));
    harness().parked().insert(worker);
    const SchedulerHarness::Turn turn = harness().EndTurn();
    if (const auto answer = turn.answers.find(worker); answer != turn.answers.end()) {
      WorkerCalled(worker).TakeAnswer(request.sequence, answer->second);
    }
  }
  // The workers stop what they are to stop.
  void DropStopping() {
    for (const std::string& name : WorkerNames()) {
      const std::set<AttemptId> stopping = WorkerCalled(name).stopping();
      for (const AttemptId& id : stopping) {
        WorkerCalled(name).Drop(id);
      }
    }
    Sync();
  }

  SweepId sweep_;
};

TEST_F(SchedulerEarlyStopTest, TheBestOfThreeGoesOnTheOthersAreStoppedAndTheSweepSucceeds) {
  Start(3, Halving());
  Report(0, {{1, 0.5}});
  EXPECT_EQ(TrainState(0), JobState::kBlocked);
  EXPECT_THAT(ReasonText(scheduler().views().ReasonOf({sweep_, 0})),
              HasSubstr("paused by early_stop at 1 of 3 steps"));
  Report(1, {{1, 0.9}});
  Report(2, {{1, 0.1}});
  EXPECT_EQ(TrainState(1), JobState::kReady) << "its attempt is being stopped";
  DropStopping();
  ASSERT_EQ(TrainState(1), JobState::kRunning);
  EXPECT_EQ(View(1).attempt.number, 2u);
  EXPECT_EQ(View(1).failures + View(1).lost, 0u) << "neither a failure nor a lost attempt";
  Report(1, {{1, 0.9}, {2, 0.9}});  // again from the start
  Report(1, {{3, 0.95}}, /*finished=*/true);
  EXPECT_EQ(TrainState(1), JobState::kSucceeded);
  for (const uint32_t setting : {0, 2}) {
    EXPECT_EQ(TrainState(setting), JobState::kStopped);
    EXPECT_EQ(StateOf(sweep_, Eval(setting)), JobState::kStopped);
    EXPECT_THAT(ReasonText(scheduler().views().ReasonOf({sweep_, Train(setting)})),
                HasSubstr("stopped by early_stop"));
    EXPECT_THAT(ReasonText(scheduler().views().ReasonOf({sweep_, Eval(setting)})),
                HasSubstr("stopped: early_stop"));
  }
  Sync();
  for (const std::string& name : WorkerNames()) {
    FinishAllWell(name);
  }
  Sync();
  EXPECT_EQ(scheduler().views().FindSweep(sweep_)->state, SweepState::kSucceeded);
  EXPECT_EQ(CountOf(sweep_, JobState::kStopped), 4u);
}

// The pause would have thrown a whole training away.
TEST_F(SchedulerEarlyStopTest, AResultThatComesWithTheReportThatWouldPauseItCounts) {
  Start(3, Halving());
  Report(0, {{1, 0.5}, {2, 0.6}, {3, 0.7}}, /*finished=*/true);
  EXPECT_EQ(TrainState(0), JobState::kSucceeded);
  Report(1, {{1, 0.1}});
  Report(2, {{1, 0.2}});
  EXPECT_EQ(TrainState(1), JobState::kStopped);
  EXPECT_EQ(TrainState(2), JobState::kStopped);
}

TEST_F(SchedulerEarlyStopTest, AResultOfAPausedAttemptThatComesLateIsRefused) {
  Start(3, Halving());
  const std::string worker = WorkerOf(0);
  const AttemptId id = AttemptOf(0);
  Report(0, {{1, 0.5}});
  WorkerCalled(worker).Finish(id, SuccessOf(id, true));
  Sync();
  EXPECT_EQ(TrainState(0), JobState::kBlocked);
  EXPECT_EQ(scheduler().views().refused_results(), 1u);
  EXPECT_EQ(View(0).lost, 0u);
}

// Nobody saw the log or the hours of an attempt that early_stop ended.
TEST_F(SchedulerEarlyStopTest, AnAttemptThatItEndedLeavesItsLogAndItsTimeOnce) {
  Start(3, Halving());
  const std::string worker = WorkerOf(0);
  const AttemptId id = AttemptOf(0);
  Report(0, {{1, 0.5}});
  JobResult result =
      SuccessOf(id, true);  // it ended well before the order came, and does not count
  result.run_time = absl::Minutes(7);
  WorkerCalled(worker).Finish(id, result);
  Sync();
  ASSERT_OK_AND_ASSIGN(const std::vector<AttemptRow> attempts,
                       harness().store().ListAttempts(id.job));
  ASSERT_EQ(attempts.size(), 1u);
  EXPECT_EQ(attempts[0].attempt, id.attempt);
  EXPECT_EQ(attempts[0].worker, worker);
  EXPECT_EQ(attempts[0].result.failure, FailureClass::kPreempted);
  EXPECT_FALSE(attempts[0].result.succeeded);
  EXPECT_EQ(attempts[0].result.run_time, absl::Minutes(7));
  EXPECT_EQ(attempts[0].result.artifacts, result.artifacts);
  EXPECT_EQ(View(0).failures + View(0).lost, 0u) << "nothing is counted";
}

// The next death of its worker, hours later, made it poison.
TEST_F(SchedulerEarlyStopTest, APauseAcquitsASuspect) {
  StartWithASuspect();
  const std::string worker = WorkerOf(0);
  ASSERT_NE(worker, "");
  const AttemptId id = AttemptOf(0);
  Report(0, {{1, 0.9}});
  ASSERT_EQ(TrainState(0), JobState::kBlocked);
  WorkerCalled(worker).Finish(id, FailureOf(FailureClass::kPreempted));
  Sync();
  Report(1, {{1, 0.1}});
  Report(2, {{1, 0.2}});
  DropStopping();
  ASSERT_EQ(TrainState(0), JobState::kRunning) << "it goes on";
  Restart(WorkerOf(0));
  Sync();
  EXPECT_NE(TrainState(0), JobState::kFailed);
  EXPECT_NE(View(0).failure, FailureClass::kPoison);
}

// A job that goes on does not wait until its paused attempt has stopped.
TEST_F(SchedulerEarlyStopTest, APausedAttemptThatEndsBesideTheNextOneLeavesItsTimeAndAcquits) {
  StartWithASuspect();
  const std::string worker = WorkerOf(0);
  ASSERT_NE(worker, "");
  const AttemptId id = AttemptOf(0);
  Report(0, {{1, 0.9}});
  Report(1, {{1, 0.1}});
  Report(2, {{1, 0.2}});
  AddWorker("new");
  Sync();
  ASSERT_EQ(WorkerOf(0), "new") << "it goes on while its paused attempt is being stopped";
  ASSERT_EQ(AttemptOf(0).attempt.number, id.attempt.number + 1);
  JobResult result = FailureOf(FailureClass::kPreempted);
  result.run_time = absl::Minutes(7);
  WorkerCalled(worker).Finish(id, result);
  Sync();
  ASSERT_OK_AND_ASSIGN(const std::vector<AttemptRow> attempts,
                       harness().store().ListAttempts(id.job));
  const auto kept = std::find_if(attempts.begin(), attempts.end(),
                                 [&](const AttemptRow& row) { return row.attempt == id.attempt; });
  ASSERT_NE(kept, attempts.end());
  EXPECT_EQ(kept->result.failure, FailureClass::kPreempted);
  EXPECT_EQ(kept->result.run_time, absl::Minutes(7));
  EXPECT_EQ(TrainState(0), JobState::kRunning);
  Restart("new");
  Sync();
  EXPECT_NE(TrainState(0), JobState::kFailed);
  EXPECT_NE(View(0).failure, FailureClass::kPoison);
}

TEST_F(SchedulerEarlyStopTest, AnAttemptThatWasCanceledLeavesNothing) {
  Start(3, Halving());
  const std::string worker = WorkerOf(0);
  const AttemptId id = AttemptOf(0);
  ASSERT_OK(scheduler().CancelJob(id.job));
  WorkerCalled(worker).Finish(id, FailureOf(FailureClass::kPreempted));
  Sync();
  ASSERT_OK_AND_ASSIGN(const std::vector<AttemptRow> attempts,
                       harness().store().ListAttempts(id.job));
  EXPECT_TRUE(attempts.empty());
}

TEST_F(SchedulerEarlyStopTest, ASettingThatWasLetGoBeforeItHasStoppedGoesOnFromItsCheckpoint) {
  Start(3, Halving());
  const std::string worker = WorkerOf(1);
  const AttemptId id = AttemptOf(1);
  Report(0, {{1, 0.5}});
  Report(1, {{1, 0.9}});
  Report(2, {{1, 0.1}});
  ASSERT_EQ(TrainState(1), JobState::kReady);
  WorkerCalled(worker).Finish(id, FailureOf(FailureClass::kPreempted),
                              Checkpoint{Sha256Of("one"), 100, 0});
  Sync();
  EXPECT_EQ(View(1).checkpoint, (Checkpoint{Sha256Of("one"), 100, 1}));
}

// The checkpoint that a canceled attempt left became that of the retry.
TEST_F(SchedulerEarlyStopTest, ARetryOfACanceledTrainingBeginsAnew) {
  Start(3, Halving());
  const std::string worker = WorkerOf(0);
  const AttemptId id = AttemptOf(0);
  ASSERT_OK(scheduler().CancelJob({sweep_, Train(0)}));
  ASSERT_OK(scheduler().RetryJobs(sweep_, {Train(0)}, /*rerun_succeeded=*/false));
  harness().EndTurn();
  ASSERT_EQ(TrainState(0), JobState::kReady) << "the canceled attempt has not stopped";
  WorkerCalled(worker).Finish(id, FailureOf(FailureClass::kPreempted),
                              Checkpoint{Sha256Of("one"), 100, 0});
  Sync();
  EXPECT_EQ(View(0).checkpoint, std::nullopt);
  ASSERT_EQ(View(0).attempt.number, 2u);
  EXPECT_EQ(WorkerCalled(WorkerOf(0)).CheckpointOf(AttemptOf(0)), std::nullopt);
}

TEST_F(SchedulerEarlyStopTest, APausedSettingGoesOnFromItsCheckpointOnAnyWorker) {
  Start(3, Halving());
  const std::string worker = WorkerOf(1);
  const AttemptId id = AttemptOf(1);
  Report(0, {{1, 0.5}});
  Report(1, {{1, 0.4}});
  ASSERT_EQ(TrainState(1), JobState::kBlocked);
  WorkerCalled(worker).Finish(id, FailureOf(FailureClass::kPreempted),
                              Checkpoint{Sha256Of("one"), 100, 0});
  harness().RestartCoordinator();  // it does not know any more that a worker was to stop it
  Sync();
  const Checkpoint left{Sha256Of("one"), 100, 1};
  EXPECT_EQ(View(1).checkpoint, left);
  EXPECT_EQ(View(1).lost, 0u);
  SetSilent(worker, true);
  Report(2, {{1, 0.1}});
  DropStopping();
  for (int failure = 0; failure < 2; ++failure) {  // failures of the setting that is better
    WorkerCalled(WorkerOf(0)).Finish(AttemptOf(0), FailureOf(FailureClass::kFailed));
    Sync();
    harness().Advance(absl::Seconds(20));
    Sync();
  }
  ASSERT_EQ(TrainState(1), JobState::kRunning);
  ASSERT_NE(WorkerOf(1), worker);
  EXPECT_EQ(WorkerCalled(WorkerOf(1)).CheckpointOf(AttemptOf(1)), left);
  Report(1, {{3, 0.5}}, /*finished=*/true);
  EXPECT_EQ(View(1).checkpoint, std::nullopt);
}

TEST_F(SchedulerEarlyStopTest, WhenTheOneThatWentOnFailsForGoodTheNextGoesOn) {
  Start(3, Halving());
  for (uint32_t setting = 0; setting < 3; ++setting) {
    Report(setting, {{1, 0.1 * setting}});
  }
  DropStopping();
  for (int failure = 0; failure < 2; ++failure) {
    const std::string worker = WorkerOf(2);
    ASSERT_NE(worker, "");
    WorkerCalled(worker).Finish(AttemptOf(2), FailureOf(FailureClass::kFailed));
    Sync();
    harness().Advance(absl::Seconds(30));
    Sync();
  }
  EXPECT_EQ(TrainState(2), JobState::kFailed);
  EXPECT_EQ(TrainState(1), JobState::kRunning);
  EXPECT_EQ(TrainState(0), JobState::kBlocked);
  Report(1, {{3, 0.3}}, /*finished=*/true);
  EXPECT_EQ(TrainState(0), JobState::kStopped);
  // The failed one comes back, and is compared with what the others did.
  ASSERT_OK_AND_ASSIGN(const uint32_t retried, scheduler().RetryJobs(sweep_, {}, false));
  EXPECT_EQ(retried, 2u) << "not what was stopped";
  harness().EndTurn();
  Sync();
  Report(2, {{1, 0.01}});
  EXPECT_EQ(TrainState(2), JobState::kStopped) << "one of three goes on, and did";
}

TEST_F(SchedulerEarlyStopTest, AStoppedJobThatSomebodyListsTrainsToItsEnd) {
  Start(2, {.min = 1, .max = 3, .eta = 2});
  Report(0, {{1, 0.9}});
  Report(1, {{1, 0.1}});
  DropStopping();
  Report(0, {{3, 0.9}}, /*finished=*/true);
  ASSERT_EQ(TrainState(1), JobState::kStopped);
  ASSERT_OK_AND_ASSIGN(const uint32_t retried,
                       scheduler().RetryJobs(sweep_, {Eval(1)}, /*rerun_succeeded=*/false));
  EXPECT_EQ(retried, 2u) << "with the train job that it needs";
  harness().EndTurn();
  harness().RestartCoordinator();
  Sync();
  Sync();
  ASSERT_EQ(TrainState(1), JobState::kRunning);
  Report(1, {{1, 0.1}});
  EXPECT_EQ(TrainState(1), JobState::kRunning);
  Report(1, {{3, 0.1}}, /*finished=*/true);
  EXPECT_EQ(TrainState(1), JobState::kSucceeded);
}

TEST_F(SchedulerEarlyStopTest, ARestartPausesNobodyElseAndForgetsNoReport) {
  Start(6, Halving());
  Report(0, {{1, 0.1}});
  Report(1, {{1, 0.2}});
  Report(2, {{1, 0.3}});
  EXPECT_EQ(View(2).rung, 1u) << "the best of the first three";
  Report(3, {{1, 0.05}});
  harness().RestartCoordinator();
  EXPECT_EQ(View(2).rung, 1u);
  EXPECT_EQ(View(3).rung, 0u);
  DropStopping();
  Sync();
  Report(4, {{1, 0.9}});
  Report(5, {{1, 0.25}});
  EXPECT_EQ(View(4).rung, 1u);
  EXPECT_EQ(View(5).rung, 0u);
}

TEST_F(SchedulerEarlyStopTest, TheMedianStopsForGood) {
  Start(5, {.method = EarlyStopMethod::kMedian, .min = 2, .max = 4});
  for (uint32_t setting = 0; setting < 4; ++setting) {
    Report(setting, {{1, 0.5}, {2, 0.5 + 0.1 * setting}});
    EXPECT_EQ(TrainState(setting), JobState::kRunning);
  }
  Report(4, {{1, 0.1}, {2, 0.1}});
  EXPECT_EQ(TrainState(4), JobState::kStopped);
  EXPECT_EQ(StateOf(sweep_, Eval(4)), JobState::kStopped);
  harness().RestartCoordinator();
  EXPECT_EQ(TrainState(4), JobState::kStopped);
}

// It stayed canceled, and the sweep could not succeed any more.
TEST_F(SchedulerEarlyStopTest, ACanceledEvaluationOfAStoppedTrainingIsStoppedByARetry) {
  Start(2, {.min = 1, .max = 3, .eta = 2});
  ASSERT_OK(scheduler().CancelJob({sweep_, Eval(1)}));
  Report(0, {{1, 0.9}});
  Report(1, {{1, 0.1}});
  DropStopping();
  Report(0, {{3, 0.9}}, /*finished=*/true);
  ASSERT_EQ(TrainState(1), JobState::kStopped);
  ASSERT_EQ(StateOf(sweep_, Eval(1)), JobState::kCanceled);
  ASSERT_OK_AND_ASSIGN(const uint32_t retried,
                       scheduler().RetryJobs(sweep_, {}, /*rerun_succeeded=*/false));
  EXPECT_EQ(retried, 0u) << "it does not run again";
  harness().EndTurn();
  EXPECT_EQ(StateOf(sweep_, Eval(1)), JobState::kStopped);
  harness().RestartCoordinator();
  Sync();
  for (const std::string& name : WorkerNames()) {
    FinishAllWell(name);
  }
  Sync();
  EXPECT_EQ(scheduler().views().FindSweep(sweep_)->state, SweepState::kSucceeded);
}

// Settings 0, 2 and 4 of five are in the bracket from step 1; where 1 and 3 are nothing stops.
TEST_F(SchedulerEarlyStopTest, HyperbandComparesWithinBracketsBeforeAndAfterARestart) {
  Start(5, {.method = EarlyStopMethod::kHyperband, .min = 1, .max = 3, .eta = 3});
  Report(0, {{1, 0.5}});
  Report(1, {{1, 0.1}});
  Report(2, {{1, 0.6}});
  EXPECT_EQ(TrainState(0), JobState::kBlocked);
  EXPECT_EQ(TrainState(1), JobState::kRunning);
  EXPECT_EQ(View(2).rung, 0u) << "the third of its bracket has not come";
  EXPECT_THAT(ReasonText(scheduler().views().ReasonOf({sweep_, Train(0)})),
              HasSubstr("settings of its bracket that"));
  harness().RestartCoordinator();
  Sync();
  EXPECT_EQ(TrainState(0), JobState::kBlocked);
  EXPECT_EQ(TrainState(1), JobState::kRunning);
  Report(3, {{1, 0.9}, {2, 0.9}});
  EXPECT_EQ(View(2).rung, 0u) << "of another bracket";
  Report(4, {{1, 0.2}});
  EXPECT_EQ(View(2).rung, 1u);
  harness().RestartCoordinator();
  Sync();
  EXPECT_EQ(View(2).rung, 1u);
  DropStopping();
  Report(1, {{3, 0.1}}, /*finished=*/true);
  Report(3, {{3, 0.9}}, /*finished=*/true);
  EXPECT_EQ(TrainState(0), JobState::kBlocked) << "its bracket is not done";
  Report(2, {{3, 0.6}}, /*finished=*/true);
  for (const uint32_t setting : {0, 4}) {
    EXPECT_EQ(TrainState(setting), JobState::kStopped);
    EXPECT_EQ(StateOf(sweep_, Eval(setting)), JobState::kStopped);
  }
  for (const uint32_t setting : {1, 2, 3}) {
    EXPECT_EQ(TrainState(setting), JobState::kSucceeded);
  }
}

TEST_F(SchedulerEarlyStopTest, ACanceledJobIsNotWaitedForAndACanceledSweepEnds) {
  Start(3, Halving());
  Report(0, {{1, 0.5}});
  Report(1, {{1, 0.6}});
  ASSERT_OK(scheduler().CancelJob({sweep_, Train(2)}));
  harness().EndTurn();
  EXPECT_EQ(View(1).rung, 1u) << "nobody else can come";
  DropStopping();
  ASSERT_OK(scheduler().CancelSweep(sweep_));
  harness().EndTurn();
  Sync();
  DropStopping();
  EXPECT_EQ(scheduler().views().FindSweep(sweep_)->state, SweepState::kCanceled);
  EXPECT_EQ(CountOf(sweep_, JobState::kCanceled), 6u);
}

// Equal work of two sweeps: the one that is stopped keeps nobody waiting.
TEST_F(SchedulerEarlyStopTest, WhoWaitsForTheResultOfAPausedJobRunsItself) {
  Start(2, {.min = 1, .max = 3, .eta = 2});
  SweepSpec spec = Trains({"a"}, {"x"}, 1);
  spec.random_settings = 1;
  const SweepId plain = Submit(std::move(spec));
  AddWorker("w9", 4);
  Sync();
  ASSERT_EQ(StateOf(plain, 0), JobState::kBlocked) << "waits for equal work";
  Report(0, {{1, 0.1}});
  DropStopping();
  EXPECT_EQ(StateOf(plain, 0), JobState::kRunning);
  EXPECT_EQ(TrainState(0), JobState::kBlocked);
  FinishAllWell("w9");
  Sync();
  EXPECT_EQ(TrainState(0), JobState::kBlocked) << "it waits for its turn";
}

// Settings are drawn, and may be drawn twice.
TEST_F(SchedulerEarlyStopTest, OfTwoEqualSettingsTheOneThatWaitsTakesTheResultOfTheOther) {
  SweepSpec spec = Trains({"a"}, {"x"}, 1);
  spec.approaches[0].hyperparameters.space = {{"lr", Choice{{0.1}}}};
  spec.random_settings = 1;
  spec.early_stop = EarlyStopSpec{.rule = {.min = 1, .max = 3, .eta = 2}, .metric = "f1"};
  sweep_ = Submit(std::move(spec));
  AddWorker("w0");
  AddWorker("w1");
  Sync();
  Report(0, {{1, 0.5}});
  DropStopping();
  Report(1, {{1, 0.5}});
  DropStopping();
  ASSERT_EQ(TrainState(1), JobState::kBlocked);
  Report(0, {{3, 0.5}}, /*finished=*/true);
  EXPECT_EQ(TrainState(0), JobState::kSucceeded);
  EXPECT_EQ(View(1).reused_from, (JobId{sweep_, 0}));
}

// A setting that was trained elsewhere is compared with nobody: the next best goes on instead.
TEST_F(SchedulerEarlyStopTest, WhoTakesAResultAtTheEndMakesRoomBeforeAnybodyIsStopped) {
  Start(4, {.min = 1, .max = 4, .eta = 2});
  Report(0, {{1, 0.9}});
  Report(1, {{1, 0.5}});
  Report(2, {{1, 0.8}});
  Report(3, {{1, 0.1}});
  DropStopping();
  Report(2, {{2, 0.8}});
  Report(0, {{2, 0.9}});
  DropStopping();
  SweepSpec spec = Trains({"a"}, {"x"}, 1);
  spec.random_settings = 3;
  const SweepId plain = Submit(std::move(spec));
  AddWorker("w9", 4);
  Sync();
  const AttemptId equal{{plain, Train(2)}, scheduler().views().ViewJob({plain, Train(2)}).attempt};
  ASSERT_EQ(StateOf(plain, Train(2)), JobState::kRunning);
  for (const std::string& name : WorkerNames()) {
    if (RunningSetOf(name).contains(equal)) {
      WorkerCalled(name).Finish(equal, SuccessOf(equal, /*is_train=*/true));
    }
  }
  Sync();
  ASSERT_EQ(StateOf(plain, Train(2)), JobState::kSucceeded);
  ASSERT_EQ(TrainState(2), JobState::kBlocked);
  Report(0, {{4, 0.9}}, /*finished=*/true);
  EXPECT_EQ(View(2).reused_from, (JobId{plain, Train(2)}));
  EXPECT_NE(TrainState(1), JobState::kStopped);
}

TEST_F(SchedulerEarlyStopTest, AnotherNameDecidesNothing) {
  Start(2, Halving());
  const std::string worker = WorkerOf(0);
  SyncRequest request = WorkerCalled(worker).MakeRequest();
  request.steps.push_back({AttemptOf(0), {3, "loss", 1}});
  request.steps.push_back({AttemptOf(0), {0, "f1", 1}});  // before any training
  ASSERT_OK(scheduler().Sync(request));
  harness().EndTurn();
  EXPECT_EQ(TrainState(0), JobState::kRunning);
}

// Settings that are back in the queue were compared without those that are not.
TEST_F(SchedulerEarlyStopTest, SettingsAreJudgedWhenARetryHasReturnedAll) {
  SchedulerPolicy policy;
  policy.slice_jobs = 1;
  Use(policy);
  Start(3, Halving());
  ASSERT_OK(scheduler().CancelJob({sweep_, Train(2)}));
  DropStopping();
  ASSERT_OK_AND_ASSIGN(const uint32_t retried, scheduler().RetryJobs(sweep_, {}, false));
  EXPECT_EQ(retried, 2u) << "the train job and its evaluation";
  harness().EndTurn();
  Report(0, {{1, 0.5}});
  ASSERT_TRUE(scheduler().views().FindSweep(sweep_)->row->retry);
  EXPECT_EQ(TrainState(0), JobState::kRunning);
  harness().RestartCoordinator();
  int turns = 0;
  for (; scheduler().views().FindSweep(sweep_)->row->retry && turns < 100; ++turns) {
    harness().Advance(absl::Milliseconds(1));
    harness().EndTurn();
  }
  EXPECT_GT(turns, 1);
  EXPECT_EQ(TrainState(0), JobState::kBlocked) << "it waits for the others at its first rung";
  EXPECT_NE(TrainState(2), JobState::kCanceled);
  Sync();
  EXPECT_EQ(TrainState(1), JobState::kRunning);
}

}  // namespace
}  // namespace concur::testing
