// SPDX-License-Identifier: Apache-2.0
#include "coordinator/provision/kube_objects.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/digest.h"

namespace concur::provision {
namespace {

constexpr size_t kKubernetesNameBytesMax = 63;
constexpr int kWorkerUser = 10001;       // as in k8s/ and the image
constexpr int kMetricsPort = 9465;       // as in k8s/components/static-workers
constexpr int kGraceSeconds = 60;        // from Stop's TERM to KILL
constexpr int kEndedKeptSeconds = 3600;  // should nobody delete it
constexpr int kSecretMode = 0440;        // the credentials' files: root and the pod's fsGroup

std::string Lower(const std::string& text) {
  std::string lower = absl::AsciiStrToLower(text);
  for (char& c : lower) {
    c = absl::ascii_isalnum(static_cast<unsigned char>(c)) ? c : '-';
  }
  return lower;
}

// A label's value: at most 63 bytes of letters, digits and "-_.", alphanumeric at both ends.
std::string LabelValue(const std::string& text) {
  std::string value = text.substr(0, kKubernetesNameBytesMax);
  for (char& c : value) {
    const bool good =
        absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
    c = good ? c : '-';
  }
  const auto is_edge = [](char c) { return !absl::ascii_isalnum(static_cast<unsigned char>(c)); };
  while (!value.empty() && is_edge(value.back())) {
    value.pop_back();
  }
  while (!value.empty() && is_edge(value.front())) {
    value.erase(value.begin());
  }
  return value;
}

KubeJson Labels(const std::string& coordinator_id, const std::string& pool) {
  return {{"app.kubernetes.io/name", "concur-worker"},
          {"app.kubernetes.io/part-of", "concur"},
          {"app.kubernetes.io/managed-by", "concur-coordinator"},
          {kCoordinatorLabel, LabelValue(coordinator_id)},
          {kPoolLabel, LabelValue(pool)}};
}

KubeJson ResourcesOf(const PoolSpec& pool) {
  KubeJson requests = {{"cpu", absl::StrCat(pool.resources.cpu_millis, "m")}};
  KubeJson limits = KubeJson::object();
  if (pool.resources.memory_bytes > 0) {
    requests["memory"] = absl::StrCat(pool.resources.memory_bytes);
    limits["memory"] = requests["memory"];
  }
  if (pool.resources.gpus > 0) {
    requests[pool.kubernetes.gpu_resource] = absl::StrCat(pool.resources.gpus);
    limits[pool.kubernetes.gpu_resource] = requests[pool.kubernetes.gpu_resource];
  }
  return {{"requests", std::move(requests)}, {"limits", std::move(limits)}};
}

std::string WorkDirectoryOf(const PoolSpec& pool) {
  return pool.work_directory.empty() ? kPodWorkDirectory : pool.work_directory;
}

// Where the program of a worker is put into pods.
std::string PutProgram() { return absl::StrCat(kPodPrograms, "/concur-worker"); }

std::string ProgramOf(const PoolSpec& pool) {
  return !pool.kubernetes.worker_image.empty() ? PutProgram()
         : pool.worker_program.empty()         ? "concur-worker"
                                               : pool.worker_program;
}

// The shell runs `setup` and becomes the worker.
std::vector<std::string> CommandOf(const PoolSpec& pool, const PilotSetup& setup,
                                   const std::string& pilot) {
  std::vector<std::string> command;
  if (!pool.setup.empty()) {
    command = {"/bin/sh", "-ec", absl::StrCat(absl::StrJoin(pool.setup, "\n"), "\nexec \"$@\""),
               "concur-pilot"};
  }
  for (const std::string& word :
       std::vector<std::string>{ProgramOf(pool), "--name", pilot, "--work-dir",
                                absl::StrCat(WorkDirectoryOf(pool), "/run"), "--log-format", "json",
                                "--metrics-listen", absl::StrCat("0.0.0.0:", kMetricsPort)}) {
    command.push_back(word);
  }
  for (std::string& argument : WorkerArguments(pool, setup)) {
    command.push_back(std::move(argument));
  }
  if (!setup.ca_pem.empty()) {
    command.insert(command.end(), {"--ca", absl::StrCat(kPodCredentials, "/ca.pem")});
  }
  if (!setup.key_pem.empty()) {
    command.insert(command.end(), {"--certificate", absl::StrCat(kPodCredentials, "/client.pem"),
                                   "--key", absl::StrCat(kPodCredentials, "/client.key")});
  }
  return command;
}

// Entries beside the token in the Secret, which are files in pods.
std::map<std::string, std::string> CredentialFiles(const PilotSetup& setup) {
  std::map<std::string, std::string> files;
  if (!setup.ca_pem.empty()) {
    files["ca.pem"] = setup.ca_pem;
  }
  if (!setup.key_pem.empty()) {
    files["client.pem"] = setup.certificate_pem;
    files["client.key"] = setup.key_pem;
  }
  return files;
}

KubeJson Restricted() {
  return {{"allowPrivilegeEscalation", false},
          {"readOnlyRootFilesystem", true},
          {"capabilities", {{"drop", {"ALL"}}}}};
}

// Puts the worker into a pod whose image has none.
KubeJson PuttingContainerOf(const PoolSpec& pool) {
  KubeJson container = {
      {"name", "put-worker"},
      {"image", pool.kubernetes.worker_image},
      {"command",
       {"cp", pool.worker_program.empty() ? kStaticWorker : pool.worker_program, PutProgram()}},
      {"resources", ResourcesOf(pool)},
      {"terminationMessagePolicy", "FallbackToLogsOnError"},
      {"securityContext", Restricted()},
      {"volumeMounts", KubeJson::array({{{"name", "programs"}, {"mountPath", kPodPrograms}}})}};
  if (!pool.kubernetes.image_pull_policy.empty()) {
    container["imagePullPolicy"] = pool.kubernetes.image_pull_policy;
  }
  return container;
}

KubeJson ContainerOf(const PoolSpec& pool, const PilotSetup& setup, const std::string& pilot,
                     const std::string& secret) {
  const std::string directory = WorkDirectoryOf(pool);
  KubeJson container = {
      {"name", "worker"},
      {"image", pool.kubernetes.image},
      {"command", CommandOf(pool, setup, pilot)},
      {"env", KubeJson::array({{{"name", "HOME"}, {"value", directory}}})},
      {"ports", KubeJson::array({{{"name", "metrics"}, {"containerPort", kMetricsPort}}})},
      {"resources", ResourcesOf(pool)},
      {"terminationMessagePolicy", "FallbackToLogsOnError"},
      {"securityContext", Restricted()},
      {"volumeMounts", KubeJson::array({{{"name", "work"}, {"mountPath", directory}},
                                        {{"name", "tmp"}, {"mountPath", "/tmp"}}})}};
  for (const auto& [name, value] : pool.kubernetes.env) {
    container["env"].push_back({{"name", name}, {"value", value}});
  }
  if (!pool.kubernetes.image_pull_policy.empty()) {
    container["imagePullPolicy"] = pool.kubernetes.image_pull_policy;
  }
  if (!secret.empty()) {
    container["env"].push_back(
        {{"name", "CONCUR_TOKEN"},
         {"valueFrom", {{"secretKeyRef", {{"name", secret}, {"key", "token"}}}}}});
  }
  if (!setup.ca_pem.empty()) {
    container["volumeMounts"].push_back(
        {{"name", "credentials"}, {"mountPath", kPodCredentials}, {"readOnly", true}});
  }
  if (!pool.kubernetes.worker_image.empty()) {
    container["volumeMounts"].push_back(
        {{"name", "programs"}, {"mountPath", kPodPrograms}, {"readOnly", true}});
  }
  if (pool.labels.contains(kImageLabel) && !pool.kubernetes.env.empty()) {
    std::vector<std::string> names;
    for (const auto& [name, value] : pool.kubernetes.env) {
      names.push_back(name);
    }
    container["env"].push_back({{"name", kPodVariables}, {"value", absl::StrJoin(names, ",")}});
  }
  return container;
}

// Who the pod is, and where it may run.
void AddPlacement(const PoolSpec& pool, KubeJson* pod) {
  const KubernetesSettings& settings = pool.kubernetes;
  const auto set = [pod](const char* field, const std::string& value) {
    if (!value.empty()) {
      (*pod)[field] = value;
    }
  };
  set("serviceAccountName", settings.service_account);
  set("priorityClassName", settings.priority_class);
  set("runtimeClassName", settings.runtime_class);
  for (const std::string& name : settings.image_pull_secrets) {
    (*pod)["imagePullSecrets"].push_back({{"name", name}});
  }
  if (!settings.node_selector.empty()) {
    (*pod)["nodeSelector"] = settings.node_selector;
  }
  if (!settings.affinity.empty()) {
    (*pod)["affinity"] = KubeJson::parse(settings.affinity);
  }
  std::vector<Toleration> tolerations = settings.tolerations;
  if (pool.resources.gpus > 0) {
    // Nodes with GPUs are commonly kept for those who ask for one.
    tolerations.push_back({settings.gpu_resource, "", "NoSchedule"});
  }
  for (const Toleration& toleration : tolerations) {
    KubeJson json = {{"operator", toleration.value.empty() ? "Exists" : "Equal"}};
    const std::pair<const char*, const std::string&> fields[] = {
        {"key", toleration.key}, {"value", toleration.value}, {"effect", toleration.effect}};
    for (const auto& [field, value] : fields) {
      if (!value.empty()) {
        json[field] = value;
      }
    }
    (*pod)["tolerations"].push_back(std::move(json));
  }
}

KubeJson VolumeOf(const std::string& name, const PodVolume& volume) {
  KubeJson json = {{"name", name}};
  switch (volume.kind) {
    case VolumeKind::kClaim:
      json["persistentVolumeClaim"] = {{"claimName", volume.source}};
      break;
    case VolumeKind::kSecret:
      json["secret"] = {{"secretName", volume.source}};
      break;
    case VolumeKind::kConfigMap:
      json["configMap"] = {{"name", volume.source}};
      break;
    case VolumeKind::kHostPath:
      json["hostPath"] = {{"path", volume.source}};
      break;
    case VolumeKind::kMemory:
      json["emptyDir"] = {{"medium", "Memory"}, {"sizeLimit", absl::StrCat(volume.bytes_max)}};
      break;
  }
  return json;
}

// Mounts of one source share a volume: a claim on a disk of one node cannot be attached twice.
void AddVolumes(const std::vector<PodVolume>& volumes, KubeJson* pod) {
  std::map<std::pair<VolumeKind, std::string>, std::string> names;
  KubeJson& mounts = (*pod)["containers"][0]["volumeMounts"];
  for (size_t i = 0; i < volumes.size(); ++i) {
    const PodVolume& volume = volumes[i];
    const std::string own = absl::StrCat("volume-", i);
    const auto [it, is_new] = names.try_emplace(
        {volume.kind, volume.kind == VolumeKind::kMemory ? own : volume.source}, own);
    if (is_new) {
      (*pod)["volumes"].push_back(VolumeOf(own, volume));
    }
    KubeJson mount = {{"name", it->second}, {"mountPath", volume.mount_path}};
    if (!volume.sub_path.empty()) {
      mount["subPath"] = volume.sub_path;
    }
    if (volume.read_only) {
      mount["readOnly"] = true;
    }
    mounts.push_back(std::move(mount));
  }
}

KubeJson PodOf(const PoolSpec& pool, const PilotSetup& setup, const std::string& pilot,
               const std::string& secret) {
  KubeJson volumes = KubeJson::array({{{"name", "work"}, {"emptyDir", KubeJson::object()}},
                                      {{"name", "tmp"}, {"emptyDir", KubeJson::object()}}});
  if (!setup.ca_pem.empty()) {
    KubeJson items = KubeJson::array();
    for (const auto& [file, contents] : CredentialFiles(setup)) {
      items.push_back({{"key", file}, {"path", file}});
    }
    volumes.push_back(
        {{"name", "credentials"},
         {"secret", {{"secretName", secret}, {"items", items}, {"defaultMode", kSecretMode}}}});
  }
  KubeJson pod = {{"restartPolicy", "Never"},
                  {"automountServiceAccountToken", false},
                  {"enableServiceLinks", false},
                  {"terminationGracePeriodSeconds", kGraceSeconds},
                  {"securityContext",
                   {{"runAsNonRoot", true},
                    {"runAsUser", kWorkerUser},
                    {"runAsGroup", kWorkerUser},
                    {"fsGroup", kWorkerUser},
                    {"seccompProfile", {{"type", "RuntimeDefault"}}}}},
                  {"containers", KubeJson::array({ContainerOf(pool, setup, pilot, secret)})},
                  {"volumes", std::move(volumes)}};
  if (!pool.kubernetes.worker_image.empty()) {
    pod["initContainers"] = KubeJson::array({PuttingContainerOf(pool)});
    pod["volumes"].push_back({{"name", "programs"}, {"emptyDir", KubeJson::object()}});
  }
  AddPlacement(pool, &pod);
  AddVolumes(pool.kubernetes.volumes, &pod);
  return pod;
}

}  // namespace

std::string PilotSelector(const std::string& coordinator_id) {
  return absl::StrCat("labelSelector=concur%2Fcoordinator%3D", LabelValue(coordinator_id));
}

std::string KubeJobName(const std::string& coordinator_id, const std::string& pilot) {
  std::string name = absl::StrCat("concur-", Lower(coordinator_id), "-", Lower(pilot));
  if (name.size() <= kKubernetesNameBytesMax && Lower(pilot) == pilot && pilot.back() != '-') {
    return name;
  }
  constexpr size_t kDigestBytes = 16;
  const std::string digest =
      Sha256Of(absl::StrCat(coordinator_id, "/", pilot)).ToHex().substr(0, kDigestBytes);
  name = name.substr(0, kKubernetesNameBytesMax - kDigestBytes - 1);
  while (name.back() == '-') {
    name.pop_back();
  }
  return absl::StrCat(name, "-", digest);
}

std::string KubeSecretName(const PilotSetup& setup, const std::string& token) {
  Sha256 hash;
  hash.UpdateField(token);
  for (const auto& [file, contents] : CredentialFiles(setup)) {
    hash.UpdateField(file);
    hash.UpdateField(contents);
  }
  return absl::StrCat("concur-", Lower(setup.coordinator_id), "-",
                      hash.Finish().ToHex().substr(0, 16));
}

KubeJson KubeSecret(const std::string& name, const PilotSetup& setup, const std::string& token) {
  KubeJson labels = Labels(setup.coordinator_id, "");
  labels.erase(kPoolLabel);
  KubeJson data = CredentialFiles(setup);
  data["token"] = token;
  return {{"apiVersion", "v1"},
          {"kind", "Secret"},
          {"metadata", {{"name", name}, {"labels", std::move(labels)}}},
          {"type", "Opaque"},
          {"immutable", true},
          {"stringData", std::move(data)}};
}

absl::Status CheckKubePool(const PoolSpec& pool) {
  if (pool.kubernetes.image.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("pool ", pool.name, ": kubernetes.image: expected the image of its workers"));
  }
  if (pool.resources.gpus > 0 && pool.kubernetes.gpu_resource.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "pool ", pool.name, ": kubernetes.gpu_resource: expected a name such as nvidia.com/gpu"));
  }
  if (!pool.kubernetes.affinity.empty() &&
      !KubeJson::parse(pool.kubernetes.affinity, nullptr, /*allow_exceptions=*/false).is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat("pool ", pool.name, ": kubernetes.affinity: expected a mapping, as in a pod"));
  }
  return absl::OkStatus();
}

KubeJson KubePilotJob(const PoolSpec& pool, const PilotSetup& setup, const std::string& pilot,
                      const std::string& secret) {
  // Concur's own come last: by them it finds its pilots again.
  KubeJson labels = pool.kubernetes.labels;
  labels.update(Labels(setup.coordinator_id, pool.name));
  KubeJson annotations = pool.kubernetes.annotations;
  annotations[kPilotAnnotation] = pilot;
  if (const auto image = pool.labels.find(kImageLabel); image != pool.labels.end()) {
    annotations[kImageAnnotation] = image->second;
  }
  KubeJson job = {{"apiVersion", "batch/v1"},
                  {"kind", "Job"},
                  {"metadata",
                   {{"name", KubeJobName(setup.coordinator_id, pilot)},
                    {"labels", labels},
                    {"annotations", annotations}}},
                  {"spec",
                   {{"completions", 1},
                    {"parallelism", 1},
                    {"backoffLimit", 0},  // a pilot that ended is another pilot's turn
                    {"ttlSecondsAfterFinished", kEndedKeptSeconds},
                    {"template",
                     {{"metadata", {{"labels", labels}, {"annotations", annotations}}},
                      {"spec", PodOf(pool, setup, pilot, secret)}}}}}};
  if (pool.time_limit != absl::InfiniteDuration()) {
    job["spec"]["activeDeadlineSeconds"] = absl::ToInt64Seconds(pool.time_limit);
  }
  if (pool.kubernetes.labels.contains(kKueueLabel)) {
    job["spec"]["suspend"] = true;  // Kueue lets it go
  }
  return job;
}

}  // namespace concur::provision
