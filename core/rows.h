// SPDX-License-Identifier: Apache-2.0
// The rows of the database: a commit saves them, a restart restores the scheduler from them.
//
// Values. The scheduler fills a Batch, a Store saves it; Store::Load gives a Snapshot, from which
// Scheduler::Restore starts.
#ifndef CONCUR_CORE_ROWS_H_
#define CONCUR_CORE_ROWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/digest.h"
#include "core/ids.h"
#include "core/job.h"
#include "core/reported_step.h"
#include "core/result.h"
#include "core/spent.h"

namespace concur {

// A sweep as stored. `spec` changes by what its search chooses alone.
struct SweepRow {
  SweepId id;
  std::string owner;
  std::string name;
  std::string request_id;  // unique among the owner's sweeps; "" is never matched
  absl::Time create_time;
  std::string spec;  // encoded by the engine
  bool paused = false;
  bool canceled = false;
  std::optional<absl::Time> end_time;  // when the last job ended; reset by RetryJobs
  // From submission to the last end, as it was expected at submission; nullopt: unknown.
  std::optional<absl::Duration> forecast;
  std::optional<int32_t> priority;  // as changed since submission; nullopt: its specification's
  std::optional<int64_t> budget_usd_micros;  // likewise
  bool over_budget = false;  // its next job would pass the budget: nothing starts for now
  // A retry of the whole sweep that is under way.
  struct Retry {
    uint64_t next = 0;          // the first job to come: (its stage << 32) + its index
    bool was_canceled = false;  // jobs to come that have not ended are canceled

    friend bool operator==(const Retry&, const Retry&) = default;
  };
  std::optional<Retry> retry;

  friend bool operator==(const SweepRow&, const SweepRow&) = default;
};

// A job that has left its initial state.
struct JobRow {
  JobId id;
  JobState state = JobState::kReady;
  Attempt attempt;                               // the latest; 0 when it never ran
  uint32_t failures = 0;                         // attempts that ended by the job's own failure
  uint32_t lost = 0;                             // attempts lost or preempted
  FailureClass failure = FailureClass::kNone;    // the latest unsuccessful attempt's
  absl::Time not_before = absl::InfinitePast();  // when BACKOFF ends
  std::string worker;                            // the latest attempt's; "" when it never ran
  std::string incarnation;                       // that worker's
  uint64_t gpu_mask = 0;                         // GPUs of an attempt that runs or may come back
  std::optional<JobId> reused_from;              // the job whose result it shares
  bool system_collected = false;                 // train job whose system was removed by retention
  bool no_reuse = false;                         // somebody asked to run it again
  uint32_t deaths = 0;                           // deaths of its workers while it ran, in a row
  bool death_shared = false;                     // other jobs ran beside the last of them
  uint32_t rung = 0;                             // early_stop's: how far a train job may train
  bool whole = false;                            // somebody asked for it: no early_stop of it
  std::optional<Checkpoint> checkpoint;          // left for the next attempt to go on from
  absl::Time update_time = absl::UnixEpoch();

  friend bool operator==(const JobRow&, const JobRow&) = default;
};

// The counted result of a job in state SUCCEEDED or FAILED. At most one a job.
struct ResultRow {
  JobId id;
  JobResult result;

  friend bool operator==(const ResultRow&, const ResultRow&) = default;
};

// An attempt that did not succeed, kept for people and for blame. Bounded by the retry policy and
// the rungs of early stopping. Or the use of an instance of a service (id.IsService()), so far.
struct AttemptRow {
  JobId id;
  Attempt attempt;
  std::string worker;
  absl::Time end_time;
  JobResult result;

  friend bool operator==(const AttemptRow&, const AttemptRow&) = default;
};

// A report of a job that counted.
struct StepRow {
  JobId id;
  uint64_t arrival = 0;  // grows with the reports of one sweep
  Attempt attempt;
  ReportedStep step;

  friend bool operator==(const StepRow&, const StepRow&) = default;
};

// The reports of a job and name, as far as a restart needs them.
struct StepSeriesRow {
  JobId id;
  StepCounts::Series series;
  uint64_t last_arrival = 0;

  friend bool operator==(const StepSeriesRow&, const StepSeriesRow&) = default;
};

// Amounts that an attempt has spent.
struct SpentRow {
  JobId id;
  Attempt attempt;
  Spent spent;
  absl::Time time;  // when a report last added something

  friend bool operator==(const SpentRow&, const SpentRow&) = default;
};

// State that must be remembered about a worker by name.
struct WorkerRow {
  std::string name;
  std::string incarnation;  // "": it left
  bool draining = false;
  absl::Time last_seen = absl::UnixEpoch();
  absl::Time quarantine_end = absl::InfinitePast();       // the present one's; InfinitePast: none
  absl::Duration quarantine_span = absl::ZeroDuration();  // the latest one's; the next is longer
  std::string quarantine_reason{};                        // the present one's

  friend bool operator==(const WorkerRow&, const WorkerRow&) = default;
};

// A worker's record at a job or in a kind of jobs (core/state/blame.h).
struct BlameRow {
  std::string worker;
  Digest kind;  // Blame::KeyOf the job or kind
  SweepId sweep;
  std::string approach;
  std::string benchmark;  // the train set of train jobs, the test benchmark of eval jobs
  bool is_train = false;
  uint32_t failures = 0;                                  // that count against the worker
  std::optional<absl::Time> success_time = std::nullopt;  // when it was seen to succeed

  // An empty row is not kept.
  bool empty() const { return failures == 0 && !success_time; }
  auto Key() const { return std::tie(worker, kind); }
  friend bool operator==(const BlameRow&, const BlameRow&) = default;
};

// A named resource that somebody has set.
struct ResourceRow {
  std::string name;
  int64_t amount = 0;
  int64_t per_minute = 0;  // 0: any number

  friend bool operator==(const ResourceRow&, const ResourceRow&) = default;
};

// A pool that somebody added, or what must be remembered about one of the options.
struct PoolRow {
  std::string name;
  std::string spec;  // encoded by the engine; "" for a pool of the options
  bool paused = false;
  std::string pause_reason;
  bool removing = false;  // goes when its last pilot has gone

  friend bool operator==(const PoolRow&, const PoolRow&) = default;
};

// Progress of a pilot. Numbers are stable: they stand in the database.
enum class PilotPhase : uint8_t {
  kRequested = 0,  // its provider was asked for it; whether it received that is open
  kPending = 1,    // waits in its provider's queue
  kStarting = 2,   // runs, says its provider; its worker has not come
  kWorking = 3,    // its worker has come
  kStopping = 4,   // its provider was asked to stop it
  kGone = 5,
};
inline constexpr int kPilotPhases = 6;

// A worker that a provider was asked to start.
struct PilotRow {
  std::string name;  // also its worker's
  std::string pool;
  uint8_t provider = 0;  // a ProviderKind: the pool may be forgotten
  PilotPhase phase = PilotPhase::kRequested;
  std::string external_id;  // the provider's own, for people
  std::string message;      // why it waits, or how it ended
  absl::Time request_time = absl::UnixEpoch();
  absl::Time phase_time = absl::UnixEpoch();  // when it came into this phase
  bool joined = false;                        // its worker has come at least once
  std::string image;                          // image of jobs it was started for; "": its pool's

  friend bool operator==(const PilotRow&, const PilotRow&) = default;
};

struct Snapshot {
  uint64_t next_sweep_number = 1;
  uint64_t next_pilot_number = 1;
  uint32_t last_service_number = 0;  // the latest attempt of a service
  std::vector<SweepRow> sweeps;      // ordered by id
  std::vector<JobRow> jobs;          // ordered by id
  std::vector<ResultRow> results;    // ordered by id
  std::vector<StepSeriesRow> steps;  // ordered by id, then as their names came
  // Reports that the jobs of sweeps with early_stop made of its metric, and perhaps more, by id and
  // then as they arrived. Store::Load, which does not know the specs, leaves it empty.
  std::vector<StepRow> reports;
  std::vector<SpentRow> spent;         // ordered by id and attempt
  std::vector<WorkerRow> workers;      // ordered by name
  std::vector<BlameRow> blames;        // ordered by Key()
  std::vector<ResourceRow> resources;  // ordered by name
  std::vector<PoolRow> pools;          // ordered by name
  std::vector<PilotRow> pilots;        // ordered by name
};

// One engine turn's changes. Applied in the order of the fields: deletes last.
struct Batch {
  std::optional<uint64_t> next_sweep_number;
  std::vector<SweepRow> put_sweeps;  // insert or replace
  std::vector<JobRow> put_jobs;
  std::vector<ResultRow> put_results;
  std::vector<JobId> delete_results;  // RetryJobs and re-runs: the old result no longer counts
  std::vector<AttemptRow> put_attempts;
  std::vector<StepRow> put_steps;
  // Reports of jobs that run anew, which arrived before that number.
  std::vector<std::pair<JobId, uint64_t>> delete_steps;
  std::vector<SpentRow> put_spent;  // insert or replace
  std::vector<WorkerRow> put_workers;
  std::vector<std::string> delete_workers;
  std::vector<BlameRow> put_blames;        // insert or replace; an empty row deletes
  std::vector<ResourceRow> put_resources;  // insert or replace
  std::vector<std::string> delete_resources;
  std::optional<uint64_t> next_pilot_number;
  std::optional<uint32_t> last_service_number;
  std::vector<PoolRow> put_pools;
  std::vector<std::string> delete_pools;
  std::vector<PilotRow> put_pilots;
  std::vector<std::string> delete_pilots;
  std::vector<SweepId> delete_sweeps;  // with all rows of their jobs

  bool empty() const {
    return !next_sweep_number && put_sweeps.empty() && put_jobs.empty() && put_results.empty() &&
           delete_results.empty() && put_attempts.empty() && put_steps.empty() &&
           delete_steps.empty() && put_spent.empty() && put_workers.empty() &&
           delete_workers.empty() && put_blames.empty() && put_resources.empty() &&
           delete_resources.empty() && !next_pilot_number && !last_service_number &&
           put_pools.empty() && delete_pools.empty() && put_pilots.empty() &&
           delete_pilots.empty() && delete_sweeps.empty();
  }
};

}  // namespace concur

#endif  // CONCUR_CORE_ROWS_H_
