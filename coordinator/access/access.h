// SPDX-License-Identifier: Apache-2.0
// Authenticates callers by their tokens, and says what they may do. Independent of the protocol: a
// call is authenticated once, by its "authorization" header, and carries the Caller from then on.
#ifndef CONCUR_COORDINATOR_ACCESS_ACCESS_H_
#define CONCUR_COORDINATOR_ACCESS_ACCESS_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/mutex.h"
#include "coordinator/access/method_table.h"
#include "coordinator/access/tokens.h"

namespace concur {

struct Caller {
  std::string user;
  Role role = Role::kViewer;
  std::string token = {};  // its id, never the token itself
  // Equal for calls with the same token, from which it is a hash.
  Digest sender = {};
};

// Thread-safe.
class Access {
 public:
  // Reads the tokens of the data directory, and again whenever their file has changed. `clock`
  // outlives it.
  Access(Clock& clock, std::string data_directory);
  // Lets everybody do everything, as `user`: --insecure-listen-without-authentication.
  static Access Open(Clock& clock, std::string user);
  Access(Access&& other) = delete;

  // The caller whose token this is, from the header "authorization: Bearer TOKEN". Unauthenticated
  // says what is wrong with it; Unavailable when the tokens cannot be read.
  absl::StatusOr<Caller> Authenticate(absl::string_view authorization);

  // As Authenticate, of a connection, whose calls are authenticated one by one all the same.
  absl::StatusOr<Caller> CallerOf(absl::string_view authorization);

  // Until admitted, Authenticate answers Unavailable, so that clients come back: a server is
  // reached before its users' programs can find its token, and after they cannot any more.
  void set_admits(bool admits) { admits_ = admits; }

  // OK while the token with this hash (Caller::sender) is valid, as Authenticate says it.
  absl::Status CheckStillValid(const Digest& sender);

  // Calls of Authenticate so far.
  int64_t authentications_for_test() const { return authentications_; }

 private:
  struct OpenTag {};
  Access(OpenTag, Clock& clock, std::string user);
  absl::StatusOr<Caller> FindLocked(const Digest& digest) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status ReloadLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Clock& clock_;
  const std::string data_directory_;
  const std::string open_user_;  // not empty: everybody is this user
  std::atomic<int64_t> authentications_{0};
  std::atomic<bool> admits_{true};

  // Identifies one version of the file.
  struct Version {
    ino_t inode = 0;
    int64_t size = -1;
    int64_t changed_nanos = 0;
    bool operator==(const Version&) const = default;
  };

  Mutex mutex_;
  Version version_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<Digest, TokenRecord> tokens_ ABSL_GUARDED_BY(mutex_);
};

// PermissionDenied unless the caller's role suffices for the method.
absl::Status CheckMayCall(const Caller& caller, const MethodRule& rule);

// PermissionDenied unless the caller is the owner or an admin.
absl::Status CheckMayChange(const Caller& caller, absl::string_view sweep, absl::string_view owner);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_ACCESS_ACCESS_H_
