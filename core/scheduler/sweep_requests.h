// SPDX-License-Identifier: Apache-2.0
// The requests of users about sweeps and jobs: each is checked as a whole, then changes the book
// and has JobLifecycle change the jobs. An error changes nothing.
//
// Thread-compatible. Nothing in the scheduler calls it.
#ifndef CONCUR_CORE_SCHEDULER_SWEEP_REQUESTS_H_
#define CONCUR_CORE_SCHEDULER_SWEEP_REQUESTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/ids.h"
#include "core/scheduler/early_stop_groups.h"
#include "core/scheduler/job_lifecycle.h"
#include "core/scheduler/result_book.h"
#include "core/scheduler/sweep_book.h"
#include "core/scheduler/turn.h"
#include "core/scheduler/worker_registry.h"
#include "core/sweep/imported_results.h"

namespace concur {

class SweepRequests {
 public:
  SweepRequests(Turn& turn, SweepBook& book, ResultBook& results, WorkerRegistry& workers,
                EarlyStopGroups& groups, JobLifecycle& jobs)
      : turn_(turn),
        book_(book),
        results_(results),
        workers_(workers),
        groups_(groups),
        jobs_(jobs) {}

  // Adds a sweep, or returns the one that the owner submitted before with the same request id.
  // Cells that are finished in any sweep are reused at once.
  // REQUIRES: it is not of imported results.
  absl::StatusOr<SweepId> Submit(SweepBook::Submission submission);
  // The same for results that were computed elsewhere: adds a sweep that has ended. Jobs without a
  // result are canceled. InvalidArgument, with nothing added, as of ValidateImportedResults.
  // REQUIRES: the sweep's spec says that they are imported.
  absl::StatusOr<SweepId> Import(SweepBook::Submission submission,
                                 std::vector<ImportedResult> results);
  // NotFound; FailedPrecondition when the sweep has ended.
  absl::Status Pause(SweepId id);
  absl::Status Resume(SweepId id);
  // NotFound; InvalidArgument beyond ±kPriorityMax. An ended sweep keeps it for a retry.
  absl::Status SetPriority(SweepId id, int32_t priority);
  // Ends every unfinished job. OK when it has ended already. NotFound.
  absl::Status Cancel(SweepId id);
  // Ends one job, and with a train job all that waits for its system; others that waited for its
  // result run themselves. OK when it has ended already. NotFound.
  absl::Status CancelJob(JobId id);
  // NotFound; FailedPrecondition unless it has ended.
  absl::Status Delete(SweepId id);
  // Returns failed, skipped and canceled jobs (all, or those listed) to the queue with fresh retry
  // counts, and of the listed ones those that early_stop has stopped, which then train to their
  // end; with `rerun_succeeded` also the listed jobs that succeeded, and what was made from the
  // systems of listed train jobs. Returns how many run again. NotFound; InvalidArgument for an
  // index out of range; FailedPrecondition, with nothing changed, while a canceled sweep still
  // stops attempts, or when something unfinished would have to be run again.
  absl::StatusOr<uint32_t> Retry(SweepId id, const std::vector<uint32_t>& jobs,
                                 bool rerun_succeeded);
  // Notes how long the sweep was expected to take when it was submitted. The first note stays.
  // NotFound.
  absl::Status RecordForecast(SweepId id, absl::Duration makespan);

 private:
  bool RetryJob(SweepRecord& sweep, uint32_t job, bool rerun_succeeded, bool is_listed);

  Turn& turn_;
  SweepBook& book_;
  ResultBook& results_;
  WorkerRegistry& workers_;
  EarlyStopGroups& groups_;
  JobLifecycle& jobs_;
};

}  // namespace concur

#endif  // CONCUR_CORE_SCHEDULER_SWEEP_REQUESTS_H_
