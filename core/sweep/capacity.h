// SPDX-License-Identifier: Apache-2.0
// Checks whether any worker could run a sweep's jobs.
//
// Pure functions.
#ifndef CONCUR_CORE_SWEEP_CAPACITY_H_
#define CONCUR_CORE_SWEEP_CAPACITY_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/labels.h"
#include "core/resources.h"
#include "core/sweep/sweep.h"

namespace concur {

// The largest worker that a pool will ever have.
struct PoolLimit {
  std::string name;
  Resources max;
  std::optional<Labels> labels = std::nullopt;  // that its workers carry; nullopt: not stated
};

struct KnownWorker {
  Resources capacity;
  Labels labels;
};

// InvalidArgument, with the path of the field, when some request fits in none of the pools. OK when
// there are no pools: then there is no known limit.
absl::Status CheckFitsInPools(const SweepSpec& spec, const std::vector<PoolLimit>& pools);

// One sentence for each request that fits in none of the workers known now. A worker that comes
// later may fit, hence no error. Empty when `workers` is: nothing is known yet.
std::vector<std::string> CapacityWarnings(const SweepSpec& spec,
                                          const std::vector<KnownWorker>& workers);

}  // namespace concur

#endif  // CONCUR_CORE_SWEEP_CAPACITY_H_
