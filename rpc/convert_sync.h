// protobuf ↔ core: what workers and the coordinator tell each other (core/sync.h).
//
// Stateless; thread-safe.
#ifndef CONCUR_RPC_CONVERT_SYNC_H_
#define CONCUR_RPC_CONVERT_SYNC_H_

#include "absl/status/statusor.h"
#include "concur/v1/worker.pb.h"
#include "core/ids.h"
#include "core/job_order.h"
#include "core/sync.h"
#include "rpc/convert_value.h"
#include "rpc/validate.h"

namespace concur::rpc {

v1::AttemptId ToProto(const AttemptId& id);
// Refuses sweep 0, attempt 0 and a job beyond kJobsMax.
absl::StatusOr<AttemptId> FromProto(const v1::AttemptId& id, const FieldPath& path);

v1::JobOrder ToProto(const JobOrder& order);
absl::StatusOr<JobOrder> FromProto(const v1::JobOrder& order, const FieldPath& path);

v1::SyncRequest ToProto(const SyncRequest& request);
// Refuses an attempt that is listed twice, and what is beyond core/sync.h's limits.
absl::StatusOr<SyncRequest> FromProto(const v1::SyncRequest& request,
                                      const FieldPath& path = FieldPath("request"));

v1::SyncResponse ToProto(const SyncResponse& response);
absl::StatusOr<SyncResponse> FromProto(const v1::SyncResponse& response,
                                       const FieldPath& path = FieldPath("response"));

}  // namespace concur::rpc

#endif  // CONCUR_RPC_CONVERT_SYNC_H_
