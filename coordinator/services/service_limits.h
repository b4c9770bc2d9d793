// SPDX-License-Identifier: Apache-2.0
// The limits of the services.
//
// Values.
#ifndef CONCUR_COORDINATOR_SERVICES_SERVICE_LIMITS_H_
#define CONCUR_COORDINATOR_SERVICES_SERVICE_LIMITS_H_

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/pools/pool.h"
#include "core/sweep/capacity.h"

namespace concur {

struct ServiceLimits {
  int64_t sweeps_max = 100'000;
  int64_t jobs_per_sweep_max = 10'000'000;
  int64_t artifact_bytes_max = int64_t{64} << 30;
  std::string data_directory;
  // Sweeps and their data are refused while there are fewer bytes free on the disk.
  int64_t disk_free_min = 0;
  // Time for which an upload that no sweep uses counts against its user's quota.
  absl::Duration uploads_kept = absl::Hours(24);
  // Workers may come so long after a start: only then is a sweep without any worth a warning.
  absl::Duration workers_expected = absl::Seconds(10);
  // The largest workers that anybody outside the coordinator starts; empty: unknown.
  std::vector<PoolLimit> pools;
  std::set<ProviderKind> providers;  // kinds of pools that can be added
  // Checks whether a pool's workers could connect; null: not checked.
  std::function<absl::Status(const PoolSpec&)> check_pool;
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_SERVICES_SERVICE_LIMITS_H_
