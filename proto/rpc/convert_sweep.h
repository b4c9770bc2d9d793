// SPDX-License-Identifier: Apache-2.0
// protobuf ↔ core: a sweep's specification, and its form in the database.
//
// Stateless; thread-safe.
#ifndef CONCUR_PROTO_RPC_CONVERT_SWEEP_H_
#define CONCUR_PROTO_RPC_CONVERT_SWEEP_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "concur/v1/resources.pb.h"
#include "core/sweep/sweep.h"
#include "proto/rpc/convert_value.h"

namespace concur::rpc {

v1::SweepSpec ToProto(const SweepSpec& spec);

// Refuses what ValidateSweepSpec does. Unset rules have core's defaults.
absl::StatusOr<SweepSpec> FromProto(const v1::SweepSpec& spec, const FieldPath& path);
inline absl::StatusOr<SweepSpec> FromProto(const v1::SweepSpec& spec) {
  return FromProto(spec, FieldPath("spec"));
}

v1::SweepSpec::Selection ToProto(Selection select);
// Refuses the unspecified value.
absl::StatusOr<Selection> FromProto(v1::SweepSpec::Selection select, const FieldPath& path);

// A spec as bytes, for SweepRow::spec. Same spec, same bytes.
std::string EncodeSpec(const SweepSpec& spec);
// DataLoss when the bytes are not what EncodeSpec makes of a valid spec.
absl::StatusOr<SweepSpec> DecodeSpec(absl::string_view bytes);

}  // namespace concur::rpc

#endif  // CONCUR_PROTO_RPC_CONVERT_SWEEP_H_
