// SPDX-License-Identifier: Apache-2.0
// The packs of an artifact store: files that many small artifacts share, so that those that come
// together cost one sync and no file each. store/artifacts/pack_format.h has the format.
//
// DIR/packs/ID.pack is written by one process, which holds a lock (flock) on it, and only at its
// end; other processes read it meanwhile. A pack without a writer never grows. An index in memory
// says where each artifact lies. It is read from the packs when an artifact is not found in it, and
// takes about 80 bytes for each; a process that only writes keeps that of the pack it writes.
//
// Thread-safe, but for Sync; several processes may use one directory.
#ifndef CONCUR_STORE_ARTIFACTS_PACKS_H_
#define CONCUR_STORE_ARTIFACTS_PACKS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/mutex.h"
#include "store/artifacts/pack_format.h"

namespace concur {

inline constexpr absl::string_view kPackSuffix = ".pack";

class Packs {
 public:
  // Where an artifact lies.
  struct Place {
    uint32_t pack = 0;  // index in packs_
    uint32_t offset = 0;
    uint32_t size = 0;
    friend bool operator==(const Place&, const Place&) = default;
  };
  struct PackedBytes {
    std::string bytes;
    Place place;
  };

  // Packs of the store in `root`. ROOT/packs exists.
  explicit Packs(std::string root);

  // Puts an artifact, which is durable after the next Sync. ResourceExhausted when the disk is
  // full; then nothing is left of it. REQUIRES: at most kPackedBytesMax bytes, whose digest it is.
  absl::Status Append(const Digest& digest, absl::string_view data);
  // Makes durable what was put or kept before, if failed_syncs() is still what it was before that.
  // One thread calls it.
  absl::Status Sync();
  // Calls of Sync that failed. Whatever was put or kept before one and not synced may be gone.
  uint64_t failed_syncs() const;

  // True if an artifact is here, and stays. If so it is touched, and durable after the next Sync.
  // Artifacts of other processes are found if `searches`, or if they were found before; what they
  // may not have synced yet counts as not here.
  absl::StatusOr<bool> Keep(const Digest& digest, bool searches);
  // NotFound.
  absl::StatusOr<int64_t> Size(const Digest& digest);
  // The bytes as they lie there, unchecked. NotFound.
  absl::StatusOr<PackedBytes> Read(const Digest& digest);
  absl::StatusOr<std::vector<Digest>> List();

  // Removes one artifact; returns its size, 0 when it was not there.
  absl::StatusOr<int64_t> Remove(const Digest& digest);
  // Removes it from that place alone: another pack may have it too.
  absl::Status RemoveAt(const Digest& digest, const Place& place);
  // As ArtifactStore's, for packs that nobody writes: the time of a pack is that when any of its
  // artifacts was last put or touched. What is left of packs that are less than half full is
  // merged; packs with damage go to ROOT/damaged instead of away. Returns the size of the artifacts
  // removed. A pack that cannot be collected does not hold up the others; the first error of one is
  // returned at the end.
  absl::StatusOr<int64_t> Collect(const absl::flat_hash_set<Digest>& live, absl::Time before);

  // Entries of the index.
  size_t indexed_for_test() const;

 private:
  struct Pack {
    std::string name;
    bool is_own = false;              // this process writes or wrote it
    uint32_t synced = 0;              // so much of it is durable for certain
    uint32_t lost_from = UINT32_MAX;  // data there or behind could not be synced
    uint32_t next = 0;                // where the next scan begins
    // When it was last read: without a change since there is nothing new.
    int64_t bytes = -1;
    absl::Time time = {};
    bool is_unreadable = false;  // when it was last tried
  };
  // A pack that this process writes.
  struct Own {
    std::string path;
    FileDescriptor fd;
    uint32_t pack = 0;
    uint32_t end = 0;
    uint32_t synced = 0;
  };
  // A record, in an open file.
  struct Found {
    Place place;
    std::string path;
    FileDescriptor fd;
  };
  struct Candidate;

  std::string PathOf(const std::string& name) const;
  uint32_t NumberOf(const std::string& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Takes in what was written since the last time, but for packs that cannot be read.
  absl::Status Refresh() ABSL_LOCKS_EXCLUDED(mu_);
  absl::StatusOr<absl::flat_hash_set<std::string>> Names() const;
  // NotFound when it is gone.
  absl::Status ReadNew(const std::string& name) ABSL_LOCKS_EXCLUDED(mu_);
  void DropRemoved(const std::string& name, const std::vector<PackRecord>& records)
      ABSL_LOCKS_EXCLUDED(mu_);
  // Drops what the index says of packs that are gone: all but `names`.
  void DropGone(const absl::flat_hash_set<std::string>& names) ABSL_LOCKS_EXCLUDED(mu_);
  std::optional<std::pair<Place, std::string>> Lookup(const Digest& digest) const;
  // Drops an entry that was wrong, and lets the next Refresh read everything: another pack may have
  // the artifact too.
  void Drop(const Digest& digest, const Place& place) ABSL_LOCKS_EXCLUDED(mu_);
  void ReadAllAgain() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Opens the pack with an artifact; its header was compared. NotFound.
  absl::StatusOr<Found> Find(const Digest& digest, int flags, bool searches);
  absl::StatusOr<std::shared_ptr<Own>> Create();
  // Drops what was not synced of a pack, and writes no more to it.
  void GiveUp(const std::shared_ptr<Own>& own) ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mu_);
  // Drops what the index says of a pack that is full and synced: who searches finds it again.
  void LeaveFull(const Own& own) ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mu_);
  // Removes what is dead, and the file if nothing is left. A candidate for merging otherwise.
  absl::StatusOr<std::optional<Candidate>> CollectPack(const std::string& name,
                                                       const absl::flat_hash_set<Digest>& live,
                                                       absl::Time before, int64_t& bytes_freed);
  absl::Status Merge(const std::vector<Candidate>& candidates);
  // Removes a pack of which everything is elsewhere; one with damage is set aside.
  absl::Status Discard(const std::string& name, bool is_damaged);

  const std::string root_;
  const std::string directory_;

  Mutex refresh_mu_;  // one thread at a time reads packs

  mutable Mutex write_mu_;
  // Shared: Sync works on packs while others are written.
  std::shared_ptr<Own> own_ ABSL_GUARDED_BY(write_mu_);
  std::vector<std::shared_ptr<Own>> unsynced_ ABSL_GUARDED_BY(write_mu_);
  uint64_t failed_syncs_ ABSL_GUARDED_BY(write_mu_) = 0;

  mutable Mutex mu_;
  std::vector<Pack> packs_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, uint32_t> numbers_ ABSL_GUARDED_BY(mu_);  // by name
  absl::flat_hash_map<Digest, Place> index_ ABSL_GUARDED_BY(mu_);
};

}  // namespace concur

#endif  // CONCUR_STORE_ARTIFACTS_PACKS_H_
