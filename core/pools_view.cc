// SPDX-License-Identifier: Apache-2.0
// Pools: what people see of them.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "core/pools.h"

namespace concur {
namespace {

std::string Count(int64_t count, absl::string_view one, absl::string_view many) {
  return absl::StrCat(count, " ", count == 1 ? one : many);
}

std::string ClassText(const DemandClass& demand) {
  return absl::StrCat(Count(static_cast<int64_t>(demand.ready), "job", "jobs"), " of ",
                      RequestText(demand.resources, demand.labels));
}

std::string Rounded(absl::Duration duration) {
  return absl::FormatDuration(duration < absl::Seconds(10)
                                  ? absl::Floor(duration, absl::Milliseconds(1))
                                  : absl::Floor(duration, absl::Seconds(1)));
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
  for (const auto& [name, pilot] : pilots_) {
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
  for (const auto& [name, pool] : pools_) {
    views.push_back(ViewOf(pool));
  }
  return views;
}

std::optional<PoolView> Pools::Find(const std::string& name) const {
  const Pool* pool = FindPool(name);
  return pool == nullptr ? std::nullopt : std::optional(ViewOf(*pool));
}

std::vector<PoolLimit> Pools::Limits() const {
  std::vector<PoolLimit> limits;
  for (const auto& [name, pool] : pools_) {
    if (!pool.row.removing) {
      limits.push_back({name, PlannedCapacity(pool.spec), WorkerLabels(pool.spec)});
    }
  }
  return limits;
}

absl::StatusOr<std::vector<std::string>> Pools::Explain(const std::string& name) const {
  const Pool* pool = FindPool(name);
  if (pool == nullptr) {
    return absl::NotFoundError(absl::StrCat("no pool \"", name, "\""));
  }
  const PoolView view = ViewOf(*pool);
  std::vector<std::string> lines;
  const int32_t all = view.pending + view.starting + view.working + view.draining;
  lines.push_back(absl::StrCat(Count(all, "worker", "workers"), " of ", pool->spec.workers_min,
                               " to ", pool->spec.workers_max, ": ", view.working, " working, ",
                               view.starting, " starting, ", view.pending, " in the queue, ",
                               view.draining, " draining"));
  if (pool->row.removing) {
    lines.push_back("is being removed: goes when its last worker has left");
  } else if (view.paused) {
    lines.push_back(absl::StrCat("paused: ", view.pause_reason, "; `concur pool resume ", name,
                                 "` lets it start workers again"));
  } else if (now_ < view.not_before) {
    lines.push_back(absl::StrCat("starts nothing before ", FormatIsoTime(view.not_before), ": ",
                                 Count(view.failures, "start", "starts"),
                                 " in a row failed; paused after ", policy_.failures_max));
  } else if (view.wanted > pool->spec.workers_max) {
    lines.push_back(absl::StrCat("at its maximum: jobs would have ", view.wanted, " workers"));
  } else if (view.wanted > all) {
    lines.push_back(absl::StrCat("jobs would have ", view.wanted, " workers"));
  } else if (all == 0) {
    lines.push_back("no job waits for a worker of this pool");
  }
  for (const auto& [image, starts] : pool->of_images) {
    if (now_ < starts.not_before) {
      lines.push_back(absl::StrCat("starts nothing of image ", image, " before ",
                                   FormatIsoTime(starts.not_before), ": ", starts.last_failure));
    }
  }
  if (now_ < pool->own.doubted_until) {
    lines.push_back(
        "jobs go to other pools first, where these take them: workers do not come here");
  }
  if (!view.last_failure.empty()) {
    lines.push_back(absl::StrCat("last failure, at ", FormatIsoTime(view.last_failure_time), ": ",
                                 view.last_failure));
  }
  const auto provider = providers_.find(pool->spec.provider);
  if (provider != providers_.end() && provider->second.failing_since != absl::InfiniteFuture()) {
    lines.push_back(absl::StrCat("its provider has not answered since ",
                                 FormatIsoTime(provider->second.failing_since), ": ",
                                 provider->second.status.message(),
                                 "; workers go on, and none are started or stopped until it does"));
  }
  // Why pilots wait, most common reason first.
  std::map<std::string, int64_t> reasons;
  for (const PilotRow* pilot : view.pilots) {
    if (pilot->phase == PilotPhase::kPending || pilot->phase == PilotPhase::kStarting) {
      ++reasons[pilot->message.empty() ? "just asked for" : pilot->message];
    }
  }
  for (const auto& [reason, count] : reasons) {
    lines.push_back(absl::StrCat(Count(count, "worker waits", "workers wait"), ": ", reason));
  }
  std::vector<std::string> lost;
  for (const auto& [pilot_name, pilot] : pilots_) {
    if (pilot.row.pool == name && pilot.row.phase == PilotPhase::kWorking && !pilot.live) {
      lost.push_back(pilot_name);
    }
  }
  if (!lost.empty()) {
    const bool one = lost.size() == 1;
    lines.push_back(absl::StrCat(absl::StrJoin(lost, ", "),
                                 one ? " does not call, and the provider still has it: stopped "
                                     : " do not call, and the provider still has them: stopped ",
                                 absl::FormatDuration(policy_.lost_timeout),
                                 " after the last lease, unless ", one ? "it calls" : "they call",
                                 " again"));
  }
  for (const DemandClass& demand : impossible_) {
    lines.push_back(absl::StrCat("no worker of any pool can take ", ClassText(demand)));
  }
  for (const DemandClass& demand : too_long_) {
    lines.push_back(absl::StrCat("no time limit is long enough for ", ClassText(demand),
                                 ", which take about ", Rounded(demand.run_time),
                                 ": raise time_limit"));
  }
  return lines;
}

std::string Pools::ExplainDemand(const Resources& resources, const Labels& labels) const {
  if (pools_.empty()) {
    return "";
  }
  std::vector<std::string> parts;
  std::vector<std::string> reserved;
  bool large_enough = false;
  for (const auto& [name, pool] : pools_) {
    if (!resources.FitsIn(PlannedCapacity(pool.spec))) {
      continue;
    }
    if (resources.GpuCount() < pool.spec.gpus_min) {
      reserved.push_back(name);
      continue;
    }
    large_enough = true;
    if (!LabelsMatch(labels, WorkerLabels(pool.spec))) {
      continue;
    }
    const PoolView view = ViewOf(pool);
    const auto image = labels.find(kImageLabel);
    const bool has_image = pool.spec.kubernetes.job_images && image != labels.end();
    const auto of_image = has_image ? pool.of_images.find(image->second) : pool.of_images.end();
    const Starts none;
    const Starts& starts = !has_image                         ? pool.own
                           : of_image != pool.of_images.end() ? of_image->second
                                                              : none;
    std::string state;
    if (view.paused) {
      state = absl::StrCat("is paused: ", view.pause_reason);
    } else if (now_ < starts.not_before) {
      state = absl::StrCat("tries again at ", FormatIsoTime(starts.not_before), ": ",
                           starts.last_failure);
    } else if (view.pending + view.starting > 0) {
      state = absl::StrCat("has ", Count(view.pending + view.starting, "worker", "workers"),
                           " on the way");
    } else {
      state = absl::StrCat("has ", view.working, " of ", pool.spec.workers_max, " workers");
    }
    parts.push_back(absl::StrCat("pool ", name, " ", state));
  }
  if (parts.empty() && !large_enough && !reserved.empty()) {
    return absl::StrCat(
        "no pool has workers for it; pool ", absl::StrJoin(reserved, ", pool "),
        " takes only jobs that ask for GPUs (accept: {gpus_min: 0} lets others in)");
  }
  if (parts.empty()) {
    return large_enough ? absl::StrCat("no pool that is large enough has workers labeled ",
                                       LabelsText(labels))
                        : "no pool has workers for it";
  }
  return absl::StrJoin(parts, "; ");
}

}  // namespace concur
