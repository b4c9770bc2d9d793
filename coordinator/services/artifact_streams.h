// SPDX-License-Identifier: Apache-2.0
// Uploads and downloads of artifacts, the same for users and for workers.
//
// Thread-safe.
#ifndef CONCUR_COORDINATOR_SERVICES_ARTIFACT_STREAMS_H_
#define CONCUR_COORDINATOR_SERVICES_ARTIFACT_STREAMS_H_

#include <grpcpp/support/server_callback.h>

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/digest.h"
#include "base/thread_pool.h"
#include "concur/v1/coordinator.pb.h"
#include "coordinator/engine/partial_uploads.h"
#include "coordinator/services/call_context.h"
#include "store/artifacts/artifact_store.h"

namespace concur {

struct UploadLimits {
  int64_t bytes_max = 0;      // limit for one artifact
  int64_t disk_free_min = 0;  // with less free disk space, uploads are refused; 0: no limit
  // Called before the first byte is stored, with the digest and the size that the sender announces
  // (0: unknown); it answers once, on any thread, how many bytes are admitted. Null: `bytes_max`.
  std::function<void(const Digest& digest, int64_t announced,
                     std::function<void(absl::StatusOr<int64_t>)> done)>
      admit;
  // Called at the end of an admitted upload with the bytes that are stored or kept. May be null.
  std::function<void(const Digest& digest, int64_t bytes)> ended;
};

// Says how much of an artifact its sender can skip. File I/O runs on the pool.
grpc::ServerUnaryReactor* AnswerUploadOffset(ArtifactStore& artifacts, ThreadPool& pool,
                                             PartialUploads& partial, CallContext* call,
                                             const v1::GetUploadOffsetRequest* request,
                                             v1::GetUploadOffsetResponse* response);

// Reactors that delete themselves when their call is done. File I/O runs on the pool. An artifact
// beyond its limits is ResourceExhausted. An upload that its sender or a broken connection
// interrupts is kept in `partial`, from where it can be resumed; a refused upload is not kept.
grpc::ServerReadReactor<v1::UploadArtifactRequest>* ReceiveArtifact(
    ArtifactStore& artifacts, ThreadPool& pool, PartialUploads& partial, const Digest& sender,
    const UploadLimits& limits, v1::UploadArtifactResponse* response);
grpc::ServerWriteReactor<v1::DownloadArtifactResponse>* SendArtifact(
    ArtifactStore& artifacts, ThreadPool& pool, const v1::DownloadArtifactRequest& request);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_SERVICES_ARTIFACT_STREAMS_H_
