// SPDX-License-Identifier: Apache-2.0
// A thread that looks after running processes: takes their output, enforces their limits, and says
// how they ended.
#ifndef CONCUR_BASE_PROCESS_PROCESS_WATCHER_H_
#define CONCUR_BASE_PROCESS_PROCESS_WATCHER_H_

#include <sys/resource.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mutex.h"
#include "base/process/log_file.h"
#include "base/process/process.h"
#include "base/process/process_tree.h"
#include "base/process/waker.h"

namespace concur::process {

inline constexpr int64_t kDiskUncounted = std::numeric_limits<int64_t>::max();

// Why the watcher ended a process.
enum class KillCause { kNone, kTimeout, kMemory, kDisk, kStop };

struct ProcessEnd {
  int wait_status = 0;  // as waitpid gives it
  KillCause killed_for = KillCause::kNone;
  // The machine ran out of memory and the kernel killed one of its processes; without a control
  // group, one at the least was killed somewhere when this one ended by a signal 9 not ours.
  bool kernel_oom = false;
  absl::Duration run_time;
  int64_t memory_bytes_peak = 0;
  int64_t disk_bytes_peak = 0;  // as far as measured; kDiskUncounted: it cannot be
  int64_t log_bytes = 0;        // printed, before any cut
  std::string log_last;         // the last bytes printed
  absl::Status log_status;      // trouble writing the log
};

struct WatchOptions {
  absl::Duration timeout = absl::InfiniteDuration();
  absl::Duration grace;  // between SIGTERM and SIGKILL
  // The limit for all processes together, where no control group keeps it; 0: no limit.
  int64_t memory_bytes_max = 0;
  // The limit for the open `directory`, and for files without a name that the process and its
  // children have open; 0: no limit.
  int64_t disk_bytes_max = 0;
  int directory = -1;  // stays open until the end
  std::string log_path;
  int64_t log_bytes_max = 0;
  std::vector<std::string> secrets;  // that the log masks; none is empty
  // Each piece of standard output, or error if apart, by the watcher's thread; may be null.
  std::function<void(absl::string_view, bool is_error)> on_output;
  std::string tail_path;  // a file that the process appends to; need not exist
  std::function<void(absl::string_view)>
      on_tail;  // each new piece of it, by the watcher's thread; may be null
  // Asked as often as disk use is measured, until it gives a line for the log, which is not taken
  // for the process's own last words; may be null.
  std::function<std::string()> on_measure;
  // Asked once all output is read for one more such line; may be null.
  std::function<std::string()> on_close;
  std::string run_directory;  // by which daemons of the job are found
  // The process only waits for another one of its group, and would end first by a SIGTERM.
  bool spares_leader = false;
};

// Thread-safe, but for Close. A process dies with the thread that started it, so those threads
// outlive this, or are watchers.
class ProcessWatcher {
 public:
  // `memory_interval`: how often memory is measured, at most; disk use a quarter as often. `table`
  // outlives this.
  ProcessWatcher(absl::Duration memory_interval, ProcessTable& table);
  // Kills every process that still runs, with its group. `on_end` is not called for these.
  ~ProcessWatcher();
  // Ends the thread: `on_end` is called no more. What runs, or is still handed over, is killed at
  // the end of this object.
  void Close();
  ProcessWatcher(const ProcessWatcher&) = delete;
  ProcessWatcher& operator=(const ProcessWatcher&) = delete;

  // Looks after `process` under a number of its own; `on_end` is called once, from the watcher's
  // thread, after the whole process group was killed and the log is complete. While it takes time,
  // nobody enforces the limits of the watcher's other processes.
  void Watch(uint64_t number, Process process, WatchOptions options,
             std::function<void(ProcessEnd)> on_end);
  // SIGTERM, after the grace SIGKILL; `at_once`: SIGKILL. Ignored when it has ended.
  void Stop(uint64_t number, bool at_once);

 private:
  struct Watched;

  void Run();
  void Register(int fd, uint32_t events, uint64_t key);
  void Unregister(int fd);
  void TakeAdded();
  void TakeStops();
  // The time that the watcher may sleep; says so to those who add processes.
  absl::Duration Sleep();
  static void ReadOutput(Watched& watched, bool is_error, int64_t bytes_max);
  // Reads what was appended to the tail file since the last time.
  static void ReadTail(Watched& watched, int64_t bytes_max);
  void ReadTails(absl::Time now);
  void End(uint64_t number);
  void Terminate(Watched& watched, KillCause cause, bool at_once, absl::Time now);
  // At once, for what it has taken too much of.
  void Kill(Watched& watched, KillCause cause, absl::Time now);
  void EnforceDeadlines(absl::Time now);
  void MeasureMemory(absl::Time now);
  void MeasureGroup(Watched& watched, absl::Time now);
  void MeasureTrees(const std::map<pid_t, Watched*>& by_pid, const std::vector<pid_t>& roots,
                    absl::Time now);
  static void AddGroupMemory(const Watched& watched, ProcessEnd& end);
  void MeasureDisk(absl::Time now);
  // True when it takes more than it may.
  static bool TakesTooMuchDisk(Watched& watched, const std::vector<pid_t>& pids);
  absl::Duration UntilNextDeadline(absl::Time now) const;

  // Constant after construction.
  const absl::Duration memory_interval_;
  ProcessTable& table_;
  SystemClock clock_;  // monotonic
  Waker waker_;
  FileDescriptor epoll_;

  // Owned by the watcher's thread.
  std::map<uint64_t, std::unique_ptr<Watched>> watched_;
  absl::Time next_measure_ = absl::InfinitePast();
  absl::Time next_tails_ = absl::InfinitePast();
  absl::Time next_disk_measure_ = absl::InfinitePast();
  absl::Time last_end_ = absl::InfinitePast();

  Mutex mu_;
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::pair<uint64_t, std::unique_ptr<Watched>>> added_ ABSL_GUARDED_BY(mu_);
  std::vector<std::pair<uint64_t, bool>> stops_ ABSL_GUARDED_BY(mu_);
  absl::Time asleep_until_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();

  std::thread thread_;
};

}  // namespace concur::process

#endif  // CONCUR_BASE_PROCESS_PROCESS_WATCHER_H_
