// SPDX-License-Identifier: Apache-2.0
// The jobs that could start now, in the order in which they should: higher priority first; among
// owners, the one that uses least; then older sweeps; eval jobs before train jobs (scores come
// early); those that are expected to take longest (so that none of them is left for the end); then
// the job's index.
//
// Jobs wait in lanes of equal (priority, owner, sweep, kind, resources, labels, uses, services,
// duration group), so that choosing one for a worker compares lanes, not jobs, and a lane whose
// jobs fit nowhere does not block the others.
//
// Thread-compatible.
#ifndef CONCUR_CORE_STATE_READY_QUEUE_H_
#define CONCUR_CORE_STATE_READY_QUEUE_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "core/ids.h"
#include "core/resources.h"
#include "core/state/durations.h"

namespace concur {

class ReadyQueue {
 public:
  struct Lane {
    int32_t priority = 0;
    uint32_t owner = 0;  // whose sweep it is: a number of the caller's
    SweepId sweep;
    bool is_train = false;
    Resources resources;
    uint32_t labels = 0;    // that its worker must carry: a number of the caller's; 0: none
    uint32_t uses = 0;      // a set of NamedResources
    uint32_t services = 0;  // that its jobs ask: a set of Services
    Durations::Group group = 0;

    friend auto operator<=>(const Lane& a, const Lane& b) = default;
  };
  struct Choice {
    Lane lane;
    uint32_t job = 0;
  };
  // True if a lane's jobs may be taken.
  using Accept = absl::FunctionRef<bool(const Lane&)>;
  // The same of one job of such a lane.
  using AcceptJob = absl::FunctionRef<bool(JobId)>;
  // Share of the machines that an owner has now; less goes first.
  using Share = absl::FunctionRef<int64_t(uint32_t owner)>;

  // Adds a job. REQUIRES: it is not in the queue.
  void Push(const Lane& lane, uint32_t job);
  // Removes a job. REQUIRES: it is in the queue under this lane.
  void Erase(const Lane& lane, uint32_t job);
  bool Contains(const Lane& lane, uint32_t job) const;
  // The first job of the first lane that may be taken. It stays in the queue. Of each lane
  // `accept_job` is asked about the first kProbesMax jobs.
  static constexpr int kProbesMax = 8;
  std::optional<Choice> First(
      Accept accept, Share share, AcceptJob accept_job = [](JobId) { return true; }) const;

  // The jobs of a group are now expected to take so long.
  void SetRank(Durations::Group group, Durations::Rank rank);
  // The least that any lane asks for: a worker with less can be skipped. INT64_MAX and
  // kUnknownRank when there is none.
  int64_t cpu_millis_min() const { return cpus_.empty() ? INT64_MAX : cpus_.begin()->first; }
  Durations::Rank rank_min() const {
    return ranks_.empty() ? Durations::kUnknownRank : ranks_.begin()->first;
  }

  // A paused sweep's jobs stay in the queue but are not taken.
  void Pause(SweepId sweep);
  void Resume(SweepId sweep);
  bool IsPaused(SweepId sweep) const { return paused_sweeps_.contains(sweep); }
  // Moves a sweep's lanes to another priority.
  void SetPriority(SweepId sweep, int32_t priority);
  // Removes all jobs of a sweep.
  void EraseSweep(SweepId sweep);

  size_t size() const { return size_; }
  // Jobs that ask the set of services and may be taken.
  size_t CountOf(uint32_t services) const;
  // Calls look(lane, jobs) with every lane whose jobs may be taken, and how many there are.
  void ForEachLane(absl::FunctionRef<void(const Lane&, size_t)> look) const;

 private:
  // Where a lane stands among those of its priority and owner.
  struct Place {
    SweepId sweep;
    bool is_train = false;
    Durations::Rank rank = 0;
    Lane lane;

    friend std::strong_ordering operator<=>(const Place& a, const Place& b) {
      if (const auto order = a.sweep <=> b.sweep; order != 0) {
        return order;
      }
      if (const auto order = a.is_train <=> b.is_train; order != 0) {
        return order;
      }
      if (const auto order = b.rank <=> a.rank; order != 0) {
        return order;
      }
      return a.lane <=> b.lane;
    }
    friend bool operator==(const Place& a, const Place& b) = default;
  };
  using Jobs = absl::btree_set<uint32_t>;
  using Lanes = std::map<Place, Jobs>;
  using Owners = std::map<uint32_t, Lanes>;  // none is empty

  Durations::Rank RankOf(Durations::Group group) const;
  Place PlaceOf(const Lane& lane) const;
  // Count the lanes that can be taken.
  void Enter(const Place& place);
  void Leave(const Place& place);
  void CountJobs(const Lane& lane, size_t added, size_t removed);
  static const Jobs* Find(const Lanes& lanes, const Place& place);
  // The lane's jobs, moved out of the queue and back in.
  Jobs Detach(const Lane& lane);
  void Attach(const Lane& lane, Jobs jobs);
  using Moved = std::vector<std::pair<Lane, Jobs>>;
  Moved Detach(const absl::btree_set<Lane>& lanes);
  Moved DetachSweep(SweepId sweep);
  void Attach(Moved&& moved);

  std::map<int32_t, Owners, std::greater<>> lanes_;  // by priority; none is empty
  Lanes paused_;
  absl::btree_set<SweepId> paused_sweeps_;
  // All lanes, by sweep and by group.
  absl::flat_hash_map<SweepId, absl::btree_set<Lane>> by_sweep_;
  absl::flat_hash_map<Durations::Group, absl::btree_set<Lane>> by_group_;
  absl::flat_hash_map<Durations::Group, Durations::Rank> rank_of_;
  absl::flat_hash_map<uint32_t, size_t> of_services_;  // jobs that can be taken, without set 0
  absl::btree_map<int64_t, size_t> cpus_;              // lanes that can be taken, by CPUs
  absl::btree_map<Durations::Rank, size_t> ranks_;     // and by rank
  size_t size_ = 0;
};

}  // namespace concur

#endif  // CONCUR_CORE_STATE_READY_QUEUE_H_
