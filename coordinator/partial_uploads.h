// Uploads that were broken off, kept until their senders come back and go on where they stopped.
//
// What is kept is the store's writer itself: a temporary file, or an open multipart upload. So it
// is the same for every store, and a coordinator that restarts knows of none: then uploads begin
// again. What was sent belongs to the sender who sent it: nobody else can find it or add to it.
//
// Thread-safe. What gives up a writer may block for as long as the store takes to forget it.
#ifndef CONCUR_COORDINATOR_PARTIAL_UPLOADS_H_
#define CONCUR_COORDINATOR_PARTIAL_UPLOADS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/mutex.h"
#include "store/artifact_store.h"

namespace concur {

struct PartialUploadLimits {
  size_t count_max = 64;                 // one more, and the oldest goes
  int64_t bytes_min = int64_t{1} << 20;  // less is sent again as fast
  absl::Duration kept_for = absl::Minutes(15);
};

class PartialUploads {
 public:
  using Writer = ArtifactStore::Writer;

  // `clock` and the stores of the writers outlive it.
  explicit PartialUploads(Clock& clock, PartialUploadLimits limits = {});

  const PartialUploadLimits& limits() const { return limits_; }

  // Keeps what came of an upload of `artifact`, unless more of it is kept already. `sender` is any
  // name for whoever sent it. True if it is kept: then GiveUpOld is to be called when `kept_for`
  // has passed.
  bool Keep(const Digest& sender, const Digest& artifact, std::unique_ptr<Writer> writer);
  // How many bytes are kept; 0: none.
  int64_t Offset(const Digest& sender, const Digest& artifact);
  // Hands out the writer that has taken exactly `offset` bytes; null when none has. The caller
  // keeps it or gives it up.
  std::unique_ptr<Writer> Take(const Digest& sender, const Digest& artifact, int64_t offset);
  // What was sent has come whole some other way.
  void GiveUp(const Digest& sender, const Digest& artifact);
  // What has been kept for too long.
  void GiveUpOld();
  // Everything: for a store that has no room.
  void GiveUpAll();

 private:
  struct Held {
    Digest sender;
    Digest artifact;
    absl::Time end;
    std::unique_ptr<Writer> writer;
  };
  // The place of what is kept and not too old, else the end.
  std::vector<Held>::iterator FindLocked(const Digest& sender, const Digest& artifact)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after construction.
  Clock& clock_;
  const PartialUploadLimits limits_;

  Mutex mu_;
  std::vector<Held> held_ ABSL_GUARDED_BY(mu_);  // oldest first
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_PARTIAL_UPLOADS_H_
