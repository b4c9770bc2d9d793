// SPDX-License-Identifier: Apache-2.0
// Pools: which pilots to request, which to drain or cancel.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "core/environment.h"
#include "core/pools.h"

namespace concur {
namespace {

bool IsWaiting(PilotPhase phase) {
  return phase == PilotPhase::kRequested || phase == PilotPhase::kPending ||
         phase == PilotPhase::kStarting;
}

}  // namespace

absl::Time Pools::NextDeadline() const { return empty() ? absl::InfiniteFuture() : next_plan_; }

void Pools::Advance(absl::Time now, const PoolWorld& world) {
  now_ = std::max(now_, now);
  if (now_ < next_plan_) {
    return;
  }
  next_plan_ = now_ + policy_.plan_interval;
  FollowWorkers(now_, world);
  CheckTimeouts(now_);
  EmptyRemovedPools(now_);
  Plan(now_, world);
  AskProviders(now_);
  ForgetGone(now_);
}

void Pools::FollowWorkers(absl::Time now, const PoolWorld& world) {
  std::map<std::string, const PoolWorld::Worker*> workers;
  for (const PoolWorld::Worker& worker : world.workers) {
    workers[worker.place.name] = &worker;
  }
  for (auto& [name, pilot] : pilots_) {
    const auto it = workers.find(name);
    const bool was_live = pilot.live;
    // A worker of before a restart whose pilot ended since is no worker until it calls.
    pilot.live = it != workers.end() && it->second->live && it->second->called;
    pilot.restored = pilot.restored && it != workers.end() && it->second->live && !pilot.live;
    if (!pilot.live) {
      pilot.worker_running = 0;
      if (was_live) {
        pilot.lost_since = now;
        // Its provider knows why.
        Provider& provider = providers_[static_cast<ProviderKind>(pilot.row.provider)];
        provider.next_observe = std::min(provider.next_observe, now);
      }
      continue;
    }
    pilot.worker_running = it->second->place.running;
    pilot.lost_since = absl::InfiniteFuture();
    if (pilot.row.phase != PilotPhase::kWorking && pilot.row.phase != PilotPhase::kStopping) {
      // Also one that was given up: it works after all.
      pilot.gone_since = absl::InfiniteFuture();
      pilot.row.joined = true;
      SetPhase(pilot, PilotPhase::kWorking, "", now);
      if (Pool* pool = FindPool(pilot.row.pool)) {
        pool->Of(pilot.row.image).doubted_until = absl::InfinitePast();
      }
    }
    Pool* pool = FindPool(pilot.row.pool);
    if (pool != nullptr && now - pilot.row.phase_time >= policy_.healthy_after) {
      pool->Of(pilot.row.image).failures = 0;
    }
  }
}

void Pools::CheckTimeouts(absl::Time now) {
  for (auto& [name, pilot] : pilots_) {
    const Pool* pool = FindPool(pilot.row.pool);
    switch (pilot.row.phase) {
      case PilotPhase::kRequested:
        if (now - pilot.row.request_time >= policy_.start_answer_timeout) {
          pilot.answered = std::min(pilot.answered, now);
        }
        break;
      case PilotPhase::kStarting:
        if (pool != nullptr && now - pilot.running_since >= pool->spec.start_timeout) {
          const std::string message = absl::StrCat(
              "its provider says that it runs, but its worker has not called within ",
              absl::FormatDuration(pool->spec.start_timeout),
              "; can its machine reach the coordinator, and is the worker's program there?");
          CountFailure(pilot, message, now);
          StopPilot(pilot, message, now);
        }
        break;
      case PilotPhase::kWorking:
        if (!pilot.live && now - pilot.lost_since >= policy_.lost_timeout) {
          StopPilot(pilot, "its worker was lost, and its provider still has it", now);
        } else if (pilot.draining() && pilot.worker_running == 0 &&
                   now - pilot.drain_since >= policy_.leave_timeout) {
          StopPilot(pilot, "its worker was told to leave and did not", now);
        }
        break;
      case PilotPhase::kStopping:
        if (now >= pilot.next_stop) {
          pilot.next_stop = now + policy_.stop_repeat;
          OrderStop(pilot);
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
std::vector<WorkerPlace> Pools::PlacesOf(const PoolWorld& world) const {
  std::vector<WorkerPlace> places;
  for (const PoolWorld::Worker& worker : world.workers) {
    if (worker.live && !worker.draining &&
        (worker.called || !pilots_.contains(worker.place.name))) {
      places.push_back(worker.place);
    }
  }
  return places;
}

// A pool's own pilots, or those of one image.
struct Pools::Part {
  Pool* pool = nullptr;
  std::string image;  // "": its own
  PoolSpec spec;      // what each of them is

  bool Has(const Pilot& pilot) const {
    return pilot.row.pool == pool->spec.name && pilot.row.image == image;
  }
};

// The pool's own part first.
std::vector<Pools::Part> Pools::PartsOf(Pool& pool, const PoolWorld& world, absl::Time now) const {
  std::set<std::string> images;
  for (const auto& [name, pilot] : pilots_) {
    if (pilot.row.pool == pool.spec.name && pilot.row.phase != PilotPhase::kGone) {
      images.insert(pilot.row.image);
    }
  }
  for (const DemandClass& demand : world.demand) {
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
           now - entry.second.last_failure_time >= policy_.gone_kept;
  });
  return parts;
}

PoolPlace Pools::PlaceOf(Part& part, absl::Time now) const {
  Starts& starts = part.pool->Of(part.image);
  PoolPlace place{&part.spec, IsOpen(*part.pool, starts, now)};
  for (const auto& [name, pilot] : pilots_) {
    if (part.Has(pilot) && pilot.row.phase != PilotPhase::kGone) {
      ++place.pilots;
      place.waiting += IsWaiting(pilot.row.phase) || pilot.restored ? 1 : 0;
      place.doubtful += IsDoubtful(pilot, now) ? 1 : 0;
    }
  }
  if (place.doubtful > 0) {
    starts.doubted_until = now + policy_.doubt_kept;
  }
  place.doubted = now < starts.doubted_until;
  return place;
}

void Pools::Plan(absl::Time now, const PoolWorld& world) {
  const std::vector<WorkerPlace> workers = PlacesOf(world);
  std::vector<Part> parts;
  for (auto& [name, pool] : pools_) {
    if (!pool.row.removing) {
      pool.wanted = 0;
      for (Part& part : PartsOf(pool, world, now)) {
        parts.push_back(std::move(part));
      }
    }
  }
  std::vector<PoolPlace> places;
  places.reserve(parts.size());
  for (Part& part : parts) {
    places.push_back(PlaceOf(part, now));
  }
  const ScalePlan plan = PlanPools(world.demand, workers, places, policy_.scale);
  std::set<std::string> needed;
  for (size_t i = 0; i < workers.size(); ++i) {
    if (plan.workers_needed[i]) {
      needed.insert(workers[i].name);
    }
  }
  std::map<std::string, int32_t> lacking;  // of each pool, pilots that are not started now
  std::map<std::string, int32_t> rooms;    // of each pool, for further pilots
  for (size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    part.pool->wanted += places[i].pilots + plan.pools[i].wanted;
    const int32_t start = plan.pools[i].start;
    const int32_t back = Undrain(part, start);
    StartPilots(part, start - back, now);
    const int32_t waiting = plan.pools[i].waiting_needed + start - back;
    int32_t in_queue = waiting;
    if (places[i].doubtful > 0) {
      // They keep their places in the queue until workers have taken what they were for.
      PoolPlace alone = places[i];
      alone.open = false;
      alone.doubtful = 0;
      in_queue = std::max(
          in_queue,
          PlanPools(world.demand, workers, {alone}, policy_.scale).pools[0].waiting_needed);
    }
    ShrinkWaiting(part, waiting, in_queue, now);
    const bool has_images = part.pool->spec.kubernetes.job_images;
    lacking[part.spec.name] += has_images && places[i].open ? plan.pools[i].wanted - start : 0;
    rooms.try_emplace(part.spec.name, part.spec.workers_max).first->second -=
        places[i].pilots + start - back;
  }
  for (const auto& [name, count] : lacking) {
    // What is merely not started at once finds room next time.
    ShrinkWorking(pools_.at(name), needed, count - std::max(rooms.at(name), 0), now);
  }
  impossible_.clear();
  too_long_.clear();
  for (const size_t index : plan.impossible) {
    impossible_.push_back(world.demand[index]);
  }
  for (const size_t index : plan.too_long) {
    too_long_.push_back(world.demand[index]);
  }
}

void Pools::StartPilots(const Part& part, int32_t count, absl::Time now) {
  const PoolSpec& spec = part.spec;
  const int32_t at_once = spec.provider == ProviderKind::kSlurm     ? spec.slurm.array_max
                          : spec.provider == ProviderKind::kCommand ? kCommandStartsMax
                                                                    : count;
  while (count > 0) {
    PoolActions::Start start{spec, {}};
    for (int32_t i = 0; i < at_once && count > 0; ++i, --count) {
      const std::string name = absl::StrCat(spec.name, "-", next_pilot_++);
      Pilot& pilot = pilots_[name];
      pilot.row.name = name;
      pilot.row.pool = spec.name;
      pilot.row.image = part.image;
      pilot.row.provider = static_cast<uint8_t>(spec.provider);
      pilot.row.request_time = now;
      pilot.row.phase_time = now;
      Touch(name);
      start.pilots.push_back(name);
    }
    dirty_next_ = true;
    actions_.start.push_back(std::move(start));
    // Asked again soon: what was idle is not.
    Provider& provider = providers_[spec.provider];
    provider.next_observe = std::min(provider.next_observe, now + policy_.observe_interval);
  }
}

// Draining workers are used again before new ones are requested. Returns how many.
int32_t Pools::Undrain(const Part& part, int32_t count) {
  int32_t back = 0;
  for (auto& [name, pilot] : pilots_) {
    if (back == count) {
      break;
    }
    if (part.Has(pilot) && pilot.row.phase == PilotPhase::kWorking && pilot.live &&
        pilot.draining()) {
      pilot.drain_since = absl::InfiniteFuture();
      pilot.surplus_since = absl::InfiniteFuture();
      actions_.drain.emplace_back(name, false);
      ++back;
    }
  }
  return back;
}

// Cancels the waiting pilots that are the furthest from working, once there have been too many for
// a while. So many more, up to `in_queue`, stay that may start after all.
void Pools::ShrinkWaiting(const Part& part, int32_t needed, int32_t in_queue, absl::Time now) {
  std::vector<Pilot*> waiting;
  for (auto& [name, pilot] : pilots_) {
    if (part.Has(pilot) && IsWaiting(pilot.row.phase)) {
      waiting.push_back(&pilot);
    }
  }
  std::stable_sort(waiting.begin(), waiting.end(), [](const Pilot* a, const Pilot* b) {
    return std::tuple(a->impossible, b->row.phase, a->row.request_time) <
           std::tuple(b->impossible, a->row.phase, b->row.request_time);
  });
  const absl::Duration patience = std::min(policy_.waiting_surplus, part.spec.idle_timeout);
  for (size_t i = 0; i < waiting.size(); ++i) {
    Pilot& pilot = *waiting[i];
    if (i < static_cast<size_t>(std::max(pilot.impossible ? needed : in_queue, 0))) {
      pilot.surplus_since = absl::InfiniteFuture();
      continue;
    }
    pilot.surplus_since = std::min(pilot.surplus_since, now);
    // One that runs already will come, and is drained when its time has come.
    if (pilot.row.phase == PilotPhase::kPending && now - pilot.surplus_since >= patience) {
      StopPilot(pilot, "called off: no job waits for it any more", now);
    }
  }
}

// Drains idle workers that are not needed: after a while, and at once where so many pilots of other
// images are `lacking` for want of room.
void Pools::ShrinkWorking(const Pool& pool, const std::set<std::string>& needed, int32_t lacking,
                          absl::Time now) {
  int32_t working = 0;  // of the pool's own, of which it has a minimum
  for (const auto& [name, pilot] : pilots_) {
    working += pilot.row.pool == pool.spec.name && pilot.row.image.empty() &&
                       pilot.row.phase == PilotPhase::kWorking && pilot.live && !pilot.draining()
                   ? 1
                   : 0;
    lacking -= pilot.row.pool == pool.spec.name && pilot.draining() ? 1 : 0;  // makes room
  }
  for (auto& [name, pilot] : pilots_) {
    if (pilot.row.pool != pool.spec.name || pilot.row.phase != PilotPhase::kWorking ||
        !pilot.live || pilot.draining()) {
      continue;
    }
    if (needed.contains(name)) {
      pilot.surplus_since = absl::InfiniteFuture();
      continue;
    }
    pilot.surplus_since = std::min(pilot.surplus_since, now);
    const bool is_own = pilot.row.image.empty();
    const bool is_free = pilot.worker_running == 0 && (!is_own || working > pool.spec.workers_min);
    if (is_free && (lacking > 0 || now - pilot.surplus_since >= pool.spec.idle_timeout)) {
      DrainPilot(pilot, now);
      working -= is_own ? 1 : 0;
      --lacking;
    }
  }
}

// Pilots of pools that are being removed, or are not there any more.
void Pools::EmptyRemovedPools(absl::Time now) {
  std::set<std::string> occupied;
  for (auto& [name, pilot] : pilots_) {
    const Pool* pool = FindPool(pilot.row.pool);
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
        DrainPilot(pilot, now);
      }
    } else if (answered && pilot.row.phase != PilotPhase::kStopping &&
               pilot.row.phase != PilotPhase::kGone) {
      StopPilot(pilot, "its pool was removed", now);
    }
  }
  std::vector<std::string> empty;
  for (const auto& [name, pool] : pools_) {
    if (pool.row.removing && !occupied.contains(name)) {
      empty.push_back(name);
    }
  }
  for (const std::string& name : empty) {
    DropPool(name);
  }
}

void Pools::DrainPilot(Pilot& pilot, absl::Time now) {
  pilot.drain_since = now;
  actions_.drain.emplace_back(pilot.row.name, true);
}

void Pools::StopPilot(Pilot& pilot, absl::string_view why, absl::Time now) {
  SetPhase(pilot, PilotPhase::kStopping, why, now);
  pilot.next_stop = now + policy_.stop_repeat;
  OrderStop(pilot);
}

void Pools::OrderStop(const Pilot& pilot) {
  const auto kind = static_cast<ProviderKind>(pilot.row.provider);
  for (PoolActions::Stop& stop : actions_.stop) {
    if (stop.provider == kind) {
      stop.pilots.push_back(pilot.row.name);
      return;
    }
  }
  actions_.stop.push_back({kind, {pilot.row.name}});
}

void Pools::AskProviders(absl::Time now) {
  std::set<ProviderKind> kinds;
  for (const auto& [name, pool] : pools_) {
    kinds.insert(pool.spec.provider);
  }
  for (const auto& [name, pilot] : pilots_) {
    if (pilot.row.phase != PilotPhase::kGone) {
      kinds.insert(static_cast<ProviderKind>(pilot.row.provider));
    }
  }
  for (const ProviderKind kind : kinds) {
    Provider& provider = providers_[kind];
    if (!provider.observing && now >= provider.next_observe) {
      provider.observing = true;
      provider.observing_since = now;
      actions_.observe.push_back(kind);
    }
  }
}

void Pools::ForgetGone(absl::Time now) {
  std::map<std::string, std::vector<Pilot*>> gone;
  for (auto& [name, pilot] : pilots_) {
    if (pilot.row.phase == PilotPhase::kGone) {
      gone[pilot.row.pool].push_back(&pilot);
    }
  }
  for (auto& [pool, pilots] : gone) {
    std::stable_sort(pilots.begin(), pilots.end(),
                     [](const Pilot* a, const Pilot* b) { return a->gone_since > b->gone_since; });
    for (size_t i = 0; i < pilots.size(); ++i) {
      if (i >= policy_.gone_max || now - pilots[i]->gone_since >= policy_.gone_kept ||
          !pools_.contains(pool)) {
        const std::string name = pilots[i]->row.name;
        dirty_pilots_.erase(name);
        deleted_pilots_.push_back(name);
        pilots_.erase(name);
      }
    }
  }
}

}  // namespace concur
