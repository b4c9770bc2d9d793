// SPDX-License-Identifier: Apache-2.0
// One gRPC call as the services see it: gRPC's context, and who calls from where. ServiceFront
// authenticates the call when its headers arrive; handlers, stream limits and the audit log use
// that result.
//
// Written before the handler runs, and only read from then on; the record belongs to the call's
// reactor.
#ifndef CONCUR_COORDINATOR_SERVICES_CALL_CONTEXT_H_
#define CONCUR_COORDINATOR_SERVICES_CALL_CONTEXT_H_

#include <grpcpp/server_context.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/access/access.h"
#include "coordinator/gate/peers.h"

namespace concur {

// Notes a call in the metrics and the audit log. One that ends without End was canceled.
class CallRecord {
 public:
  virtual ~CallRecord() = default;
  virtual void End(const absl::Status& status) = 0;
};

struct CallContext final : public grpc::CallbackServerContext {
  gate::Peer from;
  // Unknown until the headers have arrived.
  absl::StatusOr<Caller> authenticated;
  // OK if the caller is authenticated, has the method's role and is within the stream limits.
  absl::Status admitted = absl::UnknownError("");
  // Record of a method that is served without an interceptor: its reactor calls End before Finish.
  // Null: the interceptor sees the end.
  std::unique_ptr<CallRecord> record;

  // REQUIRES: the call was admitted, as every call was that reaches a handler.
  const Caller& caller() const { return *authenticated; }
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_SERVICES_CALL_CONTEXT_H_
