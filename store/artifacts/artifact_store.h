// SPDX-License-Identifier: Apache-2.0
// Immutable bytes named by their SHA-256: in a directory (store/artifacts/directory_store.h) or in
// object storage (store/artifacts/s3_store.h). An artifact is there whole or not at all.
//
// Thread-safe; a Writer or a Source belongs to one thread at a time. Calls block for as long as
// data moves. Unavailable, of any call: the storage cannot be used now, for a reason that somebody
// may remove; what was asked for may be asked for again.
#ifndef CONCUR_STORE_ARTIFACTS_ARTIFACT_STORE_H_
#define CONCUR_STORE_ARTIFACTS_ARTIFACT_STORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/digest.h"

namespace concur {

class ArtifactStore {
 public:
  // Bytes on their way in. Dropped without Finish, it leaves nothing.
  class Writer {
   public:
    Writer() = default;
    virtual ~Writer() = default;
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    // ResourceExhausted when the disk is full.
    virtual absl::Status Append(absl::string_view data) = 0;
    virtual int64_t bytes() const = 0;
    // The artifact is durable, also when it was there already. DataLoss when the bytes are not
    // those of the digest that was announced; then nothing is left of them.
    virtual absl::StatusOr<Digest> Finish() = 0;
  };

  // Bytes on their way out, unchecked: ArtifactReader checks them.
  class Source {
   public:
    Source() = default;
    virtual ~Source() = default;
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;

    // Puts the next bytes in the place of what `data` holds, at most `bytes_max`; none at the end.
    virtual absl::Status Next(int64_t bytes_max, std::string* data) = 0;
  };

  virtual ~ArtifactStore() = default;

  // A random name: how a worker sees that it shares the disk.
  virtual const std::string& store_id() const = 0;
  // Where it lies on this machine's disks; "" when it does not.
  virtual const std::string& directory() const = 0;

  virtual absl::StatusOr<std::unique_ptr<Writer>> NewWriter(const Digest& digest) = 0;
  // NotFound.
  virtual absl::StatusOr<std::unique_ptr<Source>> OpenSource(const Digest& digest) const = 0;
  // OK when the artifact is there, and then it is kept from Collect as if it had been put now: for
  // whoever answers "no need to send it again". NotFound.
  virtual absl::Status Touch(const Digest& digest) = 0;
  // Size in bytes; NotFound.
  virtual absl::StatusOr<int64_t> Size(const Digest& digest) const = 0;
  // Compares all bytes with the digest. DataLoss when they do not match; then the artifact was set
  // aside, never to be served again. NotFound.
  virtual absl::Status Verify(const Digest& digest) const = 0;

  // In order.
  virtual absl::StatusOr<std::vector<Digest>> List() const = 0;
  // Removes every artifact that is not in `live` and was last put or touched before `before`.
  // Returns how many bytes were freed.
  virtual absl::StatusOr<int64_t> Collect(const absl::flat_hash_set<Digest>& live,
                                          absl::Time before) = 0;
};

}  // namespace concur

#endif  // CONCUR_STORE_ARTIFACTS_ARTIFACT_STORE_H_
