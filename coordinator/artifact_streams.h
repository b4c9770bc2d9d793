// Artifacts on the wire, the same for users and for workers.
#ifndef CONCUR_COORDINATOR_ARTIFACT_STREAMS_H_
#define CONCUR_COORDINATOR_ARTIFACT_STREAMS_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "base/digest.h"
#include "base/thread_pool.h"
#include "concur/v1/coordinator.pb.h"
#include "coordinator/partial_uploads.h"
#include "store/artifact_store.h"

namespace concur {

struct UploadLimits {
  int64_t bytes_max = 0;      // of one artifact
  int64_t disk_free_min = 0;  // with less free on the disk, none is taken; 0: whatever fits
  // Asked before the first byte is kept, and answers once, on any thread; null: nobody is asked.
  std::function<void(std::function<void(absl::Status)>)> admit;
};

// Says what the sender of an artifact needs not send. Disk work runs on the pool.
grpc::ServerUnaryReactor* AnswerUploadOffset(ArtifactStore& artifacts, ThreadPool& pool,
                                             PartialUploads& partial,
                                             grpc::CallbackServerContext* context,
                                             const v1::GetUploadOffsetRequest* request,
                                             v1::GetUploadOffsetResponse* response);

// Reactors that delete themselves when their call is done. Disk work runs on the pool. An artifact
// beyond its limits is ResourceExhausted. What came of an upload that is broken off, by its sender
// or by whoever broke the connection, goes to `partial`, and is taken from there for one that goes
// on; what was refused is not kept.
grpc::ServerReadReactor<v1::UploadArtifactRequest>* ReceiveArtifact(
    ArtifactStore& artifacts, ThreadPool& pool, PartialUploads& partial, const Digest& sender,
    const UploadLimits& limits, v1::UploadArtifactResponse* response);
grpc::ServerWriteReactor<v1::DownloadArtifactResponse>* SendArtifact(
    ArtifactStore& artifacts, ThreadPool& pool, const v1::DownloadArtifactRequest& request);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_ARTIFACT_STREAMS_H_
