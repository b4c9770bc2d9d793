#include "core/blame.h"

#include <algorithm>
#include <string>
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

std::vector<std::string> Blame::AddSuccess(Group group, const std::string& worker) {
  std::vector<std::string>& succeeded = succeeded_[group];
  std::erase(succeeded, worker);
  succeeded.push_back(worker);
  if (succeeded.size() > kSuccessesMax) {
    succeeded.erase(succeeded.begin());
  }
  if (const auto it = failures_.find(worker); it != failures_.end()) {
    it->second.erase(group);
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
    if (failing->second.empty()) {
      failing_.erase(failing);
    }
  }
  failures_.erase(it);
}

void Blame::Forget(const std::string& worker) {
  Pardon(worker);
  for (auto it = succeeded_.begin(); it != succeeded_.end();) {
    std::erase(it->second, worker);
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
    if (succeeded == succeeded_.end() ||
        std::find(succeeded->second.begin(), succeeded->second.end(), worker) !=
            succeeded->second.end()) {
      continue;  // nobody can do it, or this worker did not long ago
    }
    suspicion.failures += failures;
    suspicion.groups.push_back(group);
    suspicion.succeeded.insert(succeeded->second.begin(), succeeded->second.end());
  }
  return suspicion;
}

const std::map<std::string, uint32_t>* Blame::FailuresIn(Group group) const {
  const auto it = failing_.find(group);
  return it == failing_.end() ? nullptr : &it->second;
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
