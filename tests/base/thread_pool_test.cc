// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

// Counts events; threads wait until there were enough.
class EventCount {
 public:
  void Add() {
    {
      MutexLock lock(mu_);
      ++count_;
    }
    changed_.NotifyAll();
  }
  void WaitFor(int count) {
    MutexLock lock(mu_);
    while (count_ < count) {
      changed_.Wait(mu_);
    }
  }
  int count() {
    MutexLock lock(mu_);
    return count_;
  }

 private:
  Mutex mu_;
  CondVar changed_;
  int count_ ABSL_GUARDED_BY(mu_) = 0;
};

// Counts how often each of many tasks ran.
class TaskRuns {
 public:
  explicit TaskRuns(int tasks) : runs_(static_cast<size_t>(tasks)) {}

  std::function<void()> Task(int task) {
    return [this, task] {
      runs_[static_cast<size_t>(task)].fetch_add(1);
      ended_.Add();
    };
  }
  void WaitForAll() { ended_.WaitFor(static_cast<int>(runs_.size())); }
  std::vector<int> Counts() const { return {runs_.begin(), runs_.end()}; }

 private:
  std::vector<std::atomic<int>> runs_;
  EventCount ended_;
};

// Submits tasks that keep a token until the pool drops one at once: from then on it is closing.
// REQUIRES: all threads of the pool are busy.
void WaitUntilClosing(ThreadPool& pool) {
  std::weak_ptr<int> dropped;
  do {
    auto token = std::make_shared<int>();
    dropped = token;
    pool.Submit([token = std::move(token)] { ADD_FAILURE() << "ran while the pool closed"; });
    std::this_thread::yield();
  } while (!dropped.expired());
}

TEST(ThreadPoolTest, EachTaskRunsOnce) {
  constexpr int kTasks = 10'000;
  TaskRuns runs(kTasks);
  ThreadPool pool(4);
  for (int i = 0; i < kTasks; ++i) {
    pool.Submit(runs.Task(i));
  }
  runs.WaitForAll();
  pool.Close();
  EXPECT_THAT(runs.Counts(), Each(Eq(1)));
}

TEST(ThreadPoolTest, OneThreadRunsTasksInTheOrderOfSubmission) {
  EventCount ended;
  std::vector<int> order;  // written by the pool's only thread
  ThreadPool pool(1);
  for (int i = 0; i < 5; ++i) {
    pool.Submit([&, i] {
      order.push_back(i);
      ended.Add();
    });
  }
  ended.WaitFor(5);
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4));
}

TEST(ThreadPoolTest, AllThreadsRunTasksAtTheSameTime) {
  constexpr int kThreads = 4;
  EventCount begun;
  EventCount ended;
  ThreadPool pool(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    pool.Submit([&] {
      begun.Add();
      begun.WaitFor(kThreads);
      ended.Add();
    });
  }
  ended.WaitFor(kThreads);
}

TEST(ThreadPoolTest, APoolHasAtLeastOneThread) {
  for (const int threads : {0, -3}) {
    EventCount ended;
    ThreadPool pool(threads);
    pool.Submit([&] { ended.Add(); });
    ended.WaitFor(1);
  }
}

TEST(ThreadPoolTest, TheDestructorWaitsForRunningTasksAndDropsTheOthers) {
  EventCount begun;
  EventCount gate;
  std::atomic<bool> ended = false;
  auto pool = std::make_unique<ThreadPool>(1);
  pool->Submit([&] {
    begun.Add();
    gate.WaitFor(1);
    ended = true;
  });
  pool->SubmitAfter(absl::Hours(1), [] { ADD_FAILURE() << "a delayed task ran"; });
  begun.WaitFor(1);
  std::thread opener([&gate, &closing = *pool] {
    WaitUntilClosing(closing);
    gate.Add();
  });
  pool.reset();
  EXPECT_TRUE(ended);
  opener.join();
}

TEST(ThreadPoolTest, AfterCloseNothingRuns) {
  ThreadPool pool(2);
  pool.Close();
  pool.Submit([] { ADD_FAILURE() << "a task ran"; });
  pool.SubmitAfter(absl::ZeroDuration(), [] { ADD_FAILURE() << "a delayed task ran"; });
  pool.Close();
}

TEST(ThreadPoolTest, DroppedTasksMayUseThePoolWhenTheyAreDestroyed) {
  EventCount begun;
  EventCount gate;
  EventCount destroyed;
  ThreadPool pool(1);
  pool.Submit([&] {
    begun.Add();
    gate.WaitFor(1);
  });
  begun.WaitFor(1);
  for (const bool delayed : {false, true}) {
    std::shared_ptr<void> last(nullptr, [&](void*) {
      pool.Submit([] { ADD_FAILURE() << "a task ran"; });
      destroyed.Add();
    });
    if (delayed) {
      pool.SubmitAfter(absl::Hours(1), [last = std::move(last)] {});
    } else {
      pool.Submit([last = std::move(last)] {});
    }
  }
  std::thread opener([&] {
    WaitUntilClosing(pool);
    gate.Add();
  });
  pool.Close();
  opener.join();
  EXPECT_EQ(destroyed.count(), 2);
}

TEST(ThreadPoolTest, TasksSubmitTasks) {
  constexpr int kDepth = 12;
  EventCount ended;
  ThreadPool pool(3);
  std::function<void(int)> grow = [&](int depth) {
    for (int i = 0; i < 2 && depth < kDepth; ++i) {
      pool.Submit([&, depth] { grow(depth + 1); });
    }
    ended.Add();
  };
  pool.Submit([&] { grow(0); });
  ended.WaitFor((1 << (kDepth + 1)) - 1);
  pool.Close();
  EXPECT_EQ(ended.count(), (1 << (kDepth + 1)) - 1);
}

TEST(ThreadPoolTest, DelayedTasksRunInTheOrderOfTheirTimes) {
  EventCount begun;
  EventCount gate;
  EventCount ended;
  std::vector<char> order;  // written by the pool's only thread
  const auto task = [&](char name) {
    return [&, name] {
      order.push_back(name);
      ended.Add();
    };
  };
  ThreadPool pool(1);
  pool.Submit([&] {
    begun.Add();
    gate.WaitFor(1);
  });
  begun.WaitFor(1);
  pool.SubmitAfter(-absl::Hours(1), task('c'));
  pool.SubmitAfter(-absl::Hours(3), task('a'));
  pool.SubmitAfter(-absl::Hours(2), task('b'));
  gate.Add();
  ended.WaitFor(3);
  EXPECT_THAT(order, ElementsAre('a', 'b', 'c'));
}

TEST(ThreadPoolTest, ADelayedTaskRunsOnceItsTimeHasCome) {
  SystemClock clock;
  EventCount ended;
  absl::Time ran;
  ThreadPool pool(1);
  const absl::Time before = clock.Now();
  pool.SubmitAfter(absl::Milliseconds(2), [&] {
    ran = clock.Now();
    ended.Add();
  });
  ended.WaitFor(1);
  EXPECT_GE(ran - before, absl::Milliseconds(2));
}

TEST(ThreadPoolTest, ALongDelayHoldsUpNeitherOtherTasksNorClose) {
  EventCount ended;
  ThreadPool pool(1);
  pool.SubmitAfter(absl::InfiniteDuration(), [] { ADD_FAILURE() << "a task ran"; });
  pool.SubmitAfter(absl::Hours(1), [] { ADD_FAILURE() << "a task ran"; });
  pool.SubmitAfter(absl::Milliseconds(1), [&] { ended.Add(); });
  ended.WaitFor(1);
  pool.Submit([&] { ended.Add(); });
  ended.WaitFor(2);
}

TEST(ThreadPoolTest, TasksOfManySubmittersRunOnce) {
  constexpr int kSubmitters = 8;
  constexpr int kTasksEach = 1'000;
  TaskRuns runs(kSubmitters * kTasksEach);
  ThreadPool pool(4);
  std::vector<std::thread> submitters;
  for (int s = 0; s < kSubmitters; ++s) {
    submitters.emplace_back([&, s] {
      for (int i = 0; i < kTasksEach; ++i) {
        std::function<void()> task = runs.Task(s * kTasksEach + i);
        if (i % 3 == 0) {
          pool.SubmitAfter(absl::Microseconds(i % 50), std::move(task));
        } else {
          pool.Submit(std::move(task));
        }
      }
    });
  }
  for (std::thread& submitter : submitters) {
    submitter.join();
  }
  runs.WaitForAll();
  pool.Close();
  EXPECT_THAT(runs.Counts(), Each(Eq(1)));
}

TEST(ThreadPoolTest, CloseAmongSubmittersRunsNoTaskTwiceAndNoneLater) {
  constexpr int kSubmitters = 4;
  constexpr int kTasksEach = 500;
  TaskRuns runs(kSubmitters * kTasksEach);
  EventCount submitted;
  ThreadPool pool(2);
  std::vector<std::thread> submitters;
  for (int s = 0; s < kSubmitters; ++s) {
    submitters.emplace_back([&, s] {
      for (int i = 0; i < kTasksEach; ++i) {
        pool.Submit(runs.Task(s * kTasksEach + i));
        submitted.Add();
      }
    });
  }
  submitted.WaitFor(kTasksEach);
  pool.Close();
  const std::vector<int> at_close = runs.Counts();
  for (std::thread& submitter : submitters) {
    submitter.join();
  }
  EXPECT_THAT(at_close, Each(AnyOf(0, 1)));
  EXPECT_EQ(runs.Counts(), at_close);
}

TEST(ThreadPoolTest, ThreadsLiveAsLongAsThePool) {
  EventCount ended;
  Mutex mu;
  std::set<std::thread::id> threads;
  ThreadPool pool(1);
  for (int i = 1; i <= 20; ++i) {
    pool.Submit([&] {
      {
        MutexLock lock(mu);
        threads.insert(std::this_thread::get_id());
      }
      ended.Add();
    });
    ended.WaitFor(i);
  }
  MutexLock lock(mu);
  EXPECT_EQ(threads.size(), 1u);
}

}  // namespace
}  // namespace concur
