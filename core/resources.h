// SPDX-License-Identifier: Apache-2.0
// Resources that a job needs and that a worker has.
#ifndef CONCUR_CORE_RESOURCES_H_
#define CONCUR_CORE_RESOURCES_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "core/fields.h"

namespace concur {

inline constexpr int32_t kGpuShares = 100;  // parts of one GPU

struct Resources {
  int64_t cpu_millis = 1000;  // thousandths of a CPU
  int64_t memory_bytes = 0;   // 0: no claim
  int32_t gpus = 0;           // whole GPUs, at most kGpusMax
  // Hundredths of one GPU that jobs share, below kGpuShares; with it `gpus` is 0. Of what is free:
  // the largest part of a GPU of which jobs have the rest.
  int32_t gpu_share = 0;

  friend bool operator==(const Resources&, const Resources&) = default;
  friend auto operator<=>(const Resources&, const Resources&) = default;

  bool FitsIn(const Resources& capacity) const {
    return cpu_millis <= capacity.cpu_millis && memory_bytes <= capacity.memory_bytes &&
           gpus <= capacity.gpus &&
           (gpu_share == 0 || capacity.gpus > 0 || gpu_share <= capacity.gpu_share);
  }
  // Number of GPUs that it is given, shared or not.
  int32_t GpuCount() const { return gpus + (gpu_share > 0 ? 1 : 0); }
  double GpuAmount() const { return gpus + static_cast<double>(gpu_share) / kGpuShares; }
};

inline constexpr int64_t kCpuMillisMax = 1'000'000'000;       // a million CPUs
inline constexpr int64_t kMemoryBytesMax = int64_t{1} << 50;  // a pebibyte
inline constexpr int32_t kGpusMax = 64;  // GPUs of one worker; sets of them are 64-bit masks

// The resources that a worker must have for both at once.
Resources Together(const Resources& a, const Resources& b);

// Units that a job uses of named resources of the cluster (core/state/named_resources.h), by name.
using Uses = std::map<std::string, int64_t>;
inline constexpr size_t kUsesMax = 16;               // names of one job
inline constexpr int64_t kUnitsMax = 1'000'000;      // units of one resource
inline constexpr size_t kNamedResourcesMax = 1'000;  // that are set

// InvalidArgument when a part is negative or beyond its limit; `path` as in core/fields.h. Of a
// job, and of a worker, which has no share of a GPU.
absl::Status CheckResources(const FieldPath& path, const Resources& resources);
absl::Status CheckCapacity(const FieldPath& path, const Resources& capacity);

// "cpus 1, memory 1GiB, gpus 2"; parts that are 0 are left out.
std::string ResourcesText(const Resources& resources);

}  // namespace concur

#endif  // CONCUR_CORE_RESOURCES_H_
