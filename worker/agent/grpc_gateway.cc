// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/grpc_gateway.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "concur/v1/worker.grpc.pb.h"
#include "proto/rpc/channel.h"
#include "proto/rpc/convert_sync.h"
#include "proto/rpc/status.h"
#include "proto/rpc/upload.h"

namespace concur::worker {
namespace {

constexpr absl::Duration kDownloadTimeout = absl::Minutes(10);

}  // namespace

struct GrpcGateway::Stub {
  std::unique_ptr<v1::WorkerGateway::Stub> stub;
};

struct GrpcGateway::Call {
  grpc::ClientContext context;
  v1::SyncRequest request;
  v1::SyncResponse response;
};

GrpcGateway::GrpcGateway(std::unique_ptr<Stub> stub, std::function<void()> on_answer)
    : stub_(std::move(stub)), on_answer_(std::move(on_answer)) {}

absl::StatusOr<std::unique_ptr<GrpcGateway>> GrpcGateway::Connect(
    const std::string& address, const rpc::Credentials& credentials,
    std::function<void()> on_answer) {
  CONCUR_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel,
                          rpc::MakeChannel(address, credentials));
  auto stub = std::make_unique<Stub>();
  stub->stub = v1::WorkerGateway::NewStub(channel);
  return std::unique_ptr<GrpcGateway>(new GrpcGateway(std::move(stub), std::move(on_answer)));
}

GrpcGateway::~GrpcGateway() {
  MutexLock lock(mu_);
  for (const auto& [sequence, call] : calls_) {
    call->context.TryCancel();
  }
  while (!calls_.empty()) {
    call_ended_.Wait(mu_);
  }
}

void GrpcGateway::StartSync(const SyncRequest& request, absl::Duration timeout) {
  auto owned = std::make_unique<Call>();
  Call* call = owned.get();
  call->request = rpc::ToProto(request);
  call->context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  const uint64_t sequence = request.sequence;
  {
    MutexLock lock(mu_);
    calls_[sequence] = std::move(owned);
  }
  stub_->stub->async()->Sync(
      &call->context, &call->request, &call->response,
      [this, call, sequence](const grpc::Status& status) {
        if (!status.ok()) {
          OnDone(sequence, rpc::FromGrpcStatus(status));
          return;
        }
        absl::StatusOr<SyncResponse> response = rpc::FromProto(call->response);
        if (!response.ok()) {
          response = absl::InternalError(
              absl::StrCat("the coordinator's answer is malformed: ", response.status().message()));
        }
        OnDone(sequence, std::move(response));
      });
}

void GrpcGateway::OnDone(uint64_t sequence, absl::StatusOr<SyncResponse> response) {
  std::unique_ptr<Call> ended;
  {
    MutexLock lock(mu_);
    answers_.push_back({sequence, std::move(response)});
    on_answer_();  // before the destructor may go on; only wakes the loop
    const auto it = calls_.find(sequence);
    ended = std::move(it->second);
    calls_.erase(it);
    call_ended_.NotifyAll();
  }
}

void GrpcGateway::CancelSync(uint64_t sequence) {
  MutexLock lock(mu_);
  const auto it = calls_.find(sequence);
  if (it != calls_.end()) {
    it->second->context.TryCancel();
  }
}

std::vector<SyncAnswer> GrpcGateway::Poll() {
  std::vector<SyncAnswer> answers;
  MutexLock lock(mu_);
  answers.swap(answers_);
  return answers;
}

absl::Status GrpcGateway::Upload(const Digest& digest, const std::string& path,
                                 const IsCanceled& is_canceled) {
  return rpc::UploadFile(rpc::UploadMethodsOf(*stub_->stub), digest, path, {is_canceled, nullptr});
}

absl::Status GrpcGateway::Download(const Digest& digest, int64_t offset,
                                   const std::function<absl::Status(absl::string_view)>& sink,
                                   const IsCanceled& is_canceled) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kDownloadTimeout));
  v1::DownloadArtifactRequest request;
  request.set_digest(digest.ToBytes());
  request.set_offset(offset);
  const auto reader = stub_->stub->DownloadArtifact(&context, request);
  v1::DownloadArtifactResponse response;
  while (reader->Read(&response)) {
    absl::Status status = is_canceled() ? absl::CancelledError("stopped") : sink(response.data());
    if (!status.ok()) {
      context.TryCancel();
      reader->Finish();
      return status;
    }
  }
  // A time-out is a matter of the network: to be tried again.
  const absl::Status status = rpc::FromGrpcStatus(reader->Finish());
  return absl::IsDeadlineExceeded(status) ? absl::UnavailableError(status.message()) : status;
}

}  // namespace concur::worker
