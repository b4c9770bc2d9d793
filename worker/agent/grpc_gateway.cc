// SPDX-License-Identifier: Apache-2.0
#include "worker/grpc_gateway.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "concur/v1/worker.grpc.pb.h"
#include "rpc/bidi_stream.h"
#include "rpc/channel.h"
#include "rpc/convert_serve.h"
#include "rpc/convert_sync.h"
#include "rpc/convert_value.h"
#include "rpc/status.h"
#include "rpc/upload.h"

namespace concur::worker {
namespace {

constexpr absl::Duration kDownloadTimeout = absl::Minutes(10);
constexpr absl::Duration kFailureTimeout = absl::Seconds(10);

class GrpcServingStream final : public ServingStream {
 public:
  GrpcServingStream(v1::WorkerGateway::Stub& stub, const WorkerInfo& worker)
      : stream_([&stub](auto* context, auto* reactor) {
          stub.async()->ServeSystem(context, reactor);
        }) {
    v1::ServeSystemRequest request;
    v1::ServeSystemRequest::Offer& offer = *request.mutable_offer();
    offer.set_worker(worker.name);
    *offer.mutable_capacity() = rpc::ToProto(worker.capacity);
    offer.mutable_labels()->insert(worker.labels.begin(), worker.labels.end());
    stream_.Write(std::move(request));
  }

  std::optional<Message> Wait() override {
    const std::optional<v1::ServeSystemResponse> response = stream_.Read();
    if (!response.has_value()) {
      return std::nullopt;
    }
    absl::StatusOr<Message> message = MessageOf(*response);
    if (!message.ok()) {
      Fail(absl::StrCat("the coordinator's message is malformed: ", message.status().message()));
      return std::nullopt;
    }
    return *std::move(message);
  }
  bool ended() const override { return stream_.ended(); }
  absl::Status status() override { return stream_.WaitForStatus(); }
  void Cancel() override { stream_.Cancel(); }

  void Prepared() override {
    v1::ServeSystemRequest request;
    request.mutable_prepared();
    stream_.Write(std::move(request));
  }
  void Answer(const ServedAnswer& answer) override {
    v1::ServeSystemRequest request;
    *request.mutable_answer() = rpc::ToProto(answer);
    stream_.Write(std::move(request));
  }
  void Fail(const std::string& why) override {
    v1::ServeSystemRequest request;
    request.set_failure(CleanUtf8(why, kServedAnswerBytesMax));
    stream_.Write(std::move(request));
    // The coordinator ends the stream when it has this; a cancel might overtake it.
    const absl::Time deadline = absl::Now() + kFailureTimeout;
    while (!stream_.ended() && absl::Now() < deadline) {
      stream_.Read(deadline - absl::Now());
    }
  }

 private:
  static absl::StatusOr<Message> MessageOf(const v1::ServeSystemResponse& response) {
    if (response.has_order()) {
      CONCUR_ASSIGN_OR_RETURN(ServeOrder order, rpc::FromProto(response.order()));
      return Message(std::move(order));
    }
    CONCUR_ASSIGN_OR_RETURN(ServedQuestion question, rpc::FromProto(response.question()));
    return Message(std::move(question));
  }

  rpc::BidiStream<v1::ServeSystemRequest, v1::ServeSystemResponse> stream_;
};

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

std::unique_ptr<ServingStream> GrpcGateway::Offer(const WorkerInfo& worker) {
  return std::make_unique<GrpcServingStream>(*stub_->stub, worker);
}

}  // namespace concur::worker
