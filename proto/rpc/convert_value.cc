// SPDX-License-Identifier: Apache-2.0
#include "proto/rpc/convert_value.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "base/utf8.h"

namespace concur::rpc {
namespace {

// 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z: the range of google.protobuf.Timestamp.
constexpr int64_t kTimestampSecondsMin = -62'135'596'800;
constexpr int64_t kTimestampSecondsMax = 253'402'300'799;
// The range of google.protobuf.Duration.
constexpr int64_t kDurationSecondsMax = 315'576'000'000;
constexpr int32_t kNanosPerSecond = 1'000'000'000;

template <typename E>
absl::Status UnknownEnum(const FieldPath& path, E value) {
  const auto number = static_cast<int64_t>(value);
  return FieldError(path, number == 0
                              ? std::string("expected a value, got the unspecified one")
                              : absl::StrCat("expected a known value, got number ", number));
}

// A message that ValidateJobResult accepts: a refused result would be sent for ever.
std::string MessageText(absl::string_view message) {
  std::string text = CleanUtf8(message, kMessageBytesMax);
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

}  // namespace

google::protobuf::Timestamp ToProto(absl::Time time) {
  google::protobuf::Timestamp proto;
  const int64_t seconds = absl::ToUnixSeconds(time);  // rounds down; saturates on infinities
  if (seconds < kTimestampSecondsMin) {
    proto.set_seconds(kTimestampSecondsMin);
  } else if (seconds > kTimestampSecondsMax) {
    proto.set_seconds(kTimestampSecondsMax);
    proto.set_nanos(kNanosPerSecond - 1);
  } else {
    proto.set_seconds(seconds);
    proto.set_nanos(
        static_cast<int32_t>(absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(seconds))));
  }
  return proto;
}

absl::StatusOr<absl::Time> FromProto(const google::protobuf::Timestamp& time,
                                     const FieldPath& path) {
  CONCUR_RETURN_IF_ERROR(CheckRange(path.Field("seconds"), time.seconds(), kTimestampSecondsMin,
                                    kTimestampSecondsMax));
  CONCUR_RETURN_IF_ERROR(CheckRange(path.Field("nanos"), time.nanos(), 0, kNanosPerSecond - 1));
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

google::protobuf::Duration ToProto(absl::Duration duration) {
  google::protobuf::Duration proto;
  const absl::Duration limit = absl::Seconds(kDurationSecondsMax);
  absl::Duration rest = std::clamp(duration, -limit, limit);
  proto.set_seconds(absl::IDivDuration(rest, absl::Seconds(1), &rest));
  proto.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(rest)));
  return proto;
}

absl::StatusOr<absl::Duration> FromProto(const google::protobuf::Duration& duration,
                                         const FieldPath& path) {
  // Negative spans have no use here.
  CONCUR_RETURN_IF_ERROR(
      CheckRange(path.Field("seconds"), duration.seconds(), 0, kDurationSecondsMax));
  CONCUR_RETURN_IF_ERROR(CheckRange(path.Field("nanos"), duration.nanos(), 0, kNanosPerSecond - 1));
  return absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos());
}

absl::StatusOr<Digest> DigestFromBytes(absl::string_view bytes, const FieldPath& path) {
  if (bytes.size() != Digest().bytes.size()) {
    return FieldError(path, absl::StrCat("expected the 32 bytes of a SHA-256, got ", bytes.size()));
  }
  CONCUR_ASSIGN_OR_RETURN(const Digest digest, Digest::FromBytes(bytes));
  if (digest.IsZero()) {
    return FieldError(path, "expected a SHA-256, got zeros");
  }
  return digest;
}

v1::ParamValue ToProto(const ParamValue& value) {
  v1::ParamValue proto;
  if (const bool* flag = std::get_if<bool>(&value)) {
    proto.set_bool_value(*flag);
  } else if (const int64_t* number = std::get_if<int64_t>(&value)) {
    proto.set_int_value(*number);
  } else if (const double* real = std::get_if<double>(&value)) {
    proto.set_double_value(*real);
  } else if (const auto* written = std::get_if<WrittenNumber>(&value)) {
    proto.set_string_value(written->text);
    proto.set_is_number(true);
  } else {
    proto.set_string_value(std::get<std::string>(value));
  }
  return proto;
}

absl::StatusOr<ParamValue> FromProto(const v1::ParamValue& value, const FieldPath& path) {
  switch (value.kind_case()) {
    case v1::ParamValue::kBoolValue:
      return ParamValue(value.bool_value());
    case v1::ParamValue::kIntValue:
      return ParamValue(int64_t{value.int_value()});
    case v1::ParamValue::kDoubleValue:
      return ParamValue(value.double_value());
    case v1::ParamValue::kStringValue:
      return value.is_number() ? ParamValue(WrittenNumber{value.string_value()})
                               : ParamValue(value.string_value());
    case v1::ParamValue::KIND_NOT_SET:
      break;
  }
  return FieldError(path, "expected a value, got none");
}

google::protobuf::Map<std::string, v1::ParamValue> ToProto(const Setting& setting) {
  google::protobuf::Map<std::string, v1::ParamValue> proto;
  for (const auto& [name, value] : setting) {
    proto[name] = ToProto(value);
  }
  return proto;
}

absl::StatusOr<Setting> FromProto(const google::protobuf::Map<std::string, v1::ParamValue>& setting,
                                  const FieldPath& path, absl::string_view name) {
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field(name), setting.size(), kHyperparametersMax));
  Setting result;
  for (const auto& [key, value] : setting) {
    CONCUR_ASSIGN_OR_RETURN(result[key], FromProto(value, path.Entry(name, key)));
  }
  return result;
}

v1::Resources ToProto(const Resources& resources) {
  v1::Resources proto;
  proto.set_cpu_millis(resources.cpu_millis);
  proto.set_memory_bytes(resources.memory_bytes);
  proto.set_gpus(resources.gpus);
  proto.set_gpu_share(resources.gpu_share);
  return proto;
}

Resources FromProto(const v1::Resources& resources) {
  Resources result;
  result.cpu_millis = resources.cpu_millis();
  result.memory_bytes = resources.memory_bytes();
  result.gpus = resources.gpus();
  result.gpu_share = resources.gpu_share();
  return result;
}

v1::KeepPolicy ToProto(const KeepPolicy& keep) {
  v1::KeepPolicy proto;
  proto.set_systems(keep.systems);
  proto.set_predictions(keep.predictions);
  proto.set_logs(keep.logs);
  proto.set_outputs(keep.outputs);
  return proto;
}

KeepPolicy FromProto(const v1::KeepPolicy& keep) {
  KeepPolicy result;
  result.systems = keep.systems();
  result.predictions = keep.predictions();
  result.logs = keep.logs();
  result.outputs = keep.outputs();
  return result;
}

absl::StatusOr<std::map<std::string, std::string>> FromProto(
    const google::protobuf::Map<std::string, std::string>& map, const FieldPath& path,
    size_t count_max) {
  CONCUR_RETURN_IF_ERROR(CheckCount(path, map.size(), count_max));
  return std::map<std::string, std::string>(map.begin(), map.end());
}

// The enums of core/ start at 0 and follow the order of the protobuf ones, which have an
// unspecified value before: the static_asserts keep it so.
static_assert(v1::Job::STATE_BLOCKED == static_cast<int>(JobState::kBlocked) + 1);
static_assert(v1::Job::STATE_RUNNING == static_cast<int>(JobState::kRunning) + 1);
static_assert(v1::Job::STATE_STOPPED == static_cast<int>(JobState::kStopped) + 1);

v1::Job::State ToProto(JobState state) {
  return static_cast<v1::Job::State>(static_cast<int>(state) + 1);
}

absl::StatusOr<JobState> FromProto(v1::Job::State state, const FieldPath& path) {
  if (state < v1::Job::STATE_BLOCKED || state > v1::Job::STATE_STOPPED) {
    return UnknownEnum(path, state);
  }
  return static_cast<JobState>(static_cast<int>(state) - 1);
}

static_assert(v1::Sweep::STATE_ACTIVE == static_cast<int>(SweepState::kActive) + 1);
static_assert(v1::Sweep::STATE_SUCCEEDED == static_cast<int>(SweepState::kSucceeded) + 1);
static_assert(v1::Sweep::STATE_CANCELED == static_cast<int>(SweepState::kCanceled) + 1);

v1::Sweep::State ToProto(SweepState state) {
  return static_cast<v1::Sweep::State>(static_cast<int>(state) + 1);
}

absl::StatusOr<SweepState> FromProto(v1::Sweep::State state, const FieldPath& path) {
  if (state < v1::Sweep::STATE_ACTIVE || state > v1::Sweep::STATE_CANCELED) {
    return UnknownEnum(path, state);
  }
  return static_cast<SweepState>(static_cast<int>(state) - 1);
}

static_assert(v1::FAILURE_CLASS_FAILED == static_cast<int>(FailureClass::kFailed));
static_assert(v1::FAILURE_CLASS_LOST == static_cast<int>(FailureClass::kLost));
static_assert(v1::FAILURE_CLASS_CONFIG == static_cast<int>(FailureClass::kConfig));
static_assert(v1::FAILURE_CLASS_SERVICE == static_cast<int>(FailureClass::kService));

v1::FailureClass ToProto(FailureClass failure) {
  return static_cast<v1::FailureClass>(static_cast<int>(failure));
}

absl::StatusOr<FailureClass> FromProto(v1::FailureClass failure, const FieldPath& path) {
  if (failure < v1::FAILURE_CLASS_UNSPECIFIED || failure > v1::FAILURE_CLASS_SERVICE) {
    return UnknownEnum(path, failure);
  }
  return static_cast<FailureClass>(static_cast<int>(failure));
}

static_assert(v1::Artifact::KIND_SYSTEM == static_cast<int>(ArtifactKind::kSystem) + 1);
static_assert(v1::Artifact::KIND_OUTPUTS == static_cast<int>(ArtifactKind::kOutputs) + 1);

v1::Artifact::Kind ToProto(ArtifactKind kind) {
  return static_cast<v1::Artifact::Kind>(static_cast<int>(kind) + 1);
}

absl::StatusOr<ArtifactKind> FromProto(v1::Artifact::Kind kind, const FieldPath& path) {
  if (kind < v1::Artifact::KIND_SYSTEM || kind > v1::Artifact::KIND_OUTPUTS) {
    return UnknownEnum(path, kind);
  }
  return static_cast<ArtifactKind>(static_cast<int>(kind) - 1);
}

v1::Benchmark::Format ToProto(DataFormat format) {
  switch (format) {
    case DataFormat::kQa:
      return v1::Benchmark::FORMAT_QA;
    case DataFormat::kFile:
      return v1::Benchmark::FORMAT_FILE;
    case DataFormat::kQaVariants:
      return v1::Benchmark::FORMAT_QA_VARIANTS;
  }
  return v1::Benchmark::FORMAT_UNSPECIFIED;
}

absl::StatusOr<DataFormat> FromProto(v1::Benchmark::Format format, const FieldPath& path) {
  switch (format) {
    case v1::Benchmark::FORMAT_QA:
      return DataFormat::kQa;
    case v1::Benchmark::FORMAT_FILE:
      return DataFormat::kFile;
    case v1::Benchmark::FORMAT_QA_VARIANTS:
      return DataFormat::kQaVariants;
    default:
      return UnknownEnum(path, format);
  }
}

v1::StateCounts ToProto(const StateCounts& counts) {
  const auto of = [&counts](JobState state) { return counts[static_cast<size_t>(state)]; };
  v1::StateCounts proto;
  proto.set_blocked(of(JobState::kBlocked));
  proto.set_ready(of(JobState::kReady));
  proto.set_backoff(of(JobState::kBackoff));
  proto.set_running(of(JobState::kRunning));
  proto.set_succeeded(of(JobState::kSucceeded));
  proto.set_failed(of(JobState::kFailed));
  proto.set_canceled(of(JobState::kCanceled));
  proto.set_skipped(of(JobState::kSkipped));
  proto.set_stopped(of(JobState::kStopped));
  return proto;
}

v1::Metric ToProto(const Metric& metric) {
  const auto& [name, value, examples, interval, part] = metric;
  v1::Metric proto;
  proto.set_name(name);
  proto.set_value(value);
  proto.set_examples(examples);
  if (interval.has_value()) {
    proto.set_low(interval->low);
    proto.set_high(interval->high);
  }
  return proto;
}

void AddToParts(const Metric& metric, google::protobuf::RepeatedPtrField<v1::Part>& parts) {
  if (parts.empty() || parts.rbegin()->name() != metric.part) {
    parts.Add()->set_name(metric.part);
  }
  *parts.rbegin()->add_metrics() = ToProto(metric);
}

Metric FromProto(const v1::Metric& proto, absl::string_view part) {
  return {proto.name(), proto.value(), proto.examples(), IntervalOf(proto), std::string(part)};
}

v1::JobResult ToProto(const JobResult& result) {
  v1::JobResult proto;
  proto.set_succeeded(result.succeeded);
  proto.set_failure(ToProto(result.failure));
  proto.set_exit_code(result.exit_code);
  proto.set_message(MessageText(result.message));
  *proto.mutable_start_time() = ToProto(result.start_time);
  *proto.mutable_run_time() = ToProto(std::clamp(result.run_time, absl::ZeroDuration(), kSpanMax));
  proto.set_memory_bytes_peak(result.memory_bytes_peak);
  for (const Metric& metric : result.metrics) {
    if (metric.part.empty()) {
      *proto.add_metrics() = ToProto(metric);
    } else {
      AddToParts(metric, *proto.mutable_parts());
    }
  }
  for (const auto& [kind, digest, bytes] : result.artifacts) {
    v1::Artifact* out = proto.add_artifacts();
    out->set_kind(ToProto(kind));
    out->set_digest(digest.ToBytes());
    out->set_size_bytes(bytes);
  }
  proto.set_resumed_from(result.resumed_from);
  return proto;
}

v1::Checkpoint ToProto(const Checkpoint& checkpoint) {
  v1::Checkpoint proto;
  proto.set_digest(checkpoint.digest.ToBytes());
  proto.set_size_bytes(checkpoint.bytes);
  proto.set_attempt(checkpoint.attempt);
  return proto;
}

absl::StatusOr<Checkpoint> FromProto(const v1::Checkpoint& proto, const FieldPath& path) {
  Checkpoint checkpoint;
  CONCUR_ASSIGN_OR_RETURN(checkpoint.digest, DigestFromBytes(proto.digest(), path.Field("digest")));
  checkpoint.bytes = proto.size_bytes();
  checkpoint.attempt = proto.attempt();
  return checkpoint;
}

absl::StatusOr<JobResult> FromProto(const v1::JobResult& proto, const FieldPath& path) {
  JobResult result;
  result.succeeded = proto.succeeded();
  CONCUR_ASSIGN_OR_RETURN(result.failure, FromProto(proto.failure(), path.Field("failure")));
  result.exit_code = proto.exit_code();
  result.message = proto.message();
  if (proto.has_start_time()) {
    CONCUR_ASSIGN_OR_RETURN(result.start_time,
                            FromProto(proto.start_time(), path.Field("start_time")));
  }
  CONCUR_ASSIGN_OR_RETURN(result.run_time, FromProto(proto.run_time(), path.Field("run_time")));
  result.memory_bytes_peak = proto.memory_bytes_peak();
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("metrics"), proto.metrics_size(), kMetricsMax));
  for (const v1::Metric& metric : proto.metrics()) {
    result.metrics.push_back(FromProto(metric, ""));
  }
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("parts"), proto.parts_size(), kPartsMax));
  for (int i = 0; i < proto.parts_size(); ++i) {
    const v1::Part& part = proto.parts(i);
    const FieldPath here = path.Field("parts", i);
    CONCUR_RETURN_IF_ERROR(CheckName(here.Field("name"), part.name()));
    CONCUR_RETURN_IF_ERROR(CheckCount(here.Field("metrics"), part.metrics_size(), kPartMetricsMax));
    for (const v1::Metric& metric : part.metrics()) {
      result.metrics.push_back(FromProto(metric, part.name()));
    }
  }
  CONCUR_RETURN_IF_ERROR(
      CheckCount(path.Field("artifacts"), proto.artifacts_size(), kArtifactKinds));
  for (int i = 0; i < proto.artifacts_size(); ++i) {
    const v1::Artifact& artifact = proto.artifacts(i);
    const FieldPath here = path.Field("artifacts", i);
    ArtifactRef& ref = result.artifacts.emplace_back();
    CONCUR_ASSIGN_OR_RETURN(ref.kind, FromProto(artifact.kind(), here.Field("kind")));
    CONCUR_ASSIGN_OR_RETURN(ref.digest, DigestFromBytes(artifact.digest(), here.Field("digest")));
    ref.bytes = artifact.size_bytes();
  }
  result.resumed_from = proto.resumed_from();
  std::sort(result.metrics.begin(), result.metrics.end(), ComesBefore);
  std::sort(result.artifacts.begin(), result.artifacts.end(),
            [](const ArtifactRef& a, const ArtifactRef& b) { return a.kind < b.kind; });
  return result;
}

}  // namespace concur::rpc
