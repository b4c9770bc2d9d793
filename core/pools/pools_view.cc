// SPDX-License-Identifier: Apache-2.0
// Pools: what people see of them.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/pools/pools.h"

namespace concur {
namespace {

PoolSize SizeOf(const PoolView& view) {
  return {.pending = view.pending,
          .starting = view.starting,
          .working = view.working,
          .draining = view.draining,
          .min = view.spec->workers_min,
          .max = view.spec->workers_max};
}

}  // namespace

PoolView Pools::ViewOf(const Pool& pool) const {
  PoolView view;
  view.spec = &pool.spec;
  view.from_options = pool.from_options;
  view.paused = pool.row.paused;
  view.pause_reason = pool.row.pause_reason;
  view.wanted = pool.wanted;
  view.failures = pool.own.failures;
  view.last_failure = pool.own.last_failure;
  view.last_failure_time = pool.own.last_failure_time;
  view.not_before = pool.own.not_before;
  for (const auto& [name, pilot] : state_.pilots) {
    if (pilot.row.pool != pool.spec.name) {
      continue;
    }
    view.pilots.push_back(&pilot.row);
    switch (pilot.row.phase) {
      case PilotPhase::kRequested:
      case PilotPhase::kPending:
        ++view.pending;
        break;
      case PilotPhase::kStarting:
        ++view.starting;
        break;
      case PilotPhase::kWorking:
        ++(pilot.draining() ? view.draining : view.working);
        break;
      case PilotPhase::kStopping:
        ++view.draining;
        break;
      case PilotPhase::kGone:
        break;
    }
  }
  return view;
}

std::vector<PoolView> Pools::List() const {
  std::vector<PoolView> views;
  for (const auto& [name, pool] : state_.pools) {
    views.push_back(ViewOf(pool));
  }
  return views;
}

std::optional<PoolView> Pools::Find(const std::string& name) const {
  const Pool* pool = state_.FindPool(name);
  return pool == nullptr ? std::nullopt : std::optional(ViewOf(*pool));
}

std::vector<PoolLimit> Pools::Limits() const {
  std::vector<PoolLimit> limits;
  for (const auto& [name, pool] : state_.pools) {
    if (!pool.row.removing) {
      limits.push_back({name, PlannedCapacity(pool.spec), WorkerLabels(pool.spec)});
    }
  }
  return limits;
}

absl::StatusOr<std::vector<PoolReason>> Pools::ReasonsOf(const std::string& name) const {
  using PoolCode = PoolReason::Code;
  const Pool* pool = state_.FindPool(name);
  if (pool == nullptr) {
    return absl::NotFoundError(absl::StrCat("no pool \"", name, "\""));
  }
  const PoolView view = ViewOf(*pool);
  std::vector<PoolReason> reasons;
  const auto add = [&](PoolCode code) -> PoolReason& {
    return reasons.emplace_back(PoolReason{.code = code, .pool = name});
  };
  const PoolSize size = SizeOf(view);
  add(PoolCode::kSize).size = size;
  if (pool->row.removing) {
    add(PoolCode::kRemoving);
  } else if (view.paused) {
    add(PoolCode::kPaused).message = view.pause_reason;
  } else if (state_.time < view.not_before) {
    PoolReason& reason = add(PoolCode::kNotBefore);
    reason.time = view.not_before;
    reason.count = view.failures;
    reason.max = state_.policy.failures_max;
  } else if (view.wanted > size.max || view.wanted > size.all()) {
    add(view.wanted > size.max ? PoolCode::kAtMaximum : PoolCode::kWanted).count = view.wanted;
  } else if (size.all() == 0) {
    add(PoolCode::kIdle);
  }
  for (const auto& [image, starts] : pool->of_images) {
    if (state_.time < starts.not_before) {
      PoolReason& reason = add(PoolCode::kImageNotBefore);
      reason.image = image;
      reason.time = starts.not_before;
      reason.message = starts.last_failure;
    }
  }
  if (state_.time < pool->own.doubted_until) {
    add(PoolCode::kDoubted);
  }
  if (!view.last_failure.empty()) {
    PoolReason& reason = add(PoolCode::kLastFailure);
    reason.time = view.last_failure_time;
    reason.message = view.last_failure;
  }
  const auto provider = state_.providers.find(pool->spec.provider);
  if (provider != state_.providers.end() &&
      provider->second.failing_since != absl::InfiniteFuture()) {
    PoolReason& reason = add(PoolCode::kProviderSilent);
    reason.time = provider->second.failing_since;
    reason.message = std::string(provider->second.status.message());
  }
  std::map<std::string, int64_t> waiting;  // by why they wait
  std::vector<std::string> lost;
  for (const PilotRow* pilot : view.pilots) {
    if (pilot->phase == PilotPhase::kPending || pilot->phase == PilotPhase::kStarting) {
      ++waiting[pilot->message.empty() ? "just asked for" : pilot->message];
    } else if (pilot->phase == PilotPhase::kWorking && !state_.pilots.at(pilot->name).live) {
      lost.push_back(pilot->name);
    }
  }
  for (const auto& [message, count] : waiting) {
    PoolReason& reason = add(PoolCode::kPilotsWait);
    reason.count = count;
    reason.message = message;
  }
  if (!lost.empty()) {
    PoolReason& reason = add(PoolCode::kPilotsLost);
    reason.pilots = std::move(lost);
    reason.span = state_.policy.lost_timeout;
  }
  for (const DemandClass& demand : state_.impossible) {
    add(PoolCode::kImpossible).demand = demand;
  }
  for (const DemandClass& demand : state_.too_long) {
    add(PoolCode::kTooLong).demand = demand;
  }
  return reasons;
}

DemandReason Pools::ReasonFor(const Resources& resources, const Labels& labels) const {
  using PoolCode = DemandReason::Pool::Code;
  DemandReason reason;
  reason.has_pools = !state_.pools.empty();
  reason.labels = labels;
  for (const auto& [name, pool] : state_.pools) {
    if (!resources.FitsIn(PlannedCapacity(pool.spec))) {
      continue;
    }
    if (resources.GpuCount() < pool.spec.gpus_min) {
      reason.reserved.push_back(name);
      continue;
    }
    reason.large_enough = true;
    if (!LabelsMatch(labels, WorkerLabels(pool.spec))) {
      continue;
    }
    const PoolView view = ViewOf(pool);
    const auto image = labels.find(kImageLabel);
    const bool has_image = pool.spec.kubernetes.job_images && image != labels.end();
    const auto of_image = has_image ? pool.of_images.find(image->second) : pool.of_images.end();
    const PilotStarts none;
    const PilotStarts& starts = !has_image                         ? pool.own
                                : of_image != pool.of_images.end() ? of_image->second
                                                                   : none;
    DemandReason::Pool& state = reason.pools.emplace_back();
    state.name = name;
    state.size = SizeOf(view);
    if (view.paused) {
      state.code = PoolCode::kPaused;
      state.message = view.pause_reason;
    } else if (state_.time < starts.not_before) {
      state.code = PoolCode::kNotBefore;
      state.time = starts.not_before;
      state.message = starts.last_failure;
    } else {
      state.code = view.pending + view.starting > 0 ? PoolCode::kStarting : PoolCode::kWorking;
    }
  }
  return reason;
}

}  // namespace concur
