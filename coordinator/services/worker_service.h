// SPDX-License-Identifier: Apache-2.0
// The worker service: Syncs go to the engine, artifacts to the store, served systems to the relay.
// ServiceFront calls its methods, one for each of v1::WorkerGateway.
//
// Thread-safe.
#ifndef CONCUR_COORDINATOR_WORKER_SERVICE_H_
#define CONCUR_COORDINATOR_WORKER_SERVICE_H_

#include <grpcpp/support/server_callback.h>

#include <cstdint>

#include "base/thread_pool.h"
#include "concur/v1/worker.pb.h"
#include "coordinator/call_context.h"
#include "coordinator/engine.h"
#include "coordinator/partial_uploads.h"
#include "coordinator/system_relay.h"
#include "store/artifact_store.h"

namespace concur {

class WorkerService {
 public:
  // All outlive the service. No artifact may have more than `artifact_bytes_max` bytes.
  WorkerService(Engine& engine, ArtifactStore& artifacts, PartialUploads& partial,
                SystemRelay& systems, ThreadPool& pool, int64_t artifact_bytes_max)
      : engine_(engine),
        artifacts_(artifacts),
        partial_(partial),
        systems_(systems),
        pool_(pool),
        artifact_bytes_max_(artifact_bytes_max) {}

  grpc::ServerUnaryReactor* Sync(CallContext* call, const v1::SyncRequest* request,
                                 v1::SyncResponse* response);
  grpc::ServerUnaryReactor* GetUploadOffset(CallContext* call,
                                            const v1::GetUploadOffsetRequest* request,
                                            v1::GetUploadOffsetResponse* response);
  grpc::ServerReadReactor<v1::UploadArtifactRequest>* UploadArtifact(
      CallContext* call, v1::UploadArtifactResponse* response);
  grpc::ServerWriteReactor<v1::DownloadArtifactResponse>* DownloadArtifact(
      CallContext* call, const v1::DownloadArtifactRequest* request);
  grpc::ServerBidiReactor<v1::ServeSystemRequest, v1::ServeSystemResponse>* ServeSystem(
      CallContext* call);

 private:
  Engine& engine_;
  ArtifactStore& artifacts_;
  PartialUploads& partial_;
  SystemRelay& systems_;
  ThreadPool& pool_;
  const int64_t artifact_bytes_max_;
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_WORKER_SERVICE_H_
