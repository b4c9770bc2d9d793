// SPDX-License-Identifier: Apache-2.0
// What a job needs and what a worker has.
#ifndef CONCUR_CORE_RESOURCES_H_
#define CONCUR_CORE_RESOURCES_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "core/fields.h"

namespace concur {

struct Resources {
  int64_t cpu_millis = 1000;  // thousandths of a CPU
  int64_t memory_bytes = 0;   // 0: no claim
  int32_t gpus = 0;           // whole GPUs, at most kGpusMax

  friend bool operator==(const Resources&, const Resources&) = default;
  friend auto operator<=>(const Resources&, const Resources&) = default;

  bool FitsIn(const Resources& capacity) const {
    return cpu_millis <= capacity.cpu_millis && memory_bytes <= capacity.memory_bytes &&
           gpus <= capacity.gpus;
  }
};

inline constexpr int64_t kCpuMillisMax = 1'000'000'000;       // a million CPUs
inline constexpr int64_t kMemoryBytesMax = int64_t{1} << 50;  // a pebibyte
inline constexpr int32_t kGpusMax = 64;  // GPUs of one worker; sets of them are 64-bit masks

// InvalidArgument when a part is negative or beyond its limit; `path` as in core/fields.h.
absl::Status CheckResources(const FieldPath& path, const Resources& resources);

// "cpus 1, memory 1GiB, gpus 2"; parts that are 0 are left out.
std::string ResourcesText(const Resources& resources);

}  // namespace concur

#endif  // CONCUR_CORE_RESOURCES_H_
