#include "worker/process.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/argv.h"
#include "base/status_macros.h"

// clone under the C library's other name for it: ThreadSanitizer takes "clone" for a fork, whose
// child has memory of its own, and would mistake the child's books for the parent's.
extern "C" int CloneUnwatched(int (*function)(void*), void* stack, int flags, void* argument,
                              ...) __asm__("__clone");

namespace concur::worker {
namespace {

// Stack of the child between clone and exec; it makes system calls only.
constexpr size_t kStackBytes = size_t{64} * 1024;
constexpr size_t kSignalSetBytes = 8;  // as the kernel has it
constexpr char kEnterDirectory[] = "enter the run directory";

// What parent and child share while the parent waits in clone.
struct Launch {
  const char* program;
  char* const* argv;
  char* const* env;
  const char* directory;
  int null_fd;
  int output_fd;
  pid_t parent;
  int64_t file_bytes_max;
  // Set by a child that failed.
  int error = 0;
  const char* step = "";
};

// What Child is compiled without: it runs on the parent's memory, where a sanitizer keeps books for
// the parent's thread.
#define CONCUR_BARE __attribute__((no_sanitize("address", "thread", "undefined")))

// A system call, not the C library's function: a sanitizer would take note of that one as the
// parent's. Sets the parent's errno, which the parent does not look at.
template <typename... Arguments>
CONCUR_BARE void Try(Launch* launch, const char* step, long number, Arguments... arguments) {
  if (syscall(number, arguments...) < 0) {
    launch->error = errno;
    launch->step = step;
    syscall(SYS_exit_group, 127);
  }
}

// Runs in the child, in the parent's memory, while the parent's thread waits: system calls only.
CONCUR_BARE int Child(void* argument) {
  auto* launch = static_cast<Launch*>(argument);
  // A signal that the parent ignores would stay ignored in the program. All zeros is the kernel's
  // form of "default action"; SIGKILL and SIGSTOP cannot be set and are refused.
  const uint64_t standard[8] = {};
  for (int number = 1; number < NSIG; ++number) {
    syscall(SYS_rt_sigaction, number, standard, nullptr, kSignalSetBytes);
  }
  Try(launch, "set the parent-death signal", SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (syscall(SYS_getppid) != launch->parent) {
    syscall(SYS_exit_group, 127);  // the parent died before the line above
  }
  Try(launch, "make a process group", SYS_setpgid, 0, 0);
  Try(launch, "redirect standard input", SYS_dup3, launch->null_fd, 0, 0);
  Try(launch, "redirect standard output", SYS_dup3, launch->output_fd, 1, 0);
  Try(launch, "redirect standard error", SYS_dup3, launch->output_fd, 2, 0);
  Try(launch, kEnterDirectory, SYS_chdir, launch->directory);
  if (launch->file_bytes_max > 0) {
    const uint64_t limit[2] = {static_cast<uint64_t>(launch->file_bytes_max),
                               static_cast<uint64_t>(launch->file_bytes_max)};
    Try(launch, "limit the size of files", SYS_prlimit64, 0, RLIMIT_FSIZE, limit, nullptr);
  }
  const uint64_t none = 0;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, kSignalSetBytes);
  Try(launch, "run", SYS_execve, launch->program, launch->argv, launch->env);
  return 127;
}

// `fd`, or a copy of it that is none of the standard streams' numbers.
absl::StatusOr<FileDescriptor> AboveStandard(FileDescriptor fd) {
  if (fd.get() > 2) {
    return fd;
  }
  FileDescriptor copy(fcntl(fd.get(), F_DUPFD_CLOEXEC, 3));
  if (!copy.valid()) {
    return ErrnoStatus(errno, "pipe", "duplicate");
  }
  return copy;
}

// A stack of its own for each thread that starts processes, with a guard page below.
class ChildStack {
 public:
  ChildStack()
      : base_(mmap(nullptr, kStackBytes + kGuardBytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0)) {
    if (base_ != MAP_FAILED) {
      mprotect(base_, kGuardBytes, PROT_NONE);
    }
  }
  ~ChildStack() {
    if (base_ != MAP_FAILED) {
      munmap(base_, kStackBytes + kGuardBytes);
    }
  }
  ChildStack(const ChildStack&) = delete;
  ChildStack& operator=(const ChildStack&) = delete;

  bool valid() const { return base_ != MAP_FAILED; }
  void* top() const { return static_cast<char*>(base_) + kGuardBytes + kStackBytes; }

 private:
  static constexpr size_t kGuardBytes = 4096;
  void* base_;
};

int NullDevice() {
  static const int fd = [] {
    const FileDescriptor opened(open("/dev/null", O_RDONLY | O_CLOEXEC));
    return fcntl(opened.get(), F_DUPFD_CLOEXEC, 3);
  }();
  return fd;
}

absl::Status StartError(const Launch& launch) {
  const std::string where = launch.step == kEnterDirectory ? launch.directory : launch.program;
  if (launch.error == ENOENT) {
    // execve's ENOENT for a file that exists means the interpreter of its first line.
    struct stat info {};
    if (stat(launch.program, &info) == 0) {
      return absl::NotFoundError(absl::StrCat(
          where, ": ", launch.step, ": the interpreter named in its first line was not found"));
    }
  }
  if (launch.error == ENOEXEC) {
    return absl::InvalidArgumentError(absl::StrCat(
        where, ": ", launch.step, ": not a program that this machine can run (exec format error); ",
        "a script needs a first line such as \"#!/bin/sh\""));
  }
  if (launch.error == E2BIG) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": ", launch.step, ": arguments and environment are too long"));
  }
  return ErrnoStatus(launch.error, where, launch.step);
}

}  // namespace

absl::StatusOr<Process> StartProcess(const Command& command) {
  static thread_local ChildStack stack;
  if (!stack.valid()) {
    return absl::ResourceExhaustedError("no memory to start a process");
  }
  int pipe_fds[2];
  if (pipe2(pipe_fds, O_CLOEXEC) != 0) {
    return ErrnoStatus(errno, command.program, "make a pipe");
  }
  Process process;
  process.output = FileDescriptor(pipe_fds[0]);
  CONCUR_ASSIGN_OR_RETURN(const FileDescriptor write_end,
                          AboveStandard(FileDescriptor(pipe_fds[1])));
  fcntl(process.output.get(), F_SETFL, O_NONBLOCK);

  const std::vector<char*> argv = ArgvOf(command.argv);
  const std::vector<char*> env = ArgvOf(command.env);
  Launch launch{command.program.c_str(),
                argv.data(),
                env.data(),
                command.directory.c_str(),
                NullDevice(),
                write_end.get(),
                getpid(),
                command.file_bytes_max};
  // No handler of this process may run in the child, which shares its memory.
  sigset_t all;
  sigset_t previous;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &previous);
  int pidfd = -1;
  const pid_t pid = CloneUnwatched(Child, stack.top(),
                                   CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &launch, &pidfd);
  const int clone_error = errno;
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  if (pid < 0) {
    return ErrnoStatus(clone_error == EAGAIN ? ENOMEM : clone_error, command.program,
                       "start a process");
  }
  process.pid = pid;
  process.pidfd = FileDescriptor(pidfd);
  if (launch.error != 0) {
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return StartError(launch);
  }
  return process;
}

absl::StatusOr<std::string> FindProgram(absl::string_view name, absl::string_view path,
                                        absl::string_view directory) {
  const auto is_program = [](const std::string& file) {
    struct stat info {};
    return stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
           access(file.c_str(), X_OK) == 0;
  };
  if (name.empty()) {
    return absl::InvalidArgumentError("the command's program is an empty string");
  }
  if (absl::StrContains(name, '/')) {
    std::string file =
        absl::StartsWith(name, "/") ? std::string(name) : absl::StrCat(directory, "/", name);
    if (!is_program(file)) {
      return absl::NotFoundError(
          absl::StrCat("program \"", name, "\" does not exist or is not executable"));
    }
    return file;
  }
  for (const absl::string_view part : absl::StrSplit(path, ':', absl::SkipEmpty())) {
    std::string file = absl::StrCat(part, "/", name);
    if (is_program(file)) {
      return file;
    }
  }
  return absl::NotFoundError(
      absl::StrCat("program \"", name, "\" was not found on this worker; searched ", path));
}

}  // namespace concur::worker
