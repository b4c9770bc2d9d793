// SPDX-License-Identifier: Apache-2.0
// Services: programs that stay up while eval jobs ask them.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/scheduler/reason_text.h"
#include "core/scheduler/scheduler.h"
#include "tests/core/state/blame_fixture.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

class ServicesTest : public BlameSchedulerTest {
 protected:
  // Eval jobs of one approach that ask one service, `serves` at a time.
  static SweepSpec Served(int jobs, uint32_t serves = 2) {
    SweepSpec spec = Evals({"a"}, {"x"}, jobs);
    ServiceSpec service;
    service.command = {"serve", "{port}"};
    service.resources.cpu_millis = 1000;
    service.serves = serves;
    service.idle = absl::Seconds(10);
    spec.approaches[0].predict_command.emplace_back("{service.url}");
    spec.approaches[0].predict_resources.cpu_millis = 100;
    spec.approaches[0].service = std::move(service);
    return spec;
  }
  std::vector<AttemptId> ServicesOn(const std::string& worker) {
    std::vector<AttemptId> services;
    for (const AttemptId& id : RunningSetOf(worker)) {
      if (id.job.IsService()) {
        services.push_back(id);
      }
    }
    return services;
  }
  size_t JobsOn(const std::string& worker) { return RunningOn(worker) - ServicesOn(worker).size(); }
  void SetReady(const std::string& worker) {
    for (const AttemptId& id : ServicesOn(worker)) {
      WorkerCalled(worker).SetReady(id);
    }
  }
  // Ends the worker's jobs, or its services.
  void End(const std::string& worker, bool services, const JobResult& result) {
    for (const AttemptId& id : std::set<AttemptId>(RunningSetOf(worker))) {
      if (id.job.IsService() == services) {
        WorkerCalled(worker).Finish(id, result);
      }
    }
  }
  void EndJobsWell(const std::string& worker) {
    End(worker, /*services=*/false, SuccessOf({}, /*is_train=*/false));
  }
  // A sweep whose one job has asked an instance, which still runs.
  SweepId ServeOneJob(const std::string& worker) {
    const SweepId sweep = Submit(Served(1));
    Sync();
    SetReady(worker);
    Sync();
    EndJobsWell(worker);
    Sync();
    return sweep;
  }
  // Rows of the instances that were started for the sweep's jobs.
  std::vector<AttemptRow> UseOf(SweepId sweep) { return *harness().store().ListServiceUse(sweep); }
  std::string Explain(SweepId sweep, uint32_t job) {
    return ReasonText(scheduler().views().ReasonOf({sweep, job}));
  }
};

TEST_F(ServicesTest, OneInstanceServesAllJobsSoManyAtATime) {
  AddWorker("w", 4);
  const SweepId sweep = Submit(Served(5));
  Sync();
  ASSERT_EQ(ServicesOn("w").size(), 1u);
  const AttemptId service = ServicesOn("w")[0];
  EXPECT_EQ(JobsOn("w"), 0u) << "it loads";
  Sync();
  EXPECT_EQ(JobsOn("w"), 0u);
  EXPECT_THAT(Explain(sweep, 3), HasSubstr("waits for its service, which loads on worker w: 1s"));
  SetReady("w");
  Sync();
  EXPECT_EQ(JobsOn("w"), 2u);
  for (const AttemptId& id : RunningSetOf("w")) {
    EXPECT_TRUE(id == service || WorkerCalled("w").ServiceOf(id) == service);
  }
  EXPECT_THAT(Explain(sweep, 4), HasSubstr("it serves 2 jobs at a time on worker w"));
  for (int round = 0; round < 3; ++round) {
    EndJobsWell("w");
    Sync();
  }
  EXPECT_EQ(CountOf(sweep, JobState::kSucceeded), 5u);
  EXPECT_EQ(ServicesOn("w"), std::vector<AttemptId>{service});
}

TEST_F(ServicesTest, AnIdleInstanceStopsWhenItsTimeIsOver) {
  AddWorker("w", 4);
  Submit(Served(1));
  Sync();
  SetReady("w");
  Sync();
  EndJobsWell("w");
  Sync();
  const AttemptId service = ServicesOn("w")[0];
  EXPECT_EQ(scheduler().NextDeadline(), harness().now() + absl::Seconds(10));
  harness().Advance(absl::Seconds(9));
  Sync();
  EXPECT_TRUE(WorkerCalled("w").stopping().contains(service));
  End("w", /*services=*/true, FailureOf(FailureClass::kPreempted));
  Sync();
  EXPECT_TRUE(ViewOf("w").services.empty());
  EXPECT_EQ(ViewOf("w").used.cpu_millis, 0);
}

TEST_F(ServicesTest, AnIdleInstanceMakesRoomForOthers) {
  AddWorker("w", 1);
  SweepSpec spec = Served(1);
  spec.approaches[0].service->resources.cpu_millis = 900;
  const SweepId first = Submit(std::move(spec));
  Sync();
  SetReady("w");
  Sync();
  EndJobsWell("w");
  const SweepId second = Submit(Evals({"b"}, {"x"}, 1));  // asks for a whole CPU
  Sync();
  EXPECT_EQ(CountOf(first, JobState::kSucceeded), 1u);
  EXPECT_EQ(WorkerCalled("w").stopping().size(), 1u);
  End("w", /*services=*/true, FailureOf(FailureClass::kPreempted));
  Sync();
  EXPECT_EQ(StateOf(second, 0), JobState::kRunning);
}

TEST_F(ServicesTest, AnotherInstanceStartsWhenTheWorkThatWaitsIsLongerThanTheLoad) {
  AddWorker("v", 4);
  AddWorker("w", 4);
  Submit(Served(40, /*serves=*/1));
  Sync();
  EXPECT_EQ(ServicesOn("v").size() + ServicesOn("w").size(), 1u);
  const std::string host = ServicesOn("v").empty() ? "w" : "v";
  const std::string other = host == "v" ? "w" : "v";
  SetReady(host);
  Sync();
  EXPECT_TRUE(ServicesOn(other).empty()) << "nobody knows how long jobs take";
  JobResult result = SuccessOf({}, false);
  result.run_time = absl::Seconds(10);
  End(host, /*services=*/false, result);
  Sync();
  EXPECT_EQ(ServicesOn(other).size(), 1u);
}

TEST_F(ServicesTest, SweepsOfOneOwnerShareAnInstance) {
  AddWorker("w", 8);
  Submit(Served(1));
  SweepSpec other = Served(1);
  other.seeds = {7};
  other.name = "other";
  Submit(other);
  Submit(other, "somebody else");
  Sync();
  EXPECT_EQ(ServicesOn("w").size(), 2u);
}

TEST_F(ServicesTest, JobsFailOnceThreeStartsInARowHaveFailedAndARetryTriesAgain) {
  AddWorker("w", 4);
  const SweepId sweep = Submit(Served(3));
  JobResult dead = FailureOf(FailureClass::kFailed);
  dead.message = "CUDA out of memory (exit code 1)";
  for (int start = 1; start <= 3; ++start) {
    Sync();
    ASSERT_EQ(ServicesOn("w").size(), 1u) << start;
    End("w", /*services=*/true, dead);
    Sync();
    if (start == 1) {
      EXPECT_THAT(Explain(sweep, 0), HasSubstr("ended 1 time before it was ready"));
    }
    harness().Advance(absl::Seconds(10));
  }
  Sync();
  EXPECT_EQ(CountOf(sweep, JobState::kFailed), 3u);
  const JobView view = scheduler().views().ViewJob({sweep, 1});
  EXPECT_EQ(view.failure, FailureClass::kService);
  EXPECT_THAT(view.result->message,
              HasSubstr("its service ended before it was ready, 3 times in a row: CUDA out of"));
  EXPECT_TRUE(ServicesOn("w").empty());
  EXPECT_EQ(*scheduler().RetryJobs(sweep, {}, false), 3u);
  Sync();
  EXPECT_EQ(ServicesOn("w").size(), 1u);
  SetReady("w");
  Sync();
  EXPECT_EQ(JobsOn("w"), 2u);
}

TEST_F(ServicesTest, JobsOfAnInstanceThatDiedRunAgainAndNobodyIsBlamed) {
  AddWorker("w", 4);
  const SweepId sweep = Submit(Served(2));
  Sync();
  SetReady("w");
  Sync();
  ASSERT_EQ(JobsOn("w"), 2u);
  End("w", /*services=*/true, FailureOf(FailureClass::kFailed));
  End("w", /*services=*/false, FailureOf(FailureClass::kService));
  Sync();
  EXPECT_EQ(StateOf(sweep, 0), JobState::kReady);
  EXPECT_EQ(scheduler().views().ViewJob({sweep, 0}).failures, 0u);
  EXPECT_EQ(ServicesOn("w").size(), 1u) << "it is started again";
  SetReady("w");
  Sync();
  EndJobsWell("w");
  Sync();
  EXPECT_EQ(CountOf(sweep, JobState::kSucceeded), 2u);
}

TEST_F(ServicesTest, ARestartOfTheCoordinatorKeepsWhatWorkersRun) {
  AddWorker("w", 4);
  const SweepId sweep = Submit(Served(3));
  Sync();
  SetReady("w");
  Sync();
  const std::vector<AttemptId> services = ServicesOn("w");
  harness().RestartCoordinator();
  Sync();
  EXPECT_EQ(ServicesOn("w"), services);
  EXPECT_TRUE(WorkerCalled("w").stopping().empty());
  EXPECT_EQ(JobsOn("w"), 2u) << "those that ran count";
  EndJobsWell("w");
  Sync();
  EndJobsWell("w");
  Sync();
  EXPECT_EQ(CountOf(sweep, JobState::kSucceeded), 3u);
  EXPECT_EQ(ServicesOn("w"), services);
}

// The machine that goes on may have a clock behind the former one's.
TEST_F(ServicesTest, NumbersOfInstancesGoOnAfterARestart) {
  AddWorker("w", 4);
  ServeOneJob("w");
  const uint32_t number = ServicesOn("w").at(0).attempt.number;
  EXPECT_EQ(harness().store().Load()->last_service_number, number);
  Services services;
  services.RestoreLastAttempt(number);
  EXPECT_EQ(services.NewAttempt({{1}, 0}, absl::UnixEpoch()).attempt.number, number + 1);
}

// The restarted coordinator takes a call from before it for the first.
TEST_F(ServicesTest, ALateCallDoesNotChargeAnInstanceAnew) {
  AddWorker("w", 4);
  const SweepId sweep = ServeOneJob("w");
  const SyncRequest late = WorkerCalled("w").MakeRequest();
  const AttemptId service = ServicesOn("w").at(0);
  JobResult end = FailureOf(FailureClass::kFailed);
  end.start_time = harness().now();
  end.run_time = absl::Seconds(70);
  WorkerCalled("w").Finish(service, end);
  Sync();
  harness().RestartCoordinator();
  ASSERT_TRUE(scheduler().Sync(late).ok());
  harness().EndTurn();
  Sync();
  Sync();
  ASSERT_GE(UseOf(sweep).size(), 1u);
  EXPECT_EQ(UseOf(sweep)[0].attempt, service.attempt);
  EXPECT_EQ(UseOf(sweep)[0].result.run_time, absl::Seconds(70));
}

TEST_F(ServicesTest, AnInstanceOfADeletedSweepStopsAfterARestart) {
  AddWorker("w", 4);
  const SweepId sweep = ServeOneJob("w");
  EXPECT_TRUE(scheduler().DeleteSweep(sweep).ok());
  Sync();
  harness().RestartCoordinator();
  Sync();
  EXPECT_EQ(WorkerCalled("w").stopping().size(), 1u);
}

TEST_F(ServicesTest, AnOrderThatWasNotTakenGoesWithItsSweep) {
  AddWorker("w", 4);
  SetDeaf("w", true);
  const SweepId sweep = Submit(Served(1));
  Sync();
  EXPECT_TRUE(scheduler().DeleteSweep(sweep).ok() || scheduler().CancelSweep(sweep).ok());
  Sync();
  EXPECT_TRUE(scheduler().DeleteSweep(sweep).ok());
  SetDeaf("w", false);
  Sync();
  Sync();
  EXPECT_TRUE(ServicesOn("w").empty());
  EXPECT_EQ(ViewOf("w").used.cpu_millis, 0);
}

TEST_F(ServicesTest, AServiceIsNoJobOfAQuotaNorOfASlot) {
  SchedulerPolicy policy;
  policy.quotas.otherwise.running_jobs_max = 1;
  Use(policy);
  AddWorker("w", 4);
  WorkerCalled("w").info().slots = 1;
  Submit(Served(2));
  Sync();
  SetReady("w");
  Sync();
  EXPECT_EQ(JobsOn("w"), 1u);
  EXPECT_EQ(ViewOf("w").running, 1u);
}

TEST_F(ServicesTest, JobsOfAReadyInstanceDoNotFailForStartsElsewhere) {
  AddWorker("v", 4);
  AddWorker("w", 4);
  const SweepId sweep = Submit(Served(40, /*serves=*/1));
  Sync();
  const std::string host = ServicesOn("v").empty() ? "w" : "v";
  const std::string other = host == "v" ? "w" : "v";
  SetReady(host);
  JobResult slow = SuccessOf({}, false);
  slow.run_time = absl::Minutes(1);
  for (int round = 0; round < 40; ++round) {
    Sync();
    End(host, /*services=*/false, slow);
    End(other, /*services=*/true, FailureOf(FailureClass::kFailed));
    harness().Advance(absl::Seconds(10));
  }
  Sync();
  EXPECT_EQ(CountOf(sweep, JobState::kFailed), 0u);
  EXPECT_GT(CountOf(sweep, JobState::kSucceeded), 30u);
}

TEST_F(ServicesTest, AStartThatFailedIsTriedOnAnotherWorkerNext) {
  AddWorker("v", 4);
  AddWorker("w", 4);
  Submit(Served(2));
  Sync();
  const std::string first = ServicesOn("v").empty() ? "w" : "v";
  const std::string second = first == "v" ? "w" : "v";
  End(first, /*services=*/true, FailureOf(FailureClass::kWorker));
  Sync();
  harness().Advance(absl::Seconds(5));
  Sync();
  EXPECT_EQ(ServicesOn(second).size(), 1u);
}

TEST_F(ServicesTest, AnInstanceThatAnotherWorkerHoldsIsStopped) {
  AddWorker("v", 4);
  AddWorker("w", 4);
  Submit(Served(1));
  Sync();
  const std::string host = ServicesOn("v").empty() ? "w" : "v";
  const AttemptId id = ServicesOn(host)[0];
  SyncRequest request;
  request.worker.name = "liar";
  request.worker.incarnation = "1";
  request.worker.capacity = {.cpu_millis = 4000};
  request.sequence = 1;
  request.services = {{.id = id, .ready = true}};
  ASSERT_TRUE(scheduler().Sync(request).ok());
  request.sequence = 2;
  request.services.clear();
  request.finished = {{id, FailureOf(FailureClass::kFailed)}};
  ASSERT_TRUE(scheduler().Sync(request).ok());
  Sync();
  EXPECT_EQ(ServicesOn(host), std::vector<AttemptId>{id});
  EXPECT_TRUE(WorkerCalled(host).stopping().empty());
}

TEST_F(ServicesTest, AnInstanceIsNotKeptForJobsThatNeverCome) {
  AddWorker("w", 2);
  Submit(Served(1));
  Sync();
  SetReady("w");
  Sync();
  EndJobsWell("w");
  SweepSpec elsewhere = Served(1);
  elsewhere.seeds = {9};
  elsewhere.approaches[0].predict_labels = {{"rack", "7"}};  // which no worker has
  Submit(std::move(elsewhere));
  Sync();
  harness().Advance(absl::Seconds(9));
  Sync();
  EXPECT_EQ(WorkerCalled("w").stopping().size(), 1u);
}

TEST_F(ServicesTest, AnInstanceWithTheOldModelStopsWhenItIsTrainedAgain) {
  AddWorker("w", 4);
  SweepSpec spec = Trains({"a"}, {"x"}, 1);
  spec.approaches[0].predict_command.emplace_back("{service.url}");
  spec.approaches[0].service = ServiceSpec();
  spec.approaches[0].service->command = {"serve", "{port}", "{model}"};
  const SweepId sweep = Submit(std::move(spec));
  for (int round = 0; round < 4; ++round) {
    Sync();
    SetReady("w");
    for (const AttemptId& id : std::set<AttemptId>(RunningSetOf("w"))) {
      if (!id.job.IsService()) {
        WorkerCalled("w").Finish(id, SuccessOf(id, /*is_train=*/id.job.index == 0));
      }
    }
  }
  ASSERT_EQ(CountOf(sweep, JobState::kSucceeded), 2u);
  ASSERT_EQ(ServicesOn("w").size(), 1u);
  EXPECT_TRUE(scheduler().RetryJobs(sweep, {0}, /*rerun_succeeded=*/true).ok());
  Sync();
  EXPECT_EQ(WorkerCalled("w").stopping().size(), 1u);
}

TEST_F(ServicesTest, ASuspectWaitsUntilIdleInstancesHaveMadeRoom) {
  AddWorker("w", 1);
  SweepSpec other = Evals({"b"}, {"x"}, 1);  // asks for a whole CPU
  const SweepId suspect = Submit(std::move(other));
  for (int death = 0; death < 2; ++death) {
    Sync();
    Restart("w");
  }
  WorkerCalled("w").info().capacity.cpu_millis = 1000;
  SweepSpec spec = Served(1);
  spec.approaches[0].service->resources.cpu_millis = 900;
  spec.priority = 1;
  Submit(std::move(spec));
  for (int round = 0; round < 6; ++round) {
    Sync();
    EXPECT_LE(ViewOf("w").used.cpu_millis, 1000);
    SetReady("w");
    EndJobsWell("w");
    for (const AttemptId& id : std::set<AttemptId>(WorkerCalled("w").stopping())) {
      WorkerCalled("w").Finish(id, FailureOf(FailureClass::kPreempted));
    }
  }
  EXPECT_EQ(CountOf(suspect, JobState::kSucceeded), 1u);
}

// Each stopped what the other's service had begun to load.
TEST_F(ServicesTest, TwoSuspectsLoadTheirServicesOneAfterTheOther) {
  AddWorker("w", 2);
  WorkerCalled("w").info().capacity.cpu_millis = 3000;
  std::vector<SweepId> suspects;
  for (const char* command : {"serve", "serve2"}) {
    SweepSpec spec = Served(1);
    spec.approaches[0].service->command[0] = command;
    suspects.push_back(Submit(std::move(spec)));
  }
  for (int death = 0; death < 2; ++death) {
    Sync();
    SetReady("w");
    Sync();
    ASSERT_EQ(JobsOn("w"), 2u);
    Restart("w");
  }
  WorkerCalled("w").info().capacity.cpu_millis = 1500;
  for (int round = 0; round < 12; ++round) {
    Sync();
    EXPECT_LE(JobsOn("w"), 1u);
    Sync();  // a service loads for longer than a turn
    SetReady("w");
    EndJobsWell("w");
    for (const AttemptId& id : std::set<AttemptId>(WorkerCalled("w").stopping())) {
      WorkerCalled("w").Finish(id, FailureOf(FailureClass::kPreempted));
    }
  }
  for (const SweepId suspect : suspects) {
    EXPECT_EQ(CountOf(suspect, JobState::kSucceeded), 1u);
  }
}

TEST_F(ServicesTest, AWorkerThatCannotRunServicesIsNotAsked) {
  AddWorker("w", 4);
  WorkerCalled("w").info().takes_services = false;
  Submit(Served(1));
  Sync();
  EXPECT_EQ(RunningOn("w"), 0u);
}

TEST_F(ServicesTest, ADrainedWorkerIsRidOfItsServices) {
  AddWorker("w", 4);
  Submit(Served(1));
  Sync();
  SetReady("w");
  Sync();
  EXPECT_TRUE(scheduler().DrainWorker("w", true).ok());
  Sync();
  EXPECT_TRUE(WorkerCalled("w").stopping().empty()) << "a job asks it";
  EndJobsWell("w");
  Sync();
  EXPECT_EQ(WorkerCalled("w").stopping().size(), 1u);
}

// --- use

TEST_F(ServicesTest, AnInstanceIsChargedWhatItsWorkerSaysOnceAndNoAttemptOfTheJob) {
  AddWorker("w", 4);
  const SweepId sweep = ServeOneJob("w");
  ASSERT_EQ(UseOf(sweep).size(), 1u) << "while it runs";
  EXPECT_EQ(UseOf(sweep)[0].result.failure, FailureClass::kNone);
  const AttemptId service = ServicesOn("w")[0];
  JobResult end = FailureOf(FailureClass::kPreempted);
  end.start_time = harness().now() - absl::Seconds(77);
  end.run_time = absl::Seconds(70);
  WorkerCalled("w").Finish(service, end);
  SetDeaf("w", true);  // it reports the end again
  Sync();
  Sync();
  harness().RestartCoordinator();
  SetDeaf("w", false);
  Sync();
  EXPECT_TRUE(WorkerCalled("w").finished().empty());
  ASSERT_EQ(UseOf(sweep).size(), 1u);
  const AttemptRow row = UseOf(sweep)[0];
  EXPECT_EQ(row.id.ServedJob(), (JobId{sweep, 0}));
  EXPECT_EQ(row.attempt, service.attempt);
  EXPECT_EQ(row.worker, "w");
  EXPECT_EQ(row.result.run_time, absl::Seconds(70));
  EXPECT_EQ(row.end_time, end.start_time + end.run_time);
  EXPECT_TRUE(harness().store().ListAttempts({sweep, 0})->empty());
}

TEST_F(ServicesTest, AnInstanceOfALostWorkerIsChargedToTheEndOfTheLease) {
  AddWorker("w", 4);
  const SweepId sweep = Submit(Served(1));
  Sync();
  const absl::Time start = harness().now();
  SetReady("w");
  Sync();
  const absl::Time lease_end = harness().now() + harness().policy().lease;
  SetSilent("w", true);
  while (!ViewOf("w").lost) {
    Sync();
  }
  harness().Advance(absl::Hours(1));
  Sync();
  ASSERT_EQ(UseOf(sweep).size(), 1u);
  EXPECT_EQ(UseOf(sweep)[0].result.failure, FailureClass::kLost);
  EXPECT_EQ(UseOf(sweep)[0].end_time, lease_end);
  EXPECT_EQ(UseOf(sweep)[0].result.run_time, lease_end - start);
  // It comes back with the instance, which goes on: one span, and not two.
  const AttemptId service = ServicesOn("w")[0];
  SetSilent("w", false);
  Sync();
  Sync();
  EXPECT_EQ(ServicesOn("w"), std::vector<AttemptId>{service});
  ASSERT_EQ(UseOf(sweep).size(), 1u);
  EXPECT_GE(UseOf(sweep)[0].result.run_time, absl::Hours(1));
}

TEST_F(ServicesTest, AnInstanceOfARestartedWorkerIsCharged) {
  AddWorker("w", 4);
  const SweepId sweep = Submit(Served(1));
  Sync();
  const absl::Time start = harness().now();
  SetReady("w");
  Sync();
  Restart("w");
  Sync();
  ASSERT_GE(UseOf(sweep).size(), 1u);
  EXPECT_EQ(UseOf(sweep)[0].result.failure, FailureClass::kLost);
  EXPECT_EQ(UseOf(sweep)[0].result.run_time, harness().now() - start);
}

// Nobody knew of it any more when both had been killed.
TEST_F(ServicesTest, AnInstanceThatEndsWithItsWorkerAndTheCoordinatorIsChargedToAMinute) {
  AddWorker("w", 4);
  const SweepId sweep = Submit(Served(1));
  Sync();
  SetReady("w");
  for (int second = 0; second < 150; ++second) {
    Sync();
  }
  harness().RestartCoordinator();
  Restart("w");
  SetSilent("w", true);
  Sync();
  ASSERT_EQ(UseOf(sweep).size(), 1u);
  EXPECT_GE(UseOf(sweep)[0].result.run_time, absl::Seconds(150) - kServiceChargeInterval);
}

TEST_F(ServicesTest, NobodyIsChargedForWhatNeverRanOrForADeletedSweep) {
  AddWorker("w", 4);
  SetDeaf("w", true);
  const SweepId sweep = Submit(Served(1));
  Sync();
  SetSilent("w", true);
  while (!ViewOf("w").lost) {
    Sync();
  }
  EXPECT_TRUE(UseOf(sweep).empty());
  SetSilent("w", false);
  SetDeaf("w", false);
  Sync();
  SetReady("w");
  Sync();
  EndJobsWell("w");
  Sync();
  ASSERT_TRUE(scheduler().DeleteSweep(sweep).ok());
  JobResult end = FailureOf(FailureClass::kPreempted);
  end.run_time = absl::Seconds(5);
  End("w", /*services=*/true, end);
  Sync();
  EXPECT_TRUE(UseOf(sweep).empty());
}

TEST_F(ServicesTest, AWorkerIsNotChargedForAnInstanceOfAnother) {
  AddWorker("w", 4);
  const SweepId sweep = Submit(Served(1));
  Sync();
  Sync();
  SyncRequest request;
  request.worker.name = "liar";
  request.worker.incarnation = "1";
  request.sequence = 1;
  JobResult end = FailureOf(FailureClass::kFailed);
  end.run_time = absl::Hours(1000);
  request.finished = {{ServicesOn("w")[0], end}};
  ASSERT_TRUE(scheduler().Sync(request).ok());
  Sync();
  ASSERT_EQ(UseOf(sweep).size(), 1u);
  EXPECT_EQ(UseOf(sweep)[0].worker, "w");
}

}  // namespace
}  // namespace concur::testing
