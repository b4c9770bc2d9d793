// SPDX-License-Identifier: Apache-2.0
// Resources that, as a file says, a job needs or a worker has.
#ifndef CONCUR_YAML_RESOURCES_YAML_H_
#define CONCUR_YAML_RESOURCES_YAML_H_

#include <cstdint>
#include <optional>

#include "core/labels.h"
#include "core/resources.h"
#include "yaml/value.h"

namespace concur::spec {

// A resource request whose absent parts come from a more general one.
struct ResourceRequest {
  std::optional<int64_t> cpu_millis;
  std::optional<int64_t> memory_bytes;
  std::optional<int32_t> gpu_shares;  // kGpuShares for each whole GPU
  Labels labels;
  Uses uses;

  // Fills absent parts, labels and uses from `general`.
  void FillFrom(const ResourceRequest& general);
  // Absent parts get core's defaults. Labels and uses are not included.
  Resources Resolve() const;
  int32_t WholeGpus() const { return gpu_shares.value_or(0) / kGpuShares; }
};

ResourceRequest ReadWorkerResources(const Value& value);  // {cpus, memory, gpus}; GPUs in whole
ResourceRequest ReadJobResources(const Value& value);     // {cpus, memory, gpus, labels, uses}
Uses ReadUses(const Value& value);                        // {NAME: UNITS}

}  // namespace concur::spec

#endif  // CONCUR_YAML_RESOURCES_YAML_H_
