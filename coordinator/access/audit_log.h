// SPDX-License-Identifier: Apache-2.0
// The audit log: one JSON line for each call that changes something, and for each refused call.
//
// DATA/audit/calls.jsonl holds the calls of authenticated users and workers, refused.jsonl all
// others, so that unauthenticated callers cannot push authenticated calls out of the log. Each file
// is rotated: at `bytes_max` it becomes FILE.1, FILE.1 becomes FILE.2, and so on; the oldest is
// removed.
//
// Read() gives them newest first, page by page, while calls go on.
//
// Lines are written without syncing the disk: a power loss may cost the last few. A failed write is
// logged, and does not fail the call.
//
// Thread-safe.
#ifndef CONCUR_COORDINATOR_AUDIT_LOG_H_
#define CONCUR_COORDINATOR_AUDIT_LOG_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mutex.h"

namespace concur {

struct AuditEntry {
  std::string user;         // "": not authenticated
  std::string token;        // its id
  std::string certificate;  // the client certificate's name, with mutual TLS
  std::string peer;         // "ipv4:10.0.0.7:41234"
  std::string method;       // "CancelSweep"
  std::string target;       // what the call was to change
  absl::Status outcome;
};

struct AuditOptions {
  int64_t bytes_max = int64_t{16} << 20;  // of one file
  int files_max = 8;                      // rotated ones, of each kind
};

// Which lines are wanted. Empty: all.
struct AuditFilter {
  bool strangers = false;  // those of refused.jsonl
  std::string user = {};
  std::string method = {};
  std::string target = {};
  bool failed_only = false;
};

// A line that was read.
struct AuditRecord {
  absl::Time time = absl::InfinitePast();
  std::string user;
  std::string token;
  std::string certificate;
  std::string peer;
  std::string method;
  std::string target;
  std::string outcome;  // "ok", "permission_denied", …; "unreadable": a damaged line
  std::string message;
};

struct AuditPage {
  std::vector<AuditRecord> records;
  std::string next_page_token;  // "": that was the oldest one
};

class AuditLog {
 public:
  // `clock` outlives it.
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(Clock& clock, const std::string& directory,
                                                        AuditOptions options = {});
  void Write(const AuditEntry& entry);

  // The lines before those of the page that gave `page_token` (empty: the newest), at most
  // `count_max`. Reads at most kReadBytesMax, so that a page may have fewer. A token whose file was
  // removed meanwhile ends the list. InvalidArgument for what is no token; errors of reading.
  absl::StatusOr<AuditPage> Read(const AuditFilter& filter, const std::string& page_token,
                                 size_t count_max);
  static constexpr int64_t kReadBytesMax = int64_t{4} << 20;

 private:
  struct File {
    std::string path;
    FileDescriptor fd;
    int64_t bytes = 0;
  };

  AuditLog(Clock& clock, const std::string& directory, AuditOptions options)
      : clock_(clock),
        options_(options),
        calls_path_(directory + "/calls.jsonl"),
        refused_path_(directory + "/refused.jsonl") {}
  static absl::Status OpenFile(File* file);
  absl::Status Append(File* file, const std::string& line) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Rotate(File* file) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A file to read, with what it has when no line is half written.
  struct Readable {
    FileDescriptor fd;
    uint64_t inode = 0;
    int64_t bytes = 0;
  };
  // `path` and its rotated files, newest first.
  absl::StatusOr<std::vector<Readable>> OpenAll(const std::string& path);

  Clock& clock_;
  const AuditOptions options_;
  const std::string calls_path_;
  const std::string refused_path_;

  Mutex mutex_;
  File calls_ ABSL_GUARDED_BY(mutex_);
  File refused_ ABSL_GUARDED_BY(mutex_);
  absl::Time next_complaint_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_AUDIT_LOG_H_
