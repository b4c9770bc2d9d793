// SPDX-License-Identifier: Apache-2.0
// The requests of users about sweeps and jobs: each is checked as a whole, then changes the book
// and has JobLifecycle change the jobs. An error changes nothing.
//
// A cancel or retry of a whole sweep takes several turns when the sweep is large. The first one
// saves in the sweep's row that it was asked for, and from then on nothing of the sweep starts.
// Each turn then goes on by SchedulerPolicy::slice_jobs, and saves how far a retry has come
// (SweepRow::Retry): after a restart it goes on from there. A restart itself ends the jobs of
// canceled sweeps. An import goes on likewise, but its results are in memory alone: it is answered
// when all are saved, and a restart deletes the sweep of one that was not (Restorer). No group of
// early_stop is judged before the last turn. A delete is whole after its first turn, as far as
// anybody sees; memory and disk (Store::IsDeleting) are freed in slices, each by itself.
//
// Thread-compatible. Nothing in the scheduler calls it.
#ifndef CONCUR_CORE_SCHEDULER_SWEEP_REQUESTS_H_
#define CONCUR_CORE_SCHEDULER_SWEEP_REQUESTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/ids.h"
#include "core/policy.h"
#include "core/scheduler/early_stop_groups.h"
#include "core/scheduler/job_lifecycle.h"
#include "core/scheduler/job_places.h"
#include "core/scheduler/result_book.h"
#include "core/scheduler/sweep_book.h"
#include "core/scheduler/turn.h"
#include "core/scheduler/worker_registry.h"
#include "core/sweep/imported_results.h"

namespace concur {

class SweepRequests {
 public:
  SweepRequests(const SchedulerPolicy& policy, Turn& turn, JobPlaces& places, SweepBook& book,
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

  // --- cancels, retries and imports under way ---------------------------------------------------

  // Finds those that were under way before a restart.
  void Restore();
  // Goes on with them, once a turn.
  void Continue();
  bool HasOpen() const { return !open_.empty() || !book_.erased().empty(); }
  void CheckInvariants() const;

  // --- requests ---------------------------------------------------------------------------------

  // Adds a sweep, or returns the one that the owner submitted before with the same request id.
  // Cells that are finished in any sweep are reused at once.
  // REQUIRES: it is not of imported results.
  absl::StatusOr<SweepId> Submit(SweepBook::Submission submission);
  // The same for results that were computed elsewhere, which are moved from: adds a sweep that has
  // ended once IsImporting(id) is false. Jobs without a result are canceled.
  // REQUIRES: the sweep's spec says that they are imported; ValidateImportedResults is OK.
  using ImportedResults = std::shared_ptr<std::vector<ImportedResult>>;
  absl::StatusOr<SweepId> Import(SweepBook::Submission submission, ImportedResults results);
  bool IsImporting(SweepId id) const { return imports_.contains(id); }
  // NotFound; FailedPrecondition when the sweep has ended; of Resume also when only its budget
  // pauses it.
  absl::Status Pause(SweepId id);
  absl::Status Resume(SweepId id);
  // NotFound; InvalidArgument beyond ±kPriorityMax. An ended sweep keeps it for a retry.
  absl::Status SetPriority(SweepId id, int32_t priority);
  // NotFound; InvalidArgument unless it is above 0 and at most kSpentMax.
  absl::Status SetBudget(SweepId id, int64_t usd_micros);
  // Ends every unfinished job: what runs at once. Ends a retry of the whole sweep, too. OK when it
  // has ended already. NotFound.
  absl::Status Cancel(SweepId id);
  // Ends one job, and with a train job all that waits for its system; others that waited for its
  // result run themselves. OK when it has ended already. NotFound; FailedPrecondition while the
  // whole sweep is being retried or imported.
  absl::Status CancelJob(JobId id);
  // Also of a sweep that is not loaded. NotFound; FailedPrecondition unless it has ended.
  absl::Status Delete(SweepId id);
  // Returns failed, skipped and canceled jobs (all, or those listed) to the queue with fresh retry
  // counts, and of the listed ones those that early_stop has stopped, which then train to their
  // end; with `rerun_succeeded` also the listed jobs that succeeded, and what was made from the
  // systems of listed train jobs. Returns how many run again; a retry of all jobs while another one
  // is under way begins anew, and counts what that has not returned yet. NotFound; InvalidArgument
  // for an index out of range; FailedPrecondition, with nothing changed, while a canceled sweep
  // still stops attempts, when something unfinished would have to be run again, or for listed jobs
  // while the whole sweep is being retried.
  absl::StatusOr<uint32_t> Retry(SweepId id, const std::vector<uint32_t>& jobs,
                                 bool rerun_succeeded);
  // Notes how long the sweep was expected to take when it was submitted. The first note stays.
  // NotFound.
  absl::Status RecordForecast(SweepId id, absl::Duration makespan);
  // There are `amount` units of a named resource from now on, and in a minute at most `per_minute`
  // attempts that use it are given out; 0: any number. When more are in use, nothing is given out
  // until it fits. InvalidArgument as of CheckNamedResource; ResourceExhausted beyond
  // kNamedResourcesMax.
  absl::Status SetResource(const std::string& name, int64_t amount, int64_t per_minute);
  // NotFound; FailedPrecondition while a sweep that has not ended uses it.
  absl::Status DeleteResource(const std::string& name);

 private:
  // An import that is under way, and how many of its jobs and results are done.
  struct OpenImport {
    ImportedResults results;
    uint32_t jobs_done = 0;
    size_t results_done = 0;
  };

  absl::Status CheckNoneIsOpen(const SweepRecord& sweep) const;
  absl::StatusOr<uint32_t> RetryAll(SweepRecord& sweep);
  void Continue(SweepRecord& sweep);
  void ContinueCancel(SweepRecord& sweep);
  void ContinueRetry(SweepRecord& sweep);
  void ContinueImport(SweepRecord& sweep, OpenImport& import);
  void ContinueDeletes();
  template <typename Work>
  bool DoInSlice(Work work);
  bool RetryJob(SweepRecord& sweep, uint32_t job, bool rerun_succeeded, bool is_listed);

  const SchedulerPolicy& policy_;
  Turn& turn_;
  JobPlaces& places_;
  SweepBook& book_;
  ResultBook& results_;
  WorkerRegistry& workers_;
  EarlyStopGroups& groups_;
  JobLifecycle& jobs_;
  absl::btree_set<SweepId> open_;  // sweeps of which a cancel, retry or import is under way
  absl::btree_map<SweepId, OpenImport> imports_;
  int64_t left_ = policy_.slice_jobs;  // rest of SchedulerPolicy::slice_jobs in this turn
};

}  // namespace concur

#endif  // CONCUR_CORE_SCHEDULER_SWEEP_REQUESTS_H_
