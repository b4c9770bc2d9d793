#include "worker/grpc_gateway.h"

#include <fcntl.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "concur/v1/worker.grpc.pb.h"
#include "rpc/channel.h"
#include "rpc/convert_sync.h"
#include "rpc/status.h"

namespace concur::worker {
namespace {

// A transfer that takes longer than this, and longer than its bytes at this rate, is broken off;
// the next one goes on where it stopped.
constexpr absl::Duration kTransferTimeout = absl::Minutes(10);
constexpr absl::Duration kQuestionTimeout = absl::Seconds(30);
constexpr int64_t kTransferBytesPerSecondMin = int64_t{64} * 1024;

// A time-out of a transfer is a matter of the network: to be tried again.
absl::Status TransferStatus(const grpc::Status& status) {
  absl::Status converted = rpc::FromGrpcStatus(status);
  return absl::IsDeadlineExceeded(converted) ? absl::UnavailableError(converted.message())
                                             : converted;
}

// Puts the next piece of a file in the place of what `piece` holds; none at its end.
absl::Status ReadPiece(int fd, const std::string& path, std::string* piece) {
  piece->resize(static_cast<size_t>(rpc::kChunkBytes));
  for (;;) {
    const ssize_t got = read(fd, piece->data(), piece->size());
    if (got >= 0) {
      piece->resize(static_cast<size_t>(got));
      return absl::OkStatus();
    }
    if (errno != EINTR) {
      return ErrnoStatus(errno, path, "read");
    }
  }
}

struct File {
  FileDescriptor fd;
  std::string path;
  int64_t bytes = 0;
};

// What the coordinator has of an artifact already.
absl::StatusOr<v1::GetUploadOffsetResponse> AskOffset(v1::WorkerGateway::Stub& stub,
                                                      const Digest& digest) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kQuestionTimeout));
  v1::GetUploadOffsetRequest request;
  request.set_digest(digest.ToBytes());
  v1::GetUploadOffsetResponse response;
  const absl::Status status = TransferStatus(stub.GetUploadOffset(&context, request, &response));
  if (!status.ok() && !absl::IsUnimplemented(status)) {  // an older coordinator holds nothing
    return status;
  }
  return response;
}

// Sends what follows the first `offset` bytes.
absl::Status UploadFrom(v1::WorkerGateway::Stub& stub, const File& file, int64_t offset,
                        const Digest& digest, const ArtifactTransfer::IsCanceled& is_canceled) {
  if (lseek(file.fd.get(), offset, SEEK_SET) != offset) {
    return ErrnoStatus(errno, file.path, "seek");
  }
  grpc::ClientContext context;
  context.set_deadline(
      absl::ToChronoTime(absl::Now() + kTransferTimeout +
                         absl::Seconds((file.bytes - offset) / kTransferBytesPerSecondMin)));
  v1::UploadArtifactResponse response;
  const auto writer = stub.UploadArtifact(&context, &response);
  v1::UploadArtifactRequest message;
  message.set_digest(digest.ToBytes());
  message.set_offset(offset);
  message.set_size_bytes(file.bytes);
  for (bool first = true;; first = false) {
    absl::Status status = is_canceled()
                              ? absl::CancelledError("stopped")
                              : ReadPiece(file.fd.get(), file.path, message.mutable_data());
    if (!status.ok()) {
      context.TryCancel();
      writer->Finish();
      return status;
    }
    if (message.data().empty() && !first) {
      break;
    }
    if (!writer->Write(message)) {
      break;  // Finish says why
    }
    message.clear_digest();
    message.clear_offset();
    message.clear_size_bytes();
  }
  writer->WritesDone();
  return TransferStatus(writer->Finish());
}

// gRPC 1.51 ends its callback threads with the last channel that used them, and that end races with
// the threads' start: now and then one reads a completion queue that is gone. So the first channel
// lives as long as the process does; being read here keeps it reachable for leak checkers, too.
void KeepUntilExit(const std::shared_ptr<grpc::Channel>& channel) {
  static Mutex mu;
  static auto* const kept = new std::shared_ptr<grpc::Channel>;
  MutexLock lock(mu);
  if (*kept == nullptr) {
    *kept = channel;
  }
}

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
  KeepUntilExit(channel);
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
  File file{FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC)), path, 0};
  struct stat info {};
  if (!file.fd.valid() || fstat(file.fd.get(), &info) != 0) {
    return ErrnoStatus(errno, path, "open");
  }
  file.bytes = info.st_size;
  v1::WorkerGateway::Stub& stub = *stub_->stub;
  v1::GetUploadOffsetResponse held;
  if (file.bytes > rpc::kResumableBytesMin) {  // of less, nothing is held: not worth a call
    CONCUR_ASSIGN_OR_RETURN(held, AskOffset(stub, digest));
  }
  if (held.stored()) {
    return absl::OkStatus();
  }
  const int64_t offset = held.offset() > 0 && held.offset() <= file.bytes ? held.offset() : 0;
  absl::Status status = UploadFrom(stub, file, offset, digest, is_canceled);
  if (offset > 0 && (absl::IsAborted(status) || absl::IsDataLoss(status))) {
    // What was held is gone, or is not of this file.
    status = UploadFrom(stub, file, 0, digest, is_canceled);
  }
  return status;
}

absl::Status GrpcGateway::Download(const Digest& digest, int64_t offset,
                                   const std::function<absl::Status(absl::string_view)>& sink,
                                   const IsCanceled& is_canceled) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kTransferTimeout));
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
  return TransferStatus(reader->Finish());
}

}  // namespace concur::worker
