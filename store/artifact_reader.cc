#include "store/artifact_reader.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace concur {

ArtifactReader::ArtifactReader(const ArtifactStore& store, const Digest& digest, int64_t offset)
    : store_(store), digest_(digest), offset_(offset), hashing_(offset == 0) {}

absl::StatusOr<std::string> ArtifactReader::Next(int64_t bytes_max) {
  if (!hashing_ && !checked_) {
    CONCUR_RETURN_IF_ERROR(store_.Verify(digest_));
    checked_ = true;
  }
  CONCUR_ASSIGN_OR_RETURN(std::string data, store_.ReadRange(digest_, offset_, bytes_max));
  offset_ += static_cast<int64_t>(data.size());
  if (!hashing_) {
    return data;
  }
  if (!data.empty()) {
    hasher_.Update(data);
    return data;
  }
  hashing_ = false;
  if (hasher_.Finish() != digest_) {
    CONCUR_RETURN_IF_ERROR(store_.Verify(digest_));
    return absl::DataLossError(
        absl::StrCat("artifact ", digest_.ToHex(), " changed while it was read"));
  }
  checked_ = true;
  return data;
}

}  // namespace concur
