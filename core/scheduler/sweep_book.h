// SPDX-License-Identifier: Apache-2.0
// The sweeps that a scheduler keeps, found by id, by job, and by the request that submitted them,
// with what they share: their owners' ledger, the label sets that their jobs ask for, and the named
// resources that these hold.
//
// The ready queue holds back the jobs of exactly those sweeps that are held (SweepRecord::IsHeld).
// A sweep's row has an end time exactly while all of its jobs have ended.
//
// Thread-compatible.
#ifndef CONCUR_CORE_SCHEDULER_SWEEP_BOOK_H_
#define CONCUR_CORE_SCHEDULER_SWEEP_BOOK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/ids.h"
#include "core/policy.h"
#include "core/rows.h"
#include "core/scheduler/job_places.h"
#include "core/scheduler/turn.h"
#include "core/state/job_table.h"
#include "core/state/label_sets.h"
#include "core/state/named_resources.h"
#include "core/state/owner_ledger.h"
#include "core/state/services.h"
#include "core/sweep/expansion.h"

namespace concur {

struct SweepRecord;

class SweepBook {
 public:
  using Sweeps = absl::btree_map<SweepId, std::unique_ptr<SweepRecord>>;

  struct Submission {
    std::string owner;
    std::string request_id;
    std::string spec;                            // encoded, for the store
    std::shared_ptr<const Expansion> expansion;  // shared with views that outlive a turn
    // Uploads of the owner that neither this nor another sweep uses: they count, too.
    int64_t unclaimed_bytes = 0;
  };
  // A sweep that this start left on disk, since there was no memory for its jobs. Nothing of it
  // changes; jobs of it that run go on, and their workers keep the results.
  struct LeftOut {
    SweepRow row;
    std::shared_ptr<const Expansion> expansion;

    // Jobs of it may run that use named resources: no others that use any start.
    bool MayHoldUnits() const { return !row.end_time && expansion->has_uses(); }
  };
  using LeftOuts = absl::btree_map<SweepId, LeftOut>;

  SweepBook(const SchedulerPolicy& policy, Turn& turn, JobPlaces& places);
  ~SweepBook();

  const Sweeps& all() const { return sweeps_; }
  // NotFound; FailedPrecondition as of CheckLoaded.
  absl::StatusOr<SweepRecord*> Get(SweepId id);
  const LeftOuts& left_out() const { return left_out_; }
  // Deleted sweeps whose jobs are still in indices: SweepOf finds them, and nothing else does.
  Sweeps& erased() { return erased_; }
  bool Knows(SweepId id) const { return sweeps_.contains(id) || left_out_.contains(id); }
  // FailedPrecondition, with the remedy, for a sweep that was left on disk.
  absl::Status CheckLoaded(SweepId id) const;
  // Resources of a job of such a sweep; null for any other job.
  const Resources* ResourcesOfLeftOut(JobId id) const;
  // REQUIRES: the job's sweep exists; for JobOf also the job.
  SweepRecord& SweepOf(JobId id);
  const SweepRecord& SweepOf(JobId id) const;
  const JobTable::Job& JobOf(JobId id) const;
  bool HasJob(JobId id) const;

  // The sweep of the owner's earlier submission with this request id; nullopt. InvalidArgument when
  // that one had another spec.
  absl::StatusOr<std::optional<SweepId>> FindRequest(const Submission& submission) const;
  // Bytes of memory that a job takes once it has ended, with a result of two metrics and three
  // artifacts: the column "done" of bench/scheduler_bench (515 to 636), rounded up.
  static constexpr int64_t kJobMemoryBytes = 700;
  // Bytes that the jobs of all sweeps may come to take, and OK when the owner may add as many more;
  // ResourceExhausted, with the numbers, beyond SchedulerPolicy::job_memory_max and
  // Quota::jobs_max.
  int64_t job_memory() const { return jobs_ * kJobMemoryBytes; }
  absl::Status CheckMemory(const std::string& owner, uint32_t jobs) const;
  // The sweeps that a start must leave on disk to keep to `job_memory_max`: those that have not
  // ended are loaded first, and newer ones before older ones. `expansions` are those of `rows`.
  static absl::btree_set<SweepId> ChooseLeftOut(
      int64_t job_memory_max, const std::vector<SweepRow>& rows,
      const std::vector<std::shared_ptr<const Expansion>>& expansions);
  int64_t job_memory_max() const { return policy_.job_memory_max; }
  // Gives a new sweep an id and a row. Its jobs are in their initial states, and not in the queue.
  // Errors as of CheckUsesAreSetAreSet, CheckMemory and OwnerLedger::CheckQuota.
  absl::StatusOr<SweepRecord*> AddNew(Submission submission);
  // Adds a saved sweep as AddNew does. DataLoss when the row contradicts others.
  absl::Status Restore(SweepRow row, std::shared_ptr<const Expansion> expansion);
  // REQUIRES: called once; no sweep is in both.
  void RestoreLeftOut(LeftOuts left_out);
  // Deletes the sweep; what was loaded of it stays in `erased`. REQUIRES: nothing of the sweep is
  // in any place but those of finished jobs, nor at a worker's that its end waits for; or it was
  // left on disk and has ended.
  void Erase(SweepId id);
  void RestoreNextNumber(uint64_t number) { next_number_ = number; }

  void SetPaused(SweepRecord& sweep, bool paused);
  // The sweep's row was changed so that its jobs may start now, or may not.
  void UpdateHold(const SweepRecord& sweep);
  void SetPriority(SweepRecord& sweep, int32_t priority);
  void SetBudget(SweepRecord& sweep, int64_t usd_micros);
  // Holds the sweep, whose next job would pass its budget; or lets it go on.
  void SetOverBudget(SweepRecord& sweep, bool over_budget);
  // Sweeps with a budget.
  const absl::btree_set<SweepId>& budgets() const { return budgets_; }
  // Notes when the sweep ended, or that it goes on, after its jobs' states have changed.
  void UpdateEnd(SweepRecord& sweep);

  OwnerLedger& owners() { return owners_; }
  const OwnerLedger& owners() const { return owners_; }
  const LabelSets& label_sets() const { return label_sets_; }
  NamedResources& resources() { return resources_; }
  const NamedResources& resources() const { return resources_; }
  Services& services() { return services_; }
  const Services& services() const { return services_; }

  // Ends the process when a sweep contradicts itself, or the book contradicts its sweeps.
  void CheckInvariants() const;

 private:
  absl::StatusOr<SweepRecord*> Add(SweepRow row, std::shared_ptr<const Expansion> expansion);

  // A search of the sweep may choose settings.
  void NoteSearches(const SweepRecord& sweep);

  const SchedulerPolicy& policy_;
  Turn& turn_;
  JobPlaces& places_;
  uint64_t next_number_ = 1;
  Sweeps sweeps_;
  Sweeps erased_;
  LeftOuts left_out_;
  int64_t jobs_ = 0;                                                            // all sweeps'
  absl::flat_hash_map<std::pair<std::string, std::string>, SweepId> requests_;  // owner, id
  absl::btree_set<SweepId> budgets_;
  OwnerLedger owners_;
  LabelSets label_sets_;
  NamedResources resources_;
  Services services_;
};

// Numbers the services of the sweep's cells whose settings are chosen, and those that jobs need.
void NumberServices(Services& services, SweepRecord& sweep);

// OK when every resource that jobs of the sweep use is set; FailedPrecondition, with the remedy.
absl::Status CheckUsesAreSet(const NamedResources& resources, const Expansion& expansion);

}  // namespace concur

#endif  // CONCUR_CORE_SCHEDULER_SWEEP_BOOK_H_
