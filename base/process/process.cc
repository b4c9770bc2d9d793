// SPDX-License-Identifier: Apache-2.0
#include "base/process/process.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/argv.h"
#include "base/status_macros.h"

// clone under the C library's other name for it: ThreadSanitizer takes "clone" for a fork, whose
// child has memory of its own, and would mistake the child's books for the parent's.
extern "C" int CloneUnwatched(int (*function)(void*), void* stack, int flags, void* argument,
                              ...) __asm__("__clone");

namespace concur::process {
namespace {

// Stack of the child between clone and exec; it makes system calls only.
constexpr size_t kStackBytes = size_t{64} * 1024;
constexpr size_t kSignalSetBytes = 8;  // as the kernel has it
constexpr int kSignals = 64;           // real-time ones included
constexpr rlim_t kOpenFilesMax = 65'536;
constexpr char kEnterDirectory[] = "enter the run directory";
constexpr char kMapUser[] = "map its user into a namespace";
constexpr char kMountFiles[] = "mount its own /tmp, /var/tmp and /dev/shm";

// Signal action as the kernel takes and gives it; the handler comes first. All zeros is its
// form of "default action".
using SignalAction = std::array<uint64_t, 8>;

// Texts that the setup of a job's own files needs, made before the clone.
struct NamespacePlan {
  std::string temporary;
  std::string shared_options;
  std::string user_map;  // "": no user namespace is needed
  std::string group_map;
};

// Data that parent and child share while the parent waits in clone.
struct Launch {
  const char* program;  // null: nothing is run, the child ends after its preparations
  char* const* argv;
  char* const* env;
  const char* directory;
  int input_fd;
  int output_fd;
  int error_fd;
  int hidden_fd = -1;  // stays open in the program; -1: none
  pid_t parent;
  int64_t file_bytes_max;
  const rlimit* open_files;
  const int* signals;  // those that have another action than the default one here
  size_t signal_count;
  const int* entry_fds;  // for the control groups that it moves into
  size_t entries;
  const NamespacePlan* plan;  // null: no namespaces
  // Set by a child that failed.
  int error = 0;
  const char* step = "";
};

// Compiles Child without sanitizers: it runs on the parent's memory, where they keep records for
// the parent's thread.
#define CONCUR_BARE __attribute__((no_sanitize("address", "thread", "undefined")))

// A system call, not the C library's function: a sanitizer would take note of that one as the
// parent's. Sets the parent's errno, which the parent does not look at.
template <typename... Arguments>
CONCUR_BARE long Try(Launch* launch, const char* step, long number, Arguments... arguments) {
  const long result = syscall(number, arguments...);
  if (result < 0) {
    launch->error = errno;
    launch->step = step;
    syscall(SYS_exit_group, 127);
  }
  return result;
}

// Writes a file of /proc/self.
CONCUR_BARE void WriteSelf(Launch* launch, const char* step, const char* path, const char* text,
                           size_t size) {
  const long fd = Try(launch, step, SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC);
  Try(launch, step, SYS_write, fd, text, size);
  syscall(SYS_close, fd);
}

CONCUR_BARE void MakeFilesPrivate(Launch* launch) {
  const NamespacePlan& plan = *launch->plan;
  if (!plan.user_map.empty()) {
    // The job stays its user; nobody else has a number in there.
    WriteSelf(launch, kMapUser, "/proc/self/setgroups", "deny", 4);
    WriteSelf(launch, kMapUser, "/proc/self/uid_map", plan.user_map.data(), plan.user_map.size());
    WriteSelf(launch, kMapUser, "/proc/self/gid_map", plan.group_map.data(), plan.group_map.size());
  }
  // Later mounts on this machine show in here, and not the other way round.
  Try(launch, kMountFiles, SYS_mount, nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr);
  Try(launch, kMountFiles, SYS_mount, "tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV,
      plan.shared_options.data());
  Try(launch, kMountFiles, SYS_mount, plan.temporary.c_str(), "/tmp", nullptr, MS_BIND, nullptr);
  Try(launch, kMountFiles, SYS_mount, plan.temporary.c_str(), "/var/tmp", nullptr, MS_BIND,
      nullptr);
}

// Runs in the child, in the parent's memory, while the parent's thread waits: system calls only.
CONCUR_BARE int Child(void* argument) {
  auto* launch = static_cast<Launch*>(argument);
  // A signal that the parent ignores would stay ignored in the program.
  const SignalAction standard = {};
  for (size_t i = 0; i < launch->signal_count; ++i) {
    syscall(SYS_rt_sigaction, launch->signals[i], &standard, nullptr, kSignalSetBytes);
  }
  // First: what the job does from here on counts.
  for (size_t i = 0; i < launch->entries; ++i) {
    Try(launch, "enter the job's control group", SYS_write, launch->entry_fds[i], "0", size_t{1});
  }
  if (launch->plan != nullptr) {
    MakeFilesPrivate(launch);
  }
  Try(launch, "set the parent-death signal", SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (syscall(SYS_getppid) != launch->parent) {
    syscall(SYS_exit_group, 127);  // the parent died before the line above
  }
  Try(launch, "make a process group", SYS_setpgid, 0, 0);
  Try(launch, "redirect standard input", SYS_dup3, launch->input_fd, 0, 0);
  Try(launch, "redirect standard output", SYS_dup3, launch->output_fd, 1, 0);
  Try(launch, "redirect standard error", SYS_dup3, launch->error_fd, 2, 0);
  if (launch->hidden_fd >= 0) {
    Try(launch, "hand over arguments", SYS_fcntl, launch->hidden_fd, F_SETFD, 0);
  }
  Try(launch, kEnterDirectory, SYS_chdir, launch->directory);
  if (launch->file_bytes_max > 0) {
    const uint64_t limit[2] = {static_cast<uint64_t>(launch->file_bytes_max),
                               static_cast<uint64_t>(launch->file_bytes_max)};
    Try(launch, "limit the size of files", SYS_prlimit64, 0, RLIMIT_FSIZE, limit, nullptr);
  }
  if (launch->program == nullptr) {
    syscall(SYS_exit_group, 0);
  }
  Try(launch, "limit open files", SYS_prlimit64, 0, RLIMIT_NOFILE, launch->open_files, nullptr);
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

// `out` is the read end, non-blocking.
absl::Status MakePipe(const std::string& program, FileDescriptor* out, FileDescriptor* in) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) {
    return ErrnoStatus(errno, program, "make a pipe");
  }
  *out = FileDescriptor(fds[0]);
  fcntl(out->get(), F_SETFL, O_NONBLOCK);
  CONCUR_ASSIGN_OR_RETURN(*in, AboveStandard(FileDescriptor(fds[1])));
  return absl::OkStatus();
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
  void* bottom() const { return static_cast<char*>(base_) + kGuardBytes; }
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

// Limit of open files of this process before RaiseOpenFiles.
const rlimit& OwnOpenFiles() {
  static const rlimit limit = [] {
    rlimit now{};
    getrlimit(RLIMIT_NOFILE, &now);
    return now;
  }();
  return limit;
}

// The signals whose action is not the default one. Looked up once: to ask for all of them, or to
// reset all in each child, takes 64 system calls.
const std::vector<int>& OwnSignals() {
  static const auto* const signals = [] {
    auto* found = new std::vector<int>();
    for (int number = 1; number <= kSignals; ++number) {
      SignalAction action = {};
      // Not sigaction(), which hides the C library's own signals.
      if (syscall(SYS_rt_sigaction, number, nullptr, &action, kSignalSetBytes) == 0 &&
          action[0] != 0) {
        found->push_back(number);
      }
    }
    return found;
  }();
  return *signals;
}

absl::Status StartError(const Launch& launch) {
  if (launch.program == nullptr) {
    return ErrnoStatus(launch.error, launch.directory, launch.step);
  }
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

// With the namespaces from the start: a child that borrows memory cannot leave its user's later.
int CloneFlags(const Launch& launch) {
  const NamespacePlan* plan = launch.plan;
  return CLONE_VM | CLONE_VFORK | CLONE_PIDFD | (plan == nullptr ? 0 : CLONE_NEWNS | CLONE_NEWIPC) |
         (plan == nullptr || plan->user_map.empty() ? 0 : CLONE_NEWUSER);
}

// clone3 starts the child in its control group: to move it there takes a lock that may wait for
// all CPUs, 6 to 25 ms where nothing was moved lately. -1 with ENOSYS where there is no clone3.
CONCUR_BARE pid_t CloneIntoGroup(Launch* launch, const ChildStack& stack, int group, int* pidfd) {
#if defined(__x86_64__)
  clone_args arguments{};
  arguments.flags = static_cast<uint64_t>(CloneFlags(*launch)) | CLONE_INTO_CGROUP;
  arguments.pidfd = reinterpret_cast<uint64_t>(pidfd);
  arguments.exit_signal = SIGCHLD;
  arguments.stack = reinterpret_cast<uint64_t>(stack.bottom());
  arguments.stack_size = kStackBytes;
  arguments.cgroup = static_cast<uint64_t>(group);
  long result = SYS_clone3;
  // The child returns from the call on a stack of its own, so it may not return to C++ code.
  asm volatile(
      "syscall\n\t"
      "testq %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "movq %[argument], %%rdi\n\t"
      "callq *%[function]\n\t"
      "hlt\n"
      "1:"
      : "+a"(result)
      : "D"(&arguments), "S"(sizeof arguments), [function] "r"(&Child), [argument] "r"(launch)
      : "rcx", "r11", "memory", "cc");
  if (result < 0) {
    errno = static_cast<int>(-result);
    return -1;
  }
  return static_cast<pid_t>(result);
#else
  errno = ENOSYS;
  return -1;
#endif
}

// In `group`'s control group, if it is not null.
pid_t CloneChild(Launch* launch, const ChildStack& stack, const JobGroup* group, int* pidfd) {
  static std::atomic<bool> cannot_start_in_group = false;
  if (group != nullptr && group->directory_fd() >= 0 && !cannot_start_in_group) {
    const pid_t pid = CloneIntoGroup(launch, stack, group->directory_fd(), pidfd);
    if (pid >= 0 || errno == EAGAIN || errno == ENOMEM) {
      return pid;
    }
    cannot_start_in_group = true;  // an old kernel, or a filter of system calls
  }
  if (group != nullptr) {
    launch->entry_fds = group->entry_fds().data();
    launch->entries = group->entry_fds().size();
  }
  return CloneUnwatched(Child, stack.top(), CloneFlags(*launch) | SIGCHLD, launch, pidfd);
}

// Clones and waits until the child has run its program, or failed to.
absl::Status Begin(Launch* launch, const JobGroup* group, Process* process) {
  launch->signals = OwnSignals().data();
  launch->signal_count = OwnSignals().size();
  static thread_local ChildStack stack;
  if (!stack.valid()) {
    return absl::ResourceExhaustedError("no memory to start a process");
  }
  // No handler of this process may run in the child, which shares its memory.
  sigset_t all;
  sigset_t previous;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &previous);
  int pidfd = -1;
  const pid_t pid = CloneChild(launch, stack, group, &pidfd);
  const int clone_error = errno;
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  if (pid < 0) {
    return ErrnoStatus(clone_error == EAGAIN ? ENOMEM : clone_error,
                       launch->program == nullptr ? launch->directory : launch->program,
                       "start a process");
  }
  process->pid = pid;
  process->pidfd = FileDescriptor(pidfd);
  if (launch->error != 0 || launch->program == nullptr) {
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return launch->error == 0 ? absl::OkStatus() : StartError(*launch);
  }
  return absl::OkStatus();
}

// Root needs no namespace of users to mount.
NamespacePlan MakePlan(const PrivateFiles& files) {
  NamespacePlan plan;
  plan.temporary = files.temporary;
  plan.shared_options = "mode=1777";
  if (files.shared_bytes_max > 0) {
    absl::StrAppend(&plan.shared_options, ",size=", files.shared_bytes_max);
  }
  if (geteuid() != 0) {
    plan.user_map = absl::StrCat(geteuid(), " ", geteuid(), " 1");
    plan.group_map = absl::StrCat(getegid(), " ", getegid(), " 1");
  }
  return plan;
}

}  // namespace

absl::StatusOr<Process> StartProcess(const Command& command) {
  Process process;
  CONCUR_RETURN_IF_ERROR(MakePipe(command.program, &process.output, &process.output_end));
  if (command.error_apart) {
    CONCUR_RETURN_IF_ERROR(MakePipe(command.program, &process.error, &process.error_end));
  }

  std::vector<std::string> arguments = command.argv;
  FileDescriptor hidden;
  if (!command.hidden.empty()) {
    CONCUR_ASSIGN_OR_RETURN(hidden, AboveStandard(FileDescriptor(memfd_create("", MFD_CLOEXEC))));
    CONCUR_RETURN_IF_ERROR(WriteAll(hidden.get(), command.hidden, "text in memory"));
    lseek(hidden.get(), 0, SEEK_SET);
    absl::StrAppend(&arguments[command.hidden_at], hidden.get());
  }
  const std::vector<char*> argv = ArgvOf(arguments);
  const std::vector<char*> env = ArgvOf(command.env);
  std::optional<NamespacePlan> plan;
  if (!command.files.temporary.empty()) {
    plan = MakePlan(command.files);
  }
  Launch launch{};
  launch.program = command.program.c_str();
  launch.argv = argv.data();
  launch.env = env.data();
  launch.directory = command.directory.c_str();
  launch.input_fd = command.streams.input_fd >= 0 ? command.streams.input_fd : NullDevice();
  launch.output_fd =
      command.streams.output_fd >= 0 ? command.streams.output_fd : process.output_end.get();
  launch.error_fd = (command.error_apart ? process.error_end : process.output_end).get();
  launch.hidden_fd = hidden.get();
  launch.parent = getpid();
  launch.file_bytes_max = command.file_bytes_max;
  launch.open_files = &OwnOpenFiles();
  launch.plan = plan.has_value() ? &*plan : nullptr;
  CONCUR_RETURN_IF_ERROR(Begin(&launch, command.group, &process));
  return process;
}

void RaiseOpenFiles() {
  rlimit raised = OwnOpenFiles();
  raised.rlim_cur = std::max(raised.rlim_cur, std::min<rlim_t>(raised.rlim_max, kOpenFilesMax));
  setrlimit(RLIMIT_NOFILE, &raised);
}

absl::Status TryPrivateFiles(const std::string& temporary) {
  const NamespacePlan plan = MakePlan({.temporary = temporary});
  Launch launch{};
  launch.directory = temporary.c_str();
  launch.input_fd = NullDevice();
  launch.output_fd = NullDevice();
  launch.error_fd = NullDevice();
  launch.parent = getpid();
  launch.plan = &plan;
  Process process;
  return Begin(&launch, nullptr, &process);
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

bool EnvPatternMatches(absl::string_view pattern, absl::string_view name) {
  return absl::ConsumeSuffix(&pattern, "*")
             ? absl::StartsWith(name, pattern) && !absl::StartsWith(name, "CONCUR_")
             : name == pattern;
}

std::vector<std::string> EnvironmentList(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> list;
  list.reserve(variables.size());
  for (const auto& [name, value] : variables) {
    list.push_back(absl::StrCat(name, "=", value));
  }
  return list;
}

std::map<std::string, std::string> BaseEnvironment(const std::vector<std::string>& patterns) {
  std::map<std::string, std::string> environment;
  // Read once at the start, before there are other threads.
  for (const char* name : {"HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER", "LD_LIBRARY_PATH"}) {
    if (const char* value = std::getenv(name)) {  // NOLINT(concurrency-mt-unsafe)
      environment[name] = value;
    }
  }
  for (char** entry = patterns.empty() ? nullptr : environ; entry != nullptr && *entry != nullptr;
       ++entry) {
    const std::pair<std::string, std::string> variable =
        absl::StrSplit(*entry, absl::MaxSplits('=', 1));
    if (std::any_of(patterns.begin(), patterns.end(), [&variable](const std::string& pattern) {
          return EnvPatternMatches(pattern, variable.first);
        })) {
      environment.insert(variable);
    }
  }
  const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe)
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  environment["PATH"] =
      absl::StrCat(error ? "" : absl::StrCat(self.parent_path().string(), ":"),
                   path == nullptr || *path == '\0' ? "/usr/local/bin:/usr/bin:/bin" : path);
  return environment;
}

}  // namespace concur::process
