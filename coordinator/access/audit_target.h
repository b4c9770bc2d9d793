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

// Requests that change nothing have none.
template <typename Request>
AuditTarget AuditTargetOf(const Request& /*request*/) {
  return {};
}
AuditTarget AuditTargetOf(const v1::CreateSweepRequest& request);
AuditTarget AuditTargetOf(const v1::ImportSweepRequest& request);
AuditTarget AuditTargetOf(const v1::PauseSweepRequest& request);
AuditTarget AuditTargetOf(const v1::ResumeSweepRequest& request);
AuditTarget AuditTargetOf(const v1::SetPriorityRequest& request);
AuditTarget AuditTargetOf(const v1::SetBudgetRequest& request);
AuditTarget AuditTargetOf(const v1::CancelSweepRequest& request);
AuditTarget AuditTargetOf(const v1::CancelJobRequest& request);
AuditTarget AuditTargetOf(const v1::DeleteSweepRequest& request);
AuditTarget AuditTargetOf(const v1::RetryJobsRequest& request);
AuditTarget AuditTargetOf(const v1::DrainWorkerRequest& request);
AuditTarget AuditTargetOf(const v1::SetResourceRequest& request);
AuditTarget AuditTargetOf(const v1::DeleteResourceRequest& request);
AuditTarget AuditTargetOf(const v1::CreatePoolRequest& request);
AuditTarget AuditTargetOf(const v1::PausePoolRequest& request);
AuditTarget AuditTargetOf(const v1::ResumePoolRequest& request);
AuditTarget AuditTargetOf(const v1::DeletePoolRequest& request);
AuditTarget AuditTargetOf(const v1::SetSecretRequest& request);
AuditTarget AuditTargetOf(const v1::DeleteSecretRequest& request);
AuditTarget AuditTargetOf(const v1::UploadArtifactRequest& request);
// All but a worker's first and last call are routine.
AuditTarget AuditTargetOf(const v1::SyncRequest& request);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_ACCESS_AUDIT_TARGET_H_
