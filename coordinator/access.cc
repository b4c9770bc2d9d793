#include "coordinator/access.h"

#include <sys/stat.h>

#include <algorithm>
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

constexpr MethodRule kMethodRules[] = {
    {"/concur.v1.Coordinator/CreateSweep", Role::kSubmitter, true},
    {"/concur.v1.Coordinator/GetSweep", Role::kViewer, false},
    {"/concur.v1.Coordinator/ListSweeps", Role::kViewer, false},
    {"/concur.v1.Coordinator/PauseSweep", Role::kSubmitter, true},
    {"/concur.v1.Coordinator/ResumeSweep", Role::kSubmitter, true},
    {"/concur.v1.Coordinator/CancelSweep", Role::kSubmitter, true},
    {"/concur.v1.Coordinator/DeleteSweep", Role::kSubmitter, true},
    {"/concur.v1.Coordinator/RetryJobs", Role::kSubmitter, true},
    {"/concur.v1.Coordinator/ListJobs", Role::kViewer, false},
    {"/concur.v1.Coordinator/GetJob", Role::kViewer, false},
    {"/concur.v1.Coordinator/WatchSweep", Role::kViewer, false},
    {"/concur.v1.Coordinator/ListWorkers", Role::kViewer, false},
    {"/concur.v1.Coordinator/ListDurations", Role::kViewer, false},
    {"/concur.v1.Coordinator/DrainWorker", Role::kAdmin, true},
    {"/concur.v1.Coordinator/ListPools", Role::kViewer, false},
    {"/concur.v1.Coordinator/GetPool", Role::kViewer, false},
    {"/concur.v1.Coordinator/CreatePool", Role::kAdmin, true},
    {"/concur.v1.Coordinator/PausePool", Role::kAdmin, true},
    {"/concur.v1.Coordinator/ResumePool", Role::kAdmin, true},
    {"/concur.v1.Coordinator/DeletePool", Role::kAdmin, true},
    {"/concur.v1.Coordinator/ListScores", Role::kViewer, false},
    {"/concur.v1.Coordinator/GetMatrix", Role::kViewer, false},
    {"/concur.v1.Coordinator/ReadLog", Role::kViewer, false},
    // Also keeps what it finds from collection: part of submitting.
    {"/concur.v1.Coordinator/FindMissingArtifacts", Role::kSubmitter, false},
    // As FindMissingArtifacts.
    {"/concur.v1.Coordinator/GetUploadOffset", Role::kSubmitter, false},
    {"/concur.v1.Coordinator/UploadArtifact", Role::kSubmitter, true},
    {"/concur.v1.Coordinator/DownloadArtifact", Role::kViewer, false},
    {"/concur.v1.WorkerGateway/Sync", Role::kWorker, true},
    {"/concur.v1.WorkerGateway/GetUploadOffset", Role::kWorker, false},
    {"/concur.v1.WorkerGateway/UploadArtifact", Role::kWorker, true},
    {"/concur.v1.WorkerGateway/DownloadArtifact", Role::kWorker, false},
};

constexpr absl::string_view kScheme = "Bearer ";
constexpr size_t kTokenBytesMax = 1'000;

std::string Date(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

}  // namespace

absl::Span<const MethodRule> MethodRules() { return kMethodRules; }

const MethodRule* FindMethodRule(absl::string_view method) {
  const auto* found =
      std::find_if(std::begin(kMethodRules), std::end(kMethodRules),
                   [method](const MethodRule& rule) { return rule.method == method; });
  return found == std::end(kMethodRules) ? nullptr : found;
}

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
  // A version that cannot be read is no reason to go by an older one, in which a token may still
  // live that was revoked since.
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
  if (!open_user_.empty()) {
    return Caller{open_user_, Role::kAdmin, ""};
  }
  if (authorization.empty()) {
    return absl::UnauthenticatedError(
        "this coordinator asks for a token: name its file with --token-file or CONCUR_TOKEN_FILE; "
        "its admin makes one with \"concur-coordinator token create\"");
  }
  if (!absl::StartsWith(authorization, kScheme) || authorization.size() > kTokenBytesMax) {
    return absl::UnauthenticatedError("authorization: expected \"Bearer TOKEN\"");
  }
  const Digest digest = Sha256Of(authorization.substr(kScheme.size()));
  const absl::Time now = clock_.Now();
  MutexLock lock(mutex_);
  if (const absl::Status status = ReloadLocked(); !status.ok()) {
    LogError("tokens cannot be read", {{"error", std::string(status.message())}});
    return absl::UnavailableError("the coordinator cannot read its tokens; see its log");
  }
  // Timing tells at most how far a hash agrees, and nobody can aim at a hash.
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
  return Caller{record.user, record.role, record.id};
}

absl::StatusOr<Caller> Access::Check(absl::string_view method, absl::string_view authorization) {
  CONCUR_ASSIGN_OR_RETURN(Caller caller, Authenticate(authorization));
  const MethodRule* rule = FindMethodRule(method);
  if (rule == nullptr) {
    return absl::PermissionDeniedError(absl::StrCat(method, " is in no rule of this coordinator"));
  }
  if (!RoleSuffices(caller.role, rule->least)) {
    return absl::PermissionDeniedError(absl::StrCat(
        "the token ", caller.token, " of ", caller.user, " has the role ", RoleName(caller.role),
        "; ", method.substr(method.rfind('/') + 1), " asks for ", RoleName(rule->least)));
  }
  return caller;
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
