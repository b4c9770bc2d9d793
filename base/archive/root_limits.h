// SPDX-License-Identifier: Apache-2.0
// Limits on the size of a root file system. A value.
#ifndef CONCUR_BASE_ARCHIVE_ROOT_LIMITS_H_
#define CONCUR_BASE_ARCHIVE_ROOT_LIMITS_H_

#include <cstdint>
#include <functional>

namespace concur {

struct RootLimits {
  int64_t entries_max = 2'000'000;
  // Bytes of all files together; also at most 100 times the packed file, and 64 MiB more.
  int64_t bytes_max = int64_t{256} << 30;
  // Asked now and then; true ends the call with Cancelled.
  std::function<bool()> is_canceled = nullptr;
};

}  // namespace concur

#endif  // CONCUR_BASE_ARCHIVE_ROOT_LIMITS_H_
