// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace concur {

absl::Status ErrnoStatus(int error, absl::string_view path, absl::string_view action) {
  const std::string message =
      absl::StrCat(path, ": ", action, ": ", std::generic_category().message(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(message);
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return absl::ResourceExhaustedError(message);
    case EEXIST:
    case EADDRINUSE:
      return absl::AlreadyExistsError(message);
    case EINVAL:
    case ENAMETOOLONG:
    case ELOOP:
    case EISDIR:
      return absl::InvalidArgumentError(message);
    default:
      return absl::UnknownError(message);
  }
}

void FileDescriptor::Reset() {
  if (fd_ >= 0) {
    close(fd_);
    fd_ = -1;
  }
}

namespace {

constexpr int64_t kBlockBytes = int64_t{1} << 17;

std::string ParentOf(const std::filesystem::path& path) {
  const std::string parent = path.parent_path().string();
  return parent.empty() ? "." : parent;
}

// Calls `use` with each block of the file.
template <typename Use>
absl::Status ReadBlocks(int fd, const std::string& path, Use use) {
  // Small files get small buffers. Files in /proc report a size of 0.
  struct stat info {};
  const bool is_small = fstat(fd, &info) == 0 && info.st_size > 0 && info.st_size < kBlockBytes;
  std::string buffer(static_cast<size_t>(is_small ? info.st_size + 1 : kBlockBytes), '\0');
  for (;;) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0) {
      if (errno == EINTR) {
        continue;
      }
      return ErrnoStatus(errno, path, "read");
    }
    if (got == 0) {
      return absl::OkStatus();
    }
    CONCUR_RETURN_IF_ERROR(use(absl::string_view(buffer.data(), static_cast<size_t>(got))));
  }
}

}  // namespace

absl::StatusOr<FileDescriptor> OpenRegularFile(const std::string& path) {
  FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) {
    return ErrnoStatus(errno, path, "open");
  }
  struct stat info {};
  CONCUR_RETURN_IF_ERROR(StatRegularFile(fd, path, info));
  return fd;
}

absl::Status StatRegularFile(const FileDescriptor& file, const std::string& path,
                             struct stat& info) {
  if (fstat(file.get(), &info) != 0) {
    return ErrnoStatus(errno, path, "stat");
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected a regular file, got a ",
                     S_ISDIR(info.st_mode) ? "directory" : "special file"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t bytes_max) {
  CONCUR_ASSIGN_OR_RETURN(FileDescriptor fd, OpenRegularFile(path));
  std::string contents;
  CONCUR_RETURN_IF_ERROR(ReadBlocks(fd.get(), path, [&](absl::string_view block) -> absl::Status {
    if (static_cast<int64_t>(contents.size() + block.size()) > bytes_max) {
      return absl::ResourceExhaustedError(
          absl::StrCat(path, ": larger than the limit of ", bytes_max, " bytes"));
    }
    contents.append(block.data(), block.size());
    return absl::OkStatus();
  }));
  return contents;
}

absl::Status WriteAll(int fd, absl::string_view data, absl::string_view path) {
  while (!data.empty()) {
    const ssize_t put = write(fd, data.data(), data.size());
    if (put < 0) {
      if (errno == EINTR) {
        continue;
      }
      return ErrnoStatus(errno, path, "write");
    }
    data.remove_prefix(static_cast<size_t>(put));
  }
  return absl::OkStatus();
}

absl::Status SyncDirectory(const std::string& path) {
  FileDescriptor fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) {
    return ErrnoStatus(errno, path, "open");
  }
  if (fsync(fd.get()) != 0) {
    return ErrnoStatus(errno, path, "sync");
  }
  return absl::OkStatus();
}

absl::Status WriteFileAtomically(const std::string& path, absl::string_view contents, int mode) {
  static std::atomic<uint64_t> counter{0};
  const std::string temporary = absl::StrCat(path, ".tmp.", getpid(), ".", counter.fetch_add(1));
  FileDescriptor fd(
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, static_cast<mode_t>(mode)));
  if (!fd.valid()) {
    return ErrnoStatus(errno, path, "create");
  }
  absl::Status status = WriteAll(fd.get(), contents, path);
  if (status.ok() && fsync(fd.get()) != 0) {
    status = ErrnoStatus(errno, path, "sync");
  }
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) {
    status = ErrnoStatus(errno, path, "rename");
  }
  if (!status.ok()) {
    unlink(temporary.c_str());
    return status;
  }
  return SyncDirectory(ParentOf(path));
}

absl::Status MakeDirectories(const std::string& path, int mode) {
  std::error_code error;
  const std::filesystem::path target(path);
  if (std::filesystem::is_directory(target, error)) {
    return absl::OkStatus();
  }
  if (target.has_parent_path() && target.parent_path() != target) {
    CONCUR_RETURN_IF_ERROR(MakeDirectories(target.parent_path().string(), mode));
  }
  if (mkdir(path.c_str(), static_cast<mode_t>(mode)) != 0 &&
      !(errno == EEXIST && std::filesystem::is_directory(target, error))) {
    return ErrnoStatus(errno, path, "make directory");
  }
  const absl::Status synced = SyncDirectory(ParentOf(target));
  // A directory that may be written to but not read cannot be synced.
  return absl::IsPermissionDenied(synced) ? absl::OkStatus() : synced;
}

namespace {

constexpr mode_t kOfOthers = S_IRWXG | S_IRWXO;

// Takes the rights of others from an open file or directory.
absl::Status TakeRightsOfOthers(int fd, const std::string& path) {
  struct stat info {};
  if (fstat(fd, &info) != 0) {
    return ErrnoStatus(errno, path, "stat");
  }
  if (info.st_uid != geteuid()) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, ": belongs to the user with the id ", info.st_uid, ", and this program runs as ",
        geteuid(), ": run it as that user, give it to this one (chown -R ", geteuid(), " ", path,
        "), or choose another place"));
  }
  if ((info.st_mode & kOfOthers) == 0) {
    return absl::OkStatus();
  }
  // Some file systems take a change of mode and do nothing.
  if (fchmod(fd, info.st_mode & 07777 & ~kOfOthers) != 0 || fstat(fd, &info) != 0 ||
      (info.st_mode & kOfOthers) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": other users can read it, and its file system keeps it so: choose a ",
                     "directory on another file system"));
  }
  return absl::OkStatus();
}

// True if a directory is empty or holds one of `marks`.
bool IsOwn(const std::string& path, std::initializer_list<absl::string_view> marks) {
  std::error_code error;
  if (std::filesystem::is_empty(path, error) && !error) {
    return true;
  }
  for (const absl::string_view mark : marks) {
    if (std::filesystem::exists(
            std::filesystem::symlink_status(absl::StrCat(path, "/", mark), error))) {
      return true;
    }
  }
  return false;
}

}  // namespace

absl::Status MakePrivateDirectory(const std::string& path,
                                  std::initializer_list<absl::string_view> marks) {
  CONCUR_RETURN_IF_ERROR(MakeDirectories(path, 0700));
  const FileDescriptor fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) {
    return ErrnoStatus(errno, path, "open");
  }
  struct stat info {};
  if (fstat(fd.get(), &info) == 0 && info.st_uid == geteuid() && (info.st_mode & kOfOthers) != 0 &&
      !IsOwn(path, marks)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": other users can enter it, and it holds files that are not Concur's: ",
                     "choose a directory of its own, such as ", path,
                     "/concur, or if nobody else uses it: chmod 700 ", path));
  }
  return TakeRightsOfOthers(fd.get(), path);
}

absl::Status MakePrivateFile(const std::string& path) {
  const FileDescriptor fd(
      open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!fd.valid()) {
    return ErrnoStatus(errno, path, "open");
  }
  struct stat info {};
  if (fstat(fd.get(), &info) == 0 && !S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": expected a regular file"));
  }
  return TakeRightsOfOthers(fd.get(), path);
}

absl::StatusOr<FileDigest> DigestFile(const std::string& path) {
  CONCUR_ASSIGN_OR_RETURN(FileDescriptor fd, OpenRegularFile(path));
  FileDigest result;
  Sha256 hasher;
  CONCUR_RETURN_IF_ERROR(ReadBlocks(fd.get(), path, [&](absl::string_view block) -> absl::Status {
    hasher.Update(block);
    result.bytes += static_cast<int64_t>(block.size());
    return absl::OkStatus();
  }));
  result.digest = hasher.Finish();
  return result;
}

}  // namespace concur
