// SPDX-License-Identifier: Apache-2.0
// The exchange with workers (core/sync/sync.h): admitting them, applying what they report,
// answering; and what becomes of a worker's jobs when it does not call, or takes too long over one.
//
// Thread-compatible. Calls JobLifecycle and WorkerRegistry; neither calls it.
#ifndef CONCUR_CORE_SCHEDULER_WORKER_EXCHANGE_H_
#define CONCUR_CORE_SCHEDULER_WORKER_EXCHANGE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "core/ids.h"
#include "core/policy.h"
#include "core/scheduler/early_stop_groups.h"
#include "core/scheduler/job_lifecycle.h"
#include "core/scheduler/job_places.h"
#include "core/scheduler/result_book.h"
#include "core/scheduler/sweep_book.h"
#include "core/scheduler/turn.h"
#include "core/scheduler/worker_registry.h"
#include "core/state/roster.h"
#include "core/sync/sync.h"

namespace concur {

// The answer to a worker's Sync.
struct WorkerOrders {
  struct Start {
    AttemptId id;
    uint64_t gpu_mask = 0;
    Digest system;  // its source's (core/sweep/expansion.h)
    int64_t system_bytes = 0;
    std::optional<Checkpoint> checkpoint;            // left by the job's earlier attempts
    std::map<std::string, AttemptId> services = {};  // as JobOrder::services
  };
  std::vector<Start> start;
  std::vector<StopOrder> stop;
  std::vector<ForgetOrder> forget;
  bool drain = false;
};

class WorkerExchange {
 public:
  WorkerExchange(const SchedulerPolicy& policy, Turn& turn, JobPlaces& places, SweepBook& book,
                 ResultBook& results, WorkerRegistry& workers, EarlyStopGroups& groups,
                 JobLifecycle& jobs)
      : policy_(policy),
        turn_(turn),
        places_(places),
        book_(book),
        results_(results),
        workers_(workers),
        groups_(groups),
        jobs_(jobs) {}

  // Loses workers whose leases have ended, forgets those lost for long, and ends quarantines.
  void EndDeadlines();
  void ExtendLeases(absl::Duration paused);
  // These are as the Scheduler's.
  absl::Status Sync(const SyncRequest& request);
  bool HasOrders(const std::string& worker) const;
  WorkerOrders TakeOrders(const std::string& worker);
  void DropParkedCall(const std::string& worker);

  uint64_t refused_results() const { return refused_results_; }

 private:
  std::map<std::string, AttemptId> InstancesFor(const SweepRecord& sweep, JobId job,
                                                const std::string& worker) const;
  absl::StatusOr<Worker*> Admit(const SyncRequest& request);
  void Reincarnate(Worker& worker, const SyncRequest& request);
  bool MayReport(const Worker& worker, AttemptId id) const;
  void ApplyProgress(const Worker& worker, const AttemptProgress& progress);
  void NoteSpent(AttemptId id, absl::string_view name, double value);
  void ApplySteps(const Worker& worker, const std::vector<AttemptStep>& steps);
  void ApplyFinished(Worker& worker, const FinishedAttempt& finished);
  bool WasPaused(const Worker& worker, AttemptId id) const;
  bool KeepStoppedAttempt(const Worker& worker, const FinishedAttempt& finished);
  std::string SettleOnEqual(SweepRecord& sweep, uint32_t job, Worker& worker,
                            const JobResult& result);
  void AcceptResult(SweepRecord& sweep, uint32_t job, Worker& worker, JobResult result);
  void ApplyRunning(Worker& worker, AttemptId id);
  void ApplyService(Worker& worker, const RunningService& running);
  void EndService(Worker& worker, const FinishedAttempt& finished);
  bool MayAdopt(const Worker& worker, AttemptId id) const;
  uint64_t GpusOfReturned(const Worker& worker, AttemptId id, const Resources& resources) const;
  void TakeBack(Worker& worker, AttemptId id);
  void LoseWorker(Worker& worker, bool died, const std::string& message);

  const SchedulerPolicy& policy_;
  Turn& turn_;
  JobPlaces& places_;
  SweepBook& book_;
  ResultBook& results_;
  WorkerRegistry& workers_;
  EarlyStopGroups& groups_;
  JobLifecycle& jobs_;
  uint64_t refused_results_ = 0;
};

}  // namespace concur

#endif  // CONCUR_CORE_SCHEDULER_WORKER_EXCHANGE_H_
