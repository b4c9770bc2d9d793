// SPDX-License-Identifier: Apache-2.0
#include "store/file_watch.h"

#include <sys/stat.h>

#include <cerrno>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/file.h"

namespace concur {

absl::Status FileWatch::Add(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) {
    return ErrnoStatus(errno, path, "look at");
  }
  files_.push_back({path, info.st_dev, info.st_ino});
  return absl::OkStatus();
}

absl::Status FileWatch::Check() const {
  for (const File& file : files_) {
    struct stat info {};
    if (stat(file.path.c_str(), &info) != 0) {
      // A network file system may fail for a moment: only what is certainly gone counts.
      if (errno == ENOENT || errno == ENOTDIR) {
        return absl::FailedPreconditionError(
            absl::StrCat(file.path, " was removed while this process had it open"));
      }
    } else if (info.st_dev != file.device || info.st_ino != file.inode) {
      return absl::FailedPreconditionError(
          absl::StrCat(file.path, " was replaced by another file while this process had it open"));
    }
  }
  return absl::OkStatus();
}

}  // namespace concur
