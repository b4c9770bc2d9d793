// SPDX-License-Identifier: Apache-2.0
// The system calls of this test program: while there is a Machine, they are its. Under each of the
// names by which glibc has them.
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/worker_machine/machine.h"
#include "tests/worker_machine/real_calls.h"

namespace concur::testing {
namespace {

// The worker keeps the list of its children open for as long as the process lives.
std::atomic<int> children_fd = -1;

Machine* Here() { return Machine::current(); }

int Fail(int error) {
  errno = error;
  return -1;
}

std::string PathAt(int directory, const char* path) {
  if (path[0] == '/') {
    return path;
  }
  char base[4096];
  const std::string link =
      directory == AT_FDCWD ? "/proc/self/cwd" : absl::StrCat("/proc/self/fd/", directory);
  const long size = Kernel(SYS_readlink, link.c_str(), base, sizeof base);
  return size > 0 ? absl::StrCat(absl::string_view(base, static_cast<size_t>(size)), "/", path)
                  : path;
}

int FileOf(const std::string& contents) {
  const int fd = memfd_create("proc", MFD_CLOEXEC);
  Kernel(SYS_write, fd, contents.data(), contents.size());
  Kernel(SYS_lseek, fd, 0, SEEK_SET);
  return fd;
}

int OpenAt(int directory, const char* path, int flags, mode_t mode) {
  Machine* const machine = Here();
  if (machine != nullptr) {
    const std::string whole = PathAt(directory, path);
    if (absl::StartsWith(whole, "/proc/self/task/")) {
      children_fd = FileOf("");
      return children_fd;
    }
    if (absl::StartsWith(whole, "/proc/")) {
      const std::optional<std::string> contents = machine->ProcFile(whole);
      return contents ? FileOf(*contents) : Fail(ENOENT);
    }
    const bool changes = (flags & (O_CREAT | O_TRUNC)) != 0;
    const int error = changes ? machine->OnNewName(whole) : machine->OnOpen(whole);
    if (error != 0) {
      return Fail(error);
    }
  }
  return static_cast<int>(Kernel(SYS_openat, directory, path, flags, mode));
}

int RemoveAt(int directory, const char* path, int flags) {
  Machine* const machine = Here();
  if (machine != nullptr) {
    const std::string whole = PathAt(directory, path);
    struct stat info {};
    const long found = Kernel(SYS_newfstatat, directory, path, &info, AT_SYMLINK_NOFOLLOW);
    const bool fits = found == 0 && S_ISDIR(info.st_mode) == ((flags & AT_REMOVEDIR) != 0);
    const int error = fits ? machine->OnRemove(whole, info.st_dev, info.st_ino) : 0;
    if (error != 0) {
      return Fail(error);
    }
    if (fits && machine->bug() == MachineBug::kRemovalPretended && machine->Has(whole) &&
        absl::StrContains(whole, "/runs/")) {
      return 0;
    }
  }
  return static_cast<int>(Kernel(SYS_unlinkat, directory, path, flags));
}

int RenameAt(int from_at, const char* from, int to_at, const char* to, unsigned flags) {
  if (Machine* const machine = Here(); machine != nullptr) {
    if (const int error = machine->OnRename(PathAt(from_at, from)); error != 0) {
      return Fail(error);
    }
  }
  return static_cast<int>(Kernel(SYS_renameat2, from_at, from, to_at, to, flags));
}

// The error of a call that makes a name, or 0.
int NewName(int directory, const char* path) {
  Machine* const machine = Here();
  return machine == nullptr ? 0 : machine->OnNewName(PathAt(directory, path));
}

ssize_t Read(int fd, void* buffer, size_t size, std::optional<off_t> offset) {
  Machine* const machine = Here();
  if (machine != nullptr && fd == children_fd) {
    const std::string list = machine->AdoptedChildren();
    const size_t at = std::min(list.size(), static_cast<size_t>(offset.value_or(0)));
    const size_t part = std::min(size, list.size() - at);
    memcpy(buffer, list.data() + at, part);
    return static_cast<ssize_t>(part);
  }
  if (machine != nullptr) {
    const ssize_t allowed = machine->OnRead(fd, size);
    if (allowed < 0) {
      if (machine->bug() != MachineBug::kReadErrorHidden) {
        return Fail(static_cast<int>(-allowed));
      }
      const long got = offset ? Kernel(SYS_pread64, fd, buffer, size, *offset)
                              : Kernel(SYS_read, fd, buffer, size);
      if (got > 0) {
        memset(buffer, 0, static_cast<size_t>(got));
      }
      return got;
    }
    size = static_cast<size_t>(allowed);
  }
  return offset ? Kernel(SYS_pread64, fd, buffer, size, *offset)
                : Kernel(SYS_read, fd, buffer, size);
}

ssize_t Write(int fd, const void* data, size_t size) {
  if (Machine* const machine = Here(); machine != nullptr) {
    const ssize_t allowed = machine->OnWrite(fd, size);
    if (allowed < 0) {
      const bool is_hidden = machine->bug() == MachineBug::kFullDiskHidden ||
                             machine->bug() == MachineBug::kSpoolNotWritten;
      return is_hidden && allowed == -ENOSPC ? static_cast<ssize_t>(size)
                                             : Fail(static_cast<int>(-allowed));
    }
    size = static_cast<size_t>(allowed);
  }
  return Kernel(SYS_write, fd, data, size);
}

int Sync(int fd) {
  Machine* const machine = Here();
  if (machine == nullptr) {
    return 0;
  }
  const int error = machine->OnSync(fd);
  return error == 0 || machine->bug() == MachineBug::kSyncErrorHidden ? 0 : Fail(error);
}

pid_t Wait(pid_t pid, int* status, int options, rusage* usage) {
  if (usage != nullptr) {
    *usage = {};
  }
  Machine* const machine = Here();
  return machine != nullptr ? machine->Wait(pid, status, options)
                            : static_cast<pid_t>(Kernel(SYS_wait4, pid, status, options, usage));
}

}  // namespace

// NOLINTBEGIN
extern "C" {

int MachineClone(int (*function)(void*), void* stack, int flags, void* argument,
                 ...) __asm__("__clone");
int MachineClone(int (*function)(void*), void* /*stack*/, int /*flags*/, void* argument, ...) {
  va_list rest;
  va_start(rest, argument);
  int* const pidfd = va_arg(rest, int*);
  va_end(rest);
  return Here() != nullptr ? Here()->Clone(function, argument, pidfd) : Fail(ENOSYS);
}

long syscall(long number, ...) noexcept {
  long arguments[6];
  va_list rest;
  va_start(rest, number);
  for (long& argument : arguments) {
    argument = va_arg(rest, long);
  }
  va_end(rest);
  if (Machine* const machine = Here(); machine != nullptr) {
    if (Machine::InChild()) {
      return machine->ChildCall(number, arguments);
    }
    if (number == SYS_pidfd_open) {
      return machine->OpenPidfd(static_cast<pid_t>(arguments[0]));
    }
  }
  return Kernel(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                arguments[5]);
}

int kill(pid_t pid, int signal) noexcept {
  return Here() != nullptr ? Here()->Kill(pid, signal)
                           : static_cast<int>(Kernel(SYS_kill, pid, signal));
}
pid_t waitpid(pid_t pid, int* status, int options) { return Wait(pid, status, options, nullptr); }
pid_t wait4(pid_t pid, int* status, int options, rusage* usage) noexcept {
  return Wait(pid, status, options, usage);
}
int waitid(idtype_t type, id_t id, siginfo_t* info, int options) {
  if (Here() != nullptr && type == P_PIDFD) {
    if (const std::optional<pid_t> ended = Here()->EndedOf(static_cast<int>(id))) {
      *info = {};
      info->si_pid = *ended;
      return 0;
    }
  }
  return static_cast<int>(Kernel(SYS_waitid, type, id, info, options, nullptr));
}
int prctl(int option, ...) noexcept {
  if (option == PR_SET_CHILD_SUBREAPER && Here() != nullptr) {
    Here()->Adopt();
    return 0;
  }
  long arguments[4];
  va_list rest;
  va_start(rest, option);
  for (long& argument : arguments) {
    argument = va_arg(rest, long);
  }
  va_end(rest);
  return static_cast<int>(
      Kernel(SYS_prctl, option, arguments[0], arguments[1], arguments[2], arguments[3]));
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);  // without meaning where nothing is made
  va_end(rest);
  return OpenAt(AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return OpenAt(AT_FDCWD, path, flags, mode);
}
int openat(int directory, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return OpenAt(directory, path, flags, mode);
}
int openat64(int directory, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return OpenAt(directory, path, flags, mode);
}
int __open_2(const char* path, int flags) { return OpenAt(AT_FDCWD, path, flags, 0); }
int __open64_2(const char* path, int flags) { return OpenAt(AT_FDCWD, path, flags, 0); }
int close(int fd) {
  if (Here() != nullptr) {
    Here()->Closed(fd);
  }
  return static_cast<int>(Kernel(SYS_close, fd));
}
DIR* opendir(const char* path) {
  static auto* const real = RealCall<DIR*(const char*)>("opendir");
  if (Here() != nullptr && strcmp(path, "/proc") == 0) {
    return real(Here()->ProcDirectory().c_str());
  }
  return real(path);
}
ssize_t readlink(const char* path, char* buffer, size_t size) noexcept {
  int pid = 0;
  if (Here() != nullptr && sscanf(path, "/proc/%d/cwd", &pid) == 1) {
    const std::string directory = Here()->DirectoryOf(pid);
    const size_t part = std::min(size, directory.size());
    memcpy(buffer, directory.data(), part);
    return part == 0 ? Fail(ENOENT) : static_cast<ssize_t>(part);
  }
  return Kernel(SYS_readlink, path, buffer, size);
}
ssize_t read(int fd, void* buffer, size_t size) { return Read(fd, buffer, size, std::nullopt); }
ssize_t pread(int fd, void* buffer, size_t size, off_t offset) {
  return Read(fd, buffer, size, offset);
}
ssize_t pread64(int fd, void* buffer, size_t size, off64_t offset) {
  return Read(fd, buffer, size, offset);
}
ssize_t write(int fd, const void* data, size_t size) { return Write(fd, data, size); }
int fsync(int fd) { return Sync(fd); }
int fdatasync(int fd) { return Sync(fd); }
int rename(const char* from, const char* to) noexcept {
  return RenameAt(AT_FDCWD, from, AT_FDCWD, to, 0);
}
int renameat2(int from_at, const char* from, int to_at, const char* to, unsigned flags) noexcept {
  return RenameAt(from_at, from, to_at, to, flags);
}
int unlink(const char* path) noexcept { return RemoveAt(AT_FDCWD, path, 0); }
int unlinkat(int directory, const char* path, int flags) noexcept {
  return RemoveAt(directory, path, flags);
}
int rmdir(const char* path) noexcept { return RemoveAt(AT_FDCWD, path, AT_REMOVEDIR); }
int remove(const char* path) noexcept {
  return unlink(path) == 0 || (errno == EISDIR && rmdir(path) == 0) ? 0 : -1;
}
int mkdir(const char* path, mode_t mode) noexcept {
  const int error = NewName(AT_FDCWD, path);
  return error != 0 ? Fail(error) : static_cast<int>(Kernel(SYS_mkdirat, AT_FDCWD, path, mode));
}
int symlink(const char* target, const char* path) noexcept {
  const int error = NewName(AT_FDCWD, path);
  return error != 0 ? Fail(error) : static_cast<int>(Kernel(SYS_symlinkat, target, AT_FDCWD, path));
}
int link(const char* from, const char* to) noexcept {
  const int error = NewName(AT_FDCWD, to);
  return error != 0 ? Fail(error)
                    : static_cast<int>(Kernel(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0));
}
// Copies inside the kernel would have no faults: callers read and write instead.
ssize_t copy_file_range(int, off64_t*, int, off64_t*, size_t, unsigned) { return Fail(EXDEV); }
int ioctl(int fd, unsigned long request, ...) noexcept {
  constexpr unsigned long kClone = 0x40049409;  // FICLONE
  va_list rest;
  va_start(rest, request);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  return request == kClone ? Fail(EOPNOTSUPP)
                           : static_cast<int>(Kernel(SYS_ioctl, fd, request, argument));
}

}  // extern "C"
// NOLINTEND

}  // namespace concur::testing
