// A few threads for work that must not hold up the thread that asks for it: downloads, hashing,
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

// Thread-safe. The threads live as long as the pool: children that they start with a parent-death
// signal keep their parent.
class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  ~ThreadPool() { Close(); }
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  void Submit(std::function<void()> work);
  void SubmitAfter(absl::Duration delay, std::function<void()> work);

  // Waits for what is under way, drops what has not begun, and what is submitted from now on. Not
  // to be called from the pool's own threads.
  void Close();

 private:
  void Run();
  // The next piece of work, or an empty function when the pool closes.
  std::function<void()> Take();

  SystemClock clock_;  // monotonic
  Mutex mu_;
  CondVar changed_;
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  std::deque<std::function<void()>> ready_ ABSL_GUARDED_BY(mu_);
  std::multimap<absl::Time, std::function<void()>> delayed_ ABSL_GUARDED_BY(mu_);
  std::vector<std::thread> threads_;  // of the owner's thread
};

}  // namespace concur

#endif  // CONCUR_BASE_THREAD_POOL_H_
