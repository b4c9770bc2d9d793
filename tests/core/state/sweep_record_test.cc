// SPDX-License-Identifier: Apache-2.0
#include "core/state/sweep_record.h"

#include <memory>
#include <utility>

#include "base/check.h"
#include "tests/core/sweep/sweep_builder.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

// One trained approach on one train set, evaluated on two benchmarks, with two seeds: jobs 0 and 3
// train, the others evaluate.
SweepSpec TwoCells() {
  SweepSpec spec;
  spec.name = "two";
  spec.approaches = {testing::TrainedApproach("a")};
  spec.approaches[0].train_resources.cpu_millis = 3000;
  spec.benchmarks = {testing::Benchmark("x"), testing::Benchmark("y")};
  spec.train_sets = {testing::PlainTrainSet(spec, 0)};
  spec.evaluate_on = EvaluateOn::kAll;
  spec.seeds = {1, 2};
  spec.priority = 5;
  return spec;
}

class SweepRecordTest : public ::testing::Test {
 protected:
  static std::unique_ptr<SweepRecord> Make(SweepSpec spec) {
    absl::StatusOr<Expansion> expansion = Expansion::Make(std::move(spec));
    CONCUR_CHECK_OK(expansion.status());
    SweepRow row;
    row.id = {9};
    auto sweep = std::make_unique<SweepRecord>(
        std::move(row), std::make_shared<const Expansion>(*std::move(expansion)));
    for (uint32_t kind = 0; kind < sweep->expansion->kind_count(); ++kind) {
      sweep->groups.push_back(10 + kind);
    }
    sweep->CheckInvariants();
    return sweep;
  }
  static void Succeed(SweepRecord& sweep, uint32_t job, JobResult result = {}) {
    result.succeeded = true;
    sweep.jobs[job].settled = true;
    sweep.jobs.PutResult(job, std::move(result), 0);
    sweep.SetState(job, JobState::kSucceeded);
  }
  static JobResult WithSystem(int64_t bytes) {
    JobResult result;
    result.artifacts = {{ArtifactKind::kSystem, Sha256Of("system"), bytes},
                        {ArtifactKind::kLog, Sha256Of("log"), 1}};
    return result;
  }

  std::unique_ptr<SweepRecord> sweep_ = Make(TwoCells());
};

TEST_F(SweepRecordTest, EvalJobsThatNeedASystemAreBlockedAtFirst) {
  for (uint32_t job = 0; job < 6; ++job) {
    EXPECT_EQ(sweep_->jobs[job].state(), job % 3 == 0 ? JobState::kReady : JobState::kBlocked);
  }
  EXPECT_EQ(sweep_->State(), SweepState::kActive);
  sweep_->row.paused = true;
  EXPECT_EQ(sweep_->State(), SweepState::kPaused);
}

TEST_F(SweepRecordTest, ASweepSucceedsWhenAllOfItDidAndFailsWhenAllHasEnded) {
  for (uint32_t job = 0; job < 5; ++job) {
    Succeed(*sweep_, job);
  }
  EXPECT_EQ(sweep_->State(), SweepState::kActive);
  sweep_->SetState(5, JobState::kSkipped);
  EXPECT_EQ(sweep_->State(), SweepState::kFailed);
  Succeed(*sweep_, 5);
  EXPECT_EQ(sweep_->State(), SweepState::kSucceeded);
}

TEST_F(SweepRecordTest, ACanceledSweepIsCancelingUntilItsJobsAndAttemptsHaveEnded) {
  sweep_->row.canceled = true;
  EXPECT_EQ(sweep_->State(), SweepState::kCanceling);
  for (uint32_t job = 0; job < 6; ++job) {
    sweep_->SetState(job, JobState::kCanceled);
  }
  sweep_->stopping = 1;
  EXPECT_EQ(sweep_->State(), SweepState::kCanceling);
  sweep_->stopping = 0;
  EXPECT_EQ(sweep_->State(), SweepState::kCanceled);
}

TEST_F(SweepRecordTest, ASweepOfWhichARetryLeftJobsCanceledIsCanceledUnlessOneFailed) {
  for (uint32_t job = 0; job < 3; ++job) {
    Succeed(*sweep_, job);
  }
  for (uint32_t job = 3; job < 6; ++job) {
    sweep_->SetState(job, JobState::kCanceled);
  }
  EXPECT_EQ(sweep_->State(), SweepState::kCanceled);
  sweep_->SetState(5, JobState::kSkipped);
  EXPECT_EQ(sweep_->State(), SweepState::kFailed);
}

TEST_F(SweepRecordTest, ALaneIsWhatTheQueueMustKnowOfAJob) {
  sweep_->owner = 4;
  sweep_->label_sets = {0, 6, 0};
  const ReadyQueue::Lane train = sweep_->LaneOf(3);
  EXPECT_TRUE(train.is_train);
  EXPECT_EQ(train.priority, 5);
  EXPECT_EQ(train.owner, 4u);
  EXPECT_EQ(train.sweep, SweepId{9});
  EXPECT_EQ(train.resources.cpu_millis, 3000);
  EXPECT_EQ(train.labels, 0u);
  EXPECT_EQ(train.group, 10u);
  const ReadyQueue::Lane eval = sweep_->LaneOf(4);
  EXPECT_FALSE(eval.is_train);
  EXPECT_EQ(eval.labels, 6u);
  EXPECT_EQ(eval.group, 11u);
}

TEST_F(SweepRecordTest, ASystemIsThereFromSuccessUntilItIsCollectedAndNeededUntilAllIsEvaluated) {
  EXPECT_FALSE(sweep_->HasSystem(0));
  Succeed(*sweep_, 0, WithSystem(100));
  EXPECT_TRUE(sweep_->HasSystem(0));
  EXPECT_TRUE(sweep_->NeedsSystem(0));
  Succeed(*sweep_, 1);
  Succeed(*sweep_, 2);
  EXPECT_FALSE(sweep_->HasSystem(1));
  EXPECT_FALSE(sweep_->NeedsSystem(0));
  EXPECT_TRUE(sweep_->NeedsSystem(3));
  sweep_->jobs[0].system_collected = true;
  EXPECT_FALSE(sweep_->HasSystem(0));
}

TEST_F(SweepRecordTest, AResultCountsWhatItKeepsUnlessItWasTakenOver) {
  EXPECT_EQ(sweep_->StoredBytesOf(0), 0);
  Succeed(*sweep_, 0, WithSystem(100));
  EXPECT_EQ(sweep_->StoredBytesOf(0), 101);
  sweep_->jobs[0].system_collected = true;
  EXPECT_EQ(sweep_->StoredBytesOf(0), 1);
  sweep_->jobs.MarkReused(0, {{1}, 0});
  EXPECT_EQ(sweep_->StoredBytesOf(0), 0);
}

TEST_F(SweepRecordTest, FailuresAreTalliedByKind) {
  sweep_->jobs.PutResult(0, JobResult(), 0);
  sweep_->SetState(0, JobState::kFailed);
  EXPECT_EQ(sweep_->tallies.failed(0), 1u);
  sweep_->CheckInvariants();
  sweep_->jobs.DropResult(0);
  sweep_->SetState(0, JobState::kReady);
  EXPECT_EQ(sweep_->tallies.failed(0), 0u);
  sweep_->CheckInvariants();
}

}  // namespace
}  // namespace concur
