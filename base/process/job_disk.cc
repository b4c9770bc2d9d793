// SPDX-License-Identifier: Apache-2.0
#include "base/process/job_disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/file.h"

namespace concur::process {
namespace {

int64_t BlockBytes(const struct stat& info) { return int64_t{info.st_blocks} * 512; }

// A job replaces a folder by another entry at any moment.
bool HasJustGone(int error) {
  return error == ENOENT || error == ENOTDIR || error == ELOOP || error == ESTALE;
}

// 0, or why the folder cannot be counted; EPERM: they nest too deep.
int AddFolder(int parent, const char* name, int depth, int64_t& bytes) {
  int error = 0;
  const OpenFolder folder = OpenFolderAt(parent, name, error);
  while (error == 0) {
    errno = 0;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): this stream is read by one thread
    const dirent* entry = readdir(folder.get());
    if (entry == nullptr) {
      error = errno;
      break;
    }
    const absl::string_view found = entry->d_name;
    struct stat info {};
    if (found == "." || found == "..") {
      continue;
    }
    if (fstatat(dirfd(folder.get()), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
      error = HasJustGone(errno) ? 0 : errno;
      continue;
    }
    bytes += BlockBytes(info);
    if (S_ISDIR(info.st_mode)) {
      error = depth == kJobFolderDepthMax
                  ? EPERM
                  : AddFolder(dirfd(folder.get()), entry->d_name, depth + 1, bytes);
    }
  }
  return HasJustGone(error) ? 0 : error;
}

}  // namespace

OpenFolder OpenFolderAt(int parent, const char* name, int& error) {
  constexpr int kFlags = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  FileDescriptor fd(openat(parent, name, O_RDONLY | kFlags));
  error = fd.valid() ? 0 : errno;
  if (error == EACCES) {
    // fchmodat follows links, and the name may be one by now.
    const FileDescriptor closed(openat(parent, name, O_PATH | kFlags));
    if (closed.valid() && chmod(absl::StrCat("/proc/self/fd/", closed.get()).c_str(), 0700) == 0) {
      fd = FileDescriptor(openat(parent, name, O_RDONLY | kFlags));
    }
    error = fd.valid() ? 0 : errno;
  }
  OpenFolder folder(error == 0 ? fdopendir(fd.get()) : nullptr, closedir);
  if (folder != nullptr) {
    fd.Release();
  } else if (error == 0) {
    error = errno;
  }
  return folder;
}

absl::StatusOr<int64_t> DiskUseOfOpen(int directory) {
  int64_t bytes = 0;
  const int error = AddFolder(directory, ".", 1, bytes);
  return error == 0 ? absl::StatusOr<int64_t>(bytes)
                    : ErrnoStatus(error, "the run directory", "count");
}

int64_t UnnamedBytesOf(const std::vector<pid_t>& pids, int directory) {
  struct stat own {};
  if (fstat(directory, &own) != 0) {
    return 0;
  }
  int64_t bytes = 0;
  std::set<ino_t> seen;
  for (const pid_t pid : pids) {
    std::error_code error;
    for (std::filesystem::directory_iterator it(absl::StrCat("/proc/", pid, "/fd"), error), end;
         !error && it != end; it.increment(error)) {
      struct statx info {};
      // Asks no server, which may not answer.
      if (statx(AT_FDCWD, it->path().c_str(), AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &info) == 0 &&
          S_ISREG(info.stx_mode) && info.stx_nlink == 0 &&
          makedev(info.stx_dev_major, info.stx_dev_minor) == own.st_dev &&
          seen.insert(info.stx_ino).second) {
        bytes += static_cast<int64_t>(info.stx_blocks) * 512;
      }
    }
  }
  return bytes;
}

}  // namespace concur::process
