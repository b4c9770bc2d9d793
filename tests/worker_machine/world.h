// SPDX-License-Identifier: Apache-2.0
// One world: the real agent, executor, artifact cache and spool of a worker on a simulated machine
// (machine.h), under a coordinator that orders jobs, loses messages and checks every result. The
// worker is killed, drained and started again meanwhile. Then the faults stop and all must end.
//
// The seed draws jobs and faults. Threads are real, so that a seed does not give the same order of
// events twice.
#ifndef CONCUR_TESTS_WORKER_MACHINE_WORLD_H_
#define CONCUR_TESTS_WORKER_MACHINE_WORLD_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/worker_machine/machine.h"

namespace concur::testing {

struct WorldReport {
  std::vector<std::string> broken;  // promises, in words
  int starts = 0;                   // times that an attempt started
  int results = 0;                  // that the coordinator took
  int kills = 0;                    // times that the worker was killed
  int failed_openings = 0;          // starts of a worker that a fault prevented
  std::map<std::string, int> faults;
};

// `patience`: for what must happen at last.
WorldReport RunWorkerWorld(uint64_t seed, MachineBug bug, absl::Duration patience);

}  // namespace concur::testing

#endif  // CONCUR_TESTS_WORKER_MACHINE_WORLD_H_
