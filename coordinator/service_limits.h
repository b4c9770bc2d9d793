// What the services allow.
//
// Values.
#ifndef CONCUR_COORDINATOR_SERVICE_LIMITS_H_
#define CONCUR_COORDINATOR_SERVICE_LIMITS_H_

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/capacity.h"
#include "core/pool.h"

namespace concur {

struct ServiceLimits {
  int64_t sweeps_max = 100'000;
  int64_t jobs_per_sweep_max = 10'000'000;
  int64_t artifact_bytes_max = int64_t{64} << 30;
  std::string data_directory;
  // Sweeps and their data are refused while there are fewer bytes free on the disk.
  int64_t disk_free_min = 0;
  // The largest workers that others will ever start; empty: unknown.
  std::vector<PoolLimit> pools;
  std::set<ProviderKind> providers;  // of pools that can be added
  // Why a pool's workers could not work here; null: nothing is known.
  std::function<absl::Status(const PoolSpec&)> check_pool;
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_SERVICE_LIMITS_H_
