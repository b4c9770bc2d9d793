#include "coordinator/worker_service.h"

#include <string>
#include <utility>

#include "coordinator/answer.h"
#include "coordinator/artifact_streams.h"
#include "coordinator/authorization.h"
#include "rpc/convert_sync.h"
#include "rpc/status.h"

namespace concur {
namespace {

// A parked Sync: when its worker hangs up, the engine must not give it work.
class SyncReactor final : public grpc::ServerUnaryReactor {
 public:
  SyncReactor(Engine& engine, const v1::SyncRequest& request)
      : engine_(engine),
        worker_(request.worker()),
        incarnation_(request.incarnation()),
        sequence_(request.sequence()) {}

  void OnCancel() override { engine_.CancelSync(worker_, incarnation_, sequence_); }
  void OnDone() override { delete this; }

 private:
  Engine& engine_;
  const std::string worker_;
  const std::string incarnation_;
  const uint64_t sequence_;
};

}  // namespace

grpc::ServerUnaryReactor* WorkerService::Sync(grpc::CallbackServerContext* /*context*/,
                                              const v1::SyncRequest* request,
                                              v1::SyncResponse* response) {
  auto* reactor = new SyncReactor(engine_, *request);
  absl::StatusOr<SyncRequest> converted = rpc::FromProto(*request);
  if (!converted.ok()) {
    reactor->Finish(rpc::ToGrpcStatus(converted.status()));
    return reactor;
  }
  engine_.Sync(*std::move(converted), [reactor, response](absl::StatusOr<SyncResponse> answer) {
    if (answer.ok()) {
      *response = rpc::ToProto(*answer);
    }
    reactor->Finish(rpc::ToGrpcStatus(answer.status()));
  });
  return reactor;
}

grpc::ServerUnaryReactor* WorkerService::GetUploadOffset(grpc::CallbackServerContext* context,
                                                         const v1::GetUploadOffsetRequest* request,
                                                         v1::GetUploadOffsetResponse* response) {
  return AnswerUploadOffset(artifacts_, pool_, partial_, context, request, response);
}

grpc::ServerReadReactor<v1::UploadArtifactRequest>* WorkerService::UploadArtifact(
    grpc::CallbackServerContext* context, v1::UploadArtifactResponse* response) {
  return ReceiveArtifact(artifacts_, pool_, partial_, SenderOf(*context),
                         {artifact_bytes_max_, 0, nullptr}, response);
}

grpc::ServerWriteReactor<v1::DownloadArtifactResponse>* WorkerService::DownloadArtifact(
    grpc::CallbackServerContext* /*context*/, const v1::DownloadArtifactRequest* request) {
  return SendArtifact(artifacts_, pool_, *request);
}

}  // namespace concur
