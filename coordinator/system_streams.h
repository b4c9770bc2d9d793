// SPDX-License-Identifier: Apache-2.0
// The streams of AskSystem and ServeSystem: each is one end in the SystemRelay.
#ifndef CONCUR_COORDINATOR_SYSTEM_STREAMS_H_
#define CONCUR_COORDINATOR_SYSTEM_STREAMS_H_

#include <grpcpp/support/server_callback.h>

#include "base/thread_pool.h"
#include "concur/v1/coordinator.pb.h"
#include "concur/v1/worker.pb.h"
#include "coordinator/audit_log.h"
#include "coordinator/call_context.h"
#include "coordinator/engine.h"
#include "coordinator/system_relay.h"

namespace concur {

// The sweep's owner, or an admin, asks. That it begins is audited; its end is audited as every
// call's. All outlive the stream.
grpc::ServerBidiReactor<v1::AskSystemRequest, v1::AskSystemResponse>* StreamAsker(
    Engine& engine, SystemRelay& relay, AuditLog& audit, ThreadPool& pool, const CallContext& call);

grpc::ServerBidiReactor<v1::ServeSystemRequest, v1::ServeSystemResponse>* StreamPlace(
    SystemRelay& relay);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_SYSTEM_STREAMS_H_
