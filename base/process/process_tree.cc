// SPDX-License-Identifier: Apache-2.0
#include "base/process/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/file.h"

namespace concur::process {
namespace {

// The start of a file of /proc; "" when it cannot be read.
std::string ReadProc(const std::string& path, size_t bytes_max = size_t{64} * 1024) {
  FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    return "";
  }
  std::string contents(bytes_max, '\0');
  size_t size = 0;
  while (size < bytes_max) {
    const ssize_t got = read(fd.get(), contents.data() + size, bytes_max - size);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      break;
    }
    size += static_cast<size_t>(got);
  }
  contents.resize(size);
  return contents;
}

// pid (name) state ppid pgrp …; the name may hold anything, so look for the last parenthesis.
bool ReadStat(pid_t pid, ProcessInfo& info) {
  const std::string stat = ReadProc(absl::StrCat("/proc/", pid, "/stat"), 1024);
  const size_t close = stat.rfind(')');
  if (close == std::string::npos) {
    return false;
  }
  const std::vector<absl::string_view> fields =
      absl::StrSplit(absl::string_view(stat).substr(close + 1), ' ', absl::SkipEmpty());
  info.pid = pid;
  return fields.size() > 2 && fields[0].size() == 1 && absl::SimpleAtoi(fields[1], &info.parent) &&
         absl::SimpleAtoi(fields[2], &info.group) && (info.state = fields[0][0], true);
}

struct PageCounts {
  int64_t own = 0;
  int64_t shared = 0;
};

PageCounts ReadStatm(pid_t pid) {
  const std::string statm = ReadProc(absl::StrCat("/proc/", pid, "/statm"), 256);
  const std::vector<absl::string_view> fields = absl::StrSplit(statm, ' ');
  int64_t resident = 0;
  int64_t shared = 0;
  if (fields.size() < 3 || !absl::SimpleAtoi(fields[1], &resident) ||
      !absl::SimpleAtoi(fields[2], &shared)) {
    return {};
  }
  return {std::max<int64_t>(0, resident - shared), shared};
}

bool IsBelow(absl::string_view path, absl::string_view directory) {
  return absl::ConsumePrefix(&path, directory) && (path.empty() || path[0] == '/');
}

// The run directory in a process's environment; "" if it has none.
std::string RunDirectoryOf(pid_t pid) {
  const std::string environment = ReadProc(absl::StrCat("/proc/", pid, "/environ"), 1 << 20);
  const std::string prefix = absl::StrCat(kRunDirectoryVariable, "=");
  for (absl::string_view entry : absl::StrSplit(environment, '\0')) {
    if (absl::ConsumePrefix(&entry, prefix)) {
      return std::string(entry);
    }
  }
  return "";
}

// "" when it is none, or cannot be read.
std::string ReadLink(const std::string& link) {
  char target[PATH_MAX];
  const ssize_t size = readlink(link.c_str(), target, sizeof target);
  return std::string(target, static_cast<size_t>(std::max<ssize_t>(size, 0)));
}

// True if a process carries a run directory at or below `directory` in its environment, or works
// there.
bool BelongsTo(pid_t pid, absl::string_view directory) {
  return IsBelow(RunDirectoryOf(pid), directory) ||
         IsBelow(ReadLink(absl::StrCat("/proc/", pid, "/cwd")), directory);
}

// Links of descriptors ("socket:[123]") of the sockets that listen on the port.
std::set<std::string> ListenersOn(uint16_t port) {
  constexpr size_t kTableBytesMax = size_t{1} << 24;  // listening sockets come first
  constexpr absl::string_view kListens = "0A";
  const std::string suffix = absl::StrFormat(":%04X", port);
  std::set<std::string> links;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    const std::string lines = ReadProc(table, kTableBytesMax);
    for (const absl::string_view line : absl::StrSplit(lines, '\n')) {
      const std::vector<absl::string_view> fields = absl::StrSplit(line, ' ', absl::SkipEmpty());
      if (fields.size() > 9 && absl::EndsWith(fields[1], suffix) && fields[3] == kListens) {
        links.insert(absl::StrCat("socket:[", fields[9], "]"));
      }
    }
  }
  return links;
}

bool HoldsOneOf(pid_t pid, const std::set<std::string>& links) {
  std::error_code error;
  std::filesystem::directory_iterator it(absl::StrCat("/proc/", pid, "/fd"), error);
  for (; !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    if (links.contains(ReadLink(it->path().string()))) {
      return true;
    }
  }
  return false;
}

// The children that this process's first thread has: the kernel gives it all adopted orphans, while
// jobs are children of the threads that started them.
std::vector<pid_t> AdoptedChildren() {
  // Read whenever a job ends, so it stays open. A read gives some pids, the last one none.
  static const std::string* const path =
      new std::string(absl::StrCat("/proc/self/task/", getpid(), "/children"));
  static const int fd = open(path->c_str(), O_RDONLY | O_CLOEXEC);
  std::string list;
  std::array<char, 4096> piece;
  ssize_t got = 0;
  while ((got = pread(fd, piece.data(), piece.size(), static_cast<off_t>(list.size()))) > 0) {
    list.append(piece.data(), static_cast<size_t>(got));
  }
  if (got < 0) {
    list = ReadProc(*path);
  }
  std::vector<pid_t> children;
  for (absl::string_view field : absl::StrSplit(list, ' ', absl::SkipEmpty())) {
    pid_t pid = 0;
    if (absl::SimpleAtoi(field, &pid)) {
      children.push_back(pid);
    }
  }
  return children;
}

// Number of times that the kernel has killed for memory since boot; 0 when unknown.
int64_t KernelOomKills() {
  const std::string vmstat = ReadProc("/proc/vmstat");
  for (absl::string_view line : absl::StrSplit(vmstat, '\n')) {
    int64_t count = 0;
    if (absl::ConsumePrefix(&line, "oom_kill ") && absl::SimpleAtoi(line, &count)) {
      return count;
    }
  }
  return 0;
}

int OpenPidfd(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

}  // namespace

std::vector<ProcessInfo> ListProcesses() {
  std::vector<ProcessInfo> processes;
  DIR* directory = opendir("/proc");
  if (directory == nullptr) {
    return processes;
  }
  // One thread has this stream: readdir is safe.
  while (const dirent* entry = readdir(directory)) {  // NOLINT(concurrency-mt-unsafe)
    ProcessInfo info;
    pid_t pid = 0;
    if (absl::SimpleAtoi(entry->d_name, &pid) && ReadStat(pid, info)) {
      processes.push_back(info);
    }
  }
  closedir(directory);
  std::sort(processes.begin(), processes.end(),
            [](const ProcessInfo& a, const ProcessInfo& b) { return a.pid < b.pid; });
  return processes;
}

std::map<pid_t, pid_t> RootsOf(const std::vector<ProcessInfo>& processes,
                               const std::vector<pid_t>& roots) {
  std::map<pid_t, pid_t> root_of;
  const std::set<pid_t> root_set(roots.begin(), roots.end());
  for (const ProcessInfo& process : processes) {
    if (root_set.contains(process.group)) {
      root_of[process.pid] = process.group;
    } else if (root_set.contains(process.pid)) {
      root_of[process.pid] = process.pid;
    }
  }
  // Children may have smaller pids than their parents once pids wrap; repeat until nothing changes.
  for (bool changed = true; changed;) {
    changed = false;
    for (const ProcessInfo& process : processes) {
      const auto parent = root_of.find(process.parent);
      if (parent != root_of.end() && !root_of.contains(process.pid)) {
        root_of[process.pid] = parent->second;
        changed = true;
      }
    }
  }
  return root_of;
}

std::map<pid_t, int64_t> MemoryOfTrees(const std::vector<ProcessInfo>& processes,
                                       const std::vector<pid_t>& roots) {
  const int64_t page_bytes = sysconf(_SC_PAGESIZE);
  std::map<pid_t, PageCounts> pages;
  for (const auto& [pid, root] : RootsOf(processes, roots)) {
    const PageCounts counts = ReadStatm(pid);
    PageCounts& sum = pages[root];
    sum.own += counts.own;
    sum.shared = std::max(sum.shared, counts.shared);
  }
  std::map<pid_t, int64_t> memory;
  for (const auto& [root, counts] : pages) {
    memory[root] = (counts.own + counts.shared) * page_bytes;
  }
  return memory;
}

void AdoptOrphans() { prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

int KillAdoptedOrphans(absl::string_view run_directory) {
  // A killed orphan hands its own children to us: look again until nothing is found.
  constexpr int kRoundsMax = 64;
  if (AdoptedChildren().empty()) {
    return 0;
  }
  // One thread at a time: what another one reaps, its number may be somebody else's.
  static Mutex mu;
  MutexLock lock(mu);
  std::set<pid_t> killed;
  for (int round = 0; round < kRoundsMax; ++round) {
    bool found = false;
    for (const pid_t pid : AdoptedChildren()) {
      ProcessInfo info;
      if (!ReadStat(pid, info)) {
        continue;
      }
      if (info.state == 'Z') {
        // Not a child that somebody else in this process waits for: those stay in our group.
        if (info.group != getpgrp()) {
          waitpid(pid, nullptr, WNOHANG);
        }
      } else if (!killed.contains(pid) && BelongsTo(pid, run_directory)) {
        kill(pid, SIGKILL);
        killed.insert(pid);
        FileDescriptor pidfd(OpenPidfd(pid));
        pollfd wait{pidfd.get(), POLLIN, 0};
        if (pidfd.valid()) {
          poll(&wait, 1, 100);
        }
        waitpid(pid, nullptr, WNOHANG);
        found = true;
      }
    }
    if (!found) {
      break;
    }
  }
  return static_cast<int>(killed.size());
}

absl::Status KillLeftovers(absl::string_view runs_directory, absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  for (;;) {
    std::vector<pid_t> alive;
    for (const ProcessInfo& process : ListProcesses()) {
      if (process.pid != getpid() && process.state != 'Z' &&
          BelongsTo(process.pid, runs_directory)) {
        kill(process.pid, SIGKILL);
        alive.push_back(process.pid);
      }
    }
    if (alive.empty()) {
      return absl::OkStatus();
    }
    if (absl::Now() >= deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat("processes of an earlier worker in ", runs_directory,
                       " do not end even when killed: ", absl::StrJoin(alive, ", ")));
    }
    for (const pid_t pid : alive) {
      FileDescriptor pidfd(OpenPidfd(pid));
      pollfd wait{pidfd.get(), POLLIN, 0};
      if (pidfd.valid()) {
        poll(&wait, 1, 100);
      }
    }
  }
}

bool AnotherAttemptListens(uint16_t port, absl::string_view run_directory) {
  const std::set<std::string> listeners = ListenersOn(port);
  bool found = false;
  if (listeners.empty()) {
    return found;
  }
  for (const ProcessInfo& process : ListProcesses()) {
    const std::string directory = RunDirectoryOf(process.pid);
    if (!directory.empty() && HoldsOneOf(process.pid, listeners)) {
      if (IsBelow(directory, run_directory)) {
        return false;
      }
      found = true;
    }
  }
  return found;
}

ProcessTable::ProcessTable() : oom_kills_seen_(KernelOomKills()) {}

std::shared_ptr<const std::vector<ProcessInfo>> ProcessTable::Recent(absl::Duration age_max) {
  MutexLock lock(mu_);
  if (const absl::Time now = clock_.Now(); now - look_time_ > age_max) {
    processes_ = std::make_shared<const std::vector<ProcessInfo>>(ListProcesses());
    look_time_ = now;
  }
  return processes_;
}

bool ProcessTable::KernelHasKilledForMemory() {
  MutexLock lock(mu_);
  const int64_t kills = KernelOomKills();
  const bool has_killed = kills > oom_kills_seen_;
  oom_kills_seen_ = std::max(oom_kills_seen_, kills);  // 0: it could not be read
  return has_killed;
}

}  // namespace concur::process
