// SPDX-License-Identifier: Apache-2.0
#include "store/artifacts/artifact_reader.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace concur {
namespace {

constexpr int64_t kPieceOfCopy = int64_t{1} << 20;

}  // namespace

ArtifactReader::ArtifactReader(const ArtifactStore& store, const Digest& digest, int64_t offset)
    : store_(store), digest_(digest), offset_(offset) {}

absl::Status ArtifactReader::Next(int64_t bytes_max, std::string* data) {
  if (source_ == nullptr) {
    CONCUR_ASSIGN_OR_RETURN(source_, store_.OpenSource(digest_));
    for (int64_t rest = offset_; rest > 0 && !ended_;) {
      CONCUR_RETURN_IF_ERROR(Take(std::min(rest, kPieceOfCopy), data));
      rest -= static_cast<int64_t>(data->size());
    }
  }
  return Take(bytes_max, data);
}

absl::Status ArtifactReader::Take(int64_t bytes_max, std::string* data) {
  if (ended_) {
    data->clear();
    return absl::OkStatus();
  }
  CONCUR_RETURN_IF_ERROR(source_->Next(bytes_max, data));
  if (!data->empty()) {
    hasher_.Update(*data);
    return absl::OkStatus();
  }
  ended_ = true;
  if (hasher_.Finish() == digest_) {
    return absl::OkStatus();
  }
  CONCUR_RETURN_IF_ERROR(store_.Verify(digest_));  // which sets it aside
  return absl::DataLossError(
      absl::StrCat("artifact ", digest_.ToHex(), " changed while it was read"));
}

absl::Status CopyArtifact(const ArtifactStore& from, const Digest& digest, ArtifactStore& to) {
  CONCUR_ASSIGN_OR_RETURN(const auto writer, to.NewWriter(digest));
  ArtifactReader reader(from, digest, /*offset=*/0);
  std::string piece;
  do {
    CONCUR_RETURN_IF_ERROR(reader.Next(kPieceOfCopy, &piece));
    CONCUR_RETURN_IF_ERROR(writer->Append(piece));
  } while (!piece.empty());
  return writer->Finish().status();
}

}  // namespace concur
