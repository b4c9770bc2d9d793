// A whole Concur in one thread: the real scheduler, engine, store logic, agents and spools on a
// virtual clock, with faults in everything between them. A seed says what users ask, what goes
// wrong and when; the same seed gives the same world again, event for event.
//
// Thread-safe (stateless). A check within the real code that fails ends the process; sim/runner.h
// runs seeds in processes of their own.
#ifndef CONCUR_SIM_SIMULATION_H_
#define CONCUR_SIM_SIMULATION_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "absl/time/time.h"
#include "sim/bugs.h"
#include "sim/faults.h"

namespace concur::sim {

struct SimulationOptions {
  uint64_t seed = 1;
  Bug bug = Bug::kNone;
  // Events in one world, at most: more count as a world that comes to no rest.
  uint64_t steps_max = 100'000;
  // Gets a line for everything that happens; null: no trace.
  std::ostream* trace = nullptr;
};

struct SimulationReport {
  std::string violation;  // "" when every promise held
  uint64_t steps = 0;
  absl::Duration age;  // of the world at its end
  uint64_t jobs = 0;
  uint64_t counted = 0;       // results that counted
  uint64_t acknowledged = 0;  // submissions, cancels and results that were acknowledged
  uint64_t given_up = 0;      // jobs that were skipped because all like them had failed
  uint64_t quarantines = 0;   // workers that were set aside
  FaultCounts faults{};
};

// Runs one world to its end, or to the first broken promise.
SimulationReport Simulate(const SimulationOptions& options);

}  // namespace concur::sim

#endif  // CONCUR_SIM_SIMULATION_H_
