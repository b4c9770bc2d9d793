// SPDX-License-Identifier: Apache-2.0
// Options that tell the executor of real processes about its machine. Immutable after Open.
#ifndef CONCUR_WORKER_EXECUTION_SUBPROCESS_OPTIONS_H_
#define CONCUR_WORKER_EXECUTION_SUBPROCESS_OPTIONS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/process/cgroup.h"
#include "core/resources.h"

namespace concur::worker {

class Environments;

struct SubprocessOptions {
  std::string work_directory;
  std::string run_directory;                 // as RunDirectories::Open takes it
  int threads = 4;                           // the pool's
  int watchers = 4;                          // best two for each attempt that runs, and two more
  absl::Duration grace = absl::Seconds(10);  // between SIGTERM and SIGKILL
  int slots = 0;                             // attempts at a time, the rest waits; 0: all
  // Resources of attempts at a time; the rest waits, in the order of the orders. Unless set: all.
  std::optional<Resources> capacity;
  int64_t log_bytes_max = 8 << 20;       // one attempt's
  int64_t output_bytes_max = 0;          // one attempt's run directory; 0: no limit
  int64_t checkpoint_bytes_max = 0;      // left by an attempt for the next; 0: no limit
  int64_t processes_max = 0;             // one attempt's, threads included; 0: no limit
  bool private_tmp = false;              // each attempt has its own /tmp, /var/tmp and /dev/shm
  process::Cgroups* cgroups = nullptr;   // one for each attempt; null: none. Outlives the executor
  Environments* environments = nullptr;  // approaches'; null: none. Outlives the executor
  absl::Duration memory_interval = absl::Milliseconds(250);
  absl::Duration transfer_backoff_max = absl::Seconds(30);
  absl::Duration cache_age_max = absl::Hours(24 * 7);  // unused artifacts go at the next start
  int64_t cache_bytes_max = 0;                         // kept for later jobs; 0: no limit
  std::map<std::string, std::string> environment;      // PATH, HOME, LANG, … that commands see
  std::vector<std::string> gpu_names;                  // as CUDA_VISIBLE_DEVICES has them
  Clock* clock = nullptr;                              // the agent's; null: leases do not matter
};

}  // namespace concur::worker

#endif  // CONCUR_WORKER_EXECUTION_SUBPROCESS_OPTIONS_H_
