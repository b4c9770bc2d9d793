// SPDX-License-Identifier: Apache-2.0
// Runs many simulated worlds, in several processes: a failed check in the real code ends only
// the process of its seed and is reported like any other violation.
//
// Functions fork and wait; the caller must have no other threads that affect the simulation.
#ifndef CONCUR_TESTS_SIM_RUNNER_H_
#define CONCUR_TESTS_SIM_RUNNER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/sim/simulation.h"

namespace concur::sim {

struct SeedsOptions {
  SimulationOptions simulation;  // `seed` and `trace` are ignored
  uint64_t first_seed = 1;
  uint64_t seeds = 1;
  int processes = 1;
  size_t failures_max = 1;  // no new seed is started after so many
  // Called repeatedly with the number of finished seeds; may be empty. False ends the run.
  std::function<bool(uint64_t)> progress;
};

struct SeedFailure {
  uint64_t seed = 0;
  std::string violation;
};

struct SeedsReport {
  uint64_t seeds = 0;  // finished
  uint64_t steps = 0;
  uint64_t jobs = 0;
  uint64_t counted = 0;
  uint64_t acknowledged = 0;
  uint64_t given_up = 0;
  uint64_t quarantines = 0;
  uint64_t reads = 0;
  uint64_t imports = 0;
  uint64_t reported_steps = 0;
  uint64_t stopped = 0;
  uint64_t resumed = 0;
  uint64_t staged = 0;
  uint64_t chosen = 0;
  uint64_t used_up = 0;
  uint64_t over_budget = 0;  // rows of sweeps that their budgets pause
  FaultCounts faults{};
  std::vector<SeedFailure> failures;  // by seed
};

// Internal when a process or pipe cannot be created.
absl::StatusOr<SeedsReport> RunSeeds(const SeedsOptions& options);

// The trace of one world, one line per event and the violation at the end; only the last
// `lines_max` lines.
absl::StatusOr<std::vector<std::string>> TraceOf(const SimulationOptions& options,
                                                 size_t lines_max);

}  // namespace concur::sim

#endif  // CONCUR_TESTS_SIM_RUNNER_H_
