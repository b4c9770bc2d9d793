// SPDX-License-Identifier: Apache-2.0
#include "tests/power_loss/file_trace.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"

namespace concur::testing {
namespace {

// The files of the traced directory, by names and by descriptors.
class Recorder {
 public:
  explicit Recorder(std::string directory) : directory_(std::move(directory)) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_)) {
      names_[entry.path().string().substr(directory_.size() + 1)] = 0;
    }
    for (auto& [path, number] : names_) {
      number = ++files_;
    }
    names_[""] = 0;
  }

  // "" and true for the traced directory itself; false for paths elsewhere.
  bool IsInside(const char* path, std::string& below) const {
    const std::string normal = std::filesystem::path(path).lexically_normal().string();
    if (normal.compare(0, directory_.size(), directory_) != 0 ||
        (normal.size() > directory_.size() && normal[directory_.size()] != '/')) {
      return false;
    }
    below = normal.size() > directory_.size() ? normal.substr(directory_.size() + 1) : "";
    return true;
  }

  void Opened(int fd, const std::string& path, bool truncates) {
    const bool is_new = !names_.contains(path);
    const FileNumber file = is_new ? Make(FileOp::Kind::kCreate, path) : names_[path];
    descriptors_[fd] = file;
    if (truncates && !is_new) {
      Add({FileOp::Kind::kTruncate, file, path, "", 0, ""});
    }
  }
  FileNumber Make(FileOp::Kind kind, const std::string& path) {
    const FileNumber file = names_[path] = ++files_;
    Add({kind, file, path, "", 0, ""});
    return file;
  }
  void Closed(int fd) { descriptors_.erase(fd); }
  bool Knows(int fd) const { return descriptors_.contains(fd); }

  void Wrote(int fd, const void* data, size_t size, off_t offset) {
    Add({FileOp::Kind::kWrite, descriptors_.at(fd), "", "", static_cast<size_t>(offset),
         std::string(static_cast<const char*>(data), size)});
  }
  void Truncated(int fd, off_t size) {
    Add({FileOp::Kind::kTruncate, descriptors_.at(fd), "", "", static_cast<size_t>(size), ""});
  }
  void Synced(int fd) {
    const FileNumber file = descriptors_.at(fd);
    const auto name = std::find_if(names_.begin(), names_.end(),
                                   [&](const auto& entry) { return entry.second == file; });
    Add({FileOp::Kind::kSync, file, name == names_.end() ? "" : name->first, "", 0, ""});
  }
  void Renamed(const std::string& from, const std::string& to) {
    CONCUR_CHECK(names_.contains(from));  // directories are not renamed
    Add({FileOp::Kind::kRename, names_[from], from, to, 0, ""});
    names_[to] = names_[from];
    names_.erase(from);
  }
  void Linked(const std::string& from, const std::string& to) {
    Add({FileOp::Kind::kLink, names_[from], from, to, 0, ""});
    names_[to] = names_[from];
  }
  void Removed(const std::string& path) {
    Add({FileOp::Kind::kRemove, names_[path], path, "", 0, ""});
    names_.erase(path);
  }

  std::vector<FileOp>& ops() { return ops_; }

 private:
  void Add(FileOp op) { ops_.push_back(std::move(op)); }

  const std::string directory_;
  std::map<std::string, FileNumber> names_;
  std::map<int, FileNumber> descriptors_;
  FileNumber files_ = 0;
  std::vector<FileOp> ops_;
};

std::mutex recorder_mutex;
Recorder* recorder = nullptr;

using RecorderLock = std::lock_guard<std::mutex>;

long OpenAndRecord(const char* path, int flags, mode_t mode) {
  const RecorderLock lock(recorder_mutex);
  const long fd = syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  std::string below;
  if (fd >= 0 && recorder != nullptr && recorder->IsInside(path, below)) {
    recorder->Opened(static_cast<int>(fd), below, (flags & O_TRUNC) != 0);
  }
  return fd;
}

long WriteAndRecord(int fd, const void* data, size_t size, off_t offset, bool at_offset) {
  const RecorderLock lock(recorder_mutex);
  const bool knows = recorder != nullptr && recorder->Knows(fd);
  if (knows && !at_offset) {
    struct stat info {};
    const bool appends = (fcntl(fd, F_GETFL) & O_APPEND) != 0;
    offset = appends && fstat(fd, &info) == 0 ? info.st_size : lseek(fd, 0, SEEK_CUR);
  }
  const long put = at_offset ? syscall(SYS_pwrite64, fd, data, size, offset)
                             : syscall(SYS_write, fd, data, size);
  if (knows && put > 0) {
    recorder->Wrote(fd, data, static_cast<size_t>(put), offset);
  }
  return put;
}

int TruncateAndRecord(int fd, off_t size) {
  const RecorderLock lock(recorder_mutex);
  const long result = syscall(SYS_ftruncate, fd, size);
  if (result == 0 && recorder != nullptr && recorder->Knows(fd)) {
    recorder->Truncated(fd, size);
  }
  return static_cast<int>(result);
}

int RecordSync(int fd) {
  const RecorderLock lock(recorder_mutex);
  if (recorder != nullptr && recorder->Knows(fd)) {
    recorder->Synced(fd);
  }
  return 0;
}

int RenameAndRecord(const char* from, const char* to, unsigned flags) {
  const RecorderLock lock(recorder_mutex);
  const long result = syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags);
  std::string inside_from;
  std::string inside_to;
  if (result == 0 && recorder != nullptr && recorder->IsInside(from, inside_from) &&
      recorder->IsInside(to, inside_to)) {
    recorder->Renamed(inside_from, inside_to);
  }
  return static_cast<int>(result);
}

int RemoveAndRecord(const char* path, int flags) {
  const RecorderLock lock(recorder_mutex);
  const long result = syscall(SYS_unlinkat, AT_FDCWD, path, flags);
  std::string below;
  if (result == 0 && recorder != nullptr && recorder->IsInside(path, below)) {
    recorder->Removed(below);
  }
  return static_cast<int>(result);
}

}  // namespace

FileTrace::FileTrace(const std::string& directory) {
  auto made = std::make_unique<Recorder>(directory);  // reads the directory: before the lock
  const RecorderLock lock(recorder_mutex);
  CONCUR_CHECK(recorder == nullptr);
  recorder = made.release();
}

FileTrace::~FileTrace() { Stop(); }

size_t FileTrace::position() const {
  const RecorderLock lock(recorder_mutex);
  return recorder->ops().size();
}

std::vector<FileOp> FileTrace::Stop() {
  const RecorderLock lock(recorder_mutex);
  std::vector<FileOp> ops;
  if (recorder != nullptr) {
    ops = std::move(recorder->ops());
    delete std::exchange(recorder, nullptr);
  }
  return ops;
}

// The system calls. Under each of the names by which glibc has them.
// NOLINTBEGIN
extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);  // without meaning where nothing is made
  va_end(rest);
  return static_cast<int>(OpenAndRecord(path, flags, mode));
}
int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return static_cast<int>(OpenAndRecord(path, flags, mode));
}
int __open_2(const char* path, int flags) {
  return static_cast<int>(OpenAndRecord(path, flags, 0));
}
int __open64_2(const char* path, int flags) {
  return static_cast<int>(OpenAndRecord(path, flags, 0));
}
int close(int fd) {
  const RecorderLock lock(recorder_mutex);
  if (recorder != nullptr) {
    recorder->Closed(fd);
  }
  return static_cast<int>(syscall(SYS_close, fd));
}
ssize_t write(int fd, const void* data, size_t size) {
  return WriteAndRecord(fd, data, size, 0, false);
}
ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) {
  return WriteAndRecord(fd, data, size, offset, true);
}
ssize_t pwrite64(int fd, const void* data, size_t size, off64_t offset) {
  return WriteAndRecord(fd, data, size, offset, true);
}
int ftruncate(int fd, off_t size) noexcept { return TruncateAndRecord(fd, size); }
int ftruncate64(int fd, off64_t size) noexcept { return TruncateAndRecord(fd, size); }
int fsync(int fd) { return RecordSync(fd); }
int fdatasync(int fd) { return RecordSync(fd); }
int rename(const char* from, const char* to) noexcept { return RenameAndRecord(from, to, 0); }
int renameat2(int /*from_at*/, const char* from, int /*to_at*/, const char* to,
              unsigned flags) noexcept {
  return RenameAndRecord(from, to, flags);
}
int unlink(const char* path) noexcept { return RemoveAndRecord(path, 0); }
int rmdir(const char* path) noexcept { return RemoveAndRecord(path, AT_REMOVEDIR); }
int remove(const char* path) noexcept {
  return unlink(path) == 0 || (errno == EISDIR && rmdir(path) == 0) ? 0 : -1;
}
int link(const char* from, const char* to) noexcept {
  const RecorderLock lock(recorder_mutex);
  const long result = syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
  std::string inside_from;
  std::string inside_to;
  if (result == 0 && recorder != nullptr && recorder->IsInside(from, inside_from) &&
      recorder->IsInside(to, inside_to)) {
    recorder->Linked(inside_from, inside_to);
  }
  return static_cast<int>(result);
}
int mkdir(const char* path, mode_t mode) noexcept {
  const RecorderLock lock(recorder_mutex);
  const long result = syscall(SYS_mkdirat, AT_FDCWD, path, mode);
  std::string below;
  if (result == 0 && recorder != nullptr && recorder->IsInside(path, below)) {
    recorder->Make(FileOp::Kind::kMakeDirectory, below);
  }
  return static_cast<int>(result);
}
// Copies inside the kernel would not be seen: callers read and write instead.
ssize_t copy_file_range(int, off64_t*, int, off64_t*, size_t, unsigned) {
  errno = EXDEV;
  return -1;
}
int ioctl(int fd, unsigned long request, ...) noexcept {
  constexpr unsigned long kClone = 0x40049409;  // FICLONE
  va_list rest;
  va_start(rest, request);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  if (request == kClone) {
    errno = EOPNOTSUPP;
    return -1;
  }
  return static_cast<int>(syscall(SYS_ioctl, fd, request, argument));
}

}  // extern "C"
// NOLINTEND

}  // namespace concur::testing
