// SPDX-License-Identifier: Apache-2.0
// Rows that contradict each other end a restart with DataLoss that names them, not with a crash.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/scheduler/scheduler.h"
#include "tests/core/sweep/sweep_builder.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

constexpr absl::Time kSchedulerRestoreNow = absl::UnixEpoch();

// Sweep s1: train job 0 and eval job 1, SUCCEEDED and READY.
Snapshot GoodSnapshot() {
  Snapshot snapshot;
  snapshot.next_sweep_number = 2;
  SweepRow sweep;
  sweep.id = {1};
  sweep.owner = "me";
  sweep.name = "s";
  sweep.create_time = kSchedulerRestoreNow;
  snapshot.sweeps.push_back(sweep);
  JobRow job;
  job.id = {{1}, 0};
  job.state = JobState::kSucceeded;
  job.attempt = {1};
  job.worker = "w1";
  job.incarnation = "w1-0";
  snapshot.jobs.push_back(job);
  ResultRow result;
  result.id = job.id;
  result.result.succeeded = true;
  result.result.artifacts = {{ArtifactKind::kSystem, Sha256Of("system"), 6}};
  snapshot.results.push_back(result);
  snapshot.workers.push_back({.name = "w1", .incarnation = "w1-0"});
  return snapshot;
}

absl::StatusOr<std::unique_ptr<Scheduler>> RestoreFrom(Snapshot snapshot) {
  SweepSpec spec;
  spec.name = "s";
  spec.approaches = {TrainedApproach("a")};
  spec.benchmarks = {Benchmark("x")};
  spec.train_sets = {PlainTrainSet(spec, 0)};
  absl::StatusOr<Expansion> expansion = Expansion::Make(std::move(spec));
  if (!expansion.ok()) {
    return expansion.status();
  }
  std::vector<std::shared_ptr<const Expansion>> expansions(
      snapshot.sweeps.size(), std::make_shared<const Expansion>(*std::move(expansion)));
  return Scheduler::Restore(SchedulerPolicy{}, std::move(snapshot), std::move(expansions),
                            kSchedulerRestoreNow);
}

// A machine that started with a clock two hours slow made a retry wait for two hours.
TEST(SchedulerRestoreTest, NoBackoffOutlastsItsLongestThoughTheClockWasSetBack) {
  Snapshot snapshot = GoodSnapshot();
  JobRow& job = snapshot.jobs[0];
  job.state = JobState::kBackoff;
  job.failure = FailureClass::kFailed;
  job.failures = 1;
  job.not_before = kSchedulerRestoreNow + absl::Hours(2);
  snapshot.results.clear();
  ASSERT_OK_AND_ASSIGN(const auto scheduler, RestoreFrom(std::move(snapshot)));
  scheduler->CheckInvariants();
  EXPECT_EQ(scheduler->views().ViewJob({{1}, 0}).not_before,
            kSchedulerRestoreNow + 1.25 * RetryPolicy().backoff_max);
  scheduler->AdvanceTo(kSchedulerRestoreNow + 1.25 * RetryPolicy().backoff_max);
  EXPECT_EQ(scheduler->views().ViewJob({{1}, 0}).state, JobState::kReady);
}

TEST(SchedulerRestoreTest, NoQuarantineOutlastsItsSpanThoughTheClockWasSetBack) {
  Snapshot snapshot = GoodSnapshot();
  snapshot.workers[0].quarantine_end = kSchedulerRestoreNow + absl::Hours(9);
  snapshot.workers[0].quarantine_span = absl::Hours(1);
  snapshot.workers[0].quarantine_reason = "failed what others can do";
  ASSERT_OK_AND_ASSIGN(const auto scheduler, RestoreFrom(std::move(snapshot)));
  scheduler->CheckInvariants();
  EXPECT_EQ(scheduler->views().ListWorkers()[0].quarantine_end,
            kSchedulerRestoreNow + absl::Hours(1));
  EXPECT_EQ(scheduler->views().ListWorkers()[0].quarantine_reason, "failed what others can do");
  // It is saved so: with every restart on that machine the quarantine began anew.
  const Effects effects = scheduler->TakeEffects();
  ASSERT_EQ(effects.batch.put_workers.size(), 1u);
  EXPECT_EQ(effects.batch.put_workers[0].quarantine_end, kSchedulerRestoreNow + absl::Hours(1));
}

TEST(SchedulerRestoreTest, JobsWithoutRowsAreAsTheirSweepAndTrainJobSay) {
  ASSERT_OK_AND_ASSIGN(const auto scheduler, RestoreFrom(GoodSnapshot()));
  scheduler->CheckInvariants();
  EXPECT_EQ(scheduler->views().ViewJob({{1}, 0}).state, JobState::kSucceeded);
  EXPECT_EQ(scheduler->views().ViewJob({{1}, 1}).state, JobState::kReady);
  EXPECT_EQ(scheduler->views().ListWorkers().size(), 1u);
}

TEST(SchedulerRestoreTest, ARunningAttemptGetsOneLease) {
  Snapshot snapshot = GoodSnapshot();
  JobRow eval;
  eval.id = {{1}, 1};
  eval.state = JobState::kRunning;
  eval.attempt = {4};
  eval.worker = "w1";
  eval.incarnation = "w1-0";
  snapshot.jobs.push_back(eval);
  ASSERT_OK_AND_ASSIGN(const auto scheduler, RestoreFrom(std::move(snapshot)));
  scheduler->CheckInvariants();
  EXPECT_EQ(scheduler->NextDeadline(), kSchedulerRestoreNow + SchedulerPolicy{}.lease);
  scheduler->AdvanceTo(kSchedulerRestoreNow + SchedulerPolicy{}.lease);
  EXPECT_EQ(scheduler->views().ViewJob({{1}, 1}).state, JobState::kReady);
  EXPECT_EQ(scheduler->views().ViewJob({{1}, 1}).attempt.number, 4u);
}

TEST(SchedulerRestoreTest, ACanceledSweepNeedsNoRowsOfItsJobs) {
  Snapshot snapshot = GoodSnapshot();
  snapshot.sweeps[0].canceled = true;
  ASSERT_OK_AND_ASSIGN(const auto scheduler, RestoreFrom(std::move(snapshot)));
  scheduler->CheckInvariants();
  EXPECT_EQ(scheduler->views().ViewJob({{1}, 0}).state, JobState::kSucceeded);
  EXPECT_EQ(scheduler->views().ViewJob({{1}, 1}).state, JobState::kCanceled);
  EXPECT_EQ(scheduler->views().FindSweep({1})->state, SweepState::kCanceled);
}

struct DamageCase {
  std::string name;
  std::function<void(Snapshot&)> damage;
  std::string expected;
};

class SchedulerRestoreDamageTest : public ::testing::TestWithParam<DamageCase> {};

TEST_P(SchedulerRestoreDamageTest, IsDataLossThatNamesTheRow) {
  Snapshot snapshot = GoodSnapshot();
  GetParam().damage(snapshot);
  EXPECT_THAT(RestoreFrom(std::move(snapshot)),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(GetParam().expected)));
}

INSTANTIATE_TEST_SUITE_P(
    Damages, SchedulerRestoreDamageTest,
    ::testing::ValuesIn(std::vector<DamageCase>{
        {"SweepBeyondCounter", [](Snapshot& s) { s.next_sweep_number = 1; },
         "sweep s1 is newer than the counter of sweeps, 1"},
        {"SweepTwice", [](Snapshot& s) { s.sweeps.push_back(s.sweeps[0]); },
         "sweep s1 stands twice"},
        {"ResultTwice", [](Snapshot& s) { s.results.push_back(s.results[0]); },
         "two results stand for job s1/0"},
        {"JobOfNoSweep", [](Snapshot& s) { s.jobs[0].id.sweep = {9}; }, "job s9/0"},
        {"JobBeyondSweep",
         [](Snapshot& s) {
           s.jobs.push_back(s.jobs[0]);
           s.jobs[1].id.index = 2;
         },
         "a row stands for job s1/2, which does not exist"},
        {"JobTwice", [](Snapshot& s) { s.jobs.push_back(s.jobs[0]); },
         "the row of job s1/0 comes after that of job s1/0"},
        {"SuccessWithoutResult", [](Snapshot& s) { s.results.clear(); },
         "job s1/0 is succeeded but lacks a result"},
        {"ResultOfReadyJob", [](Snapshot& s) { s.jobs[0].state = JobState::kReady; },
         "job s1/0 is ready but has a result"},
        {"ResultOfNoRow",
         [](Snapshot& s) {
           s.results.push_back(s.results[0]);
           s.results[1].id.index = 1;
         },
         "job s1/1 is blocked but has a result"},
        {"ResultOfNoJob",
         [](Snapshot& s) {
           s.results.push_back(s.results[0]);
           s.results[1].id.index = 7;
         },
         "a result stands for job s1/7, which does not exist"},
        {"FailedWithSuccess", [](Snapshot& s) { s.jobs[0].state = JobState::kFailed; },
         "job s1/0 is failed, but its result says otherwise"},
        {"RunsNowhere",
         [](Snapshot& s) {
           s.jobs[0].state = JobState::kRunning;
           s.jobs[0].worker.clear();
           s.results.clear();
         },
         "job s1/0 runs on a worker that is not known, \"\""},
        {"RunsWithoutAttempt",
         [](Snapshot& s) {
           s.jobs[0].state = JobState::kRunning;
           s.jobs[0].attempt = {0};
           s.results.clear();
         },
         "job s1/0 runs, but never had an attempt"},
        {"QuarantineWithoutReason",
         [](Snapshot& s) { s.workers[0].quarantine_end = kSchedulerRestoreNow; },
         "worker w1 is in quarantine without a reason"},
        {"BlameOfNobody",
         [](Snapshot& s) {
           s.blames = {
               {.worker = "w2", .kind = {}, .sweep = {1}, .approach = "a", .benchmark = "x"}};
           s.blames[0].failures = 1;
         },
         "what worker \"w2\" did of approach \"a\" on benchmark \"x\""},
        {"BlameOfNoSweep",
         [](Snapshot& s) {
           s.blames = {
               {.worker = "w1", .kind = {}, .sweep = {7}, .approach = "a", .benchmark = "x"}};
           s.blames[0].failures = 1;
         },
         "what worker \"w1\" did"},
        {"BlameForNothing",
         [](Snapshot& s) {
           s.blames = {
               {.worker = "w1", .kind = {}, .sweep = {1}, .approach = "a", .benchmark = "x"}};
         },
         "what worker \"w1\" did"},
        {"WaitsForWhatFailed",
         [](Snapshot& s) {
           s.jobs[0].state = JobState::kFailed;
           s.results[0].result.succeeded = false;
         },
         "job s1/1 waits, but its train job s1/0 is failed"},
    }),
    [](const ::testing::TestParamInfo<DamageCase>& param) { return param.param.name; });

}  // namespace
}  // namespace concur::testing
