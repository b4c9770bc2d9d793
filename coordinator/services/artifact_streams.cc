// SPDX-License-Identifier: Apache-2.0
#include "coordinator/services/artifact_streams.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "coordinator/services/disk_space.h"
#include "proto/rpc/status.h"
#include "store/artifacts/artifact_reader.h"

namespace concur {
namespace {

constexpr size_t kPieceBytesMax = size_t{1} << 20;
constexpr int64_t kSendBytes = int64_t{256} * 1024;

absl::StatusOr<Digest> DigestOf(const std::string& bytes) {
  absl::StatusOr<Digest> digest = Digest::FromBytes(bytes);
  return digest.ok()
             ? digest
             : absl::InvalidArgumentError(absl::StrCat("digest: ", digest.status().message()));
}

// An upload. While the pool hashes and writes a piece, gRPC receives the next one.
class Receiver : public grpc::ServerReadReactor<v1::UploadArtifactRequest> {
 public:
  Receiver(ArtifactStore& artifacts, ThreadPool& pool, PartialUploads& partial,
           const Digest& sender, const UploadLimits& limits, v1::UploadArtifactResponse* response)
      : artifacts_(artifacts),
        pool_(pool),
        partial_(partial),
        sender_(sender),
        limits_(limits),
        response_(response) {
    StartRead(incoming_);
  }

  void OnReadDone(bool ok) override {
    more_ = ok;
    if (under_way_.fetch_sub(1) == 1) {
      Advance();
    }
  }
  void OnDone() override { delete this; }

 private:
  // Neither a read nor a write is in progress: takes the piece that was read and reads the next
  // one, or ends.
  void Advance() {
    if (!taken_.ok()) {
      return;  // Taken ends the call
    }
    if (!more_) {
      pool_.Submit([this] { Close(End()); });
      return;
    }
    std::swap(incoming_, piece_);
    under_way_ = 2;
    StartRead(incoming_);
    if (limits_.admit != nullptr) {
      Admit();
      return;
    }
    pool_.Submit([this] { Taken(Take()); });
  }
  // By the first message.
  void Admit() {
    const auto admit = std::exchange(limits_.admit, nullptr);
    const absl::StatusOr<Digest> digest = DigestOf(piece_->digest());
    if (!digest.ok()) {
      pool_.Submit([this, status = digest.status()] { Taken(status); });
      return;
    }
    digest_ = *digest;
    admit(digest_, std::max<int64_t>(0, piece_->size_bytes()),
          [this](absl::StatusOr<int64_t> admitted) {
            is_admitted_ = admitted.ok();
            if (admitted.ok()) {
              admitted_max_ = *admitted;
            }
            pool_.Submit(
                [this, status = admitted.status()] { Taken(status.ok() ? Take() : status); });
          });
  }
  void Taken(const absl::Status& status) {
    taken_ = status;
    const bool goes_on = under_way_.fetch_sub(1) == 1;
    if (!status.ok()) {
      Close(status);  // even if a read is in progress
    } else if (goes_on) {
      Advance();
    }
  }
  void Close(const absl::Status& status) {
    writer_.reset();
    if (is_admitted_ && limits_.ended != nullptr) {
      limits_.ended(digest_, kept_bytes_);
    }
    Finish(rpc::ToGrpcStatus(status));
  }

  absl::Status Take() {
    if (piece_->data().size() > kPieceBytesMax) {
      return absl::InvalidArgumentError(absl::StrCat(
          "data: at most ", kPieceBytesMax, " bytes in one message, got ", piece_->data().size()));
    }
    if (writer_ == nullptr) {
      CONCUR_RETURN_IF_ERROR(Begin());
    }
    if (writer_->bytes() + static_cast<int64_t>(piece_->data().size()) > limits_.bytes_max) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "the artifact has more bytes than limits.artifact_bytes_max, ", limits_.bytes_max));
    }
    if (writer_->bytes() + static_cast<int64_t>(piece_->data().size()) > admitted_max_) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the upload has more than ", admitted_max_,
                       " bytes, the size that it announced or that the quota leaves"));
    }
    return Stored(writer_->Append(piece_->data()));
  }

  // Returns the store's status. When it is full, drops interrupted uploads to make room for
  // retries.
  absl::Status Stored(absl::Status status) {
    if (absl::IsResourceExhausted(status)) {
      partial_.GiveUpAll();
    }
    return status;
  }

  // By the first message.
  absl::Status Begin() {
    CONCUR_ASSIGN_OR_RETURN(digest_, DigestOf(piece_->digest()));
    const int64_t offset = piece_->offset();
    if (offset < 0) {
      return absl::InvalidArgumentError("offset: expected 0 or more");
    }
    size_bytes_ = piece_->size_bytes();
    if (size_bytes_ < 0) {
      return absl::InvalidArgumentError("size_bytes: expected 0 or more");
    }
    if (offset > 0) {  // resumed: allowed even when the disk is nearly full
      writer_ = partial_.Take(sender_, digest_, offset);
      return writer_ != nullptr
                 ? absl::OkStatus()
                 : absl::AbortedError(absl::StrCat(
                       "offset: expected what is held of this artifact, ",
                       partial_.Offset(sender_, digest_), " bytes, got ", offset, ": begin at 0"));
    }
    CONCUR_RETURN_IF_ERROR(MakeDiskSpace(artifacts_.directory(), limits_.disk_free_min, partial_));
    absl::StatusOr<std::unique_ptr<ArtifactStore::Writer>> writer = artifacts_.NewWriter(digest_);
    CONCUR_RETURN_IF_ERROR(Stored(writer.status()));
    writer_ = *std::move(writer);
    return absl::OkStatus();
  }

  // No more pieces: complete, or interrupted. A broken stream ends like any other; only the
  // announced size shows the difference, and without one the digest.
  absl::Status End() {
    if (writer_ == nullptr) {
      return absl::InvalidArgumentError("digest: the first message must announce it");
    }
    if (writer_->bytes() < size_bytes_) {
      absl::Status interrupted = absl::DataLossError(
          absl::StrCat("the upload ended after ", writer_->bytes(), " of ", size_bytes_, " bytes"));
      // It may have been uploaded some other way before this interruption was noticed.
      const int64_t bytes = writer_->bytes();
      if (!artifacts_.Size(digest_).ok() && partial_.Keep(sender_, digest_, std::move(writer_))) {
        kept_bytes_ = bytes;
        pool_.SubmitAfter(partial_.limits().kept_for,
                          [&partial = partial_] { partial.GiveUpOld(); });
      }
      return interrupted;
    }
    const int64_t bytes = writer_->bytes();
    response_->set_size_bytes(bytes);
    const absl::StatusOr<Digest> digest = writer_->Finish();
    CONCUR_RETURN_IF_ERROR(Stored(digest.status()));
    kept_bytes_ = bytes;
    response_->set_digest(digest->ToBytes());
    partial_.GiveUp(sender_, digest_);
    return absl::OkStatus();
  }

  ArtifactStore& artifacts_;
  ThreadPool& pool_;
  PartialUploads& partial_;
  const Digest sender_;
  UploadLimits limits_;
  v1::UploadArtifactResponse* response_;
  v1::UploadArtifactRequest pieces_[2];
  v1::UploadArtifactRequest* piece_ = &pieces_[0];
  v1::UploadArtifactRequest* incoming_ = &pieces_[1];
  std::atomic<int> under_way_{1};  // a read, a piece that is taken
  bool more_ = true;               // after the last read
  absl::Status taken_;
  bool is_admitted_ = false;
  int64_t admitted_max_ = std::numeric_limits<int64_t>::max();
  int64_t kept_bytes_ = 0;  // stored, or held for a resumption
  Digest digest_;
  int64_t size_bytes_ = 0;  // as announced; 0: unknown
  std::unique_ptr<ArtifactStore::Writer> writer_;
};

// A download. While gRPC sends a piece, the pool reads and hashes the next one.
class Sender : public grpc::ServerWriteReactor<v1::DownloadArtifactResponse> {
 public:
  Sender(ArtifactStore& artifacts, ThreadPool& pool, const v1::DownloadArtifactRequest& request)
      : pool_(pool) {
    const absl::StatusOr<Digest> digest = DigestOf(request.digest());
    if (!digest.ok()) {
      Finish(rpc::ToGrpcStatus(digest.status()));
      return;
    }
    if (request.offset() < 0) {
      Finish(rpc::ToGrpcStatus(absl::InvalidArgumentError("offset: expected 0 or more")));
      return;
    }
    reader_.emplace(artifacts, *digest, request.offset());
    pool_.Submit([this] { Read(); });
  }

  void OnWriteDone(bool ok) override {
    gone_ = !ok;
    Settle();
  }
  void OnDone() override { delete this; }

 private:
  // Fills the piece that is not being sent.
  void Read() {
    read_ = reader_->Next(kSendBytes, ahead_->mutable_data());
    Settle();
  }

  // Called after the read and after the write: the later of the two sends the piece that was read,
  // and starts the next read.
  void Settle() {
    if (under_way_.fetch_sub(1) != 1) {
      return;
    }
    if (gone_) {
      Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the receiver went away"));
      return;
    }
    if (!read_.ok() || ahead_->data().empty()) {
      Finish(rpc::ToGrpcStatus(read_));
      return;
    }
    std::swap(ahead_, sent_);
    under_way_ = 2;
    StartWrite(sent_);
    pool_.Submit([this] { Read(); });
  }

  ThreadPool& pool_;
  std::optional<ArtifactReader> reader_;
  v1::DownloadArtifactResponse pieces_[2];
  v1::DownloadArtifactResponse* ahead_ = &pieces_[0];
  v1::DownloadArtifactResponse* sent_ = &pieces_[1];
  std::atomic<int> under_way_{1};  // a read, a write
  absl::Status read_;              // result of reading the piece ahead
  bool gone_ = false;              // after the last write
};

// Finds how much of the artifact the sender can skip.
absl::Status FindUploadOffset(ArtifactStore& artifacts, PartialUploads& partial,
                              const Digest& sender, const v1::GetUploadOffsetRequest& request,
                              v1::GetUploadOffsetResponse* response) {
  CONCUR_ASSIGN_OR_RETURN(const Digest digest, DigestOf(request.digest()));
  absl::Status there = artifacts.Touch(digest);
  if (absl::IsUnavailable(there)) {
    return there;
  }
  response->set_stored(there.ok());  // an artifact that cannot be kept is uploaded again
  if (!there.ok()) {
    response->set_offset(partial.Offset(sender, digest));
  }
  return absl::OkStatus();
}

}  // namespace

grpc::ServerUnaryReactor* AnswerUploadOffset(ArtifactStore& artifacts, ThreadPool& pool,
                                             PartialUploads& partial, CallContext* call,
                                             const v1::GetUploadOffsetRequest* request,
                                             v1::GetUploadOffsetResponse* response) {
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  pool.Submit([&artifacts, &partial, sender = call->caller().sender, request, response, reactor] {
    reactor->Finish(
        rpc::ToGrpcStatus(FindUploadOffset(artifacts, partial, sender, *request, response)));
  });
  return reactor;
}

grpc::ServerReadReactor<v1::UploadArtifactRequest>* ReceiveArtifact(
    ArtifactStore& artifacts, ThreadPool& pool, PartialUploads& partial, const Digest& sender,
    const UploadLimits& limits, v1::UploadArtifactResponse* response) {
  return new Receiver(artifacts, pool, partial, sender, limits, response);
}

grpc::ServerWriteReactor<v1::DownloadArtifactResponse>* SendArtifact(
    ArtifactStore& artifacts, ThreadPool& pool, const v1::DownloadArtifactRequest& request) {
  return new Sender(artifacts, pool, request);
}

}  // namespace concur
