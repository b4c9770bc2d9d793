// What jobs ask for, summed up for pools, and whether a worker's time suffices.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/scheduler.h"

namespace concur {
namespace {

// A job is given only where it may take so many times its mean.
constexpr double kTimeCare = 1.5;
// But one that fits in a whole worker's time is given in the first part of it.
constexpr double kWholeShare = 0.9;

}  // namespace

std::vector<DemandClass> Scheduler::Demand() const {
  std::map<std::tuple<int32_t, Resources, uint32_t, Durations::Rank>, DemandClass> classes;
  const auto class_of = [&](const ReadyQueue::Lane& lane) -> DemandClass& {
    DemandClass& demand =
        classes[{lane.priority, lane.resources, lane.labels, durations_.RankOf(lane.group)}];
    demand.priority = lane.priority;
    demand.resources = lane.resources;
    demand.labels = label_sets_[lane.labels];
    if (const auto expected = durations_.Expected(lane.group)) {
      demand.run_time = demand.run_time == absl::InfiniteDuration()
                            ? expected->mean
                            : std::max(demand.run_time, expected->mean);
    }
    return demand;
  };
  ready_.ForEachLane(
      [&](const ReadyQueue::Lane& lane, size_t jobs) { class_of(lane).ready += jobs; });
  for (const auto& [name, worker] : workers_) {
    if (worker->drain_asked || worker->drain_self) {
      continue;
    }
    for (const auto& [id, held] : worker->held) {
      if (!held.stopping) {
        DemandClass& demand = class_of(LaneOf(SweepOf(id.job), id.job.index));
        ++(held.ahead ? demand.ready : demand.running);
      }
    }
  }
  std::vector<DemandClass> demand;
  demand.reserve(classes.size());
  for (auto& [key, one] : classes) {
    demand.push_back(std::move(one));
  }
  return demand;
}

// Whether a job of the group is likely to end before the worker's machine is taken away.
bool Scheduler::HasTimeFor(const WorkerRecord& worker, Durations::Group group) const {
  if (worker.end_time == absl::InfiniteFuture()) {
    return true;
  }
  const absl::Duration left = worker.end_time - now_;
  const auto expected = durations_.Expected(group);
  if (!expected) {
    return left > absl::ZeroDuration();  // somebody must find out
  }
  const absl::Duration careful = std::min(
      kTimeCare * expected->mean, std::max(expected->mean, kWholeShare * worker.whole_time));
  return careful <= left;
}

}  // namespace concur
