// SPDX-License-Identifier: Apache-2.0
// protobuf ↔ core: pools.
//
// Stateless; thread-safe.
#ifndef CONCUR_PROTO_RPC_CONVERT_POOL_H_
#define CONCUR_PROTO_RPC_CONVERT_POOL_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "concur/v1/pool.pb.h"
#include "core/fields.h"
#include "core/pools/pool.h"

namespace concur::rpc {

v1::PoolSpec ToProto(const PoolSpec& spec);
// Refuses what ValidatePoolSpec does.
absl::StatusOr<PoolSpec> FromProto(const v1::PoolSpec& proto,
                                   const FieldPath& path = FieldPath("spec"));

// A pool's spec as the store keeps it.
std::string EncodePool(const PoolSpec& spec);
// DataLoss when the bytes are not what EncodePool gave.
absl::StatusOr<PoolSpec> DecodePool(absl::string_view bytes);

}  // namespace concur::rpc

#endif  // CONCUR_PROTO_RPC_CONVERT_POOL_H_
