// SPDX-License-Identifier: Apache-2.0
#include "coordinator/services/disk_space.h"

#include <sys/statvfs.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace concur {

absl::Status CheckDiskSpace(const std::string& directory, int64_t free_min) {
  struct statvfs info {};
  if (free_min <= 0 || statvfs(directory.c_str(), &info) != 0) {
    return absl::OkStatus();
  }
  const auto free = static_cast<int64_t>(info.f_bavail * info.f_frsize);
  if (free >= free_min) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("the coordinator's disk is nearly full: ", directory, " has ", free,
                   " bytes free, less than limits.disk_free_min, ", free_min,
                   ": nothing new is taken until there is more space; what is under way goes on"));
}

absl::Status MakeDiskSpace(const std::string& directory, int64_t free_min,
                           PartialUploads& partial) {
  absl::Status room = CheckDiskSpace(directory, free_min);
  if (!room.ok()) {
    partial.GiveUpAll();
    room = CheckDiskSpace(directory, free_min);
  }
  return room;
}

}  // namespace concur
