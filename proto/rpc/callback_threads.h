// SPDX-License-Identifier: Apache-2.0
// Keeps gRPC's threads for callbacks running.
#ifndef CONCUR_PROTO_RPC_CALLBACK_THREADS_H_
#define CONCUR_PROTO_RPC_CALLBACK_THREADS_H_

#include <cstdint>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/mutex.h"

namespace concur::rpc {

// gRPC's callback API runs on threads of its own (in 1.51 and later the `nexting_thread`s of its
// CallbackAlternativeCQ). A process that uses the API has one of these meanwhile, because
// - each of the threads sleeps for 100 ms once it has had no event for a second. When all of them
//   sleep, a request or an answer waits: with jobs of about a second, that of nearly every job. Two
//   calls a second, which fail at once, keep one of them awake.
// - their end races with their start. The first of these keeps them until the process ends.
// Thread-safe.
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
  // Begins a call that fails.
  void Call();
  // False when this ends before.
  bool WaitUntil(absl::Time time);

  mutable Mutex mu_;
  CondVar changed_;
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  int64_t begun_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t events_ ABSL_GUARDED_BY(mu_) = 0;
  std::thread thread_;  // last: it uses the others
};

}  // namespace concur::rpc

#endif  // CONCUR_PROTO_RPC_CALLBACK_THREADS_H_
