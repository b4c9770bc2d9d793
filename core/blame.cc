// SPDX-License-Identifier: Apache-2.0
#include "core/blame.h"

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
    case FailureClass::kPoison:
      return false;
  }
  return false;
}

void Blame::Changed(const Row& row, const std::string& worker) {
  changed_.insert({row.kind.key, worker});
}

// Notes that the worker can do this, unless that is known well enough.
void Blame::RecordSuccess(Row& row, const std::string& worker, SweepId sweep, absl::Time time) {
  // A time to come is from before a clock was set back.
  const auto is_old = [&](absl::Time then) { return then + kSuccessKept <= time || then > time; };
  size_t successes = 0;
  auto oldest = row.cells.end();
  for (auto it = row.cells.begin(); it != row.cells.end(); ++it) {
    if (it->second.success_time) {
      ++successes;
      if (oldest == row.cells.end() || it->second.success_time < oldest->second.success_time) {
        oldest = it;
      }
    }
  }
  const auto own = row.cells.find(worker);
  if (own != row.cells.end() && own->second.success_time) {
    if (!is_old(*own->second.success_time)) {
      return;
    }
  } else if (successes == kSuccessesMax) {
    if (!is_old(*oldest->second.success_time)) {
      return;
    }
    Changed(row, oldest->first);
    oldest->second.success_time.reset();
    if (oldest->second.empty()) {
      row.cells.erase(oldest);
    }
  }
  Cell& cell = row.cells[worker];
  cell.success_time = time;
  cell.sweep = sweep;
  Changed(row, worker);
}

void Blame::DropFailures(Row& row, const std::string& worker) {
  const auto it = row.cells.find(worker);
  if (it == row.cells.end() || it->second.failures == 0) {
    return;
  }
  it->second.failures = 0;
  if (it->second.empty()) {
    row.cells.erase(it);
  }
  const auto failed = failed_.find(worker);
  failed->second.erase(row.kind.key);
  if (failed->second.empty()) {
    failed_.erase(failed);
  }
  Changed(row, worker);
}

std::vector<std::string> Blame::AddSuccess(const Kind& kind, const std::string& worker,
                                           SweepId sweep, absl::Time now) {
  Row& row = RowOf(kind);
  bool is_first = true;
  bool had_failed = false;
  std::vector<std::string> suspects;
  for (const auto& [name, cell] : row.cells) {
    is_first = is_first && !cell.success_time;
    if (name == worker) {
      had_failed = cell.failures > 0;
    } else if (cell.failures > 0) {
      suspects.push_back(name);
    }
  }
  if (is_first && had_failed) {
    Mend(kind.key);
    suspects.clear();
  }
  DropFailures(row, worker);
  // What was saved comes back in whole nanoseconds.
  RecordSuccess(row, worker, sweep, absl::FromUnixNanos(absl::ToUnixNanos(now)));
  return suspects;
}

void Blame::AddFailure(const Kind& kind, const std::string& worker, SweepId sweep) {
  Row& row = RowOf(kind);
  Cell& cell = row.cells[worker];
  ++cell.failures;
  cell.sweep = sweep;
  failed_[worker].insert(kind.key);
  Changed(row, worker);
}

void Blame::Mend(const Digest& kind) {
  const auto it = kinds_.find(kind);
  if (it == kinds_.end()) {
    return;
  }
  std::vector<std::string> workers;
  for (const auto& [worker, cell] : it->second.cells) {
    workers.push_back(worker);
  }
  for (const std::string& worker : workers) {
    DropFailures(it->second, worker);
  }
}

void Blame::Pardon(const std::string& worker) {
  const auto it = failed_.find(worker);
  if (it == failed_.end()) {
    return;
  }
  for (const Digest& kind : std::set<Digest>(it->second)) {
    DropFailures(kinds_.at(kind), worker);
  }
}

void Blame::Forget(const std::string& worker) {
  Pardon(worker);
  for (auto& [key, row] : kinds_) {
    if (row.cells.erase(worker) > 0) {
      Changed(row, worker);
    }
  }
}

void Blame::ForgetSweep(SweepId sweep) {
  for (auto& [key, row] : kinds_) {
    std::vector<std::string> workers;
    for (const auto& [worker, cell] : row.cells) {
      if (cell.sweep == sweep) {
        workers.push_back(worker);
      }
    }
    for (const std::string& worker : workers) {
      DropFailures(row, worker);
      row.cells.erase(worker);
      Changed(row, worker);
    }
  }
}

Blame::Suspicion Blame::SuspicionOf(const std::string& worker) const {
  Suspicion suspicion;
  const auto it = failed_.find(worker);
  if (it == failed_.end()) {
    return suspicion;
  }
  for (const Digest& kind : it->second) {
    const Row& row = kinds_.at(kind);
    const Cell& own = row.cells.at(worker);
    std::set<std::string> succeeded;
    for (const auto& [other, cell] : row.cells) {
      if (cell.success_time) {
        succeeded.insert(other);
      }
    }
    if (succeeded.empty() || own.success_time) {
      continue;  // nobody can do it, or this worker did not long ago
    }
    suspicion.failures += own.failures;
    suspicion.kinds.push_back(row.kind);
    suspicion.succeeded.merge(succeeded);
  }
  return suspicion;
}

// --- saving
// --------------------------------------------------------------------------------------

Blame::Cell Blame::CellOf(const Digest& kind, const std::string& worker) const {
  const auto row = kinds_.find(kind);
  if (row == kinds_.end()) {
    return Cell();
  }
  const auto it = row->second.cells.find(worker);
  return it == row->second.cells.end() ? Cell() : it->second;
}

void Blame::ForEach(
    const std::function<void(const Kind&, const std::string&, const Cell&)>& visit) const {
  for (const auto& [key, row] : kinds_) {
    for (const auto& [worker, cell] : row.cells) {
      visit(row.kind, worker, cell);
    }
  }
}

void Blame::TakeChanged(
    const std::function<void(const Kind&, const std::string&, const Cell&)>& visit) {
  for (const auto& [key, worker] : changed_) {
    visit(kinds_.at(key).kind, worker, CellOf(key, worker));
  }
  for (const auto& [key, worker] : std::exchange(changed_, {})) {
    if (const auto row = kinds_.find(key); row != kinds_.end() && row->second.cells.empty()) {
      kinds_.erase(row);
    }
  }
}

bool Blame::Restore(const Kind& kind, const std::string& worker, const Cell& cell) {
  if (cell.empty() || !CellOf(kind.key, worker).empty()) {
    return false;
  }
  Row& row = RowOf(kind);
  size_t successes = cell.success_time ? 1 : 0;
  for (const auto& [other, known] : row.cells) {
    successes += known.success_time ? 1 : 0;
  }
  if (cell.success_time && successes > kSuccessesMax) {
    return false;
  }
  row.cells[worker] = cell;
  if (cell.failures > 0) {
    failed_[worker].insert(kind.key);
  }
  return true;
}

void Blame::CheckInvariants() const {
  std::map<std::string, std::set<Digest>> failed;
  for (const auto& [key, row] : kinds_) {
    CONCUR_CHECK(row.kind.key == key);
    size_t successes = 0;
    for (const auto& [worker, cell] : row.cells) {
      CONCUR_CHECK(!cell.empty());
      successes += cell.success_time ? 1 : 0;
      if (cell.failures > 0) {
        failed[worker].insert(key);
      }
    }
    CONCUR_CHECK(successes <= kSuccessesMax);
    const auto changed = changed_.lower_bound({key, ""});
    CONCUR_CHECK(!row.cells.empty() || (changed != changed_.end() && changed->first == key));
  }
  CONCUR_CHECK(failed == failed_);
}

}  // namespace concur
