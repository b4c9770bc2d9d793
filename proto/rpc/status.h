// SPDX-License-Identifier: Apache-2.0
// absl::Status ↔ grpc::Status. The codes are the same numbers; a message keeps its text, cut to
// what fits into gRPC's trailers and made UTF-8.
//
// Stateless; thread-safe.
#ifndef CONCUR_PROTO_RPC_STATUS_H_
#define CONCUR_PROTO_RPC_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace concur::rpc {

grpc::Status ToGrpcStatus(const absl::Status& status);
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace concur::rpc

#endif  // CONCUR_PROTO_RPC_STATUS_H_
