// SPDX-License-Identifier: Apache-2.0
// The present turn of a Scheduler: its time, and what it has changed so far. Every part of the
// scheduler notes its changes here; Scheduler::TakeEffects makes the rows of them.
//
// Thread-compatible.
#ifndef CONCUR_CORE_SCHEDULER_TURN_H_
#define CONCUR_CORE_SCHEDULER_TURN_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "core/ids.h"
#include "core/job.h"
#include "core/result.h"
#include "core/rows.h"

namespace concur {

// A change of one job, for watchers.
struct JobEvent {
  JobId id;
  JobState state = JobState::kReady;
  Attempt attempt;
  std::string worker;
  FailureClass failure = FailureClass::kNone;
  std::string message;
  bool reused = false;
};

// The effects of a turn: rows to save before anybody is answered, and changes to announce then.
struct Effects {
  Batch batch;
  std::vector<JobEvent> events;             // in the order in which they happened
  absl::btree_set<SweepId> changed_sweeps;  // whose state or counts changed
};

class Turn {
 public:
  absl::Time now() const { return now_; }
  // Time never goes back.
  void AdvanceTo(absl::Time now) { now_ = std::max(now_, now); }

  // The row of a job, of its result, or of a sweep is to be saved.
  void Touch(JobId id) { jobs_.insert(id); }
  void TouchResult(JobId id) { results_.insert(id); }
  void TouchSweep(SweepId id) { sweeps_.insert(id); }
  // Rows of jobs and results to be saved so far.
  size_t touched() const { return jobs_.size() + results_.size(); }
  // The sweep's state or counts, or what its owner uses, changed.
  void AnnounceSweep(SweepId id) { effects_.changed_sweeps.insert(id); }
  void Announce(JobEvent event) { effects_.events.push_back(std::move(event)); }
  // Rows that are complete when they are noted.
  Batch& batch() { return effects_.batch; }

  // The touched ones, in order; from now on they no longer are.
  std::vector<JobId> TakeJobs() { return Sorted(std::exchange(jobs_, {})); }
  std::vector<JobId> TakeResults() { return Sorted(std::exchange(results_, {})); }
  absl::btree_set<SweepId> TakeSweeps() { return std::exchange(sweeps_, {}); }
  Effects TakeEffects() { return std::exchange(effects_, {}); }
  // Forgets all changes: what was restored is saved already.
  void Discard();

 private:
  static std::vector<JobId> Sorted(const absl::flat_hash_set<JobId>& ids);

  absl::Time now_ = absl::InfinitePast();
  absl::flat_hash_set<JobId> jobs_;
  absl::flat_hash_set<JobId> results_;
  absl::btree_set<SweepId> sweeps_;
  Effects effects_;
};

}  // namespace concur

#endif  // CONCUR_CORE_SCHEDULER_TURN_H_
