// SPDX-License-Identifier: Apache-2.0
#include "core/state/reuse_index.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"

namespace concur {

void ReuseIndex::AddFinished(const Digest& key, const Digest& block, JobId job,
                             IsBetter is_better) {
  const auto [it, inserted] = sources_.try_emplace(key, job);
  if (inserted) {
    ++keys_of_block_[block];
    return;
  }
  JobId other = job;
  if (is_better(job, it->second)) {
    std::swap(other, it->second);
  }
  auto& others = others_[key];
  others.insert(std::lower_bound(others.begin(), others.end(), other), other);
}

void ReuseIndex::RemoveFinished(const Digest& key, const Digest& block, JobId job,
                                IsBetter is_better) {
  const auto source = sources_.find(key);
  CONCUR_CHECK(source != sources_.end());
  const auto found = others_.find(key);
  if (found == others_.end()) {
    CONCUR_CHECK(source->second == job);
    sources_.erase(source);
    const auto keys = keys_of_block_.find(block);
    CONCUR_CHECK(keys != keys_of_block_.end());
    if (--keys->second == 0) {
      keys_of_block_.erase(keys);
    }
    return;
  }
  auto& others = found->second;
  auto removed = others.end();
  if (source->second == job) {
    // The first of equals.
    removed = std::max_element(others.begin(), others.end(),
                               [&](JobId a, JobId b) { return is_better(b, a); });
    source->second = *removed;
  } else {
    removed = std::lower_bound(others.begin(), others.end(), job);
    CONCUR_CHECK(removed != others.end() && *removed == job);
  }
  others.erase(removed);
  if (others.empty()) {
    others_.erase(found);
  }
}

std::optional<JobId> ReuseIndex::SourceOf(const Digest& key) const {
  const auto it = sources_.find(key);
  return it == sources_.end() ? std::nullopt : std::optional<JobId>(it->second);
}

std::vector<JobId> ReuseIndex::AllOf(const Digest& key) const {
  std::vector<JobId> jobs;
  if (const auto source = sources_.find(key); source != sources_.end()) {
    jobs.push_back(source->second);
  }
  if (const auto others = others_.find(key); others != others_.end()) {
    jobs.insert(jobs.end(), others->second.begin(), others->second.end());
  }
  return jobs;
}

void ReuseIndex::RemoveRunning(const Digest& key, JobId job) {
  const auto it = running_.find(key);
  if (it != running_.end() && it->second == job) {
    running_.erase(it);
  }
}

std::optional<JobId> ReuseIndex::RunningWith(const Digest& key) const {
  const auto it = running_.find(key);
  return it == running_.end() ? std::nullopt : std::optional<JobId>(it->second);
}

void ReuseIndex::AddFollower(JobId leader, JobId follower) {
  CONCUR_CHECK(leader_.emplace(follower, leader).second);
  followers_[leader].insert(follower);
}

void ReuseIndex::RemoveFollower(JobId follower) {
  const auto it = leader_.find(follower);
  if (it == leader_.end()) {
    return;
  }
  const auto followers = followers_.find(it->second);
  if (followers != followers_.end()) {
    followers->second.erase(follower);
    if (followers->second.empty()) {
      followers_.erase(followers);
    }
  }
  leader_.erase(it);
}

std::optional<JobId> ReuseIndex::LeaderOf(JobId follower) const {
  const auto it = leader_.find(follower);
  return it == leader_.end() ? std::nullopt : std::optional<JobId>(it->second);
}

absl::btree_set<JobId> ReuseIndex::TakeFollowers(JobId leader) {
  const auto it = followers_.find(leader);
  if (it == followers_.end()) {
    return {};
  }
  absl::btree_set<JobId> followers = std::move(it->second);
  followers_.erase(it);
  return followers;
}

size_t ReuseIndex::finished() const {
  size_t count = sources_.size();
  for (const auto& [key, jobs] : others_) {
    count += jobs.size();
  }
  return count;
}

void ReuseIndex::CheckInvariants(IsBetter is_better,
                                 absl::FunctionRef<Digest(JobId)> block_of) const {
  for (const auto& [key, jobs] : others_) {
    const JobId source = sources_.at(key);
    CONCUR_CHECK(!jobs.empty() && std::is_sorted(jobs.begin(), jobs.end()));
    for (const JobId& job : jobs) {
      CONCUR_CHECK(job != source);
      CONCUR_CHECK(!is_better(job, source));
    }
  }
  absl::flat_hash_map<Digest, uint32_t> keys_of_block;
  for (const auto& [key, source] : sources_) {
    ++keys_of_block[block_of(source)];
  }
  CONCUR_CHECK(keys_of_block == keys_of_block_);
  size_t followers = 0;
  for (const auto& [leader, waiting] : followers_) {
    CONCUR_CHECK(!waiting.empty());
    followers += waiting.size();
    for (const JobId& follower : waiting) {
      CONCUR_CHECK(leader_.at(follower) == leader);
    }
  }
  CONCUR_CHECK(followers == leader_.size());
}

}  // namespace concur
