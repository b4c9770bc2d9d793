// SPDX-License-Identifier: Apache-2.0
// Keeps gRPC's threads for callbacks from resting.
#ifndef CONCUR_RPC_CALLBACK_THREADS_H_
#define CONCUR_RPC_CALLBACK_THREADS_H_

#include <cstdint>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/mutex.h"

namespace concur::rpc {

// gRPC's callback API runs on threads of its own (the `nexting_thread`s of its
// CallbackAlternativeCQ, in 1.51 and later), each of which sleeps for 100 ms once it has had no
// event for a second. When all sleep, a request or an answer waits: with a job of about a second on
// each slot, every one does. One of these, in a process that uses the callback API, gives them an
// event twice a second, a call that fails at once, so that one of them is always awake. Costs some
// 50 µs of processor time a second.
class CallbackThreads {
 public:
  CallbackThreads();
  ~CallbackThreads();
  CallbackThreads(const CallbackThreads&) = delete;
  CallbackThreads& operator=(const CallbackThreads&) = delete;

  // Events until now.
  int64_t events() const;

 private:
  void Run();
  // False when this ends before.
  bool WaitUntil(absl::Time time);

  mutable Mutex mu_;
  CondVar changed_;
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  int64_t events_ ABSL_GUARDED_BY(mu_) = 0;
  std::thread thread_;  // last: it uses the others
};

}  // namespace concur::rpc

#endif  // CONCUR_RPC_CALLBACK_THREADS_H_
