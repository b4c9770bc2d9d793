// SPDX-License-Identifier: Apache-2.0
// Sends a client's file to the coordinator's artifact store.
//
// Thread-safe (stateless); calls block.
#ifndef CONCUR_PROTO_RPC_UPLOAD_H_
#define CONCUR_PROTO_RPC_UPLOAD_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/digest.h"

namespace grpc {
class ClientContext;
class Status;
template <class W>
class ClientWriter;
}  // namespace grpc

namespace concur::v1 {
class GetUploadOffsetRequest;
class GetUploadOffsetResponse;
class UploadArtifactRequest;
class UploadArtifactResponse;
}  // namespace concur::v1

namespace concur::rpc {

// The methods of a service that takes artifacts; Coordinator and WorkerGateway both have them.
struct UploadMethods {
  std::function<grpc::Status(grpc::ClientContext*, const v1::GetUploadOffsetRequest&,
                             v1::GetUploadOffsetResponse*)>
      get_offset;
  std::function<std::unique_ptr<grpc::ClientWriter<v1::UploadArtifactRequest>>(
      grpc::ClientContext*, v1::UploadArtifactResponse*)>
      upload;
};

// `stub` outlives the methods.
template <typename Stub>
UploadMethods UploadMethodsOf(Stub& stub) {
  return {
      [&stub](auto* context, const auto& request, auto* response) {
        return stub.GetUploadOffset(context, request, response);
      },
      [&stub](auto* context, auto* response) { return stub.UploadArtifact(context, response); }};
}

struct UploadHooks {
  std::function<bool()> is_canceled;         // asked before every piece; may be null
  std::function<void(int64_t)> on_progress;  // gets the bytes that were sent; may be null
};

// Sends the file at `path`, whose digest is `digest`, once: from where an earlier call was broken
// off, if the coordinator still holds what came then. OK also when the coordinator has the file
// already. Unavailable says to call again; Cancelled that a hook asked for it; anything else is an
// error of reading the file or one that the coordinator gave.
absl::Status UploadFile(const UploadMethods& methods, const Digest& digest, const std::string& path,
                        const UploadHooks& hooks);

}  // namespace concur::rpc

#endif  // CONCUR_PROTO_RPC_UPLOAD_H_
