// SPDX-License-Identifier: Apache-2.0
// Bytes that users have uploaded and that no sweep of theirs uses yet. They count against the
// quota on stored bytes, until a sweep claims them (and they count as its data) or the artifacts
// are old enough to be collected.
//
// In memory: after a restart, only what is uploaded from then on counts. Thread-safe.
#ifndef CONCUR_COORDINATOR_ENGINE_UPLOAD_LEDGER_H_
#define CONCUR_COORDINATOR_ENGINE_UPLOAD_LEDGER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/mutex.h"

namespace concur {

class UploadLedger {
 public:
  // Uploads of one user that no sweep uses.
  static constexpr size_t kUploadsMax = 25'000;

  // Uploads expire `kept_for` after their end. `clock` outlives this.
  UploadLedger(Clock& clock, absl::Duration kept_for) : clock_(clock), kept_for_(kept_for) {}

  // Counts an upload that begins. Returns how many bytes it may have: `announced`, or all of
  // `free_bytes` that the user's other uploads leave when 0 is announced. ResourceExhausted, with
  // the numbers, when they leave less.
  absl::StatusOr<int64_t> Begin(const std::string& user, const Digest& digest, int64_t announced,
                                int64_t free_bytes);
  // The upload has ended, and so many bytes of it are stored.
  void End(const std::string& user, const Digest& digest, int64_t bytes);
  // A sweep of the user has these data files.
  void Claim(const std::string& user, const std::vector<Digest>& digests);

  // The bytes of the user's uploads, without those of `digests`.
  int64_t BytesOf(const std::string& user, const std::vector<Digest>& digests = {});

 private:
  struct Upload {
    int64_t bytes = 0;  // as reserved while it is under way
    absl::Time expire_time = absl::InfiniteFuture();
  };
  struct Uploads {
    absl::flat_hash_map<Digest, Upload> all;
    int64_t bytes = 0;                                     // sum over all
    absl::Time next_expire_time = absl::InfiniteFuture();  // not after the first of all
  };

  // The user's uploads without those that have expired; null when there are none.
  Uploads* FindLocked(const std::string& user) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static void Put(Uploads& uploads, const Digest& digest, const Upload& upload);
  static void Remove(Uploads& uploads, const Digest& digest);

  Clock& clock_;
  const absl::Duration kept_for_;
  Mutex mu_;
  absl::flat_hash_map<std::string, Uploads> users_ ABSL_GUARDED_BY(mu_);
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_ENGINE_UPLOAD_LEDGER_H_
