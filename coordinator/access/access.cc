// SPDX-License-Identifier: Apache-2.0
#include "coordinator/access/access.h"

#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace concur {
namespace {

constexpr absl::string_view kScheme = "Bearer ";
constexpr size_t kTokenBytesMax = 1'000;

std::string Date(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

}  // namespace

Access::Access(Clock& clock, std::string data_directory)
    : clock_(clock), data_directory_(std::move(data_directory)) {}

Access::Access(OpenTag, Clock& clock, std::string user)
    : clock_(clock), open_user_(std::move(user)) {}

Access Access::Open(Clock& clock, std::string user) {
  return Access(OpenTag(), clock, std::move(user));
}

absl::Status Access::ReloadLocked() {
  struct stat info {};
  if (stat(TokensPath(data_directory_).c_str(), &info) != 0 && errno != ENOENT) {
    return ErrnoStatus(errno, TokensPath(data_directory_), "stat");
  }
  const Version version{info.st_ino, info.st_size,
                        info.st_ctim.tv_sec * 1'000'000'000 + info.st_ctim.tv_nsec};
  if (version == version_) {
    return absl::OkStatus();
  }
  // When the new version cannot be read, the old one must not be used: a token that was revoked
  // since is live in it.
  CONCUR_ASSIGN_OR_RETURN(std::vector<TokenRecord> loaded, LoadTokens(data_directory_));
  tokens_.clear();
  for (TokenRecord& record : loaded) {
    const Digest digest = record.digest;
    tokens_[digest] = std::move(record);
  }
  version_ = version;
  return absl::OkStatus();
}

absl::StatusOr<Caller> Access::Authenticate(absl::string_view authorization) {
  ++authentications_;
  return CallerOf(authorization);
}

absl::StatusOr<Caller> Access::CallerOf(absl::string_view authorization) {
  if (!admits_) {
    return absl::UnavailableError("the coordinator starts or stops");
  }
  if (!open_user_.empty()) {
    return Caller{open_user_, Role::kAdmin, "", Sha256Of(authorization)};
  }
  if (authorization.empty()) {
    return absl::UnauthenticatedError(
        "this coordinator asks for a token: name its file with --token-file or CONCUR_TOKEN_FILE; "
        "its admin makes one with \"concur-coordinator token create\"");
  }
  if (!absl::StartsWith(authorization, kScheme) || authorization.size() > kTokenBytesMax) {
    return absl::UnauthenticatedError("authorization: expected \"Bearer TOKEN\"");
  }
  MutexLock lock(mutex_);
  return FindLocked(Sha256Of(authorization.substr(kScheme.size())));
}

absl::Status Access::CheckStillValid(const Digest& sender) {
  if (!open_user_.empty()) {
    return absl::OkStatus();
  }
  MutexLock lock(mutex_);
  return FindLocked(sender).status();
}

absl::StatusOr<Caller> Access::FindLocked(const Digest& digest) {
  const absl::Time now = clock_.Now();
  if (const absl::Status status = ReloadLocked(); !status.ok()) {
    LogError("tokens cannot be read", {{"error", std::string(status.message())}});
    return absl::UnavailableError("the coordinator cannot read its tokens; see its log");
  }
  // No constant-time comparison: timing reveals a prefix of the hash at most, and nobody can
  // choose a token by its hash.
  const auto found = tokens_.find(digest);
  if (found == tokens_.end()) {
    return absl::UnauthenticatedError(
        "this coordinator does not know the token: it is of another coordinator, or mistyped; see "
        "--token-file and CONCUR_TOKEN_FILE");
  }
  const TokenRecord& record = found->second;
  const std::string name = absl::StrCat("the token ", record.id, " of ", record.user);
  if (now >= record.revoke_time) {
    return absl::UnauthenticatedError(
        absl::StrCat(name, " was revoked on ", Date(record.revoke_time), "; ask for a new one"));
  }
  if (now >= record.expire_time) {
    return absl::UnauthenticatedError(
        absl::StrCat(name, " expired on ", Date(record.expire_time), "; ask for a new one"));
  }
  return Caller{record.user, record.role, record.id, digest};
}

absl::Status CheckMayCall(const Caller& caller, const MethodRule& rule) {
  if (RoleSuffices(caller.role, rule.least)) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(absl::StrCat("the token ", caller.token, " of ", caller.user,
                                                  " has the role ", RoleName(caller.role), "; ",
                                                  rule.name(), " asks for ", RoleName(rule.least)));
}

absl::Status CheckMayChange(const Caller& caller, absl::string_view sweep,
                            absl::string_view owner) {
  if (caller.role == Role::kAdmin || caller.user == owner) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(absl::StrCat(sweep, " belongs to ", owner, ": only ", owner,
                                                  " or an admin may change it, not ", caller.user));
}

}  // namespace concur
