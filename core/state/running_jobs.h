// SPDX-License-Identifier: Apache-2.0
// Which worker process runs each job, and which one lost the lease of a job and may come back with
// the attempt that it was running.
//
// A *holder* is a worker process: a worker's name and incarnation. Holders are numbered, and a
// number is never given up: results name their holders.
//
// Thread-compatible.
#ifndef CONCUR_CORE_STATE_RUNNING_JOBS_H_
#define CONCUR_CORE_STATE_RUNNING_JOBS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/digest.h"
#include "core/ids.h"

namespace concur {

inline constexpr uint32_t kNoHolder = UINT32_MAX;

class RunningJobs {
 public:
  struct Holder {
    std::string worker;
    std::string incarnation;
  };
  struct Lease {
    uint32_t holder = kNoHolder;
    uint64_t gpu_mask = 0;
    Digest key;  // key of the job's content
    // Parts of the work that it says are done, of so many; of 0: it has not said.
    int64_t done = 0;
    int64_t of = 0;
  };
  // A lease that ended without a result.
  struct Lost {
    uint32_t holder = kNoHolder;
    uint64_t gpu_mask = 0;
  };

  // The holder's number; a new holder gets the next one.
  uint32_t AddHolder(const std::string& worker, const std::string& incarnation);
  // REQUIRES: AddHolder has returned this number.
  const Holder& holder(uint32_t number) const { return holders_[number]; }
  const std::string& WorkerOf(uint32_t holder) const { return holders_[holder].worker; }

  // The job runs from now on; an earlier lease of it is no longer lost. REQUIRES: it does not run.
  void Begin(JobId job, const Lease& lease);
  // The job no longer runs. REQUIRES: it does.
  Lease End(JobId job);
  // The job says how far it is. True if that is news. REQUIRES: it runs; 0 <= done <= of.
  bool SetProgress(JobId job, int64_t done, int64_t of);
  // Sum over the sweep's running jobs of the share that they say is done.
  double DoneOf(SweepId sweep) const;
  // Null when the job does not run.
  const Lease* Find(JobId job) const;
  size_t size() const { return leases_.size(); }
  // The indices of the sweep's running jobs, in order.
  std::vector<uint32_t> RunningOf(SweepId sweep) const;

  // The latest lease of a job that does not run was lost. Takes the place of an earlier one.
  void AddLost(JobId job, Lost lost);
  void RemoveLost(JobId job) { lost_.erase(job); }
  // Null when none was lost.
  const Lost* FindLost(JobId job) const;
  // Calls visit(job) for every job with a lost lease.
  template <typename Visit>
  void ForEachLost(Visit visit) const {
    for (const auto& [job, lost] : lost_) {
      visit(job);
    }
  }

  // Ends the process when a job both runs and was lost, or holders and numbers disagree.
  void CheckInvariants() const;

 private:
  void AddDone(SweepId sweep, int64_t millionths);

  std::vector<Holder> holders_;
  absl::flat_hash_map<std::pair<std::string, std::string>, uint32_t> numbers_;
  absl::flat_hash_map<JobId, Lease> leases_;
  absl::flat_hash_map<JobId, Lost> lost_;
  // For each sweep with a running job that says how far it is, the sum of those shares; in parts of
  // a million, so that it does not depend on their order.
  absl::flat_hash_map<SweepId, int64_t> done_;
};

}  // namespace concur

#endif  // CONCUR_CORE_STATE_RUNNING_JOBS_H_
