// SPDX-License-Identifier: Apache-2.0
#include "store/artifacts/file_blocks.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace concur {
namespace {

constexpr int64_t kBlockBytes = int64_t{1} << 18;

// The disk cannot return data that it stored.
absl::Status ReadError(int error, const std::string& path) {
  return error == EIO ? absl::DataLossError(absl::StrCat(path, ": read: input/output error"))
                      : ErrnoStatus(error, path, "read");
}

}  // namespace

absl::StatusOr<FileDescriptor> LockStore(const std::string& root, int operation) {
  return LockFile(root + "/lock", operation);
}

absl::StatusOr<FileDescriptor> LockFile(const std::string& path, int operation) {
  FileDescriptor fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) {
    return ErrnoStatus(errno, path, "open");
  }
  while (flock(fd.get(), operation) != 0) {
    if (errno == EWOULDBLOCK) {
      return absl::UnavailableError(absl::StrCat(path, ": another process holds it"));
    }
    if (errno != EINTR) {
      return ErrnoStatus(errno, path, "lock");
    }
  }
  return fd;
}

absl::StatusOr<FileDescriptor> OpenRegular(const std::string& path, struct stat& info) {
  FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (!fd.valid()) {
    if (errno == ELOOP) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": expected a regular file, got a symbolic link"));
    }
    return ErrnoStatus(errno, path, "open");
  }
  CONCUR_RETURN_IF_ERROR(StatRegularFile(fd, path, info));
  return fd;
}

absl::Status ForEachBlock(int fd, const std::string& path,
                          const std::function<absl::Status(absl::string_view)>& use) {
  // Small files have small buffers; the size of others, as in /proc, is not known.
  struct stat size {};
  const bool is_small = fstat(fd, &size) == 0 && size.st_size > 0 && size.st_size < kBlockBytes;
  std::string buffer(static_cast<size_t>(is_small ? size.st_size + 1 : kBlockBytes), '\0');
  for (;;) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0) {
      if (errno == EINTR) {
        continue;
      }
      return ReadError(errno, path);
    }
    if (got == 0) {
      return absl::OkStatus();
    }
    CONCUR_RETURN_IF_ERROR(use(absl::string_view(buffer.data(), static_cast<size_t>(got))));
  }
}

absl::StatusOr<bool> CopyInKernel(int from, int to, const std::string& to_path) {
  if (ioctl(to, FICLONE, from) == 0) {
    return true;
  }
  bool copied_some = false;
  for (;;) {
    const ssize_t copied =
        copy_file_range(from, nullptr, to, nullptr, size_t{1} << 30, /*flags=*/0);
    if (copied > 0) {
      copied_some = true;
    } else if (copied == 0) {
      // Some kernels give 0 at once for files whose size they do not know (as in /proc).
      return copied_some;
    } else if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) {
      return ErrnoStatus(errno, to_path, "write");
    } else if (errno != EINTR) {
      if (lseek(from, 0, SEEK_SET) != 0 || lseek(to, 0, SEEK_SET) != 0 || ftruncate(to, 0) != 0) {
        return ErrnoStatus(errno, to_path, "seek");
      }
      return false;
    }
  }
}

absl::Status ForEachEntry(const std::string& directory,
                          const std::function<absl::Status(const std::string&)>& use) {
  std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir(directory.c_str()), closedir);
  if (dir == nullptr) {
    return errno == ENOENT ? absl::OkStatus() : ErrnoStatus(errno, directory, "open");
  }
  for (;;) {
    errno = 0;
    // Each caller has its own DIR, which makes readdir safe in glibc.
    const dirent* entry = readdir(dir.get());  // NOLINT(concurrency-mt-unsafe)
    if (entry == nullptr) {
      return errno == 0 ? absl::OkStatus() : ErrnoStatus(errno, directory, "read");
    }
    const std::string name = entry->d_name;
    if (name != "." && name != "..") {
      CONCUR_RETURN_IF_ERROR(use(name));
    }
  }
}

FileSource::FileSource(FileDescriptor fd, std::string path)
    : fd_(std::move(fd)), path_(std::move(path)) {}

absl::Status FileSource::Next(int64_t bytes_max, std::string* data) {
  // A caller that gives the same string again pays for no clearing of memory.
  data->resize(static_cast<size_t>(bytes_max));
  size_t filled = 0;
  while (filled < data->size()) {
    const ssize_t got = read(fd_.get(), data->data() + filled, data->size() - filled);
    if (got < 0 && errno != EINTR) {
      return ReadError(errno, path_);
    }
    if (got == 0) {
      break;
    }
    filled += got > 0 ? static_cast<size_t>(got) : 0;
  }
  data->resize(filled);
  return absl::OkStatus();
}

BytesSource::BytesSource(std::string bytes) : bytes_(std::move(bytes)) {}

absl::Status BytesSource::Next(int64_t bytes_max, std::string* data) {
  *data = bytes_.substr(next_, static_cast<size_t>(bytes_max));
  next_ += data->size();
  return absl::OkStatus();
}

}  // namespace concur
