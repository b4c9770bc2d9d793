// SPDX-License-Identifier: Apache-2.0
// protobuf ↔ core: the environment of an approach.
//
// Stateless; thread-safe.
#ifndef CONCUR_PROTO_RPC_CONVERT_ENVIRONMENT_H_
#define CONCUR_PROTO_RPC_CONVERT_ENVIRONMENT_H_

#include "absl/status/statusor.h"
#include "concur/v1/resources.pb.h"
#include "core/fields.h"
#include "core/sweep/environment.h"

namespace concur::rpc {

v1::Environment ToProto(const Environment& environment);
// Refuses an unknown kind and a digest that is none; CheckEnvironmentSpec does the rest.
absl::StatusOr<Environment> FromProto(const v1::Environment& proto, const FieldPath& path);

}  // namespace concur::rpc

#endif  // CONCUR_PROTO_RPC_CONVERT_ENVIRONMENT_H_
