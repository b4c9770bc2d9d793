// SPDX-License-Identifier: Apache-2.0
// YAML of pools → core/pools/pool.h: those of the coordinator's options, and files of kind Pool
// (docs/options.md).
//
// Thread-safe (stateless functions).
#ifndef CONCUR_YAML_POOLS_YAML_H_
#define CONCUR_YAML_POOLS_YAML_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/pools/pool.h"
#include "core/sweep/capacity.h"
#include "yaml/value.h"

namespace concur::spec {

// The list `pools:` of the options. An entry with a provider is a pool; one without only states the
// largest worker that will be started by other means.
void ReadPools(const Value& value, std::vector<PoolLimit>* limits, std::vector<PoolSpec>* pools);

// All pools' limits, with a provider and without. `Options` has pool_limits and pools.
template <typename Options>
std::vector<PoolLimit> LimitsOf(const Options& options) {
  std::vector<PoolLimit> limits = options.pool_limits;
  for (const PoolSpec& pool : options.pools) {
    limits.push_back({pool.name, PlannedCapacity(pool), WorkerLabels(pool)});
  }
  return limits;
}

// Reads a document of kind Pool. The result is valid only if no error was added.
PoolSpec ReadPoolFile(const YamlFile& file, ErrorList& errors);
// The same from the disk. InvalidArgument with one error per line (yaml/errors.h).
absl::StatusOr<PoolSpec> LoadPool(const std::string& path);

}  // namespace concur::spec

#endif  // CONCUR_YAML_POOLS_YAML_H_
