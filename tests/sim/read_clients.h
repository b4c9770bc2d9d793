// SPDX-License-Identifier: Apache-2.0
// Clients that only look: they read sweeps through the engine and the board, and watch their
// events, over connections that are slow and break. What they see goes to the History.
//
// They have random numbers of their own and cause no turn of the engine: without a violation, a
// world goes as it would without them.
//
// One thread.
#ifndef CONCUR_TESTS_SIM_READ_CLIENTS_H_
#define CONCUR_TESTS_SIM_READ_CLIENTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/random.h"
#include "tests/sim/coordinator_machine.h"
#include "tests/sim/history.h"
#include "tests/sim/world.h"

namespace concur::sim {

class ReadClients {
 public:
  ReadClients(World& world, History& history, CoordinatorMachine& coordinator, uint64_t seed);
  ~ReadClients();

  void Start();
  // At the end, of all that was seen.
  void Check();

 private:
  class Watch;
  using Seen = absl::StatusOr<std::optional<SeenSweep>>;

  void LookOften();
  void Look();
  // As users do who come back to a coordinator that was away: what they saw before may be lost.
  void LookAfterRestart();
  void LookAt(SweepId id);
  void Answer(SweepId id, History::Moment begun, const Seen& seen);
  void ServeOften();
  void ServeBoard();
  absl::Duration Delay();

  World& world_;
  History& history_;
  CoordinatorMachine& coordinator_;
  Random random_;
  std::vector<std::unique_ptr<Watch>> watches_;
  uint64_t looked_at_process_ = 0;
};

}  // namespace concur::sim

#endif  // CONCUR_TESTS_SIM_READ_CLIENTS_H_
