// SPDX-License-Identifier: Apache-2.0
// Finds the reason why a job waits, runs, ended as it did, or was not reused.
// Changes nothing.
//
// Thread-compatible.
#ifndef CONCUR_CORE_SCHEDULER_REASON_FINDER_H_
#define CONCUR_CORE_SCHEDULER_REASON_FINDER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/ids.h"
#include "core/job_reason.h"
#include "core/scheduler/job_lifecycle.h"
#include "core/scheduler/job_places.h"
#include "core/scheduler/sweep_book.h"
#include "core/scheduler/turn.h"
#include "core/scheduler/worker_registry.h"
#include "core/state/ready_queue.h"

namespace concur {

class ReasonFinder {
 public:
  ReasonFinder(const Turn& turn, const JobPlaces& places, const SweepBook& book,
               const WorkerRegistry& workers, const JobLifecycle& jobs)
      : turn_(turn), places_(places), book_(book), workers_(workers), jobs_(jobs) {}

  // REQUIRES: the job exists.
  JobReason Find(JobId id) const;
  // The fate of each job, were the sweep submitted now.
  std::vector<PlannedJob> Plan(std::shared_ptr<const Expansion> expansion) const;

 private:
  void FindBlocked(const SweepRecord& sweep, JobReason& reason) const;
  void FindReady(const SweepRecord& sweep, JobReason& reason) const;
  std::optional<JobReason::Use> FindUse(uint32_t uses) const;
  std::optional<JobReason::Service> FindService(const ReadyQueue::Lane& lane,
                                                const std::string& own,
                                                JobReason::Code& code) const;
  void FindByFleet(const ReadyQueue::Lane& lane, JobReason& reason) const;
  void FindLabels(JobReason& reason) const;
  void FindSkipped(const SweepRecord& sweep, JobReason& reason) const;
  void FindNoReuse(JobId id, NoReuse& reason) const;
  // Compares with the sweeps before this one.
  void FindNearest(const SweepRecord& sweep, uint32_t job, NoReuse& reason) const;

  const Turn& turn_;
  const JobPlaces& places_;
  const SweepBook& book_;
  const WorkerRegistry& workers_;
  const JobLifecycle& jobs_;
};

}  // namespace concur

#endif  // CONCUR_CORE_SCHEDULER_REASON_FINDER_H_
