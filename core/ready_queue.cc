#include "core/ready_queue.h"

#include <optional>
#include <utility>

#include "base/check.h"

namespace concur {

void ReadyQueue::Push(const Lane& lane, uint32_t job) {
  Lanes& lanes = paused_sweeps_.contains(lane.sweep) ? paused_ : lanes_;
  const bool inserted = lanes[lane].insert(job).second;
  CONCUR_CHECK(inserted);
  ++size_;
}

void ReadyQueue::Erase(const Lane& lane, uint32_t job) {
  Lanes& lanes = paused_sweeps_.contains(lane.sweep) ? paused_ : lanes_;
  const auto it = lanes.find(lane);
  CONCUR_CHECK(it != lanes.end());
  CONCUR_CHECK(it->second.erase(job) == 1);
  if (it->second.empty()) {
    lanes.erase(it);
  }
  --size_;
}

bool ReadyQueue::Contains(const Lane& lane, uint32_t job) const {
  const Lanes& lanes = paused_sweeps_.contains(lane.sweep) ? paused_ : lanes_;
  const auto it = lanes.find(lane);
  return it != lanes.end() && it->second.contains(job);
}

std::optional<JobId> ReadyQueue::Pop(const Resources& free) {
  for (auto it = lanes_.begin(); it != lanes_.end(); ++it) {
    if (!it->first.resources.FitsIn(free)) {
      continue;
    }
    const JobId job{it->first.sweep, *it->second.begin()};
    it->second.erase(it->second.begin());
    if (it->second.empty()) {
      lanes_.erase(it);
    }
    --size_;
    return job;
  }
  return std::nullopt;
}

void ReadyQueue::Move(SweepId sweep, Lanes& from, Lanes& to) {
  for (auto it = from.begin(); it != from.end();) {
    if (it->first.sweep == sweep) {
      to.insert(from.extract(it++));
    } else {
      ++it;
    }
  }
}

void ReadyQueue::Pause(SweepId sweep) {
  if (paused_sweeps_.insert(sweep).second) {
    Move(sweep, lanes_, paused_);
  }
}

void ReadyQueue::Resume(SweepId sweep) {
  if (paused_sweeps_.erase(sweep) > 0) {
    Move(sweep, paused_, lanes_);
  }
}

void ReadyQueue::EraseSweep(SweepId sweep) {
  for (Lanes* lanes : {&lanes_, &paused_}) {
    for (auto it = lanes->begin(); it != lanes->end();) {
      if (it->first.sweep == sweep) {
        size_ -= it->second.size();
        it = lanes->erase(it);
      } else {
        ++it;
      }
    }
  }
  paused_sweeps_.erase(sweep);
}

}  // namespace concur
