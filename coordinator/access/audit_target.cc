// SPDX-License-Identifier: Apache-2.0
#include "coordinator/access/audit_target.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace concur {

AuditTarget AuditTargetOf(const v1::CreateSweepRequest& request) {
  return {absl::StrCat(request.spec().name(), request.validate_only() ? " (only checked)" : "",
                       ", request ", request.request_id())};
}

AuditTarget AuditTargetOf(const v1::ImportSweepRequest& request) {
  return {absl::StrCat(request.spec().name(), ", ", request.results_size(), " results, request ",
                       request.request_id())};
}

AuditTarget AuditTargetOf(const v1::SetBudgetRequest& request) {
  return {absl::StrCat(request.sweep(), ", $", request.usd())};
}

AuditTarget AuditTargetOf(const v1::RetryJobsRequest& request) {
  return {absl::StrCat(request.sweep(), ", ",
                       request.jobs().empty() ? "all" : absl::StrCat(request.jobs_size()), " jobs",
                       request.rerun_succeeded() ? ", also succeeded ones" : "")};
}

AuditTarget AuditTargetOf(const v1::DrainWorkerRequest& request) {
  return {absl::StrCat(request.worker(), request.undo() ? ", undo" : "")};
}

AuditTarget AuditTargetOf(const v1::SetResourceRequest& request) {
  return {absl::StrCat(request.name(), ", ", request.amount())};
}

AuditTarget AuditTargetOf(const v1::CreatePoolRequest& request) { return {request.spec().name()}; }

AuditTarget AuditTargetOf(const v1::DeletePoolRequest& request) {
  return {absl::StrCat(request.pool(), request.at_once() ? ", at once" : "")};
}

AuditTarget AuditTargetOf(const v1::UploadArtifactRequest& request) {
  return {absl::BytesToHexString(absl::string_view(request.digest()).substr(0, 32))};
}

AuditTarget AuditTargetOf(const v1::SyncRequest& request) {
  return {absl::StrCat(request.worker(), ", incarnation ", request.incarnation(),
                       request.shutting_down() ? ", leaves" : ""),
          /*is_routine=*/request.sequence() > 1 && !request.shutting_down()};
}

}  // namespace concur
