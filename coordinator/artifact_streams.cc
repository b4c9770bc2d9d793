#include "coordinator/artifact_streams.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "coordinator/disk_space.h"
#include "rpc/status.h"
#include "store/artifact_reader.h"

namespace concur {
namespace {

constexpr size_t kPieceBytesMax = size_t{1} << 20;
constexpr int64_t kSendBytes = int64_t{256} * 1024;

class Receiver : public grpc::ServerReadReactor<v1::UploadArtifactRequest> {
 public:
  Receiver(ArtifactStore& artifacts, ThreadPool& pool, const UploadLimits& limits,
           v1::UploadArtifactResponse* response)
      : artifacts_(artifacts), pool_(pool), limits_(limits), response_(response) {
    StartRead(&piece_);
  }

  void OnReadDone(bool ok) override {
    if (ok && limits_.admit != nullptr) {
      std::exchange(limits_.admit, nullptr)([this](absl::Status admitted) {
        pool_.Submit([this, admitted = std::move(admitted)] {
          Go(true, admitted.ok() ? Take() : admitted);
        });
      });
      return;
    }
    pool_.Submit([this, ok] { Go(ok, ok ? Take() : End()); });
  }
  void OnDone() override { delete this; }

 private:
  // To the next piece, or to the end.
  void Go(bool ok, const absl::Status& status) {
    if (!ok || !status.ok()) {
      writer_.reset();
      Finish(rpc::ToGrpcStatus(status));
      return;
    }
    StartRead(&piece_);
  }

  absl::Status Take() {
    if (piece_.data().size() > kPieceBytesMax) {
      return absl::InvalidArgumentError(absl::StrCat(
          "data: at most ", kPieceBytesMax, " bytes in one message, got ", piece_.data().size()));
    }
    if (writer_ == nullptr) {
      const absl::StatusOr<Digest> digest = Digest::FromBytes(piece_.digest());
      if (!digest.ok()) {
        return absl::InvalidArgumentError(absl::StrCat("digest: ", digest.status().message()));
      }
      digest_ = *digest;
      CONCUR_RETURN_IF_ERROR(CheckDiskSpace(artifacts_.directory(), limits_.disk_free_min));
      CONCUR_ASSIGN_OR_RETURN(writer_, artifacts_.NewWriter());
    }
    if (writer_->bytes() + static_cast<int64_t>(piece_.data().size()) > limits_.bytes_max) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "the artifact has more bytes than limits.artifact_bytes_max, ", limits_.bytes_max));
    }
    return writer_->Append(piece_.data());
  }

  // No more pieces: complete, or broken off; only the digest tells which.
  absl::Status End() {
    if (writer_ == nullptr) {
      return absl::InvalidArgumentError("digest: the first message must announce it");
    }
    response_->set_size_bytes(writer_->bytes());
    CONCUR_ASSIGN_OR_RETURN(const Digest digest, writer_->Finish(digest_));
    response_->set_digest(digest.ToBytes());
    return absl::OkStatus();
  }

  ArtifactStore& artifacts_;
  ThreadPool& pool_;
  UploadLimits limits_;
  v1::UploadArtifactResponse* response_;
  v1::UploadArtifactRequest piece_;
  Digest digest_;
  std::unique_ptr<ArtifactStore::Writer> writer_;
};

class Sender : public grpc::ServerWriteReactor<v1::DownloadArtifactResponse> {
 public:
  Sender(ArtifactStore& artifacts, ThreadPool& pool, const v1::DownloadArtifactRequest& request)
      : pool_(pool) {
    const absl::StatusOr<Digest> digest = Digest::FromBytes(request.digest());
    if (!digest.ok()) {
      Finish(rpc::ToGrpcStatus(
          absl::InvalidArgumentError(absl::StrCat("digest: ", digest.status().message()))));
      return;
    }
    if (request.offset() < 0) {
      Finish(rpc::ToGrpcStatus(absl::InvalidArgumentError("offset: expected 0 or more")));
      return;
    }
    reader_.emplace(artifacts, *digest, request.offset());
    Send();
  }

  void OnWriteDone(bool ok) override {
    if (!ok) {
      Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the receiver went away"));
      return;
    }
    Send();
  }
  void OnDone() override { delete this; }

 private:
  void Send() {
    pool_.Submit([this] {
      absl::StatusOr<std::string> data = reader_->Next(kSendBytes);
      if (!data.ok() || data->empty()) {
        Finish(rpc::ToGrpcStatus(data.status()));
        return;
      }
      piece_.set_data(*std::move(data));
      StartWrite(&piece_);
    });
  }

  ThreadPool& pool_;
  std::optional<ArtifactReader> reader_;
  v1::DownloadArtifactResponse piece_;
};

}  // namespace

grpc::ServerReadReactor<v1::UploadArtifactRequest>* ReceiveArtifact(
    ArtifactStore& artifacts, ThreadPool& pool, const UploadLimits& limits,
    v1::UploadArtifactResponse* response) {
  return new Receiver(artifacts, pool, limits, response);
}

grpc::ServerWriteReactor<v1::DownloadArtifactResponse>* SendArtifact(
    ArtifactStore& artifacts, ThreadPool& pool, const v1::DownloadArtifactRequest& request) {
  return new Sender(artifacts, pool, request);
}

}  // namespace concur
