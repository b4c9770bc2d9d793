// SPDX-License-Identifier: Apache-2.0
// The workers of a scheduler: the attempts that occupy each, and which of them are in quarantine
// for what they failed. Deadlines are the Roster's, the failures Blame's.
//
// An attempt that nobody stops has the lease of its job, and the job's latest number. A sweep
// counts the attempts that its cancellation waits for (`stopping`) and those given ahead
// (`queued`); its owner is charged for all, and each holds its units of named resources.
//
// Thread-compatible. Never calls a part that decides over jobs: WorkerExchange does.
#ifndef CONCUR_CORE_SCHEDULER_WORKER_REGISTRY_H_
#define CONCUR_CORE_SCHEDULER_WORKER_REGISTRY_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/ids.h"
#include "core/policy.h"
#include "core/rows.h"
#include "core/scheduler/job_places.h"
#include "core/scheduler/sweep_book.h"
#include "core/scheduler/turn.h"
#include "core/state/assignments.h"
#include "core/state/blame.h"
#include "core/state/durations.h"
#include "core/state/roster.h"
#include "core/sync/sync.h"

namespace concur {

class WorkerRegistry {
 public:
  WorkerRegistry(const SchedulerPolicy& policy, Turn& turn, JobPlaces& places, SweepBook& book)
      : policy_(policy), turn_(turn), places_(places), book_(book) {}

  Roster& roster() { return roster_; }
  const Roster& roster() const { return roster_; }
  Blame& blame() { return blame_; }

  // --- workers ----------------------------------------------------------------------------------

  // REQUIRES: the name is not known.
  Worker& Add(const WorkerInfo& info);
  // Another process has the worker's name now, and nothing of what the old one had.
  void Reincarnate(Worker& worker, const WorkerInfo& info);
  // REQUIRES: nothing occupies it.
  void Forget(const Worker& worker);
  // Adds the worker's row to the turn.
  void Save(const Worker& worker);
  // As Scheduler::DrainWorker.
  absl::Status Drain(const std::string& name, bool drain);
  // DataLoss when the row contradicts others.
  absl::Status Restore(const WorkerRow& row);

  // --- what occupies a worker -------------------------------------------------------------------

  void Assign(Worker& worker, AttemptId id, Assignment assignment);
  // The worker no longer has the attempt, if it did.
  void Unassign(Worker& worker, AttemptId id);
  // Saves for how long an instance has held the worker so far. REQUIRES: the worker has it.
  void ChargeService(const Worker& worker, AttemptId id, FailureClass failure);
  // Unassigns an instance that the worker says has ended, and saves for how long it ran.
  void EndService(Worker& worker, const FinishedAttempt& finished);
  // Has the worker stop an attempt that it has, and of StopAttempt the one that has the job's
  // lease; its sweep waits for that if it is `counted`.
  void Stop(Worker& worker, AttemptId id, StopReason reason, bool counted);
  void StopAttempt(JobId id, StopReason reason, bool counted);
  // Nobody waits for the attempt to stop any more. REQUIRES: it is stopping.
  void Abandon(Worker& worker, AttemptId id);
  // A worker that was known before a restart and has not called since: it may have attempts that
  // are not known, and hold units of named resources. Null when there is none.
  const Worker* FindSilent() const;
  // Has the workers stop all instances of a service.
  void StopService(uint32_t service);
  // The longest that a worker may have an attempt of the job once it has taken it.
  absl::Duration TimeMaxOf(const SweepRecord& sweep, uint32_t job) const;
  // True when jobs of the group are expected to take at most SchedulerPolicy::ahead_job_max.
  bool IsShort(Durations::Group group) const;
  // True when a job of the group is likely to end before the worker's machine is taken away.
  bool HasTimeFor(const Worker& worker, Durations::Group group) const;
  // True if the worker takes the lane's jobs, sooner or later, once it has room.
  bool CouldRun(const Worker& worker, const ReadyQueue::Lane& lane) const;
  // The resources of a lane's job together with its services'.
  Resources RequestOf(const ReadyQueue::Lane& lane) const;
  // Ready jobs that ask the service, of sweeps that nothing holds.
  size_t WaitingFor(uint32_t service) const;
  // True when another instance of a service of the lane is to be started: no worker that could run
  // the jobs has all services, or the jobs that wait take longer on those that have than the last
  // load did.
  bool MayStartService(const ReadyQueue::Lane& lane, uint32_t service) const;
  // Remembers the eval jobs that read the system which the worker has just made.
  void AddLocalJobs(const SweepRecord& sweep, uint32_t train_job, Worker& worker);

  // --- quarantine -------------------------------------------------------------------------------

  // A job of the worker's ended so.
  void RecordSuccess(const SweepRecord& sweep, uint32_t job, const std::string& worker);
  void RecordFailure(const SweepRecord& sweep, uint32_t job, const std::string& worker,
                     FailureClass failure);
  // The worker may try again: its failures are forgotten, but not that it was in quarantine.
  void EndQuarantine(Worker& worker);
  std::vector<BlameRow> ListBlame() const;  // by BlameRow::Key
  // Adds the rows of blame that changed to the turn.
  void SaveBlame();
  // DataLoss when the row contradicts others.
  absl::Status RestoreBlame(const BlameRow& row);

  // Ends the process when workers contradict leases, sweeps, owners or blame.
  void CheckInvariants() const;

 private:
  void Release(AttemptId id, const Assignment& released);
  void LeaveQueue(JobId id, const Assignment& assignment);
  Blame::Kind KindOf(const SweepRecord& sweep, uint32_t job) const;
  void Judge(const std::string& name);
  void CheckOwners() const;
  void CheckUnits() const;

  const SchedulerPolicy& policy_;
  Turn& turn_;
  JobPlaces& places_;
  SweepBook& book_;
  Roster roster_;
  Blame blame_;
};

}  // namespace concur

#endif  // CONCUR_CORE_SCHEDULER_WORKER_REGISTRY_H_
