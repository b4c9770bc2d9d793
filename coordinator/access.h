// Who calls, and whether they may: one check for both services.
//
// kMethodRules gives every method its least role. A method that is not in it is refused: a new RPC
// is closed until somebody decides who may call it.
#ifndef CONCUR_COORDINATOR_ACCESS_H_
#define CONCUR_COORDINATOR_ACCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "coordinator/tokens.h"

namespace concur {

struct MethodRule {
  absl::string_view method;  // "/concur.v1.Coordinator/GetSweep"
  Role least;
  bool changes;  // something that others see: goes to the audit log
};
absl::Span<const MethodRule> MethodRules();
// Null when there is no such method.
const MethodRule* FindMethodRule(absl::string_view method);

struct Caller {
  std::string user;
  Role role = Role::kViewer;
  std::string token;  // its id, never the token itself
};

// Thread-safe.
class Access {
 public:
  // Reads the tokens of the data directory, again whenever their file has changed. `clock` outlives
  // it.
  Access(Clock& clock, std::string data_directory);
  // Lets everybody do everything, as `user`: --insecure-listen-without-authentication.
  static Access Open(Clock& clock, std::string user);
  Access(Access&& other) = delete;

  // The caller whose token this is, from the header "authorization: Bearer TOKEN". Unauthenticated
  // says what is wrong with it; Unavailable when the tokens cannot be read.
  absl::StatusOr<Caller> Authenticate(absl::string_view authorization);

  // Authenticate, and PermissionDenied unless the caller's role suffices for the method.
  absl::StatusOr<Caller> Check(absl::string_view method, absl::string_view authorization);

 private:
  struct OpenTag {};
  Access(OpenTag, Clock& clock, std::string user);
  absl::Status ReloadLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Clock& clock_;
  const std::string data_directory_;
  const std::string open_user_;  // not empty: everybody is this one

  // What tells one version of the file from the next.
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

// PermissionDenied unless the caller is the owner or an admin.
absl::Status CheckMayChange(const Caller& caller, absl::string_view sweep, absl::string_view owner);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_ACCESS_H_
