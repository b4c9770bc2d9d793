// Reads an artifact piece by piece for somebody who cannot check it, and ends with an error when
// the bytes were not those of its name.
//
// Thread-compatible.
#ifndef CONCUR_STORE_ARTIFACT_READER_H_
#define CONCUR_STORE_ARTIFACT_READER_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/digest.h"
#include "store/artifact_store.h"

namespace concur {

class ArtifactReader {
 public:
  // From byte `offset` on, 0 or more. `store` outlives the reader.
  ArtifactReader(const ArtifactStore& store, const Digest& digest, int64_t offset);

  // The next piece, of at most `bytes_max` bytes; "" at the end, and then all the bytes, those
  // before the offset included, were the right ones. NotFound; DataLoss, and the file was set
  // aside, when they were not: at the end, or at once when the offset is not 0.
  absl::StatusOr<std::string> Next(int64_t bytes_max);
  int64_t offset() const { return offset_; }

 private:
  const ArtifactStore& store_;
  const Digest digest_;
  int64_t offset_;
  bool checked_ = false;  // the whole of it, before the first piece
  bool hashing_ = false;  // from byte 0 on
  Sha256 hasher_;
};

}  // namespace concur

#endif  // CONCUR_STORE_ARTIFACT_READER_H_
