// SPDX-License-Identifier: Apache-2.0
// All bytes of an artifact at once, read and checked as the coordinator's readers get them.
//
// Thread-safe (stateless).
#ifndef CONCUR_TESTS_TESTING_READ_ARTIFACT_H_
#define CONCUR_TESTS_TESTING_READ_ARTIFACT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "store/artifacts/artifact_reader.h"
#include "store/artifacts/artifact_store.h"

namespace concur::testing {

// The errors of ArtifactReader.
inline absl::StatusOr<std::string> ReadArtifact(const ArtifactStore& store, const Digest& digest) {
  constexpr int64_t kPieceBytes = int64_t{1} << 20;
  ArtifactReader reader(store, digest, /*offset=*/0);
  std::string contents;
  for (std::string piece;;) {
    CONCUR_RETURN_IF_ERROR(reader.Next(kPieceBytes, &piece));
    if (piece.empty()) {
      return contents;
    }
    contents += piece;
  }
}

}  // namespace concur::testing

#endif  // CONCUR_TESTS_TESTING_READ_ARTIFACT_H_
