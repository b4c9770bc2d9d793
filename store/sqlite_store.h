// SPDX-License-Identifier: Apache-2.0
// The Store in a SQLite database: what the coordinator runs on.
//
// One transaction for each Commit, in a write-ahead log that is synced before Commit returns, so
// that what was acknowledged survives a killed process and a power cut. Tables and their checksums
// are described in docs/storage.md. Beside the database lie PATH-wal and PATH-shm (SQLite's),
// PATH.lock (who has it open) and PATH.mark (how many commits were acknowledged).
//
// Thread-compatible; owned by the engine's thread. Readers in other processes, the sqlite3 shell
// among them, disturb nothing.
#ifndef CONCUR_STORE_SQLITE_STORE_H_
#define CONCUR_STORE_SQLITE_STORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/rows.h"
#include "store/file_watch.h"
#include "store/sql_reader.h"
#include "store/sql_store.h"
#include "store/sqlite.h"
#include "store/store_lock.h"

namespace concur {

struct SqliteStoreOptions {
  int64_t cache_bytes = int64_t{32} << 20;  // SQLite's page cache
  int64_t pages_max = 0;                    // refuse to grow beyond; 0: no limit of our own
  // A checkpoint costs two syncs; at 16 MiB they are rare, and a restart still reads the log at
  // once.
  int64_t checkpoint_pages = 4096;
  std::string vfs;  // SQLite's way to reach files: a name that it knows; "": its usual way
};

class SqliteStore : public SqlStore {
 public:
  // Opens the database at `path`, making or migrating it when needed; its directory must exist.
  // FailedPrecondition when another process has it open (the message names it), when a newer Concur
  // wrote it, or when it is some other program's file. DataLoss when it is damaged or when
  // acknowledged commits are missing from it.
  static absl::StatusOr<std::unique_ptr<SqliteStore>> Open(
      const std::string& path, const SqliteStoreOptions& options = SqliteStoreOptions());
  ~SqliteStore() override;

  // ResourceExhausted when the disk is full; the same batch may be tried again, at the cost of
  // reading the database once. After any other error but InvalidArgument every later call is
  // FailedPrecondition: the store must be opened anew.
  absl::Status Commit(const Batch& batch) override;

  // Gives free pages at the end of the file back to the file system, at most so many.
  absl::Status Vacuum(int64_t pages_max);

  // FailedPrecondition when the database or its log was deleted or replaced. What had been
  // committed is saved in PATH.rescued first.
  absl::Status CheckPlace() override;

 private:
  SqliteStore(StoreLock lock, std::unique_ptr<SqliteDatabase> database, CommitMark mark);

  StoreLock lock_;
  CommitMark mark_;
  FileWatch files_;
};

// Faults of the database at `path`: a sentence for each, which names the row or page, or tells how
// many acknowledged commits are missing; empty when it is sound. Reads only; may run while a
// coordinator has it open.
absl::StatusOr<std::vector<std::string>> CheckDatabase(const std::string& path);

// All that the database at `path` holds at one moment. Reads only; may run while a coordinator has
// it open. DataLoss as SqliteStore::Load.
absl::StatusOr<DatabaseContents> ReadDatabase(const std::string& path);

// The name that the database at `path` got at its first opening, and the number of its commits.
// FailedPrecondition when it has none yet, or another schema. May run while a coordinator has it
// open.
absl::StatusOr<CommitMark::Mark> IdAndCommitsOf(const std::string& path);

// Writes a consistent copy of the database, as of now, to the new file `to`, and checks it. May run
// while a coordinator has it open. AlreadyExists when `to` exists; on failure there is no `to`.
absl::Status BackupDatabase(const std::string& path, const std::string& to);

// Puts the copy `from` in the place of the database at `path`, which no process may have open. The
// old files are kept beside it under names that end in ".replaced". DataLoss, and nothing changed,
// when the copy is damaged.
absl::Status RestoreDatabase(const std::string& from, const std::string& path);

}  // namespace concur

#endif  // CONCUR_STORE_SQLITE_STORE_H_
