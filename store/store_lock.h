// SPDX-License-Identifier: Apache-2.0
// Two small files beside the database: a lock that names the process that has it open, and the
// number of acknowledged commits.
//
// Thread-compatible.
#ifndef CONCUR_STORE_STORE_LOCK_H_
#define CONCUR_STORE_STORE_LOCK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file.h"

namespace concur {

// An exclusive lock (flock) on PATH.lock, held until destruction; a dead process holds none. The
// file names the holder; after release it remains and means nothing.
class StoreLock {
 public:
  // FailedPrecondition, naming the holder's process and host, when PATH is in use.
  static absl::StatusOr<StoreLock> Acquire(const std::string& path);

 private:
  explicit StoreLock(FileDescriptor fd) : fd_(std::move(fd)) {}
  FileDescriptor fd_;
};

// The number of commits that were acknowledged, kept in PATH.mark apart from the database.
//
// SQLite ends its recovery of the write-ahead log at the first damaged frame and drops the rest
// without a word, as it must after power loss. A mark that is ahead of the database tells that
// acknowledged commits are missing. It is not synced: a lost mark only detects less.
class CommitMark {
 public:
  struct Mark {
    std::string database_id;
    int64_t commits = 0;
  };

  // Opens or makes the file, for the database of that name.
  static absl::StatusOr<CommitMark> Open(const std::string& path, std::string database_id);

  // The mark of a file that is only read.
  static absl::StatusOr<std::optional<Mark>> ReadOf(const std::string& path);

  // The mark in the file; nullopt when the file is new or torn. It may be another database's.
  absl::StatusOr<std::optional<Mark>> Read() const;
  absl::Status Write(int64_t commits);

 private:
  CommitMark(std::string path, std::string database_id, FileDescriptor fd)
      : path_(std::move(path)), database_id_(std::move(database_id)), fd_(std::move(fd)) {}

  std::string path_;
  std::string database_id_;
  FileDescriptor fd_;
};

// DataLoss when the mark counts more commits than the database at `path` has.
absl::Status CheckMark(const std::string& path, const std::string& database_id,
                       const std::optional<CommitMark::Mark>& mark, int64_t commits);

// 32 hexadecimal digits that no other call gives, from the system's entropy: a name for a database
// or a directory. Not for anything that must be reproducible.
absl::StatusOr<std::string> NewUniqueId();

}  // namespace concur

#endif  // CONCUR_STORE_STORE_LOCK_H_
