// SPDX-License-Identifier: Apache-2.0
#include "core/pools.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace concur {
namespace {

constexpr size_t kMessageBytesKept = 1000;

std::string Cut(absl::string_view message) {
  return message.size() <= kMessageBytesKept
             ? std::string(message)
             : absl::StrCat(message.substr(0, kMessageBytesKept), "…");
}

// Whether a start that ended with this status may still have happened.
bool IsUnsure(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) || absl::IsAborted(status);
}

}  // namespace

// --- set-up and users ----------------------------------------------------------------------------

Pools::Pool* Pools::FindPool(const std::string& name) {
  const auto it = pools_.find(name);
  return it == pools_.end() ? nullptr : &it->second;
}

const Pools::Pool* Pools::FindPool(const std::string& name) const {
  const auto it = pools_.find(name);
  return it == pools_.end() ? nullptr : &it->second;
}

absl::Status Pools::AddFromOptions(PoolSpec spec) {
  CONCUR_RETURN_IF_ERROR(ValidatePoolSpec(spec));
  const std::string name = spec.name;
  if (pools_.contains(name)) {
    return absl::AlreadyExistsError(absl::StrCat("there is a pool \"", name, "\" already"));
  }
  Pool& pool = pools_[name];
  pool.spec = std::move(spec);
  pool.from_options = true;
  pool.row.name = name;
  return absl::OkStatus();
}

absl::Status Pools::Restore(const Snapshot& snapshot, const SpecDecoder& decode, absl::Time now) {
  now_ = now;
  next_pilot_ = snapshot.next_pilot_number;
  for (const PoolRow& row : snapshot.pools) {
    if (Pool* pool = FindPool(row.name); pool != nullptr) {
      pool->row.paused = row.paused;
      pool->row.pause_reason = row.pause_reason;
      if (!row.spec.empty() || row.removing) {
        dirty_pools_.insert(row.name);  // the options have it now
      }
      continue;
    }
    if (row.spec.empty()) {
      deleted_pools_.push_back(row.name);  // the options have it no longer
      continue;
    }
    absl::StatusOr<PoolSpec> spec = decode(row.spec);
    if (!spec.ok() || spec->name != row.name || !ValidatePoolSpec(*spec).ok()) {
      return absl::DataLossError(
          absl::StrCat("the stored pool ", row.name, " is damaged: ", spec.status().message()));
    }
    Pool& pool = pools_[row.name];
    pool.spec = *std::move(spec);
    pool.row = row;
  }
  for (const PilotRow& row : snapshot.pilots) {
    if (row.provider >= kProviderKinds) {
      return absl::DataLossError(absl::StrCat("the stored pilot ", row.name, " is damaged"));
    }
    Pilot& pilot = pilots_[row.name];
    pilot.row = row;
    pilot.answered = now;  // if its provider was asked, it has answered by now
    if (row.phase == PilotPhase::kStarting) {
      pilot.running_since = now;
    } else if (row.phase == PilotPhase::kGone) {
      pilot.gone_since = row.phase_time;
    } else if (row.phase == PilotPhase::kWorking) {
      pilot.lost_since = now;  // until it calls
      pilot.restored = true;
    }
  }
  return absl::OkStatus();
}

absl::Status Pools::Add(PoolSpec spec, std::string encoded) {
  CONCUR_RETURN_IF_ERROR(ValidatePoolSpec(spec));
  if (Pool* pool = FindPool(spec.name); pool != nullptr) {
    if (pool->spec == spec && !pool->row.removing) {
      return absl::OkStatus();  // the call was repeated
    }
    return absl::AlreadyExistsError(
        absl::StrCat("there is a pool \"", spec.name, "\" already",
                     pool->row.removing ? ", which is being removed: wait for its workers to leave"
                                        : "; remove it first, or choose another name"));
  }
  if (pools_.size() >= kPoolsMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there are ", pools_.size(), " pools, the most there may be"));
  }
  Pool& pool = pools_[spec.name];
  pool.row.name = spec.name;
  pool.row.spec = std::move(encoded);
  pool.spec = std::move(spec);
  dirty_pools_.insert(pool.row.name);
  next_plan_ = now_;
  return absl::OkStatus();
}

absl::Status Pools::Pause(const std::string& name, std::string reason) {
  Pool* pool = FindPool(name);
  if (pool == nullptr) {
    return absl::NotFoundError(absl::StrCat("no pool \"", name, "\""));
  }
  CONCUR_RETURN_IF_ERROR(CheckText(FieldPath("reason"), reason, kPauseReasonBytesMax));
  pool->row.paused = true;
  pool->row.pause_reason = std::move(reason);
  dirty_pools_.insert(name);
  return absl::OkStatus();
}

absl::Status Pools::Resume(const std::string& name) {
  Pool* pool = FindPool(name);
  if (pool == nullptr) {
    return absl::NotFoundError(absl::StrCat("no pool \"", name, "\""));
  }
  pool->row.paused = false;
  pool->row.pause_reason.clear();
  pool->own.failures = 0;
  pool->own.not_before = absl::InfinitePast();
  pool->of_images.clear();
  dirty_pools_.insert(name);
  next_plan_ = now_;
  return absl::OkStatus();
}

absl::Status Pools::Remove(const std::string& name, bool at_once) {
  Pool* pool = FindPool(name);
  if (pool == nullptr) {
    return absl::NotFoundError(absl::StrCat("no pool \"", name, "\""));
  }
  if (pool->from_options) {
    return absl::FailedPreconditionError(
        absl::StrCat("pool \"", name,
                     "\" stands in the coordinator's options: remove it there and "
                     "start the coordinator again, or pause it"));
  }
  pool->row.removing = true;
  pool->drop_at_once = pool->drop_at_once || at_once;
  dirty_pools_.insert(name);
  next_plan_ = now_;
  return absl::OkStatus();
}

void Pools::DropPool(const std::string& name) {
  pools_.erase(name);
  dirty_pools_.erase(name);
  deleted_pools_.push_back(name);
}

bool Pools::IsOpen(const Pool& pool, const Starts& starts, absl::Time now) const {
  const auto provider = providers_.find(pool.spec.provider);
  const bool reachable =
      provider == providers_.end() || provider->second.failing_since == absl::InfiniteFuture();
  return !pool.row.paused && !pool.row.removing && now >= starts.not_before && reachable;
}

bool Pools::IsDoubtful(const Pilot& pilot, absl::Time now) const {
  const bool waits =
      pilot.row.phase == PilotPhase::kRequested || pilot.row.phase == PilotPhase::kPending;
  const Pool* pool = FindPool(pilot.row.pool);
  return waits && (pilot.impossible || (pool != nullptr && pool->row.paused) ||
                   now - pilot.row.request_time >= policy_.doubt_after);
}

// --- what becomes of a pilot ---------------------------------------------------------------------

void Pools::SetPhase(Pilot& pilot, PilotPhase phase, absl::string_view message, absl::Time now) {
  if (pilot.row.phase != phase) {
    pilot.row.phase = phase;
    pilot.row.phase_time = now;
    Touch(pilot.row.name);
  }
  std::string cut = Cut(message);
  if (pilot.row.message != cut) {
    pilot.row.message = std::move(cut);
    Touch(pilot.row.name);
  }
}

// Pilots of one batch fail together: they count once.
void Pools::CountFailure(const Pilot& pilot, const std::string& message, absl::Time now) {
  Pool* pool = FindPool(pilot.row.pool);
  if (pool == nullptr) {
    return;
  }
  Starts& starts = pool->Of(pilot.row.image);
  const bool counted = pilot.row.request_time <= starts.last_failure_time;
  starts.last_failure = Cut(message);
  if (counted) {
    return;
  }
  ++starts.failures;
  starts.last_failure_time = now;
  absl::Duration backoff = policy_.backoff_min;
  for (int32_t i = 1; i < starts.failures && backoff < policy_.backoff_max; ++i) {
    backoff *= 2;
  }
  starts.not_before = now + std::min(backoff, policy_.backoff_max);
  if (pilot.row.image.empty() && starts.failures >= policy_.failures_max && !pool->row.paused) {
    pool->row.paused = true;
    pool->row.pause_reason = absl::StrCat(
        starts.failures, " starts in a row failed, the last one: ", starts.last_failure);
    dirty_pools_.insert(pool->row.name);
  }
}

void Pools::EndPilot(Pilot& pilot, const std::string& message, absl::Time now) {
  SetPhase(pilot, PilotPhase::kGone, message, now);
  pilot.gone_since = now;
  pilot.surplus_since = absl::InfiniteFuture();
  if (pilot.draining()) {
    pilot.drain_since = absl::InfiniteFuture();
    actions_.drain.emplace_back(pilot.row.name, false);  // nothing to remember any more
  }
  next_plan_ = std::min(next_plan_, now);
}

// --- providers' answers --------------------------------------------------------------------------

void Pools::Started(const std::vector<std::string>& pilots,
                    const absl::StatusOr<std::vector<std::string>>& ids, absl::Time now) {
  for (size_t i = 0; i < pilots.size(); ++i) {
    const auto it = pilots_.find(pilots[i]);
    if (it == pilots_.end()) {
      continue;
    }
    Pilot& pilot = it->second;
    pilot.answered = now;
    if (ids.ok()) {
      if (i < ids->size() && pilot.row.external_id.empty()) {
        pilot.row.external_id = (*ids)[i];
        Touch(pilot.row.name);
      }
      if (pilot.row.phase == PilotPhase::kRequested) {
        SetPhase(pilot, PilotPhase::kPending, "", now);
      }
    } else if (IsUnsure(ids.status())) {
      // The next observation shows which. Until it succeeds nothing more is requested.
      Provider& provider = providers_[static_cast<ProviderKind>(pilot.row.provider)];
      provider.status = ids.status();
      provider.failing_since = std::min(provider.failing_since, now);
      provider.next_observe = std::min(provider.next_observe, now + policy_.plan_interval);
      if (pilot.row.phase == PilotPhase::kRequested) {
        SetPhase(pilot, PilotPhase::kRequested, ids.status().message(), now);
      }
    } else {
      const std::string message(ids.status().message());
      CountFailure(pilot, message, now);
      EndPilot(pilot, message, now);
    }
  }
}

void Pools::Observed(ProviderKind kind, const absl::StatusOr<std::vector<PilotReport>>& reports,
                     absl::Time asked, absl::Time now) {
  Provider& provider = providers_[kind];
  provider.observing = false;
  const bool any = std::any_of(pilots_.begin(), pilots_.end(), [kind](const auto& entry) {
    return static_cast<ProviderKind>(entry.second.row.provider) == kind &&
           entry.second.row.phase != PilotPhase::kGone;
  });
  provider.next_observe = now + (any ? policy_.observe_interval : policy_.observe_interval_idle);
  provider.status = reports.status();
  if (!reports.ok()) {
    provider.failing_since = std::min(provider.failing_since, now);
    provider.next_observe = now + policy_.observe_interval;
    return;
  }
  provider.failing_since = absl::InfiniteFuture();
  std::set<std::string> seen;
  std::map<std::string, int> strangers;
  PoolActions::Stop stop{kind, {}};
  for (const PilotReport& report : *reports) {
    seen.insert(report.name);
    if (const auto it = pilots_.find(report.name); it != pilots_.end()) {
      TakeReport(it->second, report, now);
    } else if (report.state != PilotReport::State::kEnded) {
      // Ours by its name, and unknown: of a state that was set back, or forgotten long ago.
      if ((strangers[report.name] = provider.strangers[report.name] + 1) >= 2) {
        stop.pilots.push_back(report.name);
      }
    }
  }
  provider.strangers = std::move(strangers);
  if (!stop.pilots.empty()) {
    actions_.stop.push_back(std::move(stop));
  }
  for (auto& [name, pilot] : pilots_) {
    if (static_cast<ProviderKind>(pilot.row.provider) == kind && !seen.contains(name)) {
      NoteMissing(pilot, asked, now);
    }
  }
}

void Pools::TakeReport(Pilot& pilot, const PilotReport& report, absl::Time now) {
  pilot.missed = 0;
  if (!report.external_id.empty() && report.external_id != pilot.row.external_id) {
    pilot.row.external_id = report.external_id;
    Touch(pilot.row.name);
  }
  if (report.state == PilotReport::State::kEnded) {
    // A worker that still calls has not ended, whatever its provider reports.
    if (pilot.row.phase == PilotPhase::kGone || pilot.live) {
      return;
    }
    const bool was_working =
        pilot.row.joined && now - pilot.row.phase_time >= policy_.healthy_after;
    const bool taken_back = pilot.row.joined && report.taken_back;
    if (!was_working && !taken_back && !pilot.draining() &&
        pilot.row.phase != PilotPhase::kStopping) {
      CountFailure(pilot, report.message, now);
    }
    EndPilot(pilot, report.message, now);
    return;
  }
  pilot.gone_since = absl::InfiniteFuture();
  if (pilot.row.phase == PilotPhase::kStopping || (pilot.row.joined && pilot.live)) {
    return;
  }
  pilot.impossible = report.impossible;
  if (report.impossible && !pilot.row.image.empty() && !pilot.row.joined) {
    // What a job names may never start: it must not keep others' room.
    CountFailure(pilot, report.message, now);
    StopPilot(pilot, report.message, now);
    return;
  }
  if (report.state == PilotReport::State::kPending) {
    SetPhase(pilot, PilotPhase::kPending, report.message, now);
    pilot.running_since = absl::InfiniteFuture();
  } else if (!pilot.row.joined) {
    SetPhase(pilot, PilotPhase::kStarting, report.message, now);
    pilot.running_since = std::min(pilot.running_since, now);
  } else {
    SetPhase(pilot, PilotPhase::kWorking, report.message, now);
    pilot.lost_since = std::min(pilot.lost_since, now);  // it worked, and does not call
  }
}

void Pools::NoteMissing(Pilot& pilot, absl::Time asked, absl::Time now) {
  if (pilot.row.phase == PilotPhase::kGone || pilot.live ||
      pilot.answered == absl::InfiniteFuture() || asked < pilot.answered + policy_.settle) {
    return;
  }
  if (++pilot.missed < 2) {
    return;
  }
  const std::string message =
      pilot.row.message.empty() || pilot.row.phase != PilotPhase::kRequested
          ? "its provider does not know it (any more)"
          : absl::StrCat("its provider does not know it; it had answered: ", pilot.row.message);
  if (!pilot.row.joined && pilot.row.phase != PilotPhase::kStopping) {
    CountFailure(pilot, message, now);
  }
  EndPilot(pilot, message, now);
}

// --- rows ----------------------------------------------------------------------------------------

void Pools::TakeRows(Batch* batch) {
  if (dirty_next_) {
    batch->next_pilot_number = next_pilot_;
    dirty_next_ = false;
  }
  for (const std::string& name : dirty_pools_) {
    batch->put_pools.push_back(pools_.at(name).row);
  }
  for (const std::string& name : dirty_pilots_) {
    batch->put_pilots.push_back(pilots_.at(name).row);
  }
  dirty_pools_.clear();
  dirty_pilots_.clear();
  // A pool that was removed and added again within a turn stands among those that are put.
  for (std::string& name : std::exchange(deleted_pools_, {})) {
    if (!pools_.contains(name)) {
      batch->delete_pools.push_back(std::move(name));
    }
  }
  for (std::string& name : std::exchange(deleted_pilots_, {})) {
    batch->delete_pilots.push_back(std::move(name));
  }
}

void Pools::CheckInvariants() const {
  for (const auto& [name, pool] : pools_) {
    CONCUR_CHECK(pool.spec.name == name && pool.row.name == name);
    CONCUR_CHECK(pool.from_options == pool.row.spec.empty());
    CONCUR_CHECK(!pool.from_options || !pool.row.removing);
  }
  for (const auto& [name, pilot] : pilots_) {
    CONCUR_CHECK(pilot.row.name == name);
    CONCUR_CHECK((pilot.row.phase == PilotPhase::kGone) ==
                 (pilot.gone_since != absl::InfiniteFuture()));
    CONCUR_CHECK(pilot.row.phase != PilotPhase::kWorking || pilot.row.joined);
  }
  for (const std::string& name : dirty_pilots_) {
    CONCUR_CHECK(pilots_.contains(name));
  }
}

}  // namespace concur
