#include "core/blame.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"

namespace concur {

bool CountsForBlame(FailureClass failure) {
  switch (failure) {
    case FailureClass::kFailed:
    case FailureClass::kOutOfMemory:
    case FailureClass::kTimeout:
    case FailureClass::kSpawn:
    case FailureClass::kInvalidOutput:
    case FailureClass::kWorker:
      return true;
    case FailureClass::kNone:
    case FailureClass::kLost:
    case FailureClass::kPreempted:
    case FailureClass::kConfig:
    case FailureClass::kTemporary:
      return false;
  }
  return false;
}

std::vector<std::string> Blame::AddSuccess(Group group, const std::string& worker, absl::Time now) {
  std::map<std::string, absl::Time>& succeeded = succeeded_[group];
  // What was saved comes back in whole nanoseconds; a time to come is from before a clock was set
  // back.
  const absl::Time time = absl::FromUnixNanos(absl::ToUnixNanos(now));
  const auto is_old = [&](absl::Time then) { return then + kSuccessKept <= time || then > time; };
  const auto oldest =
      std::min_element(succeeded.begin(), succeeded.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (const auto own = succeeded.find(worker); own != succeeded.end()) {
    if (is_old(own->second)) {
      own->second = time;
      changed_.insert({group, worker});
    }
  } else if (succeeded.size() < kSuccessesMax || is_old(oldest->second)) {
    if (succeeded.size() == kSuccessesMax) {
      changed_.insert({group, oldest->first});
      succeeded.erase(oldest);
    }
    succeeded[worker] = time;
    changed_.insert({group, worker});
  }
  if (const auto it = failures_.find(worker); it != failures_.end()) {
    if (it->second.erase(group) > 0) {
      changed_.insert({group, worker});
    }
    if (it->second.empty()) {
      failures_.erase(it);
    }
  }
  std::vector<std::string> suspects;
  if (const auto it = failing_.find(group); it != failing_.end()) {
    it->second.erase(worker);
    for (const auto& [other, failures] : it->second) {
      suspects.push_back(other);
    }
    if (it->second.empty()) {
      failing_.erase(it);
    }
  }
  return suspects;
}

void Blame::AddFailure(Group group, const std::string& worker) {
  ++failures_[worker][group];
  ++failing_[group][worker];
  changed_.insert({group, worker});
}

void Blame::Pardon(const std::string& worker) {
  const auto it = failures_.find(worker);
  if (it == failures_.end()) {
    return;
  }
  for (const auto& [group, failures] : it->second) {
    const auto failing = failing_.find(group);
    CONCUR_CHECK(failing != failing_.end());
    failing->second.erase(worker);
    changed_.insert({group, worker});
    if (failing->second.empty()) {
      failing_.erase(failing);
    }
  }
  failures_.erase(it);
}

void Blame::Forget(const std::string& worker) {
  Pardon(worker);
  for (auto it = succeeded_.begin(); it != succeeded_.end();) {
    if (it->second.erase(worker) > 0) {
      changed_.insert({it->first, worker});
    }
    it = it->second.empty() ? succeeded_.erase(it) : std::next(it);
  }
}

Blame::Suspicion Blame::SuspicionOf(const std::string& worker) const {
  Suspicion suspicion;
  const auto it = failures_.find(worker);
  if (it == failures_.end()) {
    return suspicion;
  }
  for (const auto& [group, failures] : it->second) {
    const auto succeeded = succeeded_.find(group);
    if (succeeded == succeeded_.end() || succeeded->second.contains(worker)) {
      continue;  // nobody can do it, or this worker did not long ago
    }
    suspicion.failures += failures;
    suspicion.groups.push_back(group);
    for (const auto& [other, time] : succeeded->second) {
      suspicion.succeeded.insert(other);
    }
  }
  return suspicion;
}

// --- saving
// --------------------------------------------------------------------------------------

Blame::Cell Blame::CellOf(Group group, const std::string& worker) const {
  Cell cell;
  if (const auto failing = failing_.find(group); failing != failing_.end()) {
    if (const auto it = failing->second.find(worker); it != failing->second.end()) {
      cell.failures = it->second;
    }
  }
  if (const auto succeeded = succeeded_.find(group); succeeded != succeeded_.end()) {
    if (const auto it = succeeded->second.find(worker); it != succeeded->second.end()) {
      cell.success_time = it->second;
    }
  }
  return cell;
}

void Blame::ForEach(
    const std::function<void(Group, const std::string&, const Cell&)>& visit) const {
  for (const auto& [group, workers] : failing_) {
    for (const auto& [worker, failures] : workers) {
      visit(group, worker, CellOf(group, worker));
    }
  }
  for (const auto& [group, workers] : succeeded_) {
    for (const auto& [worker, time] : workers) {
      if (const Cell cell = CellOf(group, worker); cell.failures == 0) {  // else it was visited
        visit(group, worker, cell);
      }
    }
  }
}

std::set<std::pair<Blame::Group, std::string>> Blame::TakeChanged() {
  return std::exchange(changed_, {});
}

bool Blame::Restore(Group group, const std::string& worker, const Cell& cell) {
  const auto succeeded = succeeded_.find(group);
  if (cell == Cell() || CellOf(group, worker) != Cell() ||
      (cell.success_time && succeeded != succeeded_.end() &&
       succeeded->second.size() == kSuccessesMax)) {
    return false;
  }
  if (cell.failures > 0) {
    failures_[worker][group] = cell.failures;
    failing_[group][worker] = cell.failures;
  }
  if (cell.success_time) {
    succeeded_[group][worker] = *cell.success_time;
  }
  return true;
}

void Blame::CheckInvariants() const {
  size_t cells = 0;
  for (const auto& [worker, groups] : failures_) {
    CONCUR_CHECK(!groups.empty());
    cells += groups.size();
    for (const auto& [group, failures] : groups) {
      CONCUR_CHECK(failures > 0 && failing_.at(group).at(worker) == failures);
    }
  }
  for (const auto& [group, workers] : failing_) {
    CONCUR_CHECK(!workers.empty());
    cells -= workers.size();
  }
  CONCUR_CHECK(cells == 0);
  for (const auto& [group, workers] : succeeded_) {
    CONCUR_CHECK(!workers.empty() && workers.size() <= kSuccessesMax);
  }
}

}  // namespace concur
