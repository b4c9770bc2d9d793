// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <algorithm>
#include <utility>

namespace concur {

ThreadPool::ThreadPool(int threads) {
  for (int i = 0; i < std::max(1, threads); ++i) {
    threads_.emplace_back([this] { Run(); });
  }
}

void ThreadPool::Close() {
  std::deque<std::function<void()>> ready;
  std::multimap<absl::Time, std::function<void()>> delayed;
  {
    MutexLock lock(mu_);
    closing_ = true;
    // Destroyed without the lock: destructors of tasks may call the pool.
    ready.swap(ready_);
    delayed.swap(delayed_);
  }
  changed_.NotifyAll();
  for (std::thread& thread : threads_) {
    thread.join();
  }
  threads_.clear();
}

void ThreadPool::Submit(std::function<void()> work) {
  {
    MutexLock lock(mu_);
    if (closing_) {
      return;
    }
    ready_.push_back(std::move(work));
  }
  changed_.NotifyOne();
}

void ThreadPool::SubmitAfter(absl::Duration delay, std::function<void()> work) {
  {
    MutexLock lock(mu_);
    if (closing_) {
      return;
    }
    delayed_.emplace(clock_.Now() + delay, std::move(work));
  }
  // A thread that waits for a later task must compute its timeout again.
  changed_.NotifyAll();
}

std::function<void()> ThreadPool::Take() {
  MutexLock lock(mu_);
  for (;;) {
    if (closing_) {
      return {};
    }
    const absl::Time now = clock_.Now();
    while (!delayed_.empty() && delayed_.begin()->first <= now) {
      ready_.push_back(std::move(delayed_.begin()->second));
      delayed_.erase(delayed_.begin());
    }
    if (!ready_.empty()) {
      std::function<void()> work = std::move(ready_.front());
      ready_.pop_front();
      return work;
    }
    changed_.WaitWithTimeout(
        mu_, delayed_.empty() ? absl::InfiniteDuration() : delayed_.begin()->first - now);
  }
}

void ThreadPool::Run() {
  while (std::function<void()> work = Take()) {
    work();
  }
}

}  // namespace concur
