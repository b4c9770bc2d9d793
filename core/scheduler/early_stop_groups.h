// SPDX-License-Identifier: Apache-2.0
// The rules of settings that train no further because others do better
// (core/early_stop/early_stop.h).
//
// Reports and ends of jobs change the rules at once, in the order in which they come: JobLifecycle
// tells EarlyStopGroups of every change. EarlyStopJudge (core/scheduler/early_stop_judge.h) carries
// out in Dispatch what a turn's changes mean for jobs. The two are apart because the judge calls
// JobLifecycle, which calls the groups.
//
// A job is compared while its rule has it; an unfinished one waits exactly when its rule pauses it,
// and then another of its group does not. Both hold of groups that have been judged.
//
// Thread-compatible.
#ifndef CONCUR_CORE_SCHEDULER_EARLY_STOP_GROUPS_H_
#define CONCUR_CORE_SCHEDULER_EARLY_STOP_GROUPS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "core/ids.h"
#include "core/job.h"
#include "core/reported_step.h"
#include "core/rows.h"

namespace concur {

struct SweepRecord;

// The settings of one approach, train set and seed are a group.
class EarlyStopGroups {
 public:
  // A new sweep's settings may begin.
  void Begin(SweepRecord& sweep);
  // False when early stopping keeps the train job from running.
  bool HasLetGo(const SweepRecord& sweep, uint32_t job) const;
  // REQUIRES, of both: the sweep has early_stop.
  void NoteReport(SweepRecord& sweep, uint32_t job, const ReportedStep& step);
  void NoteChange(SweepRecord& sweep, uint32_t job, JobState before);
  // DataLoss when rungs and reports contradict each other.
  // REQUIRES: the rows of jobs have been read; `reports` is ordered as Snapshot::reports.
  absl::Status Restore(SweepRecord& sweep, const std::vector<StepRow>& reports);
  void Forget(SweepId sweep);
  // True while a cancel or a retry of the whole sweep goes on. Until it has ended no group is
  // judged: jobs that it has reached would be compared with others that it has not.
  static bool IsInSlices(const SweepRecord& sweep);
  void EndSlices(const SweepRecord& sweep);

  // True for a train job that is compared with the others of its group.
  static bool IsCompared(const SweepRecord& sweep, uint32_t job);

  // The groups that have changed since they were taken.
  bool HasUnjudged() const { return !unjudged_.empty(); }
  bool IsUnjudged(SweepId sweep, uint32_t group) const {
    return unjudged_.contains({sweep, group});
  }
  std::pair<SweepId, uint32_t> TakeUnjudged();

  // Ends the process when the rules of a judged group contradict the states of its jobs.
  void CheckInvariants(const SweepRecord& sweep) const;

 private:
  absl::btree_set<std::pair<SweepId, uint32_t>> unjudged_;
};

}  // namespace concur

#endif  // CONCUR_CORE_SCHEDULER_EARLY_STOP_GROUPS_H_
