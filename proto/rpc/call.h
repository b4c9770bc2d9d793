// SPDX-License-Identifier: Apache-2.0
// Calls with deadlines, which are repeated while no coordinator answers.
//
// Thread-safe (stateless functions); they block the calling thread.
#ifndef CONCUR_PROTO_RPC_CALL_H_
#define CONCUR_PROTO_RPC_CALL_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "proto/rpc/coordinators.h"

namespace grpc {
class ClientContext;
class Status;
}  // namespace grpc

namespace concur::rpc {

// When a call gives up.
struct CallOptions {
  Coordinators* coordinators = nullptr;                // whose current() the attempts ask
  absl::Duration attempt_timeout = absl::Seconds(20);  // limits one attempt
  absl::Duration total_timeout = absl::Seconds(30);    // limits all attempts and the waits between
  absl::Duration backoff_min = absl::Milliseconds(100);
  absl::Duration backoff_max = absl::Seconds(5);
  // Asked before every attempt after the first and while waiting: true ends the call as Cancelled.
  std::function<bool()> is_canceled;
};

// Calls `attempt` with a fresh context that carries a deadline, and again, after a pause that
// doubles and has jitter, while the answer is Unavailable; with several coordinators also after
// the time of an attempt. Only for calls that are safe to repeat (the protos say which). Returns
// the last answer; Cancelled when told to stop.
absl::Status CallWithRetry(const CallOptions& options,
                           const std::function<grpc::Status(grpc::ClientContext&)>& attempt);

// As CallWithRetry, but once: for calls that are not safe to repeat.
absl::Status CallOnce(const CallOptions& options,
                      const std::function<grpc::Status(grpc::ClientContext&)>& attempt);

// The pause before attempt `attempt` (the first repeat is 1), drawn between half and all of
// min(backoff_max, backoff_min * 2^(attempt-1)) by `uniform` in [0, 1).
absl::Duration BackoffBefore(const CallOptions& options, int attempt, double uniform);

}  // namespace concur::rpc

#endif  // CONCUR_PROTO_RPC_CALL_H_
