#include "core/pool.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "core/names.h"
#include "core/sweep.h"

namespace concur {
namespace {

constexpr std::array<absl::string_view, kVolumeKinds> kVolumeNames = {
    "claim", "secret", "config_map", "host_path", "memory"};
constexpr std::array<absl::string_view, kProviderKinds> kKindNames = {"local", "slurm",
                                                                      "kubernetes"};

absl::Status FieldError(absl::string_view field, absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", message));
}

// Text that goes into a script or a command line: one line, no control characters.
absl::Status CheckText(absl::string_view field, absl::string_view text) {
  if (text.size() > kPoolTextBytesMax) {
    return FieldError(
        field, absl::StrCat("expected at most ", kPoolTextBytesMax, " bytes, got ", text.size()));
  }
  for (const char c : text) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) {
      return FieldError(field, "expected one line without control characters");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckLines(absl::string_view field, const std::vector<std::string>& lines) {
  if (lines.size() > kPoolLinesMax) {
    return FieldError(field,
                      absl::StrCat("expected at most ", kPoolLinesMax, ", got ", lines.size()));
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    CONCUR_RETURN_IF_ERROR(CheckText(absl::StrCat(field, "[", i, "]"), lines[i]));
  }
  return absl::OkStatus();
}

absl::Status CheckLabels(absl::string_view field, const Labels& labels) {
  if (labels.size() > kPoolLabelsMax) {
    return FieldError(field,
                      absl::StrCat("expected at most ", kPoolLabelsMax, ", got ", labels.size()));
  }
  for (const auto& [name, value] : labels) {
    if (name.empty() || absl::StrContains(name, '=')) {
      return FieldError(field, absl::StrCat("expected names without \"=\", got \"", name, "\""));
    }
    CONCUR_RETURN_IF_ERROR(CheckText(absl::StrCat(field, ".", name), name));
    CONCUR_RETURN_IF_ERROR(CheckText(absl::StrCat(field, ".", name), value));
  }
  return absl::OkStatus();
}

absl::Status CheckName(const std::string& name) {
  if (const absl::Status status = ValidateName(name); !status.ok()) {
    return FieldError("name", status.message());
  }
  if (name.size() > kPoolNameBytesMax) {
    return FieldError(
        "name", absl::StrCat("expected at most ", kPoolNameBytesMax, " bytes, got ", name.size()));
  }
  return absl::OkStatus();
}

absl::Status CheckNumbers(const PoolSpec& spec) {
  if (spec.workers_max < 1 || spec.workers_max > kPilotsPerPoolMax) {
    return FieldError("workers.max", absl::StrCat("expected 1 to ", kPilotsPerPoolMax, ", got ",
                                                  spec.workers_max));
  }
  if (spec.workers_min < 0 || spec.workers_min > spec.workers_max) {
    return FieldError("workers.min", absl::StrCat("expected 0 to workers.max, ", spec.workers_max,
                                                  ", got ", spec.workers_min));
  }
  const Resources& resources = spec.resources;
  if (resources.cpu_millis < 1 || resources.memory_bytes < 0 || resources.gpus < 0 ||
      resources.gpus > kGpusMax) {
    return FieldError("resources", absl::StrCat("expected some CPU and at most ", kGpusMax,
                                                " GPUs, got ", ResourcesText(resources)));
  }
  return absl::OkStatus();
}

absl::Status CheckTimes(const PoolSpec& spec) {
  if (spec.time_limit < absl::Minutes(1)) {
    return FieldError("time_limit", absl::StrCat("expected at least 1m, got ",
                                                 absl::FormatDuration(spec.time_limit)));
  }
  if (spec.drain_margin < absl::ZeroDuration() || spec.drain_margin > spec.time_limit / 2) {
    return FieldError("drain_margin", absl::StrCat("expected at most half of time_limit, ",
                                                   absl::FormatDuration(spec.time_limit), ", got ",
                                                   absl::FormatDuration(spec.drain_margin)));
  }
  if (spec.idle_timeout < absl::Seconds(1)) {
    return FieldError("idle_timeout", absl::StrCat("expected at least 1s, got ",
                                                   absl::FormatDuration(spec.idle_timeout)));
  }
  if (spec.start_timeout < absl::Seconds(1)) {
    return FieldError("start_timeout", absl::StrCat("expected at least 1s, got ",
                                                    absl::FormatDuration(spec.start_timeout)));
  }
  return absl::OkStatus();
}

absl::Status CheckSlurm(const SlurmSettings& slurm) {
  CONCUR_RETURN_IF_ERROR(CheckText("slurm.partition", slurm.partition));
  CONCUR_RETURN_IF_ERROR(CheckText("slurm.account", slurm.account));
  CONCUR_RETURN_IF_ERROR(CheckText("slurm.qos", slurm.qos));
  CONCUR_RETURN_IF_ERROR(CheckText("slurm.constraint", slurm.constraint));
  CONCUR_RETURN_IF_ERROR(CheckText("slurm.log_directory", slurm.log_directory));
  CONCUR_RETURN_IF_ERROR(CheckLines("slurm.arguments", slurm.arguments));
  if (slurm.array_max < 1 || slurm.array_max > 1000) {
    return FieldError("slurm.array_max", absl::StrCat("expected 1 to 1000, got ", slurm.array_max));
  }
  // By these a pilot is found again; another value would lose it.
  for (const char* reserved : {"-J", "--job-name", "-a", "--array", "--parsable", "--wrap"}) {
    for (size_t i = 0; i < slurm.arguments.size(); ++i) {
      const std::string& argument = slurm.arguments[i];
      if (argument == reserved || absl::StartsWith(argument, absl::StrCat(reserved, "="))) {
        return FieldError(absl::StrCat("slurm.arguments[", i, "]"),
                          absl::StrCat("expected no ", reserved, ", which Concur sets itself"));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckCountOf(absl::string_view field, size_t count) {
  return count <= kPoolVolumesMax
             ? absl::OkStatus()
             : FieldError(field,
                          absl::StrCat("expected at most ", kPoolVolumesMax, ", got ", count));
}

absl::Status CheckToleration(const std::string& field, const Toleration& toleration) {
  CONCUR_RETURN_IF_ERROR(CheckText(absl::StrCat(field, ".key"), toleration.key));
  CONCUR_RETURN_IF_ERROR(CheckText(absl::StrCat(field, ".value"), toleration.value));
  if (toleration.key.empty() && !toleration.value.empty()) {
    return FieldError(absl::StrCat(field, ".key"),
                      absl::StrCat("expected the key whose value is \"", toleration.value, "\""));
  }
  for (const char* effect : {"", "NoSchedule", "PreferNoSchedule", "NoExecute"}) {
    if (toleration.effect == effect) {
      return absl::OkStatus();
    }
  }
  return FieldError(absl::StrCat(field, ".effect"),
                    absl::StrCat("expected NoSchedule, PreferNoSchedule or NoExecute, got \"",
                                 toleration.effect, "\""));
}

bool IsAbsolutePath(absl::string_view path) {
  return absl::StartsWith(path, "/") && path.size() > 1 && !absl::StrContains(path, "..") &&
         !absl::StrContains(path, ':');
}

absl::Status CheckVolume(const std::string& field, const PodVolume& volume) {
  CONCUR_RETURN_IF_ERROR(CheckText(absl::StrCat(field, ".path"), volume.mount_path));
  CONCUR_RETURN_IF_ERROR(CheckText(absl::StrCat(field, ".sub_path"), volume.sub_path));
  const std::string source =
      absl::StrCat(field, ".",
                   static_cast<int>(volume.kind) < kVolumeKinds ? VolumeKindName(volume.kind)
                                                                : absl::string_view("kind"));
  CONCUR_RETURN_IF_ERROR(CheckText(source, volume.source));
  if (!IsAbsolutePath(volume.mount_path)) {
    return FieldError(absl::StrCat(field, ".path"),
                      absl::StrCat("expected an absolute path without \"..\" and \":\", got \"",
                                   volume.mount_path, "\""));
  }
  if (absl::StartsWith(volume.sub_path, "/") || absl::StrContains(volume.sub_path, "..")) {
    return FieldError(
        absl::StrCat(field, ".sub_path"),
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

// What a mount at `path` would hide; "" when nothing.
std::string OwnMountAt(const PoolSpec& spec, const std::string& path) {
  for (const std::string& own :
       {spec.work_directory.empty() ? std::string(kPodWorkDirectory) : spec.work_directory,
        std::string(kPodCredentials), std::string("/tmp")}) {
    if (path == own) {
      return own;
    }
  }
  return "";
}

absl::Status CheckVolumes(const PoolSpec& spec) {
  const std::vector<PodVolume>& volumes = spec.kubernetes.volumes;
  CONCUR_RETURN_IF_ERROR(CheckCountOf("kubernetes.volumes", volumes.size()));
  std::set<std::string> paths;
  for (size_t i = 0; i < volumes.size(); ++i) {
    const std::string field = absl::StrCat("kubernetes.volumes[", i, "]");
    CONCUR_RETURN_IF_ERROR(CheckVolume(field, volumes[i]));
    const std::string& path = volumes[i].mount_path;
    if (!OwnMountAt(spec, path).empty() || !paths.insert(path).second) {
      return FieldError(
          absl::StrCat(field, ".path"),
          absl::StrCat("expected a place where nothing else is mounted, got \"", path, "\""));
    }
  }
  return absl::OkStatus();
}

// "nvidia.com/gpu.product: A100": names and values as Kubernetes takes them for labels.
absl::Status CheckNodeSelector(const Labels& selector) {
  CONCUR_RETURN_IF_ERROR(CheckCountOf("kubernetes.node_selector", selector.size()));
  const auto is_word = [](absl::string_view text, absl::string_view more) {
    return std::all_of(text.begin(), text.end(), [more](char c) {
      return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains(more, c);
    });
  };
  for (const auto& [name, value] : selector) {
    if (name.empty() || !is_word(name, "-_./") || !is_word(value, "-_.")) {
      return FieldError(
          "kubernetes.node_selector",
          absl::StrCat("expected a label such as nvidia.com/gpu.product: A100, got \"",
                       absl::CHexEscape(name), ": ", absl::CHexEscape(value), "\""));
    }
    CONCUR_RETURN_IF_ERROR(CheckText(absl::StrCat("kubernetes.node_selector.", name), value));
  }
  return absl::OkStatus();
}

absl::Status CheckKubernetes(const PoolSpec& spec) {
  const KubernetesSettings& kubernetes = spec.kubernetes;
  CONCUR_RETURN_IF_ERROR(CheckText("kubernetes.namespace", kubernetes.name_space));
  CONCUR_RETURN_IF_ERROR(CheckText("kubernetes.image", kubernetes.image));
  CONCUR_RETURN_IF_ERROR(CheckText("kubernetes.service_account", kubernetes.service_account));
  CONCUR_RETURN_IF_ERROR(CheckText("kubernetes.gpu_resource", kubernetes.gpu_resource));
  CONCUR_RETURN_IF_ERROR(CheckText("kubernetes.priority_class", kubernetes.priority_class));
  CONCUR_RETURN_IF_ERROR(CheckText("kubernetes.runtime_class", kubernetes.runtime_class));
  CONCUR_RETURN_IF_ERROR(CheckNodeSelector(kubernetes.node_selector));
  CONCUR_RETURN_IF_ERROR(
      CheckCountOf("kubernetes.image_pull_secrets", kubernetes.image_pull_secrets.size()));
  CONCUR_RETURN_IF_ERROR(
      CheckLines("kubernetes.image_pull_secrets", kubernetes.image_pull_secrets));
  CONCUR_RETURN_IF_ERROR(CheckCountOf("kubernetes.tolerations", kubernetes.tolerations.size()));
  for (size_t i = 0; i < kubernetes.tolerations.size(); ++i) {
    CONCUR_RETURN_IF_ERROR(CheckToleration(absl::StrCat("kubernetes.tolerations[", i, "]"),
                                           kubernetes.tolerations[i]));
  }
  return CheckVolumes(spec);
}

}  // namespace

absl::string_view VolumeKindName(VolumeKind kind) { return NameIn(kVolumeNames, kind); }

absl::string_view ProviderKindName(ProviderKind kind) { return NameIn(kKindNames, kind); }

absl::StatusOr<ProviderKind> ProviderKindFromName(absl::string_view name) {
  return FromNameIn<ProviderKind>(kKindNames, "provider", name);
}

absl::Status ValidatePoolSpec(const PoolSpec& spec) {
  CONCUR_RETURN_IF_ERROR(CheckName(spec.name));
  if (static_cast<int>(spec.provider) >= kProviderKinds) {
    return FieldError("provider", "expected local, slurm or kubernetes");
  }
  CONCUR_RETURN_IF_ERROR(CheckNumbers(spec));
  CONCUR_RETURN_IF_ERROR(CheckTimes(spec));
  CONCUR_RETURN_IF_ERROR(CheckLabels("labels", spec.labels));
  CONCUR_RETURN_IF_ERROR(CheckText("coordinator", spec.coordinator));
  CONCUR_RETURN_IF_ERROR(CheckText("worker_program", spec.worker_program));
  CONCUR_RETURN_IF_ERROR(CheckText("work_directory", spec.work_directory));
  CONCUR_RETURN_IF_ERROR(CheckLines("setup", spec.setup));
  CONCUR_RETURN_IF_ERROR(CheckSlurm(spec.slurm));
  return CheckKubernetes(spec);
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
  return labels;
}

}  // namespace concur
