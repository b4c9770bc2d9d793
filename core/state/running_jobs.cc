// SPDX-License-Identifier: Apache-2.0
#include "core/state/running_jobs.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/check.h"

namespace concur {
namespace {

constexpr int64_t kMillion = 1'000'000;

// In millionths.
int64_t ShareOf(const RunningJobs::Lease& lease) {
  return lease.of == 0 ? 0
                       : static_cast<int64_t>(static_cast<double>(lease.done) /
                                              static_cast<double>(lease.of) * kMillion);
}

}  // namespace

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
  AddDone(job.sweep, -ShareOf(lease));
  return lease;
}

bool RunningJobs::SetProgress(JobId job, int64_t done, int64_t of) {
  Lease& lease = leases_.at(job);
  if (lease.done == done && lease.of == of) {
    return false;
  }
  AddDone(job.sweep, -ShareOf(lease));
  lease.done = done;
  lease.of = of;
  AddDone(job.sweep, ShareOf(lease));
  return true;
}

void RunningJobs::AddDone(SweepId sweep, int64_t millionths) {
  if (millionths != 0 && (done_[sweep] += millionths) == 0) {
    done_.erase(sweep);
  }
}

double RunningJobs::DoneOf(SweepId sweep) const {
  const auto it = done_.find(sweep);
  return it == done_.end() ? 0 : static_cast<double>(it->second) / kMillion;
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
  absl::flat_hash_map<SweepId, int64_t> done;
  for (const auto& [job, lease] : leases_) {
    if (ShareOf(lease) > 0) {
      done[job.sweep] += ShareOf(lease);
    }
  }
  CONCUR_CHECK(done == done_);
  for (const auto& [job, lost] : lost_) {
    CONCUR_CHECK(lost.holder < holders_.size() && !leases_.contains(job));
  }
}

}  // namespace concur
