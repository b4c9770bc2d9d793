// SPDX-License-Identifier: Apache-2.0
#include "core/pools/pools.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "core/pools/pools_plan.h"

namespace concur {
namespace {

// True if a start that ended with this status may still have happened.
bool IsUnsure(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) || absl::IsAborted(status);
}

}  // namespace

// --- set-up and users ----------------------------------------------------------------------------

absl::Status Pools::AddFromOptions(PoolSpec spec) {
  CONCUR_RETURN_IF_ERROR(ValidatePoolSpec(spec));
  const std::string name = spec.name;
  if (state_.pools.contains(name)) {
    return absl::AlreadyExistsError(absl::StrCat("there is a pool \"", name, "\" already"));
  }
  Pool& pool = state_.pools[name];
  pool.spec = std::move(spec);
  pool.from_options = true;
  pool.row.name = name;
  return absl::OkStatus();
}

absl::Status Pools::Restore(const Snapshot& snapshot, const SpecDecoder& decode, absl::Time now) {
  state_.time = now;
  state_.next_pilot = snapshot.next_pilot_number;
  for (const PoolRow& row : snapshot.pools) {
    if (Pool* pool = state_.FindPool(row.name); pool != nullptr) {
      pool->row.paused = row.paused;
      pool->row.pause_reason = row.pause_reason;
      if (!row.spec.empty() || row.removing) {
        state_.dirty_pools.insert(row.name);  // the options have it now
      }
      continue;
    }
    if (row.spec.empty()) {
      state_.deleted_pools.push_back(row.name);  // the options have it no longer
      continue;
    }
    absl::StatusOr<PoolSpec> spec = decode(row.spec);
    if (!spec.ok() || spec->name != row.name || !ValidatePoolSpec(*spec).ok()) {
      return absl::DataLossError(
          absl::StrCat("the stored pool ", row.name, " is damaged: ", spec.status().message()));
    }
    Pool& pool = state_.pools[row.name];
    pool.spec = *std::move(spec);
    pool.row = row;
  }
  for (const PilotRow& row : snapshot.pilots) {
    if (row.provider >= kProviderKinds) {
      return absl::DataLossError(absl::StrCat("the stored pilot ", row.name, " is damaged"));
    }
    Pilot& pilot = state_.pilots[row.name];
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
  if (Pool* pool = state_.FindPool(spec.name); pool != nullptr) {
    if (pool->spec == spec && !pool->row.removing) {
      return absl::OkStatus();  // the call was repeated
    }
    return absl::AlreadyExistsError(
        absl::StrCat("there is a pool \"", spec.name, "\" already",
                     pool->row.removing ? ", which is being removed: wait for its workers to leave"
                                        : "; remove it first, or choose another name"));
  }
  if (state_.pools.size() >= kPoolsMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there are ", state_.pools.size(), " pools, the most there may be"));
  }
  Pool& pool = state_.pools[spec.name];
  pool.row.name = spec.name;
  pool.row.spec = std::move(encoded);
  pool.spec = std::move(spec);
  state_.dirty_pools.insert(pool.row.name);
  state_.next_plan = state_.time;
  return absl::OkStatus();
}

absl::Status Pools::Pause(const std::string& name, std::string reason) {
  Pool* pool = state_.FindPool(name);
  if (pool == nullptr) {
    return absl::NotFoundError(absl::StrCat("no pool \"", name, "\""));
  }
  CONCUR_RETURN_IF_ERROR(CheckText(FieldPath("reason"), reason, kPauseReasonBytesMax));
  pool->row.paused = true;
  pool->row.pause_reason = std::move(reason);
  state_.dirty_pools.insert(name);
  return absl::OkStatus();
}

absl::Status Pools::Resume(const std::string& name) {
  Pool* pool = state_.FindPool(name);
  if (pool == nullptr) {
    return absl::NotFoundError(absl::StrCat("no pool \"", name, "\""));
  }
  pool->row.paused = false;
  pool->row.pause_reason.clear();
  pool->own.failures = 0;
  pool->own.not_before = absl::InfinitePast();
  pool->of_images.clear();
  state_.dirty_pools.insert(name);
  state_.next_plan = state_.time;
  return absl::OkStatus();
}

absl::Status Pools::Remove(const std::string& name, bool at_once) {
  Pool* pool = state_.FindPool(name);
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
  state_.dirty_pools.insert(name);
  state_.next_plan = state_.time;
  return absl::OkStatus();
}

// --- time --------------------------------------------------------------------------------------

absl::Time Pools::NextDeadline() const {
  return empty() ? absl::InfiniteFuture() : state_.next_plan;
}

void Pools::Advance(absl::Time now, const PoolWorld& world) {
  state_.time = std::max(state_.time, now);
  if (state_.time >= state_.next_plan) {
    state_.next_plan = state_.time + state_.policy.plan_interval;
    PoolPlanner(state_, world).Run();
  }
}

// --- providers' answers --------------------------------------------------------------------------

void Pools::Started(const std::vector<std::string>& pilots,
                    const absl::StatusOr<std::vector<std::string>>& ids, absl::Time now) {
  for (size_t i = 0; i < pilots.size(); ++i) {
    const auto it = state_.pilots.find(pilots[i]);
    if (it == state_.pilots.end()) {
      continue;
    }
    Pilot& pilot = it->second;
    pilot.answered = now;
    if (ids.ok()) {
      if (i < ids->size() && pilot.row.external_id.empty()) {
        pilot.row.external_id = (*ids)[i];
        state_.Touch(pilot.row.name);
      }
      if (pilot.row.phase == PilotPhase::kRequested) {
        state_.SetPhase(pilot, PilotPhase::kPending, "", now);
      }
    } else if (IsUnsure(ids.status())) {
      // The next observation shows which. Until it succeeds nothing more is requested.
      ProviderState& provider = state_.providers[static_cast<ProviderKind>(pilot.row.provider)];
      provider.status = ids.status();
      provider.failing_since = std::min(provider.failing_since, now);
      provider.next_observe = std::min(provider.next_observe, now + state_.policy.plan_interval);
      if (pilot.row.phase == PilotPhase::kRequested) {
        state_.SetPhase(pilot, PilotPhase::kRequested, ids.status().message(), now);
      }
    } else {
      const std::string message(ids.status().message());
      state_.CountFailure(pilot, message, now);
      state_.EndPilot(pilot, message, now);
    }
  }
}

void Pools::Observed(ProviderKind kind, const absl::StatusOr<std::vector<PilotReport>>& reports,
                     absl::Time asked, absl::Time now) {
  ProviderState& provider = state_.providers[kind];
  provider.observing = false;
  const bool any =
      std::any_of(state_.pilots.begin(), state_.pilots.end(), [kind](const auto& entry) {
        return static_cast<ProviderKind>(entry.second.row.provider) == kind &&
               entry.second.row.phase != PilotPhase::kGone;
      });
  provider.next_observe =
      now + (any ? state_.policy.observe_interval : state_.policy.observe_interval_idle);
  provider.status = reports.status();
  if (!reports.ok()) {
    provider.failing_since = std::min(provider.failing_since, now);
    provider.next_observe = now + state_.policy.observe_interval;
    return;
  }
  provider.failing_since = absl::InfiniteFuture();
  std::set<std::string> seen;
  std::map<std::string, int> strangers;
  PoolActions::Stop stop{kind, {}};
  for (const PilotReport& report : *reports) {
    seen.insert(report.name);
    if (const auto it = state_.pilots.find(report.name); it != state_.pilots.end()) {
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
    state_.actions.stop.push_back(std::move(stop));
  }
  for (auto& [name, pilot] : state_.pilots) {
    if (static_cast<ProviderKind>(pilot.row.provider) == kind && !seen.contains(name)) {
      NoteMissing(pilot, asked, now);
    }
  }
}

void Pools::TakeReport(Pilot& pilot, const PilotReport& report, absl::Time now) {
  pilot.missed = 0;
  if (!report.external_id.empty() && report.external_id != pilot.row.external_id) {
    pilot.row.external_id = report.external_id;
    state_.Touch(pilot.row.name);
  }
  if (report.state == PilotReport::State::kEnded) {
    // A worker that still calls has not ended, whatever its provider reports.
    if (pilot.row.phase == PilotPhase::kGone || pilot.live) {
      return;
    }
    const bool was_working =
        pilot.row.joined && now - pilot.row.phase_time >= state_.policy.healthy_after;
    const bool taken_back = pilot.row.joined && report.taken_back;
    if (!was_working && !taken_back && !pilot.draining() &&
        pilot.row.phase != PilotPhase::kStopping) {
      state_.CountFailure(pilot, report.message, now);
    }
    state_.EndPilot(pilot, report.message, now);
    return;
  }
  pilot.gone_since = absl::InfiniteFuture();
  if (pilot.row.phase == PilotPhase::kStopping || (pilot.row.joined && pilot.live)) {
    return;
  }
  pilot.impossible = report.impossible;
  if (report.impossible && !pilot.row.image.empty() && !pilot.row.joined) {
    // A pilot of an image that a job names may never start: it must not keep others' room.
    state_.CountFailure(pilot, report.message, now);
    state_.StopPilot(pilot, report.message, now);
    return;
  }
  if (report.state == PilotReport::State::kPending) {
    state_.SetPhase(pilot, PilotPhase::kPending, report.message, now);
    pilot.running_since = absl::InfiniteFuture();
  } else if (!pilot.row.joined) {
    state_.SetPhase(pilot, PilotPhase::kStarting, report.message, now);
    pilot.running_since = std::min(pilot.running_since, now);
  } else {
    state_.SetPhase(pilot, PilotPhase::kWorking, report.message, now);
    pilot.lost_since = std::min(pilot.lost_since, now);  // it worked, and does not call
  }
}

void Pools::NoteMissing(Pilot& pilot, absl::Time asked, absl::Time now) {
  if (pilot.row.phase == PilotPhase::kGone || pilot.live ||
      pilot.answered == absl::InfiniteFuture() || asked < pilot.answered + state_.policy.settle) {
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
    state_.CountFailure(pilot, message, now);
  }
  state_.EndPilot(pilot, message, now);
}

// --- rows ----------------------------------------------------------------------------------------

void Pools::TakeRows(Batch* batch) {
  if (state_.dirty_next) {
    batch->next_pilot_number = state_.next_pilot;
    state_.dirty_next = false;
  }
  for (const std::string& name : state_.dirty_pools) {
    batch->put_pools.push_back(state_.pools.at(name).row);
  }
  for (const std::string& name : state_.dirty_pilots) {
    batch->put_pilots.push_back(state_.pilots.at(name).row);
  }
  state_.dirty_pools.clear();
  state_.dirty_pilots.clear();
  // A pool that was removed and added again within a turn stands among those that are put.
  for (std::string& name : std::exchange(state_.deleted_pools, {})) {
    if (!state_.pools.contains(name)) {
      batch->delete_pools.push_back(std::move(name));
    }
  }
  for (std::string& name : std::exchange(state_.deleted_pilots, {})) {
    batch->delete_pilots.push_back(std::move(name));
  }
}

void Pools::CheckInvariants() const {
  for (const auto& [name, pool] : state_.pools) {
    CONCUR_CHECK(pool.spec.name == name && pool.row.name == name);
    CONCUR_CHECK(pool.from_options == pool.row.spec.empty());
    CONCUR_CHECK(!pool.from_options || !pool.row.removing);
  }
  for (const auto& [name, pilot] : state_.pilots) {
    CONCUR_CHECK(pilot.row.name == name);
    CONCUR_CHECK((pilot.row.phase == PilotPhase::kGone) ==
                 (pilot.gone_since != absl::InfiniteFuture()));
    CONCUR_CHECK(pilot.row.phase != PilotPhase::kWorking || pilot.row.joined);
  }
  for (const std::string& name : state_.dirty_pilots) {
    CONCUR_CHECK(state_.pilots.contains(name));
  }
}

}  // namespace concur
