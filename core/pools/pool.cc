// SPDX-License-Identifier: Apache-2.0
#include "core/pools/pool.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/escape.h"
#include "base/status_macros.h"
#include "core/names.h"
#include "core/sweep/environment.h"
#include "core/sweep/sweep.h"

namespace concur {
namespace {

constexpr std::array<absl::string_view, kVolumeKinds> kVolumeNames = {
    "claim", "secret", "config_map", "host_path", "memory"};
constexpr std::array<absl::string_view, kProviderKinds> kKindNames = {"local", "slurm",
                                                                      "kubernetes", "command"};

// Text that goes into a script or a command line.
absl::Status CheckPoolText(const FieldPath& path, absl::string_view text) {
  return CheckLine(path, text, kPoolTextBytesMax);
}

absl::Status CheckLines(const FieldPath& path, absl::string_view field,
                        const std::vector<std::string>& lines) {
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field(field), lines.size(), kPoolLinesMax));
  for (size_t i = 0; i < lines.size(); ++i) {
    CONCUR_RETURN_IF_ERROR(CheckPoolText(path.Field(field, i), lines[i]));
  }
  return absl::OkStatus();
}

absl::Status CheckPoolLabels(const FieldPath& path, const Labels& labels) {
  CONCUR_RETURN_IF_ERROR(CheckCount(path, labels.size(), kPoolLabelsMax));
  for (const auto& [name, value] : labels) {
    if (name.empty() || absl::StrContains(name, '=')) {
      return FieldError(path, absl::StrCat("expected names without \"=\", got ", Quoted(name)));
    }
    // As those of the workers, which refuse others when they register.
    CONCUR_RETURN_IF_ERROR(CheckName(path, name));
    CONCUR_RETURN_IF_ERROR(CheckLine(path.Field(name), value));
    if (name == kImageLabel) {
      CONCUR_RETURN_IF_ERROR(AtField(path.Field(name), CheckImageReference(value)));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckPoolName(const FieldPath& path, const std::string& name) {
  CONCUR_RETURN_IF_ERROR(AtField(path, ValidateName(name)));
  return CheckLine(path, name, kPoolNameBytesMax);
}

absl::Status CheckNumbers(const FieldPath& path, const PoolSpec& spec) {
  CONCUR_RETURN_IF_ERROR(
      CheckRange(path.Field("workers.max"), spec.workers_max, 1, kPilotsPerPoolMax));
  if (spec.workers_min < 0 || spec.workers_min > spec.workers_max) {
    return FieldError(
        path.Field("workers.min"),
        absl::StrCat("expected 0 to workers.max, ", spec.workers_max, ", got ", spec.workers_min));
  }
  CONCUR_RETURN_IF_ERROR(CheckCapacity(path.Field("resources"), spec.resources));
  if (spec.gpus_min < 0 || spec.gpus_min > spec.resources.gpus) {
    return FieldError(path.Field("accept.gpus_min"),
                      absl::StrCat("expected 0 to the GPUs of a worker, ", spec.resources.gpus,
                                   ", got ", spec.gpus_min));
  }
  return spec.resources.cpu_millis > 0
             ? absl::OkStatus()
             : FieldError(path.Field("resources"),
                          absl::StrCat("expected some CPU, got ", ResourcesText(spec.resources)));
}

absl::Status CheckTimes(const FieldPath& path, const PoolSpec& spec) {
  CONCUR_RETURN_IF_ERROR(
      CheckTimeLimit(path.Field("time_limit"), spec.time_limit, kPoolTimeLimitMin));
  CONCUR_RETURN_IF_ERROR(
      CheckSpan(path.Field("drain_margin"), spec.drain_margin, absl::ZeroDuration()));
  if (spec.drain_margin > spec.time_limit / 2) {
    return FieldError(
        path.Field("drain_margin"),
        absl::StrCat("expected at most half of time_limit, ", absl::FormatDuration(spec.time_limit),
                     ", got ", absl::FormatDuration(spec.drain_margin)));
  }
  CONCUR_RETURN_IF_ERROR(CheckSpan(path.Field("idle_timeout"), spec.idle_timeout, kPoolTimeoutMin));
  return CheckSpan(path.Field("start_timeout"), spec.start_timeout, kPoolTimeoutMin);
}

absl::Status CheckSlurm(const FieldPath& path, const SlurmSettings& slurm) {
  for (const auto& [field, text] :
       {std::pair("partition", &slurm.partition), std::pair("account", &slurm.account),
        std::pair("qos", &slurm.qos), std::pair("constraint", &slurm.constraint),
        std::pair("log_directory", &slurm.log_directory)}) {
    CONCUR_RETURN_IF_ERROR(CheckPoolText(path.Field(field), *text));
  }
  CONCUR_RETURN_IF_ERROR(CheckLines(path, "arguments", slurm.arguments));
  CONCUR_RETURN_IF_ERROR(CheckRange(path.Field("array_max"), slurm.array_max, 1, kSlurmArrayMax));
  // By these a pilot is found again; another value would lose it.
  for (const char* reserved : {"-J", "--job-name", "-a", "--array", "--parsable", "--wrap"}) {
    for (size_t i = 0; i < slurm.arguments.size(); ++i) {
      const std::string& argument = slurm.arguments[i];
      if (argument == reserved || absl::StartsWith(argument, absl::StrCat(reserved, "="))) {
        return FieldError(path.Field("arguments", i),
                          absl::StrCat("expected no ", reserved, ", which Concur sets itself"));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckCommand(const FieldPath& path, const PoolSpec& spec) {
  const std::string& directory = spec.command.directory;
  CONCUR_RETURN_IF_ERROR(CheckPoolText(path.Field("directory"), directory));
  if (spec.provider == ProviderKind::kCommand && !absl::StartsWith(directory, "/")) {
    return FieldError(path.Field("directory"),
                      absl::StrCat("expected the absolute path of the directory of the programs ",
                                   "submit, list and cancel, got \"", directory, "\""));
  }
  const std::string& tokens = spec.command.token_directory;
  CONCUR_RETURN_IF_ERROR(CheckPoolText(path.Field("token_directory"), tokens));
  if (!tokens.empty() && !absl::StartsWith(tokens, "/")) {
    return FieldError(path.Field("token_directory"),
                      absl::StrCat("expected an absolute path, got \"", tokens, "\""));
  }
  return CheckLines(path, "arguments", spec.command.arguments);
}

absl::Status CheckToleration(const FieldPath& path, const Toleration& toleration) {
  CONCUR_RETURN_IF_ERROR(CheckPoolText(path.Field("key"), toleration.key));
  CONCUR_RETURN_IF_ERROR(CheckPoolText(path.Field("value"), toleration.value));
  if (toleration.key.empty() && !toleration.value.empty()) {
    return FieldError(path.Field("key"),
                      absl::StrCat("expected the key whose value is \"", toleration.value, "\""));
  }
  for (const char* effect : {"", "NoSchedule", "PreferNoSchedule", "NoExecute"}) {
    if (toleration.effect == effect) {
      return absl::OkStatus();
    }
  }
  return FieldError(path.Field("effect"),
                    absl::StrCat("expected NoSchedule, PreferNoSchedule or NoExecute, got \"",
                                 toleration.effect, "\""));
}

bool IsAbsolutePath(absl::string_view path) {
  return absl::StartsWith(path, "/") && path.size() > 1 && !absl::StrContains(path, "..") &&
         !absl::StrContains(path, ':');
}

absl::Status CheckVolume(const FieldPath& path, const PodVolume& volume) {
  const FieldPath mount = path.Field("path");
  CONCUR_RETURN_IF_ERROR(CheckPoolText(mount, volume.mount_path));
  CONCUR_RETURN_IF_ERROR(CheckPoolText(path.Field("sub_path"), volume.sub_path));
  const FieldPath source =
      path.Field(static_cast<int>(volume.kind) < kVolumeKinds ? VolumeKindName(volume.kind)
                                                              : absl::string_view("kind"));
  CONCUR_RETURN_IF_ERROR(CheckPoolText(source, volume.source));
  if (!IsAbsolutePath(volume.mount_path)) {
    return FieldError(mount,
                      absl::StrCat("expected an absolute path without \"..\" and \":\", got \"",
                                   volume.mount_path, "\""));
  }
  if (absl::StartsWith(volume.sub_path, "/") || absl::StrContains(volume.sub_path, "..")) {
    return FieldError(
        path.Field("sub_path"),
        absl::StrCat("expected a path within the volume, got \"", volume.sub_path, "\""));
  }
  if (volume.kind == VolumeKind::kMemory) {
    return volume.bytes_max > 0 && volume.source.empty()
               ? absl::OkStatus()
               : FieldError(source, "expected how much memory it may take");
  }
  if (volume.bytes_max != 0 || volume.source.empty()) {
    return FieldError(source, "expected its name, and no size");
  }
  if (volume.kind == VolumeKind::kHostPath && !IsAbsolutePath(volume.source)) {
    return FieldError(
        source, absl::StrCat("expected an absolute path of the node, got \"", volume.source, "\""));
  }
  return absl::OkStatus();
}

// Concur's own mount that a mount at `path` would hide; "" when there is none.
std::string OwnMountAt(const PoolSpec& spec, const std::string& path) {
  for (const std::string& own :
       {spec.work_directory.empty() ? std::string(kPodWorkDirectory) : spec.work_directory,
        std::string(kPodCredentials), std::string(kPodPrograms), std::string("/tmp")}) {
    if (path == own) {
      return own;
    }
  }
  return "";
}

absl::Status CheckVolumes(const FieldPath& path, const PoolSpec& spec) {
  const std::vector<PodVolume>& volumes = spec.kubernetes.volumes;
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("volumes"), volumes.size(), kPoolVolumesMax));
  std::set<std::string> paths;
  for (size_t i = 0; i < volumes.size(); ++i) {
    const FieldPath here = path.Field("volumes", i);
    CONCUR_RETURN_IF_ERROR(CheckVolume(here, volumes[i]));
    const std::string& mount = volumes[i].mount_path;
    if (!OwnMountAt(spec, mount).empty() || !paths.insert(mount).second) {
      return FieldError(
          here.Field("path"),
          absl::StrCat("expected a place where nothing else is mounted, got \"", mount, "\""));
    }
  }
  return absl::OkStatus();
}

// "nvidia.com/gpu.product: A100": names and values as Kubernetes takes them for labels.
absl::Status CheckKubeLabels(const FieldPath& path, const Labels& selector) {
  CONCUR_RETURN_IF_ERROR(CheckCount(path, selector.size(), kPoolVolumesMax));
  const auto is_word = [](absl::string_view text, absl::string_view more) {
    return std::all_of(text.begin(), text.end(), [more](char c) {
      return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains(more, c);
    });
  };
  for (const auto& [name, value] : selector) {
    if (name.empty() || !is_word(name, "-_./") || !is_word(value, "-_.")) {
      return FieldError(path,
                        absl::StrCat("expected a label such as nvidia.com/gpu.product: A100, got ",
                                     Quoted(absl::StrCat(name, ": ", value))));
    }
    CONCUR_RETURN_IF_ERROR(CheckPoolText(path.Field(name), value));
  }
  return absl::OkStatus();
}

// Annotations hold any text.
absl::Status CheckAnnotations(const FieldPath& path, const Labels& annotations) {
  CONCUR_RETURN_IF_ERROR(CheckCount(path, annotations.size(), kPoolVolumesMax));
  Labels names;
  for (const auto& [name, value] : annotations) {
    names[name];
    CONCUR_RETURN_IF_ERROR(CheckPoolText(path.Field(name), value));
  }
  return CheckKubeLabels(path, names);
}

absl::Status CheckPodEnv(const FieldPath& path, const Labels& env) {
  CONCUR_RETURN_IF_ERROR(CheckCount(path, env.size(), kPoolVolumesMax));
  for (const auto& [name, value] : env) {
    if (absl::StrContains(name, '*')) {
      return FieldError(path, absl::StrCat("expected the name of a variable, got ", Quoted(name)));
    }
    CONCUR_RETURN_IF_ERROR(CheckEnvPattern(path, name));
    CONCUR_RETURN_IF_ERROR(CheckPoolText(path.Field(name), value));
  }
  return absl::OkStatus();
}

absl::Status CheckKubernetes(const FieldPath& path, const PoolSpec& spec) {
  const KubernetesSettings& kubernetes = spec.kubernetes;
  for (const auto& [field, text] :
       {std::pair("namespace", &kubernetes.name_space), std::pair("image", &kubernetes.image),
        std::pair("worker_image", &kubernetes.worker_image),
        std::pair("service_account", &kubernetes.service_account),
        std::pair("gpu_resource", &kubernetes.gpu_resource),
        std::pair("priority_class", &kubernetes.priority_class),
        std::pair("runtime_class", &kubernetes.runtime_class)}) {
    CONCUR_RETURN_IF_ERROR(CheckPoolText(path.Field(field), *text));
  }
  CONCUR_RETURN_IF_ERROR(CheckKubeLabels(path.Field("node_selector"), kubernetes.node_selector));
  CONCUR_RETURN_IF_ERROR(CheckLines(path, "image_pull_secrets", kubernetes.image_pull_secrets));
  CONCUR_RETURN_IF_ERROR(
      CheckCount(path.Field("tolerations"), kubernetes.tolerations.size(), kPoolVolumesMax));
  for (size_t i = 0; i < kubernetes.tolerations.size(); ++i) {
    CONCUR_RETURN_IF_ERROR(
        CheckToleration(path.Field("tolerations", i), kubernetes.tolerations[i]));
  }
  CONCUR_RETURN_IF_ERROR(CheckKubeLabels(path.Field("labels"), kubernetes.labels));
  CONCUR_RETURN_IF_ERROR(CheckAnnotations(path.Field("annotations"), kubernetes.annotations));
  CONCUR_RETURN_IF_ERROR(CheckPodEnv(path.Field("env"), kubernetes.env));
  CONCUR_RETURN_IF_ERROR(CheckPoolText(path.Field("affinity"), kubernetes.affinity));
  const std::string& policy = kubernetes.image_pull_policy;
  if (!policy.empty() && policy != "Always" && policy != "IfNotPresent" && policy != "Never") {
    return FieldError(path.Field("image_pull_policy"),
                      absl::StrCat("expected Always, IfNotPresent or Never, got \"", policy, "\""));
  }
  if (kubernetes.job_images && spec.labels.contains(kImageLabel)) {
    return FieldError(path.Field("job_images"),
                      absl::StrCat("expected no label ", kImageLabel, " of the pool beside it"));
  }
  if (kubernetes.job_images && spec.workers_min == spec.workers_max) {
    return FieldError(path.Field("job_images"),
                      "expected workers.min below workers.max: pods of jobs' images find no room");
  }
  return CheckVolumes(path, spec);
}

}  // namespace

absl::Status CheckEnvPattern(const FieldPath& path, absl::string_view pattern) {
  absl::string_view name = pattern;
  absl::ConsumeSuffix(&name, "*");
  const bool good = !name.empty() && name.size() <= kPoolTextBytesMax &&
                    !absl::ascii_isdigit(static_cast<unsigned char>(name[0])) &&
                    std::all_of(name.begin(), name.end(), [](char c) {
                      return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
                    });
  if (!good) {
    return FieldError(path, absl::StrCat("expected the name of a variable, or the beginning of "
                                         "names as in CUDA_*, got ",
                                         Quoted(pattern)));
  }
  // The worker's own secrets and settings are none of a job's business.
  if (absl::StartsWith(name, "CONCUR_")) {
    return FieldError(path,
                      absl::StrCat("expected no variable of Concur's own, got ", Quoted(pattern)));
  }
  return absl::OkStatus();
}

int32_t DefaultGpusMin(const Resources& worker) { return worker.gpus > 0 ? 1 : 0; }

absl::string_view VolumeKindName(VolumeKind kind) { return NameIn(kVolumeNames, kind); }

absl::string_view ProviderKindName(ProviderKind kind) { return NameIn(kKindNames, kind); }

absl::StatusOr<ProviderKind> ProviderKindFromName(absl::string_view name) {
  return FromNameIn<ProviderKind>(kKindNames, "provider", name);
}

absl::Status ValidatePoolSpec(const PoolSpec& spec, const FieldPath& path) {
  CONCUR_RETURN_IF_ERROR(CheckPoolName(path.Field("name"), spec.name));
  if (static_cast<int>(spec.provider) >= kProviderKinds) {
    return FieldError(path.Field("provider"), "expected local, slurm, kubernetes or command");
  }
  CONCUR_RETURN_IF_ERROR(CheckNumbers(path, spec));
  CONCUR_RETURN_IF_ERROR(CheckTimes(path, spec));
  CONCUR_RETURN_IF_ERROR(CheckPoolLabels(path.Field("labels"), spec.labels));
  CONCUR_RETURN_IF_ERROR(CheckPoolText(path.Field("coordinator"), spec.coordinator));
  CONCUR_RETURN_IF_ERROR(CheckPoolText(path.Field("worker_program"), spec.worker_program));
  if (!spec.worker_program.empty() && spec.kubernetes.job_images &&
      spec.kubernetes.worker_image.empty()) {
    // It would be the program of the image, and the one that is put into others.
    return FieldError(path.Field("worker_program"),
                      "expected none unless kubernetes.worker_image says which image has it: with "
                      "job_images it is put into pods from there");
  }
  CONCUR_RETURN_IF_ERROR(CheckPoolText(path.Field("work_directory"), spec.work_directory));
  CONCUR_RETURN_IF_ERROR(CheckLines(path, "setup", spec.setup));
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("env_pass"), spec.env_pass.size(), kPoolLinesMax));
  for (size_t i = 0; i < spec.env_pass.size(); ++i) {
    CONCUR_RETURN_IF_ERROR(CheckEnvPattern(path.Field("env_pass", i), spec.env_pass[i]));
  }
  CONCUR_RETURN_IF_ERROR(CheckSlurm(path.Field("slurm"), spec.slurm));
  CONCUR_RETURN_IF_ERROR(CheckKubernetes(path.Field("kubernetes"), spec));
  return CheckCommand(path.Field("command"), spec);
}

Resources PlannedCapacity(const PoolSpec& spec) {
  Resources capacity = spec.resources;
  if (capacity.memory_bytes == 0) {
    capacity.memory_bytes = int64_t{1} << 60;
  }
  return capacity;
}

absl::Duration UsableTime(const PoolSpec& spec) {
  return spec.time_limit == absl::InfiniteDuration() ? absl::InfiniteDuration()
                                                     : spec.time_limit - spec.drain_margin;
}

Labels WorkerLabels(const PoolSpec& spec) {
  Labels labels = spec.labels;
  labels["pool"] = spec.name;
  if (std::none_of(labels.begin(), labels.end(), [](const auto& label) {
        return absl::StartsWith(label.first, kEnvironmentLabelPrefix);
      })) {
    labels[kAnyEnvironmentLabel] = kEnvironmentLabelValue;
  }
  if (spec.kubernetes.job_images) {
    labels[kImageLabel] = kAnyImage;
  }
  if (spec.gpus_min > 0) {
    labels[kGpusMinLabel] = absl::StrCat(spec.gpus_min);
  }
  return labels;
}

PoolSpec ForImage(const PoolSpec& spec, const std::string& image) {
  PoolSpec part = spec;
  part.kubernetes.job_images = false;
  if (part.kubernetes.worker_image.empty()) {
    part.kubernetes.worker_image = part.kubernetes.image;
  }
  part.kubernetes.image = image;
  std::erase_if(part.labels, [](const auto& label) {
    return absl::StartsWith(label.first, kEnvironmentLabelPrefix);
  });
  part.labels[kImageLabel] = image;
  part.workers_min = 0;  // they are there for jobs alone
  return part;
}

}  // namespace concur
