// SPDX-License-Identifier: Apache-2.0
#include "coordinator/services/worker_service.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "coordinator/engine/finished_check.h"
#include "coordinator/services/answer.h"
#include "coordinator/services/artifact_streams.h"
#include "proto/rpc/convert_sync.h"
#include "proto/rpc/status.h"

namespace concur {
namespace {

// A parked Sync. When the worker disconnects, the engine must not give it work.
class SyncReactor final : public grpc::ServerUnaryReactor {
 public:
  SyncReactor(Engine& engine, const Secrets& secrets, CallRecord& record,
              const v1::SyncRequest& request)
      : engine_(engine),
        secrets_(secrets),
        record_(record),
        worker_(request.worker()),
        incarnation_(request.incarnation()),
        sequence_(request.sequence()) {}

  void OnCancel() override {
    canceled_ = true;
    engine_.CancelSync(worker_, incarnation_, sequence_);
  }
  void OnDone() override { delete this; }
  // Or gRPC would wake one more thread for each of the two reactions, neither of which blocks.
  bool InternalInlineable() override { return true; }

  void Pass(SyncRequest request, v1::SyncResponse* response) {
    if (canceled_) {
      End(absl::CancelledError("the worker went away"));
      return;
    }
    engine_.Sync(std::move(request), [this, response](absl::StatusOr<SyncResponse> answer) {
      if (answer.ok()) {
        AddSecrets(*answer);
        *response = rpc::ToProto(*answer);
      }
      End(answer.status());
    });
  }
  void End(const absl::Status& status) {
    record_.End(status);
    Finish(rpc::ToGrpcStatus(status));
  }

 private:
  void AddSecrets(SyncResponse& answer) const {
    for (JobOrder& order : answer.start) {
      for (auto& [variable, secret] : order.secrets) {
        secret.value = secrets_.Find(order.owner, secret.name);
      }
    }
  }

  Engine& engine_;
  const Secrets& secrets_;
  CallRecord& record_;
  std::atomic<bool> canceled_ = false;
  const std::string worker_;
  const std::string incarnation_;
  const uint64_t sequence_;
};

}  // namespace

grpc::ServerUnaryReactor* WorkerService::Sync(CallContext* call, const v1::SyncRequest* request,
                                              v1::SyncResponse* response) {
  auto* reactor = new SyncReactor(engine_, secrets_, *call->record, *request);
  absl::StatusOr<SyncRequest> converted = rpc::FromProto(*request);
  if (!converted.ok()) {
    reactor->End(converted.status());
    return reactor;
  }
  const bool names_artifacts = std::any_of(
      converted->finished.begin(), converted->finished.end(), [](const FinishedAttempt& one) {
        return !one.result.artifacts.empty() || one.checkpoint.has_value();
      });
  if (names_artifacts && artifacts_.directory().empty()) {
    // Object storage may be slow.
    pool_.Submit(
        [this, reactor, response, sync = std::make_shared<SyncRequest>(*std::move(converted))] {
          CheckFinished(artifacts_, *sync);
          reactor->Pass(std::move(*sync), response);
        });
    return reactor;
  }
  CheckFinished(artifacts_, *converted);
  reactor->Pass(*std::move(converted), response);
  return reactor;
}

grpc::ServerUnaryReactor* WorkerService::GetUploadOffset(CallContext* call,
                                                         const v1::GetUploadOffsetRequest* request,
                                                         v1::GetUploadOffsetResponse* response) {
  return AnswerUploadOffset(artifacts_, pool_, partial_, call, request, response);
}

grpc::ServerReadReactor<v1::UploadArtifactRequest>* WorkerService::UploadArtifact(
    CallContext* call, v1::UploadArtifactResponse* response) {
  return ReceiveArtifact(artifacts_, pool_, partial_, call->caller().sender,
                         {artifact_bytes_max_, 0, nullptr, nullptr}, response);
}

grpc::ServerWriteReactor<v1::DownloadArtifactResponse>* WorkerService::DownloadArtifact(
    CallContext* /*call*/, const v1::DownloadArtifactRequest* request) {
  return SendArtifact(artifacts_, pool_, *request);
}

}  // namespace concur
