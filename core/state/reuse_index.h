// SPDX-License-Identifier: Apache-2.0
// Which jobs do equal work: by content key, the finished job whose result others take, the running
// job that does the work now, and the jobs that wait for its result.
//
// A key's *source* is the succeeded job whose result is taken, the best one. The index knows jobs
// by name alone; which of two is better is asked of the caller.
//
// Thread-compatible.
#ifndef CONCUR_CORE_STATE_REUSE_INDEX_H_
#define CONCUR_CORE_STATE_REUSE_INDEX_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "base/digest.h"
#include "core/ids.h"

namespace concur {

class ReuseIndex {
 public:
  // True if the first job's result is to be taken rather than the second's: a strict order, of
  // which equals are as good as each other. The answer for two jobs does not change while both are
  // here.
  using IsBetter = absl::FunctionRef<bool(JobId, JobId)>;

  // --- finished ---------------------------------------------------------------------------------

  void Reserve(size_t results) { sources_.reserve(results); }
  // A job has succeeded. `block` is the key of its block: equal for jobs with equal keys.
  // REQUIRES: it is not in the index.
  void AddFinished(const Digest& key, const Digest& block, JobId job, IsBetter is_better);
  // Another job with the same key takes the place of a source that goes away.
  // REQUIRES: the job was added.
  void RemoveFinished(const Digest& key, const Digest& block, JobId job, IsBetter is_better);
  // nullopt when no job with this key has succeeded.
  std::optional<JobId> SourceOf(const Digest& key) const;
  // All jobs with this key that have succeeded, the source first.
  std::vector<JobId> AllOf(const Digest& key) const;
  // True if any job of a block with this key has succeeded.
  bool HasFinished(const Digest& block) const { return keys_of_block_.contains(block); }

  // --- running ----------------------------------------------------------------------------------

  // A job with this key starts to run. The first one of several counts.
  void AddRunning(const Digest& key, JobId job) { running_.try_emplace(key, job); }
  void RemoveRunning(const Digest& key, JobId job);
  std::optional<JobId> RunningWith(const Digest& key) const;

  // --- waiting ----------------------------------------------------------------------------------

  // `follower` waits for the result of the running `leader`. REQUIRES: it waits for nobody.
  void AddFollower(JobId leader, JobId follower);
  // The job no longer waits, if it did.
  void RemoveFollower(JobId follower);
  // The job that `follower` waits for; nullopt when it waits for nobody.
  std::optional<JobId> LeaderOf(JobId follower) const;
  // Empties the leader's list of followers and returns it. LeaderOf still names the leader for
  // each, until RemoveFollower.
  absl::btree_set<JobId> TakeFollowers(JobId leader);

  // --- checks -----------------------------------------------------------------------------------

  size_t finished() const;  // jobs
  size_t waiting() const { return leader_.size(); }
  // Calls visit(key, job) for every finished job.
  template <typename Visit>
  void ForEachFinished(Visit visit) const {
    for (const auto& [key, source] : sources_) {
      visit(key, source);
    }
    for (const auto& [key, jobs] : others_) {
      for (const JobId& job : jobs) {
        visit(key, job);
      }
    }
  }
  // Calls visit(key, job) for the running job of every key.
  template <typename Visit>
  void ForEachRunning(Visit visit) const {
    for (const auto& [key, job] : running_) {
      visit(key, job);
    }
  }
  // Calls visit(follower, leader).
  template <typename Visit>
  void ForEachFollower(Visit visit) const {
    for (const auto& [follower, leader] : leader_) {
      visit(follower, leader);
    }
  }
  // Ends the process when parts of the index contradict each other. `block_of` gives the key of a
  // job's block.
  void CheckInvariants(IsBetter is_better, absl::FunctionRef<Digest(JobId)> block_of) const;

 private:
  absl::flat_hash_map<Digest, JobId> sources_;
  // The other finished jobs with that key, ascending; none is empty.
  absl::flat_hash_map<Digest, absl::InlinedVector<JobId, 1>> others_;
  // Number of keys of each block that have a source.
  absl::flat_hash_map<Digest, uint32_t> keys_of_block_;
  absl::flat_hash_map<Digest, JobId> running_;
  absl::flat_hash_map<JobId, absl::btree_set<JobId>> followers_;  // by leader; none is empty
  absl::flat_hash_map<JobId, JobId> leader_;                      // by follower
};

}  // namespace concur

#endif  // CONCUR_CORE_STATE_REUSE_INDEX_H_
