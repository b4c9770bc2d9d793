// SPDX-License-Identifier: Apache-2.0
// The audit log: one JSON line for each call that changes something, and for each refused call.
//
// DATA/audit/calls.jsonl holds the calls of authenticated users and workers, refused.jsonl all
// others, so that unauthenticated callers cannot push authenticated calls out of the log. Each file
// is rotated: at `bytes_max` it becomes FILE.1, FILE.1 becomes FILE.2, and so on; the oldest is
// removed.
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

class AuditLog {
 public:
  // `clock` outlives it.
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(Clock& clock, const std::string& directory,
                                                        AuditOptions options = {});
  void Write(const AuditEntry& entry);

 private:
  struct File {
    std::string path;
    FileDescriptor fd;
    int64_t bytes = 0;
  };

  AuditLog(Clock& clock, AuditOptions options) : clock_(clock), options_(options) {}
  static absl::Status OpenFile(File* file);
  absl::Status Append(File* file, const std::string& line) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Rotate(File* file) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Clock& clock_;
  const AuditOptions options_;

  Mutex mutex_;
  File calls_ ABSL_GUARDED_BY(mutex_);
  File refused_ ABSL_GUARDED_BY(mutex_);
  absl::Time next_complaint_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_AUDIT_LOG_H_
