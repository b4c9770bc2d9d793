// SPDX-License-Identifier: Apache-2.0
// The services that eval jobs ask (ServiceSpec), and the instances of them that workers run.
//
// Services of equal content and owner are one, named by a small number; 0 is none. Sets of them are
// stored once and named likewise, as LabelSets does; 0 is the empty set. A service has at most one
// instance on a worker, besides those that are being stopped. An instance is an attempt of
// JobId::Service() of the job that it was started for, and occupies its worker as a job does. Which
// ones run is in no row: workers list them in every Sync. An AttemptRow says how long each has run.
//
// Thread-compatible.
#ifndef CONCUR_CORE_STATE_SERVICES_H_
#define CONCUR_CORE_STATE_SERVICES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
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

// An instance is charged so often while it runs: nobody may know of it after the next restart.
inline constexpr absl::Duration kServiceChargeInterval = absl::Minutes(1);

class Services {
 public:
  struct Service {
    uint32_t owner = 0;  // a number of OwnerLedger
    std::string approach;
    Setting setting;
    ServiceSpec spec;

    std::vector<uint32_t> sets = {};  // that it is in

    absl::btree_map<std::string, AttemptId> live = {};    // instances that nobody stops, by worker
    absl::flat_hash_map<std::string, size_t> users = {};  // jobs that ask it, by worker
    uint32_t failed_starts = 0;                           // in a row
    absl::btree_set<std::string> failed_on = {};          // their workers
    absl::Time next_start = absl::InfinitePast();
    std::optional<JobResult> failure = std::nullopt;    // the last start's
    std::optional<absl::Duration> load = std::nullopt;  // the last start's, until it was ready
  };
  struct Instance {
    uint32_t service = 0;
    std::string worker;
    bool ready = false;
    bool stopping = false;
    std::optional<absl::Time> start_time;             // nullopt: it was found running
    absl::Time idle_since;                            // while no job on the worker asks the service
    absl::Time charged_until = absl::InfinitePast();  // by a row of its use
  };
  using Instances = absl::btree_map<AttemptId, Instance>;

  // The number of the service with this key; a new one gets the next number.
  uint32_t Add(const Digest& key, uint32_t owner, const ApproachSpec& approach,
               const Setting& setting);
  // The number of the set of these services; 0 and repetitions are passed over.
  uint32_t AddSet(std::vector<uint32_t> services);
  // REQUIRES: AddSet has returned this number, or it is 0.
  const std::vector<uint32_t>& SetOf(uint32_t set) const { return sets_[set]; }
  bool Contains(uint32_t set, uint32_t service) const;
  // The resources of all instances of the set, but for those that the worker has.
  Resources ResourcesOf(uint32_t set, const std::string& worker = "") const;
  // REQUIRES: Add has returned this number.
  Service& Get(uint32_t service) { return services_[service]; }
  const Service& Get(uint32_t service) const { return services_[service]; }
  // By approach: sets the loads of its services, and the longest of those that are known.
  void SetLoads(const std::map<std::string, absl::Duration>& loads);
  std::map<std::string, absl::Duration> Loads() const;

  // --- instances --------------------------------------------------------------------------------

  const Instances& instances() const { return instances_; }
  // The instance that the worker runs under this id; null.
  Instance* Find(const std::string& worker, AttemptId id);
  const Instance* Find(const std::string& worker, AttemptId id) const;
  bool Contains(AttemptId id) const { return instances_.contains(id); }
  // The one on the worker that nobody stops; nullopt.
  std::optional<AttemptId> InstanceOn(const std::string& worker, uint32_t service) const;
  // Services of the set of which the worker has such an instance; and true if that is each.
  size_t CountOn(const std::string& worker, uint32_t set) const;
  bool HasAll(const std::string& worker, uint32_t set) const;
  // An attempt of JobId::Service() that no worker has: numbers go on after a restart.
  AttemptId NewAttempt(JobId service, absl::Time now);
  void RestoreLastAttempt(uint32_t number) { last_attempt_ = number; }
  // When an attempt was given its number, to a second.
  static absl::Time TimeOf(Attempt attempt) { return absl::FromUnixSeconds(attempt.number); }
  // REQUIRES: no worker has the attempt; this one has no other that nobody stops.
  void AddInstance(AttemptId id, Instance instance);
  void SetReady(AttemptId id, absl::Time now);
  void SetStopping(AttemptId id);
  // REQUIRES: the instance is there, and so for the two above.
  void RemoveInstance(AttemptId id);
  // An instance failed on the worker before it was ready: the next start waits.
  void FailStart(uint32_t service, const std::string& worker, absl::Time next_start,
                 const JobResult& result);
  // The failure of the last start, of a service of the set that has no instance and waits for the
  // next; null.
  const JobResult* FailureOf(uint32_t set, absl::Time now) const;
  bool HasDelayed() const { return !delayed_.empty(); }
  // Starts of the service may be tried again.
  void Forgive(uint32_t service);

  // --- jobs -------------------------------------------------------------------------------------

  // A job on the worker asks the services of the set from now on, or no longer does.
  void AddUser(const std::string& worker, uint32_t set);
  void RemoveUser(const std::string& worker, uint32_t set, absl::Time now);
  size_t UsersOn(const std::string& worker, uint32_t service) const;
  // True if the worker has an instance that is ready and may be asked by one more job.
  bool HasPlace(const std::string& worker, uint32_t service) const;

  // When an idle instance of a service that nobody `wants` is to stop next, or a start may be tried
  // again; InfiniteFuture.
  absl::Time NextDeadline(absl::Time now, absl::FunctionRef<bool(uint32_t service)> wants) const;

  // Ends the process when instances contradict each other.
  void CheckInvariants() const;

 private:
  std::vector<Service> services_ = {Service()};
  std::vector<std::vector<uint32_t>> sets_ = {{}};
  std::map<std::vector<uint32_t>, uint32_t> set_numbers_ = {{{}, 0}};
  absl::flat_hash_map<Digest, uint32_t> numbers_;
  Instances instances_;
  absl::btree_set<uint32_t> delayed_;  // services whose last start has failed
  uint32_t last_attempt_ = 0;
};

}  // namespace concur

#endif  // CONCUR_CORE_STATE_SERVICES_H_
