// SPDX-License-Identifier: Apache-2.0
// Simulates a whole system in one thread: the real scheduler, engine, store logic, agents and
// spools on a virtual clock, with faults injected between them. The seed determines the users'
// requests and the faults; the same seed gives the same world, event for event.
//
// Thread-safe (stateless). A failed check in the real code ends the process; tests/sim/runner.h
// runs seeds in separate processes.
#ifndef CONCUR_TESTS_SIM_SIMULATION_H_
#define CONCUR_TESTS_SIM_SIMULATION_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "absl/time/time.h"
#include "tests/sim/bugs.h"
#include "tests/sim/faults.h"

namespace concur::sim {

struct SimulationOptions {
  uint64_t seed = 1;
  Bug bug = Bug::kNone;
  // Limit of events in a world; more are a violation, as the world does not terminate.
  uint64_t steps_max = 100'000;
  // Gets a line for each event; null: no trace.
  std::ostream* trace = nullptr;
};

struct SimulationReport {
  std::string violation;  // "" if there is none
  uint64_t steps = 0;
  absl::Duration age;  // simulated time at the end
  uint64_t jobs = 0;
  uint64_t counted = 0;         // results that counted
  uint64_t acknowledged = 0;    // submissions, cancels and results
  uint64_t given_up = 0;        // jobs skipped because similar ones had failed
  uint64_t quarantines = 0;     // quarantines of workers
  uint64_t reads = 0;           // whose answers were checked
  uint64_t imports = 0;         // imports of results that were computed elsewhere
  uint64_t reported_steps = 0;  // that counted
  uint64_t stopped = 0;         // train jobs, by early_stop
  uint64_t resumed = 0;         // attempts that went on from a checkpoint
  uint64_t staged = 0;          // attempts that started from a source's system
  uint64_t chosen = 0;          // settings, by searches
  uint64_t used_up = 0;         // attempts that got the last unit of a named resource
  uint64_t over_budget = 0;     // rows of sweeps that their budgets pause
  FaultCounts faults{};
};

// Runs one world to its end or to the first violation.
SimulationReport Simulate(const SimulationOptions& options);

}  // namespace concur::sim

#endif  // CONCUR_TESTS_SIM_SIMULATION_H_
