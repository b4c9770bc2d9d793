// SPDX-License-Identifier: Apache-2.0
// State of one sweep in the scheduler: its row, its jobs, and what is derived from its expansion.
// The scheduler keeps what follows from a job's state elsewhere: queues, leases, indices.
//
// Thread-compatible.
#ifndef CONCUR_CORE_STATE_SWEEP_RECORD_H_
#define CONCUR_CORE_STATE_SWEEP_RECORD_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "core/ids.h"
#include "core/job.h"
#include "core/reported_step.h"
#include "core/rows.h"
#include "core/state/durations.h"
#include "core/state/early_stop_cells.h"
#include "core/state/failure_tallies.h"
#include "core/state/job_table.h"
#include "core/state/ready_queue.h"
#include "core/state/spent_ledger.h"
#include "core/sweep/content_key.h"
#include "core/sweep/expansion.h"

namespace concur {

struct SweepRecord {
  // All jobs are in their initial states: those that read a system are BLOCKED, the others READY.
  SweepRecord(SweepRow row, std::shared_ptr<const Expansion> expansion);

  JobId IdOf(uint32_t job) const { return {row.id, job}; }
  SweepState State() const;
  // Nothing of a held sweep starts: it is paused or canceled, or its jobs are being retried.
  bool IsHeld() const { return row.paused || row.over_budget || row.canceled || row.retry; }
  // Millionths of a dollar; 0: none.
  int64_t BudgetUsdMicros() const {
    return row.budget_usd_micros.value_or(expansion->spec().budget_usd_micros);
  }
  SpentLedger::Kind SpentKindOf(uint32_t job) const;
  // True when no job is left that could end otherwise than it has, or will by a cancel.
  bool IsOver() const { return row.canceled || (jobs.unfinished() == 0 && !row.retry); }
  // After a restart, by the row: the job is canceled unless it has ended.
  bool IsCanceled(uint32_t job) const {
    return row.canceled || (row.retry && row.retry->was_canceled &&
                            PlaceInRetry(expansion->StageOf(job), job) >= row.retry->next);
  }
  // As SweepRow::Retry::next.
  static uint64_t PlaceInRetry(uint32_t stage, uint32_t job) {
    return (uint64_t{stage} << 32) + job;
  }
  // Changes the job's state and what is counted by state.
  void SetState(uint32_t job, JobState state);
  int32_t Priority() const;
  ReadyQueue::Lane LaneOf(uint32_t job) const;
  // The service of an instance; 0: its job asks none at that place. REQUIRES: it is of a job.
  uint32_t ServiceOf(JobId instance) const;
  // The set of services that the job asks.
  uint32_t ServicesOf(const JobCoordinates& at) const;
  Durations::Group GroupOf(uint32_t job) const { return groups[expansion->Locate(job).kind]; }
  const Digest& BlockKeyOf(uint32_t job) const {
    return keys.BlockKey(expansion->Locate(job).block);
  }
  // True if the result of an equal job will do: unless somebody asked to run it again, or what it
  // starts from.
  bool MayTakeResult(uint32_t job) const;
  // True if the time that the succeeded job took says how long such jobs take here: it ran itself.
  bool TaughtDuration(uint32_t job) const {
    return !jobs[job].reused() && !expansion->spec().imported;
  }
  const ApproachSpec& ApproachOf(uint32_t job) const {
    return expansion->spec().approaches[expansion->blocks()[expansion->Locate(job).block].approach];
  }
  // True if the job is a train job that succeeded and whose system has not been collected.
  bool HasSystem(uint32_t job) const;
  // True if a job that reads this train job's system has not succeeded.
  bool NeedsSystem(uint32_t train_job) const;
  // True if the job reads a system that is still to be made.
  bool AwaitsSource(uint32_t job) const;
  // True while a search has not chosen the job's setting.
  bool AwaitsSetting(uint32_t job) const;
  // REQUIRES: none of the settings is chosen.
  void Choose(const std::vector<Proposal>& proposals);
  // "its train job", or "the train job that it starts from".
  // REQUIRES: the job has a source (core/sweep/expansion.h).
  absl::string_view SourceText(uint32_t job) const;
  // Bytes that the job's result keeps for its owner; a taken-over one counts where it was made.
  int64_t StoredBytesOf(uint32_t job) const;

  // Ends the process when the parts contradict each other.
  void CheckInvariants() const;

  SweepRow row;
  std::shared_ptr<const Expansion> expansion;  // shared with readers that outlive a turn
  // To which parts below refer: as the present one, but for settings that were chosen since.
  const std::shared_ptr<const Expansion> first_expansion;
  ContentKeys keys;
  JobTable jobs;
  FailureTallies tallies;
  absl::btree_map<uint32_t, StepCounts> steps;  // counts of the jobs that have reported
  uint64_t next_arrival = 1;                    // arrival of a report
  SpentLedger spent;
  std::optional<EarlyStopCells> early_stop;
  absl::btree_map<uint32_t, Checkpoint> checkpoints;  // left by unfinished train jobs
  uint32_t owner = 0;                                 // a number of the OwnerLedger
  uint32_t queued = 0;         // RUNNING jobs that were given ahead and have not started
  uint32_t stopping = 0;       // attempts that were canceled and that workers have not stopped yet
  uint32_t next_canceled = 0;  // when the sweep is canceled: the jobs before it have ended
  uint32_t next_erased = 0;    // when it was deleted: the jobs before it are in no index
  // By kind (core/sweep/expansion.h):
  std::vector<Durations::Group> groups;
  std::vector<uint32_t> label_sets;  // numbers of LabelSets; empty when no job asks for labels
  std::vector<uint32_t> use_sets;    // numbers of NamedResources; empty when no job uses any
  // Numbers of Services, by the first job of each cell whose eval jobs ask their approach's own,
  // and by approach those that others need; empty when none do.
  absl::flat_hash_map<uint32_t, uint32_t> services;
  std::vector<uint32_t> needed;
  // Sets of them: by kind what its jobs need, empty when none do; and by the own service and that
  // what a job asks.
  std::vector<uint32_t> need_sets;
  absl::flat_hash_map<std::pair<uint32_t, uint32_t>, uint32_t> asked;
};

}  // namespace concur

#endif  // CONCUR_CORE_STATE_SWEEP_RECORD_H_
