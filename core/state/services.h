// SPDX-License-Identifier: Apache-2.0
// The services that eval jobs ask (ServiceSpec), and the instances of them that workers run.
//
// Services of equal content and owner are one, named by a small number; 0 is none. A service has at
// most one instance on a worker, besides those that are being stopped. An instance is an attempt of
// JobId::Service() of the job that it was started for, and occupies its worker as a job does. It is
// in no row: workers list the instances that they run in every Sync.
//
// Thread-compatible.
#ifndef CONCUR_CORE_STATE_SERVICES_H_
#define CONCUR_CORE_STATE_SERVICES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "core/ids.h"
#include "core/result.h"
#include "core/sweep/sweep.h"

namespace concur {

// Starts in a row that may fail; then the jobs that need the service fail, too.
inline constexpr uint32_t kServiceStartsMax = 3;

class Services {
 public:
  struct Service {
    uint32_t owner = 0;  // a number of OwnerLedger
    std::string approach;
    ServiceSpec spec;

    size_t instances = 0;        // that nobody stops
    uint32_t failed_starts = 0;  // in a row
    absl::Time next_start = absl::InfinitePast();
    std::optional<JobResult> failure = std::nullopt;    // the last start's, after kServiceStartsMax
    std::optional<absl::Duration> load = std::nullopt;  // the last start's, until it was ready
  };
  struct Instance {
    uint32_t service = 0;
    std::string worker;
    bool ready = false;
    bool stopping = false;
    std::optional<absl::Time> start_time;  // nullopt: it was found running
    absl::Time idle_since;                 // while no job on the worker asks the service
  };
  using Instances = absl::btree_map<AttemptId, Instance>;

  // The number of the service with this key; a new one gets the next number.
  uint32_t Add(const Digest& key, uint32_t owner, const ApproachSpec& approach);
  // REQUIRES: Add has returned this number.
  Service& Get(uint32_t service) { return services_[service]; }
  const Service& Get(uint32_t service) const { return services_[service]; }
  // True when no job asks any.
  bool empty() const { return services_.size() == 1; }

  // --- instances --------------------------------------------------------------------------------

  const Instances& instances() const { return instances_; }
  // Null when there is none.
  Instance* Find(AttemptId id);
  const Instance* Find(AttemptId id) const;
  // The one on the worker that nobody stops; nullopt.
  std::optional<AttemptId> InstanceOn(const std::string& worker, uint32_t service) const;
  // An attempt that no worker has had: numbers go on after a restart.
  AttemptId NewAttempt(JobId job, absl::Time now);
  // REQUIRES: the worker has no other that nobody stops.
  void AddInstance(AttemptId id, Instance instance);
  void SetReady(AttemptId id, absl::Time now);
  void SetStopping(AttemptId id);
  void RemoveInstance(AttemptId id);
  // The instance failed before it was ready: the next start waits.
  void FailStart(uint32_t service, absl::Time next_start, const JobResult& result);
  // Starts of the service may be tried again.
  void Forgive(uint32_t service);

  // --- jobs -------------------------------------------------------------------------------------

  // A job on the worker asks the service from now on, or no longer does.
  void AddUser(const std::string& worker, uint32_t service);
  void RemoveUser(const std::string& worker, uint32_t service, absl::Time now);
  size_t UsersOn(const std::string& worker, uint32_t service) const;
  // True if the worker has an instance that is ready and may be asked by one more job.
  bool HasPlace(const std::string& worker, uint32_t service) const;

  // When an idle instance of a service that nobody `wants` is to stop next, or a start may be tried
  // again; InfiniteFuture.
  absl::Time NextDeadline(absl::Time now, absl::FunctionRef<bool(uint32_t service)> wants) const;

  // Ends the process when instances contradict each other.
  void CheckInvariants() const;

 private:
  using Place = std::pair<std::string, uint32_t>;  // worker, service

  std::vector<Service> services_ = {Service()};
  absl::flat_hash_map<Digest, uint32_t> numbers_;
  Instances instances_;
  absl::flat_hash_map<Place, AttemptId> by_place_;  // that nobody stops
  absl::flat_hash_map<Place, size_t> users_;
  uint32_t last_attempt_ = 0;
};

}  // namespace concur

#endif  // CONCUR_CORE_STATE_SERVICES_H_
