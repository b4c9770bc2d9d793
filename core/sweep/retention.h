// SPDX-License-Identifier: Apache-2.0
// Which artifacts are still needed, and by what rule.
//
// Live are: the data files of a sweep that has not ended; of every counted result the metrics file,
// and the system, the predictions with their per-example scores, the log and the outputs as the
// sweep's KeepPolicy says. Beyond the policy, a system lives until nothing needs it any more: until
// every job that reads it has succeeded, or has ended in a sweep that has ended. The logs of what
// did not succeed live as long as their sweep does: they tell why.
//
// An artifact that two results share lives if either needs it.
//
// Collect as follows, so that a crash at any moment leaves nothing that points nowhere:
//   1. in one turn of the engine: feed a RetentionPlanner, Scheduler::MarkSystemsCollected(
//      plan.lost_systems), and commit;
//   2. only then ArtifactStore::Collect(plan.live, before), where `before` lies before every upload
//      that no committed result names yet: further back than the longest outage after which a
//      worker may still hand in results.
//
// RetentionPlanner is thread-compatible; pure, deterministic but for the order within a hash set.
#ifndef CONCUR_CORE_SWEEP_RETENTION_H_
#define CONCUR_CORE_SWEEP_RETENTION_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "base/digest.h"
#include "core/ids.h"
#include "core/job.h"
#include "core/result.h"
#include "core/sweep/sweep.h"

namespace concur {

// Facts that retention must know of a sweep.
struct RetainedSweep {
  KeepPolicy keep;
  bool ended = false;  // every job of it has
};

// Facts that it must know of a job that has a counted result, its own or a shared one.
struct RetainedJob {
  JobId id;
  JobState state = JobState::kReady;
  bool system_collected = false;
  // State of all jobs that read a train job's system; true when there are none. Ignored for eval
  // jobs.
  bool dependents_ended = true;
  bool dependents_succeeded = true;
};

struct RetentionPlan {
  absl::flat_hash_set<Digest> live;
  // Train jobs that succeeded and whose system nobody needs any more, ordered: to be marked before
  // any file is removed.
  std::vector<JobId> lost_systems;
};

// Bytes of artifacts that a result keeps as long as its sweep is there, by the sweep's policy;
// its system counts until it is collected.
int64_t KeptBytesOf(const KeepPolicy& keep, const JobResult& result, bool system_collected);

class RetentionPlanner {
 public:
  // A file that a sweep reads: data until it has ended; code stays with it, since a retry runs it
  // again and the user's files may have changed.
  void AddFile(const RetainedSweep& sweep, const SweepFile& file);
  // A job and its counted result.
  void AddJob(const RetainedSweep& sweep, const RetainedJob& job, const JobResult& result);
  // An attempt that did not succeed.
  void AddAttempt(const JobResult& result);
  // Artifacts that something else needs.
  void AddLive(const Digest& digest) { plan_.live.insert(digest); }

  // Ends the planner's life: it holds nothing afterwards.
  RetentionPlan Finish();

 private:
  RetentionPlan plan_;
  // Systems that nothing in their own sweep needs; another sweep may.
  std::vector<std::pair<JobId, Digest>> unneeded_systems_;
};

}  // namespace concur

#endif  // CONCUR_CORE_SWEEP_RETENTION_H_
