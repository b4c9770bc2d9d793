// SPDX-License-Identifier: Apache-2.0
// The audit log: one JSON line for each call that changes something, and for each refused call.
//
// DATA/audit/calls.jsonl holds the calls of authenticated users and workers that may have changed
// something, failed.jsonl those that failed (in both: it is not known whether they changed
// anything), refused.jsonl the calls without a valid token: whoever is refused pushes nothing out
// that was done. Refusals are folded: of those with the same caller, method and outcome the first
// in a minute has a line, and the others one with their number. Beyond kFoldsMax in a file, one
// line without a name has the number. Each file is rotated: at `bytes_max` it becomes FILE.1,
// FILE.1 becomes FILE.2, and so on; the oldest is removed.
//
// Read() gives them newest first, page by page, while calls go on.
//
// Lines are written without syncing the disk: a power loss may cost the last few. A failed write is
// logged, and does not fail the call.
//
// Thread-safe.
#ifndef CONCUR_COORDINATOR_ACCESS_AUDIT_LOG_H_
#define CONCUR_COORDINATOR_ACCESS_AUDIT_LOG_H_

#include <cstdint>
#include <map>
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
  std::string target;       // thing that the call was to change
  absl::Status outcome;
};

struct AuditOptions {
  int64_t bytes_max = int64_t{16} << 20;  // limit for one file
  int files_max = 8;                      // rotated ones, of each kind
};

// The lines that are wanted. Empty: all.
struct AuditFilter {
  bool strangers = false;  // those of refused.jsonl, instead of calls.jsonl
  std::string user = {};
  std::string method = {};
  std::string target = {};
  bool failed_only = false;  // those of failed.jsonl, instead of calls.jsonl
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
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;
  void Write(const AuditEntry& entry);

  // The lines before those of the page that gave `page_token` (empty: the newest), at most
  // `count_max`. Reads at most kReadBytesMax, so that a page may have fewer. A token whose file was
  // removed meanwhile ends the list. InvalidArgument for what is no token; errors of reading.
  absl::StatusOr<AuditPage> Read(const AuditFilter& filter, const std::string& page_token,
                                 size_t count_max);
  static constexpr int64_t kReadBytesMax = int64_t{4} << 20;

 private:
  // Refused calls that differ in nothing that the caller cannot choose at will.
  struct Fold {
    absl::Time begin;
    AuditEntry last;
    absl::Time last_time;
    int64_t more = 0;  // after the first one, which has a line
  };

  struct File {
    std::string path;
    FileDescriptor fd;
    int64_t bytes = 0;
    std::map<std::string, Fold>
        folds;  // by caller, method and outcome; "": of all beyond the limit
  };

  AuditLog(Clock& clock, const std::string& directory, AuditOptions options)
      : clock_(clock),
        options_(options),
        calls_path_(directory + "/calls.jsonl"),
        failed_path_(directory + "/failed.jsonl"),
        refused_path_(directory + "/refused.jsonl") {}
  // True when a refused call needs no line, since its fold counts it.
  bool IsFolded(File* file, const AuditEntry& entry, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Writes the numbers of the folds that began until `begin_max`.
  void WriteFolds(File* file, absl::Time begin_max) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteLine(File* file, const AuditEntry& entry, absl::Time time, int64_t more)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static absl::Status OpenFile(File* file);
  absl::Status Append(File* file, const std::string& line) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Rotate(File* file) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A file to read, with what it has when no line is half written.
  struct Readable {
    FileDescriptor fd;
    uint64_t inode = 0;
    int64_t bytes = 0;
  };
  // The files of a filter with the rotated ones, newest first.
  absl::StatusOr<std::vector<Readable>> OpenAll(const AuditFilter& filter);

  Clock& clock_;
  const AuditOptions options_;
  const std::string calls_path_;
  const std::string failed_path_;
  const std::string refused_path_;

  Mutex mutex_;
  File calls_ ABSL_GUARDED_BY(mutex_);
  File failed_ ABSL_GUARDED_BY(mutex_);
  File refused_ ABSL_GUARDED_BY(mutex_);
  absl::Time next_folds_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Time next_complaint_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_ACCESS_AUDIT_LOG_H_
