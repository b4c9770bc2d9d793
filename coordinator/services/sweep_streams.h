// SPDX-License-Identifier: Apache-2.0
// The streams of live changes: a sweep's events and a job's log.
//
// Each has one message in flight at a time, so that a slow reader delays nobody.
#ifndef CONCUR_COORDINATOR_SERVICES_SWEEP_STREAMS_H_
#define CONCUR_COORDINATOR_SERVICES_SWEEP_STREAMS_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "base/thread_pool.h"
#include "concur/v1/coordinator.pb.h"
#include "coordinator/engine/engine.h"
#include "coordinator/engine/sweep_board.h"
#include "store/artifacts/artifact_store.h"

namespace concur {

// Reactors that delete themselves when their call is done.
// Writes v1::WatchSweepResponse as bytes that all watchers share.
grpc::ServerWriteReactor<grpc::ByteBuffer>* StreamSweep(SweepBoard& board,
                                                        const v1::WatchSweepRequest& request,
                                                        const std::string& user);
grpc::ServerWriteReactor<v1::ReadLogResponse>* StreamLog(Engine& engine, ArtifactStore& artifacts,
                                                         ThreadPool& pool,
                                                         const v1::ReadLogRequest& request,
                                                         const std::string& user);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_SERVICES_SWEEP_STREAMS_H_
