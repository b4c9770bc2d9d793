// SPDX-License-Identifier: Apache-2.0
#include "coordinator/engine/engine.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "base/thread_pool.h"
#include "coordinator/engine/collector.h"
#include "store/artifacts/directory_store.h"
#include "store/memory_store.h"
#include "tests/coordinator/engine/engine_fixture.h"
#include "tests/testing/faulty_store.h"
#include "tests/testing/simulated_clock.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

using ::concur::testing::FaultyStore;
using ::concur::testing::SimulatedClock;

TEST_F(EngineTest, WorkerGetsTheTrainJobThenTheEvalJob) {
  ASSERT_OK(Submit(1));
  Answer first = Sync(SyncOf("w", 1));
  ASSERT_TRUE(first->has_value());
  ASSERT_OK(**first);
  ASSERT_THAT((**first)->start, SizeIs(1));
  const JobOrder train = (**first)->start[0];
  EXPECT_TRUE(train.is_train);
  EXPECT_EQ(train.id.ToString(), "s1/0 attempt 1");

  SyncRequest done = SyncOf("w", 2);
  done.finished = {Finished(train.id, true)};
  Answer second = Sync(done);
  ASSERT_TRUE(second->has_value());
  ASSERT_THAT((**second)->forget, SizeIs(1));
  EXPECT_TRUE((**second)->forget[0].accepted);
  ASSERT_THAT((**second)->start, SizeIs(1));
  EXPECT_EQ((**second)->start[0].system, Sha256Of("system"));

  SyncRequest last = SyncOf("w", 3);
  last.finished = {Finished((**second)->start[0].id, false)};
  ASSERT_TRUE(Sync(last)->has_value());
  const SweepView sweep = *engine_->scheduler_for_test().views().FindSweep({1});
  EXPECT_EQ(sweep.state, SweepState::kSucceeded);
  engine_->scheduler_for_test().CheckInvariants();
}

TEST_F(EngineTest, IdleSyncIsParkedUntilThereIsWork) {
  Answer parked = Sync(SyncOf("w", 1));
  EXPECT_FALSE(parked->has_value());
  ASSERT_OK(Submit(1));
  ASSERT_TRUE(parked->has_value());
  EXPECT_THAT((**parked)->start, SizeIs(1));
}

TEST_F(EngineTest, IdleSyncIsAnsweredWhenItsWaitIsOver) {
  Answer parked = Sync(SyncOf("w", 1));
  clock_.Advance(absl::Seconds(9));
  engine_->RunUntilIdle();
  EXPECT_FALSE(parked->has_value());
  EXPECT_EQ(engine_->NextDeadline(), clock_.Now() + absl::Seconds(1));
  clock_.Advance(absl::Seconds(1));
  engine_->RunUntilIdle();
  ASSERT_TRUE(parked->has_value());
  EXPECT_THAT((**parked)->start, IsEmpty());
}

TEST_F(EngineTest, LaterSyncSupersedesAParkedOneAndAStaleOneIsAborted) {
  Answer parked = Sync(SyncOf("w", 5));
  Answer newer = Sync(SyncOf("w", 6));
  ASSERT_TRUE(parked->has_value());
  EXPECT_OK(**parked);
  EXPECT_FALSE(newer->has_value());
  Answer stale = Sync(SyncOf("w", 5));
  ASSERT_TRUE(stale->has_value());
  EXPECT_THAT(**stale, StatusIs(absl::StatusCode::kAborted, HasSubstr("after sync 6")));
}

TEST_F(EngineTest, WorkerThatHungUpGetsNothing) {
  Answer parked = Sync(SyncOf("w", 1));
  engine_->CancelSync("w", "w-1", 1);
  engine_->RunUntilIdle();
  ASSERT_TRUE(parked->has_value());
  ASSERT_OK(Submit(1));
  EXPECT_EQ(engine_->scheduler_for_test().views().ViewJob({{1}, 0}).state, JobState::kReady);
}

TEST_F(EngineTest, RestartKeepsWhatRunsAndTheWorkerGoesOn) {
  ASSERT_OK(Submit(1));
  Answer first = Sync(SyncOf("w", 1));
  const AttemptId train = (**first)->start[0].id;
  Restart();
  EXPECT_EQ(engine_->scheduler_for_test().views().ViewJob(train.job).state, JobState::kRunning);
  SyncRequest again = SyncOf("w", 2);
  again.running = {train};
  EXPECT_FALSE(Sync(again)->has_value());  // nothing to stop, nothing to start
  SyncRequest done = SyncOf("w", 3);
  done.finished = {Finished(train, true)};
  Answer answer = Sync(done);
  ASSERT_THAT((**answer)->forget, SizeIs(1));
  EXPECT_TRUE((**answer)->forget[0].accepted);
  engine_->scheduler_for_test().CheckInvariants();
}

TEST_F(EngineTest, LeaseOfASilentWorkerEndsAfterARestartToo) {
  ASSERT_OK(Submit(1));
  Sync(SyncOf("w", 1));
  Restart();
  engine_->RunUntilIdle();
  clock_.Advance(absl::Seconds(30));
  engine_->RunUntilIdle();
  const JobView job = engine_->scheduler_for_test().views().ViewJob({{1}, 0});
  EXPECT_EQ(job.state, JobState::kReady);
  EXPECT_EQ(job.failure, FailureClass::kLost);
}

// As when the process was stopped, or its clock set forward: nobody could renew a lease meanwhile.
TEST_F(EngineTest, APauseOfTheCoordinatorEndsNoLease) {
  ASSERT_OK(Submit(1));
  const AttemptId train = (**Sync(SyncOf("w", 1)))->start[0].id;
  clock_.Advance(absl::Minutes(10));
  engine_->RunUntilIdle();
  const auto job = [&] { return engine_->scheduler_for_test().views().ViewJob(train.job); };
  EXPECT_EQ(job().state, JobState::kRunning);
  SyncRequest again = SyncOf("w", 2);
  again.running = {train};
  Sync(again);
  EXPECT_EQ(job().attempt, train.attempt);
  // Without a pause it ends in time, also when the pause was long.
  clock_.Advance(engine_->NextDeadline() - clock_.Now());
  engine_->RunUntilIdle();  // answers the parked call
  clock_.Advance(engine_->NextDeadline() - clock_.Now());
  engine_->RunUntilIdle();
  EXPECT_EQ(job().failure, FailureClass::kLost);
}

TEST_F(EngineTest, ACallThatWaitsRenewsItsLeaseBeforeAnyEnds) {
  ASSERT_OK(Submit(1));
  const AttemptId train = (**Sync(SyncOf("w", 1)))->start[0].id;
  clock_.Advance(engine_->NextDeadline() - clock_.Now());
  SyncRequest again = SyncOf("w", 2);
  again.running = {train};
  Sync(again);
  EXPECT_EQ(engine_->scheduler_for_test().views().ViewJob(train.job).state, JobState::kRunning);
}

// Every commit of a small life fails once; whatever was acknowledged before must still be there.
TEST(EngineCommitTest, NothingIsAcknowledgedThatIsNotDurable) {
  constexpr int kCommits = 4;
  for (int fail = 1; fail <= kCommits; ++fail) {
    for (const FaultyStore::When when : {FaultyStore::When::kBefore, FaultyStore::When::kAfter}) {
      SimulatedClock clock;
      MemoryStore disk;
      FaultyStore store(disk);
      store.FailCommit(fail, when);
      bool dead = false;
      bool submitted = false;
      std::vector<AttemptId> counted;
      {
        ASSERT_OK_AND_ASSIGN(std::unique_ptr<Engine> engine,
                             Engine::Create(clock, store, Decode, {}));
        engine->SetFatalForTest([&](const absl::Status&) { dead = true; });
        engine->Call<SweepId>(
            [&](Scheduler& scheduler) { return scheduler.Submit(SubmissionOf(1)); },
            [&](absl::StatusOr<SweepId> id) { submitted = id.ok() && !dead; });
        engine->RunUntilIdle();
        std::vector<AttemptId> running;
        std::vector<FinishedAttempt> finished;
        for (uint64_t sequence = 1; sequence < 6 && !dead; ++sequence) {
          SyncRequest request = SyncOf("w", sequence);
          request.finished = finished;
          engine->Sync(request, [&](absl::StatusOr<SyncResponse> response) {
            if (dead || !response.ok()) {
              return;  // a dead process answers nothing
            }
            finished.clear();
            for (const ForgetOrder& forget : response->forget) {
              EXPECT_TRUE(forget.accepted);
              counted.push_back(forget.id);
            }
            for (const JobOrder& order : response->start) {
              finished.push_back(Finished(order.id, order.is_train));
            }
          });
          engine->RunUntilIdle();
        }
        engine->SetFatalForTest([](const absl::Status&) {});
      }
      ASSERT_OK_AND_ASSIGN(std::unique_ptr<Engine> again, Engine::Create(clock, disk, Decode, {}));
      again->scheduler_for_test().CheckInvariants();
      EXPECT_TRUE(!submitted || again->scheduler_for_test().views().FindSweep({1}))
          << "commit " << fail;
      for (const AttemptId& id : counted) {
        EXPECT_EQ(again->scheduler_for_test().views().ViewJob(id.job).state, JobState::kSucceeded)
            << id.ToString() << " was acknowledged before commit " << fail << " failed";
      }
    }
  }
}

class FullDiskTest : public EngineTest {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<Engine>> made = Engine::Create(clock_, faulty_, Decode, {});
    ASSERT_OK(made);
    engine_ = *std::move(made);
  }
  // The next commit finds no space.
  void FillDisk() {
    faulty_.FailCommit(faulty_.commits() + 1, FaultyStore::When::kBefore,
                       absl::ResourceExhaustedError("concur.db: no space left on device"));
  }
  FaultyStore faulty_{store_};
};

TEST_F(FullDiskTest, NothingIsAnsweredThatIsNotSavedAndTheRestIsRefusedUntilThereIsSpace) {
  FillDisk();
  EXPECT_THAT(Submit(1, "first"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("may or may not be carried out")));
  EXPECT_TRUE(engine_->is_stalled());
  EXPECT_THAT(Submit(2, "second"),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("no space left on device")));
  ASSERT_OK_AND_ASSIGN(const Snapshot saved, store_.Load());
  EXPECT_THAT(saved.sweeps, IsEmpty());

  clock_.Advance(engine_->NextDeadline() - clock_.Now());
  engine_->RunUntilIdle();
  EXPECT_FALSE(engine_->is_stalled());
  // A call carried out late is known by its request id; one that was refused was not carried out.
  EXPECT_EQ(Submit(1, "first").value_or(SweepId{0}), SweepId{1});
  EXPECT_EQ(Submit(2, "second").value_or(SweepId{0}), SweepId{2});
  EXPECT_EQ(faulty_.calls_after_failure(), 0);
  engine_->scheduler_for_test().CheckInvariants();
}

TEST_F(FullDiskTest, AWorkerKeepsWhatItRunsHoweverLongTheDiskIsFull) {
  ASSERT_OK(Submit(1));
  const AttemptId train = (**Sync(SyncOf("w", 1)))->start[0].id;
  FillDisk();
  SyncRequest done = SyncOf("w", 2);
  done.finished = {Finished(train, true)};
  const Answer unsaved = Sync(done);
  ASSERT_TRUE(unsaved->has_value());
  EXPECT_THAT(**unsaved, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("disk is full")));
  EXPECT_FALSE(engine_->scheduler_for_test().views().ListWorkers()[0].lost);

  clock_.Advance(absl::Hours(1));
  engine_->RunUntilIdle();  // saved
  done.sequence = 3;
  const Answer answer = Sync(done);
  ASSERT_TRUE(answer->has_value());
  ASSERT_OK(**answer);
  ASSERT_THAT((**answer)->forget, SizeIs(1));
  EXPECT_TRUE((**answer)->forget[0].accepted);
  const JobView eval = engine_->scheduler_for_test().views().ViewJob({{1}, 1});
  EXPECT_EQ(eval.state, JobState::kRunning);
  EXPECT_EQ(eval.lost, 0u);
  engine_->scheduler_for_test().CheckInvariants();
}

TEST_F(FullDiskTest, AProcessKilledWhileTheDiskIsFullHasForgottenNothingThatItAnswered) {
  ASSERT_OK(Submit(1, "first"));
  FillDisk();
  EXPECT_THAT(Submit(2, "second"), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("full")));
  Restart();
  EXPECT_TRUE(engine_->scheduler_for_test().views().FindSweep({1}).has_value());
  EXPECT_FALSE(engine_->scheduler_for_test().views().FindSweep({2}).has_value());
  EXPECT_EQ(Submit(2, "second").value_or(SweepId{0}), SweepId{2});
}

// --- logs
// -----------------------------------------------------------------------------------------

TEST_F(EngineTest, FollowerOfARunningJobGetsItsLogThroughTheWorkersSyncs) {
  ASSERT_OK(Submit(1));
  Answer first = Sync(SyncOf("w", 1));
  const AttemptId train = (**first)->start[0].id;
  SyncRequest running = SyncOf("w", 2);
  running.running = {train};
  Answer parked = Sync(running);
  EXPECT_FALSE(parked->has_value());

  std::string log;
  bool ended = false;
  const auto take = [&](absl::StatusOr<LogBatch> batch) {
    ASSERT_OK(batch);
    log += batch->data;
    ended = batch->ended;
  };
  engine_->WaitForLog(train.job, {}, 0, /*follow=*/true, take);
  engine_->RunUntilIdle();
  ASSERT_TRUE(parked->has_value());  // the worker is asked for the log
  ASSERT_THAT((**parked)->logs, SizeIs(1));
  EXPECT_EQ((**parked)->logs[0].offset, 0);

  SyncRequest chunk = SyncOf("w", 3);
  chunk.running = {train};
  chunk.log_chunks = {{train, 0, "hello\n"}};
  Sync(chunk);
  EXPECT_EQ(log, "hello\n");
  engine_->WaitForLog(train.job, {}, 6, /*follow=*/true, take);
  engine_->RunUntilIdle();
  EXPECT_FALSE(ended);
  SyncRequest done = SyncOf("w", 4);
  done.finished = {Finished(train, true)};
  Sync(done);
  EXPECT_TRUE(ended);
}

TEST_F(EngineTest, AFollowerReadsTheAttemptThatEndedAlthoughTheNextOneRuns) {
  ASSERT_OK(Submit(1));
  Answer first = Sync(SyncOf("w", 1));
  const AttemptId train = (**first)->start[0].id;
  Answer other = Sync(SyncOf("v", 1));
  EXPECT_FALSE(other->has_value()) << "nothing to do but that job";
  std::vector<LogBatch> batches;
  const auto take = [&](absl::StatusOr<LogBatch> batch) {
    ASSERT_OK(batch);
    batches.push_back(*std::move(batch));
  };
  engine_->WaitForLog(train.job, {}, 0, /*follow=*/true, take);
  engine_->RunUntilIdle();
  SyncRequest chunk = SyncOf("w", 2);
  chunk.running = {train};
  chunk.log_chunks = {{train, 0, "hello\n"}};
  Sync(chunk);
  ASSERT_THAT(batches, SizeIs(1));
  engine_->WaitForLog(train.job, {}, 6, /*follow=*/true, take);
  engine_->RunUntilIdle();

  SyncRequest gone = SyncOf("w", 3);
  gone.draining = true;
  gone.finished = {Finished(train, true)};
  gone.finished[0].result.succeeded = false;
  gone.finished[0].result.failure = FailureClass::kPreempted;
  gone.finished[0].result.artifacts.clear();
  Sync(gone);
  ASSERT_TRUE(other->has_value());
  ASSERT_THAT((**other)->start, SizeIs(1));
  EXPECT_EQ((**other)->start[0].id.attempt.number, train.attempt.number + 1);
  ASSERT_THAT(batches, SizeIs(2));
  EXPECT_TRUE(batches[1].ended);
  EXPECT_EQ(batches[1].id, train);

  engine_->WaitForLog(train.job, train.attempt, 6, /*follow=*/true, take);  // asks again
  engine_->RunUntilIdle();
  ASSERT_THAT(batches, SizeIs(3));
  EXPECT_EQ(batches[2].id, train);
}

TEST_F(EngineTest, AWaitIsCanceledInTheTurnInWhichItCame) {
  ASSERT_OK(Submit(1));
  Answer first = Sync(SyncOf("w", 1));
  absl::Status status;
  const uint64_t ticket =
      engine_->WaitForLog((**first)->start[0].id.job, {}, 0, /*follow=*/true,
                          [&](absl::StatusOr<LogBatch> batch) { status = batch.status(); });
  engine_->CancelWait(ticket);
  engine_->RunUntilIdle();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kCancelled, HasSubstr("went away")));
}

TEST_F(EngineTest, WhoDoesNotFollowGetsTheLogOfARunningJobToItsEndForNow) {
  ASSERT_OK(Submit(1));
  Answer first = Sync(SyncOf("w", 1));
  const AttemptId train = (**first)->start[0].id;
  std::vector<std::string> pieces;
  const auto read = [&](int64_t offset) {
    engine_->WaitForLog(train.job, {}, offset, /*follow=*/false,
                        [&](absl::StatusOr<LogBatch> batch) {
                          ASSERT_OK(batch);
                          EXPECT_FALSE(batch->ended);
                          pieces.push_back(batch->data);
                        });
    engine_->RunUntilIdle();
  };
  uint64_t sequence = 1;
  const auto say = [&](int64_t offset, std::string data) {
    SyncRequest chunk = SyncOf("w", ++sequence);
    chunk.running = {train};
    chunk.log_chunks = {{train, offset, std::move(data)}};
    Sync(chunk);
  };
  read(0);
  EXPECT_THAT(pieces, IsEmpty()) << "the worker was not asked yet";
  say(0, "");
  EXPECT_THAT(pieces, ElementsAre("")) << "it has nothing";
  read(0);
  EXPECT_THAT(pieces, ElementsAre("", "")) << "it would say so if it had";

  say(0, std::string(kLogChunkBytesMax, 'x'));
  const auto end = static_cast<int64_t>(kLogChunkBytesMax);
  read(end);
  EXPECT_THAT(pieces, SizeIs(2)) << "a full chunk may not be the end";
  say(end, "y");
  EXPECT_THAT(pieces, ElementsAre("", "", "y"));
  read(end + 1);
  say(end, "y");  // came twice
  EXPECT_THAT(pieces, ElementsAre("", "", "y", ""));
  read(0);  // all of it is still kept
  EXPECT_THAT(pieces.back(), SizeIs(kLogChunkBytesMax));
}

TEST_F(EngineTest, JobThatNeverRanHasNoLog) {
  ASSERT_OK(Submit(1));
  absl::Status status;
  engine_->WaitForLog({{1}, 0}, {}, 0, /*follow=*/true,
                      [&](absl::StatusOr<LogBatch> batch) { status = batch.status(); });
  engine_->RunUntilIdle();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("has not run")));
}

TEST_F(EngineTest, ReportsOfAJobAreReadWhenTheyAreAskedFor) {
  ASSERT_OK(Submit(1));
  Answer first = Sync(SyncOf("w", 1));
  ASSERT_THAT((**first)->start, SizeIs(1));
  const AttemptId id = (**first)->start[0].id;
  SyncRequest report = SyncOf("w", 2);
  report.running = {id};
  report.steps.push_back({id, {1, "f1", 0.5}});
  Sync(report);
  for (const bool include_steps : {false, true}) {
    absl::StatusOr<size_t> steps = absl::UnknownError("no answer");
    engine_->Explain([id](Scheduler&) -> absl::StatusOr<JobId> { return id.job; }, include_steps,
                     [&](absl::StatusOr<Engine::Explanation> explanation) {
                       ASSERT_OK(explanation);
                       steps = explanation->steps.size();
                     });
    engine_->RunUntilIdle();
    ASSERT_OK(steps);
    EXPECT_EQ(*steps, include_steps ? 1u : 0u);
  }
}

TEST_F(EngineTest, AJobThatIsDeletedInTheTurnThatExplainsItIsNotFound) {
  ASSERT_OK(Submit(1));
  absl::Status canceled = absl::UnknownError("no answer");
  absl::Status deleted = canceled;
  const auto call = [&](absl::Status (Scheduler::*method)(SweepId), absl::Status* result) {
    engine_->Call<bool>(
        [method](Scheduler& scheduler) -> absl::StatusOr<bool> {
          CONCUR_RETURN_IF_ERROR((scheduler.*method)({1}));
          return true;
        },
        [result](absl::StatusOr<bool> done) { *result = done.status(); });
  };
  call(&Scheduler::CancelSweep, &canceled);
  engine_->RunUntilIdle();
  ASSERT_OK(canceled);
  absl::Status explained;
  engine_->Explain(
      [](Scheduler&) -> absl::StatusOr<JobId> {
        return JobId{{1}, 0};
      },
      /*include_steps=*/true,
      [&](absl::StatusOr<Engine::Explanation> explanation) { explained = explanation.status(); });
  call(&Scheduler::DeleteSweep, &deleted);
  engine_->RunUntilIdle();
  EXPECT_OK(deleted);
  EXPECT_THAT(explained, StatusIs(absl::StatusCode::kNotFound, HasSubstr("no job s1/0")));
}

// --- threads
// --------------------------------------------------------------------------------------

TEST_F(EngineTest, WorkerBeyondTheLimitIsRefusedAndAKnownOneIsNot) {
  EngineOptions options;
  options.policy.workers_max = 1;
  ASSERT_OK_AND_ASSIGN(engine_, Engine::Create(clock_, store_, Decode, options));
  EXPECT_FALSE(Sync(SyncOf("w", 1))->has_value());
  Answer second = Sync(SyncOf("v", 1));
  ASSERT_TRUE(second->has_value());
  EXPECT_THAT(**second, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("workers_max")));
  EXPECT_FALSE(Sync(SyncOf("w", 2))->has_value());
}

TEST_F(EngineTest, CollectionSparesWhatARunningSweepNeedsAndTakesWhatNothingNames) {
  concur::testing::TempDir dir;
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<DirectoryStore> artifacts, DirectoryStore::Open(dir.path()));
  ASSERT_OK_AND_ASSIGN(const Digest data, artifacts->Put("x-train"));
  ASSERT_OK_AND_ASSIGN(const Digest system, artifacts->Put("system"));
  ASSERT_OK_AND_ASSIGN(const Digest stray, artifacts->Put("stray"));
  ASSERT_OK(Submit(1));
  Answer first = Sync(SyncOf("w", 1));
  SyncRequest done = SyncOf("w", 2);
  done.finished = {Finished((**first)->start[0].id, true)};
  Sync(done);
  std::atomic<bool> collected{false};
  absl::Status status;
  SystemClock real;  // files carry real times
  {
    ThreadPool pool(1);
    // Older than an hour from now: everything.
    Collector collector(real, *engine_, store_, *artifacts, pool,
                        {absl::Hours(1), -absl::Hours(1), dir.File("collect.lock")});
    collector.Collect([&](absl::StatusOr<int64_t> freed) {
      status = freed.status();
      collected = true;
    });
    engine_->RunUntilIdle();
    while (!collected) {
      std::this_thread::yield();
    }
  }
  EXPECT_OK(status);
  EXPECT_TRUE(artifacts->Has(data));
  EXPECT_TRUE(artifacts->Has(system));
  EXPECT_FALSE(artifacts->Has(stray));
}

TEST(EngineThreadTest, ManyCallersAtOnceFinishASweep) {
  SystemClock clock;
  MemoryStore store;
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Engine> engine, Engine::Create(clock, store, Decode, {}));
  engine->Start();
  constexpr int kSeeds = 50;
  std::atomic<bool> submitted{false};
  engine->Call<SweepId>(
      [&](Scheduler& scheduler) { return scheduler.Submit(SubmissionOf(kSeeds)); },
      [&](absl::StatusOr<SweepId> id) { submitted = id.ok(); });
  std::vector<std::thread> workers;
  for (int w = 0; w < 4; ++w) {
    workers.emplace_back([&engine, w] {
      const std::string name = absl::StrCat("w", w);
      std::vector<FinishedAttempt> finished;
      for (uint64_t sequence = 1;; ++sequence) {
        Mutex mutex;
        CondVar answered;
        std::optional<absl::StatusOr<SyncResponse>> answer;
        SyncRequest request = SyncOf(name, sequence);
        request.wait = absl::Milliseconds(20);
        request.finished = finished;
        engine->Sync(std::move(request), [&](absl::StatusOr<SyncResponse> response) {
          MutexLock lock(mutex);
          answer = std::move(response);
          answered.NotifyOne();
        });
        MutexLock lock(mutex);
        while (!answer.has_value()) {
          answered.Wait(mutex);
        }
        ASSERT_OK(*answer);
        finished.clear();
        for (const JobOrder& order : (*answer)->start) {
          finished.push_back(Finished(order.id, order.is_train));
        }
        if ((*answer)->start.empty() && (*answer)->forget.empty()) {
          return;  // nothing came within the wait: the sweep has ended or others end it
        }
      }
    });
  }
  for (std::thread& worker : workers) {
    worker.join();
  }
  engine->Stop();
  EXPECT_TRUE(submitted);
  const SweepView sweep = *engine->scheduler_for_test().views().FindSweep({1});
  EXPECT_EQ(sweep.counts[static_cast<size_t>(JobState::kSucceeded)], 2u * kSeeds);
  engine->scheduler_for_test().CheckInvariants();
}

TEST(EngineThreadTest, StopAnswersWhatIsParked) {
  SystemClock clock;
  MemoryStore store;
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Engine> engine, Engine::Create(clock, store, Decode, {}));
  engine->Start();
  std::atomic<int> answers{0};
  engine->Sync(SyncOf("w", 1), [&](const absl::StatusOr<SyncResponse>&) { ++answers; });
  engine->Stop();
  EXPECT_EQ(answers, 1);
  engine->Sync(SyncOf("w", 2), [&](const absl::StatusOr<SyncResponse>& response) {
    EXPECT_THAT(response, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("shutting down")));
    ++answers;
  });
  EXPECT_EQ(answers, 2);
}

// The database's files were deleted underneath a coordinator, and it went on.
TEST(EngineStoreTest, AStoreThatIsNoLongerInItsPlaceEndsTheProcessAlsoWhenNothingHappens) {
  class Misplaced : public MemoryStore {
   public:
    absl::Status CheckPlace() override { return status; }
    absl::Status status;
  };
  SimulatedClock clock;
  Misplaced store;
  auto engine = Engine::Create(clock, store, Decode, EngineOptions());
  ASSERT_OK(engine);
  absl::Status fatal;
  (*engine)->SetFatalForTest([&](const absl::Status& status) { fatal = status; });
  (*engine)->CheckStore();
  (*engine)->RunUntilIdle();
  EXPECT_OK(fatal);
  store.status = absl::FailedPreconditionError("concur.db was removed");
  (*engine)->CheckStore();
  (*engine)->RunUntilIdle();
  EXPECT_THAT(fatal, StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("was removed")));
}

}  // namespace
}  // namespace concur
