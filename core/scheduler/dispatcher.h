// SPDX-License-Identifier: Apache-2.0
// Which ready job goes to which parked worker: first suspects, each to a worker that has nothing
// else; then what fits, workers taking turns; then short jobs ahead to workers that are busy.
//
// Thread-compatible. Calls JobLifecycle and WorkerRegistry; neither calls it.
#ifndef CONCUR_CORE_SCHEDULER_DISPATCHER_H_
#define CONCUR_CORE_SCHEDULER_DISPATCHER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/ids.h"
#include "core/policy.h"
#include "core/scheduler/budget.h"
#include "core/scheduler/early_stop_groups.h"
#include "core/scheduler/early_stop_judge.h"
#include "core/scheduler/job_lifecycle.h"
#include "core/scheduler/job_places.h"
#include "core/scheduler/setting_search.h"
#include "core/scheduler/sweep_book.h"
#include "core/scheduler/turn.h"
#include "core/scheduler/worker_registry.h"
#include "core/state/ready_queue.h"
#include "core/state/roster.h"

namespace concur {

class Dispatcher {
 public:
  Dispatcher(const SchedulerPolicy& policy, Turn& turn, const JobPlaces& places, SweepBook& book,
             WorkerRegistry& workers, EarlyStopGroups& groups, JobLifecycle& jobs,
             SettingSearch& search)
      : policy_(policy),
        turn_(turn),
        places_(places),
        book_(book),
        workers_(workers),
        groups_(groups),
        jobs_(jobs),
        judge_(turn, places, book, groups, jobs),
        search_(search) {}

  // Carries out what early stopping and searches decided, then gives ready jobs to parked workers.
  void Dispatch();

 private:
  void GiveOut();
  absl::flat_hash_set<const Worker*> DispatchSuspects();
  Worker* WorkerForSuspect(const SweepRecord& sweep, uint32_t job,
                           const absl::flat_hash_set<const Worker*>& taken);
  bool HasUnits(const ReadyQueue::Lane& lane) const;
  // State of the services on a worker that the jobs of a lane ask.
  enum class ServiceState {
    kReady,     // they ask none, or may begin to ask each
    kMayStart,  // one may be started there, and so may the others that are not there
    kAway,
  };
  ServiceState ServiceStateOn(const Worker& worker, const ReadyQueue::Lane& lane) const;
  bool IsBetterElsewhere(const Worker& worker, const ReadyQueue::Lane& lane) const;
  bool FitsOn(const Worker& worker, const Resources& free, const ReadyQueue::Lane& lane) const;
  void StartService(Worker& worker, JobId job, const ReadyQueue::Lane& lane);
  void FailServices();
  bool IsStartForOthers(const Worker& worker, const ReadyQueue::Lane& lane, uint32_t service) const;
  bool MayComeTo(const Worker& worker, const ReadyQueue::Lane& lane) const;
  bool IsAwaited(const Worker& worker, uint32_t service) const;
  bool IsInTheWay(const Worker& worker, const Resources& instance) const;
  bool IsStuck(const Worker& worker, uint32_t service) const;
  void StopServices();
  void StopIdleServicesOn(Worker& worker, uint32_t but);
  Budget* FindBudget(SweepId sweep);
  bool MayProbe(const ReadyQueue::Lane& lane);
  bool IsForOthers(const Worker& worker, JobId id) const;
  bool RunsSuspect(const Worker& worker) const;
  // A worker may be given what it has failed itself, or not.
  enum class Repeats { kNo, kYes };
  bool DispatchOne(Worker& worker, Repeats repeats);
  bool DispatchAhead(Worker& worker);
  bool Give(Worker& worker, ReadyQueue::Accept accept, Repeats repeats, bool ahead);
  std::optional<ReadyQueue::Choice> First(ReadyQueue::Accept accept,
                                          ReadyQueue::AcceptJob may_start) const;
  std::optional<JobId> Choose(Worker& worker, ReadyQueue::Accept accept, Repeats repeats);
  std::optional<JobId> LocalChoice(Worker& worker, const ReadyQueue::Lane& like,
                                   ReadyQueue::Accept accept);
  bool StartOn(Worker& worker, JobId id, bool ahead);

  const SchedulerPolicy& policy_;
  Turn& turn_;
  const JobPlaces& places_;
  SweepBook& book_;
  WorkerRegistry& workers_;
  EarlyStopGroups& groups_;
  JobLifecycle& jobs_;
  EarlyStopJudge judge_;
  SettingSearch& search_;
  absl::flat_hash_map<SweepId, Budget> budgets_;  // as of this Dispatch
  bool gives_units_ = false;  // all that is held of named resources is known, and so from now on
  std::string last_served_;   // worker that the last Dispatch ended with: turns are taken
};

}  // namespace concur

#endif  // CONCUR_CORE_SCHEDULER_DISPATCHER_H_
