// SPDX-License-Identifier: Apache-2.0
// Where a coordinator's data is: a directory, and object storage for the artifacts if the options
// name it.
#ifndef CONCUR_COORDINATOR_DATA_DATA_PLACE_H_
#define CONCUR_COORDINATOR_DATA_DATA_PLACE_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "store/artifacts/artifact_store.h"
#include "store/artifacts/s3_client.h"

namespace concur {

// In the data directory: a file whose lock a backup or a check holds, so that nothing is collected.
inline constexpr char kCollectLock[] = "/collect.lock";
inline constexpr char kDatabaseFile[] = "/concur.db";
// "ID LOCATION": written before object storage is used for the first time.
inline constexpr char kStorageRecord[] = "/object-storage";
// "ID DATABASE": the PostgreSQL database that holds the rows, without a password.
inline constexpr char kDatabaseRecord[] = "/postgresql";
// The coordinator of that database that leads, or led last.
inline constexpr char kLeaderRecord[] = "/leader";

struct DataPlace {
  std::string directory;
  std::optional<s3::Options> s3;
  // Makes DIRECTORY/artifacts/packs, which workers use where they find it
  // (store/artifacts/packs.h).
  bool makes_packs = false;
  // A connection URI of PostgreSQL, which holds the rows; "": DIRECTORY/concur.db does.
  std::string database{};
};

// Makes the data directory, which its user alone may enter, as base/file.h's MakePrivateDirectory
// does; `concur.db` or `tokens.json` in it show that it is a coordinator's.
absl::Status MakeDataDirectory(const std::string& directory);

// FailedPrecondition unless the rows of the data directory are in PostgreSQL by its record exactly
// if `place` names a database: artifacts that a wrong database does not know would be removed.
absl::Status CheckDatabasePlace(const DataPlace& place);
// The same for an open database, whose name and address are given; records it at its first use.
absl::Status RecordDatabase(const std::string& directory, const std::string& id,
                            const std::string& address);
// Writes who leads, so that a stand-by sees whether it shares the data directory.
absl::Status RecordLeader(const std::string& directory, const std::string& leader);
// False while the record names another coordinator, or none.
bool IsDirectoryOf(const std::string& directory, const std::string& leader);

// The artifacts of a data directory, which is created if needed. They are in one place only, and
// DIRECTORY/object-storage records which object storage that is: FailedPrecondition when the
// options name another place than the record, or when the storage's prefix belongs to another
// coordinator. Errors of the storage say how to fix them. `clock` outlives the store.
absl::StatusOr<std::unique_ptr<ArtifactStore>> OpenArtifacts(Clock& clock, const DataPlace& place);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_DATA_DATA_PLACE_H_
