// SPDX-License-Identifier: Apache-2.0
// Checking, backing up and restoring a database file: the functions at the end of
// store/sqlite_store.h.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "store/sql_reader.h"
#include "store/sqlite.h"
#include "store/sqlite_schema.h"
#include "store/sqlite_store.h"
#include "store/store_lock.h"

namespace concur {
namespace {

constexpr int kFindingsMax = 100;

// Removes a file, and what SQLite put beside it, unless told to keep it.
class FileRemover {
 public:
  explicit FileRemover(std::string path) : path_(std::move(path)) {}
  ~FileRemover() {
    if (!keep_) {
      for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
        unlink((path_ + suffix).c_str());
      }
    }
  }
  FileRemover(const FileRemover&) = delete;
  FileRemover& operator=(const FileRemover&) = delete;
  void Keep() { keep_ = true; }

 private:
  std::string path_;
  bool keep_ = false;
};

absl::Status SyncFile(const std::string& path) {
  FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    return ErrnoStatus(errno, path, "open");
  }
  return fsync(fd.get()) == 0 ? absl::OkStatus() : ErrnoStatus(errno, path, "sync");
}

absl::Status SyncParent(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return SyncDirectory(parent.empty() ? "." : parent);
}

bool Exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::symlink_status(path, ignored));
}

// For reading, also where nothing can be written (a snapshot, a read-only disk). Elsewhere not
// opened read-only: a log that a killed process left must be readable. Nothing is changed.
absl::StatusOr<std::unique_ptr<SqliteDatabase>> OpenToRead(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  if (faccessat(AT_FDCWD, parent.empty() ? "." : parent.c_str(), W_OK, AT_EACCESS) == 0 ||
      errno == ENOENT) {
    return SqliteDatabase::Open(path, SqliteDatabase::Mode::kReadWrite);
  }
  std::error_code no_log;
  if (const uintmax_t bytes = std::filesystem::file_size(path + "-wal", no_log);
      no_log || bytes == 0) {
    return SqliteDatabase::Open(path, SqliteDatabase::Mode::kImmutable);
  }
  if (Exists(path + "-shm")) {
    return SqliteDatabase::Open(path, SqliteDatabase::Mode::kReadOnly);
  }
  return absl::FailedPreconditionError(absl::StrCat(
      path,
      "-wal: holds commits that can only be read where this directory can be written to; "
      "copy the directory to such a place"));
}

// Writes a copy of `path` to the new file `to`, complete and synced, but does not look into it.
absl::Status CopyDatabase(const std::string& path, const std::string& to) {
  CONCUR_ASSIGN_OR_RETURN(std::unique_ptr<SqliteDatabase> database, OpenToRead(path));
  CONCUR_RETURN_IF_ERROR(CheckSchema(*database));
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * copy, database->Prepare("VACUUM INTO ?1"));
  copy->BindText(1, to);
  CONCUR_RETURN_IF_ERROR(copy->Run());
  return SyncFile(to);
}

// Contents of PATH.mark; nullopt when there is none.
absl::StatusOr<std::optional<CommitMark::Mark>> MarkOf(const std::string& path) {
  if (!Exists(path + ".mark")) {
    return std::optional<CommitMark::Mark>();
  }
  return CommitMark::ReadOf(path);
}

// DataLoss with the first finding, if there is any.
absl::Status RequireSound(const std::string& path) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> findings, CheckDatabase(path));
  return findings.empty() ? absl::OkStatus() : absl::DataLossError(findings.front());
}

}  // namespace

absl::StatusOr<std::vector<std::string>> CheckDatabase(const std::string& path) {
  CONCUR_ASSIGN_OR_RETURN(std::unique_ptr<SqliteDatabase> database, OpenToRead(path));
  // Read first: a coordinator that runs may commit more before its rows are read, but not less.
  CONCUR_ASSIGN_OR_RETURN(const std::optional<CommitMark::Mark> mark, MarkOf(path));
  std::vector<std::string> findings;
  // Damage is a finding; only what keeps us from looking is an error.
  const auto note = [&findings](const absl::Status& status) -> absl::Status {
    if (absl::IsDataLoss(status)) {
      findings.emplace_back(status.message());
      return absl::OkStatus();
    }
    return status;
  };
  const absl::Status schema = CheckSchema(*database);
  if (!schema.ok()) {
    // An empty database beside the mark of one with commits has lost them all.
    const absl::StatusOr<int64_t> version = SchemaVersionOf(*database);
    if (version.ok() && *version == 0) {
      CONCUR_RETURN_IF_ERROR(note(CheckMark(path, "", mark, 0)));
    }
    if (findings.empty()) {
      CONCUR_RETURN_IF_ERROR(note(schema));
    }
    return findings;
  }
  CONCUR_RETURN_IF_ERROR(database->Execute("PRAGMA query_only = ON; BEGIN"));
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * check, database->Prepare(absl::StrCat(
                                                    "PRAGMA integrity_check(", kFindingsMax, ")")));
  for (;;) {
    const absl::StatusOr<bool> row = check->Step();
    if (!row.ok()) {
      CONCUR_RETURN_IF_ERROR(note(row.status()));
      break;
    }
    if (!*row) {
      break;
    }
    const std::string finding(check->Bytes(0));
    if (finding != "ok") {
      findings.push_back(absl::StrCat(path, ": ", finding));
    }
  }
  const absl::StatusOr<std::string> id = ReadDatabaseId(*database);
  CONCUR_RETURN_IF_ERROR(note(id.status()));
  const absl::StatusOr<StoredState> state = ReadState(*database);
  CONCUR_RETURN_IF_ERROR(note(state.status()));
  // Without a name the database lost what its first opening wrote, and every commit after that.
  if (id.ok() && (state.ok() || id->empty())) {
    const int64_t commits = state.ok() ? state->counters.at(kCommitsCounter) : 0;
    CONCUR_RETURN_IF_ERROR(note(CheckMark(path, *id, mark, commits)));
  }
  CONCUR_RETURN_IF_ERROR(note(ReadAttempts(*database, INT64_MIN, INT64_MAX).status()));
  return findings;
}

absl::StatusOr<DatabaseContents> ReadDatabase(const std::string& path) {
  CONCUR_ASSIGN_OR_RETURN(std::unique_ptr<SqliteDatabase> database, OpenToRead(path));
  CONCUR_RETURN_IF_ERROR(CheckSchema(*database));
  CONCUR_RETURN_IF_ERROR(database->Execute("PRAGMA query_only = ON; BEGIN"));
  return ReadContents(*database);
}

absl::StatusOr<CommitMark::Mark> IdAndCommitsOf(const std::string& path) {
  CONCUR_ASSIGN_OR_RETURN(std::unique_ptr<SqliteDatabase> database, OpenToRead(path));
  CONCUR_RETURN_IF_ERROR(CheckSchema(*database));
  CONCUR_ASSIGN_OR_RETURN(std::string id, ReadDatabaseId(*database));
  if (id.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": is not complete yet"));
  }
  CONCUR_ASSIGN_OR_RETURN(const auto counters, ReadCounters(*database));
  return CommitMark::Mark{std::move(id), counters.at(kCommitsCounter)};
}

absl::Status BackupDatabase(const std::string& path, const std::string& to) {
  if (Exists(to)) {
    return absl::AlreadyExistsError(absl::StrCat(to, ": exists; a backup needs a new file"));
  }
  const std::string partial = absl::StrCat(to, ".partial.", getpid());
  FileRemover remover(partial);
  CONCUR_RETURN_IF_ERROR(CopyDatabase(path, partial));
  CONCUR_RETURN_IF_ERROR(RequireSound(partial));
  // link refuses to replace a file that came into being meanwhile; rename would not.
  if (link(partial.c_str(), to.c_str()) != 0) {
    return ErrnoStatus(errno, to, "create");
  }
  return SyncParent(to);
}

absl::Status RestoreDatabase(const std::string& from, const std::string& path) {
  CONCUR_ASSIGN_OR_RETURN(const StoreLock lock, StoreLock::Acquire(path));
  const std::string partial = absl::StrCat(path, ".partial.", getpid());
  FileRemover remover(partial);
  CONCUR_RETURN_IF_ERROR(CopyDatabase(from, partial));
  CONCUR_RETURN_IF_ERROR(RequireSound(partial));
  // The log and the mark go first: neither may ever meet the restored file.
  for (const char* suffix : {".mark", "-shm", "-wal", ""}) {
    const std::string old = path + suffix;
    if (Exists(old) && rename(old.c_str(), (old + ".replaced").c_str()) != 0) {
      return ErrnoStatus(errno, old, "rename");
    }
  }
  if (rename(partial.c_str(), path.c_str()) != 0) {
    return ErrnoStatus(errno, path, "rename");
  }
  remover.Keep();
  return SyncParent(path);
}

}  // namespace concur
