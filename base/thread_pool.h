// SPDX-License-Identifier: Apache-2.0
// A fixed number of threads that run tasks which would block the caller: downloads, hashing,
// scoring, starting processes.
#ifndef CONCUR_BASE_THREAD_POOL_H_
#define CONCUR_BASE_THREAD_POOL_H_

#include <deque>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace concur {

// Thread-safe. The threads live as long as the pool, so that children started with a parent-death
// signal are not killed early. Tasks of one thread run in the order of submission, delayed ones
// once their time has come.
class ThreadPool {
 public:
  // At least one thread is started.
  explicit ThreadPool(int threads);
  ~ThreadPool() { Close(); }
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  void Submit(std::function<void()> work);
  void SubmitAfter(absl::Duration delay, std::function<void()> work);

  // Waits for running tasks; drops queued tasks and all that are submitted later. Must not be
  // called from the pool's own threads.
  void Close();

 private:
  void Run();
  // Waits for the next task; returns an empty function when the pool closes.
  std::function<void()> Take();

  SystemClock clock_;  // monotonic
  Mutex mu_;
  CondVar changed_;
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  std::deque<std::function<void()>> ready_ ABSL_GUARDED_BY(mu_);
  std::multimap<absl::Time, std::function<void()>> delayed_ ABSL_GUARDED_BY(mu_);
  std::vector<std::thread> threads_;  // used by the owner's thread only
};

}  // namespace concur

#endif  // CONCUR_BASE_THREAD_POOL_H_
