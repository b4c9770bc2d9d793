// SPDX-License-Identifier: Apache-2.0
// protobuf ↔ core: times, digests, hyperparameters, resources, states and results.
//
// Everywhere in proto/rpc/: ToProto never fails. FromProto converts shapes: it refuses, as
// InvalidArgument with the field's path, what core's types cannot hold (unknown enum values, absent
// messages, digests of another length) and lists and maps beyond core's limits before it copies
// them. What the values must be is for core's Validate functions to say; FromProto of a whole
// request, response or specification calls them. FromProto(ToProto(x)) is x, for any x that is
// valid.
//
// Stateless; thread-safe.
#ifndef CONCUR_PROTO_RPC_CONVERT_VALUE_H_
#define CONCUR_PROTO_RPC_CONVERT_VALUE_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "concur/v1/resources.pb.h"
#include "core/fields.h"
#include "core/ids.h"
#include "core/job.h"
#include "core/resources.h"
#include "core/result.h"
#include "core/sweep/params.h"
#include "core/sweep/sweep.h"

namespace concur::rpc {

// Times outside years 1 to 9999, which protobuf cannot say, become the nearest that it can.
google::protobuf::Timestamp ToProto(absl::Time time);
absl::StatusOr<absl::Time> FromProto(const google::protobuf::Timestamp& time,
                                     const FieldPath& path);

// Infinite spans become the longest that protobuf can say; leave the field unset for them instead.
google::protobuf::Duration ToProto(absl::Duration duration);
// Refuses negative spans.
absl::StatusOr<absl::Duration> FromProto(const google::protobuf::Duration& duration,
                                         const FieldPath& path);

// 32 bytes, not all zero.
absl::StatusOr<Digest> DigestFromBytes(absl::string_view bytes, const FieldPath& path);

v1::ParamValue ToProto(const ParamValue& value);
absl::StatusOr<ParamValue> FromProto(const v1::ParamValue& value, const FieldPath& path);

google::protobuf::Map<std::string, v1::ParamValue> ToProto(const Setting& setting);
// `name` is that of the map's field.
absl::StatusOr<Setting> FromProto(const google::protobuf::Map<std::string, v1::ParamValue>& setting,
                                  const FieldPath& path, absl::string_view name);

v1::Resources ToProto(const Resources& resources);
Resources FromProto(const v1::Resources& resources);

v1::KeepPolicy ToProto(const KeepPolicy& keep);
KeepPolicy FromProto(const v1::KeepPolicy& keep);

// Tags, labels and environments.
absl::StatusOr<std::map<std::string, std::string>> FromProto(
    const google::protobuf::Map<std::string, std::string>& map, const FieldPath& path,
    size_t count_max);

v1::Job::State ToProto(JobState state);
absl::StatusOr<JobState> FromProto(v1::Job::State state, const FieldPath& path);
v1::Sweep::State ToProto(SweepState state);
absl::StatusOr<SweepState> FromProto(v1::Sweep::State state, const FieldPath& path);
v1::FailureClass ToProto(FailureClass failure);
absl::StatusOr<FailureClass> FromProto(v1::FailureClass failure, const FieldPath& path);
v1::Artifact::Kind ToProto(ArtifactKind kind);
absl::StatusOr<ArtifactKind> FromProto(v1::Artifact::Kind kind, const FieldPath& path);
v1::Benchmark::Format ToProto(DataFormat format);
absl::StatusOr<DataFormat> FromProto(v1::Benchmark::Format format, const FieldPath& path);

// The interval of a Metric or a Score; unset unless both ends are there.
template <typename Proto>
std::optional<MetricInterval> IntervalOf(const Proto& proto) {
  return proto.has_low() && proto.has_high()
             ? std::optional(MetricInterval{proto.low(), proto.high()})
             : std::nullopt;
}

v1::StateCounts ToProto(const StateCounts& counts);

// Without its part.
v1::Metric ToProto(const Metric& metric);
Metric FromProto(const v1::Metric& proto, absl::string_view part);
// To the last of `parts` if that is its part, else to a new one.
void AddToParts(const Metric& metric, google::protobuf::RepeatedPtrField<v1::Part>& parts);
// Messages are made UTF-8 and cut to kMessageBytesMax.
v1::JobResult ToProto(const JobResult& result);
// Metrics and artifacts come out in order.
absl::StatusOr<JobResult> FromProto(const v1::JobResult& result, const FieldPath& path);
v1::Checkpoint ToProto(const Checkpoint& checkpoint);
absl::StatusOr<Checkpoint> FromProto(const v1::Checkpoint& proto, const FieldPath& path);

}  // namespace concur::rpc

#endif  // CONCUR_PROTO_RPC_CONVERT_VALUE_H_
