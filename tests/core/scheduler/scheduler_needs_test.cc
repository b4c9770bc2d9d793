// SPDX-License-Identifier: Apache-2.0
// Jobs that need services of other approaches.

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

class NeedsTest : public BlameSchedulerTest {
 protected:
  static ServiceSpec Service(uint32_t serves = 2) {
    ServiceSpec service;
    service.command = {"serve", "{port}"};
    service.resources.cpu_millis = 1000;
    service.serves = serves;
    service.idle = absl::Seconds(10);
    return service;
  }
  // Eval jobs of "a", which has a service unless `own` is false, and needs that of "judge".
  static SweepSpec Judged(int jobs, bool own = true) {
    SweepSpec spec = Evals({"a"}, {"x"}, jobs);
    if (own) {
      spec.approaches[0].service = Service();
    }
    spec.approaches[0].predict_command.emplace_back("{service.judge.url}");
    spec.approaches[0].predict_resources.cpu_millis = 100;
    spec.approaches[0].needs = {1};
    ApproachSpec judge;
    judge.name = "judge";
    judge.version = "1";
    judge.service = Service();
    judge.service->command = {"judge", "{port}"};
    spec.approaches.push_back(std::move(judge));
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
  AttemptId InstanceOn(const std::string& worker, uint32_t place) {
    for (const AttemptId& id : ServicesOn(worker)) {
      if (id.job.ServicePlace() == place) {
        return id;
      }
    }
    return {};
  }
  void EndJobs(const std::string& worker, const JobResult& result) {
    for (const AttemptId& id : std::set<AttemptId>(RunningSetOf(worker))) {
      if (!id.job.IsService()) {
        WorkerCalled(worker).Finish(id, result);
      }
    }
  }
  void EndJobsWell(const std::string& worker) {
    EndJobs(worker, SuccessOf({}, /*is_train=*/false));
  }
  void SyncTimes(int times) {
    for (int i = 0; i < times; ++i) {
      Sync();
    }
  }
  std::string Explain(SweepId sweep, uint32_t job) {
    return ReasonText(scheduler().views().ReasonOf({sweep, job}));
  }
};

TEST_F(NeedsTest, JobsWaitUntilAllServicesAreReadyOnOneWorkerAndGetTheirInstances) {
  AddWorker("v", 4);
  AddWorker("w", 4);
  const SweepId sweep = Submit(Judged(3));
  SyncTimes(3);
  const std::string worker = ServicesOn("v").empty() ? "w" : "v";
  ASSERT_EQ(ServicesOn(worker).size(), 2u);
  EXPECT_TRUE(ServicesOn(worker == "v" ? "w" : "v").empty()) << "one worker loads both";
  const AttemptId own = InstanceOn(worker, 0);
  const AttemptId judge = InstanceOn(worker, 1);
  WorkerCalled(worker).SetReady(own);
  Sync();
  EXPECT_EQ(JobsOn(worker), 0u);
  EXPECT_THAT(Explain(sweep, 2),
              HasSubstr(absl::StrCat("waits for service judge, which loads on worker ", worker)));
  WorkerCalled(worker).SetReady(judge);
  SyncTimes(2);
  EXPECT_EQ(JobsOn(worker), 2u) << "each serves so many";
  for (const AttemptId& id : RunningSetOf(worker)) {
    if (!id.job.IsService()) {
      EXPECT_EQ(WorkerCalled(worker).ServiceOf(id), own);
      EXPECT_EQ(WorkerCalled(worker).ServiceOf(id, "judge"), judge);
    }
  }
  EndJobsWell(worker);
  SyncTimes(2);
  EndJobsWell(worker);
  Sync();
  EXPECT_EQ(CountOf(sweep, JobState::kSucceeded), 3u);
  EXPECT_EQ(ServicesOn(worker).size(), 2u);
}

TEST_F(NeedsTest, AnApproachWithoutAServiceMayNeedOneThatOthersShare) {
  AddWorker("w", 8);
  const SweepId first = Submit(Judged(1, /*own=*/false));
  Sync();
  ASSERT_EQ(ServicesOn("w").size(), 1u);
  const AttemptId judge = InstanceOn("w", 1);
  SetReady("w");
  Sync();
  EXPECT_EQ(JobsOn("w"), 1u);
  const SweepId second = Submit(Judged(1));
  SyncTimes(2);
  EXPECT_EQ(ServicesOn("w").size(), 2u) << "the judge is there";
  SetReady("w");
  Sync();
  EXPECT_EQ(WorkerCalled("w").ServiceOf({{second, 0}, {1}}, "judge"), judge);
  EndJobsWell("w");
  Sync();
  EXPECT_EQ(CountOf(first, JobState::kSucceeded) + CountOf(second, JobState::kSucceeded), 2u);
}

TEST_F(NeedsTest, ABenchmarkMayNeedAService) {
  AddWorker("w", 8);
  SweepSpec spec = Judged(1, /*own=*/false);
  spec.approaches[0].needs.clear();
  spec.benchmarks.push_back(Benchmark("y", /*train=*/false));
  spec.benchmarks[0].needs = {1};
  spec.approaches[0].predict_command.pop_back();
  const SweepId sweep = Submit(std::move(spec));
  SyncTimes(2);
  EXPECT_EQ(StateOf(sweep, 0), JobState::kReady);
  EXPECT_EQ(StateOf(sweep, 1), JobState::kRunning) << "y needs nothing";
  SetReady("w");
  Sync();
  EXPECT_EQ(StateOf(sweep, 0), JobState::kRunning);
}

TEST_F(NeedsTest, JobsOfANeededServiceThatDiedRunAgainOnceItIsBack) {
  AddWorker("w", 4);
  const SweepId sweep = Submit(Judged(1));
  SyncTimes(2);
  SetReady("w");
  Sync();
  ASSERT_EQ(JobsOn("w"), 1u);
  WorkerCalled("w").Finish(InstanceOn("w", 1), FailureOf(FailureClass::kFailed));
  EndJobs("w", FailureOf(FailureClass::kService));
  SyncTimes(2);
  EXPECT_EQ(StateOf(sweep, 0), JobState::kReady);
  ASSERT_EQ(ServicesOn("w").size(), 2u) << "it is started again";
  SetReady("w");
  Sync();
  EXPECT_EQ(StateOf(sweep, 0), JobState::kRunning);
  EXPECT_THAT(Explain(sweep, 0), HasSubstr("runs"));
}

TEST_F(NeedsTest, JobsFailOnceThreeStartsOfANeededServiceHaveFailed) {
  AddWorker("w", 4);
  const SweepId sweep = Submit(Judged(1));
  for (int start = 0; start < 3; ++start) {
    SyncTimes(10);  // the next start waits
    ASSERT_NE(InstanceOn("w", 1), AttemptId()) << start;
    WorkerCalled("w").Finish(InstanceOn("w", 1), FailureOf(FailureClass::kFailed));
    Sync();
  }
  EXPECT_EQ(StateOf(sweep, 0), JobState::kFailed);
}

// Each start was left to the other worker, for ever.
TEST_F(NeedsTest, ServicesThatFailedOnDifferentWorkersAreStartedAgain) {
  AddWorker("v", 4);
  AddWorker("w", 4);
  const SweepId sweep = Submit(Judged(1));
  SyncTimes(3);
  const std::string first = ServicesOn("v").empty() ? "w" : "v";
  const std::string second = first == "v" ? "w" : "v";
  const auto fail = [&](const std::string& worker, uint32_t place) {
    WorkerCalled(worker).Finish(InstanceOn(worker, place), FailureOf(FailureClass::kFailed));
    WorkerCalled(worker).Finish(InstanceOn(worker, 1 - place), FailureOf(FailureClass::kPreempted));
    Sync();
    harness().Advance(absl::Minutes(10));
    SyncTimes(3);
  };
  fail(first, 0);
  ASSERT_EQ(ServicesOn(second).size(), 2u) << "both are tried where none has failed";
  fail(second, 1);
  const std::string third = ServicesOn("v").empty() ? "w" : "v";
  ASSERT_EQ(ServicesOn(third).size(), 2u);
  SetReady(third);
  SyncTimes(2);
  EndJobsWell(third);
  Sync();
  EXPECT_EQ(CountOf(sweep, JobState::kSucceeded), 1u);
}

TEST_F(NeedsTest, AWorkerWithHalfOfTheServicesOnWhichTheRestFailedIsNotWaitedFor) {
  AddWorker("v", 4);
  AddWorker("w", 4);
  SweepSpec spec = Judged(1);
  spec.approaches[0].service->idle = absl::Hours(9);
  Submit(std::move(spec));
  SyncTimes(3);
  const std::string first = ServicesOn("v").empty() ? "w" : "v";
  WorkerCalled(first).SetReady(InstanceOn(first, 0));
  WorkerCalled(first).Finish(InstanceOn(first, 1), FailureOf(FailureClass::kFailed));
  Sync();
  harness().Advance(absl::Minutes(10));
  SyncTimes(3);
  EXPECT_EQ(ServicesOn(first == "v" ? "w" : "v").size(), 2u);
}

TEST_F(NeedsTest, ANeededServiceIsNotStoppedWhileAJobAsksIt) {
  AddWorker("w", 4);
  Submit(Judged(1));
  SyncTimes(2);
  SetReady("w");
  Sync();
  SyncTimes(20);
  CONCUR_CHECK_OK(scheduler().DrainWorker("w", /*drain=*/true));
  Sync();
  EXPECT_TRUE(WorkerCalled("w").stopping().empty());
  EndJobsWell("w");
  SyncTimes(2);
  EXPECT_EQ(WorkerCalled("w").stopping().size(), 2u);
}

TEST_F(NeedsTest, ARestartOfTheCoordinatorKeepsAllServicesAndTheirUsers) {
  AddWorker("w", 4);
  const SweepId sweep = Submit(Judged(1));
  SyncTimes(2);
  SetReady("w");
  Sync();
  const std::vector<AttemptId> services = ServicesOn("w");
  harness().RestartCoordinator();
  SyncTimes(2);
  EXPECT_EQ(ServicesOn("w"), services);
  EXPECT_TRUE(WorkerCalled("w").stopping().empty());
  EndJobsWell("w");
  Sync();
  EXPECT_EQ(CountOf(sweep, JobState::kSucceeded), 1u);
}

// Two idle instances that jobs waited for left no room for the one that both lacked.
TEST_F(NeedsTest, ServicesThatJobsWaitForMakeRoomWhenNothingElseCanGoOn) {
  AddWorker("w", 3);
  const auto large = [](const std::string& name, int jobs) {
    SweepSpec spec = Judged(jobs);
    spec.approaches[0].service->resources.cpu_millis = 1400;
    spec.approaches[0].version = name;
    return spec;
  };
  const SweepId first = Submit(large("one", 3));
  SyncTimes(2);
  SetReady("w");
  Sync();
  ASSERT_EQ(JobsOn("w"), 2u);
  SweepSpec alone = large("two", 1);
  alone.approaches[0].needs.clear();
  alone.approaches[0].predict_command.pop_back();
  alone.approaches.pop_back();
  alone.priority = 1;
  Submit(std::move(alone));
  const SweepId second = Submit(large("two", 1));
  WorkerCalled("w").Finish(InstanceOn("w", 1), FailureOf(FailureClass::kFailed));
  EndJobs("w", FailureOf(FailureClass::kService));
  Sync();
  ASSERT_EQ(ServicesOn("w").size(), 2u);
  EXPECT_EQ(InstanceOn("w", 1), AttemptId()) << "two services, and neither is the judge";
  for (int round = 0; round < 30; ++round) {
    SetReady("w");
    for (const AttemptId& id : std::set<AttemptId>(WorkerCalled("w").stopping())) {
      WorkerCalled("w").Finish(id, FailureOf(FailureClass::kPreempted));
    }
    EndJobsWell("w");
    Sync();
  }
  EXPECT_EQ(CountOf(first, JobState::kSucceeded), 3u);
  EXPECT_EQ(CountOf(second, JobState::kSucceeded), 1u);
}

}  // namespace
}  // namespace concur::testing
