// protobuf ↔ core: times, digests, hyperparameters, resources, states and results.
//
// Everywhere in rpc/: ToProto never fails, FromProto checks everything (rpc/validate.h) and gives
// InvalidArgument with the field's path. FromProto(ToProto(x)) is x, for any x that is valid.
//
// Stateless; thread-safe.
#ifndef CONCUR_RPC_CONVERT_VALUE_H_
#define CONCUR_RPC_CONVERT_VALUE_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "concur/v1/resources.pb.h"
#include "core/ids.h"
#include "core/job.h"
#include "core/params.h"
#include "core/resources.h"
#include "core/result.h"
#include "core/sweep.h"
#include "rpc/validate.h"

namespace concur::rpc {

// Times outside years 1 to 9999, which protobuf cannot say, become the nearest that it can.
google::protobuf::Timestamp ToProto(absl::Time time);
absl::StatusOr<absl::Time> FromProto(const google::protobuf::Timestamp& time,
                                     const FieldPath& path);

// Infinite spans become the longest that protobuf can say; leave the field unset for them instead.
google::protobuf::Duration ToProto(absl::Duration duration);
// Refuses negative spans and those above kSpanSecondsMax.
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
absl::StatusOr<Resources> FromProto(const v1::Resources& resources, const FieldPath& path);

v1::KeepPolicy ToProto(const KeepPolicy& keep);
KeepPolicy FromProto(const v1::KeepPolicy& keep);

// Tags and labels: names with values, at most kTagsMax. `name` is that of the map's field.
absl::StatusOr<Tags> TagsFromProto(const google::protobuf::Map<std::string, std::string>& tags,
                                   const FieldPath& path, absl::string_view name);
absl::StatusOr<std::map<std::string, std::string>> EnvironmentFromProto(
    const google::protobuf::Map<std::string, std::string>& env, const FieldPath& path,
    absl::string_view name);

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

v1::StateCounts ToProto(const StateCounts& counts);
StateCounts FromProto(const v1::StateCounts& counts);

// Messages are made UTF-8 and cut to kMessageBytesMax.
v1::JobResult ToProto(const JobResult& result);
// Refuses a failure class with success and success without one's absence, metrics that are not
// finite or beyond kMetricAbsMax, names or kinds twice. Metrics and artifacts come out in order.
absl::StatusOr<JobResult> FromProto(const v1::JobResult& result, const FieldPath& path);

}  // namespace concur::rpc

#endif  // CONCUR_RPC_CONVERT_VALUE_H_
