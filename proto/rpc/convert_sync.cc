// SPDX-License-Identifier: Apache-2.0
#include "proto/rpc/convert_sync.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "core/sweep/sweep.h"
#include "proto/rpc/convert_environment.h"

namespace concur::rpc {
namespace {

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
  input.name = proto.name();
  CONCUR_ASSIGN_OR_RETURN(input.digest, DigestFromBytes(proto.digest(), path.Field("digest")));
  input.bytes = proto.size_bytes();
  input.suffix = proto.suffix();
  input.examples_max = proto.examples_max();
  return input;
}

absl::StatusOr<WorkerInfo> WorkerFromProto(const v1::SyncRequest& proto, const FieldPath& path) {
  WorkerInfo worker;
  worker.name = proto.worker();
  worker.incarnation = proto.incarnation();
  worker.previous_incarnation = proto.previous_incarnation();
  worker.host = proto.host();
  worker.version = proto.version();
  if (!proto.has_capacity()) {
    return FieldError(path.Field("capacity"), "expected the worker's resources, got none");
  }
  worker.capacity = rpc::FromProto(proto.capacity());
  worker.queue_max = proto.queue_max();
  worker.slots = proto.slots();
  worker.takes_services = proto.takes_services();
  CONCUR_ASSIGN_OR_RETURN(worker.labels,
                          rpc::FromProto(proto.labels(), path.Field("labels"), kTagsMax));
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("notices"), proto.notices_size(), kNoticesMax));
  worker.notices.assign(proto.notices().begin(), proto.notices().end());
  CONCUR_RETURN_IF_ERROR(
      CheckCount(path.Field("containment"), proto.containment_size(), kContainmentMax));
  worker.containment.assign(proto.containment().begin(), proto.containment().end());
  return worker;
}

absl::Status InputsFromProto(const v1::JobOrder& proto, const FieldPath& path, JobOrder* order) {
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("train"), proto.train_size(), kBenchmarksMax));
  for (int i = 0; i < proto.train_size(); ++i) {
    CONCUR_ASSIGN_OR_RETURN(JobOrder::Input input,
                            FromProto(proto.train(i), path.Field("train", i)));
    order->train.push_back(std::move(input));
  }
  CONCUR_RETURN_IF_ERROR(
      CheckCount(path.Field("validation"), proto.validation_size(), kBenchmarksMax));
  for (int i = 0; i < proto.validation_size(); ++i) {
    CONCUR_ASSIGN_OR_RETURN(JobOrder::Input input,
                            FromProto(proto.validation(i), path.Field("validation", i)));
    order->validation.push_back(std::move(input));
  }
  if (proto.has_code()) {
    const FieldPath code = path.Field("code");
    JobOrder::CodeInput& input = order->code.emplace(JobOrder::CodeInput{});
    CONCUR_ASSIGN_OR_RETURN(input.digest,
                            DigestFromBytes(proto.code().digest(), code.Field("digest")));
    CONCUR_ASSIGN_OR_RETURN(input.key, DigestFromBytes(proto.code().key(), code.Field("key")));
    input.bytes = proto.code().size_bytes();
  }
  if (!proto.program().empty()) {
    CONCUR_ASSIGN_OR_RETURN(order->program,
                            DigestFromBytes(proto.program(), path.Field("program")));
  }
  if (proto.has_environment()) {
    CONCUR_ASSIGN_OR_RETURN(order->environment,
                            rpc::FromProto(proto.environment(), path.Field("environment")));
  }
  if (proto.has_checkpoint()) {
    CONCUR_ASSIGN_OR_RETURN(order->checkpoint,
                            rpc::FromProto(proto.checkpoint(), path.Field("checkpoint")));
  }
  order->is_mixture = proto.is_mixture();
  order->mixture_seed = proto.mixture_seed();
  if (!proto.system().empty()) {
    CONCUR_ASSIGN_OR_RETURN(order->system, DigestFromBytes(proto.system(), path.Field("system")));
  }
  order->system_bytes = proto.system_bytes();
  if (proto.is_train() || order->id.job.IsService()) {
    return absl::OkStatus();
  }
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

AttemptId FromProto(const v1::AttemptId& proto) {
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
  for (const auto& [variable, secret] : order.secrets) {
    v1::JobOrder::Secret& sent = (*proto.mutable_secrets())[variable];
    sent.set_name(secret.name);
    sent.set_value(secret.value);
  }
  *proto.mutable_setting() = ToProto(order.setting);
  proto.set_setting_index(order.setting_index);
  proto.set_seed(order.seed);
  *proto.mutable_resources() = ToProto(order.resources);
  proto.set_gpu_mask(order.gpu_mask);
  proto.set_holds_units(order.holds_units);
  if (order.timeout != absl::InfiniteDuration()) {
    *proto.mutable_timeout() = ToProto(order.timeout);
  }
  for (const JobOrder::Input& input : order.train) {
    *proto.add_train() = ToProto(input);
  }
  for (const JobOrder::Input& input : order.validation) {
    *proto.add_validation() = ToProto(input);
  }
  proto.set_is_mixture(order.is_mixture);
  proto.set_mixture_seed(order.mixture_seed);
  if (!order.system.IsZero()) {
    proto.set_system(order.system.ToBytes());
  }
  proto.set_system_bytes(order.system_bytes);
  if (!order.is_train && !order.id.job.IsService()) {
    *proto.mutable_test() = ToProto(order.test);
  }
  proto.set_format(ToProto(order.format));
  *proto.mutable_keep() = ToProto(order.keep);
  if (order.code) {
    proto.mutable_code()->set_digest(order.code->digest.ToBytes());
    proto.mutable_code()->set_size_bytes(order.code->bytes);
    proto.mutable_code()->set_key(order.code->key.ToBytes());
  }
  if (order.checkpoint) {
    *proto.mutable_checkpoint() = ToProto(*order.checkpoint);
  }
  if (order.program) {
    proto.set_program(order.program->ToBytes());
  }
  if (order.environment) {
    *proto.mutable_environment() = ToProto(*order.environment);
  }
  for (const auto& [name, id] : order.services) {
    (*proto.mutable_services())[name] = ToProto(id);
  }
  proto.set_ready_http(order.ready_http);
  if (order.ready_within != absl::InfiniteDuration()) {
    *proto.mutable_ready_within() = ToProto(order.ready_within);
  }
  return proto;
}

absl::StatusOr<JobOrder> FromProto(const v1::JobOrder& proto, const FieldPath& path) {
  JobOrder order;
  order.id = FromProto(proto.id());
  order.is_train = proto.is_train();
  order.owner = proto.owner();
  order.sweep_name = proto.sweep_name();
  order.approach = proto.approach();
  order.benchmark = proto.benchmark();
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("command"), proto.command_size(), kArgumentsMax));
  order.command.assign(proto.command().begin(), proto.command().end());
  CONCUR_ASSIGN_OR_RETURN(order.env, FromProto(proto.env(), path.Field("env"), kArgumentsMax));
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("secrets"), proto.secrets().size(), kArgumentsMax));
  for (const auto& [variable, secret] : proto.secrets()) {
    order.secrets[variable] = {secret.name(), secret.value()};
  }
  CONCUR_ASSIGN_OR_RETURN(order.setting, FromProto(proto.setting(), path, "setting"));
  order.setting_index = proto.setting_index();
  order.seed = proto.seed();
  order.resources = FromProto(proto.resources());
  order.gpu_mask = proto.gpu_mask();
  order.holds_units = proto.holds_units();
  if (proto.has_timeout()) {
    CONCUR_ASSIGN_OR_RETURN(order.timeout, FromProto(proto.timeout(), path.Field("timeout")));
  }
  CONCUR_RETURN_IF_ERROR(InputsFromProto(proto, path, &order));
  CONCUR_ASSIGN_OR_RETURN(order.format, FromProto(proto.format(), path.Field("format")));
  order.keep = FromProto(proto.keep());
  for (const auto& [name, id] : proto.services()) {
    order.services[name] = FromProto(id);
  }
  order.ready_http = proto.ready_http();
  if (proto.has_ready_within()) {
    CONCUR_ASSIGN_OR_RETURN(order.ready_within,
                            FromProto(proto.ready_within(), path.Field("ready_within")));
  }
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
  proto.set_slots(request.worker.slots);
  proto.mutable_labels()->insert(request.worker.labels.begin(), request.worker.labels.end());
  for (const std::string& notice : request.worker.notices) {
    proto.add_notices(CleanUtf8(notice));
  }
  proto.mutable_containment()->Add(request.worker.containment.begin(),
                                   request.worker.containment.end());
  proto.set_sequence(request.sequence);
  proto.set_draining(request.draining);
  proto.set_shutting_down(request.shutting_down);
  for (const AttemptId& id : request.running) {
    *proto.add_running() = ToProto(id);
  }
  for (const RunningService& service : request.services) {
    v1::RunningService* out = proto.add_services();
    *out->mutable_id() = ToProto(service.id);
    out->set_ready(service.ready);
    out->set_gpu_mask(service.gpu_mask);
  }
  proto.set_takes_services(request.worker.takes_services);
  for (const AttemptProgress& progress : request.progress) {
    v1::AttemptProgress* out = proto.add_progress();
    *out->mutable_id() = ToProto(progress.id);
    out->set_done(progress.done);
    out->set_of(progress.of);
  }
  for (const FinishedAttempt& finished : request.finished) {
    v1::FinishedAttempt* out = proto.add_finished();
    *out->mutable_id() = ToProto(finished.id);
    *out->mutable_result() = ToProto(finished.result);
    if (finished.checkpoint) {
      *out->mutable_checkpoint() = ToProto(*finished.checkpoint);
    }
  }
  for (const LogChunk& chunk : request.log_chunks) {
    v1::LogChunk* out = proto.add_log_chunks();
    *out->mutable_id() = ToProto(chunk.id);
    out->set_offset(chunk.offset);
    out->set_data(chunk.data);
  }
  for (const AttemptStep& reported : request.steps) {
    v1::AttemptStep* out = proto.add_steps();
    *out->mutable_id() = ToProto(reported.id);
    out->set_step(reported.step.step);
    out->set_name(reported.step.name);
    out->set_value(reported.step.value);
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
  request.shutting_down = proto.shutting_down();
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("running"), proto.running_size(), kSyncAttemptsMax));
  request.running.reserve(proto.running_size());
  for (const v1::AttemptId& id : proto.running()) {
    request.running.push_back(FromProto(id));
  }
  CONCUR_RETURN_IF_ERROR(
      CheckCount(path.Field("services"), proto.services_size(), kSyncAttemptsMax));
  for (const v1::RunningService& service : proto.services()) {
    request.services.push_back({FromProto(service.id()), service.ready(), service.gpu_mask()});
  }
  CONCUR_RETURN_IF_ERROR(
      CheckCount(path.Field("progress"), proto.progress_size(), kSyncAttemptsMax));
  for (const v1::AttemptProgress& progress : proto.progress()) {
    request.progress.push_back({FromProto(progress.id()), progress.done(), progress.of()});
  }
  CONCUR_RETURN_IF_ERROR(
      CheckCount(path.Field("finished"), proto.finished_size(), kSyncFinishedMax));
  request.finished.reserve(proto.finished_size());
  for (int i = 0; i < proto.finished_size(); ++i) {
    const v1::FinishedAttempt& finished = proto.finished(i);
    CONCUR_ASSIGN_OR_RETURN(
        JobResult result, FromProto(finished.result(), path.Field("finished", i).Field("result")));
    FinishedAttempt& in =
        request.finished.emplace_back(FinishedAttempt{FromProto(finished.id()), std::move(result)});
    if (finished.has_checkpoint()) {
      CONCUR_ASSIGN_OR_RETURN(
          in.checkpoint,
          FromProto(finished.checkpoint(), path.Field("finished", i).Field("checkpoint")));
    }
  }
  CONCUR_RETURN_IF_ERROR(
      CheckCount(path.Field("log_chunks"), proto.log_chunks_size(), kSyncLogsMax));
  for (const v1::LogChunk& chunk : proto.log_chunks()) {
    request.log_chunks.push_back({FromProto(chunk.id()), chunk.offset(), chunk.data()});
  }
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("steps"), proto.steps_size(), kSyncStepsMax));
  request.steps.reserve(proto.steps_size());
  for (const v1::AttemptStep& reported : proto.steps()) {
    request.steps.push_back(
        {FromProto(reported.id()), {reported.step(), reported.name(), reported.value()}});
  }
  if (proto.has_time_left()) {
    CONCUR_ASSIGN_OR_RETURN(request.time_left,
                            FromProto(proto.time_left(), path.Field("time_left")));
  }
  CONCUR_ASSIGN_OR_RETURN(request.wait, FromProto(proto.wait(), path.Field("wait")));
  CONCUR_RETURN_IF_ERROR(ValidateSyncRequest(request, path));
  return request;
}

namespace {

v1::StopOrder::Reason ReasonToProto(StopReason reason) {
  switch (reason) {
    case StopReason::kCanceled:
      return v1::StopOrder::REASON_CANCELED;
    case StopReason::kEarlyStop:
      return v1::StopOrder::REASON_EARLY_STOP;
    case StopReason::kFenced:
      break;
  }
  return v1::StopOrder::REASON_FENCED;
}

StopReason ReasonFromProto(v1::StopOrder::Reason reason) {
  return reason == v1::StopOrder::REASON_CANCELED     ? StopReason::kCanceled
         : reason == v1::StopOrder::REASON_EARLY_STOP ? StopReason::kEarlyStop
                                                      : StopReason::kFenced;
}

}  // namespace

v1::SyncResponse ToProto(const SyncResponse& response) {
  v1::SyncResponse proto;
  for (const JobOrder& order : response.start) {
    *proto.add_start() = ToProto(order);
  }
  for (const StopOrder& stop : response.stop) {
    v1::StopOrder* out = proto.add_stop();
    *out->mutable_id() = ToProto(stop.id);
    out->set_reason(ReasonToProto(stop.reason));
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

absl::StatusOr<SyncResponse> FromProto(const v1::SyncResponse& proto, const FieldPath& path) {
  SyncResponse response;
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("start"), proto.start_size(), kSyncStartsMax));
  for (int i = 0; i < proto.start_size(); ++i) {
    CONCUR_ASSIGN_OR_RETURN(JobOrder order, FromProto(proto.start(i), path.Field("start", i)));
    response.start.push_back(std::move(order));
  }
  for (const v1::StopOrder& stop : proto.stop()) {
    // A reason that a newer coordinator knows: the attempt is not wanted, whatever it is called.
    response.stop.push_back({FromProto(stop.id()), ReasonFromProto(stop.reason())});
  }
  for (const v1::ForgetOrder& forget : proto.forget()) {
    response.forget.push_back({FromProto(forget.id()), forget.accepted(), forget.reason()});
  }
  for (const v1::LogOrder& log : proto.logs()) {
    response.logs.push_back({FromProto(log.id()), log.offset()});
  }
  response.drain = proto.drain();
  CONCUR_ASSIGN_OR_RETURN(response.lease, FromProto(proto.lease(), path.Field("lease")));
  response.artifact_directory = proto.artifact_directory();
  response.artifact_store_id = proto.artifact_store_id();
  CONCUR_RETURN_IF_ERROR(ValidateSyncResponse(response, path));
  return response;
}

}  // namespace concur::rpc
