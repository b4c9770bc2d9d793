// SPDX-License-Identifier: Apache-2.0
// A pool: where workers come from. It names the provider (this machine, Slurm, Kubernetes, programs
// of the user's) that starts them, the resources of each, how many there may be and for how long. A
// worker that a provider starts is called a *pilot*.
//
// Values.
#ifndef CONCUR_CORE_POOLS_POOL_H_
#define CONCUR_CORE_POOLS_POOL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/fields.h"
#include "core/labels.h"
#include "core/resources.h"

namespace concur {

// Limits on pools. A request beyond them is InvalidArgument.
inline constexpr size_t kPoolsMax = 100;
inline constexpr size_t kPoolNameBytesMax = 40;  // goes into the names of workers, jobs and pods
inline constexpr int32_t kPilotsPerPoolMax = 10'000;
inline constexpr size_t kPoolLabelsMax = kTagsMax - 2;  // beside "pool" and kGpusMinLabel
inline constexpr size_t kPoolLinesMax = 100;            // limits `setup` and extra arguments
inline constexpr size_t kPoolTextBytesMax = 4096;
inline constexpr size_t kPauseReasonBytesMax = 1'000;
inline constexpr size_t kPoolVolumesMax = 100;  // and tolerations, and labels of nodes
inline constexpr int32_t kSlurmArrayMax = 1'000;
inline constexpr int32_t kCommandStartsMax = 20;  // pilots of one request to a command provider
inline constexpr absl::Duration kPoolTimeLimitMin = absl::Minutes(1);
inline constexpr absl::Duration kPoolTimeoutMin = absl::Seconds(1);

// Numbers are stable: they stand in the database.
enum class ProviderKind : uint8_t { kLocal = 0, kSlurm = 1, kKubernetes = 2, kCommand = 3 };
inline constexpr int kProviderKinds = 4;
// "local", "slurm", "kubernetes", "command".
absl::string_view ProviderKindName(ProviderKind kind);
// InvalidArgument when no provider is called so.
absl::StatusOr<ProviderKind> ProviderKindFromName(absl::string_view name);

// The label of a Job that Kueue queues; its value is the name of a LocalQueue.
inline constexpr char kKueueLabel[] = "kueue.x-k8s.io/queue-name";
// Where a container of a pool's pods has files of its own.
inline constexpr char kPodWorkDirectory[] = "/var/lib/concur-worker";
inline constexpr char kPodCredentials[] = "/etc/concur";
// A variable of a pod: the names of those that its pool sets, and not its image.
inline constexpr char kPodVariables[] = "CONCUR_POD_VARIABLES";
inline constexpr char kPodPrograms[] = "/opt/concur-pod";  // programs of the worker put into it

struct SlurmSettings {
  std::string partition;  // each "": Slurm's own default
  std::string account;
  std::string qos;
  std::string constraint;
  std::vector<std::string> arguments;  // more arguments of sbatch, as they are
  // Where nodes write a pilot's output, on a file system that they have; "": nowhere.
  std::string log_directory;
  // Pilots of one sbatch, as a job array; 1: no arrays.
  int32_t array_max = 100;

  friend bool operator==(const SlurmSettings&, const SlurmSettings&) = default;
};

// A taint of nodes that pods tolerate.
struct Toleration {
  std::string key;     // "": every taint
  std::string value;   // "": whatever the taint's value is
  std::string effect;  // NoSchedule, PreferNoSchedule or NoExecute; "": each

  friend bool operator==(const Toleration&, const Toleration&) = default;
};

// Numbers are stable: they stand in the database, one higher.
enum class VolumeKind : uint8_t {
  kClaim = 0,
  kSecret = 1,
  kConfigMap = 2,
  kHostPath = 3,
  kMemory = 4
};
inline constexpr int kVolumeKinds = 5;
// "claim", "secret", "config_map", "host_path", "memory".
absl::string_view VolumeKindName(VolumeKind kind);

// Files that a pod has beside its image's.
struct PodVolume {
  VolumeKind kind = VolumeKind::kClaim;
  std::string source;      // name of the claim, Secret or ConfigMap; path on the node
  int64_t bytes_max = 0;   // kMemory only: counts as the pod's memory
  std::string mount_path;  // absolute
  std::string sub_path;    // path within the source; "": all of it
  bool read_only = false;

  friend bool operator==(const PodVolume&, const PodVolume&) = default;
};

struct KubernetesSettings {
  std::string name_space;  // "": the one of the credentials
  std::string image;
  std::string service_account;
  Labels node_selector;
  std::string gpu_resource = "nvidia.com/gpu";
  std::vector<Toleration> tolerations;
  std::vector<PodVolume> volumes;
  std::vector<std::string> image_pull_secrets;  // names of Secrets
  std::string priority_class;
  std::string runtime_class;
  // Labels and annotations of Jobs and pods, beside Concur's own. With the label kKueueLabel a Job
  // waits until Kueue lets it start.
  Labels labels;
  Labels annotations;
  Labels env;            // the worker's
  std::string affinity;  // a pod's `affinity`, as JSON; "": none
  // Always, IfNotPresent or Never; "": Kubernetes' default.
  std::string image_pull_policy;
  // An image of Concur's whose worker without shared libraries (PoolSpec::worker_program) is put
  // into pods of `image`; "": `image` has a worker.
  std::string worker_image;
  // Jobs whose environment is an image of a registry get pods of that image.
  bool job_images = false;

  friend bool operator==(const KubernetesSettings&, const KubernetesSettings&) = default;
};

// Programs that start, list and stop workers: docs/clusters.md.
struct CommandSettings {
  std::string
      directory;  // absolute, on the coordinator's machine: submit, list and cancel are there
  std::vector<std::string> arguments;  // submit's
  // Absolute, on a file system that the nodes have as well: the workers' token is put there, for
  // the coordinator's user alone. "": .concur in that user's home.
  std::string token_directory;

  friend bool operator==(const CommandSettings&, const CommandSettings&) = default;
};

struct PoolSpec {
  std::string name;
  ProviderKind provider = ProviderKind::kLocal;
  int32_t workers_min = 0;
  int32_t workers_max = 1;
  Resources resources;  // each worker's
  Labels labels;        // that its workers carry
  // Jobs that ask for fewer GPUs do not come here.
  int32_t gpus_min = 0;
  // A worker ends after so long at the latest; the provider enforces it, too.
  absl::Duration time_limit = absl::InfiniteDuration();
  // This long before the time limit a worker starts to drain: it takes nothing new, finishes what
  // it can and hands back the rest.
  absl::Duration drain_margin = absl::Minutes(1);
  // A worker that is not needed for so long is drained.
  absl::Duration idle_timeout = absl::Minutes(5);
  // From the provider's report that a pilot runs to its worker's first call.
  absl::Duration start_timeout = absl::Minutes(10);
  // Address of the coordinator as the workers' machines reach it; "": the one it listens on.
  std::string coordinator;
  std::string worker_program;      // on the workers' machines; "": the one beside the coordinator's
  std::string work_directory;      // where a worker makes its own; "": the provider's choice
  std::vector<std::string> setup;  // lines of shell that run before the worker
  // Variables of the worker's environment that jobs see as well: names, or "CUDA_*".
  std::vector<std::string> env_pass;
  SlurmSettings slurm;
  KubernetesSettings kubernetes;
  CommandSettings command;

  friend bool operator==(const PoolSpec&, const PoolSpec&) = default;
};

// InvalidArgument, naming the field within `path`, when a value cannot be meant.
absl::Status ValidatePoolSpec(const PoolSpec& spec, const FieldPath& path = FieldPath());

// Capacity of one of its future workers, for planning: memory that is not stated is without limit.
Resources PlannedCapacity(const PoolSpec& spec);

// Time that a job may take on a fresh worker of the pool.
absl::Duration UsableTime(const PoolSpec& spec);

// The default of PoolSpec::gpus_min: a pool with GPUs takes only jobs that ask for at least one.
int32_t DefaultGpusMin(const Resources& worker);

// InvalidArgument unless it is a variable's name, which may end in "*".
absl::Status CheckEnvPattern(const FieldPath& path, absl::string_view pattern);

// Labels that its workers carry: its own, pool=NAME, kGpusMinLabel where the pool has a minimum,
// kAnyEnvironmentLabel unless its labels say what environments they have, and kAnyImage where it
// has pods of jobs' images.
Labels WorkerLabels(const PoolSpec& spec);

// The part of a pool with `job_images` whose pods are of this image, which jobs name.
PoolSpec ForImage(const PoolSpec& spec, const std::string& image);

}  // namespace concur

#endif  // CONCUR_CORE_POOLS_POOL_H_
