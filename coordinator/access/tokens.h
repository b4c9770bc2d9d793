// SPDX-License-Identifier: Apache-2.0
// Bearer tokens: who may call a coordinator. DATA/tokens.json holds them, one record each, with the
// SHA-256 of the token and never the token itself.
//
// A token is 256 random bits. Slow, salted hashes (bcrypt, Argon2) protect short passwords against
// guessing; 256 random bits cannot be guessed at any speed, so that one SHA-256 suffices to make a
// stolen file useless, and a check costs a microsecond.
//
// The file is replaced as a whole under a lock: `concur-coordinator token …` works while the
// coordinator runs, which uses the new file from the next call on.
//
// Thread-safe (stateless).
#ifndef CONCUR_COORDINATOR_ACCESS_TOKENS_H_
#define CONCUR_COORDINATOR_ACCESS_TOKENS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/digest.h"

namespace concur {

// Permissions of a token. Each of viewer, submitter and admin may also do what the one before may;
// a worker may only call the worker service, which an admin may, too.
enum class Role { kViewer, kSubmitter, kWorker, kAdmin };
absl::string_view RoleName(Role role);
// InvalidArgument lists the roles.
absl::StatusOr<Role> RoleFromName(absl::string_view name);
// Returns true if `role` may do what requires `least`.
bool RoleSuffices(Role role, Role least);

struct TokenRecord {
  std::string id;    // "t3": its name in commands and logs
  std::string user;  // owner of the sweeps that it submits
  Role role = Role::kViewer;
  Digest digest;  // the token's
  absl::Time create_time;
  absl::Time expire_time = absl::InfiniteFuture();
  absl::Time revoke_time = absl::InfiniteFuture();

  // "live", "expired" or "revoked".
  absl::string_view StateAt(absl::Time now) const;
};

struct NewToken {
  TokenRecord record;
  std::string token;  // shown once, and not stored
};

std::string TokensPath(const std::string& data_directory);
// The file with the token of the user who runs the coordinator, in clear text, with mode 0600.
std::string LocalTokenPath(const std::string& data_directory);

// In order of creation; none when there is no file. DataLoss when it is malformed.
absl::StatusOr<std::vector<TokenRecord>> LoadTokens(const std::string& data_directory);

// Adds a token. InvalidArgument when `user` is not a valid name or the time has passed;
// ResourceExhausted beyond kTokensMax, after tokens that ended 90 days ago were dropped.
absl::StatusOr<NewToken> CreateToken(const std::string& data_directory, const std::string& user,
                                     Role role, absl::Time expire_time, absl::Time now);

// Ends a token now. NotFound; OK when it has ended already.
absl::StatusOr<TokenRecord> RevokeToken(const std::string& data_directory, absl::string_view id,
                                        absl::Time now);

// Makes sure that LocalTokenPath holds a live admin token of `user`, where programs of the same
// user on this machine find it.
absl::Status EnsureLocalToken(const std::string& data_directory, const std::string& user,
                              absl::Time now);

// The token for workers of pools, of role worker: that in DATA/pilot-token, created when there is
// no live one.
absl::StatusOr<std::string> EnsurePilotToken(const std::string& data_directory, absl::Time now);

inline constexpr size_t kTokensMax = 100'000;

}  // namespace concur

#endif  // CONCUR_COORDINATOR_ACCESS_TOKENS_H_
