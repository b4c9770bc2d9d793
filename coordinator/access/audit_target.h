// SPDX-License-Identifier: Apache-2.0
// The sweep, job, worker, resource, pool or secret that a request concerns, for the audit log.
//
// Stateless.
#ifndef CONCUR_COORDINATOR_ACCESS_AUDIT_TARGET_H_
#define CONCUR_COORDINATOR_ACCESS_AUDIT_TARGET_H_

#include <string>

#include "concur/v1/coordinator.pb.h"
#include "concur/v1/worker.pb.h"

namespace concur {

struct AuditTarget {
  std::string text = {};
  // One of many such calls: not written to the log unless it was refused.
  bool is_routine = false;
};

// The sweep, job, worker, pool or thing that the request names; "" if it names none. Requests that
// say more have a function of their own.
template <typename Request>
AuditTarget AuditTargetOf(const Request& request) {
  if constexpr (requires { request.sweep(); }) {
    return {request.sweep()};
  } else if constexpr (requires { request.job(); }) {
    return {request.job()};
  } else if constexpr (requires { request.worker(); }) {
    return {request.worker()};
  } else if constexpr (requires { request.pool(); }) {
    return {request.pool()};
  } else if constexpr (requires { request.name(); }) {
    return {request.name()};
  } else {
    return {};
  }
}
AuditTarget AuditTargetOf(const v1::CreateSweepRequest& request);
AuditTarget AuditTargetOf(const v1::ImportSweepRequest& request);
AuditTarget AuditTargetOf(const v1::SetBudgetRequest& request);
AuditTarget AuditTargetOf(const v1::RetryJobsRequest& request);
AuditTarget AuditTargetOf(const v1::DrainWorkerRequest& request);
AuditTarget AuditTargetOf(const v1::SetResourceRequest& request);
AuditTarget AuditTargetOf(const v1::CreatePoolRequest& request);
AuditTarget AuditTargetOf(const v1::DeletePoolRequest& request);
AuditTarget AuditTargetOf(const v1::UploadArtifactRequest& request);
// All but a worker's first and last call are routine.
AuditTarget AuditTargetOf(const v1::SyncRequest& request);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_ACCESS_AUDIT_TARGET_H_
