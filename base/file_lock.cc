// SPDX-License-Identifier: Apache-2.0
#include "base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <string>

namespace concur {

absl::StatusOr<FileDescriptor> LockFile(const std::string& path) {
  FileDescriptor fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) {
    return ErrnoStatus(errno, path, "open");
  }
  while (flock(fd.get(), LOCK_EX) != 0) {
    if (errno != EINTR) {
      return ErrnoStatus(errno, path, "lock");
    }
  }
  return fd;
}

}  // namespace concur
