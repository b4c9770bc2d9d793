// Immutable bytes in a directory, named by their SHA-256.
//
// Layout: DIR/store-id (a random name of this store, how a worker sees that it shares the disk),
// DIR/sha256/ab/abcdef… (64 digits), DIR/tmp/, DIR/damaged/ (set aside, never served), DIR/lock.
// A file appears under its name only when all its bytes are on disk: written to tmp, synced,
// renamed, directory synced.
//
// Thread-safe; several processes may use one directory.
#ifndef CONCUR_STORE_ARTIFACT_STORE_H_
#define CONCUR_STORE_ARTIFACT_STORE_H_

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

namespace concur {

class ArtifactStore {
 public:
  // Makes the directory if needed and removes temporary files older than a day.
  static absl::StatusOr<std::unique_ptr<ArtifactStore>> Open(const std::string& directory);

  const std::string& directory() const { return directory_; }
  const std::string& store_id() const { return store_id_; }

  // Bytes on their way in. Dropped without Finish, it leaves nothing.
  class Writer {
   public:
    ~Writer();
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    // ResourceExhausted when the disk is full.
    absl::Status Append(absl::string_view data);
    int64_t bytes() const { return bytes_; }
    // Digest so far is checked against `expected` unless that is zero (DataLoss on a mismatch),
    // then the artifact is durable. OK if it was there already.
    absl::StatusOr<Digest> Finish(const Digest& expected = Digest());

   private:
    friend class ArtifactStore;
    Writer(ArtifactStore& store, std::string path, FileDescriptor fd);

    ArtifactStore& store_;
    std::string path_;
    FileDescriptor fd_;
    Sha256 hasher_;
    int64_t bytes_ = 0;
  };
  absl::StatusOr<std::unique_ptr<Writer>> NewWriter();

  // Puts a small artifact at once.
  absl::StatusOr<Digest> Put(absl::string_view data);
  // Copies a regular file in (a reflink where the file system can); refuses links and specials.
  absl::StatusOr<FileDigest> PutFile(const std::string& path);

  bool Has(const Digest& digest) const;
  // Has, and keeps the artifact from Collect as if it had been put now: for whoever answers "no
  // need to send it again".
  bool Touch(const Digest& digest);
  // Size in bytes; NotFound.
  absl::StatusOr<int64_t> Size(const Digest& digest) const;
  // Where the bytes lie, for direct use on a shared disk. NotFound.
  absl::StatusOr<std::string> PathOf(const Digest& digest) const;
  // All bytes, checked against the digest. NotFound; DataLoss when they do not match, and then the
  // file is set aside under DIR/damaged, never to be served again.
  absl::StatusOr<std::string> Read(const Digest& digest, int64_t bytes_max) const;
  // Checks the bytes of an artifact; DataLoss as Read.
  absl::Status Verify(const Digest& digest) const;
  // Up to `bytes_max` bytes from `offset`, unchecked: for streaming, where the receiver checks.
  absl::StatusOr<std::string> ReadRange(const Digest& digest, int64_t offset,
                                        int64_t bytes_max) const;

  absl::StatusOr<std::vector<Digest>> List() const;
  // Removes every artifact that is not in `live` and was last written or touched before `before`.
  // Returns how many bytes were freed.
  absl::StatusOr<int64_t> Collect(const absl::flat_hash_set<Digest>& live, absl::Time before);

 private:
  ArtifactStore(std::string directory, std::string store_id);
  std::string FilePath(const Digest& digest) const;
  // Puts a writer's bytes under their name, durably; drops them if they are there already.
  absl::Status Publish(Writer& writer, const Digest& digest);
  // Whether the artifact is here with so many bytes. If so it is touched, and durable on return.
  // REQUIRES: the caller holds the directory's lock.
  absl::StatusOr<bool> KeepIfHere(const Digest& digest, int64_t bytes);
  // Makes the name of the artifact durable whose file has this number.
  absl::Status SyncName(const Digest& digest, uint64_t inode);
  // Moves a damaged file away. Returns DataLoss, with the problem and where the file is now.
  absl::Status SetAside(const Digest& digest, absl::string_view problem) const;
  // Gives the bytes to `use` in blocks; only when the status is OK were they the artifact's.
  absl::Status ReadChecked(const Digest& digest, int64_t bytes_max,
                           const std::function<void(absl::string_view)>& use) const;

  const std::string directory_;
  const std::string store_id_;

  Mutex mu_;
  // Files whose names this process has made durable, by the number of the file: jobs that leave the
  // same bytes again and again need no further sync.
  absl::flat_hash_map<Digest, uint64_t> durable_ ABSL_GUARDED_BY(mu_);
};

}  // namespace concur

#endif  // CONCUR_STORE_ARTIFACT_STORE_H_
