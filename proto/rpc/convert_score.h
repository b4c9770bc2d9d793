// SPDX-License-Identifier: Apache-2.0
// protobuf ↔ core: the scores of eval jobs.
//
// Stateless; thread-safe.
#ifndef CONCUR_PROTO_RPC_CONVERT_SCORE_H_
#define CONCUR_PROTO_RPC_CONVERT_SCORE_H_

#include <string>

#include "absl/status/statusor.h"
#include "concur/v1/resources.pb.h"
#include "core/fields.h"
#include "core/job_score.h"

namespace concur::rpc {

v1::Score ToProto(const JobScore& score);
absl::StatusOr<JobScore> FromProto(const v1::Score& proto, const FieldPath& path);

// The score of an eval job by that metric.
absl::StatusOr<JobScore> ScoreFromJob(const v1::Job& proto, const std::string& metric,
                                      const FieldPath& path);

}  // namespace concur::rpc

#endif  // CONCUR_PROTO_RPC_CONVERT_SCORE_H_
