// SPDX-License-Identifier: Apache-2.0
// The expected duration of a sweep, computed when it is submitted, so that it can be compared with
// the actual one. The same forecast as `concur sweep plan` makes: from the live workers, and the
// durations of earlier jobs of these approaches and benchmarks.
//
// Stateless.
#ifndef CONCUR_COORDINATOR_ENGINE_SUBMISSION_FORECAST_H_
#define CONCUR_COORDINATOR_ENGINE_SUBMISSION_FORECAST_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/time/time.h"
#include "base/thread_pool.h"
#include "coordinator/engine/engine.h"
#include "core/scheduler/forecast.h"
#include "core/scheduler/scheduler.h"

namespace concur {

// Larger sweeps have no forecast, which would take the coordinator seconds.
inline constexpr uint32_t kForecastJobsMax = 100'000;
// The same for jobs times workers.
inline constexpr uint64_t kForecastWorkMax = 10'000'000;

// The inputs of a forecast, as of the submission.
struct ForecastBasis {
  SweepId sweep;
  std::shared_ptr<const Expansion> expansion;  // shared with the scheduler
  std::vector<Resources> workers;
  std::vector<Labels> labels;   // [worker]
  std::vector<uint32_t> slots;  // [worker]
  std::map<std::string, ForecastOptions::Resource> resources;
  std::map<std::string, absl::Duration> loads;  // zero of a service that is ready
  std::map<std::tuple<std::string, std::string, bool>, absl::Duration> means;
};

// For the engine's thread, right after the submission. nullopt when no forecast is possible: no
// worker is live, some jobs' or loads' durations are unknown, part of the sweep is finished
// already, or it is too large.
std::optional<ForecastBasis> BasisOfForecast(const Scheduler& scheduler, SweepId sweep);

// nullopt when a job fits on no worker.
std::optional<absl::Duration> ForecastMakespan(const ForecastBasis& basis);

// Computes the forecast on the pool, and saves it. `engine` and `pool` outlive that.
void RecordForecast(Engine& engine, ThreadPool& pool, ForecastBasis basis);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_ENGINE_SUBMISSION_FORECAST_H_
