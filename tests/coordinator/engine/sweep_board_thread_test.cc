// SPDX-License-Identifier: Apache-2.0
// The board between threads: an engine that publishes, readers that come and go.

#include <atomic>
#include <deque>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "coordinator/engine/sweep_board.h"
#include "tests/coordinator/engine/board_reader.h"
#include "tests/coordinator/engine/engine_fixture.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

// Written from a thread of its own, as gRPC does; leaves at random.
class ThreadedReader final : public SweepBoard::Watcher {
 public:
  explicit ThreadedReader(SweepBoard& board) : board_(board), thread_([this] { Run(); }) {}
  ~ThreadedReader() override {
    {
      MutexLock lock(mutex_);
      closing_ = true;
    }
    changed_.NotifyAll();
    thread_.join();
  }
  void Write(std::shared_ptr<const SweepBoard::Message> message, bool is_last) override {
    MutexLock lock(mutex_);
    CONCUR_CHECK(message_ == nullptr && !ended_);
    message_ = std::move(message);
    last_ = is_last;
    changed_.NotifyAll();
  }
  void End(absl::Status) override {
    MutexLock lock(mutex_);
    ended_ = true;
    changed_.NotifyAll();
  }
  void WaitForEnd() {
    MutexLock lock(mutex_);
    while (!ended_) {
      changed_.Wait(mutex_);
    }
  }
  int succeeded() {
    MutexLock lock(mutex_);
    return succeeded_;
  }

 private:
  void Run() {
    for (;;) {
      std::shared_ptr<const SweepBoard::Message> message;
      bool last = false;
      {
        MutexLock lock(mutex_);
        while (message_ == nullptr && !closing_) {
          changed_.Wait(mutex_);
        }
        if (message_ == nullptr) {
          return;
        }
        message = std::exchange(message_, nullptr);
        last = last_;
        succeeded_ = Seen(message->bytes()).succeeded;
      }
      if (last || !board_.Written(*this, true).ok()) {
        End(absl::OkStatus());
      }
    }
  }

  SweepBoard& board_;
  Mutex mutex_;
  CondVar changed_;
  std::shared_ptr<const SweepBoard::Message> message_ ABSL_GUARDED_BY(mutex_);
  bool last_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  int succeeded_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

TEST(SweepBoardThreadTest, EveryWatcherSeesTheEndOfABusySweep) {
  SystemClock clock;
  MemoryStore store;
  EngineOptions options;
  options.board.watch_interval = absl::Milliseconds(1);
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Engine> engine,
                       Engine::Create(clock, store, Decode, options));
  engine->Start();
  engine->board().Start(TextEncoder());
  constexpr int kSeeds = 100;
  std::atomic<bool> submitted{false};
  engine->Call<SweepId>(
      [&](Scheduler& scheduler) { return scheduler.Submit(SubmissionOf(kSeeds)); },
      [&](const absl::StatusOr<SweepId>&) { submitted = true; });
  while (!submitted) {
    std::this_thread::yield();
  }
  std::deque<ThreadedReader> readers;
  for (int i = 0; i < 8; ++i) {
    const WatchDetail detail = i % 2 == 0 ? WatchDetail::kAll : WatchDetail::kNone;
    ASSERT_OK(engine->board().Watch({1}, "", detail, readers.emplace_back(engine->board())));
  }
  std::vector<FinishedAttempt> finished;
  for (uint64_t sequence = 1;; ++sequence) {
    std::atomic<bool> answered{false};
    SyncResponse response;
    SyncRequest request = SyncOf("w", sequence);
    request.wait = absl::Milliseconds(1);
    request.finished = std::exchange(finished, {});
    engine->Sync(std::move(request), [&](absl::StatusOr<SyncResponse> answer) {
      response = *std::move(answer);
      answered = true;
    });
    while (!answered) {
      std::this_thread::yield();
    }
    for (const JobOrder& order : response.start) {
      finished.push_back(Finished(order.id, order.is_train));
    }
    // Comers and goers.
    ThreadedReader visitor(engine->board());
    if (engine->board().Watch({1}, "", WatchDetail::kAll, visitor).ok() &&
        !engine->board().Cancel(visitor)) {
      visitor.WaitForEnd();
    }
    if (engine->board().Find("s1", "owner")->state == SweepState::kSucceeded) {
      break;
    }
  }
  for (ThreadedReader& reader : readers) {
    reader.WaitForEnd();
    EXPECT_EQ(reader.succeeded(), 2 * kSeeds);
  }
  engine->Stop();
  EXPECT_EQ(engine->board().watchers(), 0u);
}

TEST(SweepBoardThreadTest, StopEndsWatchersAndRefusesLaterOnes) {
  SystemClock clock;
  SweepBoard board(clock, {}, "e");
  SweepUpdate update;
  update.id = {1};
  auto facts = std::make_shared<SweepFacts>();
  facts->row.id = {1};
  update.facts = facts;
  std::vector<SweepUpdate> all;
  all.push_back(std::move(update));
  board.Publish(std::move(all), clock.Now());
  board.Start(TextEncoder());
  ThreadedReader reader(board);
  ASSERT_OK(board.Watch({1}, "", WatchDetail::kAll, reader));
  board.Stop();
  reader.WaitForEnd();
  ThreadedReader late(board);
  EXPECT_THAT(board.Watch({1}, "", WatchDetail::kAll, late),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("shutting down")));
}

}  // namespace
}  // namespace concur
