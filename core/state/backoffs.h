// SPDX-License-Identifier: Apache-2.0
// The jobs that wait after a failure, and when each wait ends.
//
// Thread-compatible.
#ifndef CONCUR_CORE_STATE_BACKOFFS_H_
#define CONCUR_CORE_STATE_BACKOFFS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "core/ids.h"
#include "core/sweep/sweep.h"

namespace concur {

class Backoffs {
 public:
  // Time that a job waits after so many failures and losses: the policy's shortest time, doubled by
  // each one after the first, up to its longest, and up to a quarter more or less at random. The
  // same arguments give the same time. REQUIRES: failures > 0.
  static absl::Duration WaitAfter(const RetryPolicy& retry, int failures, AttemptId attempt,
                                  uint64_t seed);
  static absl::Duration LongestWait(const RetryPolicy& retry);

  // REQUIRES: the job does not wait.
  void Add(JobId job, absl::Time end);
  // REQUIRES: the job waits.
  void Remove(JobId job);
  // nullopt when the job does not wait.
  std::optional<absl::Time> EndOf(JobId job) const;
  // When the next wait ends; InfiniteFuture when nothing waits.
  absl::Time NextEnd() const;
  // The job whose wait ended first, at or before `now`, of equal ones the lowest; nullopt.
  std::optional<JobId> FirstEnded(absl::Time now) const;
  size_t size() const { return end_of_.size(); }

  // Ends the process when the two orders disagree.
  void CheckInvariants() const;

 private:
  absl::btree_set<std::pair<absl::Time, JobId>> by_end_;
  absl::flat_hash_map<JobId, absl::Time> end_of_;
};

}  // namespace concur

#endif  // CONCUR_CORE_STATE_BACKOFFS_H_
