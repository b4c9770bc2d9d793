// SPDX-License-Identifier: Apache-2.0
// protobuf ↔ core: the messages between workers and the coordinator (core/sync/sync.h).
//
// Stateless; thread-safe.
#ifndef CONCUR_PROTO_RPC_CONVERT_SYNC_H_
#define CONCUR_PROTO_RPC_CONVERT_SYNC_H_

#include "absl/status/statusor.h"
#include "concur/v1/worker.pb.h"
#include "core/fields.h"
#include "core/ids.h"
#include "core/sync/job_order.h"
#include "core/sync/sync.h"
#include "proto/rpc/convert_value.h"

namespace concur::rpc {

v1::AttemptId ToProto(const AttemptId& id);
AttemptId FromProto(const v1::AttemptId& id);

v1::JobOrder ToProto(const JobOrder& order);
absl::StatusOr<JobOrder> FromProto(const v1::JobOrder& order, const FieldPath& path);

v1::SyncRequest ToProto(const SyncRequest& request);
// Refuses what ValidateSyncRequest does.
absl::StatusOr<SyncRequest> FromProto(const v1::SyncRequest& request,
                                      const FieldPath& path = FieldPath("request"));

v1::SyncResponse ToProto(const SyncResponse& response);
// Refuses what ValidateSyncResponse does.
absl::StatusOr<SyncResponse> FromProto(const v1::SyncResponse& response,
                                       const FieldPath& path = FieldPath("response"));

}  // namespace concur::rpc

#endif  // CONCUR_PROTO_RPC_CONVERT_SYNC_H_
