// SPDX-License-Identifier: Apache-2.0
// The workers that a coordinator knows: who is live, draining, in quarantine or lost, what each
// holds, and when the next deadline of any of them passes.
//
// Every worker has a deadline: when a live one's lease ends, and when a lost one is forgotten. Only
// a lost worker that a user drained may be without one: the wish must be remembered.
//
// Thread-compatible.
#ifndef CONCUR_CORE_STATE_ROSTER_H_
#define CONCUR_CORE_STATE_ROSTER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "core/ids.h"
#include "core/rows.h"
#include "core/state/assignments.h"
#include "core/state/running_jobs.h"
#include "core/sync/sync.h"

namespace concur {

struct Worker {
  bool draining() const { return drain_asked || drain_self; }
  bool in_quarantine(absl::Time now) const { return quarantine_end > now; }
  // True if it may be given jobs.
  bool TakesJobs(absl::Time now) const { return !lost && !draining() && !in_quarantine(now); }
  // True if a Sync of it has something to be answered at once.
  bool HasOrders() const {
    return !forget.empty() || drain_asked != drain_sent || assignments.HasOrders();
  }
  Resources Free() const { return assignments.FreeOf(info.capacity, info.slots); }
  WorkerRow Row() const;

  WorkerInfo info;
  uint32_t holder = kNoHolder;       // a number of RunningJobs
  std::optional<uint64_t> sequence;  // the last Sync's; nullopt before this incarnation's first
  absl::Time last_seen;
  absl::Time lease_expire;  // its deadline
  absl::Time end_time = absl::InfiniteFuture();
  absl::Duration whole_time = absl::ZeroDuration();  // the longest that it had left
  bool lost = false;
  bool left = false;         // lost, and it said so itself
  bool drain_asked = false;  // by a user
  bool drain_self = false;   // by the worker
  bool drain_sent = false;   // the value of drain_asked in its last answer
  bool parked = false;       // its call waits for an answer
  // It gets no jobs until then: others succeed at what it fails. InfinitePast: no quarantine.
  absl::Time quarantine_end = absl::InfinitePast();
  absl::Duration quarantine_span;  // the latest one's; the next is longer
  std::string quarantine_reason;
  Assignments assignments;
  // Attempt that it held when its lease ended: it may come back still running it.
  struct Lost {
    uint64_t gpu_mask = 0;
    int32_t gpu_share = 0;
    uint32_t uses = 0;
    absl::Duration time_left;
  };
  absl::flat_hash_map<AttemptId, Lost> lost_attempts;
  absl::btree_set<JobId> local;     // eval jobs whose systems it made; some may have started
  std::vector<ForgetOrder> forget;  // answers to the results of its last Sync
  uint64_t succeeded = 0;
  uint64_t failed = 0;
};

class Roster {
 public:
  using Workers = absl::btree_map<std::string, std::unique_ptr<Worker>>;

  // A worker without a deadline, which its caller sets. REQUIRES: the name is not known.
  Worker& Add(WorkerInfo info);
  // REQUIRES: the name is known.
  void Erase(const std::string& name);
  // Null when the name is not known.
  Worker* Find(const std::string& name);
  const Worker* Find(const std::string& name) const;
  size_t size() const { return workers_.size(); }
  // By name.
  Workers::const_iterator begin() const { return workers_.begin(); }
  Workers::const_iterator end() const { return workers_.end(); }
  // True if a worker that may be given jobs, other than this one, is there.
  bool HasOtherThatTakesJobs(const std::string& name, absl::Time now) const;

  // --- deadlines --------------------------------------------------------------------------------

  // Sets or changes the worker's deadline.
  void SetDeadline(Worker& worker, absl::Time end);
  void DropDeadline(const Worker& worker) {
    deadlines_.erase({worker.lease_expire, NameOf(worker)});
  }
  bool HasDeadline(const Worker& worker) const {
    return deadlines_.contains({worker.lease_expire, NameOf(worker)});
  }
  void BeginQuarantine(Worker& worker, absl::Time end, std::string reason);
  // False when there is none.
  bool EndQuarantine(Worker& worker);
  // The worker whose deadline, or quarantine, ended first, at or before `now`; null.
  Worker* FirstOverdue(absl::Time now);
  Worker* FirstQuarantineEnded(absl::Time now);
  // The next of all deadlines and ends of quarantines; InfiniteFuture when there is none.
  absl::Time NextDeadline() const;

  // Ends the process when workers and deadlines disagree, or a worker's own parts do.
  void CheckInvariants() const;

 private:
  using Deadlines = absl::btree_set<std::pair<absl::Time, std::string>>;

  static const std::string& NameOf(const Worker& worker) { return worker.info.name; }
  Worker* FirstOf(const Deadlines& deadlines, absl::Time now);

  Workers workers_;
  Deadlines deadlines_;
  Deadlines quarantines_;
};

}  // namespace concur

#endif  // CONCUR_CORE_STATE_ROSTER_H_
