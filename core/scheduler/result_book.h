// SPDX-License-Identifier: Apache-2.0
// The outcomes of jobs: results, checkpoints and reports in their SweepRecord, charged to the
// sweep's owner; the index of results that equal jobs take; and what run times say of jobs to come.
//
// A succeeded job is in the index; its run time counts unless it took its result from another job.
//
// Thread-compatible.
#ifndef CONCUR_CORE_SCHEDULER_RESULT_BOOK_H_
#define CONCUR_CORE_SCHEDULER_RESULT_BOOK_H_

#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "core/ids.h"
#include "core/result.h"
#include "core/scheduler/job_places.h"
#include "core/scheduler/sweep_book.h"
#include "core/scheduler/turn.h"
#include "core/sync/sync.h"

namespace concur {

// True of ends for a reason outside the job: they count apart from its own failures.
bool IsOutside(FailureClass failure);

class ResultBook {
 public:
  ResultBook(Turn& turn, JobPlaces& places, SweepBook& book)
      : turn_(turn), places_(places), book_(book) {}

  // Takes the place of the job's result; dropping none does nothing.
  void Put(SweepRecord& sweep, uint32_t job, JobResult result, uint32_t holder);
  void Drop(SweepRecord& sweep, uint32_t job);
  // A copy of another job's result, whose owner is charged for it.
  void PutReused(SweepRecord& sweep, uint32_t job, JobId source);
  // Reports of an earlier run of the job do not count for the next one.
  void DropSteps(SweepRecord& sweep, uint32_t job);
  // Keeps or drops the job's checkpoint after an attempt of it ended.
  void TakeCheckpoint(SweepRecord& sweep, uint32_t job, const FinishedAttempt& finished);
  void DropCheckpoint(SweepRecord& sweep, uint32_t job);

  // The job, whose content key this is, succeeded and counts for others from now on; or no longer.
  void AddSuccess(SweepRecord& sweep, uint32_t job, const Digest& key);
  void RemoveSuccess(SweepRecord& sweep, uint32_t job);
  // As ReuseIndex::SourceOf, of the sweeps that were not deleted.
  std::optional<JobId> SourceOf(const Digest& key) const;
  // As Scheduler::MarkSystemsCollected.
  void MarkSystemsCollected(const std::vector<JobId>& train_jobs);
  // As Scheduler::SetExpectedDurations.
  void SetExpectedDurations(
      absl::FunctionRef<absl::Duration(absl::string_view approach, absl::string_view benchmark,
                                       bool is_train)>
          expected);

  // Ends the process when index and durations contradict the jobs.
  void CheckInvariants() const;

 private:
  void AddToIndex(const SweepRecord& sweep, uint32_t job, const Digest& key);
  void RemoveFromIndex(const SweepRecord& sweep, uint32_t job);
  bool IsBetterSource(JobId job, JobId other) const;
  void PutCheckpoint(SweepRecord& sweep, uint32_t job, const Checkpoint& checkpoint);
  void CheckDurations() const;

  Turn& turn_;
  JobPlaces& places_;
  SweepBook& book_;
};

}  // namespace concur

#endif  // CONCUR_CORE_SCHEDULER_RESULT_BOOK_H_
