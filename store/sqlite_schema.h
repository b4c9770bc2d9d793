// SPDX-License-Identifier: Apache-2.0
// The tables of the database and the numbered steps that lead to them.
//
// `PRAGMA user_version` says which step a file has reached, `application_id` that it is ours. A
// released step never changes; a new need is a new step. Views are for people with the sqlite3
// shell and are made anew after every migration.
//
// Thread-compatible, as the database it is given.
#ifndef CONCUR_STORE_SQLITE_SCHEMA_H_
#define CONCUR_STORE_SQLITE_SCHEMA_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "store/sqlite.h"

namespace concur {

inline constexpr int64_t kSchemaVersion = 13;
inline constexpr int64_t kSchemaBaseline = 4;  // the oldest that is migrated
inline constexpr int64_t kDatabasePageBytes = 4096;
inline constexpr int64_t kDatabaseLogBytesMax = int64_t{64} << 20;  // kept when it begins anew
inline constexpr int64_t kApplicationId = 0x436e6375;               // "Cncu"

// The steps: the first leads from an empty database to the baseline, each later one to the next
// schema.
absl::Span<const char* const> SchemaSteps();

// The step that the file has reached; 0 when it is empty. FailedPrecondition when a newer Concur
// wrote it, its schema is older than the baseline, or it is some other program's database.
absl::StatusOr<int64_t> SchemaVersionOf(SqliteDatabase& database);

// FailedPrecondition unless the file is at kSchemaVersion, and so can be read as it is.
absl::Status CheckSchema(SqliteDatabase& database);

// Brings an empty or older file to kSchemaVersion in one transaction. FailedPrecondition for a
// newer file, one older than the baseline, or another program's; the file is then as it was.
absl::Status MigrateSchema(SqliteDatabase& database);

}  // namespace concur

#endif  // CONCUR_STORE_SQLITE_SCHEMA_H_
