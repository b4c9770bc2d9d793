// What a job needs and what a worker has.
#ifndef CONCUR_CORE_RESOURCES_H_
#define CONCUR_CORE_RESOURCES_H_

#include <cstdint>
#include <string>

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

inline constexpr int32_t kGpusMax = 64;  // GPUs of one worker; sets of them are 64-bit masks

// "cpus 1, memory 1GiB, gpus 2"; parts that are 0 are left out.
std::string ResourcesText(const Resources& resources);

}  // namespace concur

#endif  // CONCUR_CORE_RESOURCES_H_
