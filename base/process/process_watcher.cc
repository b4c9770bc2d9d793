// SPDX-License-Identifier: Apache-2.0
#include "base/process/process_watcher.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/check.h"
#include "base/log.h"
#include "base/process/cgroup.h"
#include "base/process/job_disk.h"

namespace concur::process {
namespace {

// Bytes taken from one process before the others get their turn, and after its end.
constexpr int64_t kTurnBytes = int64_t{256} * 1024;
constexpr int64_t kTailTurnBytes = int64_t{1} << 20;
constexpr int64_t kTailEndBytes = int64_t{8} << 20;  // from a process that has ended
constexpr size_t kLastBytes = 1024;
constexpr absl::Duration kSleepMax = absl::Minutes(1);
constexpr uint64_t kWakerKey = 0;

uint64_t EndKey(uint64_t number) { return number * 4; }
uint64_t OutputKey(uint64_t number) { return number * 4 + 1; }
uint64_t ErrorKey(uint64_t number) { return number * 4 + 2; }

bool HasEnded(const Process& process) {
  siginfo_t info{};
  return waitid(P_PIDFD, static_cast<id_t>(process.pidfd.get()), &info,
                WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid != 0;
}

// Signals the processes of a group but its leader; false when there are none.
bool SignalFollowers(pid_t group, int signal) {
  bool any = false;
  for (const ProcessInfo& process : ListProcesses()) {
    if (process.group == group && process.pid != group && process.state != 'Z') {
      any = kill(process.pid, signal) == 0 || any;
    }
  }
  return any;
}

int64_t OwnPeakMemory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace

struct ProcessWatcher::Watched {
  Watched(Process started, WatchOptions limits, std::function<void(ProcessEnd)> callback)
      : process(std::move(started)),
        options(std::move(limits)),
        on_end(std::move(callback)),
        log(options.log_path, options.log_bytes_max, options.secrets) {}

  // True when the kernel counts and limits its memory.
  bool HasMemoryGroup() const { return process.group != nullptr && process.group->has_memory(); }

  Process process;
  WatchOptions options;
  std::function<void(ProcessEnd)> on_end;
  LogFile log;
  absl::Time start;
  absl::Time deadline;  // end of the time-out, or of the grace after SIGTERM
  KillCause killed_for = KillCause::kNone;
  bool killed = false;  // SIGKILL was sent
  int64_t memory_bytes_peak = 0;
  int64_t disk_bytes_peak = 0;
  int64_t tail_offset = 0;
  std::string note;  // that on_measure gave, as it is in the log
};

ProcessWatcher::ProcessWatcher(absl::Duration memory_interval, ProcessTable& table)
    : memory_interval_(memory_interval), table_(table), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  CONCUR_CHECK(epoll_.valid());
  Register(waker_.fd(), EPOLLIN, kWakerKey);
  thread_ = std::thread([this] { Run(); });
}

void ProcessWatcher::Close() {
  {
    MutexLock lock(mu_);
    closing_ = true;
  }
  waker_.Wake();
  if (thread_.joinable()) {
    thread_.join();
  }
}

ProcessWatcher::~ProcessWatcher() {
  Close();
  TakeAdded();  // those that were never looked at
  for (const auto& [number, watched] : watched_) {
    kill(-watched->process.pid, SIGKILL);
    while (waitpid(watched->process.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    if (watched->process.group != nullptr) {
      watched->process.group->Kill();
    }
    KillAdoptedOrphans(watched->options.run_directory);
  }
}

void ProcessWatcher::Watch(uint64_t number, Process process, WatchOptions options,
                           std::function<void(ProcessEnd)> on_end) {
  CONCUR_CHECK(number != 0);
  auto watched =
      std::make_unique<Watched>(std::move(process), std::move(options), std::move(on_end));
  watched->start = clock_.Now();
  watched->deadline = watched->start + watched->options.timeout;
  const absl::Time first_look = std::min(watched->deadline, watched->start + memory_interval_);
  const int pidfd = watched->process.pidfd.get();
  const int output = watched->process.output.get();
  const int error = watched->process.error.get();
  bool sleeps_too_long = false;
  {
    MutexLock lock(mu_);
    added_.emplace_back(number, std::move(watched));
    sleeps_too_long = first_look < asleep_until_;
  }
  // Output and end wake the watcher, which takes in what was added first: a process that ends soon
  // costs no waking of its own. Its end comes last: after that the descriptors are closed.
  Register(output, EPOLLIN, OutputKey(number));
  if (error >= 0) {
    Register(error, EPOLLIN, ErrorKey(number));
  }
  Register(pidfd, EPOLLIN | EPOLLONESHOT, EndKey(number));
  if (sleeps_too_long) {
    waker_.Wake();
  }
}

void ProcessWatcher::Register(int fd, uint32_t events, uint64_t key) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = key;
  CONCUR_CHECK(epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0);
}

void ProcessWatcher::Stop(uint64_t number, bool at_once) {
  {
    MutexLock lock(mu_);
    stops_.emplace_back(number, at_once);
  }
  waker_.Wake();
}

// Closing would not do: a child that another thread has cloned holds the descriptor's file until it
// runs its program, and epoll would report that again and again. An end is reported once (ONESHOT).
void ProcessWatcher::Unregister(int fd) { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

void ProcessWatcher::TakeAdded() {
  std::vector<std::pair<uint64_t, std::unique_ptr<Watched>>> added;
  {
    MutexLock lock(mu_);
    asleep_until_ = absl::InfinitePast();
    added.swap(added_);
  }
  for (auto& [number, watched] : added) {
    watched_[number] = std::move(watched);
  }
}

void ProcessWatcher::TakeStops() {
  std::vector<std::pair<uint64_t, bool>> stops;
  {
    MutexLock lock(mu_);
    stops.swap(stops_);
  }
  TakeAdded();  // after the stops: each follows the process that it means
  for (const auto& [number, at_once] : stops) {
    const auto it = watched_.find(number);
    if (it != watched_.end()) {
      Terminate(*it->second, KillCause::kStop, at_once, clock_.Now());
    }
  }
}

absl::Duration ProcessWatcher::Sleep() {
  const absl::Time now = clock_.Now();
  const absl::Duration wait = std::clamp(UntilNextDeadline(now), absl::ZeroDuration(), kSleepMax);
  MutexLock lock(mu_);
  if (closing_ || !added_.empty()) {
    return absl::ZeroDuration();
  }
  asleep_until_ = now + wait;
  return wait;
}

void ProcessWatcher::Run() {
  std::array<epoll_event, 64> events;
  for (;;) {
    {
      MutexLock lock(mu_);
      if (closing_) {
        break;
      }
    }
    const int timeout =
        static_cast<int>(absl::ToInt64Milliseconds(absl::Ceil(Sleep(), absl::Milliseconds(1))));
    const int count = epoll_wait(epoll_.get(), events.data(), events.size(), timeout);
    TakeAdded();
    for (int i = 0; i < count; ++i) {
      const uint64_t key = events[static_cast<size_t>(i)].data.u64;
      if (key == kWakerKey) {
        waker_.Clear();
        continue;
      }
      const auto it = watched_.find(key / 4);
      if (it == watched_.end()) {
        continue;
      }
      if (key == EndKey(key / 4)) {
        End(key / 4);
      } else {
        ReadOutput(*it->second, key == ErrorKey(key / 4), kTurnBytes);
      }
    }
    TakeStops();
    const absl::Time now = clock_.Now();
    EnforceDeadlines(now);
    MeasureMemory(now);
    MeasureDisk(now);
    ReadTails(now);
  }
}

void ProcessWatcher::ReadOutput(Watched& watched, bool is_error, int64_t bytes_max) {
  std::array<char, 65536> buffer;
  const int fd = (is_error ? watched.process.error : watched.process.output).get();
  while (bytes_max > 0) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got > 0) {
      const absl::string_view data(buffer.data(), static_cast<size_t>(got));
      watched.log.Append(data, is_error);
      if (watched.options.on_output) {
        watched.options.on_output(data, is_error);
      }
      bytes_max -= got;
      if (static_cast<size_t>(got) < buffer.size()) {
        return;  // the pipe is empty
      }
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else {
      return;
    }
  }
}

void ProcessWatcher::ReadTail(Watched& watched, int64_t bytes_max) {
  if (!watched.options.on_tail) {
    return;
  }
  // The process may have put anything there: a link or a FIFO is not read.
  const FileDescriptor fd(
      open(watched.options.tail_path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return;
  }
  const int64_t end = std::min<int64_t>(info.st_size, watched.tail_offset + bytes_max);
  std::array<char, 65536> buffer;
  while (watched.tail_offset < end) {
    const size_t want = std::min(buffer.size(), static_cast<size_t>(end - watched.tail_offset));
    const ssize_t got = pread(fd.get(), buffer.data(), want, watched.tail_offset);
    if (got <= 0) {
      return;
    }
    watched.tail_offset += got;
    watched.options.on_tail(absl::string_view(buffer.data(), static_cast<size_t>(got)));
  }
}

void ProcessWatcher::ReadTails(absl::Time now) {
  if (now < next_tails_) {
    return;
  }
  for (const auto& [number, watched] : watched_) {
    if (now - watched->start >= memory_interval_) {
      ReadTail(*watched, kTailTurnBytes);
    }
  }
  next_tails_ = now + std::max(memory_interval_, 50 * (clock_.Now() - now));
}

void ProcessWatcher::End(uint64_t number) {
  const auto it = watched_.find(number);
  const std::unique_ptr<Watched> watched = std::move(it->second);
  watched_.erase(it);
  const pid_t pid = watched->process.pid;
  // The process is a zombie until it is reaped below, so that its group's id is still its own.
  kill(-pid, SIGKILL);
  ProcessEnd end;
  rusage usage{};
  while (wait4(pid, &end.wait_status, 0, &usage) < 0) {
    if (errno != EINTR) {
      end.wait_status = SIGKILL;  // somebody else has reaped it: nothing says that it succeeded
      break;
    }
  }
  last_end_ = clock_.Now();
  end.run_time = last_end_ - watched->start;
  if (watched->process.group != nullptr && !watched->process.group->Kill()) {
    LogWarning("processes of a job do not end even when killed",
               {{"pids", absl::StrJoin(watched->process.group->Pids(), ", ")}});
  }
  KillAdoptedOrphans(watched->options.run_directory);
  ReadOutput(*watched, /*is_error=*/false, kTurnBytes);
  ReadOutput(*watched, /*is_error=*/true, kTurnBytes);
  ReadTail(*watched, kTailEndBytes);
  Unregister(watched->process.output.get());
  Unregister(watched->process.error.get());
  // A long job may have written since it was measured; a short one can hardly write much.
  if (watched->options.disk_bytes_max > 0 && watched->killed_for == KillCause::kNone &&
      end.run_time >= memory_interval_ && TakesTooMuchDisk(*watched, {})) {
    watched->killed_for = KillCause::kDisk;
  }
  end.killed_for = watched->killed_for;
  end.memory_bytes_peak = watched->memory_bytes_peak;
  if (watched->HasMemoryGroup()) {
    AddGroupMemory(*watched, end);
  } else if (WIFSIGNALED(end.wait_status) && WTERMSIG(end.wait_status) == SIGKILL &&
             !watched->killed) {
    end.kernel_oom = table_.KernelHasKilledForMemory();
  }
  // A child that borrows its parent's memory before exec starts with the parent's peak; a figure
  // that is not above ours says nothing.
  const int64_t peak = int64_t{usage.ru_maxrss} * 1024;
  if (!watched->HasMemoryGroup() && peak > OwnPeakMemory()) {
    end.memory_bytes_peak = std::max(end.memory_bytes_peak, peak);
  }
  end.disk_bytes_peak = watched->disk_bytes_peak;
  watched->log.EndOutput();
  end.log_last = absl::StrReplaceAll(watched->log.Last(kLastBytes), {{watched->note, ""}});
  if (watched->options.on_close) {
    const std::string line = watched->options.on_close();
    watched->log.AppendNote(line.empty() ? "" : absl::StrCat("\n", line, "\n"));
  }
  end.log_bytes = watched->log.bytes_seen();
  end.log_status = watched->log.Finish();
  watched->on_end(std::move(end));
}

// The kernel has counted these for the job alone: nothing is blamed on another job's memory.
void ProcessWatcher::AddGroupMemory(const Watched& watched, ProcessEnd& end) {
  JobGroup& group = *watched.process.group;
  end.memory_bytes_peak = std::max(end.memory_bytes_peak, group.MemoryPeak());
  if (end.killed_for == KillCause::kNone && group.OomKills() > 0) {
    if (group.ReachedMemoryMax()) {
      end.killed_for = KillCause::kMemory;
    } else {
      end.kernel_oom = true;
    }
  }
}

void ProcessWatcher::Terminate(Watched& watched, KillCause cause, bool at_once, absl::Time now) {
  if (HasEnded(watched.process)) {
    return;  // by itself: epoll is about to say so
  }
  if (watched.killed_for == KillCause::kNone) {
    watched.killed_for = cause;
  } else if (!at_once) {
    return;  // already on its way out
  }
  if (at_once) {
    kill(-watched.process.pid, SIGKILL);
    // It may have left its group. It has not been waited for: the number is still its own.
    kill(watched.process.pid, SIGKILL);
    watched.killed = true;
    watched.deadline = absl::InfiniteFuture();
  } else {
    if (!watched.options.spares_leader || !SignalFollowers(watched.process.pid, SIGTERM)) {
      kill(-watched.process.pid, SIGTERM);
    }
    // A stopped process could not answer SIGTERM.
    kill(-watched.process.pid, SIGCONT);
    watched.deadline = now + watched.options.grace;
  }
}

void ProcessWatcher::Kill(Watched& watched, KillCause cause, absl::Time now) {
  if (!HasEnded(watched.process)) {
    watched.killed_for = cause;  // whatever it was asked to end for before
    Terminate(watched, cause, /*at_once=*/true, now);
  }
}

void ProcessWatcher::EnforceDeadlines(absl::Time now) {
  for (const auto& [number, watched] : watched_) {
    if (watched->deadline > now) {
      continue;
    }
    const bool grace_over = watched->killed_for != KillCause::kNone;
    Terminate(*watched, KillCause::kTimeout, grace_over, now);
  }
}

void ProcessWatcher::MeasureMemory(absl::Time now) {
  if (now < next_measure_ || watched_.empty()) {
    return;
  }
  std::map<pid_t, Watched*> by_pid;
  std::vector<pid_t> roots;
  bool measured = false;
  for (const auto& [number, watched] : watched_) {
    if (now - watched->start < memory_interval_) {
      continue;
    }
    measured = true;
    if (watched->HasMemoryGroup()) {
      MeasureGroup(*watched, now);
    } else {
      by_pid[watched->process.pid] = watched.get();
      roots.push_back(watched->process.pid);
    }
  }
  if (!measured) {
    return;  // again when the watcher next wakes
  }
  if (!roots.empty()) {
    MeasureTrees(by_pid, roots, now);
  }
  const absl::Duration cost = clock_.Now() - now;
  // On a machine with very many processes, measuring takes at most 2 % of this thread's time.
  next_measure_ = now + std::max(memory_interval_, 50 * cost);
}

void ProcessWatcher::MeasureGroup(Watched& watched, absl::Time now) {
  JobGroup& group = *watched.process.group;
  watched.memory_bytes_peak = std::max(watched.memory_bytes_peak, group.Memory());
  // Version 1 kills one process of a group that reached its limit, and the rest may wait for it.
  if (!watched.killed && group.OomKills() > 0 && group.ReachedMemoryMax()) {
    Kill(watched, KillCause::kMemory, now);
  }
}

void ProcessWatcher::MeasureTrees(const std::map<pid_t, Watched*>& by_pid,
                                  const std::vector<pid_t>& roots, absl::Time now) {
  for (const auto& [root, bytes] : MemoryOfTrees(*table_.Recent(memory_interval_ / 2), roots)) {
    Watched& watched = *by_pid.at(root);
    watched.memory_bytes_peak = std::max(watched.memory_bytes_peak, bytes);
    if (watched.options.memory_bytes_max > 0 && bytes > watched.options.memory_bytes_max &&
        !watched.killed) {
      Kill(watched, KillCause::kMemory, now);
    }
  }
}

bool ProcessWatcher::TakesTooMuchDisk(Watched& watched, const std::vector<pid_t>& pids) {
  const absl::StatusOr<int64_t> bytes = DiskUseOfOpen(watched.options.directory);
  if (!bytes.ok() && !absl::IsPermissionDenied(bytes.status())) {
    LogWarning(
        "a job's disk use cannot be measured now",
        {{"directory", watched.options.run_directory}, {"error", bytes.status().ToString()}});
    return false;  // it did not when it was last measured
  }
  const int64_t all =
      bytes.ok() ? *bytes + UnnamedBytesOf(pids, watched.options.directory) : kDiskUncounted;
  watched.disk_bytes_peak = std::max(watched.disk_bytes_peak, all);
  return all > watched.options.disk_bytes_max;
}

void ProcessWatcher::MeasureDisk(absl::Time now) {
  if (now < next_disk_measure_ || watched_.empty()) {
    return;
  }
  std::map<pid_t, Watched*> measured;
  std::vector<pid_t> roots;
  for (const auto& [number, watched] : watched_) {
    const bool is_asked = watched->options.on_measure && watched->note.empty();
    if ((watched->options.disk_bytes_max > 0 || is_asked) && !watched->killed &&
        now - watched->start >= memory_interval_) {
      measured[watched->process.pid] = watched.get();
      roots.push_back(watched->process.pid);
    }
  }
  std::map<pid_t, std::vector<pid_t>> pids;
  for (const auto& [pid, root] : roots.empty() ? std::map<pid_t, pid_t>()
                                               : RootsOf(*table_.Recent(memory_interval_), roots)) {
    pids[root].push_back(pid);
  }
  for (const auto& [root, watched] : measured) {
    if (watched->options.disk_bytes_max > 0 && TakesTooMuchDisk(*watched, pids[root])) {
      Kill(*watched, KillCause::kDisk, now);
    } else if (watched->options.on_measure && watched->note.empty()) {
      const std::string line = watched->options.on_measure();
      watched->note = line.empty() ? "" : absl::StrCat("\n", line, "\n");
      watched->log.AppendNote(watched->note);
    }
  }
  next_disk_measure_ = now + std::max(4 * memory_interval_, 50 * (clock_.Now() - now));
}

absl::Duration ProcessWatcher::UntilNextDeadline(absl::Time now) const {
  // A process often comes soon after another has ended; then it need not wake anybody.
  const bool idle = watched_.empty() && now - last_end_ > memory_interval_;
  absl::Time next = idle ? absl::InfiniteFuture() : now + memory_interval_;
  for (const auto& [number, watched] : watched_) {
    next = std::min(next, watched->deadline);
  }
  return next == absl::InfiniteFuture() ? absl::InfiniteDuration() : next - now;
}

}  // namespace concur::process
