// SPDX-License-Identifier: Apache-2.0
// Interrupted uploads, kept until their senders resume them.
//
// The store's writer itself is kept: a temporary file, or an open multipart upload. Thus it works
// the same for every store, and does not survive a restart of the coordinator: then uploads begin
// again. An upload belongs to its sender: nobody else can find it or add to it.
//
// Thread-safe. Functions that drop a writer block for as long as the store takes to discard it.
#ifndef CONCUR_COORDINATOR_ENGINE_PARTIAL_UPLOADS_H_
#define CONCUR_COORDINATOR_ENGINE_PARTIAL_UPLOADS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/mutex.h"
#include "store/artifacts/artifact_store.h"

namespace concur {

struct PartialUploadLimits {
  size_t count_max = 64;                 // beyond it the oldest is dropped
  int64_t bytes_min = int64_t{1} << 20;  // less is as fast to send again
  absl::Duration kept_for = absl::Minutes(15);
};

class PartialUploads {
 public:
  using Writer = ArtifactStore::Writer;

  // `clock` and the stores of the writers outlive it.
  explicit PartialUploads(Clock& clock, PartialUploadLimits limits = {});

  const PartialUploadLimits& limits() const { return limits_; }

  // Keeps an interrupted upload of `artifact`, unless more of it is kept already. `sender`
  // identifies the sender. Returns whether it is kept; then the caller calls GiveUpOld after
  // `kept_for`.
  bool Keep(const Digest& sender, const Digest& artifact, std::unique_ptr<Writer> writer);
  // Number of bytes that are kept; 0: none.
  int64_t Offset(const Digest& sender, const Digest& artifact);
  // Hands out the writer that holds exactly `offset` bytes, or null. The caller either keeps it
  // again or drops it.
  std::unique_ptr<Writer> Take(const Digest& sender, const Digest& artifact, int64_t offset);
  // Drops this upload: the artifact was stored some other way.
  void GiveUp(const Digest& sender, const Digest& artifact);
  // Drops uploads that have been kept for too long.
  void GiveUpOld();
  // Drops all uploads, for a store that is full.
  void GiveUpAll();

 private:
  struct Held {
    Digest sender;
    Digest artifact;
    absl::Time end;
    std::unique_ptr<Writer> writer;
  };
  // The upload, if it is kept and not too old, else the end.
  std::vector<Held>::iterator FindLocked(const Digest& sender, const Digest& artifact)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after construction.
  Clock& clock_;
  const PartialUploadLimits limits_;

  Mutex mu_;
  std::vector<Held> held_ ABSL_GUARDED_BY(mu_);  // oldest first
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_ENGINE_PARTIAL_UPLOADS_H_
