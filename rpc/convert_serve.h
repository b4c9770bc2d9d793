// SPDX-License-Identifier: Apache-2.0
// The messages of AskSystem and ServeSystem <-> core.
#ifndef CONCUR_RPC_CONVERT_SERVE_H_
#define CONCUR_RPC_CONVERT_SERVE_H_

#include "absl/status/statusor.h"
#include "concur/v1/worker.pb.h"
#include "core/fields.h"
#include "core/serve_order.h"

namespace concur::rpc {

v1::ServeOrder ToProto(const ServeOrder& order);
v1::ServedQuestion ToProto(const ServedQuestion& question);
v1::ServedAnswer ToProto(const ServedAnswer& answer);
// Refuse what the Validate functions of core/serve_order.h do.
absl::StatusOr<ServeOrder> FromProto(const v1::ServeOrder& proto,
                                     const FieldPath& path = FieldPath("order"));
absl::StatusOr<ServedQuestion> FromProto(const v1::ServedQuestion& proto,
                                         const FieldPath& path = FieldPath("question"));
absl::StatusOr<ServedAnswer> FromProto(const v1::ServedAnswer& proto,
                                       const FieldPath& path = FieldPath("answer"));

}  // namespace concur::rpc

#endif  // CONCUR_RPC_CONVERT_SERVE_H_
