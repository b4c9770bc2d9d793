// SPDX-License-Identifier: Apache-2.0
#include "coordinator/access/page_access.h"

#include <string>
#include <vector>

#include "coordinator/access/method_table.h"
#include "coordinator/access/tokens.h"

namespace concur {
namespace {

// A change is on the screen within 500 ms: its message waits for a tick, behind the one before.
constexpr absl::Duration kUpdatePace = absl::Milliseconds(200);

}  // namespace

std::vector<page::ApiMethod> PageMethods() {
  std::vector<page::ApiMethod> methods;
  for (const MethodRule& rule : MethodRules()) {
    if (rule.page == PageUse::kNone) {
      continue;
    }
    page::ApiMethod& method = methods.emplace_back();
    method.path = std::string(rule.path);
    method.kind = rule.page == PageUse::kGet    ? page::ApiKind::kGet
                  : rule.page == PageUse::kPost ? page::ApiKind::kPost
                                                : page::ApiKind::kEvents;
    method.pace = rule.page == PageUse::kUpdates ? kUpdatePace : absl::ZeroDuration();
  }
  return methods;
}

absl::StatusOr<page::Viewer> AuthenticateViewer(Access& access, AuditLog& audit,
                                                const page::ApiCaller& caller) {
  const absl::StatusOr<Caller> known = access.Authenticate(caller.authorization);
  absl::Status status = known.status();
  AuditEntry entry;
  if (known.ok()) {
    entry.user = known->user;
    entry.token = known->token;
    if (!RoleSuffices(known->role, Role::kViewer)) {
      status = absl::PermissionDeniedError("the page is for viewers, submitters and admins");
    }
  }
  if (status.ok()) {
    return page::Viewer{known->user, std::string(RoleName(known->role))};
  }
  entry.peer = caller.peer;
  entry.method = "LogIn";
  entry.outcome = status;
  audit.Write(entry);
  return status;
}

}  // namespace concur
