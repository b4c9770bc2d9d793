// SPDX-License-Identifier: Apache-2.0
// Reads an artifact piece by piece and computes its digest on the way: the end is an error when the
// bytes are not those that its name promises.
//
// Thread-compatible.
#ifndef CONCUR_STORE_ARTIFACTS_ARTIFACT_READER_H_
#define CONCUR_STORE_ARTIFACTS_ARTIFACT_READER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/digest.h"
#include "store/artifacts/artifact_store.h"

namespace concur {

class ArtifactReader {
 public:
  // From byte `offset` on, 0 or more; what lies before is read as well, since the digest is that of
  // the whole. `store` outlives the reader.
  ArtifactReader(const ArtifactStore& store, const Digest& digest, int64_t offset);

  // Puts the next piece, of at most `bytes_max` bytes, in the place of what `data` holds; none at
  // the end, and then all the bytes, those before the offset included, were the right ones.
  // NotFound; DataLoss at the end when they were not, and the artifact was set aside.
  absl::Status Next(int64_t bytes_max, std::string* data);

 private:
  // Reads a piece and hashes it.
  absl::Status Take(int64_t bytes_max, std::string* data);

  const ArtifactStore& store_;
  const Digest digest_;
  const int64_t offset_;
  std::unique_ptr<ArtifactStore::Source> source_;  // null before the first piece
  bool ended_ = false;
  Sha256 hasher_;
};

// Copies one artifact piece by piece, comparing bytes and name on the way. DataLoss when they
// differ.
absl::Status CopyArtifact(const ArtifactStore& from, const Digest& digest, ArtifactStore& to);

}  // namespace concur

#endif  // CONCUR_STORE_ARTIFACTS_ARTIFACT_READER_H_
