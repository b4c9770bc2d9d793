// How much room the data directory has left.
#ifndef CONCUR_COORDINATOR_DISK_SPACE_H_
#define CONCUR_COORDINATOR_DISK_SPACE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "coordinator/partial_uploads.h"

namespace concur {

// ResourceExhausted when the file system of `directory` has less than `free_min` bytes for us; OK
// when that cannot be found out.
absl::Status CheckDiskSpace(const std::string& directory, int64_t free_min);
// The same after `partial` was given up, where that is needed.
absl::Status MakeDiskSpace(const std::string& directory, int64_t free_min, PartialUploads& partial);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_DISK_SPACE_H_
