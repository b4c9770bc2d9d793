// SPDX-License-Identifier: Apache-2.0
// Pilots as Kubernetes objects: the Job that is made for one, and what its Job and pod say of it.
//
// One Job for each pilot. An Indexed Job for many would make fewer objects, but a Job cannot let go
// of one of its pods for good, and which pilot goes is Concur's choice.
//
// Pure. Thread-safe.
#ifndef CONCUR_COORDINATOR_PROVISION_KUBE_OBJECTS_H_
#define CONCUR_COORDINATOR_PROVISION_KUBE_OBJECTS_H_

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "coordinator/provision/provider.h"
#include "core/pools/pool.h"
#include "core/pools/pools.h"

namespace concur::provision {

using KubeJson = nlohmann::json;

// Labels of everything that is made for a coordinator's pilots; by the first a coordinator finds
// its own again after a restart.
inline constexpr char kCoordinatorLabel[] = "concur/coordinator";
inline constexpr char kPoolLabel[] = "concur/pool";
// An annotation: the pilot's name as it is.
inline constexpr char kPilotAnnotation[] = "concur/pilot";
// An annotation: the image of jobs that the pilot was started for.
inline constexpr char kImageAnnotation[] = "concur/image";

// "concur%2Fcoordinator%3DID": a query for all pilots of a coordinator.
std::string PilotSelector(const std::string& coordinator_id);

// A name that Kubernetes takes, of at most 63 bytes, different for different pilots.
std::string KubeJobName(const std::string& coordinator_id, const std::string& pilot);

// Name of the Secret with this token and the setup's CA, certificate and key: other contents have
// another name, so that it need never be read or changed.
std::string KubeSecretName(const PilotSetup& setup, const std::string& token);
KubeJson KubeSecret(const std::string& name, const PilotSetup& setup, const std::string& token);

// InvalidArgument, naming the field, when the pool lacks what a pod needs.
absl::Status CheckKubePool(const PoolSpec& pool);
// REQUIRES: CheckKubePool(pool) is OK.
KubeJson KubePilotJob(const PoolSpec& pool, const PilotSetup& setup, const std::string& pilot,
                      const std::string& secret);

// The pilot that an object (Job or pod) was made for; "" when it is none.
std::string PilotOf(const KubeJson& object);

// Report on what became of a pilot. `pod` is its latest pod, or null; `event` the latest warning
// about its Job, or "".
PilotReport KubeReport(const KubeJson& job, const KubeJson* pod, const std::string& event);
// When the Job ended; nullopt while it has not.
std::optional<absl::Time> KubeEndTime(const KubeJson& job);

// Lenient readers of what a server says: "" and null for whatever is not there.
std::string KubeText(const KubeJson& json, const std::vector<const char*>& path);
const KubeJson* KubeFind(const KubeJson& json, const std::vector<const char*>& path);

}  // namespace concur::provision

#endif  // CONCUR_COORDINATOR_PROVISION_KUBE_OBJECTS_H_
