// SPDX-License-Identifier: Apache-2.0
// Processes on this machine, from /proc: the memory of a job's processes, and processes that
// outlived their job.
//
// Thread-safe. Processes come and go while /proc is read: what has vanished is left out, never an
// error.
#ifndef CONCUR_BASE_PROCESS_PROCESS_TREE_H_
#define CONCUR_BASE_PROCESS_PROCESS_TREE_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace concur::process {

// The variable by which a process is known to belong to an attempt; its value is the attempt's run
// directory.
inline constexpr char kRunDirectoryVariable[] = "CONCUR_RUN_DIRECTORY";

struct ProcessInfo {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  char state = '?';  // as in ps: R, S, D, Z, T…
};

// Every process that this user may see, ordered by pid.
std::vector<ProcessInfo> ListProcesses();

// The processes of jobs, each with its job's root: those of group `root`, and every descendant of
// process `root`.
std::map<pid_t, pid_t> RootsOf(const std::vector<ProcessInfo>& processes,
                               const std::vector<pid_t>& roots);

// Resident memory in bytes of each job. Pages shared between processes count once (the largest
// sharer's).
std::map<pid_t, int64_t> MemoryOfTrees(const std::vector<ProcessInfo>& processes,
                                       const std::vector<pid_t>& roots);

// Asks the kernel to give orphaned descendants to this process instead of init, so that a job's
// daemons can be found when it ends.
void AdoptOrphans();

// Kills (SIGKILL) adopted orphans whose run directory is `run_directory` or below, and reaps
// adopted zombies. Returns how many processes were killed. Cheap when there are none.
int KillAdoptedOrphans(absl::string_view run_directory);

// Kills every process, of whatever parent, that belongs to an attempt below `runs_directory` —
// known by its environment or its working directory — and waits until they are gone. For a worker's
// start, when nothing there can be its own. DeadlineExceeded, with the pids, when some do not die.
absl::Status KillLeftovers(absl::string_view runs_directory, absl::Duration timeout);

// True if a process of another attempt than that of `run_directory` listens on this TCP port, and
// none of this one. Processes are known by their environment; others do not count.
bool AnotherAttemptListens(uint16_t port, absl::string_view run_directory);

// Process table that all watchers of a worker share, so that one look is enough. Thread-safe.
class ProcessTable {
 public:
  ProcessTable();
  // ListProcesses of at most `age_max` ago.
  std::shared_ptr<const std::vector<ProcessInfo>> Recent(absl::Duration age_max);
  // True if the kernel has killed for memory since the last call, or since this object was made.
  bool KernelHasKilledForMemory();

 private:
  SystemClock clock_;  // monotonic
  Mutex mu_;
  std::shared_ptr<const std::vector<ProcessInfo>> processes_ ABSL_GUARDED_BY(mu_);
  absl::Time look_time_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  int64_t oom_kills_seen_ ABSL_GUARDED_BY(mu_);
};

}  // namespace concur::process

#endif  // CONCUR_BASE_PROCESS_PROCESS_TREE_H_
