// SPDX-License-Identifier: Apache-2.0
#include "base/process/job_disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/file.h"

namespace concur::process {
namespace {

constexpr uint64_t kWhole = UINT64_MAX;  // no offset in a file

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

// Bytes of the files without a name that a process shares in its memory. What they take on disk is
// not known without a descriptor: the ranges count whole. `seen` has ranges by inode and offset.
int64_t MappedBytesOf(pid_t pid, dev_t device, std::set<std::pair<ino_t, uint64_t>>& seen) {
  int64_t bytes = 0;
  std::ifstream maps(absl::StrCat("/proc/", pid, "/maps"));
  for (std::string line; std::getline(maps, line);) {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t offset = 0;
    uint64_t inode = 0;
    unsigned major = 0;
    unsigned minor = 0;
    char rights[5] = "";
    // "7f00-7f10 rw-s 00000000 fe:00 1234 /path (deleted)"; libraries are not shared ("r-xp").
    if (absl::EndsWith(line, " (deleted)") &&
        std::sscanf(line.c_str(), "%lx-%lx %4s %lx %x:%x %lu", &begin, &end, rights, &offset,
                    &major, &minor, &inode) == 7 &&
        rights[3] == 's' && makedev(major, minor) == device && !seen.contains({inode, kWhole}) &&
        seen.insert({inode, offset}).second) {
      bytes += static_cast<int64_t>(end - begin);
    }
  }
  return bytes;
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
  std::set<std::pair<ino_t, uint64_t>> seen;
  for (const pid_t pid : pids) {
    std::error_code error;
    for (std::filesystem::directory_iterator it(absl::StrCat("/proc/", pid, "/fd"), error), end;
         !error && it != end; it.increment(error)) {
      struct statx info {};
      // Asks no server, which may not answer.
      if (statx(AT_FDCWD, it->path().c_str(), AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &info) == 0 &&
          S_ISREG(info.stx_mode) && info.stx_nlink == 0 &&
          makedev(info.stx_dev_major, info.stx_dev_minor) == own.st_dev &&
          seen.insert({info.stx_ino, kWhole}).second) {
        bytes += static_cast<int64_t>(info.stx_blocks) * 512;
      }
    }
  }
  for (const pid_t pid : pids) {
    bytes += MappedBytesOf(pid, own.st_dev, seen);
  }
  return bytes;
}

}  // namespace concur::process
