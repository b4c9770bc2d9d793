// SPDX-License-Identifier: Apache-2.0
#include "core/pools/pools_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "core/sweep/environment.h"

namespace concur {
namespace {

bool IsWaiting(PilotPhase phase) {
  return phase == PilotPhase::kRequested || phase == PilotPhase::kPending ||
         phase == PilotPhase::kStarting;
}

}  // namespace

void PoolPlanner::Run() {
  FollowWorkers();
  CheckTimeouts();
  EmptyRemovedPools();
  Plan();
  AskProviders();
  ForgetGone();
}

void PoolPlanner::FollowWorkers() {
  std::map<std::string, const PoolWorld::Worker*> workers;
  for (const PoolWorld::Worker& worker : world_.workers) {
    workers[worker.place.name] = &worker;
  }
  for (auto& [name, pilot] : state_.pilots) {
    const auto it = workers.find(name);
    const bool was_live = pilot.live;
    // A worker of before a restart whose pilot ended since is no worker until it calls.
    pilot.live = it != workers.end() && it->second->live && it->second->called;
    pilot.restored = pilot.restored && it != workers.end() && it->second->live && !pilot.live;
    if (!pilot.live) {
      pilot.worker_running = 0;
      if (was_live) {
        pilot.lost_since = now_;
        // Its provider knows why.
        ProviderState& provider = state_.providers[static_cast<ProviderKind>(pilot.row.provider)];
        provider.next_observe = std::min(provider.next_observe, now_);
      }
      continue;
    }
    pilot.worker_running = it->second->place.running;
    pilot.lost_since = absl::InfiniteFuture();
    if (pilot.row.phase != PilotPhase::kWorking && pilot.row.phase != PilotPhase::kStopping) {
      // Also one that was given up: it works after all.
      pilot.gone_since = absl::InfiniteFuture();
      pilot.row.joined = true;
      state_.SetPhase(pilot, PilotPhase::kWorking, "", now_);
      if (Pool* pool = state_.FindPool(pilot.row.pool)) {
        pool->Of(pilot.row.image).doubted_until = absl::InfinitePast();
      }
    }
    Pool* pool = state_.FindPool(pilot.row.pool);
    if (pool != nullptr && now_ - pilot.row.phase_time >= state_.policy.healthy_after) {
      pool->Of(pilot.row.image).failures = 0;
    }
  }
}

void PoolPlanner::CheckTimeouts() {
  for (auto& [name, pilot] : state_.pilots) {
    const Pool* pool = state_.FindPool(pilot.row.pool);
    switch (pilot.row.phase) {
      case PilotPhase::kRequested:
        if (now_ - pilot.row.request_time >= state_.policy.start_answer_timeout) {
          pilot.answered = std::min(pilot.answered, now_);
        }
        break;
      case PilotPhase::kStarting:
        if (pool != nullptr && now_ - pilot.running_since >= pool->spec.start_timeout) {
          const std::string message = absl::StrCat(
              "its provider says that it runs, but its worker has not called within ",
              absl::FormatDuration(pool->spec.start_timeout),
              "; can its machine reach the coordinator, and is the worker's program there?");
          state_.CountFailure(pilot, message, now_);
          state_.StopPilot(pilot, message, now_);
        }
        break;
      case PilotPhase::kWorking:
        if (!pilot.live && now_ - pilot.lost_since >= state_.policy.lost_timeout) {
          state_.StopPilot(pilot, "its worker was lost, and its provider still has it", now_);
        } else if (pilot.draining() && pilot.worker_running == 0 &&
                   now_ - pilot.drain_since >= state_.policy.leave_timeout) {
          state_.StopPilot(pilot, "its worker was told to leave and did not", now_);
        }
        break;
      case PilotPhase::kStopping:
        if (now_ >= pilot.next_stop) {
          pilot.next_stop = now_ + state_.policy.stop_repeat;
          state_.OrderStop(pilot);
        }
        break;
      case PilotPhase::kPending:
      case PilotPhase::kGone:
        break;
    }
  }
}

// The workers that take jobs. A pilot's worker that has not called since a restart counts among the
// pilots that wait.
std::vector<WorkerPlace> PoolPlanner::PlacesOf() const {
  std::vector<WorkerPlace> places;
  for (const PoolWorld::Worker& worker : world_.workers) {
    if (worker.live && !worker.draining &&
        (worker.called || !state_.pilots.contains(worker.place.name))) {
      places.push_back(worker.place);
    }
  }
  return places;
}

// The pool's own part first.
std::vector<PoolPlanner::Part> PoolPlanner::PartsOf(Pool& pool) const {
  std::set<std::string> images;
  for (const auto& [name, pilot] : state_.pilots) {
    if (pilot.row.pool == pool.spec.name && pilot.row.phase != PilotPhase::kGone) {
      images.insert(pilot.row.image);
    }
  }
  for (const DemandClass& demand : world_.demand) {
    const auto it = demand.labels.find(kImageLabel);
    // A stored sweep may ask for what is refused today.
    if (pool.spec.kubernetes.job_images && it != demand.labels.end() &&
        CheckImageReference(it->second).ok()) {
      images.insert(it->second);
    }
  }
  images.erase("");
  std::vector<Part> parts = {{&pool, "", pool.spec}};
  for (const std::string& image : images) {
    parts.push_back({&pool, image, ForImage(pool.spec, image)});
  }
  std::erase_if(pool.of_images, [&](const auto& entry) {
    return !images.contains(entry.first) &&
           now_ - entry.second.last_failure_time >= state_.policy.gone_kept;
  });
  return parts;
}

PoolPlace PoolPlanner::PlaceOf(Part& part) const {
  PilotStarts& starts = part.pool->Of(part.image);
  PoolPlace place{&part.spec, state_.IsOpen(*part.pool, starts, now_)};
  for (const auto& [name, pilot] : state_.pilots) {
    if (part.Has(pilot) && pilot.row.phase != PilotPhase::kGone) {
      ++place.pilots;
      place.waiting += IsWaiting(pilot.row.phase) || pilot.restored ? 1 : 0;
      place.doubtful += state_.IsDoubtful(pilot, now_) ? 1 : 0;
    }
  }
  if (place.doubtful > 0) {
    starts.doubted_until = now_ + state_.policy.doubt_kept;
  }
  place.doubted = now_ < starts.doubted_until;
  return place;
}

void PoolPlanner::Plan() {
  const std::vector<WorkerPlace> workers = PlacesOf();
  std::vector<Part> parts;
  for (auto& [name, pool] : state_.pools) {
    if (!pool.row.removing) {
      pool.wanted = 0;
      for (Part& part : PartsOf(pool)) {
        parts.push_back(std::move(part));
      }
    }
  }
  std::vector<PoolPlace> places;
  places.reserve(parts.size());
  for (Part& part : parts) {
    places.push_back(PlaceOf(part));
  }
  const ScalePlan plan = PlanPools(world_.demand, workers, places, state_.policy.scale);
  std::set<std::string> needed;
  for (size_t i = 0; i < workers.size(); ++i) {
    if (plan.workers_needed[i]) {
      needed.insert(workers[i].name);
    }
  }
  std::map<std::string, int32_t> lacking;  // each pool's pilots that are not started now
  std::map<std::string, int32_t> rooms;    // each pool's room for further pilots
  for (size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    part.pool->wanted += places[i].pilots + plan.pools[i].wanted;
    const int32_t start = plan.pools[i].start;
    const int32_t back = Undrain(part, start);
    StartPilots(part, start - back);
    const int32_t waiting = plan.pools[i].waiting_needed + start - back;
    int32_t in_queue = waiting;
    if (places[i].doubtful > 0) {
      // They keep their places in the queue until workers have taken what they were for.
      PoolPlace alone = places[i];
      alone.open = false;
      alone.doubtful = 0;
      in_queue = std::max(
          in_queue,
          PlanPools(world_.demand, workers, {alone}, state_.policy.scale).pools[0].waiting_needed);
    }
    ShrinkWaiting(part, waiting, in_queue);
    const bool has_images = part.pool->spec.kubernetes.job_images;
    lacking[part.spec.name] += has_images && places[i].open ? plan.pools[i].wanted - start : 0;
    rooms.try_emplace(part.spec.name, part.spec.workers_max).first->second -=
        places[i].pilots + start - back;
  }
  for (const auto& [name, count] : lacking) {
    // Pilots that are merely not started at once find room next time.
    ShrinkWorking(state_.pools.at(name), needed, count - std::max(rooms.at(name), 0));
  }
  state_.impossible.clear();
  state_.too_long.clear();
  for (const size_t index : plan.impossible) {
    state_.impossible.push_back(world_.demand[index]);
  }
  for (const size_t index : plan.too_long) {
    state_.too_long.push_back(world_.demand[index]);
  }
}

void PoolPlanner::StartPilots(const Part& part, int32_t count) {
  const PoolSpec& spec = part.spec;
  const int32_t at_once = spec.provider == ProviderKind::kSlurm     ? spec.slurm.array_max
                          : spec.provider == ProviderKind::kCommand ? kCommandStartsMax
                                                                    : count;
  while (count > 0) {
    PoolActions::Start start{spec, {}};
    for (int32_t i = 0; i < at_once && count > 0; ++i, --count) {
      const std::string name = absl::StrCat(spec.name, "-", state_.next_pilot++);
      Pilot& pilot = state_.pilots[name];
      pilot.row.name = name;
      pilot.row.pool = spec.name;
      pilot.row.image = part.image;
      pilot.row.provider = static_cast<uint8_t>(spec.provider);
      pilot.row.request_time = now_;
      pilot.row.phase_time = now_;
      state_.Touch(name);
      start.pilots.push_back(name);
    }
    state_.dirty_next = true;
    state_.actions.start.push_back(std::move(start));
    // Asked again soon: what was idle is not.
    ProviderState& provider = state_.providers[spec.provider];
    provider.next_observe = std::min(provider.next_observe, now_ + state_.policy.observe_interval);
  }
}

// Draining workers are used again before new ones are requested. Returns how many.
int32_t PoolPlanner::Undrain(const Part& part, int32_t count) {
  int32_t back = 0;
  for (auto& [name, pilot] : state_.pilots) {
    if (back == count) {
      break;
    }
    if (part.Has(pilot) && pilot.row.phase == PilotPhase::kWorking && pilot.live &&
        pilot.draining()) {
      pilot.drain_since = absl::InfiniteFuture();
      pilot.surplus_since = absl::InfiniteFuture();
      state_.actions.drain.emplace_back(name, false);
      ++back;
    }
  }
  return back;
}

// Cancels the waiting pilots that are the furthest from working, once there have been too many for
// a while. So many more, up to `in_queue`, stay that may start after all.
void PoolPlanner::ShrinkWaiting(const Part& part, int32_t needed, int32_t in_queue) {
  std::vector<Pilot*> waiting;
  for (auto& [name, pilot] : state_.pilots) {
    if (part.Has(pilot) && IsWaiting(pilot.row.phase)) {
      waiting.push_back(&pilot);
    }
  }
  std::stable_sort(waiting.begin(), waiting.end(), [](const Pilot* a, const Pilot* b) {
    return std::tuple(a->impossible, b->row.phase, a->row.request_time) <
           std::tuple(b->impossible, a->row.phase, b->row.request_time);
  });
  const absl::Duration patience = std::min(state_.policy.waiting_surplus, part.spec.idle_timeout);
  for (size_t i = 0; i < waiting.size(); ++i) {
    Pilot& pilot = *waiting[i];
    if (i < static_cast<size_t>(std::max(pilot.impossible ? needed : in_queue, 0))) {
      pilot.surplus_since = absl::InfiniteFuture();
      continue;
    }
    pilot.surplus_since = std::min(pilot.surplus_since, now_);
    // One that runs already will come, and is drained when its time has come.
    if (pilot.row.phase == PilotPhase::kPending && now_ - pilot.surplus_since >= patience) {
      state_.StopPilot(pilot, "called off: no job waits for it any more", now_);
    }
  }
}

// Drains idle workers that are not needed: after a while, and at once where so many pilots of other
// images are `lacking` for want of room.
void PoolPlanner::ShrinkWorking(const Pool& pool, const std::set<std::string>& needed,
                                int32_t lacking) {
  int32_t working = 0;  // the pool's own pilots, of which it has a minimum
  for (const auto& [name, pilot] : state_.pilots) {
    working += pilot.row.pool == pool.spec.name && pilot.row.image.empty() &&
                       pilot.row.phase == PilotPhase::kWorking && pilot.live && !pilot.draining()
                   ? 1
                   : 0;
    lacking -= pilot.row.pool == pool.spec.name && pilot.draining() ? 1 : 0;  // makes room
  }
  for (auto& [name, pilot] : state_.pilots) {
    if (pilot.row.pool != pool.spec.name || pilot.row.phase != PilotPhase::kWorking ||
        !pilot.live || pilot.draining()) {
      continue;
    }
    if (needed.contains(name)) {
      pilot.surplus_since = absl::InfiniteFuture();
      continue;
    }
    pilot.surplus_since = std::min(pilot.surplus_since, now_);
    const bool is_own = pilot.row.image.empty();
    const bool is_free = pilot.worker_running == 0 && (!is_own || working > pool.spec.workers_min);
    if (is_free && (lacking > 0 || now_ - pilot.surplus_since >= pool.spec.idle_timeout)) {
      state_.DrainPilot(pilot, now_);
      working -= is_own ? 1 : 0;
      --lacking;
    }
  }
}

// Pilots of pools that are being removed, or are not there any more.
void PoolPlanner::EmptyRemovedPools() {
  std::set<std::string> occupied;
  for (auto& [name, pilot] : state_.pilots) {
    const Pool* pool = state_.FindPool(pilot.row.pool);
    if (pool != nullptr && !pool->row.removing) {
      continue;
    }
    if (pilot.row.phase != PilotPhase::kGone) {
      occupied.insert(pilot.row.pool);
    }
    const bool at_once = pool != nullptr && pool->drop_at_once;
    const bool answered = pilot.answered != absl::InfiniteFuture();
    if (pilot.row.phase == PilotPhase::kWorking && !at_once) {
      if (pilot.live && !pilot.draining()) {
        state_.DrainPilot(pilot, now_);
      }
    } else if (answered && pilot.row.phase != PilotPhase::kStopping &&
               pilot.row.phase != PilotPhase::kGone) {
      state_.StopPilot(pilot, "its pool was removed", now_);
    }
  }
  std::vector<std::string> empty;
  for (const auto& [name, pool] : state_.pools) {
    if (pool.row.removing && !occupied.contains(name)) {
      empty.push_back(name);
    }
  }
  for (const std::string& name : empty) {
    state_.DropPool(name);
  }
}

void PoolPlanner::AskProviders() {
  std::set<ProviderKind> kinds;
  for (const auto& [name, pool] : state_.pools) {
    kinds.insert(pool.spec.provider);
  }
  for (const auto& [name, pilot] : state_.pilots) {
    if (pilot.row.phase != PilotPhase::kGone) {
      kinds.insert(static_cast<ProviderKind>(pilot.row.provider));
    }
  }
  for (const ProviderKind kind : kinds) {
    ProviderState& provider = state_.providers[kind];
    if (!provider.observing && now_ >= provider.next_observe) {
      provider.observing = true;
      provider.observing_since = now_;
      state_.actions.observe.push_back(kind);
    }
  }
}

void PoolPlanner::ForgetGone() {
  std::map<std::string, std::vector<Pilot*>> gone;
  for (auto& [name, pilot] : state_.pilots) {
    if (pilot.row.phase == PilotPhase::kGone) {
      gone[pilot.row.pool].push_back(&pilot);
    }
  }
  for (auto& [pool, pilots] : gone) {
    std::stable_sort(pilots.begin(), pilots.end(),
                     [](const Pilot* a, const Pilot* b) { return a->gone_since > b->gone_since; });
    for (size_t i = 0; i < pilots.size(); ++i) {
      if (i >= state_.policy.gone_max || now_ - pilots[i]->gone_since >= state_.policy.gone_kept ||
          !state_.pools.contains(pool)) {
        const std::string name = pilots[i]->row.name;
        state_.dirty_pilots.erase(name);
        state_.deleted_pilots.push_back(name);
        state_.pilots.erase(name);
      }
    }
  }
}

}  // namespace concur
