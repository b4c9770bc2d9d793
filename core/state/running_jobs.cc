// SPDX-License-Identifier: Apache-2.0
#include "core/state/running_jobs.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/check.h"

namespace concur {

uint32_t RunningJobs::AddHolder(const std::string& worker, const std::string& incarnation) {
  const auto [it, is_new] =
      numbers_.try_emplace({worker, incarnation}, static_cast<uint32_t>(holders_.size()));
  if (is_new) {
    holders_.push_back({worker, incarnation});
  }
  return it->second;
}

void RunningJobs::Begin(JobId job, const Lease& lease) {
  CONCUR_CHECK(leases_.emplace(job, lease).second);
  lost_.erase(job);
}

RunningJobs::Lease RunningJobs::End(JobId job) {
  const auto it = leases_.find(job);
  CONCUR_CHECK(it != leases_.end());
  const Lease lease = it->second;
  leases_.erase(it);
  return lease;
}

const RunningJobs::Lease* RunningJobs::Find(JobId job) const {
  const auto it = leases_.find(job);
  return it == leases_.end() ? nullptr : &it->second;
}

std::vector<uint32_t> RunningJobs::RunningOf(SweepId sweep) const {
  std::vector<uint32_t> running;
  for (const auto& [job, lease] : leases_) {
    if (job.sweep == sweep) {
      running.push_back(job.index);
    }
  }
  std::sort(running.begin(), running.end());
  return running;
}

void RunningJobs::AddLost(JobId job, Lost lost) { lost_[job] = lost; }

const RunningJobs::Lost* RunningJobs::FindLost(JobId job) const {
  const auto it = lost_.find(job);
  return it == lost_.end() ? nullptr : &it->second;
}

void RunningJobs::CheckInvariants() const {
  CONCUR_CHECK(holders_.size() == numbers_.size());
  for (const auto& [name, number] : numbers_) {
    CONCUR_CHECK(holders_[number].worker == name.first &&
                 holders_[number].incarnation == name.second);
  }
  for (const auto& [job, lease] : leases_) {
    CONCUR_CHECK(lease.holder < holders_.size());
  }
  for (const auto& [job, lost] : lost_) {
    CONCUR_CHECK(lost.holder < holders_.size() && !leases_.contains(job));
  }
}

}  // namespace concur
