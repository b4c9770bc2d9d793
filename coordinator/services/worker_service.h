// SPDX-License-Identifier: Apache-2.0
// The worker service: Syncs go to the engine, artifacts to the store. ServiceFront calls its
// methods, one for each of v1::WorkerGateway.
//
// Thread-safe.
#ifndef CONCUR_COORDINATOR_SERVICES_WORKER_SERVICE_H_
#define CONCUR_COORDINATOR_SERVICES_WORKER_SERVICE_H_

#include <grpcpp/support/server_callback.h>

#include <cstdint>

#include "base/thread_pool.h"
#include "concur/v1/worker.pb.h"
#include "coordinator/access/secrets.h"
#include "coordinator/engine/engine.h"
#include "coordinator/engine/partial_uploads.h"
#include "coordinator/services/call_context.h"
#include "store/artifacts/artifact_store.h"

namespace concur {

class WorkerService {
 public:
  // All outlive the service. No artifact may have more than `artifact_bytes_max` bytes.
  WorkerService(Engine& engine, ArtifactStore& artifacts, PartialUploads& partial,
                const Secrets& secrets, ThreadPool& pool, int64_t artifact_bytes_max)
      : engine_(engine),
        artifacts_(artifacts),
        partial_(partial),
        secrets_(secrets),
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

 private:
  Engine& engine_;
  ArtifactStore& artifacts_;
  PartialUploads& partial_;
  const Secrets& secrets_;
  ThreadPool& pool_;
  const int64_t artifact_bytes_max_;
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_SERVICES_WORKER_SERVICE_H_
