// SPDX-License-Identifier: Apache-2.0
// Artifacts in a directory.
//
// Layout: DIR/store-id (a random name of this store, how a worker sees that it shares the disk),
// DIR/sha256/ab/abcdef… (64 digits), DIR/packs/ (store/artifacts/packs.h: small artifacts of one
// process share a file), DIR/tmp/, DIR/damaged/ (set aside, never served), DIR/lock. A file appears
// under its digest only when all its bytes are on disk: written to tmp, synced, renamed, directory
// synced.
//
// Thread-safe; several processes may use one directory.
#ifndef CONCUR_STORE_ARTIFACTS_DIRECTORY_STORE_H_
#define CONCUR_STORE_ARTIFACTS_DIRECTORY_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
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
#include "store/artifacts/artifact_store.h"
#include "store/artifacts/packs.h"

namespace concur {

// Durability of artifacts: whether they outlive a power cut.
enum class Durability {
  kDurable,
  kAtSync,  // after the next Sync, at the latest: small ones share a file and its sync
  kCache,   // not at all: a cache can fetch them again
};

// Says whether a store has DIR/packs. It is made by the program that reads the store whatever lies
// in it; others put small artifacts there only if they find it.
enum class Packing { kIfFound, kMake };

// When files get the present time: also when the same bytes are put again, which tells Collect that
// somebody needs them, or only by Touch.
enum class Touching { kOnPut, kOnRequest };

class DirectoryStore final : public ArtifactStore {
 public:
  // Makes the directory if needed and removes temporary files older than a day.
  static absl::StatusOr<std::unique_ptr<DirectoryStore>> Open(const std::string& directory,
                                                              Packing packing = Packing::kIfFound,
                                                              Touching touching = Touching::kOnPut);

  const std::string& directory() const override { return directory_; }
  const std::string& store_id() const override { return store_id_; }

  absl::StatusOr<std::unique_ptr<Writer>> NewWriter(const Digest& digest) override;
  // Writer of any artifact, unless `digest` names one. An artifact with kCache may be damaged
  // after a power cut: check it once in each process before it is used.
  absl::StatusOr<std::unique_ptr<Writer>> NewWriter(const Digest& digest, Durability durability);
  // Puts a small artifact at once.
  absl::StatusOr<Digest> Put(absl::string_view data, Durability durability = Durability::kDurable);
  // Copies a regular file in (a reflink where the file system can); refuses links and specials.
  // DataLoss when it has not the digest `expected` (zero: any).
  absl::StatusOr<FileDigest> PutFile(const std::string& path,
                                     Durability durability = Durability::kDurable,
                                     const Digest& expected = {});
  // Makes durable what was put with kAtSync before, if failed_syncs() is still what it was before
  // that. One thread calls it.
  absl::Status Sync();
  // Calls of Sync that failed: what was put before one and not synced may be gone.
  uint64_t failed_syncs() const;

  bool Has(const Digest& digest) const;
  absl::Status Touch(const Digest& digest) override;
  absl::StatusOr<int64_t> Size(const Digest& digest) const override;
  // The file with the bytes alone, for direct use on a shared disk. NotFound, also for what is in a
  // pack.
  absl::StatusOr<std::string> PathOf(const Digest& digest) const;
  // Where that is, or would be.
  std::string FilePath(const Digest& digest) const;
  absl::Status Verify(const Digest& digest) const override;
  absl::StatusOr<std::unique_ptr<Source>> OpenSource(const Digest& digest) const override;

  absl::StatusOr<std::vector<Digest>> List() const override;
  absl::StatusOr<int64_t> Collect(const absl::flat_hash_set<Digest>& live,
                                  absl::Time before) override;
  // Removes one artifact; returns how many bytes were freed, 0 when it was not there.
  absl::StatusOr<int64_t> Remove(const Digest& digest);

 private:
  class FileWriter;

  DirectoryStore(std::string directory, std::string store_id, std::unique_ptr<Packs> packs,
                 Touching touching);
  absl::StatusOr<std::unique_ptr<FileWriter>> MakeWriter(const Digest& expected,
                                                         Durability durability);
  // Puts a writer's bytes under their name; drops them if they are there already.
  absl::Status Publish(FileWriter& writer, const Digest& digest);
  // True when the artifact is here with so many bytes. Then it is touched, unless that is for
  // others to do, and durable on return. REQUIRES: the caller holds the directory's lock.
  absl::StatusOr<bool> KeepIfHere(const Digest& digest, int64_t bytes);
  // Makes the name of the artifact durable whose file has this number.
  absl::Status SyncName(const Digest& digest, uint64_t inode);
  absl::StatusOr<Digest> PutPacked(absl::string_view data);
  absl::StatusOr<int64_t> FileSize(const Digest& digest) const;
  absl::StatusOr<std::vector<Digest>> ListFiles() const;
  // As Verify, of one that is in a pack.
  absl::Status VerifyPacked(const Digest& digest) const;
  // Moves damaged bytes away by `move`, which takes where to, and gives AlreadyExists for another
  // try. Returns DataLoss, with the problem and where they are now.
  absl::Status SetAside(const Digest& digest, absl::string_view problem,
                        const std::function<absl::Status(const std::string& target)>& move) const;
  absl::Status SetFileAside(const Digest& digest, absl::string_view problem) const;
  absl::Status SetPackedAside(const Digest& digest, const Packs::PackedBytes& packed,
                              absl::string_view problem) const;

  const std::string directory_;
  const std::string store_id_;
  const std::unique_ptr<Packs> packs_;  // null: none are there
  const Touching touching_;

  Mutex mu_;
  // Files whose names this process has made durable, by the number of the file: jobs that leave the
  // same bytes again and again need no further sync.
  absl::flat_hash_map<Digest, uint64_t> durable_ ABSL_GUARDED_BY(mu_);
};

}  // namespace concur

#endif  // CONCUR_STORE_ARTIFACTS_DIRECTORY_STORE_H_
