// SPDX-License-Identifier: Apache-2.0
#include "core/pools/pool_state.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace concur {
namespace {

constexpr size_t kMessageBytesKept = 1000;

std::string Cut(absl::string_view message) {
  return message.size() <= kMessageBytesKept
             ? std::string(message)
             : absl::StrCat(message.substr(0, kMessageBytesKept), "…");
}

}  // namespace

Pool* PoolState::FindPool(const std::string& name) {
  const auto it = pools.find(name);
  return it == pools.end() ? nullptr : &it->second;
}

const Pool* PoolState::FindPool(const std::string& name) const {
  const auto it = pools.find(name);
  return it == pools.end() ? nullptr : &it->second;
}

void PoolState::DropPool(const std::string& name) {
  pools.erase(name);
  dirty_pools.erase(name);
  deleted_pools.push_back(name);
}

bool PoolState::IsOpen(const Pool& pool, const PilotStarts& starts, absl::Time now) const {
  const auto provider = providers.find(pool.spec.provider);
  const bool reachable =
      provider == providers.end() || provider->second.failing_since == absl::InfiniteFuture();
  return !pool.row.paused && !pool.row.removing && now >= starts.not_before && reachable;
}

bool PoolState::IsDoubtful(const Pilot& pilot, absl::Time now) const {
  const bool waits =
      pilot.row.phase == PilotPhase::kRequested || pilot.row.phase == PilotPhase::kPending;
  const Pool* pool = FindPool(pilot.row.pool);
  return waits && (pilot.impossible || (pool != nullptr && pool->row.paused) ||
                   now - pilot.row.request_time >= policy.doubt_after);
}

void PoolState::SetPhase(Pilot& pilot, PilotPhase phase, absl::string_view message,
                         absl::Time now) {
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

void PoolState::CountFailure(const Pilot& pilot, absl::string_view message, absl::Time now) {
  Pool* pool = FindPool(pilot.row.pool);
  if (pool == nullptr) {
    return;
  }
  PilotStarts& starts = pool->Of(pilot.row.image);
  const bool counted = pilot.row.request_time <= starts.last_failure_time;
  starts.last_failure = Cut(message);
  if (counted) {
    return;
  }
  ++starts.failures;
  starts.last_failure_time = now;
  absl::Duration backoff = policy.backoff_min;
  for (int32_t i = 1; i < starts.failures && backoff < policy.backoff_max; ++i) {
    backoff *= 2;
  }
  starts.not_before = now + std::min(backoff, policy.backoff_max);
  if (pilot.row.image.empty() && starts.failures >= policy.failures_max && !pool->row.paused) {
    pool->row.paused = true;
    pool->row.pause_reason = absl::StrCat(
        starts.failures, " starts in a row failed, the last one: ", starts.last_failure);
    dirty_pools.insert(pool->row.name);
  }
}

void PoolState::EndPilot(Pilot& pilot, const std::string& message, absl::Time now) {
  SetPhase(pilot, PilotPhase::kGone, message, now);
  pilot.gone_since = now;
  pilot.surplus_since = absl::InfiniteFuture();
  if (pilot.draining()) {
    pilot.drain_since = absl::InfiniteFuture();
    actions.drain.emplace_back(pilot.row.name, false);  // nothing to remember any more
  }
  next_plan = std::min(next_plan, now);
}

void PoolState::DrainPilot(Pilot& pilot, absl::Time now) {
  pilot.drain_since = now;
  actions.drain.emplace_back(pilot.row.name, true);
}

void PoolState::StopPilot(Pilot& pilot, absl::string_view why, absl::Time now) {
  SetPhase(pilot, PilotPhase::kStopping, why, now);
  pilot.next_stop = now + policy.stop_repeat;
  OrderStop(pilot);
}

void PoolState::OrderStop(const Pilot& pilot) {
  const auto kind = static_cast<ProviderKind>(pilot.row.provider);
  for (PoolActions::Stop& stop : actions.stop) {
    if (stop.provider == kind) {
      stop.pilots.push_back(pilot.row.name);
      return;
    }
  }
  actions.stop.push_back({kind, {pilot.row.name}});
}

}  // namespace concur
