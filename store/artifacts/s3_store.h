// SPDX-License-Identifier: Apache-2.0
// Artifacts in object storage that speaks S3.
//
// Keys: PREFIX/sha256/ab/abcdef… (64 digits), PREFIX/damaged/… (set aside, never served), and
// PREFIX/store-id, by which a coordinator knows that a prefix is its own: what another one keeps
// there would be collected. An object is under its key only when the server has compared all its
// bytes with the digest, or, of a multipart upload, every part with its own and we the whole.
//
// Thread-safe. One process uses a prefix at a time.
#ifndef CONCUR_STORE_ARTIFACTS_S3_STORE_H_
#define CONCUR_STORE_ARTIFACTS_S3_STORE_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/mutex.h"
#include "store/artifacts/artifact_store.h"
#include "store/artifacts/s3_client.h"

namespace concur {

class S3Store final : public ArtifactStore {
 public:
  // Asks the server nothing. Outlived by `clock`, which is near to the server's.
  S3Store(Clock& clock, s3::Options options, std::string store_id);

  // ENDPOINT/BUCKET/PREFIX, for people.
  std::string location() const { return client_.location(); }
  // The id that the prefix bears; NotFound when it is nobody's yet. The first question to a server:
  // errors are those of s3::Client, whose codes tell what is to be mended.
  absl::StatusOr<std::string> ReadId();
  // Makes the prefix ours.
  absl::Status WriteId();

  const std::string& store_id() const override { return store_id_; }
  const std::string& directory() const override { return directory_; }
  // REQUIRES: the digest is known.
  absl::StatusOr<std::unique_ptr<Writer>> NewWriter(const Digest& digest) override;
  absl::StatusOr<std::unique_ptr<Source>> OpenSource(const Digest& digest) const override;
  absl::Status Touch(const Digest& digest) override;
  absl::StatusOr<int64_t> Size(const Digest& digest) const override;
  absl::Status Verify(const Digest& digest) const override;
  absl::StatusOr<std::vector<Digest>> List() const override;
  // Also gives up multipart uploads that were begun a day ago and not ended.
  absl::StatusOr<int64_t> Collect(const absl::flat_hash_set<Digest>& live,
                                  absl::Time before) override;

 private:
  class ObjectWriter;
  class ObjectSource;
  class Use;

  std::string Key(const Digest& digest) const;
  std::string WithPrefix(const std::string& name) const;
  absl::Status SetAside(const Digest& digest, int64_t bytes, const Digest& found) const;
  absl::StatusOr<int64_t> CollectObjects(const absl::flat_hash_set<Digest>& live,
                                         absl::Time before);
  // Returns true if the artifact may go now; then nobody uses it until EndRemoval.
  bool BeginRemoval(const Digest& digest);
  void EndRemoval(const Digest& digest);
  void AbortOldUploads();

  Clock& clock_;
  const std::string store_id_;
  const std::string directory_;
  mutable s3::Client client_;

  Mutex mu_;
  CondVar removed_;
  bool collecting_ ABSL_GUARDED_BY(mu_) = false;
  // Artifacts that were put or touched since the last collection began, and how many are at it: a
  // collection goes by a list that was made before.
  absl::flat_hash_map<Digest, int> used_ ABSL_GUARDED_BY(mu_);
  std::set<Digest> removing_ ABSL_GUARDED_BY(mu_);
};

}  // namespace concur

#endif  // CONCUR_STORE_ARTIFACTS_S3_STORE_H_
