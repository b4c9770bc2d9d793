#include "rpc/convert_sync.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"

namespace concur::rpc {
namespace {

constexpr int64_t kWaitSecondsMax = 60;
constexpr size_t kReasonBytesMax = 4'096;
constexpr size_t kLogChunksMax = 1'000;
constexpr size_t kMixturePartsMax = kBenchmarksMax;
constexpr int64_t kInt64Max = std::numeric_limits<int64_t>::max();

v1::JobOrder::Input ToProto(const JobOrder::Input& input) {
  v1::JobOrder::Input proto;
  proto.set_name(input.name);
  proto.set_digest(input.digest.ToBytes());
  proto.set_size_bytes(input.bytes);
  proto.set_suffix(input.suffix);
  proto.set_examples_max(input.examples_max);
  return proto;
}

absl::StatusOr<JobOrder::Input> FromProto(const v1::JobOrder::Input& proto, const FieldPath& path) {
  JobOrder::Input input;
  CONCUR_RETURN_IF_ERROR(CheckName(path.Field("name"), proto.name()));
  input.name = proto.name();
  CONCUR_ASSIGN_OR_RETURN(input.digest, DigestFromBytes(proto.digest(), path.Field("digest")));
  CONCUR_RETURN_IF_ERROR(
      CheckRange(path.Field("size_bytes"), proto.size_bytes(), 0, kArtifactBytesMax));
  input.bytes = proto.size_bytes();
  CONCUR_RETURN_IF_ERROR(CheckSuffix(path.Field("suffix"), proto.suffix()));
  input.suffix = proto.suffix();
  CONCUR_RETURN_IF_ERROR(
      CheckRange(path.Field("examples_max"), proto.examples_max(), 0, kInt64Max));
  input.examples_max = proto.examples_max();
  return input;
}

absl::StatusOr<WorkerInfo> WorkerFromProto(const v1::SyncRequest& proto, const FieldPath& path) {
  WorkerInfo worker;
  CONCUR_RETURN_IF_ERROR(CheckName(path.Field("worker"), proto.worker()));
  worker.name = proto.worker();
  CONCUR_RETURN_IF_ERROR(CheckName(path.Field("incarnation"), proto.incarnation()));
  worker.incarnation = proto.incarnation();
  CONCUR_RETURN_IF_ERROR(
      CheckOptionalName(path.Field("previous_incarnation"), proto.previous_incarnation()));
  worker.previous_incarnation = proto.previous_incarnation();
  if (worker.previous_incarnation == worker.incarnation) {
    return FieldError(path.Field("previous_incarnation"),
                      "expected another incarnation than the present one");
  }
  CONCUR_RETURN_IF_ERROR(CheckOptionalName(path.Field("host"), proto.host()));
  worker.host = proto.host();
  CONCUR_RETURN_IF_ERROR(CheckOptionalName(path.Field("version"), proto.version()));
  worker.version = proto.version();
  if (!proto.has_capacity()) {
    return FieldError(path.Field("capacity"), "expected the worker's resources, got none");
  }
  CONCUR_ASSIGN_OR_RETURN(worker.capacity,
                          rpc::FromProto(proto.capacity(), path.Field("capacity")));
  CONCUR_RETURN_IF_ERROR(
      CheckRange(path.Field("queue_max"), proto.queue_max(), 0, kSyncAttemptsMax));
  worker.queue_max = proto.queue_max();
  CONCUR_ASSIGN_OR_RETURN(worker.labels, TagsFromProto(proto.labels(), path, "labels"));
  return worker;
}

absl::StatusOr<LogChunk> FromProto(const v1::LogChunk& proto, const FieldPath& path) {
  LogChunk chunk;
  CONCUR_ASSIGN_OR_RETURN(chunk.id, rpc::FromProto(proto.id(), path.Field("id")));
  CONCUR_RETURN_IF_ERROR(CheckRange(path.Field("offset"), proto.offset(), 0, kArtifactBytesMax));
  chunk.offset = proto.offset();
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("data"), proto.data().size(), kLogChunkBytesMax));
  chunk.data = proto.data();
  return chunk;
}

absl::Status InputsFromProto(const v1::JobOrder& proto, const FieldPath& path, JobOrder* order) {
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("train"), proto.train_size(), kMixturePartsMax));
  for (int i = 0; i < proto.train_size(); ++i) {
    CONCUR_ASSIGN_OR_RETURN(JobOrder::Input input,
                            FromProto(proto.train(i), path.Field("train", i)));
    order->train.push_back(std::move(input));
  }
  order->is_mixture = proto.is_mixture();
  order->mixture_seed = proto.mixture_seed();
  if (proto.is_train()) {
    return proto.train_size() > 0 ? absl::OkStatus()
                                  : FieldError(path.Field("train"), "expected at least one");
  }
  if (!proto.system().empty()) {
    CONCUR_ASSIGN_OR_RETURN(order->system, DigestFromBytes(proto.system(), path.Field("system")));
  }
  CONCUR_RETURN_IF_ERROR(
      CheckRange(path.Field("system_bytes"), proto.system_bytes(), 0, kArtifactBytesMax));
  order->system_bytes = proto.system_bytes();
  CONCUR_ASSIGN_OR_RETURN(order->test, FromProto(proto.test(), path.Field("test")));
  return absl::OkStatus();
}

}  // namespace

v1::AttemptId ToProto(const AttemptId& id) {
  v1::AttemptId proto;
  proto.set_sweep(id.job.sweep.number);
  proto.set_job(id.job.index);
  proto.set_attempt(id.attempt.number);
  return proto;
}

absl::StatusOr<AttemptId> FromProto(const v1::AttemptId& proto, const FieldPath& path) {
  // Sweep numbers stand in the database as signed 64-bit numbers.
  if (proto.sweep() == 0 || proto.sweep() > static_cast<uint64_t>(kInt64Max)) {
    return FieldError(path.Field("sweep"),
                      absl::StrCat("expected 1 to ", kInt64Max, ", got ", proto.sweep()));
  }
  CONCUR_RETURN_IF_ERROR(CheckRange(path.Field("job"), proto.job(), 0, int64_t{kJobsMax} - 1));
  CONCUR_RETURN_IF_ERROR(
      CheckRange(path.Field("attempt"), proto.attempt(), 1, std::numeric_limits<uint32_t>::max()));
  return AttemptId{JobId{SweepId{proto.sweep()}, proto.job()}, Attempt{proto.attempt()}};
}

v1::JobOrder ToProto(const JobOrder& order) {
  v1::JobOrder proto;
  *proto.mutable_id() = ToProto(order.id);
  proto.set_is_train(order.is_train);
  proto.set_owner(order.owner);
  proto.set_sweep_name(order.sweep_name);
  proto.set_approach(order.approach);
  proto.set_benchmark(order.benchmark);
  for (const std::string& argument : order.command) {
    proto.add_command(argument);
  }
  proto.mutable_env()->insert(order.env.begin(), order.env.end());
  *proto.mutable_setting() = ToProto(order.setting);
  proto.set_setting_index(order.setting_index);
  proto.set_seed(order.seed);
  *proto.mutable_resources() = ToProto(order.resources);
  proto.set_gpu_mask(order.gpu_mask);
  if (order.timeout != absl::InfiniteDuration()) {
    *proto.mutable_timeout() = ToProto(order.timeout);
  }
  for (const JobOrder::Input& input : order.train) {
    *proto.add_train() = ToProto(input);
  }
  proto.set_is_mixture(order.is_mixture);
  proto.set_mixture_seed(order.mixture_seed);
  if (!order.is_train) {
    if (!order.system.IsZero()) {
      proto.set_system(order.system.ToBytes());
    }
    proto.set_system_bytes(order.system_bytes);
    *proto.mutable_test() = ToProto(order.test);
  }
  proto.set_format(ToProto(order.format));
  *proto.mutable_keep() = ToProto(order.keep);
  return proto;
}

absl::StatusOr<JobOrder> FromProto(const v1::JobOrder& proto, const FieldPath& path) {
  JobOrder order;
  CONCUR_ASSIGN_OR_RETURN(order.id, FromProto(proto.id(), path.Field("id")));
  order.is_train = proto.is_train();
  CONCUR_RETURN_IF_ERROR(CheckOptionalName(path.Field("owner"), proto.owner()));
  order.owner = proto.owner();
  CONCUR_RETURN_IF_ERROR(CheckName(path.Field("sweep_name"), proto.sweep_name()));
  order.sweep_name = proto.sweep_name();
  CONCUR_RETURN_IF_ERROR(CheckName(path.Field("approach"), proto.approach()));
  order.approach = proto.approach();
  CONCUR_RETURN_IF_ERROR(CheckName(path.Field("benchmark"), proto.benchmark()));
  order.benchmark = proto.benchmark();
  if (proto.command_size() == 0) {
    return FieldError(path.Field("command"), "expected a program, got an empty list");
  }
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("command"), proto.command_size(), kArgvMax));
  for (int i = 0; i < proto.command_size(); ++i) {
    CONCUR_RETURN_IF_ERROR(
        CheckText(path.Field("command", i), proto.command(i), kArgumentBytesMax));
  }
  order.command.assign(proto.command().begin(), proto.command().end());
  CONCUR_ASSIGN_OR_RETURN(order.env, EnvironmentFromProto(proto.env(), path, "env"));
  CONCUR_ASSIGN_OR_RETURN(order.setting, FromProto(proto.setting(), path, "setting"));
  order.setting_index = proto.setting_index();
  order.seed = proto.seed();
  CONCUR_ASSIGN_OR_RETURN(order.resources, FromProto(proto.resources(), path.Field("resources")));
  order.gpu_mask = proto.gpu_mask();
  if (proto.has_timeout()) {
    CONCUR_ASSIGN_OR_RETURN(order.timeout, FromProto(proto.timeout(), path.Field("timeout")));
  }
  CONCUR_RETURN_IF_ERROR(InputsFromProto(proto, path, &order));
  CONCUR_ASSIGN_OR_RETURN(order.format, FromProto(proto.format(), path.Field("format")));
  order.keep = FromProto(proto.keep());
  return order;
}

v1::SyncRequest ToProto(const SyncRequest& request) {
  v1::SyncRequest proto;
  proto.set_worker(request.worker.name);
  proto.set_incarnation(request.worker.incarnation);
  proto.set_previous_incarnation(request.worker.previous_incarnation);
  proto.set_host(CleanUtf8(request.worker.host));
  proto.set_version(request.worker.version);
  *proto.mutable_capacity() = ToProto(request.worker.capacity);
  proto.set_queue_max(request.worker.queue_max);
  proto.mutable_labels()->insert(request.worker.labels.begin(), request.worker.labels.end());
  proto.set_sequence(request.sequence);
  proto.set_draining(request.draining);
  proto.set_leaving(request.leaving);
  for (const AttemptId& id : request.running) {
    *proto.add_running() = ToProto(id);
  }
  for (const FinishedAttempt& finished : request.finished) {
    v1::FinishedAttempt* out = proto.add_finished();
    *out->mutable_id() = ToProto(finished.id);
    *out->mutable_result() = ToProto(finished.result);
  }
  for (const LogChunk& chunk : request.log_chunks) {
    v1::LogChunk* out = proto.add_log_chunks();
    *out->mutable_id() = ToProto(chunk.id);
    out->set_offset(chunk.offset);
    out->set_data(chunk.data);
  }
  *proto.mutable_wait() = ToProto(request.wait);
  if (request.time_left != absl::InfiniteDuration()) {
    *proto.mutable_time_left() = ToProto(std::max(request.time_left, absl::ZeroDuration()));
  }
  return proto;
}

absl::StatusOr<SyncRequest> FromProto(const v1::SyncRequest& proto, const FieldPath& path) {
  SyncRequest request;
  CONCUR_ASSIGN_OR_RETURN(request.worker, WorkerFromProto(proto, path));
  request.sequence = proto.sequence();
  request.draining = proto.draining();
  request.leaving = proto.leaving();
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("running"), proto.running_size(), kSyncAttemptsMax));
  CONCUR_RETURN_IF_ERROR(
      CheckCount(path.Field("finished"), proto.finished_size(), kSyncFinishedMax));
  CONCUR_RETURN_IF_ERROR(
      CheckCount(path.Field("log_chunks"), proto.log_chunks_size(), kLogChunksMax));
  absl::flat_hash_set<AttemptId> seen;
  request.running.reserve(proto.running_size());
  for (int i = 0; i < proto.running_size(); ++i) {
    const FieldPath here = path.Field("running", i);
    CONCUR_ASSIGN_OR_RETURN(const AttemptId id, FromProto(proto.running(i), here));
    if (!seen.insert(id).second) {
      return FieldError(here, "expected each attempt once");
    }
    request.running.push_back(id);
  }
  request.finished.reserve(proto.finished_size());
  for (int i = 0; i < proto.finished_size(); ++i) {
    const FieldPath here = path.Field("finished", i);
    FinishedAttempt finished;
    CONCUR_ASSIGN_OR_RETURN(finished.id, FromProto(proto.finished(i).id(), here.Field("id")));
    if (!seen.insert(finished.id).second) {
      return FieldError(here.Field("id"), "expected each attempt once, running or finished");
    }
    CONCUR_ASSIGN_OR_RETURN(finished.result,
                            FromProto(proto.finished(i).result(), here.Field("result")));
    request.finished.push_back(std::move(finished));
  }
  for (int i = 0; i < proto.log_chunks_size(); ++i) {
    CONCUR_ASSIGN_OR_RETURN(LogChunk chunk,
                            FromProto(proto.log_chunks(i), path.Field("log_chunks", i)));
    request.log_chunks.push_back(std::move(chunk));
  }
  if (proto.has_time_left()) {
    CONCUR_ASSIGN_OR_RETURN(request.time_left,
                            FromProto(proto.time_left(), path.Field("time_left")));
  }
  CONCUR_ASSIGN_OR_RETURN(request.wait, FromProto(proto.wait(), path.Field("wait")));
  if (request.wait > absl::Seconds(kWaitSecondsMax)) {
    return FieldError(path.Field("wait"),
                      absl::StrCat("expected at most ", kWaitSecondsMax, " s, got ",
                                   absl::FormatDuration(request.wait)));
  }
  return request;
}

v1::SyncResponse ToProto(const SyncResponse& response) {
  v1::SyncResponse proto;
  for (const JobOrder& order : response.start) {
    *proto.add_start() = ToProto(order);
  }
  for (const StopOrder& stop : response.stop) {
    v1::StopOrder* out = proto.add_stop();
    *out->mutable_id() = ToProto(stop.id);
    out->set_reason(stop.reason == StopReason::kCanceled ? v1::StopOrder::REASON_CANCELED
                                                         : v1::StopOrder::REASON_FENCED);
  }
  for (const ForgetOrder& forget : response.forget) {
    v1::ForgetOrder* out = proto.add_forget();
    *out->mutable_id() = ToProto(forget.id);
    out->set_accepted(forget.accepted);
    out->set_reason(CleanUtf8(forget.reason));
  }
  for (const LogOrder& log : response.logs) {
    v1::LogOrder* out = proto.add_logs();
    *out->mutable_id() = ToProto(log.id);
    out->set_offset(log.offset);
  }
  proto.set_drain(response.drain);
  *proto.mutable_lease() = ToProto(response.lease);
  proto.set_artifact_directory(response.artifact_directory);
  proto.set_artifact_store_id(response.artifact_store_id);
  return proto;
}

namespace {

absl::Status OrdersFromProto(const v1::SyncResponse& proto, const FieldPath& path,
                             SyncResponse* response) {
  // An answer may stop or forget all that a request listed.
  constexpr size_t kOrdersMax = kSyncAttemptsMax + kSyncFinishedMax;
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("start"), proto.start_size(), kSyncStartsMax));
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("stop"), proto.stop_size(), kOrdersMax));
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("forget"), proto.forget_size(), kOrdersMax));
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("logs"), proto.logs_size(), kLogChunksMax));
  for (int i = 0; i < proto.start_size(); ++i) {
    CONCUR_ASSIGN_OR_RETURN(JobOrder order, FromProto(proto.start(i), path.Field("start", i)));
    response->start.push_back(std::move(order));
  }
  for (int i = 0; i < proto.stop_size(); ++i) {
    const FieldPath here = path.Field("stop", i);
    StopOrder stop;
    CONCUR_ASSIGN_OR_RETURN(stop.id, FromProto(proto.stop(i).id(), here.Field("id")));
    // A reason that a newer coordinator knows: the attempt is not wanted, whatever it is called.
    stop.reason = proto.stop(i).reason() == v1::StopOrder::REASON_CANCELED ? StopReason::kCanceled
                                                                           : StopReason::kFenced;
    response->stop.push_back(stop);
  }
  for (int i = 0; i < proto.forget_size(); ++i) {
    const FieldPath here = path.Field("forget", i);
    ForgetOrder forget;
    CONCUR_ASSIGN_OR_RETURN(forget.id, FromProto(proto.forget(i).id(), here.Field("id")));
    forget.accepted = proto.forget(i).accepted();
    CONCUR_RETURN_IF_ERROR(
        CheckText(here.Field("reason"), proto.forget(i).reason(), kReasonBytesMax));
    forget.reason = proto.forget(i).reason();
    response->forget.push_back(std::move(forget));
  }
  for (int i = 0; i < proto.logs_size(); ++i) {
    const FieldPath here = path.Field("logs", i);
    LogOrder log;
    CONCUR_ASSIGN_OR_RETURN(log.id, FromProto(proto.logs(i).id(), here.Field("id")));
    CONCUR_RETURN_IF_ERROR(
        CheckRange(here.Field("offset"), proto.logs(i).offset(), 0, kArtifactBytesMax));
    log.offset = proto.logs(i).offset();
    response->logs.push_back(log);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SyncResponse> FromProto(const v1::SyncResponse& proto, const FieldPath& path) {
  SyncResponse response;
  CONCUR_RETURN_IF_ERROR(OrdersFromProto(proto, path, &response));
  response.drain = proto.drain();
  CONCUR_ASSIGN_OR_RETURN(response.lease, FromProto(proto.lease(), path.Field("lease")));
  if (response.lease <= absl::ZeroDuration()) {
    return FieldError(path.Field("lease"), "expected more than 0 s");
  }
  CONCUR_RETURN_IF_ERROR(
      CheckText(path.Field("artifact_directory"), proto.artifact_directory(), kPathBytesMax));
  response.artifact_directory = proto.artifact_directory();
  CONCUR_RETURN_IF_ERROR(
      CheckOptionalName(path.Field("artifact_store_id"), proto.artifact_store_id()));
  response.artifact_store_id = proto.artifact_store_id();
  return response;
}

}  // namespace concur::rpc
