// The two streams that follow something live: a sweep's events and a job's log.
//
// A stream asks the engine for the next piece only after the last one was written, so that a slow
// reader holds up nobody.
#ifndef CONCUR_COORDINATOR_SWEEP_STREAMS_H_
#define CONCUR_COORDINATOR_SWEEP_STREAMS_H_

#include <grpcpp/support/server_callback.h>

#include "base/thread_pool.h"
#include "concur/v1/coordinator.pb.h"
#include "coordinator/engine.h"
#include "store/artifact_store.h"

namespace concur {

// Reactors that delete themselves when their call is done.
grpc::ServerWriteReactor<v1::WatchSweepResponse>* StreamSweep(Engine& engine,
                                                              const v1::WatchSweepRequest& request);
grpc::ServerWriteReactor<v1::ReadLogResponse>* StreamLog(Engine& engine, ArtifactStore& artifacts,
                                                         ThreadPool& pool,
                                                         const v1::ReadLogRequest& request);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_SWEEP_STREAMS_H_
