// SPDX-License-Identifier: Apache-2.0
// Publishing sweeps, and reading them.
#include "coordinator/engine/sweep_board.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "core/sweep/sweep_name.h"

namespace concur {

SweepBoard::SweepBoard(Clock& clock, SweepBoardOptions options, std::string epoch)
    : clock_(clock),
      options_(options),
      epoch_(std::move(epoch)),
      bytes_under_way_(std::make_shared<std::atomic<size_t>>(0)) {}

SweepBoard::~SweepBoard() { Stop(); }

void SweepBoard::Publish(std::vector<SweepUpdate> updates, absl::Time now) {
  MutexLock lock(mutex_);
  for (SweepUpdate& update : updates) {
    PublishOne(std::move(update), now);
  }
  if (!changed_.empty() && std::max(now, next_slice_) < asleep_until_) {
    asleep_until_ = absl::InfinitePast();
    wake_.NotifyOne();
  }
}

void SweepBoard::PublishOne(SweepUpdate update, absl::Time now) {
  if (update.facts == nullptr) {
    Remove(update);
    return;
  }
  const SweepRow& row = update.facts->row;
  Owner& owner = owners_[row.owner];
  owner.use = update.facts->owner_use;
  Sweep& sweep = sweeps_[update.id];
  if (sweep.facts == nullptr) {
    ++owner.sweeps;
    by_name_[row.name].insert(update.id);
  }
  sweep.facts = std::move(update.facts);
  Measure(sweep, now);
  Keep(sweep, std::move(update.events), now);
  if (!sweep.idle.empty()) {
    changed_.insert(update.id);
  }
}

// Counts the jobs that ended by running.
void SweepBoard::Measure(Sweep& sweep, absl::Time now) {
  const SweepFacts& facts = *sweep.facts;
  if (IsTerminal(facts.state)) {
    sweep.meter = WorkMeter();
    return;
  }
  const auto count = [&facts](JobState state) { return facts.counts[static_cast<size_t>(state)]; };
  sweep.meter.Add(now,
                  uint64_t{count(JobState::kSucceeded)} + count(JobState::kFailed) - facts.reused,
                  count(JobState::kRunning) > 0);
}

void SweepBoard::Remove(const SweepUpdate& update) {
  const auto it = sweeps_.find(update.id);
  if (it == sweeps_.end()) {
    return;
  }
  Sweep& sweep = it->second;
  const SweepRow& row = sweep.facts->row;
  Owner& owner = owners_[row.owner];
  owner.use = update.owner_use;
  if (--owner.sweeps == 0) {
    owners_.erase(row.owner);
  }
  const auto named = by_name_.find(row.name);
  named->second.erase(update.id);
  if (named->second.empty()) {
    by_name_.erase(named);
  }
  // They are told that it is gone when it is their turn.
  for (const auto& [number, watcher] : sweep.idle) {
    MakeDue(watcher, watching_.at(watcher), absl::InfinitePast());
  }
  changed_.erase(update.id);
  sweeps_.erase(it);
}

// Adds a turn's changes, and drops the oldest ones beyond the limit.
void SweepBoard::Keep(Sweep& sweep, std::vector<JobEvent> events, absl::Time now) const {
  auto changes = std::make_shared<Changes>();
  changes->first = sweep.head + 1;
  changes->last = sweep.head + std::max<size_t>(events.size(), 1);
  changes->time = now;
  if (events.size() > options_.events_max) {
    const size_t cut = events.size() - options_.events_max;
    events.erase(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(cut));
    changes->first += cut;
    sweep.changes.clear();
  }
  changes->events = std::move(events);
  sweep.head = changes->last;
  sweep.changes.push_back(std::move(changes));
  while (sweep.head - DroppedTo(sweep) > options_.events_max && sweep.changes.size() > 1) {
    sweep.changes.pop_front();
  }
}

std::shared_ptr<const SweepFacts> SweepBoard::FactsOf(SweepId id) const {
  MutexLock lock(mutex_);
  const auto it = sweeps_.find(id);
  return it == sweeps_.end() ? nullptr : it->second.facts;
}

SweepFacts SweepBoard::Copy(const Sweep& sweep) const {
  SweepFacts copy = *sweep.facts;
  copy.owner_use = owners_.at(copy.row.owner).use;
  copy.recent = sweep.meter.Recent(clock_.Now());
  return copy;
}

absl::StatusOr<SweepFacts> SweepBoard::Find(const std::string& text,
                                            const std::string& user) const {
  std::vector<std::string> names;
  {
    MutexLock lock(mutex_);
    if (const absl::StatusOr<SweepId> id = SweepId::Parse(text); id.ok()) {
      if (const auto it = sweeps_.find(*id); it != sweeps_.end()) {
        CONCUR_RETURN_IF_ERROR(it->second.facts->load_status);
        return Copy(it->second);
      }
    }
    const SweepName name = ParseSweepName(text);
    std::vector<NamedSweep> sweeps;
    if (const auto named = by_name_.find(name.name); named != by_name_.end()) {
      for (const SweepId& id : named->second) {
        sweeps.push_back({id, sweeps_.at(id).facts->row.owner});
      }
    }
    const absl::StatusOr<SweepId> chosen = ChooseSweep(name, user, sweeps);
    if (chosen.ok()) {
      CONCUR_RETURN_IF_ERROR(sweeps_.at(*chosen).facts->load_status);
      return Copy(sweeps_.at(*chosen));
    }
    if (!absl::IsNotFound(chosen.status())) {
      return chosen.status();
    }
    for (const auto& [known, ids] : by_name_) {
      names.push_back(known);
    }
  }
  return absl::NotFoundError(absl::StrCat("no sweep \"", text, "\"", DidYouMean(text, names)));
}

std::vector<SweepFacts> SweepBoard::List(uint64_t before, const std::string& owner,
                                         size_t limit) const {
  std::vector<SweepFacts> page;
  MutexLock lock(mutex_);
  auto it = before == 0 ? sweeps_.end() : sweeps_.lower_bound(SweepId{before});
  while (it != sweeps_.begin() && page.size() < limit) {
    --it;
    const SweepFacts& facts = *it->second.facts;
    if (owner.empty() || facts.row.owner == owner) {
      page.push_back(Copy(it->second));
    }
  }
  return page;
}

}  // namespace concur
