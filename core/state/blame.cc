// SPDX-License-Identifier: Apache-2.0
#include "core/state/blame.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
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
    case FailureClass::kService:
      return false;
  }
  return false;
}

Digest Blame::KeyOf(JobId job) { return Sha256Of(absl::StrCat("blame of job ", job.ToString())); }

Digest Blame::KeyOf(const Kind& kind) {
  Sha256 hasher;
  hasher.UpdateField("blame of kind");
  hasher.UpdateField(kind.sweep.ToString());
  hasher.UpdateField(kind.approach);
  hasher.UpdateField(kind.benchmark);
  hasher.UpdateField(kind.is_train ? "train" : "eval");
  return hasher.Finish();
}

const Digest& Blame::KnownKeyOf(const Kind& kind) {
  constexpr size_t kKnownMax = 1024;
  const auto known = kind_keys_.find(kind);
  if (known != kind_keys_.end()) {
    return known->second;
  }
  if (kind_keys_.size() == kKnownMax) {
    kind_keys_.clear();
  }
  return kind_keys_.emplace(kind, KeyOf(kind)).first->second;
}

// Notes that the worker can do this, unless that is known well enough.
void Blame::RecordSuccess(const Digest& key, const Kind& kind, const std::string& worker,
                          absl::Time time) {
  Row& row = RowOf(key, kind);
  // A time to come is from before a clock was set back.
  const auto is_old = [&](absl::Time then) { return then + kSuccessKept <= time || then > time; };
  const auto own = row.cells.find(worker);
  if (own != row.cells.end()) {
    if (!is_old(*own->second.success_time)) {
      return;
    }
  } else if (row.cells.size() == kSuccessesMax) {
    const auto oldest = std::min_element(
        row.cells.begin(), row.cells.end(),
        [](const auto& a, const auto& b) { return a.second.success_time < b.second.success_time; });
    if (!is_old(*oldest->second.success_time)) {
      return;
    }
    EraseCell(key, std::string(oldest->first));
  }
  row.cells[worker].success_time = time;
  changed_.insert({key, worker});
}

void Blame::EraseCell(const Digest& key, const std::string& worker) {
  Row& row = rows_.at(key);
  const auto it = row.cells.find(worker);
  if (it == row.cells.end()) {
    return;
  }
  if (it->second.failures > 0) {
    const auto failed = failed_.find(worker);
    const auto kind = failed->second.find(row.kind);
    kind->second.erase(key);
    if (kind->second.empty()) {
      failed->second.erase(kind);
    }
    if (failed->second.empty()) {
      failed_.erase(failed);
    }
  }
  row.cells.erase(it);
  changed_.insert({key, worker});
}

void Blame::EraseRow(const Digest& key) {
  const auto row = rows_.find(key);
  while (row != rows_.end() && !row->second.cells.empty()) {
    EraseCell(key, std::string(row->second.cells.begin()->first));
  }
}

void Blame::DropFailures(const std::string& worker, const Kind& kind) {
  const auto failed = failed_.find(worker);
  if (failed == failed_.end()) {
    return;
  }
  const auto it = failed->second.find(kind);
  if (it == failed->second.end()) {
    return;
  }
  for (const Digest& key : std::set<Digest>(it->second)) {
    EraseCell(key, worker);
    const auto& cells = rows_.at(key).cells;
    if (std::all_of(cells.begin(), cells.end(),
                    [](const auto& cell) { return cell.second.failures == 0; })) {
      EraseRow(key);  // a success that nothing is compared with
    }
  }
}

std::vector<std::string> Blame::AddSuccess(const Kind& kind, JobId job, const std::string& worker,
                                           absl::Time now) {
  // A saved time comes back in whole nanoseconds.
  const absl::Time time = absl::FromUnixNanos(absl::ToUnixNanos(now));
  const auto own = failed_.find(worker);
  const bool had_failed = own != failed_.end() && own->second.contains(kind);
  const Digest kind_key = KnownKeyOf(kind);
  const auto known = rows_.find(kind_key);
  if (had_failed && (known == rows_.end() || known->second.cells.empty())) {
    std::vector<std::string> all;
    for (const auto& [name, kinds] : failed_) {
      all.push_back(name);
    }
    for (const std::string& name : all) {
      DropFailures(name, kind);
    }
  } else {
    DropFailures(worker, kind);
  }
  RecordSuccess(kind_key, kind, worker, time);
  std::vector<std::string> suspects;
  if (failed_.empty()) {  // almost always: saves a hash
    return suspects;
  }
  if (const auto row = rows_.find(KeyOf(job)); row != rows_.end()) {
    for (const auto& [name, cell] : row->second.cells) {
      if (cell.failures > 0) {
        suspects.push_back(name);
      }
    }
    if (!suspects.empty()) {
      row->second.cells[worker].success_time = time;
      changed_.insert({row->first, worker});
    }
  }
  return suspects;
}

void Blame::AddFailure(const Kind& kind, JobId job, const std::string& worker) {
  if (HasSucceeded(kind, worker)) {
    return;
  }
  const Digest key = KeyOf(job);
  ++RowOf(key, kind).cells[worker].failures;
  failed_[worker][kind].insert(key);
  changed_.insert({key, worker});
}

void Blame::Mend(JobId job) { EraseRow(KeyOf(job)); }

void Blame::Pardon(const std::string& worker) {
  for (auto it = failed_.find(worker); it != failed_.end(); it = failed_.find(worker)) {
    DropFailures(worker, Kind(it->second.begin()->first));
  }
}

void Blame::Forget(const std::string& worker) {
  Pardon(worker);
  for (const auto& [key, row] : rows_) {
    if (row.cells.contains(worker)) {
      EraseCell(key, worker);
    }
  }
}

void Blame::ForgetSweep(SweepId sweep) {
  for (const auto& [key, row] : rows_) {
    if (row.kind.sweep == sweep) {
      EraseRow(key);
    }
  }
}

bool Blame::HasFailed(const std::string& worker, JobId job) const {
  return failed_.contains(worker) && CellOf(KeyOf(job), worker).failures > 0;
}

Blame::Suspicion Blame::SuspicionOf(const std::string& worker, Compares compares) const {
  Suspicion suspicion;
  const auto it = failed_.find(worker);
  if (it == failed_.end()) {
    return suspicion;
  }
  for (const auto& [kind, keys] : it->second) {
    for (const Digest& key : keys) {
      std::set<std::string> succeeded;
      for (const auto& [other, cell] : rows_.at(key).cells) {
        if (cell.success_time && compares(other)) {
          succeeded.insert(other);
        }
      }
      if (!succeeded.empty()) {
        ++suspicion.jobs;
        suspicion.kinds.insert(kind);
        suspicion.succeeded.merge(succeeded);
      }
    }
  }
  return suspicion;
}

// --- saving
// --------------------------------------------------------------------------------------

Blame::Cell Blame::CellOf(const Digest& key, const std::string& worker) const {
  const auto row = rows_.find(key);
  if (row == rows_.end()) {
    return Cell();
  }
  const auto it = row->second.cells.find(worker);
  return it == row->second.cells.end() ? Cell() : it->second;
}

void Blame::ForEach(Visit visit) const {
  for (const auto& [key, row] : rows_) {
    for (const auto& [worker, cell] : row.cells) {
      visit(key, row.kind, worker, cell);
    }
  }
}

void Blame::TakeChanged(Visit visit) {
  for (const auto& [key, worker] : changed_) {
    visit(key, rows_.at(key).kind, worker, CellOf(key, worker));
  }
  for (const auto& [key, worker] : std::exchange(changed_, {})) {
    if (const auto row = rows_.find(key); row != rows_.end() && row->second.cells.empty()) {
      rows_.erase(row);
    }
  }
}

bool Blame::Restore(const Digest& key, const Kind& kind, const std::string& worker,
                    const Cell& cell) {
  const bool is_kinds = key == KeyOf(kind);
  const auto row = rows_.find(key);
  if (cell.empty() || !CellOf(key, worker).empty() || (is_kinds && cell.failures > 0) ||
      (is_kinds && row != rows_.end() && row->second.cells.size() == kSuccessesMax)) {
    return false;
  }
  Row& restored = RowOf(key, kind);
  restored.cells[worker] = cell;
  if (cell.failures > 0) {
    failed_[worker][restored.kind].insert(key);
  }
  return true;
}

void Blame::CheckInvariants() const {
  Failed failed;
  for (const auto& [key, row] : rows_) {
    const bool is_kinds = key == KeyOf(row.kind);
    CONCUR_CHECK(!is_kinds || row.cells.size() <= kSuccessesMax);
    for (const auto& [worker, cell] : row.cells) {
      CONCUR_CHECK(!cell.empty() && !(is_kinds && cell.failures > 0));
      // Whoever has succeeded in a kind is held nothing of it against.
      CONCUR_CHECK(cell.failures == 0 || !HasSucceeded(row.kind, worker));
      if (cell.failures > 0) {
        failed[worker][row.kind].insert(key);
      }
    }
    const auto changed = changed_.lower_bound({key, ""});
    CONCUR_CHECK(!row.cells.empty() || (changed != changed_.end() && changed->first == key));
  }
  CONCUR_CHECK(failed == failed_);
}

}  // namespace concur
