// SPDX-License-Identifier: Apache-2.0
// Takes the rows of a coordinator from SQLite to PostgreSQL and back.
#ifndef CONCUR_COORDINATOR_DATA_MIGRATE_H_
#define CONCUR_COORDINATOR_DATA_MIGRATE_H_

#include <string>

#include "absl/status/statusor.h"
#include "coordinator/data/data_directory.h"

namespace concur {

// Copies all rows, in one transaction, and compares each with its copy. One of `from` and `to` is a
// data directory, the other a connection URI of PostgreSQL. FailedPrecondition when a coordinator
// runs on either; AlreadyExists when there are rows at `to`; DataLoss when a row is damaged or is
// not the same there. Then the directory's record (kDatabaseRecord) says where the rows are; a
// concur.db that was left is renamed to concur.db.migrated.
absl::StatusOr<DataReport> MigrateDatabase(const std::string& from, const std::string& to);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_DATA_MIGRATE_H_
