// SPDX-License-Identifier: Apache-2.0
// The coordinator's metrics: counts of what every turn of the engine did, and the state of jobs,
// sweeps and workers at the time of a scrape.
//
// A scrape never delays the engine: totals are one request in the engine's inbox, at most one a
// second for all scrapes. When the engine does not answer in time, the last totals are shown with
// their age.
#ifndef CONCUR_COORDINATOR_SERVICES_COORDINATOR_METRICS_H_
#define CONCUR_COORDINATOR_SERVICES_COORDINATOR_METRICS_H_

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/metrics/metric_set.h"
#include "base/mutex.h"
#include "coordinator/engine/engine.h"
#include "coordinator/services/usage_counters.h"

namespace concur {

// The engine's totals, no older than asked for. Thread-safe.
class TotalsCache {
 public:
  // `engine` and `clock` outlive it.
  TotalsCache(Engine& engine, Clock& clock);

  struct Answer {
    std::optional<Totals> totals;  // none before the engine's first answer
    absl::Duration age;
    absl::Status status;  // why they are older than `age_max`
  };
  // Waits for the engine at most `timeout`.
  Answer Get(absl::Duration age_max, absl::Duration timeout);

 private:
  struct Shared;
  void Ask();

  Engine& engine_;
  Clock& clock_;
  // Shared with the request in progress: the engine may answer after the wait has timed out.
  const std::shared_ptr<Shared> shared_;
};

// OnTurn belongs to the engine's thread, the rest is thread-safe.
class CoordinatorMetrics : public EngineObserver {
 public:
  // All outlive it. `data_directory` is where free space is measured.
  CoordinatorMetrics(MetricSet& metrics, Engine& engine, Clock& clock, std::string data_directory);

  void OnTurn(const Turn& turn, const Effects& effects) override;

  // The page /metrics.
  std::string Text();
  // Unavailable unless the engine, and with it the disk, answered within the last seconds.
  absl::Status Ready();

 private:
  void ShowTotals(const Totals& totals) ABSL_EXCLUSIVE_LOCKS_REQUIRED(show_);
  void ShowDisk();
  // Only where `concur-coordinator ship` has been; NaN once its status is removed.
  void ShowShipping();

  MetricSet& metrics_;
  Clock& clock_;
  TotalsCache totals_;
  const std::string data_directory_;
  Mutex show_;                       // one scrape at a time copies the totals
  std::atomic<bool> ships_ = false;  // the gauges of shipping are there

  UsageCounters usage_;
  prometheus::Counter& turns_;
  prometheus::Counter& requests_;
  prometheus::Histogram& turn_seconds_;
  prometheus::Histogram& commit_seconds_;
  prometheus::Counter& started_;
  prometheus::Counter& reused_;
  std::array<prometheus::Counter*, kFailureClasses> ended_{};  // by class; none: succeeded
  prometheus::Histogram& run_seconds_;
  prometheus::Gauge& age_;
  prometheus::Gauge& free_bytes_;
  prometheus::Gauge& job_memory_;
  prometheus::Gauge& job_memory_max_;
  prometheus::Counter& refused_;
  std::array<prometheus::Gauge*, kJobStates> jobs_{};
  std::array<prometheus::Gauge*, kSweepStates> sweeps_{};
  std::array<prometheus::Gauge*, 3> workers_{};   // live, draining, lost
  std::array<prometheus::Gauge*, 3> capacity_{};  // CPUs, memory, GPUs
  std::array<prometheus::Gauge*, 3> used_{};
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_SERVICES_COORDINATOR_METRICS_H_
