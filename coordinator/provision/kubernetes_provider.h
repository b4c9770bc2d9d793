// SPDX-License-Identifier: Apache-2.0
// Pilots as Kubernetes Jobs: created through the API server's REST interface, watched, and deleted
// when they are no longer needed.
//
// Namespaces in which pilots were ever started are kept in SETUP.directory/namespaces: a
// coordinator that starts again looks there for its own, which it knows by the label
// concur/coordinator.
//
// Thread-safe. Calls to the server are made one at a time on a thread of its own; a watch of Jobs
// and one of pods for each namespace have their own.
#ifndef CONCUR_COORDINATOR_PROVISION_KUBERNETES_PROVIDER_H_
#define CONCUR_COORDINATOR_PROVISION_KUBERNETES_PROVIDER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/thread_pool.h"
#include "coordinator/provision/kube_client.h"
#include "coordinator/provision/kube_objects.h"
#include "coordinator/provision/kube_watch.h"
#include "coordinator/provision/provider.h"

namespace concur::provision {

struct KubernetesOptions {
  KubeWatchOptions watch;
  absl::Duration list_wait = absl::Seconds(20);       // Observe's wait for a list under way
  absl::Duration ended_kept = absl::Minutes(10);      // then an ended Job is deleted
  absl::Duration event_interval = absl::Seconds(10);  // between looks for why a Job has no pod
};

class KubernetesProvider final : public Provider {
 public:
  // Finds the cluster when it is first needed, and again while it finds none. `clock` outlives it.
  using FindConfig = std::function<absl::StatusOr<KubeConfig>()>;
  KubernetesProvider(Clock& clock, PilotSetup setup, FindConfig find_config,
                     KubernetesOptions options = {});
  ~KubernetesProvider() override;

  void Start(const PoolSpec& pool, const std::vector<std::string>& pilots, StartDone done) override;
  void Try(const PoolSpec& pool, TryDone done) override;
  void Stop(const std::vector<std::string>& pilots, StopDone done) override;
  void Observe(ObserveDone done) override;

 private:
  struct Namespace {
    std::unique_ptr<KubeWatch> jobs;
    std::unique_ptr<KubeWatch> pods;
    std::string secret;                         // that was made last
    std::map<std::string, std::string> events;  // latest warning by Job
    absl::Time next_events = absl::InfinitePast();
  };
  // A Job with its latest pod.
  struct Pair {
    std::shared_ptr<const KubeJson> job;
    std::shared_ptr<const KubeJson> pod;  // null while there is none
  };
  using Pairs = std::map<std::string, Pair>;   // by the Job's name
  using Seen = std::pair<std::string, Pairs>;  // a namespace and its pairs

  absl::Status Connect();
  Namespace& Open(const std::string& name);
  absl::Status Remember(const std::string& name);
  absl::StatusOr<std::vector<std::string>> StartNow(const PoolSpec& pool,
                                                    const std::vector<std::string>& pilots);
  absl::Status StartOne(const PoolSpec& pool, const std::string& pilot, const std::string& secret,
                        const std::string& name_space, Namespace& place);
  absl::Status EnsureSecret(const std::string& name_space, const std::string& token,
                            Namespace& place);
  absl::StatusOr<std::string> TryNow(const PoolSpec& pool);
  absl::Status StopNow(const std::vector<std::string>& pilots);
  absl::StatusOr<std::vector<PilotReport>> ObserveNow();
  absl::StatusOr<Pairs> Look(Namespace& place);
  absl::StatusOr<std::vector<Seen>> LookEverywhere();
  absl::Status LookForEvents(const std::string& name_space, Namespace& place);
  absl::Status Delete(const std::string& name_space, const std::string& job);

  Clock& clock_;
  const PilotSetup setup_;
  const FindConfig find_config_;
  const KubernetesOptions options_;

  // Owned by thread_.
  std::unique_ptr<KubeClient> client_;
  std::map<std::string, Namespace> namespaces_;
  ThreadPool thread_{1};
};

}  // namespace concur::provision

#endif  // CONCUR_COORDINATOR_PROVISION_KUBERNETES_PROVIDER_H_
