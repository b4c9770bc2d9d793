// SPDX-License-Identifier: Apache-2.0
// Checks, backups and restores of a coordinator's data directory as a whole.
//
// Functions without state. CheckDataDirectory and BackUpDataDirectory may run while a coordinator
// has the directory open.
#ifndef CONCUR_COORDINATOR_DATA_DATA_DIRECTORY_H_
#define CONCUR_COORDINATOR_DATA_DATA_DIRECTORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/data/data_place.h"

namespace concur {

struct DataReport {
  // One sentence per fault, which names the row or the artifact and what it belongs to.
  std::vector<std::string> findings;
  int64_t sweeps = 0;
  int64_t results = 0;
  int64_t artifacts = 0;  // that are sound
  int64_t artifact_bytes = 0;
};

// Verifies the checksum of every row of the database and the digest of every artifact, and that all
// artifacts are stored that results need. A damaged artifact is moved aside, and not served again.
// NotFound when there is no database.
absl::StatusOr<DataReport> CheckDataDirectory(const DataPlace& place);

// Copies the database as of now, then the sound artifacts, then the hashes of tokens, to the new
// directory `to`, also from object storage. Certificates, keys and the audit log are left out.
// AlreadyExists when `to` exists; DataLoss when the database is damaged; on failure there is no
// `to`. Findings are damaged or missing artifacts, which the copy lacks.
absl::StatusOr<DataReport> BackUpDataDirectory(const DataPlace& place, const std::string& to);

// The same from a backup to `place`, whose directory must hold no database (AlreadyExists). The
// database is copied last, so that an interrupted restore can be repeated.
absl::StatusOr<DataReport> RestoreDataDirectory(const std::string& from, const DataPlace& place);

struct DataParts {
  std::string database;                      // a file
  const ArtifactStore* artifacts = nullptr;  // null: they are in `place` already
  std::string tokens;                        // contents of tokens.json; "": none
};
// As RestoreDataDirectory, from single parts.
absl::StatusOr<DataReport> RestoreParts(const DataParts& parts, const DataPlace& place);

// The hashes of tokens; "" when there are none.
absl::StatusOr<std::string> ReadTokens(const std::string& directory);

// NotFound when there is no concur.db in it.
absl::Status RequireDatabase(const std::string& directory);
// AlreadyExists when its directory holds a database.
absl::Status RequireNoDatabase(const DataPlace& place);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_DATA_DATA_DIRECTORY_H_
