// SPDX-License-Identifier: Apache-2.0
// The state of a Scheduler as people and the engine see it. Changes nothing.
//
// Thread-compatible. What it returns by pointer is valid until the next change of the scheduler.
#ifndef CONCUR_CORE_SCHEDULER_SCHEDULER_VIEWS_H_
#define CONCUR_CORE_SCHEDULER_SCHEDULER_VIEWS_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/digest.h"
#include "core/early_stop/early_stop.h"
#include "core/ids.h"
#include "core/job.h"
#include "core/job_reason.h"
#include "core/pools/autoscaler.h"
#include "core/resources.h"
#include "core/result.h"
#include "core/rows.h"
#include "core/scheduler/job_lifecycle.h"
#include "core/scheduler/job_places.h"
#include "core/scheduler/reason_finder.h"
#include "core/scheduler/sweep_book.h"
#include "core/scheduler/worker_exchange.h"
#include "core/scheduler/worker_registry.h"
#include "core/state/durations.h"
#include "core/state/owner_ledger.h"
#include "core/state/spent_ledger.h"
#include "core/state/suspects.h"
#include "core/state/work_meter.h"
#include "core/sweep/expansion.h"
#include "core/sweep/sweep_name.h"
#include "core/sync/sync.h"

namespace concur {

// A job as people see it.
struct JobView {
  JobId id;
  JobState state = JobState::kReady;
  Attempt attempt;
  uint32_t failures = 0;
  uint32_t lost = 0;
  uint32_t deaths = 0;  // deaths of its workers while it ran, in a row
  FailureClass failure = FailureClass::kNone;
  absl::Time not_before = absl::InfinitePast();
  std::string worker;
  std::optional<JobId> reused_from;
  bool system_collected = false;  // its system was removed by retention
  uint32_t steps = 0;             // that counted, of ReporterOf the job
  int64_t done = 0;               // parts that a running job says are done, of `of`
  int64_t of = 0;                 // 0: it has not said
  // The verdict of early_stop on a train job that it compares with others, and its rung.
  std::optional<EarlyStop::State> early_stop;
  size_t rung = 0;
  std::optional<Checkpoint> checkpoint;  // left for its next attempt to go on from
  const JobResult* result = nullptr;     // valid until the next change of the scheduler
  SpentLedger::Attempts spent;           // by those that spent something
};

struct SweepView {
  const SweepRow* row = nullptr;
  const Expansion* expansion = nullptr;
  SweepState state = SweepState::kActive;
  StateCounts counts{};
  uint32_t reused = 0;
  uint32_t queued = 0;      // RUNNING jobs that were given ahead: they start when something ends
  double running_done = 0;  // sum of the shares that its RUNNING jobs say are done
  OwnerUse owner_use;       // by all sweeps of its owner
  Spent spent;              // by all attempts of its jobs
  RecentWork recent;        // covers what runs; the scheduler leaves it unknown
};

struct WorkerView {
  WorkerInfo info;
  bool draining = false;
  bool lost = false;
  // It said good-bye, and nobody wants anything of it: only what is held against it is remembered.
  bool left = false;
  bool called = false;            // since this scheduler started
  std::string quarantine_reason;  // why it gets no jobs for a while; "" when it does
  absl::Time quarantine_end = absl::InfinitePast();
  absl::Duration quarantine_span;  // the latest one's; the next is longer
  Resources used;
  uint32_t running = 0;
  uint32_t queued = 0;  // given ahead: they start there when something ends
  struct Service {
    std::string approach;
    Setting setting;
    absl::string_view state;  // "starting", "ready", "stopping"
    size_t jobs = 0;          // that ask it now
    absl::Time start_time;
    uint32_t failed_starts = 0;  // in a row, on any worker
  };
  std::vector<Service> services;
  uint64_t succeeded = 0;
  uint64_t failed = 0;
  absl::Time last_seen;
  absl::Time lease_expire;
  // When its machine is taken away, before which it hands back what it runs.
  absl::Time end_time = absl::InfiniteFuture();
};

// A named resource as people see it.
struct ResourceView {
  std::string name;
  std::optional<int64_t> amount;  // nullopt: deleted, and still in use or waited for
  int64_t in_use = 0;
  uint64_t waiting = 0;    // jobs that are ready and use it
  int64_t per_minute = 0;  // attempts given out; 0: any number
};

// Everything at a glance.
struct Totals {
  std::array<uint64_t, kJobStates> jobs{};      // jobs of all sweeps that are kept
  std::array<uint64_t, kSweepStates> sweeps{};  // by their state
  uint64_t workers_live = 0;                    // that take work
  uint64_t workers_draining = 0;
  uint64_t workers_lost = 0;
  // Sums over live and draining workers.
  Resources capacity{.cpu_millis = 0};
  Resources used{.cpu_millis = 0};
  uint64_t refused_results = 0;
  int64_t job_memory = 0;      // bytes, as SweepBook::job_memory
  int64_t job_memory_max = 0;  // 0: no limit
};

class SchedulerViews {
 public:
  SchedulerViews(const Turn& turn, const JobPlaces& places, const SweepBook& book,
                 const WorkerRegistry& workers, const JobLifecycle& jobs,
                 const WorkerExchange& exchange)
      : places_(places),
        book_(book),
        workers_(workers),
        jobs_(jobs),
        exchange_(exchange),
        reasons_(turn, places, book, workers, jobs) {}

  // nullopt when there is no such sweep.
  std::optional<SweepView> FindSweep(SweepId id) const;
  // For readers that outlive a turn. REQUIRES: the sweep exists.
  std::shared_ptr<const Expansion> SharedExpansion(SweepId id) const;
  // The oldest first, those left on disk included.
  std::vector<NamedSweep> SweepsNamed(const std::string& name) const;
  std::vector<SweepId> ListSweeps() const;  // ascending
  size_t sweep_count() const { return book_.all().size(); }
  // As SweepBook's.
  absl::Status CheckMemory(const std::string& owner, uint32_t jobs) const {
    return book_.CheckMemory(owner, jobs);
  }
  const SweepBook::LeftOuts& left_out() const { return book_.left_out(); }
  bool Knows(SweepId id) const { return book_.Knows(id); }
  absl::Status CheckLoaded(SweepId id) const { return book_.CheckLoaded(id); }
  absl::Status CheckUses(const Expansion& expansion) const {
    return CheckUsesAreSet(book_.resources(), expansion);
  }
  bool HasJob(JobId id) const { return book_.HasJob(id); }
  // REQUIRES, here and below: the job exists.
  JobView ViewJob(JobId id) const;
  JobState JobStateOf(JobId id) const { return book_.JobOf(id).state(); }  // cheaper than a view
  // The job whose reports belong to this one: itself, or, for one that shares a result, the job
  // that made it. nullopt when that job is gone or has been run again.
  std::optional<JobId> ReporterOf(JobId id) const;
  std::vector<WorkerView> ListWorkers() const;      // by name
  std::vector<ResourceView> ListResources() const;  // by name
  // The jobs whose workers died while they ran, in order.
  std::vector<std::pair<JobId, Suspects::Deaths>> ListDeaths() const;
  // The remembered failures and successes of workers, by BlameRow::Key.
  std::vector<BlameRow> ListBlame() const { return workers_.ListBlame(); }
  const OwnerLedger& owners() const { return book_.owners(); }
  // Run times of jobs that have succeeded.
  const Durations& durations() const { return places_.durations; }
  // Times that the last starts of services took, by approach: the longest.
  std::map<std::string, absl::Duration> Loads() const { return book_.services().Loads(); }
  uint64_t refused_results() const { return exchange_.refused_results(); }
  // Takes time by the number of sweeps and workers, not of jobs.
  Totals CountAll() const;
  // Jobs that could run now and those that do, by what they ask of a worker, for pools. Jobs of
  // paused sweeps, on workers that take nothing new, and beyond what is free of the named resources
  // that they use, are left out.
  std::vector<DemandClass> Demand() const;
  // Why a job waits, failed, was reused or was refused.
  JobReason ReasonOf(JobId id) const { return reasons_.Find(id); }
  // The fate of each job, were the sweep submitted now.
  std::vector<PlannedJob> Plan(std::shared_ptr<const Expansion> expansion) const {
    return reasons_.Plan(std::move(expansion));
  }

 private:
  const JobPlaces& places_;
  const SweepBook& book_;
  const WorkerRegistry& workers_;
  const JobLifecycle& jobs_;
  const WorkerExchange& exchange_;
  const ReasonFinder reasons_;
};

}  // namespace concur

#endif  // CONCUR_CORE_SCHEDULER_SCHEDULER_VIEWS_H_
