// SPDX-License-Identifier: Apache-2.0
#include "core/resources.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace concur {
namespace {

// Exact: the largest binary unit that divides the size.
std::string BytesText(int64_t bytes) {
  if (bytes == std::numeric_limits<int64_t>::max()) {
    return "unlimited";
  }
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (unit + 1 < std::size(kUnits) && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return absl::StrCat(bytes, kUnits[unit]);
}

std::string CpusText(int64_t millis) {
  if (millis == std::numeric_limits<int64_t>::max()) {
    return "unlimited";
  }
  std::string text = absl::StrFormat("%d.%03d", millis / 1000, millis % 1000);
  while (text.back() == '0') {
    text.pop_back();
  }
  return std::string(absl::StripSuffix(text, "."));
}

}  // namespace

std::string ResourcesText(const Resources& resources) {
  std::vector<std::string> parts;
  if (resources.cpu_millis != 0) {
    parts.push_back(absl::StrCat("cpus ", CpusText(resources.cpu_millis)));
  }
  if (resources.memory_bytes != 0) {
    parts.push_back(absl::StrCat("memory ", BytesText(resources.memory_bytes)));
  }
  if (resources.GpuCount() != 0) {
    parts.push_back(absl::StrCat("gpus ", resources.GpuAmount()));
  }
  return absl::StrJoin(parts, ", ");
}

Resources Together(const Resources& a, const Resources& b) {
  Resources both{.cpu_millis = a.cpu_millis + b.cpu_millis,
                 .memory_bytes = a.memory_bytes + b.memory_bytes,
                 .gpus = a.gpus + b.gpus,
                 .gpu_share = a.gpu_share + b.gpu_share};
  if (both.gpus > 0 || both.gpu_share > kGpuShares) {  // a share is of one GPU alone
    both.gpus += (a.gpu_share > 0 ? 1 : 0) + (b.gpu_share > 0 ? 1 : 0);
    both.gpu_share = 0;
  }
  return both;
}

absl::Status CheckResources(const FieldPath& path, const Resources& resources) {
  if (resources.cpu_millis < 0 || resources.cpu_millis > kCpuMillisMax) {
    return FieldError(path.Field("cpus"), absl::StrCat("expected 0 to ", kCpuMillisMax / 1000,
                                                       ", got ", resources.cpu_millis / 1000));
  }
  CONCUR_RETURN_IF_ERROR(
      CheckRange(path.Field("memory"), resources.memory_bytes, 0, kMemoryBytesMax));
  CONCUR_RETURN_IF_ERROR(CheckRange(path.Field("gpus"), resources.gpus, 0, kGpusMax));
  return CheckRange(path.Field("gpu_share"), resources.gpu_share, 0,
                    resources.gpus > 0 ? 0 : kGpuShares - 1);
}

absl::Status CheckCapacity(const FieldPath& path, const Resources& capacity) {
  CONCUR_RETURN_IF_ERROR(CheckResources(path, capacity));
  return CheckRange(path.Field("gpu_share"), capacity.gpu_share, 0, 0);
}

}  // namespace concur
