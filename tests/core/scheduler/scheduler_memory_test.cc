// SPDX-License-Identifier: Apache-2.0
// The memory for jobs: sweeps that would pass it are refused, before anything of them is there.

#include "core/scheduler/scheduler.h"
#include "tests/core/state/blame_fixture.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

using ::absl::StatusCode;

class SchedulerMemoryTest : public BlameSchedulerTest {
 protected:
  // Room for ten jobs.
  SchedulerMemoryTest() {
    SchedulerPolicy policy;
    policy.job_memory_max = 11 * SweepBook::kJobMemoryBytes - 1;
    Use(policy);
  }
  absl::StatusOr<SweepId> TrySubmit(int jobs, const std::string& request_id = "") {
    return harness().Submit(Evals({"a"}, {"x"}, jobs), absl::StrCat(jobs, " jobs"), "me",
                            request_id);
  }
};

TEST_F(SchedulerMemoryTest, ASweepBeyondItIsRefusedWithTheNumbersUntilAnotherIsDeleted) {
  ASSERT_OK_AND_ASSIGN(const SweepId first, TrySubmit(6, "r"));
  EXPECT_THAT(TrySubmit(5).status(),
              StatusIs(StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("memory for 10 jobs (limits.job_memory_max of 7699 bytes"),
                             HasSubstr("its sweeps have 6, and this one has 5: delete sweeps"))));
  harness().EndTurn();
  EXPECT_EQ(scheduler().views().sweep_count(), 1u);
  EXPECT_EQ(scheduler().views().CountAll().job_memory, 6 * SweepBook::kJobMemoryBytes);
  EXPECT_OK(TrySubmit(6, "r")) << "a repeated request adds nothing";
  EXPECT_OK(TrySubmit(4));
  harness().EndTurn();
  harness().RestartCoordinator();
  EXPECT_EQ(TrySubmit(1).status().code(), StatusCode::kResourceExhausted);
  ASSERT_OK(scheduler().CancelSweep(first));
  ASSERT_OK(scheduler().DeleteSweep(first));
  EXPECT_OK(TrySubmit(5));
}

TEST_F(SchedulerMemoryTest, SoIsASweepBeyondItsOwnersQuotaOfJobs) {
  SchedulerPolicy policy;
  policy.quotas.owners["me"].jobs_max = 7;
  Use(policy);
  ASSERT_OK_AND_ASSIGN(const SweepId first, TrySubmit(5));
  EXPECT_THAT(TrySubmit(3).status(),
              StatusIs(StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("the sweeps of me have 5 jobs, and this one has 3"),
                             HasSubstr("the quota jobs_max of 7: delete sweeps"))));
  EXPECT_OK(harness().Submit(Evals({"a"}, {"x"}, 3), "another's", "you").status());
  harness().EndTurn();
  harness().RestartCoordinator();
  EXPECT_EQ(TrySubmit(3).status().code(), StatusCode::kResourceExhausted);
  ASSERT_OK(scheduler().CancelSweep(first));
  ASSERT_OK(scheduler().DeleteSweep(first));
  EXPECT_OK(TrySubmit(7));
}

// A coordinator with less memory than before.
class LittleMemoryTest : public BlameSchedulerTest {
 protected:
  // The worker's Sync, and what the scheduler answers.
  WorkerOrders Sync() {
    const SyncRequest request = worker_.MakeRequest();
    CONCUR_CHECK_OK(scheduler().Sync(request));
    harness().parked().insert(worker_.name());
    const auto turn = harness().EndTurn(/*compare=*/false);
    const auto answer = turn.answers.find(worker_.name());
    const WorkerOrders orders = answer == turn.answers.end() ? WorkerOrders() : answer->second;
    worker_.TakeAnswer(request.sequence, orders);
    return orders;
  }
  void Start(int64_t jobs) {
    harness().LimitMemory(jobs);
    harness().RestartCoordinator();
  }

  FakeWorker worker_{"w", Resources{.cpu_millis = 1000}};
};

TEST_F(LittleMemoryTest, AStartLeavesEndedAndOldSweepsOnDiskUntouchedAndALaterOneHasThem) {
  ASSERT_OK(harness().Submit(Evals({"a"}, {"x"}, 3), "first", "me", "request"));
  ASSERT_OK(harness().Submit(Evals({"b"}, {"x"}, 4), "second"));
  ASSERT_OK(harness().Submit(Evals({"c"}, {"x"}, 5), "third"));
  ASSERT_OK(scheduler().CancelSweep(SweepId{3}));
  harness().EndTurn();

  Start(6);
  EXPECT_THAT(scheduler().views().ListSweeps(), ElementsAre(SweepId{2}))
      << "the newest of those that have not ended";
  const auto is_left_out = StatusIs(
      StatusCode::kFailedPrecondition,
      AllOf(HasSubstr("sweep s1 is on disk and was not loaded: it has 3 jobs"),
            HasSubstr("memory for 6 (limits.job_memory_max of 4200"), HasSubstr("delete sweeps")));
  EXPECT_THAT(scheduler().CancelSweep(SweepId{1}), is_left_out);
  EXPECT_THAT(scheduler().DeleteSweep(SweepId{1}), is_left_out) << "it has not ended";
  EXPECT_THAT(scheduler().RetryJobs(SweepId{1}, {}, false).status(), is_left_out);
  EXPECT_THAT(harness().Submit(Evals({"a"}, {"x"}, 3), "first", "me", "request").status(),
              is_left_out)
      << "a repeated request makes no second sweep";
  EXPECT_EQ(scheduler().CancelSweep(SweepId{4}).code(), StatusCode::kNotFound);
  EXPECT_EQ(scheduler().views().SweepsNamed("evals").size(), 3u);
  ASSERT_OK_AND_ASSIGN(const SweepId fourth, harness().Submit(Evals({"d"}, {"x"}, 1), "fourth"));
  EXPECT_EQ(fourth, SweepId{4});
  harness().EndTurn(/*compare=*/false);

  Start(0);
  EXPECT_THAT(scheduler().views().ListSweeps(),
              ElementsAre(SweepId{1}, SweepId{2}, SweepId{3}, SweepId{4}));
  EXPECT_EQ(scheduler().views().FindSweep(SweepId{1})->counts[1], 3u);
  EXPECT_EQ(scheduler().views().FindSweep(SweepId{3})->state, SweepState::kCanceled);
  EXPECT_EQ(*harness().Submit(Evals({"a"}, {"x"}, 3), "first", "me", "request"), SweepId{1});
}

// Artifacts were kept and results not reused until a start with more memory.
TEST_F(LittleMemoryTest, ASweepThatIsNotLoadedIsDeletedIfItHasEnded) {
  ASSERT_OK(harness().Submit(Evals({"a"}, {"x"}, 3), "first", "me", "request"));
  ASSERT_OK(harness().Submit(Evals({"b"}, {"x"}, 4), "second"));
  ASSERT_OK(scheduler().CancelSweep(SweepId{1}));
  harness().EndTurn();
  Start(6);
  ASSERT_THAT(scheduler().views().ListSweeps(), ElementsAre(SweepId{2}));
  ASSERT_OK(scheduler().DeleteSweep(SweepId{1}));
  EXPECT_EQ(scheduler().DeleteSweep(SweepId{1}).code(), StatusCode::kNotFound);
  EXPECT_THAT(scheduler().views().left_out(), IsEmpty());
  EXPECT_EQ(*harness().Submit(Evals({"c"}, {"x"}, 2), "third", "me", "request"), SweepId{3});
  harness().EndTurn();
  Start(0);
  EXPECT_THAT(scheduler().views().ListSweeps(), ElementsAre(SweepId{2}, SweepId{3}));
}

TEST_F(LittleMemoryTest, AnAttemptOfASweepThatIsNotLoadedGoesOnAndItsResultWaits) {
  ASSERT_OK(harness().Submit(Evals({"a"}, {"x"}, 2), "first"));
  const WorkerOrders given = Sync();
  ASSERT_EQ(given.start.size(), 1u);
  const AttemptId id = given.start[0].id;
  ASSERT_OK(harness().Submit(Evals({"b"}, {"x"}, 2), "second"));
  harness().EndTurn();

  Start(3);
  WorkerOrders orders = Sync();
  EXPECT_THAT(orders.stop, IsEmpty());
  EXPECT_THAT(orders.start, IsEmpty()) << "it takes all of the worker";
  worker_.Finish(id, SuccessOf(id, /*is_train=*/false));
  orders = Sync();
  EXPECT_THAT(orders.forget, IsEmpty());
  ASSERT_EQ(orders.start.size(), 1u);
  EXPECT_EQ(orders.start[0].id.job.sweep, SweepId{2});

  Start(0);
  orders = Sync();
  ASSERT_EQ(orders.forget.size(), 1u);
  EXPECT_TRUE(orders.forget[0].accepted) << orders.forget[0].reason;
  EXPECT_EQ(scheduler().views().ViewJob(id.job).state, JobState::kSucceeded);
}

// The worker's row is gone, and the job's says that it runs there.
TEST_F(LittleMemoryTest, AnAttemptWhoseWorkerRestartedMeanwhileIsLost) {
  ASSERT_OK(harness().Submit(Evals({"a"}, {"x"}, 1), "first"));
  ASSERT_EQ(Sync().start.size(), 1u);
  ASSERT_OK(harness().Submit(Evals({"b"}, {"x"}, 1), "second"));
  harness().EndTurn();
  Start(1);
  worker_.Restart(/*spooled=*/false, /*knows_previous=*/true);
  ASSERT_EQ(Sync().start.size(), 1u);
  Start(0);
  EXPECT_EQ(scheduler().views().ViewJob({SweepId{1}, 0}).state, JobState::kReady);
}

TEST_F(SchedulerMemoryTest, SoIsAnImport) {
  ASSERT_OK(TrySubmit(5));
  EXPECT_EQ(harness().Import(ImportedSweep(), "import", ImportedScores({0, 2})).status().code(),
            StatusCode::kResourceExhausted)
      << "it has six jobs";
}

}  // namespace
}  // namespace concur::testing
