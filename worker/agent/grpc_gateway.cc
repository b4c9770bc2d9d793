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
#include "proto/rpc/convert_sync.h"
#include "proto/rpc/status.h"
#include "proto/rpc/upload.h"

namespace concur::worker {
namespace {

constexpr absl::Duration kDownloadTimeout = absl::Minutes(10);

}  // namespace

// A Sync, which is sent to one coordinator after the other until one does not refuse it.
struct GrpcGateway::Call {
  uint64_t sequence = 0;
  absl::Time deadline;
  v1::SyncRequest request;
  v1::SyncResponse response;
  rpc::Coordinators::PeerPtr asked;
  size_t sent = 0;

  // Under the gateway's lock.
  std::unique_ptr<grpc::ClientContext> context;
  bool is_canceled = false;

  void Cancel() {
    is_canceled = true;
    context->TryCancel();
  }
};

GrpcGateway::GrpcGateway(std::shared_ptr<rpc::Coordinators> coordinators,
                         std::function<void()> on_answer)
    : coordinators_(std::move(coordinators)), on_answer_(std::move(on_answer)) {}

GrpcGateway::~GrpcGateway() {
  MutexLock lock(mu_);
  for (const auto& [sequence, call] : calls_) {
    call->Cancel();
  }
  while (!calls_.empty()) {
    call_ended_.Wait(mu_);
  }
}

void GrpcGateway::StartSync(const SyncRequest& request, absl::Duration timeout) {
  auto owned = std::make_unique<Call>();
  Call* call = owned.get();
  call->sequence = request.sequence;
  call->deadline = absl::Now() + timeout;
  call->request = rpc::ToProto(request);
  call->context = std::make_unique<grpc::ClientContext>();
  {
    MutexLock lock(mu_);
    calls_[call->sequence] = std::move(owned);
  }
  Send(call, call->context.get());
}

void GrpcGateway::Send(Call* call, grpc::ClientContext* context) {
  ++call->sent;
  context->set_deadline(absl::ToChronoTime(call->deadline));
  call->asked = coordinators_->current();
  const auto stub = v1::WorkerGateway::NewStub(call->asked->channel);
  // From here on the call may have ended.
  stub->async()->Sync(
      context, &call->request, &call->response, [this, call](const grpc::Status& status) {
        if (!status.ok()) {
          OnFailure(call, rpc::FromGrpcStatus(status));
          return;
        }
        absl::StatusOr<SyncResponse> response = rpc::FromProto(call->response);
        if (!response.ok()) {
          response = absl::InternalError(
              absl::StrCat("the coordinator's answer is malformed: ", response.status().message()));
        }
        OnDone(call->sequence, std::move(response));
      });
}

void GrpcGateway::OnFailure(Call* call, const absl::Status& status) {
  coordinators_->Report(*call->asked, status);
  if (!absl::IsUnavailable(status)) {
    OnDone(call->sequence, status);
    return;
  }
  std::unique_ptr<grpc::ClientContext> ended;
  grpc::ClientContext* next = nullptr;
  if (call->sent < coordinators_->size()) {
    MutexLock lock(mu_);
    if (!call->is_canceled) {
      ended = std::exchange(call->context, std::make_unique<grpc::ClientContext>());
      next = call->context.get();
    }
  }
  if (next != nullptr) {
    call->request.clear_wait();  // some of the time for it may have passed
    Send(call, next);
    return;
  }
  OnDone(call->sequence,
         coordinators_->several() ? absl::UnavailableError(coordinators_->Failures()) : status);
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
    it->second->Cancel();
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
  const rpc::Coordinators::PeerPtr asked = coordinators_->current();
  const auto stub = v1::WorkerGateway::NewStub(asked->channel);
  absl::Status status =
      rpc::UploadFile(rpc::UploadMethodsOf(*stub), digest, path, {is_canceled, nullptr});
  coordinators_->Report(*asked, status);
  return status;
}

absl::Status GrpcGateway::Download(const Digest& digest, int64_t offset,
                                   const std::function<absl::Status(absl::string_view)>& sink,
                                   const IsCanceled& is_canceled) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kDownloadTimeout));
  v1::DownloadArtifactRequest request;
  request.set_digest(digest.ToBytes());
  request.set_offset(offset);
  const rpc::Coordinators::PeerPtr asked = coordinators_->current();
  const auto stub = v1::WorkerGateway::NewStub(asked->channel);
  const auto reader = stub->DownloadArtifact(&context, request);
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
  coordinators_->Report(*asked, status);
  return absl::IsDeadlineExceeded(status) ? absl::UnavailableError(status.message()) : status;
}

}  // namespace concur::worker
