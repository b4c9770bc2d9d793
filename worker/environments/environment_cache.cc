// SPDX-License-Identifier: Apache-2.0
#include "worker/environments/environment_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/file_system.h"
#include "base/log.h"
#include "base/process/remove_tree.h"
#include "base/status_macros.h"
#include "store/artifacts/file_blocks.h"

namespace concur::worker {
namespace {

constexpr char kLockSuffix[] = ".lock";
constexpr char kLogSuffix[] = ".log";
constexpr char kMark[] = "environments";  // shows whose directory it is

std::string DoneFile(const std::string& path) { return absl::StrCat(path, "/done"); }

// The environment's bytes; -1 unless it is complete.
int64_t BytesOfDone(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(DoneFile(path), 64);
  int64_t bytes = -1;
  return text.ok() && absl::SimpleAtoi(*text, &bytes) ? bytes : -1;
}

// Opens and locks KEY.lock without waiting. Unavailable when another one holds it.
absl::StatusOr<FileDescriptor> LockOf(const std::string& path, int operation) {
  const std::string lock = path + kLockSuffix;
  FileDescriptor fd(open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) {
    return ErrnoStatus(errno, lock, "open");
  }
  struct stat info {};
  if (flock(fd.get(), operation | LOCK_NB) != 0) {
    return errno == EWOULDBLOCK
               ? absl::UnavailableError("the environment is being built or removed")
               : ErrnoStatus(errno, lock, "lock");
  }
  if (fstat(fd.get(), &info) != 0 || info.st_nlink == 0) {
    return absl::UnavailableError("the environment was just removed");
  }
  return fd;
}

// Writes what lies below `path` to the disk, with all else of its file system.
absl::Status SyncFileSystemOf(const std::string& path) {
  const FileDescriptor fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd.valid() && syncfs(fd.get()) == 0 ? absl::OkStatus() : ErrnoStatus(errno, path, "sync");
}

// Removes a complete or half environment. REQUIRES: its exclusive lock is held.
absl::Status RemoveLocked(const std::string& path) {
  // First what makes it count: the rest may be interrupted.
  if (unlink(DoneFile(path).c_str()) != 0 && errno != ENOENT && errno != ENOTDIR) {
    return ErrnoStatus(errno, DoneFile(path), "remove");
  }
  return process::RemoveTree(path);
}

}  // namespace

absl::StatusOr<std::unique_ptr<EnvironmentCache>> EnvironmentCache::Open(std::string directory,
                                                                         int64_t bytes_max) {
  CONCUR_RETURN_IF_ERROR(MakePrivateDirectory(directory, {kMark}));
  CONCUR_RETURN_IF_ERROR(MakePrivateFile(absl::StrCat(directory, "/", kMark)));
  return std::unique_ptr<EnvironmentCache>(new EnvironmentCache(std::move(directory), bytes_max));
}

absl::Status EnvironmentCache::BuildLocked(const std::string& path, const Build& build) const {
  const std::string log = path + kLogSuffix;
  CONCUR_RETURN_IF_ERROR(RemoveLocked(path));
  unlink(log.c_str());
  CONCUR_RETURN_IF_ERROR(MakeDirectories(path, 0700));
  const absl::Time start = absl::Now();
  if (absl::Status status = build(path, log); !status.ok()) {
    if (const absl::Status removed = process::RemoveTree(path); !removed.ok()) {
      LogWarning("a failed environment cannot be removed", {{"error", removed.ToString()}});
    }
    return status;
  }
  const int64_t bytes = DiskUseOf(path);
  // After a loss of power a complete one has all its files.
  CONCUR_RETURN_IF_ERROR(SyncFileSystemOf(path));
  CONCUR_RETURN_IF_ERROR(WriteFileAtomically(DoneFile(path), absl::StrCat(bytes), 0600));
  LogInfo("built an environment", {{"path", path},
                                   {"bytes", absl::StrCat(bytes)},
                                   {"took", absl::FormatDuration(absl::Now() - start)}});
  return absl::OkStatus();
}

absl::StatusOr<HeldEnvironmentPtr> EnvironmentCache::Get(const Digest& key, const Build& build) {
  const std::string path = absl::StrCat(directory_, "/", key.ToHex());
  const auto use = [&path](FileDescriptor lock) {
    utimensat(AT_FDCWD, DoneFile(path).c_str(), nullptr, 0);  // used now
    return std::make_shared<const HeldEnvironment>(path, std::move(lock));
  };
  {
    CONCUR_ASSIGN_OR_RETURN(FileDescriptor shared, LockOf(path, LOCK_SH));
    if (BytesOfDone(path) >= 0) {
      return use(std::move(shared));
    }
  }
  CONCUR_ASSIGN_OR_RETURN(FileDescriptor lock, LockOf(path, LOCK_EX));
  if (BytesOfDone(path) < 0) {
    CONCUR_RETURN_IF_ERROR(BuildLocked(path, build));
  }
  // The kernel may give the lock to another one in between, who may remove it.
  if (flock(lock.get(), LOCK_SH | LOCK_NB) != 0 || BytesOfDone(path) < 0) {
    return absl::UnavailableError("the environment was just removed");
  }
  HeldEnvironmentPtr held = use(std::move(lock));
  MakeRoom();
  return held;
}

void EnvironmentCache::MakeRoom() const {
  struct Found {
    absl::Time used;
    std::string path;
    int64_t bytes = 0;
  };
  std::vector<Found> all;
  std::vector<std::string> halves;
  int64_t total = 0;
  const absl::Status listed = ForEachEntry(directory_, [&](const std::string& name) {
    const std::string path = absl::StrCat(directory_, "/", name);
    struct stat info {};
    if (!Digest::FromHex(name).ok()) {
      return absl::OkStatus();
    }
    if (stat(DoneFile(path).c_str(), &info) != 0) {
      halves.push_back(path);
    } else {
      const int64_t bytes = std::max<int64_t>(0, BytesOfDone(path));
      all.push_back({absl::TimeFromTimespec(info.st_mtim), path, bytes});
      total += bytes;
    }
    return absl::OkStatus();
  });
  if (!listed.ok()) {
    return;
  }
  for (const std::string& path : halves) {
    // Left by a process that was killed; who builds one holds its lock.
    const absl::StatusOr<FileDescriptor> lock = LockOf(path, LOCK_EX);
    if (lock.ok() && BytesOfDone(path) < 0) {
      if (const absl::Status removed = RemoveLocked(path); !removed.ok()) {
        LogWarning("a half environment cannot be removed", {{"error", removed.ToString()}});
      }
    }
  }
  if (bytes_max_ == 0) {
    return;
  }
  std::sort(all.begin(), all.end(), [](const Found& a, const Found& b) {
    return std::tie(a.used, a.path) < std::tie(b.used, b.path);
  });
  for (const Found& found : all) {
    if (total <= bytes_max_) {
      return;
    }
    const absl::StatusOr<FileDescriptor> lock = LockOf(found.path, LOCK_EX);
    if (!lock.ok()) {
      continue;  // in use
    }
    if (const absl::Status removed = RemoveLocked(found.path); !removed.ok()) {
      LogWarning("an environment cannot be removed", {{"error", removed.ToString()}});
      continue;
    }
    LogInfo("removed an environment for room", {{"path", found.path}});
    unlink((found.path + kLogSuffix).c_str());
    unlink((found.path + kLockSuffix).c_str());
    total -= found.bytes;
  }
}

}  // namespace concur::worker
