// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite_store.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "store/row_rules.h"
#include "store/sql_reader.h"
#include "store/sqlite_schema.h"

namespace concur {
namespace {

// Pages given back after sweeps were deleted; the rest waits for new rows.
constexpr int64_t kVacuumPagesMax = 1024;
// Beside the database: what a coordinator saved when the database was deleted underneath it.
constexpr char kRescued[] = ".rescued";

// Settings of a connection that writes. The first two take effect in a new file only.
absl::Status Configure(SqliteDatabase& database, const SqliteStoreOptions& options) {
  CONCUR_RETURN_IF_ERROR(database.Execute(absl::StrCat("PRAGMA page_size = ", kDatabasePageBytes,
                                                       "; PRAGMA auto_vacuum = INCREMENTAL")));
  CONCUR_ASSIGN_OR_RETURN(const std::string mode, database.QueryText("PRAGMA journal_mode = WAL"));
  if (mode != "wal") {
    return absl::FailedPreconditionError(
        absl::StrCat(database.path(), ": this file system cannot hold a write-ahead log (journal ",
                     "mode is \"", mode, "\"): choose a data directory on a local disk"));
  }
  CONCUR_RETURN_IF_ERROR(database.Execute(absl::StrCat(
      "PRAGMA synchronous = FULL; PRAGMA secure_delete = OFF; PRAGMA temp_store = MEMORY; ",
      "PRAGMA cache_size = ", -options.cache_bytes / 1024, "; PRAGMA wal_autocheckpoint = ",
      options.checkpoint_pages, "; PRAGMA journal_size_limit = ", kDatabaseLogBytesMax)));
  if (options.pages_max > 0) {
    return database.Execute(absl::StrCat("PRAGMA max_page_count = ", options.pages_max));
  }
  return absl::OkStatus();
}

// The database's own name, given at its first opening together with the counters.
absl::StatusOr<std::string> ReadOrMakeDatabaseId(SqliteDatabase& database) {
  CONCUR_ASSIGN_OR_RETURN(std::string id, ReadDatabaseId(database));
  if (!id.empty()) {
    return id;
  }
  SqlTransaction transaction(database);
  CONCUR_RETURN_IF_ERROR(transaction.Begin());
  CONCUR_ASSIGN_OR_RETURN(id, MakeDatabaseId(database));
  CONCUR_RETURN_IF_ERROR(transaction.Commit());
  return id;
}

}  // namespace

SqliteStore::SqliteStore(StoreLock lock, std::unique_ptr<SqliteDatabase> database, CommitMark mark)
    : SqlStore(std::move(database)), lock_(std::move(lock)), mark_(std::move(mark)) {}

SqliteStore::~SqliteStore() {
  database_.reset();  // the lock is held until the database is closed
}

absl::StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::Open(const std::string& path,
                                                               const SqliteStoreOptions& options) {
  CONCUR_ASSIGN_OR_RETURN(StoreLock lock, StoreLock::Acquire(path));
  if (options.vfs.empty()) {
    std::error_code ignored;
    if (std::filesystem::exists(path + kRescued, ignored)) {
      return absl::FailedPreconditionError(absl::StrCat(
          path, kRescued, ": was saved when ", path, " was deleted or replaced under a running ",
          "coordinator, and has all that was acknowledged: move it to ", path, " (and remove ",
          path, "-wal, -shm and .mark), or move it away to go on without it"));
    }
    // SQLite gives its log and its index the rights of the database.
    CONCUR_RETURN_IF_ERROR(MakePrivateFile(path));
  }
  CONCUR_ASSIGN_OR_RETURN(std::unique_ptr<SqliteDatabase> database,
                          SqliteDatabase::Open(path, SqliteDatabase::Mode::kCreate, options.vfs));
  // A stranger's file is refused before any setting is written to it.
  CONCUR_RETURN_IF_ERROR(SchemaVersionOf(*database).status());
  CONCUR_RETURN_IF_ERROR(Configure(*database, options));
  CONCUR_RETURN_IF_ERROR(MigrateSchema(*database));
  CONCUR_ASSIGN_OR_RETURN(const std::string id, ReadOrMakeDatabaseId(*database));
  CONCUR_ASSIGN_OR_RETURN(CommitMark mark, CommitMark::Open(path, id));
  const std::string parent = std::filesystem::path(path).parent_path().string();
  CONCUR_RETURN_IF_ERROR(SyncDirectory(parent.empty() ? "." : parent));

  CONCUR_ASSIGN_OR_RETURN(const auto counters, ReadCounters(*database));
  const int64_t commits = counters.at(kCommitsCounter);
  CONCUR_ASSIGN_OR_RETURN(const std::optional<CommitMark::Mark> marked, mark.Read());
  CONCUR_RETURN_IF_ERROR(CheckMark(path, id, marked, commits));
  CONCUR_RETURN_IF_ERROR(mark.Write(commits));

  std::unique_ptr<SqliteStore> store(
      new SqliteStore(std::move(lock), std::move(database), std::move(mark)));
  store->commits_ = commits;
  if (options.vfs.empty()) {
    CONCUR_RETURN_IF_ERROR(store->files_.Add(path));
    CONCUR_RETURN_IF_ERROR(store->files_.Add(path + "-wal"));
  }
  return store;
}

absl::Status SqliteStore::CheckPlace() {
  CONCUR_RETURN_IF_ERROR(Usable());
  absl::Status changed = files_.Check();
  if (changed.ok()) {
    return changed;
  }
  failed_ = true;
  // The open files still have everything.
  const std::string rescued = database_->path() + kRescued;
  absl::Status saved = MakePrivateFile(rescued);
  if (saved.ok()) {
    const absl::StatusOr<SqlStatement*> copy = database_->Prepare("VACUUM INTO ?1");
    saved = copy.status();
    if (copy.ok()) {
      (*copy)->BindText(1, rescued);
      saved = (*copy)->Run();
    }
  }
  return absl::FailedPreconditionError(absl::StrCat(
      changed.message(), ": nothing more is acknowledged; what had been acknowledged ",
      saved.ok() ? absl::StrCat("was saved in ", rescued)
                 : absl::StrCat("could not be saved in ", rescued, ": ", saved.message())));
}

absl::Status SqliteStore::Commit(const Batch& batch) {
  CONCUR_RETURN_IF_ERROR(Usable());
  CONCUR_RETURN_IF_ERROR(CheckBatch(batch));
  const bool deletes = IsDeleting() || !batch.delete_sweeps.empty();
  if (batch.empty() && !deletes) {
    return absl::OkStatus();
  }
  CONCUR_RETURN_IF_ERROR(CheckPlace());
  const int64_t commits = commits_;
  absl::Status status = Apply(batch);
  if (absl::IsResourceExhausted(status)) {
    // Rolled back; what is remembered of rows is not. A checkpoint lets the log begin anew, which
    // may be all the space that is needed.
    commits_ = commits;
    Forget();
    database_->Execute("PRAGMA wal_checkpoint(RESTART)").IgnoreError();
    return status;
  }
  if (!status.ok()) {
    failed_ = true;
    return status;
  }
  // The commit is durable. A mark that could not be written only makes a later check weaker.
  mark_.Write(commits_).IgnoreError();
  if (deletes) {
    Vacuum(kVacuumPagesMax).IgnoreError();
  }
  return absl::OkStatus();
}

absl::Status SqliteStore::Vacuum(int64_t pages_max) {
  CONCUR_RETURN_IF_ERROR(Usable());
  return database_->Execute(absl::StrCat("PRAGMA incremental_vacuum(", pages_max, ")"));
}

}  // namespace concur
