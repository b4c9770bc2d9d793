// Blame before action, quotas of owners, and what a retry takes along.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "tests/core/scheduler_harness.h"
#include "tests/core/sweep_builder.h"
#include "tests/testing/status_matchers.h"

namespace concur::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Untrained approaches on `benchmarks`, one eval job a seed.
SweepSpec Evals(const std::vector<std::string>& approaches,
                const std::vector<std::string>& benchmarks, int seeds) {
  SweepSpec spec;
  spec.name = "evals";
  for (const std::string& name : approaches) {
    spec.approaches.push_back(UntrainedApproach(name));
    spec.approaches.back().predict_resources.cpu_millis = 1000;
  }
  for (const std::string& name : benchmarks) {
    spec.benchmarks.push_back(Benchmark(name, /*train=*/false));
  }
  spec.seeds.clear();
  for (int seed = 1; seed <= seeds; ++seed) {
    spec.seeds.push_back(seed);
  }
  spec.retry.failures_max = 100;
  spec.retry.backoff_min = absl::ZeroDuration();
  spec.retry.backoff_max = absl::ZeroDuration();
  return spec;
}

// One approach that trains on each of `benchmarks`.
SweepSpec Trains(const std::vector<std::string>& approaches,
                 const std::vector<std::string>& benchmarks, int seeds) {
  SweepSpec spec = Evals({}, {}, seeds);
  spec.retry.failures_max = 1;
  for (const std::string& name : approaches) {
    spec.approaches.push_back(TrainedApproach(name));
  }
  for (const std::string& name : benchmarks) {
    spec.benchmarks.push_back(Benchmark(name));
  }
  for (uint32_t i = 0; i < spec.benchmarks.size(); ++i) {
    spec.train_sets.push_back(PlainTrainSet(spec, i));
  }
  return spec;
}

class BlameSchedulerTest : public ::testing::Test {
 protected:
  void Use(SchedulerPolicy policy) { harness_ = std::make_unique<SchedulerHarness>(policy); }
  SchedulerHarness& harness() {
    if (harness_ == nullptr) {
      Use(SchedulerPolicy());
    }
    return *harness_;
  }
  Scheduler& scheduler() { return harness().scheduler(); }
  void AddWorker(const std::string& name, int64_t cpus = 1) {
    workers_[name] = std::make_unique<FakeWorker>(name, Resources{.cpu_millis = 1000 * cpus});
  }
  SweepId Submit(SweepSpec spec, const std::string& owner = "me") {
    absl::StatusOr<SweepId> id =
        harness().Submit(std::move(spec), absl::StrCat("spec ", submitted_++), owner);
    CONCUR_CHECK_OK(id.status());
    return *id;
  }
  // One Sync of every worker, each of which then ends all that it runs: those named in `broken` by
  // failing.
  void Round(const std::set<std::string>& broken, FailureClass failure = FailureClass::kFailed) {
    Sync();
    for (auto& [name, worker] : workers_) {
      for (const AttemptId& id : std::set<AttemptId>(worker->running())) {
        const bool is_train =
            scheduler().FindSweep(id.job.sweep)->expansion->Locate(id.job.index).is_train;
        worker->Finish(id, broken.contains(name) ? FailureOf(failure) : SuccessOf(id, is_train));
      }
    }
  }
  void Sync() {
    harness().Advance(absl::Seconds(1));
    std::map<std::string, uint64_t> sequences;
    for (auto& [name, worker] : workers_) {
      const SyncRequest request = worker->MakeRequest();
      CONCUR_CHECK_OK(scheduler().Sync(request));
      harness().parked().insert(name);
      sequences[name] = request.sequence;
    }
    for (const auto& [name, orders] : harness().EndTurn().answers) {
      workers_.at(name)->TakeAnswer(sequences.at(name), orders);
    }
  }
  WorkerView ViewOf(const std::string& name) {
    for (const WorkerView& view : scheduler().ListWorkers()) {
      if (view.info.name == name) {
        return view;
      }
    }
    return {};
  }
  size_t RunningOn(const std::string& name) { return workers_.at(name)->running().size(); }
  JobState StateOf(SweepId sweep, uint32_t job) { return scheduler().ViewJob({sweep, job}).state; }

  std::unique_ptr<SchedulerHarness> harness_;
  std::map<std::string, std::unique_ptr<FakeWorker>> workers_;
  int submitted_ = 0;
};

// --- workers -------------------------------------------------------------------------------------

TEST_F(BlameSchedulerTest, AWorkerThatFailsWhatOthersCanDoGetsNothingForAWhile) {
  AddWorker("bad");
  AddWorker("good");
  Submit(Evals({"a"}, {"x"}, 40));
  for (int round = 0; round < 5; ++round) {
    Round({"bad"});
  }
  const WorkerView bad = ViewOf("bad");
  EXPECT_THAT(bad.quarantine_reason, AllOf(HasSubstr("failed 3 times at what succeeds on good"),
                                           HasSubstr("eval jobs of a on x")));
  EXPECT_EQ(bad.failed, 3u);
  EXPECT_THAT(ViewOf("good").quarantine_reason, IsEmpty());
  Sync();
  EXPECT_EQ(RunningOn("bad"), 0u);
  EXPECT_EQ(RunningOn("good"), 1u);
  // It gets another chance, and when it fails again, a longer time to be mended.
  const absl::Duration first = bad.quarantine_end - harness().now();
  harness().Advance(harness().policy().quarantine_min);
  for (int round = 0; round < 5; ++round) {
    Round({"bad"});
  }
  EXPECT_EQ(ViewOf("bad").failed, 6u);
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

TEST_F(BlameSchedulerTest, TheLastWorkerIsNotTakenAway) {
  AddWorker("bad");
  AddWorker("good");
  Submit(Evals({"a"}, {"x"}, 40));
  Round({"bad"});
  ASSERT_OK(scheduler().DrainWorker("good", true));
  for (int round = 0; round < 6; ++round) {
    Round({"bad"});
  }
  EXPECT_GT(ViewOf("bad").failed, 3u);
  EXPECT_THAT(ViewOf("bad").quarantine_reason, IsEmpty());
}

TEST_F(BlameSchedulerTest, UndoingADrainEndsTheQuarantine) {
  AddWorker("bad");
  AddWorker("good");
  Submit(Evals({"a"}, {"x"}, 40));
  for (int round = 0; round < 5; ++round) {
    Round({"bad"});
  }
  ASSERT_THAT(ViewOf("bad").quarantine_reason, Not(IsEmpty()));
  ASSERT_OK(scheduler().DrainWorker("bad", false));
  EXPECT_THAT(ViewOf("bad").quarantine_reason, IsEmpty());
  Sync();
  EXPECT_EQ(RunningOn("bad"), 1u);
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
  for (int round = 0; round < 3; ++round) {
    Round({"bad"});
  }
  ASSERT_THAT(ViewOf("bad").quarantine_reason, Not(IsEmpty()));
  SweepSpec large = Evals({"large"}, {"x"}, 1);
  large.approaches[0].predict_resources.cpu_millis = 4000;
  const SweepId id = Submit(large);
  Sync();
  EXPECT_THAT(scheduler().Explain({id, 0}),
              AllOf(HasSubstr("fits on none"), HasSubstr("1 is in quarantine")));
}

// --- what is hopeless ----------------------------------------------------------------------------

TEST_F(BlameSchedulerTest, AnApproachThatFailsEverywhereIsGivenUpAndARetryTriesAgain) {
  AddWorker("w1");
  AddWorker("w2");
  SweepSpec spec = Trains({"a"}, {"x", "y", "z"}, 4);
  spec.failures_max_per_block = 3;
  const SweepId id = Submit(spec);
  for (int round = 0; round < 12; ++round) {
    Round({"w1", "w2"});
  }
  const SweepView view = *scheduler().FindSweep(id);
  EXPECT_EQ(view.state, SweepState::kFailed);
  const uint32_t failed = view.counts[static_cast<size_t>(JobState::kFailed)];
  EXPECT_LT(failed, 7u);  // of 12 train jobs
  uint32_t skipped = 0;
  for (uint32_t job = 0; job < view.expansion->job_count(); ++job) {
    if (scheduler().Explain({id, job}).find("approach a fails everywhere") != std::string::npos) {
      ++skipped;
    }
  }
  EXPECT_GT(skipped, 0u);
  ASSERT_OK_AND_ASSIGN(const uint32_t retried, scheduler().RetryJobs(id, {}, false));
  EXPECT_EQ(retried, view.expansion->job_count());
  for (int round = 0; round < 20; ++round) {
    Round({});
  }
  EXPECT_EQ(scheduler().FindSweep(id)->state, SweepState::kSucceeded);
}

TEST_F(BlameSchedulerTest, AnApproachThatSucceedsSomewhereIsNotGivenUp) {
  AddWorker("w1");
  AddWorker("w2");
  SweepSpec spec = Trains({"a"}, {"x", "y", "z"}, 4);
  spec.failures_max_per_block = 4;  // the blocks' own rule: all seeds of one train set
  const SweepId id = Submit(spec);
  Round({});
  for (int round = 0; round < 20; ++round) {
    Round({"w1", "w2"});
  }
  uint32_t skipped_by_approach = 0;
  for (uint32_t job = 0; job < scheduler().FindSweep(id)->expansion->job_count(); ++job) {
    skipped_by_approach +=
        scheduler().Explain({id, job}).find("fails everywhere") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(skipped_by_approach, 0u);
}

TEST_F(BlameSchedulerTest, ATrainSetThatFailsWithEveryApproachIsGivenUp) {
  AddWorker("w1");
  AddWorker("w2");
  SweepSpec spec = Trains({"a", "b", "c"}, {"x"}, 4);
  spec.failures_max_per_block = 3;
  const SweepId id = Submit(spec);
  for (int round = 0; round < 12; ++round) {
    Round({"w1", "w2"});
  }
  bool told = false;
  for (uint32_t job = 0; job < scheduler().FindSweep(id)->expansion->job_count(); ++job) {
    told = told || scheduler().Explain({id, job}).find("train set x fails with every approach") !=
                       std::string::npos;
  }
  EXPECT_TRUE(told);
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
  EXPECT_EQ(scheduler().UseOf("me").running_jobs, 2);
  EXPECT_EQ(scheduler().UseOf("big").running_jobs, 5);
  EXPECT_THAT(scheduler().Explain({mine, 9}),
              AllOf(HasSubstr("me runs 2 jobs"), HasSubstr("running_jobs_max is 2")));
  EXPECT_THAT(scheduler().Explain({big, 9}), HasSubstr("running_jobs_max is 5"));
  EXPECT_EQ(scheduler().FindSweep(mine)->owner_use.running_jobs, 2);
  for (int round = 0; round < 8; ++round) {
    Round({});
    EXPECT_LE(scheduler().UseOf("me").running_jobs, 2);
  }
  Sync();
  EXPECT_EQ(scheduler().FindSweep(mine)->state, SweepState::kSucceeded);
  EXPECT_EQ(scheduler().UseOf("me").running_jobs, 0);
}

TEST_F(BlameSchedulerTest, ASweepWhoseDataIsTooMuchIsRefusedAndTheSameDataCountsOnce) {
  SweepSpec spec = Evals({"a"}, {"x"}, 1);
  const int64_t bytes = spec.benchmarks[0].test->bytes;
  SchedulerPolicy policy;
  policy.quotas.otherwise.stored_bytes_max = bytes + 1;
  Use(policy);
  const SweepId id = Submit(spec);
  EXPECT_EQ(scheduler().UseOf("me").stored_bytes, bytes);
  Submit(spec);
  EXPECT_EQ(scheduler().UseOf("me").stored_bytes, bytes);
  EXPECT_THAT(
      harness().Submit(Evals({"a"}, {"long-name"}, 1), "other text"),
      StatusIs(absl::StatusCode::kResourceExhausted,
               AllOf(HasSubstr(absl::StrCat("me stores ", bytes)), HasSubstr("stored_bytes_max"))));
  ASSERT_OK(harness().Submit(Evals({"a"}, {"y"}, 1), "by somebody else", "you"));
  // Deleted, it no longer counts.
  ASSERT_OK(scheduler().CancelSweep(id));
  ASSERT_OK(scheduler().DeleteSweep(id));
  EXPECT_EQ(scheduler().UseOf("me").stored_bytes, bytes);
  ASSERT_OK(scheduler().CancelSweep({2}));
  ASSERT_OK(scheduler().DeleteSweep({2}));
  EXPECT_EQ(scheduler().UseOf("me").stored_bytes, 0);
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
  EXPECT_GT(scheduler().UseOf("me").stored_bytes, data);
  EXPECT_EQ(RunningOn("w"), 0u);
  EXPECT_THAT(scheduler().Explain({id, 2}),
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
  ASSERT_EQ(scheduler().FindSweep(id)->state, SweepState::kFailed);
  ASSERT_OK(scheduler().RetryJobs(id, {}, false));
  EXPECT_EQ(scheduler().FindSweep(id)->state, SweepState::kActive);
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
  EXPECT_EQ(scheduler().FindSweep(id)->state, SweepState::kSucceeded);
}

}  // namespace
}  // namespace concur::testing
