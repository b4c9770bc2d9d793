// SPDX-License-Identifier: Apache-2.0
#include "core/state/roster.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/check.h"

namespace concur {

WorkerRow Worker::Row() const {
  return WorkerRow{.name = info.name,
                   .incarnation = left ? "" : info.incarnation,
                   .draining = drain_asked,
                   .last_seen = last_seen,
                   .quarantine_end = quarantine_end,
                   .quarantine_span = quarantine_span,
                   .quarantine_reason = quarantine_reason};
}

Worker& Roster::Add(WorkerInfo info) {
  std::string name = info.name;
  const auto [it, is_new] = workers_.emplace(std::move(name), std::make_unique<Worker>());
  CONCUR_CHECK(is_new);
  it->second->info = std::move(info);
  return *it->second;
}

void Roster::Erase(const std::string& name) {
  const auto it = workers_.find(name);
  CONCUR_CHECK(it != workers_.end());
  DropDeadline(*it->second);
  EndQuarantine(*it->second);
  workers_.erase(it);
}

Worker* Roster::Find(const std::string& name) {
  const auto it = workers_.find(name);
  return it == workers_.end() ? nullptr : it->second.get();
}

const Worker* Roster::Find(const std::string& name) const {
  const auto it = workers_.find(name);
  return it == workers_.end() ? nullptr : it->second.get();
}

bool Roster::HasOtherThatTakesJobs(const std::string& name, absl::Time now) const {
  return std::any_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
    return entry.first != name && entry.second->TakesJobs(now);
  });
}

// --- deadlines
// ------------------------------------------------------------------------------------

void Roster::SetDeadline(Worker& worker, absl::Time end) {
  DropDeadline(worker);
  worker.lease_expire = end;
  deadlines_.insert({end, NameOf(worker)});
}

void Roster::BeginQuarantine(Worker& worker, absl::Time end, std::string reason) {
  EndQuarantine(worker);
  worker.quarantine_end = end;
  worker.quarantine_reason = std::move(reason);
  quarantines_.insert({end, NameOf(worker)});
}

bool Roster::EndQuarantine(Worker& worker) {
  if (worker.quarantine_end == absl::InfinitePast()) {
    return false;
  }
  quarantines_.erase({worker.quarantine_end, NameOf(worker)});
  worker.quarantine_end = absl::InfinitePast();
  worker.quarantine_reason.clear();
  return true;
}

Worker* Roster::FirstOf(const Deadlines& deadlines, absl::Time now) {
  if (deadlines.empty() || deadlines.begin()->first > now) {
    return nullptr;
  }
  return workers_.at(deadlines.begin()->second).get();
}

Worker* Roster::FirstOverdue(absl::Time now) { return FirstOf(deadlines_, now); }

Worker* Roster::FirstQuarantineEnded(absl::Time now) { return FirstOf(quarantines_, now); }

absl::Time Roster::NextDeadline() const {
  absl::Time next = absl::InfiniteFuture();
  for (const Deadlines* deadlines : {&deadlines_, &quarantines_}) {
    if (!deadlines->empty()) {
      next = std::min(next, deadlines->begin()->first);
    }
  }
  return next;
}

void Roster::CheckInvariants() const {
  size_t deadlines = 0;
  size_t quarantines = 0;
  for (const auto& [name, worker] : workers_) {
    CONCUR_CHECK(worker->info.name == name);
    worker->assignments.CheckInvariants();
    // No state without a deadline: whoever holds work has a lease.
    CONCUR_CHECK(HasDeadline(*worker) || (worker->lost && worker->drain_asked));
    CONCUR_CHECK(!worker->lost || worker->assignments.empty());
    deadlines += HasDeadline(*worker) ? 1 : 0;
    const bool in_quarantine = worker->quarantine_end != absl::InfinitePast();
    CONCUR_CHECK(in_quarantine == !worker->quarantine_reason.empty());
    CONCUR_CHECK(in_quarantine == quarantines_.contains({worker->quarantine_end, name}));
    quarantines += in_quarantine ? 1 : 0;
  }
  CONCUR_CHECK(deadlines == deadlines_.size() && quarantines == quarantines_.size());
}

}  // namespace concur
