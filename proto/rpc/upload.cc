// SPDX-License-Identifier: Apache-2.0
#include "proto/rpc/upload.h"

#include <fcntl.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/sync_stream.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "concur/v1/coordinator.grpc.pb.h"
#include "proto/rpc/channel.h"
#include "proto/rpc/status.h"

namespace concur::rpc {
namespace {

// An upload that takes longer than this, and longer than its bytes at this rate, is broken off; the
// next one goes on where it stopped.
constexpr absl::Duration kUploadTimeout = absl::Minutes(10);
constexpr int64_t kUploadBytesPerSecondMin = int64_t{64} * 1024;
constexpr absl::Duration kOffsetTimeout = absl::Seconds(30);

struct OpenFile {
  FileDescriptor fd;
  std::string path;
  int64_t bytes = 0;
};

// A time-out is a matter of the network, and a coordinator that is stopped cancels its streams:
// both are to be tried again.
absl::Status UploadStatus(const grpc::Status& status) {
  const absl::Status converted = FromGrpcStatus(status);
  return absl::IsDeadlineExceeded(converted) || absl::IsCancelled(converted)
             ? absl::UnavailableError(converted.message())
             : converted;
}

// Asks for the part of an artifact that the coordinator has.
absl::StatusOr<v1::GetUploadOffsetResponse> AskOffset(const UploadMethods& methods,
                                                      const Digest& digest) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kOffsetTimeout));
  v1::GetUploadOffsetRequest request;
  request.set_digest(digest.ToBytes());
  v1::GetUploadOffsetResponse response;
  const absl::Status status = UploadStatus(methods.get_offset(&context, request, &response));
  if (!status.ok() && !absl::IsUnimplemented(status)) {  // an older coordinator holds nothing
    return status;
  }
  return response;
}

// Puts the next piece of a file in the place of what `piece` holds; none at its end.
absl::Status ReadPiece(const OpenFile& file, std::string* piece) {
  piece->resize(static_cast<size_t>(kChunkBytes));
  for (;;) {
    const ssize_t got = read(file.fd.get(), piece->data(), piece->size());
    if (got >= 0) {
      piece->resize(static_cast<size_t>(got));
      return absl::OkStatus();
    }
    if (errno != EINTR) {
      return ErrnoStatus(errno, file.path, "read");
    }
  }
}

// Sends what follows the first `offset` bytes.
absl::Status UploadFrom(const UploadMethods& methods, const OpenFile& file, int64_t offset,
                        const Digest& digest, const UploadHooks& hooks) {
  if (lseek(file.fd.get(), offset, SEEK_SET) != offset) {
    return ErrnoStatus(errno, file.path, "seek");
  }
  grpc::ClientContext context;
  context.set_deadline(
      absl::ToChronoTime(absl::Now() + kUploadTimeout +
                         absl::Seconds((file.bytes - offset) / kUploadBytesPerSecondMin)));
  v1::UploadArtifactResponse response;
  const auto writer = methods.upload(&context, &response);
  v1::UploadArtifactRequest message;
  message.set_digest(digest.ToBytes());
  message.set_offset(offset);
  message.set_size_bytes(file.bytes);
  for (bool first = true;; first = false) {
    const absl::Status status = hooks.is_canceled && hooks.is_canceled()
                                    ? absl::CancelledError("stopped")
                                    : ReadPiece(file, message.mutable_data());
    if (!status.ok()) {
      context.TryCancel();
      writer->Finish();
      return status;
    }
    if ((message.data().empty() && !first) || !writer->Write(message)) {
      break;  // the end, or the coordinator has answered already: Finish says what
    }
    offset += static_cast<int64_t>(message.data().size());
    if (hooks.on_progress) {
      hooks.on_progress(offset);
    }
    message.clear_digest();
    message.clear_offset();
    message.clear_size_bytes();
  }
  writer->WritesDone();
  return UploadStatus(writer->Finish());
}

}  // namespace

absl::Status UploadFile(const UploadMethods& methods, const Digest& digest, const std::string& path,
                        const UploadHooks& hooks) {
  OpenFile file{FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC)), path};
  struct stat info {};
  if (!file.fd.valid() || fstat(file.fd.get(), &info) != 0) {
    return ErrnoStatus(errno, path, "open");
  }
  file.bytes = info.st_size;
  v1::GetUploadOffsetResponse held;
  if (file.bytes > kResumableBytesMin) {  // nothing is held of less: not worth a call
    CONCUR_ASSIGN_OR_RETURN(held, AskOffset(methods, digest));
  }
  if (held.stored()) {
    return absl::OkStatus();
  }
  const int64_t offset = held.offset() > 0 && held.offset() <= file.bytes ? held.offset() : 0;
  const absl::Status status = UploadFrom(methods, file, offset, digest, hooks);
  if (offset > 0 && (absl::IsAborted(status) || absl::IsDataLoss(status))) {
    // The part that was held is gone, or is not of this file.
    return UploadFrom(methods, file, 0, digest, hooks);
  }
  return status;
}

}  // namespace concur::rpc
