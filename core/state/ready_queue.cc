// SPDX-License-Identifier: Apache-2.0
#include "core/state/ready_queue.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"

namespace concur {
namespace {

template <typename Map, typename Key>
void CountDown(Map& counts, const Key& key) {
  const auto it = counts.find(key);
  CONCUR_CHECK(it != counts.end());
  if (--it->second == 0) {
    counts.erase(it);
  }
}

template <typename Index, typename Key>
void Unindex(Index& index, const Key& key, const ReadyQueue::Lane& lane) {
  const auto it = index.find(key);
  CONCUR_CHECK(it != index.end() && it->second.erase(lane) == 1);
  if (it->second.empty()) {
    index.erase(it);
  }
}

}  // namespace

Durations::Rank ReadyQueue::RankOf(Durations::Group group) const {
  const auto it = rank_of_.find(group);
  return it == rank_of_.end() ? Durations::kUnknownRank : it->second;
}

ReadyQueue::Place ReadyQueue::PlaceOf(const Lane& lane) const {
  return {.sweep = lane.sweep, .is_train = lane.is_train, .rank = RankOf(lane.group), .lane = lane};
}

void ReadyQueue::Enter(const Place& place) {
  ++cpus_[place.lane.resources.cpu_millis];
  ++ranks_[place.rank];
}

void ReadyQueue::Leave(const Place& place) {
  CountDown(cpus_, place.lane.resources.cpu_millis);
  CountDown(ranks_, place.rank);
}

void ReadyQueue::CountJobs(const Lane& lane, size_t added, size_t removed) {
  if (lane.services != 0 && !paused_sweeps_.contains(lane.sweep)) {
    size_t& jobs = of_services_[lane.services];
    jobs = jobs + added - removed;
    if (jobs == 0) {
      of_services_.erase(lane.services);
    }
  }
}

size_t ReadyQueue::CountOf(uint32_t services) const {
  const auto it = of_services_.find(services);
  return it == of_services_.end() ? 0 : it->second;
}

const ReadyQueue::Jobs* ReadyQueue::Find(const Lanes& lanes, const Place& place) {
  const auto it = lanes.find(place);
  return it == lanes.end() ? nullptr : &it->second;
}

ReadyQueue::Jobs ReadyQueue::Detach(const Lane& lane) {
  const Place place = PlaceOf(lane);
  if (paused_sweeps_.contains(lane.sweep)) {
    auto node = paused_.extract(place);
    CONCUR_CHECK(!node.empty());
    return std::move(node.mapped());
  }
  const auto owners = lanes_.find(lane.priority);
  CONCUR_CHECK(owners != lanes_.end());
  const auto own = owners->second.find(lane.owner);
  CONCUR_CHECK(own != owners->second.end());
  auto node = own->second.extract(place);
  CONCUR_CHECK(!node.empty());
  Leave(place);
  CountJobs(lane, 0, node.mapped().size());
  if (own->second.empty()) {
    owners->second.erase(own);
    if (owners->second.empty()) {
      lanes_.erase(owners);
    }
  }
  return std::move(node.mapped());
}

void ReadyQueue::Attach(const Lane& lane, Jobs jobs) {
  const Place place = PlaceOf(lane);
  if (paused_sweeps_.contains(lane.sweep)) {
    paused_.emplace(place, std::move(jobs));
    return;
  }
  CountJobs(lane, jobs.size(), 0);
  lanes_[lane.priority][lane.owner].emplace(place, std::move(jobs));
  Enter(place);
}

void ReadyQueue::Push(const Lane& lane, uint32_t job) {
  const Place place = PlaceOf(lane);
  const bool paused = paused_sweeps_.contains(lane.sweep);
  Lanes& lanes = paused ? paused_ : lanes_[lane.priority][lane.owner];
  const auto [it, is_new] = lanes.try_emplace(place);
  if (is_new) {
    by_sweep_[lane.sweep].insert(lane);
    by_group_[lane.group].insert(lane);
    if (!paused) {
      Enter(place);
    }
  }
  const bool inserted = it->second.insert(job).second;
  CONCUR_CHECK(inserted);
  CountJobs(lane, 1, 0);
  ++size_;
}

void ReadyQueue::Erase(const Lane& lane, uint32_t job) {
  const Place place = PlaceOf(lane);
  const bool paused = paused_sweeps_.contains(lane.sweep);
  Lanes& lanes = paused ? paused_ : lanes_.at(lane.priority).at(lane.owner);
  const auto it = lanes.find(place);
  CONCUR_CHECK(it != lanes.end());
  CONCUR_CHECK(it->second.erase(job) == 1);
  CountJobs(lane, 0, 1);
  --size_;
  if (it->second.empty()) {
    Detach(lane);
    Unindex(by_sweep_, lane.sweep, lane);
    Unindex(by_group_, lane.group, lane);
  }
}

bool ReadyQueue::Contains(const Lane& lane, uint32_t job) const {
  const Place place = PlaceOf(lane);
  const Jobs* jobs = nullptr;
  if (paused_sweeps_.contains(lane.sweep)) {
    jobs = Find(paused_, place);
  } else if (const auto owners = lanes_.find(lane.priority); owners != lanes_.end()) {
    if (const auto own = owners->second.find(lane.owner); own != owners->second.end()) {
      jobs = Find(own->second, place);
    }
  }
  return jobs != nullptr && jobs->contains(job);
}

std::optional<ReadyQueue::Choice> ReadyQueue::First(Accept accept, Share share,
                                                    AcceptJob accept_job) const {
  std::vector<std::pair<int64_t, const Lanes*>> turns;
  for (const auto& [priority, owners] : lanes_) {
    turns.clear();
    for (const auto& [owner, lanes] : owners) {
      turns.emplace_back(owners.size() == 1 ? 0 : share(owner), &lanes);
    }
    // Equal shares: in the order of owners.
    std::stable_sort(turns.begin(), turns.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [used, lanes] : turns) {
      for (const auto& [place, jobs] : *lanes) {
        int probes = accept(place.lane) ? kProbesMax : 0;
        for (auto job = jobs.begin(); job != jobs.end() && probes > 0; ++job, --probes) {
          if (accept_job(JobId{place.lane.sweep, *job})) {
            return Choice{place.lane, *job};
          }
        }
      }
    }
  }
  return std::nullopt;
}

void ReadyQueue::ForEachLane(absl::FunctionRef<void(const Lane&, size_t)> look) const {
  for (const auto& [priority, owners] : lanes_) {
    for (const auto& [owner, lanes] : owners) {
      for (const auto& [place, jobs] : lanes) {
        look(place.lane, jobs.size());
      }
    }
  }
}

ReadyQueue::Moved ReadyQueue::Detach(const absl::btree_set<Lane>& lanes) {
  Moved moved;
  for (const Lane& lane : lanes) {
    moved.emplace_back(lane, Detach(lane));
  }
  return moved;
}

ReadyQueue::Moved ReadyQueue::DetachSweep(SweepId sweep) {
  const auto it = by_sweep_.find(sweep);
  return it == by_sweep_.end() ? Moved() : Detach(it->second);
}

void ReadyQueue::Attach(Moved&& moved) {
  for (auto& [lane, jobs] : moved) {
    Attach(lane, std::move(jobs));
  }
}

void ReadyQueue::SetRank(Durations::Group group, Durations::Rank rank) {
  if (RankOf(group) == rank) {
    return;
  }
  const auto found = by_group_.find(group);
  Moved moved = found == by_group_.end() ? Moved() : Detach(found->second);
  rank_of_[group] = rank;
  Attach(std::move(moved));
}

void ReadyQueue::Pause(SweepId sweep) {
  if (!paused_sweeps_.contains(sweep)) {
    Moved moved = DetachSweep(sweep);
    paused_sweeps_.insert(sweep);
    Attach(std::move(moved));
  }
}

void ReadyQueue::Resume(SweepId sweep) {
  if (paused_sweeps_.contains(sweep)) {
    Moved moved = DetachSweep(sweep);
    paused_sweeps_.erase(sweep);
    Attach(std::move(moved));
  }
}

void ReadyQueue::SetPriority(SweepId sweep, int32_t priority) {
  Moved moved = DetachSweep(sweep);
  for (auto& [lane, jobs] : moved) {
    absl::btree_set<Lane>& of_sweep = by_sweep_.at(sweep);
    absl::btree_set<Lane>& of_group = by_group_.at(lane.group);
    of_sweep.erase(lane);
    of_group.erase(lane);
    lane.priority = priority;
    of_sweep.insert(lane);
    of_group.insert(lane);
  }
  Attach(std::move(moved));
}

void ReadyQueue::EraseSweep(SweepId sweep) {
  if (const auto it = by_sweep_.find(sweep); it != by_sweep_.end()) {
    const absl::btree_set<Lane> lanes = std::move(it->second);
    by_sweep_.erase(it);
    for (const Lane& lane : lanes) {
      size_ -= Detach(lane).size();
      Unindex(by_group_, lane.group, lane);
    }
  }
  paused_sweeps_.erase(sweep);
}

}  // namespace concur
