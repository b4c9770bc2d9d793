// SPDX-License-Identifier: Apache-2.0
// A std::mutex with Abseil's thread annotations, which clang's -Wthread-safety
// checks. Not absl::Mutex: Debian's Abseil is built without ThreadSanitizer
// support, and data guarded by it gives false race reports.
#ifndef CONCUR_BASE_MUTEX_H_
#define CONCUR_BASE_MUTEX_H_

#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"

namespace concur {

class ABSL_LOCKABLE Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_.Lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

class CondVar {
 public:
  // Waits until notified or until `timeout` has passed; may also wake spuriously.
  // Returns true on timeout.
  bool WaitWithTimeout(Mutex& mutex, absl::Duration timeout) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    const bool timed_out = timeout == absl::InfiniteDuration()
                               ? (condition_.wait(lock), false)
                               : condition_.wait_for(lock, absl::ToChronoNanoseconds(timeout)) ==
                                     std::cv_status::timeout;
    lock.release();
    return timed_out;
  }
  void Wait(Mutex& mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    WaitWithTimeout(mutex, absl::InfiniteDuration());
  }
  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace concur

#endif  // CONCUR_BASE_MUTEX_H_
