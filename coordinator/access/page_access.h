// SPDX-License-Identifier: Apache-2.0
// What the page may call, and who may open it.
#ifndef CONCUR_COORDINATOR_PAGE_ACCESS_H_
#define CONCUR_COORDINATOR_PAGE_ACCESS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/access.h"
#include "coordinator/audit_log.h"
#include "page/page_server.h"

namespace concur {

// The methods of the services that the page has, as MethodRules says.
std::vector<page::ApiMethod> PageMethods();

// Refusals are in the audit log, as those of calls are. A worker's token opens no page.
absl::StatusOr<page::Viewer> AuthenticateViewer(Access& access, AuditLog& audit,
                                                const page::ApiCaller& caller);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_PAGE_ACCESS_H_
