// SPDX-License-Identifier: Apache-2.0
#include "tests/worker_machine/machine.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "tests/worker_machine/real_calls.h"

namespace concur::testing {
namespace {

constexpr pid_t kInit = 1;
constexpr std::chrono::milliseconds kTermDelay{1};
constexpr std::chrono::milliseconds kSlowDeath{15};
constexpr std::chrono::milliseconds kSlowSync{3};

// A clone between its start and execve: it runs on its parent's thread and stack.
struct Launching {
  jmp_buf back;
  int output = -1;
  bool started = false;
  Execution execution;
};
thread_local Launching* launching = nullptr;
thread_local int unharmed = 0;

// Apart, since it returns twice.
__attribute__((noinline)) void RunChild(int (*child)(void*), void* argument, Launching* state) {
  launching = state;
  if (setjmp(state->back) == 0) {
    child(argument);
  }
  launching = nullptr;
}

void CloseReally(int& fd) {
  if (fd >= 0) {
    Kernel(SYS_close, fd);
    fd = -1;
  }
}

bool IsBelow(const std::string& path, const std::string& directory) {
  return absl::StartsWith(path, directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

std::string PathOf(int fd) {
  char path[4096];
  const std::string link = absl::StrCat("/proc/self/fd/", fd);
  const long size = Kernel(SYS_readlink, link.c_str(), path, sizeof path);
  return size > 0 ? std::string(path, static_cast<size_t>(size)) : "";
}

}  // namespace

Machine::Unharmed::Unharmed() { ++unharmed; }
Machine::Unharmed::~Unharmed() { --unharmed; }

Machine::Machine(uint64_t seed, std::string directory, FaultRates rates, MachineBug bug,
                 Programs programs)
    : directory_(std::move(directory)),
      proc_(directory_ + "-proc"),
      bug_(bug),
      programs_(std::move(programs)),
      random_(seed, "machine"),
      rates_(rates) {
  CONCUR_CHECK(Kernel(SYS_mkdir, proc_.c_str(), 0700) == 0);
  CONCUR_CHECK(current_.exchange(this) == nullptr);
  thread_ = std::thread([this] { Run(); });
}

Machine::~Machine() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
  current_ = nullptr;
  for (auto& [pid, process] : processes_) {
    CloseReally(process.ended);
    CloseReally(process.output);
    Kernel(SYS_rmdir, absl::StrCat(proc_, "/", pid).c_str());
  }
  Kernel(SYS_rmdir, proc_.c_str());
}

// --- for the test --------------------------------------------------------------------------------

void Machine::StopFaults() {
  const std::lock_guard<std::mutex> lock(mutex_);
  rates_ = {};
}

void Machine::KillWorker() {
  dead_ = true;
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<pid_t> jobs;
  for (auto& [pid, process] : processes_) {
    if (process.parent == getpid()) {
      if (process.adopted) {
        process.parent = kInit;
      } else if (!process.zombie) {
        jobs.push_back(pid);
      }
    }
  }
  for (const pid_t pid : jobs) {
    EndLocked(pid, SIGKILL);  // as they had asked for with PR_SET_PDEATHSIG
  }
  changed_.notify_all();
}

void Machine::Restart() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto it = processes_.begin(); it != processes_.end();) {
    Process& process = it->second;
    if (process.zombie && (process.parent == getpid() || process.parent == kInit)) {
      CloseReally(process.ended);
      Kernel(SYS_rmdir, absl::StrCat(proc_, "/", process.pid).c_str());
      it = processes_.erase(it);
    } else {
      ++it;
    }
  }
  pidfds_.clear();
  dead_ = false;
}

void Machine::MakeUndeletable(const std::string& path) {
  struct stat info {};
  CONCUR_CHECK(Kernel(SYS_newfstatat, AT_FDCWD, path.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0);
  const std::lock_guard<std::mutex> lock(mutex_);
  undeletable_.emplace(info.st_dev, info.st_ino);
}

size_t Machine::Living(const std::string& directory) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<size_t>(
      std::count_if(processes_.begin(), processes_.end(), [&](const auto& entry) {
        return !entry.second.zombie &&
               (directory.empty() || IsBelow(entry.second.directory, directory));
      }));
}

size_t Machine::LivingJobs() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<size_t>(
      std::count_if(processes_.begin(), processes_.end(), [&](const auto& entry) {
        return !entry.second.zombie && !entry.second.adopted && entry.second.parent == getpid();
      }));
}

std::map<std::string, int> Machine::counts() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return counts_;
}

// --- processes -----------------------------------------------------------------------------------

bool Machine::InChild() { return launching != nullptr; }

pid_t Machine::Clone(int (*child)(void*), void* argument, int* pidfd) {
  if (dead_ || Draw(rates_.spawn, "no process can be started")) {
    errno = EAGAIN;
    return -1;
  }
  Launching state;
  RunChild(child, argument, &state);
  Process process;
  process.parent = getpid();
  process.output = state.output;
  process.environment = state.execution.environment;
  process.directory = state.execution.directory;
  process.ended = eventfd(0, EFD_CLOEXEC);
  *pidfd = static_cast<int>(Kernel(SYS_fcntl, process.ended, F_DUPFD_CLOEXEC, 3));
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    process.pid = process.group = next_pid_++;
    pidfds_[*pidfd] = process.pid;
  }
  const pid_t pid = process.pid;
  Start(std::move(process), state.execution);
  if (!state.started) {
    const std::lock_guard<std::mutex> lock(mutex_);
    EndLocked(pid, 127 << 8);
  }
  return pid;
}

long Machine::ChildCall(long number, const long* arguments) {
  switch (number) {
    case SYS_getppid:
      return getpid();
    case SYS_dup3:
      if (arguments[1] == STDOUT_FILENO) {
        launching->output = static_cast<int>(Kernel(SYS_fcntl, arguments[0], F_DUPFD_CLOEXEC, 3));
      }
      return arguments[1];
    case SYS_chdir:
      launching->execution.directory = reinterpret_cast<const char*>(arguments[0]);
      return 0;
    case SYS_execve: {
      const auto* const argv = reinterpret_cast<char* const*>(arguments[1]);
      for (size_t i = 0; argv[i] != nullptr; ++i) {
        launching->execution.argv.emplace_back(argv[i]);
      }
      const auto* const env = reinterpret_cast<char* const*>(arguments[2]);
      for (size_t i = 0; env[i] != nullptr; ++i) {
        launching->execution.environment.append(env[i]).push_back('\0');
      }
      launching->started = true;
      break;
    }
    case SYS_exit_group:
      break;
    default:
      return 0;  // calls about signals, groups and limits
  }
  longjmp(launching->back, 1);
}

void Machine::Start(Process process, const Execution& execution) {
  if (!execution.argv.empty()) {
    const Unharmed job_io;
    process.behaviour = programs_(execution);
    if (!process.behaviour.output.empty()) {
      Kernel(SYS_write, process.output, process.behaviour.output.data(),
             process.behaviour.output.size());
    }
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (process.behaviour.end_after) {
    process.end_time = std::chrono::steady_clock::now() + *process.behaviour.end_after;
    process.end_status = process.behaviour.wait_status;
  }
  for (const Behaviour::Child& born : process.behaviour.children) {
    Process child;
    child.pid = next_pid_++;
    child.parent = process.pid;
    child.group = born.own_session ? child.pid : process.group;
    child.environment = born.cleared_environment ? "" : process.environment;
    child.directory = process.directory;
    child.ended = eventfd(0, EFD_CLOEXEC);
    child.output = static_cast<int>(Kernel(SYS_fcntl, process.output, F_DUPFD_CLOEXEC, 3));
    child.behaviour.dies_slowly = process.behaviour.dies_slowly;
    Kernel(SYS_mkdir, absl::StrCat(proc_, "/", child.pid).c_str(), 0700);
    processes_[child.pid] = std::move(child);
  }
  Kernel(SYS_mkdir, absl::StrCat(proc_, "/", process.pid).c_str(), 0700);
  const pid_t pid = process.pid;
  processes_[pid] = std::move(process);
  if (dead_) {
    EndLocked(pid, SIGKILL);
  }
  changed_.notify_all();
}

void Machine::EndLocked(pid_t pid, int status) {
  Process& process = processes_.at(pid);
  if (process.zombie) {
    return;
  }
  process.zombie = true;
  process.status = status;
  process.end_time.reset();
  if (process.behaviour.kernel_oom) {
    ++oom_kills_;
  }
  CloseReally(process.output);
  const uint64_t one = 1;
  Kernel(SYS_write, process.ended, &one, sizeof one);
  const bool gone = process.parent == kInit;
  std::vector<pid_t> removed;
  for (auto& [other, child] : processes_) {
    if (child.parent == pid) {
      child.adopted = true;
      child.parent = adopts_ && !dead_ ? getpid() : kInit;
      if (child.zombie && child.parent == kInit) {
        removed.push_back(other);
      }
    }
  }
  if (gone) {
    removed.push_back(pid);
  }
  for (const pid_t each : removed) {
    CloseReally(processes_.at(each).ended);
    Kernel(SYS_rmdir, absl::StrCat(proc_, "/", each).c_str());
    processes_.erase(each);
  }
  changed_.notify_all();
}

void Machine::SignalLocked(Process& process, int signal) {
  if (process.zombie || (signal == SIGTERM && process.behaviour.ignores_term)) {
    return;
  }
  if (signal == SIGKILL && !process.behaviour.dies_slowly) {
    EndLocked(process.pid, SIGKILL);
    return;
  }
  if (signal == SIGKILL || signal == SIGTERM) {
    const auto due =
        std::chrono::steady_clock::now() + (signal == SIGKILL ? kSlowDeath : kTermDelay);
    if (!process.end_time || due < *process.end_time) {
      process.end_time = due;
      process.end_status = signal;
    }
    changed_.notify_all();
  }
}

int Machine::Kill(pid_t pid, int signal) {
  if (dead_) {
    return 0;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<pid_t> targets;
  for (const auto& [each, process] : processes_) {
    if (pid < 0 ? process.group == -pid : each == pid) {
      targets.push_back(each);
    }
  }
  if (targets.empty()) {
    errno = ESRCH;
    return -1;
  }
  if (pid > 0 && signal == SIGKILL && bug_ == MachineBug::kOrphanKillLost && !starting_) {
    return 0;
  }
  for (const pid_t each : targets) {
    if (const auto it = processes_.find(each); it != processes_.end()) {
      SignalLocked(it->second, signal);
    }
  }
  return 0;
}

pid_t Machine::Wait(pid_t pid, int* status, int options) {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    const auto it = processes_.find(pid);
    if (it == processes_.end() || it->second.parent != getpid()) {
      errno = ECHILD;
      return -1;
    }
    if (it->second.zombie) {
      if (status != nullptr) {
        *status = bug_ == MachineBug::kExitCodeLost ? 0 : it->second.status;
      }
      CloseReally(it->second.ended);
      Kernel(SYS_rmdir, absl::StrCat(proc_, "/", pid).c_str());
      processes_.erase(it);
      return pid;
    }
    if ((options & WNOHANG) != 0) {
      return 0;
    }
    changed_.wait(lock);
  }
}

std::optional<pid_t> Machine::EndedOf(int pidfd) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = pidfds_.find(pidfd);
  if (known == pidfds_.end()) {
    return std::nullopt;
  }
  const auto it = processes_.find(known->second);
  return it != processes_.end() && it->second.zombie ? known->second : 0;
}

int Machine::OpenPidfd(pid_t pid) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = processes_.find(pid);
  if (it == processes_.end()) {
    errno = ESRCH;
    return -1;
  }
  return static_cast<int>(Kernel(SYS_fcntl, it->second.ended, F_DUPFD_CLOEXEC, 3));
}

void Machine::Closed(int fd) {
  const std::lock_guard<std::mutex> lock(mutex_);
  pidfds_.erase(fd);
}

std::optional<std::string> Machine::ProcFile(const std::string& path) const {
  if (path == "/proc/vmstat") {
    const std::lock_guard<std::mutex> lock(mutex_);
    return absl::StrCat("oom_kill ", oom_kills_, "\n");
  }
  absl::string_view rest = path;
  if (!absl::ConsumePrefix(&rest, "/proc/")) {
    return std::nullopt;
  }
  pid_t pid = 0;
  const size_t slash = rest.find('/');
  if (slash == absl::string_view::npos || !absl::SimpleAtoi(rest.substr(0, slash), &pid)) {
    return std::nullopt;
  }
  const absl::string_view name = rest.substr(slash + 1);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = processes_.find(pid);
  if (it == processes_.end()) {
    return std::nullopt;
  }
  const Process& process = it->second;
  if (name == "stat") {
    return absl::StrCat(pid, " (a job) ", process.zombie ? "Z " : "S ", process.parent, " ",
                        process.group, " 0");
  }
  if (name == "statm") {
    const int64_t pages = process.behaviour.memory_bytes / sysconf(_SC_PAGESIZE);
    return absl::StrCat(pages, " ", pages, " 0 0 0 0 0");
  }
  return name == "environ" ? process.environment : "";
}

std::string Machine::AdoptedChildren() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::string list;
  for (const auto& [pid, process] : processes_) {
    if (process.adopted && process.parent == getpid()) {
      absl::StrAppend(&list, pid, " ");
    }
  }
  return list;
}

std::string Machine::DirectoryOf(pid_t pid) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = processes_.find(pid);
  return it == processes_.end() || it->second.zombie ? "" : it->second.directory;
}

std::string Machine::ProcDirectory() {
  return bug_ == MachineBug::kLeftoversUnseen && starting_ ? "/proc/sys" : proc_;
}

void Machine::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!closing_) {
    const auto now = std::chrono::steady_clock::now();
    std::vector<std::pair<pid_t, int>> due;
    auto next = now + std::chrono::seconds(1);
    for (const auto& [pid, process] : processes_) {
      if (process.end_time && *process.end_time <= now) {
        due.emplace_back(pid, process.end_status);
      } else if (process.end_time) {
        next = std::min(next, *process.end_time);
      }
    }
    for (const auto& [pid, status] : due) {
      if (processes_.contains(pid)) {
        EndLocked(pid, status);
      }
    }
    if (due.empty()) {
      changed_.wait_until(lock, next);
    }
  }
}

// --- files ---------------------------------------------------------------------------------------

bool Machine::Draw(double rate, const char* what) {
  if (rate <= 0 || unharmed > 0) {
    return false;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!random_.Chance(rate)) {
    return false;
  }
  ++counts_[what];
  return true;
}

bool Machine::Has(const std::string& path) const {
  return unharmed == 0 && IsBelow(path, directory_);
}

int Machine::OnNewName(const std::string& path) {
  if (!Has(path)) {
    return 0;
  }
  return dead_ ? EIO : Draw(rates_.full, "no space for a name") ? ENOSPC : 0;
}

int Machine::OnOpen(const std::string& path) {
  return Has(path) && !absl::StrContains(path, "/spool/") &&
                 Draw(rates_.unreadable, "a file cannot be opened")
             ? EIO
             : 0;
}

int Machine::OnRemove(const std::string& path, dev_t device, ino_t inode) {
  if (!Has(path)) {
    return 0;
  }
  if (dead_ || Draw(rates_.stuck, "a removal fails")) {
    return EIO;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  return undeletable_.contains({device, inode}) ? EPERM : 0;
}

int Machine::OnRename(const std::string& from) {
  if (!Has(from)) {
    return 0;
  }
  return dead_ || Draw(rates_.stuck, "a rename fails") ? EIO : 0;
}

ssize_t Machine::OnRead(int fd, size_t size) {
  if (Draw(rates_.unreadable, "a read fails")) {
    const std::string path = PathOf(fd);
    return Has(path) && !absl::StrContains(path, "/spool/") ? -EIO : static_cast<ssize_t>(size);
  }
  return Draw(rates_.partial, "a read is short") && size > 1 && Has(PathOf(fd))
             ? static_cast<ssize_t>(size / 2)
             : static_cast<ssize_t>(size);
}

ssize_t Machine::OnWrite(int fd, size_t size) {
  if (dead_) {
    return Has(PathOf(fd)) ? -EIO : static_cast<ssize_t>(size);
  }
  if (bug_ == MachineBug::kSpoolNotWritten && absl::StrContains(PathOf(fd), "/spool/")) {
    return -ENOSPC;
  }
  if (Draw(rates_.full, "no space for bytes")) {
    return Has(PathOf(fd)) ? -ENOSPC : static_cast<ssize_t>(size);
  }
  if (Draw(rates_.partial, "a write is short or interrupted") && size > 1 && Has(PathOf(fd))) {
    return size % 2 == 0 ? static_cast<ssize_t>(size / 2) : -EINTR;
  }
  return static_cast<ssize_t>(size);
}

int Machine::OnSync(int fd) {
  if (dead_) {
    return Has(PathOf(fd)) ? EIO : 0;
  }
  if (Draw(rates_.sync_slow, "a sync is slow")) {
    std::this_thread::sleep_for(kSlowSync);
  }
  if (!Draw(rates_.sync_lost, "a sync fails") || !Has(PathOf(fd))) {
    return 0;
  }
  // The kernel marks the pages clean all the same: what they held is never written, and the next
  // sync succeeds.
  struct stat info {};
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
    Kernel(SYS_ftruncate, fd, info.st_size / 2);
  }
  return EIO;
}

}  // namespace concur::testing
