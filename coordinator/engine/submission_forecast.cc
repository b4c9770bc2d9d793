// SPDX-License-Identifier: Apache-2.0
#include "coordinator/engine/submission_forecast.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/log.h"

namespace concur {
namespace {

// Adds the mean of one kind of jobs. False when it is not known.
bool AddMean(const Durations& durations, const std::string& approach, const std::string& benchmark,
             bool is_train, ForecastBasis* basis) {
  const auto group = durations.FindGroup(approach, benchmark, is_train);
  const auto mean = group ? durations.Expected(*group) : std::nullopt;
  if (mean) {
    basis->means[{approach, benchmark, is_train}] = mean->mean;
  }
  return mean.has_value();
}

}  // namespace

std::optional<ForecastBasis> BasisOfForecast(const Scheduler& scheduler, SweepId sweep) {
  const std::optional<SweepView> view = scheduler.views().FindSweep(sweep);
  if (!view || view->reused > 0 || view->expansion->job_count() > kForecastJobsMax) {
    return std::nullopt;
  }
  ForecastBasis basis;
  basis.sweep = sweep;
  basis.expansion = scheduler.views().SharedExpansion(sweep);
  basis.loads = scheduler.views().Loads();
  for (const WorkerView& worker : scheduler.views().ListWorkers()) {
    if (!worker.lost && !worker.draining && worker.quarantine_reason.empty()) {
      basis.workers.push_back(worker.info.capacity);
      basis.labels.push_back(worker.info.labels);
      basis.slots.push_back(worker.info.slots);
    }
    for (const WorkerView::Service& service : worker.services) {
      if (service.state == "ready") {
        basis.loads[service.approach] = absl::ZeroDuration();
      }
    }
  }
  for (const ResourceView& resource : scheduler.views().ListResources()) {
    if (resource.amount) {
      basis.resources[resource.name] = {*resource.amount, resource.per_minute};
    }
  }
  if (basis.workers.empty() ||
      uint64_t{view->expansion->job_count()} * basis.workers.size() > kForecastWorkMax) {
    return std::nullopt;
  }
  const SweepSpec& spec = basis.expansion->spec();
  if (std::any_of(spec.approaches.begin(), spec.approaches.end(), [&](const ApproachSpec& one) {
        return one.service && !basis.loads.contains(one.name);
      })) {
    return std::nullopt;
  }
  for (const Block& block : basis.expansion->blocks()) {
    const std::string& approach = spec.approaches[block.approach].name;
    if (block.has_train && !AddMean(scheduler.views().durations(), approach,
                                    spec.train_sets[block.train_set].name, true, &basis)) {
      return std::nullopt;
    }
    for (const uint32_t test : block.tests) {
      if (!AddMean(scheduler.views().durations(), approach, spec.benchmarks[test].name, false,
                   &basis)) {
        return std::nullopt;
      }
    }
  }
  return basis;
}

std::optional<absl::Duration> ForecastMakespan(const ForecastBasis& basis) {
  ForecastOptions options;
  options.workers = basis.workers;
  options.labels = basis.labels;
  options.slots = basis.slots;
  options.resources = basis.resources;
  options.loads = basis.loads;
  const absl::StatusOr<Forecast> forecast = ForecastSweep(
      basis.expansion->spec(),
      [&](absl::string_view approach, absl::string_view benchmark, bool is_train) {
        const auto it = basis.means.find({std::string(approach), std::string(benchmark), is_train});
        return it == basis.means.end() ? ExpectedDuration() : ExpectedDuration{it->second, 0, true};
      },
      options);
  return forecast.ok() ? std::optional<absl::Duration>(forecast->makespan) : std::nullopt;
}

void RecordForecast(Engine& engine, ThreadPool& pool, ForecastBasis basis) {
  // Into a copyable closure.
  auto shared = std::make_shared<const ForecastBasis>(std::move(basis));
  pool.Submit([&engine, shared] {
    const std::optional<absl::Duration> makespan = ForecastMakespan(*shared);
    if (!makespan) {
      return;
    }
    engine.Call<bool>(
        [sweep = shared->sweep, makespan = *makespan](Scheduler& scheduler) {
          // A sweep that was deleted meanwhile needs none.
          return scheduler.RecordForecast(sweep, makespan).ok();
        },
        [](const absl::StatusOr<bool>& recorded) {
          if (!recorded.ok()) {
            LogWarning("a forecast was not saved",
                       {{"error", std::string(recorded.status().message())}});
          }
        });
  });
}

}  // namespace concur
