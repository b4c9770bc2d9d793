// SPDX-License-Identifier: Apache-2.0
#include "proto/rpc/convert_pool.h"

#include <string>
#include <vector>

#include "base/status_macros.h"
#include "proto/rpc/convert_value.h"

namespace concur::rpc {
namespace {

absl::StatusOr<absl::Duration> SpanOr(bool is_set, const google::protobuf::Duration& proto,
                                      const FieldPath& path, absl::Duration standard) {
  return is_set ? FromProto(proto, path) : absl::StatusOr<absl::Duration>(standard);
}

v1::SlurmSettings SlurmToProto(const SlurmSettings& slurm) {
  v1::SlurmSettings proto;
  proto.set_partition(slurm.partition);
  proto.set_account(slurm.account);
  proto.set_qos(slurm.qos);
  proto.set_constraint(slurm.constraint);
  for (const std::string& argument : slurm.arguments) {
    proto.add_arguments(argument);
  }
  proto.set_log_directory(slurm.log_directory);
  proto.set_array_max(slurm.array_max);
  return proto;
}

SlurmSettings SlurmFromProto(const v1::SlurmSettings& proto) {
  SlurmSettings slurm;
  slurm.partition = proto.partition();
  slurm.account = proto.account();
  slurm.qos = proto.qos();
  slurm.constraint = proto.constraint();
  slurm.arguments.assign(proto.arguments().begin(), proto.arguments().end());
  slurm.log_directory = proto.log_directory();
  slurm.array_max = proto.array_max() == 0 ? SlurmSettings().array_max : proto.array_max();
  return slurm;
}

v1::KubernetesSettings KubernetesToProto(const KubernetesSettings& kubernetes) {
  v1::KubernetesSettings proto;
  proto.set_namespace_(kubernetes.name_space);
  proto.set_image(kubernetes.image);
  proto.set_service_account(kubernetes.service_account);
  proto.mutable_node_selector()->insert(kubernetes.node_selector.begin(),
                                        kubernetes.node_selector.end());
  proto.set_gpu_resource(kubernetes.gpu_resource);
  for (const Toleration& toleration : kubernetes.tolerations) {
    v1::KubernetesSettings::Toleration& to = *proto.add_tolerations();
    to.set_key(toleration.key);
    to.set_value(toleration.value);
    to.set_effect(toleration.effect);
  }
  for (const PodVolume& volume : kubernetes.volumes) {
    v1::KubernetesSettings::Volume& to = *proto.add_volumes();
    to.set_kind(
        static_cast<v1::KubernetesSettings::Volume::Kind>(static_cast<int>(volume.kind) + 1));
    to.set_source(volume.source);
    to.set_bytes_max(volume.bytes_max);
    to.set_mount_path(volume.mount_path);
    to.set_sub_path(volume.sub_path);
    to.set_read_only(volume.read_only);
  }
  for (const std::string& name : kubernetes.image_pull_secrets) {
    proto.add_image_pull_secrets(name);
  }
  proto.set_priority_class(kubernetes.priority_class);
  proto.set_runtime_class(kubernetes.runtime_class);
  proto.mutable_labels()->insert(kubernetes.labels.begin(), kubernetes.labels.end());
  proto.mutable_annotations()->insert(kubernetes.annotations.begin(), kubernetes.annotations.end());
  proto.mutable_env()->insert(kubernetes.env.begin(), kubernetes.env.end());
  proto.set_affinity(kubernetes.affinity);
  proto.set_image_pull_policy(kubernetes.image_pull_policy);
  proto.set_worker_image(kubernetes.worker_image);
  proto.set_job_images(kubernetes.job_images);
  return proto;
}

absl::StatusOr<KubernetesSettings> KubernetesFromProto(const v1::KubernetesSettings& proto,
                                                       const FieldPath& path) {
  KubernetesSettings kubernetes;
  kubernetes.name_space = proto.namespace_();
  kubernetes.image = proto.image();
  kubernetes.service_account = proto.service_account();
  kubernetes.node_selector.insert(proto.node_selector().begin(), proto.node_selector().end());
  if (!proto.gpu_resource().empty()) {
    kubernetes.gpu_resource = proto.gpu_resource();
  }
  for (const v1::KubernetesSettings::Toleration& toleration : proto.tolerations()) {
    kubernetes.tolerations.push_back({toleration.key(), toleration.value(), toleration.effect()});
  }
  for (int i = 0; i < proto.volumes_size(); ++i) {
    const v1::KubernetesSettings::Volume& volume = proto.volumes(i);
    CONCUR_RETURN_IF_ERROR(
        CheckRange(path.Field("volumes", i).Field("kind"), volume.kind(), 1, kVolumeKinds));
    kubernetes.volumes.push_back({static_cast<VolumeKind>(volume.kind() - 1), volume.source(),
                                  volume.bytes_max(), volume.mount_path(), volume.sub_path(),
                                  volume.read_only()});
  }
  kubernetes.image_pull_secrets.assign(proto.image_pull_secrets().begin(),
                                       proto.image_pull_secrets().end());
  kubernetes.priority_class = proto.priority_class();
  kubernetes.runtime_class = proto.runtime_class();
  kubernetes.labels.insert(proto.labels().begin(), proto.labels().end());
  kubernetes.annotations.insert(proto.annotations().begin(), proto.annotations().end());
  kubernetes.env.insert(proto.env().begin(), proto.env().end());
  kubernetes.affinity = proto.affinity();
  kubernetes.image_pull_policy = proto.image_pull_policy();
  kubernetes.worker_image = proto.worker_image();
  kubernetes.job_images = proto.job_images();
  return kubernetes;
}

v1::CommandSettings CommandToProto(const CommandSettings& command) {
  v1::CommandSettings proto;
  proto.set_directory(command.directory);
  proto.mutable_arguments()->Assign(command.arguments.begin(), command.arguments.end());
  proto.set_token_directory(command.token_directory);
  return proto;
}

CommandSettings CommandFromProto(const v1::CommandSettings& proto) {
  return {proto.directory(),
          {proto.arguments().begin(), proto.arguments().end()},
          proto.token_directory()};
}

}  // namespace

v1::PoolSpec ToProto(const PoolSpec& spec) {
  v1::PoolSpec proto;
  proto.set_name(spec.name);
  proto.set_provider(static_cast<v1::PoolSpec::Provider>(static_cast<int>(spec.provider) + 1));
  proto.set_workers_min(spec.workers_min);
  proto.set_workers_max(spec.workers_max);
  *proto.mutable_resources() = ToProto(spec.resources);
  proto.mutable_labels()->insert(spec.labels.begin(), spec.labels.end());
  if (spec.time_limit != absl::InfiniteDuration()) {
    *proto.mutable_time_limit() = ToProto(spec.time_limit);
  }
  *proto.mutable_drain_margin() = ToProto(spec.drain_margin);
  *proto.mutable_idle_timeout() = ToProto(spec.idle_timeout);
  *proto.mutable_start_timeout() = ToProto(spec.start_timeout);
  proto.set_coordinator(spec.coordinator);
  proto.set_worker_program(spec.worker_program);
  proto.set_work_directory(spec.work_directory);
  for (const std::string& line : spec.setup) {
    proto.add_setup(line);
  }
  proto.set_gpus_min(spec.gpus_min);
  proto.mutable_env_pass()->Assign(spec.env_pass.begin(), spec.env_pass.end());
  *proto.mutable_slurm() = SlurmToProto(spec.slurm);
  *proto.mutable_kubernetes() = KubernetesToProto(spec.kubernetes);
  *proto.mutable_command() = CommandToProto(spec.command);
  return proto;
}

absl::StatusOr<PoolSpec> FromProto(const v1::PoolSpec& proto, const FieldPath& path) {
  const PoolSpec standard;
  PoolSpec spec;
  spec.name = proto.name();
  CONCUR_RETURN_IF_ERROR(CheckRange(path.Field("provider"), proto.provider(), 1, kProviderKinds));
  spec.provider = static_cast<ProviderKind>(proto.provider() - 1);
  spec.workers_min = proto.workers_min();
  spec.workers_max = proto.workers_max();
  if (!proto.has_resources()) {
    return FieldError(path.Field("resources"), "expected what each worker has, got nothing");
  }
  spec.resources = FromProto(proto.resources());
  CONCUR_ASSIGN_OR_RETURN(spec.labels,
                          FromProto(proto.labels(), path.Field("labels"), kPoolLabelsMax));
  CONCUR_ASSIGN_OR_RETURN(spec.time_limit, SpanOr(proto.has_time_limit(), proto.time_limit(),
                                                  path.Field("time_limit"), standard.time_limit));
  CONCUR_ASSIGN_OR_RETURN(spec.drain_margin,
                          SpanOr(proto.has_drain_margin(), proto.drain_margin(),
                                 path.Field("drain_margin"), standard.drain_margin));
  CONCUR_ASSIGN_OR_RETURN(spec.idle_timeout,
                          SpanOr(proto.has_idle_timeout(), proto.idle_timeout(),
                                 path.Field("idle_timeout"), standard.idle_timeout));
  CONCUR_ASSIGN_OR_RETURN(spec.start_timeout,
                          SpanOr(proto.has_start_timeout(), proto.start_timeout(),
                                 path.Field("start_timeout"), standard.start_timeout));
  spec.coordinator = proto.coordinator();
  spec.worker_program = proto.worker_program();
  spec.work_directory = proto.work_directory();
  spec.setup.assign(proto.setup().begin(), proto.setup().end());
  spec.gpus_min = proto.gpus_min();
  spec.env_pass.assign(proto.env_pass().begin(), proto.env_pass().end());
  spec.slurm = SlurmFromProto(proto.slurm());
  CONCUR_ASSIGN_OR_RETURN(spec.kubernetes,
                          KubernetesFromProto(proto.kubernetes(), path.Field("kubernetes")));
  spec.command = CommandFromProto(proto.command());
  CONCUR_RETURN_IF_ERROR(ValidatePoolSpec(spec, path));
  return spec;
}

std::string EncodePool(const PoolSpec& spec) { return ToProto(spec).SerializeAsString(); }

absl::StatusOr<PoolSpec> DecodePool(absl::string_view bytes) {
  v1::PoolSpec proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::DataLossError("not a pool");
  }
  absl::StatusOr<PoolSpec> spec = FromProto(proto, FieldPath("pool"));
  return spec.ok() ? spec : absl::DataLossError(spec.status().message());
}

}  // namespace concur::rpc
