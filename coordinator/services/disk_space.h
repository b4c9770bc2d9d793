// SPDX-License-Identifier: Apache-2.0
// The free space of the data directory's file system.
#ifndef CONCUR_COORDINATOR_SERVICES_DISK_SPACE_H_
#define CONCUR_COORDINATOR_SERVICES_DISK_SPACE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "coordinator/engine/partial_uploads.h"

namespace concur {

// ResourceExhausted when the file system of `directory` has less than `free_min` bytes available;
// OK when that cannot be determined.
absl::Status CheckDiskSpace(const std::string& directory, int64_t free_min);
// The same, but first drops the uploads in `partial` if there is too little space.
absl::Status MakeDiskSpace(const std::string& directory, int64_t free_min, PartialUploads& partial);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_SERVICES_DISK_SPACE_H_
