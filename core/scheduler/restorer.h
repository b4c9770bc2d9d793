// SPDX-License-Identifier: Apache-2.0
// Rebuilds the parts of a new Scheduler from the rows of a Snapshot, in the order in which rows
// depend on each other; what has no row follows from the others at the end. Every contradiction
// between rows is DataLoss.
//
// Thread-compatible; used once.
#ifndef CONCUR_CORE_SCHEDULER_RESTORER_H_
#define CONCUR_CORE_SCHEDULER_RESTORER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "core/policy.h"
#include "core/rows.h"
#include "core/scheduler/early_stop_groups.h"
#include "core/scheduler/job_lifecycle.h"
#include "core/scheduler/job_places.h"
#include "core/scheduler/result_book.h"
#include "core/scheduler/sweep_book.h"
#include "core/scheduler/turn.h"
#include "core/scheduler/worker_registry.h"
#include "core/sweep/expansion.h"

namespace concur {

class Restorer {
 public:
  // REQUIRES: the parts are new, and the turn has its time.
  Restorer(const SchedulerPolicy& policy, Turn& turn, JobPlaces& places, SweepBook& book,
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

  // As Scheduler::Restore.
  absl::Status Restore(Snapshot snapshot, std::vector<std::shared_ptr<const Expansion>> expansions);

 private:
  absl::Status RestoreResults(std::vector<ResultRow> rows);
  absl::Status RestoreSteps(StepSeriesRow row);
  absl::Status RestoreSpent(const SpentRow& row);
  absl::Status RestoreJobs(const std::vector<JobRow>& rows);
  absl::Status RestoreJob(const JobRow& row);
  absl::Status RestoreCheckpoint(const JobRow& row, SweepRecord& sweep);
  bool HasLostWorker(const JobRow& row) const;
  absl::Status RestoreRunning(const JobRow& row, SweepRecord& sweep, uint32_t holder);
  absl::Status Finish();
  absl::Status FinishJob(SweepRecord& sweep, uint32_t job);

  const SchedulerPolicy& policy_;
  Turn& turn_;
  JobPlaces& places_;
  SweepBook& book_;
  ResultBook& results_;
  WorkerRegistry& workers_;
  EarlyStopGroups& groups_;
  JobLifecycle& jobs_;
};

}  // namespace concur

#endif  // CONCUR_CORE_SCHEDULER_RESTORER_H_
