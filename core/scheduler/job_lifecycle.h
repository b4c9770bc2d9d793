// SPDX-License-Identifier: Apache-2.0
// The life of a job (core/job.h): the only part that changes a job's state after a restart, and
// what each change brings about. A job that enters a state enters the place that goes with it
// (core/scheduler/job_places.h); ends of train jobs go on to the jobs that wait for their systems,
// and ends of attempts to the jobs that wait for an equal result; parts of a sweep that cannot
// succeed are given up.
//
// Thread-compatible. Calls only parts below it: the book, results, workers, groups of early_stop.
#ifndef CONCUR_CORE_SCHEDULER_JOB_LIFECYCLE_H_
#define CONCUR_CORE_SCHEDULER_JOB_LIFECYCLE_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "core/ids.h"
#include "core/job.h"
#include "core/policy.h"
#include "core/result.h"
#include "core/rows.h"
#include "core/scheduler/early_stop_groups.h"
#include "core/scheduler/job_places.h"
#include "core/scheduler/result_book.h"
#include "core/scheduler/sweep_book.h"
#include "core/scheduler/turn.h"
#include "core/scheduler/worker_registry.h"
#include "core/state/failure_tallies.h"
#include "core/state/running_jobs.h"
#include "core/sync/sync.h"

namespace concur {

class JobLifecycle {
 public:
  JobLifecycle(const SchedulerPolicy& policy, Turn& turn, JobPlaces& places, SweepBook& book,
               ResultBook& results, WorkerRegistry& workers, EarlyStopGroups& groups)
      : policy_(policy),
        turn_(turn),
        places_(places),
        book_(book),
        results_(results),
        workers_(workers),
        groups_(groups) {}

  // --- states -----------------------------------------------------------------------------------

  // Any state but RUNNING and BACKOFF. REQUIRES: core/job.h allows it.
  void SetState(SweepRecord& sweep, uint32_t job, JobState state);
  // READY jobs go into the queue; a suspect waits apart for a worker of its own.
  void EnterReady(SweepRecord& sweep, uint32_t job);
  void EnterRunning(SweepRecord& sweep, uint32_t job, const RunningJobs::Lease& lease);
  // Takes a READY job out of the queue, to be started or to follow at once.
  void TakeReady(JobId id);
  // The job waits for the result of the running `leader`, which does equal work.
  void Follow(SweepRecord& sweep, uint32_t job, JobId leader);
  // Returns jobs to READY whose back-offs have ended.
  void EndBackoffs();
  void Announce(const SweepRecord& sweep, uint32_t job, absl::string_view message = "");
  JobRow RowOf(JobId id) const;

  // --- ends of attempts -------------------------------------------------------------------------

  void Succeed(SweepRecord& sweep, uint32_t job, JobResult result, uint32_t holder);
  // `is_charged`: a lost attempt counts towards the job's budget.
  void Fail(SweepRecord& sweep, uint32_t job, JobResult result, uint32_t holder,
            bool is_charged = true);
  // A job that is READY, and never can run, fails for good.
  void FailUnstarted(SweepRecord& sweep, uint32_t job, JobResult result);
  // REQUIRES, of both: the job runs.
  void LoseAttempt(JobId id, FailureClass failure, const std::string& message);
  // Its worker died; whether another job may have run beside it there.
  void LoseAttemptByDeath(JobId id, bool shared, const std::string& message);
  // The attempt was not lost after all: it does not count as such.
  void ReturnAttempt(SweepRecord& sweep, uint32_t job);
  // A paused attempt ended: its worker lives, and the job is no suspect.
  void AcquitPaused(SweepRecord& sweep, uint32_t job);

  // --- equal work -------------------------------------------------------------------------------

  // Takes the result of a finished job with this key, if there is one that can serve.
  bool TryReuse(SweepRecord& sweep, uint32_t job, const Digest& key);
  // The same for every job of a new sweep.
  void ReuseFinishedCells(SweepRecord& sweep);
  // Visits jobs; with `finished_only` those alone in whose blocks anything has finished. A train
  // job's result must have a system or not, depending on the jobs that read it: these come first,
  // last stages before their sources and eval jobs before their train job.
  void ForEachBeforeSources(const SweepRecord& sweep, bool finished_only,
                            absl::FunctionRef<void(uint32_t job)> visit) const;
  // Jobs that waited for the running `leader` take its result, or may run themselves.
  void ReleaseFollowers(JobId leader);

  // --- ends by order ----------------------------------------------------------------------------

  // Cancels the job unless it has ended, and with it what waits for its system.
  void CancelWithDependents(SweepRecord& sweep, uint32_t job, absl::string_view why);
  // Cancels the job unless it has ended. REQUIRES: the sweep's row says that it is canceled.
  void CancelWithSweep(SweepRecord& sweep, uint32_t job);
  // early_stop: the train job waits until it goes on, or has lost.
  void PauseTraining(SweepRecord& sweep, uint32_t job);
  // early_stop: it has lost for good, and with it what would have been evaluated.
  void StopTraining(SweepRecord& sweep, uint32_t job);
  // Takes a job of a sweep that was deleted out of every place. REQUIRES: all have ended.
  void Forget(SweepRecord& sweep, uint32_t job);

  // Ends the process when states and places contradict each other.
  void CheckInvariants() const;

 private:
  void LeaveState(SweepRecord& sweep, uint32_t job);
  void EnterBackoff(SweepRecord& sweep, uint32_t job, absl::Time not_before);
  void AfterSuccess(SweepRecord& sweep, uint32_t job);
  void FailForGood(SweepRecord& sweep, uint32_t job, JobResult result, uint32_t holder);
  void SkipDependents(SweepRecord& sweep, uint32_t job);
  void Skip(SweepRecord& sweep, const FailureTallies::Scope& scope);
  void GiveUpEarly(SweepRecord& sweep, uint32_t job);
  bool Halt(SweepRecord& sweep, uint32_t job, JobState state, StopReason reason);
  JobState Cancel(SweepRecord& sweep, uint32_t job);
  void EndTraining(SweepRecord& sweep, uint32_t job, JobState state, absl::string_view why);
  void CheckJob(const SweepRecord& sweep, uint32_t job) const;
  void CheckPlaces() const;

  const SchedulerPolicy& policy_;
  Turn& turn_;
  JobPlaces& places_;
  SweepBook& book_;
  ResultBook& results_;
  WorkerRegistry& workers_;
  EarlyStopGroups& groups_;
};

}  // namespace concur

#endif  // CONCUR_CORE_SCHEDULER_JOB_LIFECYCLE_H_
