// Runs many simulated worlds, in several processes: a failed check within the real code ends only
// the process of its seed, and is reported like any other broken promise.
//
// Functions fork and wait; the caller has no other threads that matter to the simulation.
#ifndef CONCUR_SIM_RUNNER_H_
#define CONCUR_SIM_RUNNER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sim/simulation.h"

namespace concur::sim {

struct SeedsOptions {
  SimulationOptions simulation;  // `seed` and `trace` are not looked at
  uint64_t first_seed = 1;
  uint64_t seeds = 1;
  int processes = 1;
  size_t failures_max = 1;  // no new seed is begun after so many
  // Called now and then with the number of seeds that have ended; may be empty. False ends the run.
  std::function<bool(uint64_t)> progress;
};

struct SeedFailure {
  uint64_t seed = 0;
  std::string violation;
};

struct SeedsReport {
  uint64_t seeds = 0;  // that have ended
  uint64_t steps = 0;
  uint64_t jobs = 0;
  uint64_t counted = 0;
  uint64_t acknowledged = 0;
  uint64_t given_up = 0;
  uint64_t quarantines = 0;
  FaultCounts faults{};
  std::vector<SeedFailure> failures;  // by seed
};

// Internal when the system gives no process or pipe.
absl::StatusOr<SeedsReport> RunSeeds(const SeedsOptions& options);

// What happened in one world, a line for each event, and its broken promise last: the last
// `lines_max` lines.
absl::StatusOr<std::vector<std::string>> TraceOf(const SimulationOptions& options,
                                                 size_t lines_max);

}  // namespace concur::sim

#endif  // CONCUR_SIM_RUNNER_H_
