// SPDX-License-Identifier: Apache-2.0
// Forecasts how long a sweep takes: runs the real Scheduler on a virtual clock, with workers that
// run nothing and jobs that last as long as they are expected to.
//
// Pure; thread-compatible. Same arguments, same forecast.
#ifndef CONCUR_CORE_SCHEDULER_FORECAST_H_
#define CONCUR_CORE_SCHEDULER_FORECAST_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/labels.h"
#include "core/policy.h"
#include "core/resources.h"
#include "core/sweep/sweep.h"

namespace concur {

// Time that jobs of one kind take.
struct ExpectedDuration {
  absl::Duration mean;
  // Standard deviation as a fraction of the mean. Durations are drawn from a log-normal
  // distribution with these two; 0: all alike.
  double spread = 0;
  bool is_known = false;
};

struct ForecastOptions {
  std::vector<Resources> workers;  // not empty
  // Labels of each of them; empty: every worker is taken to carry whatever a job asks for.
  std::vector<Labels> labels;
  // Jobs at a time of each of them, 0: as many as fit; empty: so of all.
  std::vector<uint32_t> slots = {};
  struct Resource {
    int64_t amount = 0;
    int64_t per_minute = 0;  // jobs that start; 0: any number
  };
  // Named resources; one that is absent is taken to be there without limit.
  std::map<std::string, Resource> resources = {};
  // Time that the services of approaches take until they are ready; absent: none.
  std::map<std::string, absl::Duration> loads = {};
  // From the end of an attempt to the start of the next one on its worker: report, commit, order.
  // Jobs that wait at the worker already start without it.
  absl::Duration turnaround = absl::Milliseconds(5);
  uint32_t queue_max = 1'000;  // every worker's, as core/sync/sync.h has it
  uint64_t seed = 1;           // seed of the draws
  // The scheduler knows means and loads (as after a first sweep), or has to learn them.
  bool knows_means = true;
  SchedulerPolicy policy;
};

struct Forecast {
  uint32_t jobs = 0;
  uint32_t reused = 0;  // jobs among these that are equal to others
  uint32_t workers = 0;
  uint32_t slots = 0;           // jobs that the workers can run at a time, of those there are
  absl::Duration makespan;      // from submission to the last end
  absl::Duration work;          // sum of all jobs' durations
  absl::Duration critical;      // the longest train job or load with its longest eval job
  absl::Duration bound;         // no schedule is shorter: max(work / slots, critical path)
  double utilization = 0;       // used part of the slots while the sweep runs, in [0, 1]
  absl::Duration machine_time;  // time of all workers until the end: what is paid for
  std::vector<std::string> unknown_loads = {};  // approaches whose services were not in `loads`
};

// The duration of jobs of (approach, benchmark), train or eval.
using DurationOf = std::function<ExpectedDuration(absl::string_view approach,
                                                  absl::string_view benchmark, bool is_train)>;

// As if nothing were finished yet, and data files of different names differed. InvalidArgument when
// there are no workers, a job fits on none of them with its services (by resources or labels) or
// uses more of a named resource than there is, or a duration is not known: the message names the
// approach and the benchmark.
absl::StatusOr<Forecast> ForecastSweep(SweepSpec spec, const DurationOf& duration_of,
                                       const ForecastOptions& options);

}  // namespace concur

#endif  // CONCUR_CORE_SCHEDULER_FORECAST_H_
