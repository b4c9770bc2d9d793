// SPDX-License-Identifier: Apache-2.0
// Pilots as Kubernetes objects: what is read of them.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "coordinator/provision/kube_objects.h"
#include "coordinator/provision/kube_reasons.h"

namespace concur::provision {
namespace {

constexpr size_t kPodMessageBytesMax = 500;
constexpr char kNoImagePull[] = "its image cannot be pulled: ";

// The condition of this type whose status is "True", or null.
const KubeJson* TrueCondition(const KubeJson& object, absl::string_view type) {
  const KubeJson* conditions = KubeFind(object, {"status", "conditions"});
  if (conditions == nullptr || !conditions->is_array()) {
    return nullptr;
  }
  for (const KubeJson& condition : *conditions) {
    if (KubeText(condition, {"type"}) == type && KubeText(condition, {"status"}) == "True") {
      return &condition;
    }
  }
  return nullptr;
}

std::string Said(const std::string& reason, const std::string& message) {
  return absl::StrCat(reason, reason.empty() || message.empty() ? "" : ": ",
                      message.substr(0, kPodMessageBytesMax));
}

const KubeJson* FirstState(const KubeJson& pod, const char* containers) {
  const KubeJson* statuses = KubeFind(pod, {"status", containers});
  return statuses == nullptr || !statuses->is_array() || statuses->empty()
             ? nullptr
             : KubeFind((*statuses)[0], {"state"});
}

// The state of the worker's container, or of the one before it that has not succeeded:
// {"running": …}, {"waiting": …} or {"terminated": …}; null.
const KubeJson* ContainerState(const KubeJson& pod) {
  const KubeJson* before = FirstState(pod, "initContainerStatuses");
  const bool is_done = before == nullptr || KubeText(*before, {"terminated", "exitCode"}) == "0";
  return is_done ? FirstState(pod, "containerStatuses") : before;
}

// Who ended a pod that did not end by itself; "" for others.
std::string TakenBack(const KubeJson& pod) {
  const std::string reason = KubeText(pod, {"status", "reason"});
  const std::string message = KubeText(pod, {"status", "message"});
  if (const KubeJson* target = TrueCondition(pod, "DisruptionTarget")) {
    const std::string why = KubeText(*target, {"reason"});
    return absl::StrCat(why == "PreemptionByScheduler" ? "preempted: " : "evicted: ",
                        Said(why, KubeText(*target, {"message"})));
  }
  if (reason == "Evicted") {
    return absl::StrCat("evicted: ", message);
  }
  if (reason == "Preempting" || reason == "Preempted") {
    return absl::StrCat("preempted: ", Said(reason, message));
  }
  if (reason == "NodeLost" || reason == "Shutdown" || reason == "Terminated" ||
      reason == "NodeShutdown") {
    return absl::StrCat("its node went away: ", Said(reason, message));
  }
  return "";
}

// Why a pod that nobody took back ended, by class.
std::string EndOfPod(const KubeJson& pod) {
  const std::string reason = KubeText(pod, {"status", "reason"});
  const std::string message = KubeText(pod, {"status", "message"});
  if (reason == "DeadlineExceeded") {
    return absl::StrCat("time limit: ", Said(reason, message));
  }
  const KubeJson* state = ContainerState(pod);
  const KubeJson* ended = state == nullptr ? nullptr : KubeFind(*state, {"terminated"});
  if (ended == nullptr) {
    return Said(reason, message);
  }
  const std::string why = KubeText(*ended, {"reason"});
  const std::string code = KubeText(*ended, {"exitCode"});
  const std::string words = KubeText(*ended, {"message"});
  if (why == "OOMKilled") {
    return absl::StrCat("out of memory: OOMKilled, exit code ", code,
                        "; give the pool's workers more memory");
  }
  return code == "0" ? Said(why, words) : Said(absl::StrCat(why, ", exit code ", code), words);
}

// Why a pod waits, by class; "" when it does not say.
std::string WaitOfPod(const KubeJson& pod) {
  const KubeJson* conditions = KubeFind(pod, {"status", "conditions"});
  if (conditions != nullptr && conditions->is_array()) {
    for (const KubeJson& condition : *conditions) {
      if (KubeText(condition, {"type"}) == "PodScheduled" &&
          KubeText(condition, {"status"}) == "False") {
        return absl::StrCat("unschedulable: ", KubeText(condition, {"message"}));
      }
    }
  }
  const KubeJson* state = ContainerState(pod);
  const KubeJson* waiting = state == nullptr ? nullptr : KubeFind(*state, {"waiting"});
  if (waiting == nullptr) {
    return "";
  }
  const std::string reason = KubeText(*waiting, {"reason"});
  const std::string said = Said(reason, KubeText(*waiting, {"message"}));
  if (reason == "ImagePullBackOff" || reason == "ErrImagePull" || reason == "InvalidImageName" ||
      reason == "ErrImageNeverPull") {
    return absl::StrCat(kNoImagePull, said);
  }
  if (reason == "CreateContainerConfigError" || reason == "CreateContainerError" ||
      reason == "RunContainerError") {
    return absl::StrCat("its container cannot be made: ", said);
  }
  return reason == "ContainerCreating" || reason == "PodInitializing" ? "" : said;
}

}  // namespace

const KubeJson* KubeFind(const KubeJson& json, const std::vector<const char*>& path) {
  const KubeJson* at = &json;
  for (const char* key : path) {
    if (!at->is_object()) {
      return nullptr;
    }
    const auto it = at->find(key);
    if (it == at->end()) {
      return nullptr;
    }
    at = &*it;
  }
  return at;
}

std::string KubeText(const KubeJson& json, const std::vector<const char*>& path) {
  const KubeJson* found = KubeFind(json, path);
  if (found == nullptr) {
    return "";
  }
  return found->is_string()           ? found->get<std::string>()
         : found->is_number_integer() ? absl::StrCat(found->get<int64_t>())
                                      : "";
}

std::string PilotOf(const KubeJson& object) {
  return KubeText(object, {"metadata", "annotations", kPilotAnnotation});
}

std::optional<absl::Time> KubeEndTime(const KubeJson& job) {
  for (const char* type : {"Complete", "Failed"}) {
    if (const KubeJson* condition = TrueCondition(job, type)) {
      absl::Time time = absl::InfinitePast();
      absl::ParseTime(absl::RFC3339_full, KubeText(*condition, {"lastTransitionTime"}), &time,
                      nullptr);
      return time;
    }
  }
  return std::nullopt;
}

PilotReport KubeReport(const KubeJson& job, const KubeJson* pod, const std::string& event) {
  PilotReport report;
  report.name = PilotOf(job);
  report.external_id = KubeText(pod == nullptr ? job : *pod, {"metadata", "name"});
  const std::string phase = pod == nullptr ? "" : KubeText(*pod, {"status", "phase"});
  if (KubeEndTime(job).has_value() || phase == "Succeeded" || phase == "Failed") {
    report.state = PilotReport::State::kEnded;
    if (pod != nullptr) {
      report.message = TakenBack(*pod);
      report.taken_back = !report.message.empty();
      report.message = report.taken_back ? report.message : EndOfPod(*pod);
    }
    const KubeJson* failed = TrueCondition(job, "Failed");
    if (failed != nullptr && (report.message.empty() || phase != "Failed")) {
      report.message = Said(KubeText(*failed, {"reason"}), KubeText(*failed, {"message"}));
    }
    return report;
  }
  if (phase == "Running") {
    report.state = PilotReport::State::kRunning;
    return report;
  }
  report.state = PilotReport::State::kPending;
  if (phase == "Unknown") {
    report.state = PilotReport::State::kRunning;
    report.message = "its node does not answer";
  } else if (const KubeJson* suspended = TrueCondition(job, "Suspended")) {
    const std::string queue = KubeText(job, {"metadata", "labels", kKueueLabel});
    report.message = absl::StrCat(
        queue.empty() ? "is suspended: somebody set its spec.suspend"
                      : absl::StrCat("waits in Kueue's queue ", queue,
                                     "; see `kubectl get workloads`, and that Kueue runs"),
        " (", Said(KubeText(*suspended, {"reason"}), KubeText(*suspended, {"message"})), ")");
  } else if (pod == nullptr) {
    report.message = event.empty() ? "waits for its pod to be made" : WithKubeRemedies(event);
  } else {
    report.message = WaitOfPod(*pod);
    // An image that a job names may never come. For one of the pool's, people are waited for.
    report.impossible = absl::StartsWith(report.message, kNoImagePull) &&
                        !KubeText(job, {"metadata", "annotations", kImageAnnotation}).empty();
    report.message = WithKubeRemedies(report.message);
  }
  return report;
}

}  // namespace concur::provision
