// SPDX-License-Identifier: Apache-2.0
#include "coordinator/provision/kubernetes_provider.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace concur::provision {
namespace {

constexpr int64_t kNamespacesBytesMax = 1 << 20;

std::string NamespacesFile(const PilotSetup& setup) { return setup.directory + "/namespaces"; }

std::set<std::string> LoadNamespaces(const PilotSetup& setup) {
  const absl::StatusOr<std::string> text = ReadFile(NamespacesFile(setup), kNamespacesBytesMax);
  if (!text.ok()) {
    return {};
  }
  return absl::StrSplit(*text, '\n', absl::SkipEmpty());
}

// Compares two pods of one Job, of which the one that was made later counts.
bool IsLater(const KubeJson& pod, const KubeJson& than) {
  const std::vector<const char*> path = {"metadata", "creationTimestamp"};
  return KubeText(pod, path) >= KubeText(than, path);  // ISO 8601 in UTC
}

// Returns true if a namespace will answer so again: the other namespaces are looked at without it.
bool IsRefused(const absl::Status& status) {
  return absl::IsPermissionDenied(status) || absl::IsNotFound(status);
}

}  // namespace

KubernetesProvider::KubernetesProvider(Clock& clock, PilotSetup setup, FindConfig find_config,
                                       KubernetesOptions options)
    : clock_(clock),
      setup_(std::move(setup)),
      find_config_(std::move(find_config)),
      options_(options) {}

KubernetesProvider::~KubernetesProvider() { thread_.Close(); }

void KubernetesProvider::Start(const PoolSpec& pool, const std::vector<std::string>& pilots,
                               StartDone done) {
  thread_.Submit([this, pool, pilots, done = std::move(done)] { done(StartNow(pool, pilots)); });
}

void KubernetesProvider::Try(const PoolSpec& pool, TryDone done) {
  thread_.Submit([this, pool, done = std::move(done)] { done(TryNow(pool)); });
}

void KubernetesProvider::Stop(const std::vector<std::string>& pilots, StopDone done) {
  thread_.Submit([this, pilots, done = std::move(done)] { done(StopNow(pilots)); });
}

void KubernetesProvider::Observe(ObserveDone done) {
  thread_.Submit([this, done = std::move(done)] { done(ObserveNow()); });
}

absl::Status KubernetesProvider::Connect() {
  if (client_ != nullptr) {
    return absl::OkStatus();
  }
  CONCUR_ASSIGN_OR_RETURN(KubeConfig config, find_config_());
  LogInfo("Kubernetes is at hand",
          {{"server", config.server}, {"namespace", config.name_space}, {"from", config.origin}});
  const std::string own = config.name_space;
  client_ = std::make_unique<KubeClient>(clock_, std::move(config));
  std::set<std::string> names = LoadNamespaces(setup_);
  names.insert(own);
  for (const std::string& name : names) {
    Open(name);
  }
  return absl::OkStatus();
}

// After it has answered once, so that one without rights is not looked at for good, and before
// anything is made there, so that it is found again.
absl::Status KubernetesProvider::Remember(const std::string& name) {
  if (name == client_->config().name_space) {
    return absl::OkStatus();
  }
  std::set<std::string> names = LoadNamespaces(setup_);
  if (!names.insert(name).second) {
    return absl::OkStatus();
  }
  if (absl::Status status = Look(namespaces_.at(name)).status(); !status.ok()) {
    namespaces_.erase(name);
    return status;
  }
  CONCUR_RETURN_IF_ERROR(MakeDirectories(setup_.directory, 0700));
  return WriteFileAtomically(NamespacesFile(setup_), absl::StrJoin(names, "\n") + "\n");
}

KubernetesProvider::Namespace& KubernetesProvider::Open(const std::string& name) {
  const auto it = namespaces_.find(name);
  if (it != namespaces_.end()) {
    return it->second;
  }
  Namespace& place = namespaces_[name];
  const std::string selector = PilotSelector(setup_.coordinator_id);
  place.jobs = std::make_unique<KubeWatch>(*client_, KubeVerb::kListJobs, KubeVerb::kWatchJobs,
                                           name, selector, options_.watch);
  place.pods = std::make_unique<KubeWatch>(*client_, KubeVerb::kListPods, KubeVerb::kWatchPods,
                                           name, selector, options_.watch);
  return place;
}

// --- starting ------------------------------------------------------------------------------------

absl::StatusOr<std::vector<std::string>> KubernetesProvider::StartNow(
    const PoolSpec& pool, const std::vector<std::string>& pilots) {
  CONCUR_RETURN_IF_ERROR(CheckKubePool(pool));
  CONCUR_RETURN_IF_ERROR(Connect());
  const std::string name_space = pool.kubernetes.name_space.empty() ? client_->config().name_space
                                                                    : pool.kubernetes.name_space;
  Namespace* const place = &Open(name_space);
  CONCUR_RETURN_IF_ERROR(Remember(name_space));
  CONCUR_ASSIGN_OR_RETURN(const std::string token, setup_.token());
  CONCUR_RETURN_IF_ERROR(EnsureSecret(name_space, token, *place));
  std::vector<std::string> ids;
  for (const std::string& pilot : pilots) {
    const absl::Status status = StartOne(pool, pilot, place->secret, name_space, *place);
    if (status.ok()) {
      ids.push_back(KubeJobName(setup_.coordinator_id, pilot));
      continue;
    }
    if (IsOpen(status)) {
      place->jobs->RequireList();
    }
    // Those before it are there: the next observation finds them, and lacks the others.
    return ids.empty() ? status
                       : absl::AbortedError(absl::StrCat("only ", ids.size(), " of ", pilots.size(),
                                                         " workers: ", status.message()));
  }
  LogInfo("Kubernetes Jobs created", {{"pool", pool.name},
                                      {"namespace", name_space},
                                      {"first", pilots[0]},
                                      {"workers", absl::StrCat(pilots.size())}});
  return ids;
}

absl::Status KubernetesProvider::StartOne(const PoolSpec& pool, const std::string& pilot,
                                          const std::string& secret, const std::string& name_space,
                                          Namespace& place) {
  const KubeJson job = KubePilotJob(pool, setup_, pilot, secret);
  const absl::StatusOr<std::string> made =
      client_->Call(KubeVerb::kCreateJob, name_space, "", "", job.dump());
  if (absl::IsAlreadyExists(made.status())) {
    // By an earlier call whose answer was lost: names of pilots are not given twice.
    place.jobs->RequireList();
    return absl::OkStatus();
  }
  CONCUR_RETURN_IF_ERROR(made.status());
  const KubeJson object = KubeJson::parse(*made, nullptr, /*allow_exceptions=*/false);
  if (PilotOf(object) == pilot) {
    place.jobs->Insert(object);
  } else {
    place.jobs->RequireList();
  }
  return absl::OkStatus();
}

// The token is a Secret, so that nobody who may see pods sees it. Its name is made of its contents:
// the right to create is enough.
absl::Status KubernetesProvider::EnsureSecret(const std::string& name_space,
                                              const std::string& token, Namespace& place) {
  if (token.empty() && setup_.ca_pem.empty()) {
    place.secret.clear();
    return absl::OkStatus();
  }
  const std::string name = KubeSecretName(setup_, token);
  if (place.secret == name) {
    return absl::OkStatus();
  }
  const absl::Status status = client_
                                  ->Call(KubeVerb::kCreateSecret, name_space, "", "",
                                         KubeSecret(name, setup_, token).dump())
                                  .status();
  if (!status.ok() && !absl::IsAlreadyExists(status)) {
    // No pilot was started, whatever became of the Secret: it can be made again.
    return IsOpen(status) ? absl::FailedPreconditionError(status.message()) : status;
  }
  place.secret = name;
  return absl::OkStatus();
}

// The server checks such a Job, by all that admits it, and keeps nothing.
absl::StatusOr<std::string> KubernetesProvider::TryNow(const PoolSpec& pool) {
  CONCUR_RETURN_IF_ERROR(CheckKubePool(pool));
  CONCUR_RETURN_IF_ERROR(Connect());
  const std::string name_space = pool.kubernetes.name_space.empty() ? client_->config().name_space
                                                                    : pool.kubernetes.name_space;
  CONCUR_ASSIGN_OR_RETURN(const std::string token, setup_.token());
  const std::string secret =
      token.empty() && setup_.ca_pem.empty() ? "" : KubeSecretName(setup_, token);
  const KubeJson job = KubePilotJob(pool, setup_, absl::StrCat(pool.name, "-0"), secret);
  CONCUR_RETURN_IF_ERROR(
      client_->Call(KubeVerb::kCreateJob, name_space, "", "dryRun=All", job.dump()).status());
  return absl::StrCat("Kubernetes takes its Jobs in namespace ", name_space,
                      " (whether a node has room for their pods shows when they are there)");
}

// --- stopping ------------------------------------------------------------------------------------

absl::Status KubernetesProvider::Delete(const std::string& name_space, const std::string& job) {
  const absl::Status status =
      client_
          ->Call(KubeVerb::kDeleteJob, name_space, job, "", R"({"propagationPolicy":"Background"})")
          .status();
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

absl::Status KubernetesProvider::StopNow(const std::vector<std::string>& pilots) {
  CONCUR_RETURN_IF_ERROR(Connect());
  const std::set<std::string> wanted(pilots.begin(), pilots.end());
  CONCUR_ASSIGN_OR_RETURN(const std::vector<Seen> all, LookEverywhere());
  for (const auto& [name_space, pairs] : all) {
    for (const auto& [job_name, pair] : pairs) {
      const PilotReport report = KubeReport(*pair.job, pair.pod.get(), "");
      if (wanted.contains(report.name) && report.state != PilotReport::State::kEnded) {
        CONCUR_RETURN_IF_ERROR(Delete(name_space, job_name));
      }
    }
  }
  return absl::OkStatus();
}

// --- observing -----------------------------------------------------------------------------------

absl::StatusOr<KubernetesProvider::Pairs> KubernetesProvider::Look(Namespace& place) {
  CONCUR_ASSIGN_OR_RETURN(const auto jobs, place.jobs->Objects(options_.list_wait));
  CONCUR_ASSIGN_OR_RETURN(const auto pods, place.pods->Objects(options_.list_wait));
  Pairs pairs;
  std::map<std::string, Pair*> by_pilot;
  for (const auto& job : jobs) {
    if (const std::string pilot = PilotOf(*job); !pilot.empty()) {
      Pair& pair = pairs[KubeText(*job, {"metadata", "name"})];
      pair.job = job;
      by_pilot[pilot] = &pair;
    }
  }
  for (const auto& pod : pods) {
    const auto it = by_pilot.find(PilotOf(*pod));
    if (it != by_pilot.end() && (it->second->pod == nullptr || IsLater(*pod, *it->second->pod))) {
      it->second->pod = pod;
    }
  }
  return pairs;
}

// Namespaces that refuse to be looked at are left out, unless all of them do: the pools of the
// others go on.
absl::StatusOr<std::vector<KubernetesProvider::Seen>> KubernetesProvider::LookEverywhere() {
  std::vector<Seen> all;
  absl::Status refusal;
  for (auto& [name_space, place] : namespaces_) {
    absl::StatusOr<Pairs> pairs = Look(place);
    if (pairs.ok()) {
      all.emplace_back(name_space, *std::move(pairs));
    } else if (IsRefused(pairs.status())) {
      refusal.Update(pairs.status());
    } else {
      return pairs.status();
    }
  }
  if (all.empty()) {
    return refusal;
  }
  return all;
}

// A Job whose pods are refused (a quota, a policy) says why in events alone.
absl::Status KubernetesProvider::LookForEvents(const std::string& name_space, Namespace& place) {
  if (clock_.Now() < place.next_events) {
    return absl::OkStatus();
  }
  place.next_events = clock_.Now() + options_.event_interval;
  CONCUR_ASSIGN_OR_RETURN(
      const std::string body,
      client_->Call(KubeVerb::kListEvents, name_space, "",
                    "fieldSelector=involvedObject.kind%3DJob%2Ctype%3DWarning&limit=500", ""));
  const KubeJson list = KubeJson::parse(body, nullptr, /*allow_exceptions=*/false);
  const KubeJson* items = KubeFind(list, {"items"});
  place.events.clear();
  if (items != nullptr && items->is_array()) {
    for (const KubeJson& event : *items) {
      place.events[KubeText(event, {"involvedObject", "name"})] =
          absl::StrCat(KubeText(event, {"reason"}), ": ", KubeText(event, {"message"}));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<PilotReport>> KubernetesProvider::ObserveNow() {
  CONCUR_RETURN_IF_ERROR(Connect());
  std::vector<PilotReport> reports;
  CONCUR_ASSIGN_OR_RETURN(const std::vector<Seen> all, LookEverywhere());
  for (const auto& [name_space, pairs] : all) {
    Namespace& place = namespaces_.at(name_space);
    for (const auto& [job_name, pair] : pairs) {
      const std::optional<absl::Time> ended = KubeEndTime(*pair.job);
      if (pair.pod == nullptr && !ended.has_value()) {
        if (const absl::Status status = LookForEvents(name_space, place); !status.ok()) {
          place.events[job_name] = std::string(status.message());
        }
      }
      const auto event = place.events.find(job_name);
      reports.push_back(
          KubeReport(*pair.job, pair.pod.get(), event == place.events.end() ? "" : event->second));
      if (ended.has_value() && *ended != absl::InfinitePast() &&
          clock_.Now() - *ended > options_.ended_kept) {
        if (const absl::Status status = Delete(name_space, job_name); !status.ok()) {
          LogWarning("an ended Job could not be deleted",
                     {{"job_name", job_name}, {"error", std::string(status.message())}});
        }
      }
    }
  }
  return reports;
}

}  // namespace concur::provision
