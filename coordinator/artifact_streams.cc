#include "coordinator/artifact_streams.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "coordinator/authorization.h"
#include "coordinator/disk_space.h"
#include "rpc/status.h"
#include "store/artifact_reader.h"

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

// While the pool hashes and writes a piece, gRPC receives the next one.
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
  // Nothing is under way: takes the piece that came and has the next one read, or ends.
  void Advance() {
    if (!taken_.ok()) {
      return;  // whoever found that ends the call
    }
    if (!more_) {
      pool_.Submit([this] { Close(End()); });
      return;
    }
    std::swap(incoming_, piece_);
    under_way_ = 2;
    StartRead(incoming_);
    if (limits_.admit != nullptr) {
      std::exchange(limits_.admit, nullptr)([this](absl::Status admitted) {
        pool_.Submit(
            [this, admitted = std::move(admitted)] { Taken(admitted.ok() ? Take() : admitted); });
      });
      return;
    }
    pool_.Submit([this] { Taken(Take()); });
  }
  void Taken(const absl::Status& status) {
    taken_ = status;
    const bool goes_on = under_way_.fetch_sub(1) == 1;
    if (!status.ok()) {
      Close(status);  // whether or not another piece comes
    } else if (goes_on) {
      Advance();
    }
  }
  void Close(const absl::Status& status) {
    writer_.reset();
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
    return Stored(writer_->Append(piece_->data()));
  }

  // What the store said. Whoever tries again when it is full needs the room.
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
    if (offset > 0) {  // under way: goes on when the disk is nearly full
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

  // No more pieces: complete, or broken off. A stream that is broken ends like any other; only the
  // size that was announced tells, and without one the digest.
  absl::Status End() {
    if (writer_ == nullptr) {
      return absl::InvalidArgumentError("digest: the first message must announce it");
    }
    if (writer_->bytes() < size_bytes_) {
      absl::Status broken_off = absl::DataLossError(
          absl::StrCat("the upload ended after ", writer_->bytes(), " of ", size_bytes_, " bytes"));
      // It may have come whole some other way before anybody noticed that this one was broken off.
      if (!artifacts_.Size(digest_).ok() && partial_.Keep(sender_, digest_, std::move(writer_))) {
        pool_.SubmitAfter(partial_.limits().kept_for,
                          [&partial = partial_] { partial.GiveUpOld(); });
      }
      return broken_off;
    }
    response_->set_size_bytes(writer_->bytes());
    const absl::StatusOr<Digest> digest = writer_->Finish();
    CONCUR_RETURN_IF_ERROR(Stored(digest.status()));
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
  Digest digest_;
  int64_t size_bytes_ = 0;  // as announced; 0: unknown
  std::unique_ptr<ArtifactStore::Writer> writer_;
};

// Reads ahead: while gRPC sends a piece, the pool reads and hashes the next one.
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
  // Fills the piece that is not on its way.
  void Read() {
    read_ = reader_->Next(kSendBytes, ahead_->mutable_data());
    Settle();
  }

  // Whoever comes last of the read and the write sends what was read, and has the next one read.
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
  absl::Status read_;              // of the piece ahead
  bool gone_ = false;              // after the last write
};

// What its sender needs not send.
absl::Status FindUploadOffset(ArtifactStore& artifacts, PartialUploads& partial,
                              const Digest& sender, const v1::GetUploadOffsetRequest& request,
                              v1::GetUploadOffsetResponse* response) {
  CONCUR_ASSIGN_OR_RETURN(const Digest digest, DigestOf(request.digest()));
  absl::Status there = artifacts.Touch(digest);
  if (absl::IsUnavailable(there)) {
    return there;
  }
  response->set_stored(there.ok());  // what cannot be kept is replaced by what is sent
  if (!there.ok()) {
    response->set_offset(partial.Offset(sender, digest));
  }
  return absl::OkStatus();
}

}  // namespace

grpc::ServerUnaryReactor* AnswerUploadOffset(ArtifactStore& artifacts, ThreadPool& pool,
                                             PartialUploads& partial,
                                             grpc::CallbackServerContext* context,
                                             const v1::GetUploadOffsetRequest* request,
                                             v1::GetUploadOffsetResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  pool.Submit([&artifacts, &partial, sender = SenderOf(*context), request, response, reactor] {
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
