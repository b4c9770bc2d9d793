// SPDX-License-Identifier: Apache-2.0
// Use of workers by attempts and services, as counters by owner and approach: their run times,
// times what their commands asked for, as `concur usage` adds it up.
//
// Thread-compatible; Add belongs to the engine's thread.
#ifndef CONCUR_COORDINATOR_SERVICES_USAGE_COUNTERS_H_
#define CONCUR_COORDINATOR_SERVICES_USAGE_COUNTERS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "base/metrics/metric_set.h"
#include "coordinator/engine/sweep_board.h"
#include "core/ids.h"

namespace concur {

class UsageCounters {
 public:
  // Both outlive it. Beyond `series_max` pairs of owner and approach, all others share one, with
  // empty names.
  UsageCounters(MetricSet& metrics, const SweepBoard& board, size_t series_max = 1000);

  // An attempt of the job has ended after `run_time`. One of a sweep that the board does not have
  // is not counted.
  void Add(JobId job, absl::Duration run_time);
  // An instance of a service has run for so long so far; a span that was counted counts once.
  void AddService(AttemptId id, absl::Duration run_time, bool has_ended);

 private:
  struct Series {
    prometheus::Counter& run;
    prometheus::Counter& cpu;
    prometheus::Counter& gpu;
    prometheus::Counter& memory;
  };
  Series& SeriesOf(const std::string& owner, const std::string& approach);

  MetricSet& metrics_;
  const SweepBoard& board_;
  const size_t series_max_;
  absl::flat_hash_map<std::pair<std::string, std::string>, std::unique_ptr<Series>> series_;
  struct Service {
    absl::Duration counted;
    bool has_ended = false;
  };
  absl::btree_map<AttemptId, Service> services_;  // at most `series_max`; ended ones go first
  // Sweep, approach and series of the last job: jobs that end together are mostly of one approach,
  // and the board is asked, under its lock, for other sweeps alone.
  std::shared_ptr<const SweepFacts> sweep_;
  uint32_t approach_ = 0;
  Series* last_ = nullptr;
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_SERVICES_USAGE_COUNTERS_H_
