// SPDX-License-Identifier: Apache-2.0
// A Scheduler decides which job runs where, and keeps account of every result. It does no I/O,
// reads no clock and starts no thread: callers pass the time in and carry out the Effects.
//
// One turn of its owner: AdvanceTo(now); then any number of requests; then Dispatch(); then
// TakeEffects() and save the batch; only then answer anybody. What a worker is to do is read with
// TakeOrders() after Dispatch().
//
// It is a composition; each part may call those above it in this list, and none below:
//
//   Turn             the time, and what has changed since TakeEffects
//   JobPlaces        where jobs are by their states: queue, leases, back-offs, finished results
//   SweepBook        the sweeps and their owners
//   WorkerRegistry   what occupies each worker, deadlines, quarantine
//   ResultBook       results, checkpoints, the index of equal work, run times
//   EarlyStopGroups  the rules of early_stop
//   JobLifecycle     changes the states of jobs, and carries on what follows from that
//   Dispatcher       which job goes to which worker (with EarlyStopJudge)
//   WorkerExchange   Sync, orders, workers that do not call
//   SweepRequests    what users ask
//   SchedulerViews   what people see
//
// Restorer builds the state anew after a restart.
//
// Thread-compatible; owned by the Engine's thread. Deterministic: the same calls give the same
// effects, whatever the process or machine.
#ifndef CONCUR_CORE_SCHEDULER_SCHEDULER_H_
#define CONCUR_CORE_SCHEDULER_SCHEDULER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/ids.h"
#include "core/policy.h"
#include "core/rows.h"
#include "core/scheduler/dispatcher.h"
#include "core/scheduler/early_stop_groups.h"
#include "core/scheduler/early_stop_judge.h"
#include "core/scheduler/job_lifecycle.h"
#include "core/scheduler/job_places.h"
#include "core/scheduler/result_book.h"
#include "core/scheduler/scheduler_views.h"
#include "core/scheduler/setting_search.h"
#include "core/scheduler/sweep_book.h"
#include "core/scheduler/sweep_requests.h"
#include "core/scheduler/turn.h"
#include "core/scheduler/worker_exchange.h"
#include "core/scheduler/worker_registry.h"
#include "core/sweep/expansion.h"
#include "core/sweep/imported_results.h"
#include "core/sync/sync.h"

namespace concur {

class Scheduler {
 public:
  using Submission = SweepBook::Submission;

  explicit Scheduler(SchedulerPolicy policy) : policy_(std::move(policy)) {}
  // Rebuilds the state that the snapshot was saved from. `expansions` are those of
  // snapshot.sweeps, in the same order. Running attempts get one lease from `now`. `left_out` are
  // the sweeps of which the snapshot has nothing. DataLoss when the rows contradict each other.
  static absl::StatusOr<std::unique_ptr<Scheduler>> Restore(
      SchedulerPolicy policy, Snapshot snapshot,
      std::vector<std::shared_ptr<const Expansion>> expansions, absl::Time now,
      SweepBook::LeftOuts left_out = {});

  // --- time -------------------------------------------------------------------------------------

  // Ends expired leases and back-offs, and goes on with cancels, retries and imports;
  // attempts become overdue with a Sync of their worker.
  // REQUIRES: now >= the time of the previous call; every other
  // method acts at the time of the last AdvanceTo.
  void AdvanceTo(absl::Time now);
  // Before AdvanceTo, when no call could arrive for so long before `now`: every live worker's lease
  // ends so much later, in SchedulerPolicy::pause_min at the earliest and one lease from `now` at
  // the latest. Without a pause it sets the time alone, for Syncs that go before AdvanceTo.
  // REQUIRES: as AdvanceTo.
  void ResumeAt(absl::Time now, absl::Duration paused);
  // When AdvanceTo next has something to do, at once or later; InfiniteFuture when never.
  absl::Time NextDeadline() const;

  // --- users: as SweepRequests ------------------------------------------------------------------

  absl::StatusOr<SweepId> Submit(Submission submission) {
    return requests_.Submit(std::move(submission));
  }
  absl::StatusOr<SweepId> Import(Submission submission, SweepRequests::ImportedResults results) {
    return requests_.Import(std::move(submission), std::move(results));
  }
  bool IsImporting(SweepId id) const { return requests_.IsImporting(id); }
  absl::Status PauseSweep(SweepId id) { return requests_.Pause(id); }
  absl::Status ResumeSweep(SweepId id) { return requests_.Resume(id); }
  absl::Status SetPriority(SweepId id, int32_t priority) {
    return requests_.SetPriority(id, priority);
  }
  absl::Status SetBudget(SweepId id, int64_t usd_micros) {
    return requests_.SetBudget(id, usd_micros);
  }
  absl::Status CancelSweep(SweepId id) { return requests_.Cancel(id); }
  absl::Status CancelJob(JobId id) { return requests_.CancelJob(id); }
  absl::Status DeleteSweep(SweepId id) { return requests_.Delete(id); }
  absl::StatusOr<uint32_t> RetryJobs(SweepId id, const std::vector<uint32_t>& jobs,
                                     bool rerun_succeeded) {
    return requests_.Retry(id, jobs, rerun_succeeded);
  }
  absl::Status RecordForecast(SweepId id, absl::Duration makespan) {
    return requests_.RecordForecast(id, makespan);
  }
  absl::Status SetResource(const std::string& name, int64_t amount, int64_t per_minute = 0) {
    return requests_.SetResource(name, amount, per_minute);
  }
  absl::Status DeleteResource(const std::string& name) { return requests_.DeleteResource(name); }
  // The worker takes nothing new until undone; undoing also ends its quarantine and forgets what it
  // failed. NotFound.
  absl::Status DrainWorker(const std::string& name, bool drain) {
    return workers_.Drain(name, drain);
  }
  // Train jobs whose systems retention has removed: no new job can read them. Names every
  // job that shares a removed system. Jobs that have not succeeded are passed over.
  // REQUIRES: no job that reads them is unfinished.
  void MarkSystemsCollected(const std::vector<JobId>& train_jobs) {
    results_.MarkSystemsCollected(train_jobs);
  }
  // Expected durations of jobs of the sweeps known now, for as long as none of their kind has
  // ended.
  void SetExpectedDurations(
      absl::FunctionRef<absl::Duration(absl::string_view approach, absl::string_view benchmark,
                                       bool is_train)>
          expected) {
    results_.SetExpectedDurations(expected);
  }
  // The time that services of these approaches take to load, likewise.
  void SetExpectedLoads(const std::map<std::string, absl::Duration>& loads) {
    book_.services().SetLoads(loads);
  }

  // --- workers ----------------------------------------------------------------------------------

  // Applies a worker's state. Aborted: this or a later Sync of this incarnation was applied;
  // AlreadyExists: another live process has this name; InvalidArgument: no name or incarnation;
  // ResourceExhausted: a new worker beyond the policy's limit.
  absl::Status Sync(const SyncRequest& request) { return exchange_.Sync(request); }
  // Gives ready jobs to parked workers: those that have synced since their last TakeOrders.
  void Dispatch() { dispatcher_.Dispatch(); }
  // True when TakeOrders has any order; false of a worker that is not known.
  bool HasOrders(const std::string& worker) const { return exchange_.HasOrders(worker); }
  // The answer to a worker's Sync; from now on it is not parked. Empty for a worker that is not
  // known.
  WorkerOrders TakeOrders(const std::string& worker) { return exchange_.TakeOrders(worker); }
  // A parked call went away: the worker gets no jobs until it syncs again.
  void DropParkedCall(const std::string& worker) { exchange_.DropParkedCall(worker); }

  // --- results ----------------------------------------------------------------------------------

  // The changes since the last call.
  Effects TakeEffects();
  const SchedulerViews& views() const { return views_; }
  // Ends the process when any two parts of the state contradict each other.
  void CheckInvariants() const;

 private:
  const SchedulerPolicy policy_;
  Turn turn_;
  JobPlaces places_{policy_};
  SweepBook book_{policy_, turn_, places_};
  WorkerRegistry workers_{policy_, turn_, places_, book_};
  ResultBook results_{turn_, places_, book_};
  EarlyStopGroups groups_;
  JobLifecycle jobs_{policy_, turn_, places_, book_, results_, workers_, groups_};
  SettingSearch search_{policy_, turn_, places_, book_, jobs_};
  Dispatcher dispatcher_{policy_, turn_, places_, book_, workers_, groups_, jobs_, search_};
  WorkerExchange exchange_{policy_, turn_, places_, book_, results_, workers_, groups_, jobs_};
  SweepRequests requests_{policy_, turn_, places_, book_, results_, workers_, groups_, jobs_};
  SchedulerViews views_{turn_, places_, book_, workers_, jobs_, exchange_};
};

}  // namespace concur

#endif  // CONCUR_CORE_SCHEDULER_SCHEDULER_H_
