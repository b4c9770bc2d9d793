// SPDX-License-Identifier: Apache-2.0
#include "coordinator/provision/kube_reasons.h"

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace concur::provision {
namespace {

struct KubeRemedy {
  absl::string_view sign;
  absl::string_view remedy;
};

// The scheduler's reasons are the ErrReason constants of its plugins, in the words of Kubernetes
// 1.20 to 1.32. Where one sign holds another, the longer stands first.
constexpr KubeRemedy kKubeRemedies[] = {
    // Resources.
    {"Insufficient cpu", "lower resources.cpus, or wait for nodes"},
    {"Insufficient memory", "lower resources.memory, or wait for nodes"},
    {"Insufficient ephemeral-storage", "wait for nodes with more disk"},
    {"Insufficient ", "ask for fewer GPUs, correct kubernetes.gpu_resource, or wait for nodes"},
    {"Too many pods", "wait, or ask for larger workers (resources) and fewer of them"},
    {"No preemption victims found", ""},
    {"Preemption is not helpful", ""},
    // Placement.
    {"taint", "add the taint to kubernetes.tolerations, or wait for other nodes"},
    {"node affinity/selector", "correct kubernetes.node_selector or kubernetes.affinity"},
    {"didn't match node selector", "correct kubernetes.node_selector or kubernetes.affinity"},
    {"didn't match Pod's node affinity", "correct kubernetes.node_selector or kubernetes.affinity"},
    {"didn't match the requested node name", "correct kubernetes.affinity"},
    {"affinity rules", "correct podAffinity and podAntiAffinity in kubernetes.affinity, or wait"},
    {"affinity/anti-affinity", "correct podAffinity and podAntiAffinity in kubernetes.affinity"},
    {"topology spread constraints", "ask the administrator for the cluster's default constraints"},
    {"free ports", "wait for nodes: another pod has the port"},
    {"were unschedulable", "nodes are cordoned: wait, or `kubectl uncordon` them"},
    {"node(s) were not ready", "wait until nodes are ready"},
    {"no nodes available to schedule pods", "the cluster has no node: wait until one is added"},
    {"scheduling gates", "something holds the pods back by a scheduling gate: ask who set it"},
    // Volumes.
    {"unbound immediate PersistentVolumeClaims",
     "a claim of kubernetes.volumes has no volume: see `kubectl get pvc`"},
    {"persistentvolumeclaim", "correct the claim in kubernetes.volumes: see `kubectl get pvc`"},
    {"non-existent pv", "a claim's volume is gone: see `kubectl get pvc,pv`"},
    {"volume node affinity conflict",
     "a claim's volume is bound to other nodes: use one that all nodes can mount"},
    {"no available volume zone", "a claim's volume is in another zone: use one for this zone"},
    {"exceed max volume count", "the nodes have as many volumes as they can: wait for nodes"},
    {"available persistent volumes to bind",
     "add a volume for the claim: see `kubectl get pvc,pv`"},
    {"enough free storage", "the storage class has no room: ask the administrator"},
    {"no available disk", "the disk is attached elsewhere: use one that many nodes can mount"},
    {"ReadWriteOncePod", "one pod at a time can use the claim: set workers.max to 1"},
    {"ephemeral volume", "wait, or see `kubectl get pvc`"},
    {"cannot allocate all claims", "no device is free for the resource claim: wait for nodes"},
    {"resourceclaim", "see `kubectl get resourceclaims`"},
    // Pods that are refused.
    {"exceeded quota", "wait, lower workers.max, or have the namespace's quota raised"},
    {"must specify limits", "the namespace demands limits: state resources.memory"},
    {"violates PodSecurity",
     "the namespace's policy forbids host paths and the like: remove them "
     "from kubernetes.volumes"},
    {"serviceaccount", "create the service account, or correct kubernetes.service_account"},
    {"PriorityClass", "create the priority class, or correct kubernetes.priority_class"},
    {"RuntimeClass", "create the runtime class, or correct kubernetes.runtime_class"},
    {"failed calling webhook", "an admission webhook does not answer: ask the administrator"},
    {"is forbidden", "ask the administrator for what the message names"},
    // Containers that do not start.
    {"InvalidImageName", "correct kubernetes.image"},
    {"ErrImageNeverPull", "load the image on the nodes, or set kubernetes.image_pull_policy"},
    {"ImagePull", "correct kubernetes.image (or the approach's), or kubernetes.image_pull_secrets"},
    {"CreateContainerConfigError", "a Secret or ConfigMap is missing: see kubernetes.volumes"},
    {"CreateContainerError", "see `kubectl describe pod`"},
    {"RunContainerError", "see `kubectl describe pod`; is there /bin/sh in the image, for setup?"},
};

}  // namespace

std::string WithKubeRemedies(absl::string_view message) {
  std::string text(message);
  std::string rest(message);  // the part that no sign has explained yet
  std::set<absl::string_view> told;
  for (const KubeRemedy& known : kKubeRemedies) {
    // Taken away: a shorter sign must not find it again.
    if (absl::StrReplaceAll({{known.sign, "\n"}}, &rest) == 0) {
      continue;
    }
    if (!known.remedy.empty() && told.insert(known.remedy).second) {
      absl::StrAppend(&text, "; ", known.remedy);
    }
  }
  return text;
}

}  // namespace concur::provision
