// SPDX-License-Identifier: Apache-2.0
// Methods that the page may call, and the check of who may open it.
#ifndef CONCUR_COORDINATOR_ACCESS_PAGE_ACCESS_H_
#define CONCUR_COORDINATOR_ACCESS_PAGE_ACCESS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/access/access.h"
#include "coordinator/access/audit_log.h"
#include "coordinator/page/page_server.h"

namespace concur {

// The methods of the services that the page has, as MethodRules says.
std::vector<page::ApiMethod> PageMethods();

// Refusals are in the audit log, as those of calls are. A worker's token opens no page.
absl::StatusOr<page::Viewer> AuthenticateViewer(Access& access, AuditLog& audit,
                                                const page::ApiCaller& caller);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_ACCESS_PAGE_ACCESS_H_
