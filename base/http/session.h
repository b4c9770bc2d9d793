// SPDX-License-Identifier: Apache-2.0
// Sessions of browsers: a token, sealed into a cookie.
//
// The cookie holds the token encrypted and authenticated (AES-256-GCM) by a key of this data
// directory, and until when it may be used. So the server stores no sessions: there is nothing that
// strangers could fill, a session survives a restart of the coordinator, and revoking the token
// ends it at the next call, since every call is authenticated by the token itself.
//
// Cookies do not know ports: another user's server on another port of this machine is sent them,
// too. So the cookie alone opens nothing. A request also carries a value that the page was given at
// login and keeps in its origin's storage, which knows ports (X-Concur-CSRF).
//
// Immutable; thread-safe.
#ifndef CONCUR_BASE_HTTP_SESSION_H_
#define CONCUR_BASE_HTTP_SESSION_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace concur::http {

inline constexpr size_t kPageKeyBytes = 32;

// 32 random bytes in `path` (mode 0600), made when there is no such file. DataLoss when the file
// has another size.
absl::StatusOr<std::string> EnsurePageKey(const std::string& path);

// `bytes` random bytes as URL-safe base64.
std::string RandomText(size_t bytes);

// True if both are the same; takes a time that does not depend on where they differ.
bool SameSecret(absl::string_view a, absl::string_view b);

class SessionSealer {
 public:
  // REQUIRES: key.size() == kPageKeyBytes.
  explicit SessionSealer(std::string key);

  // A cookie's value: URL-safe base64.
  std::string Seal(absl::string_view token, absl::Time expire_time) const;
  // The token. Unauthenticated when this key did not seal the cookie or when it has expired.
  absl::StatusOr<std::string> Open(absl::string_view cookie, absl::Time now) const;
  // Value that a request with that cookie must carry, too: an HMAC of the cookie.
  std::string CsrfOf(absl::string_view cookie) const;

 private:
  const std::string key_;
};

}  // namespace concur::http

#endif  // CONCUR_BASE_HTTP_SESSION_H_
