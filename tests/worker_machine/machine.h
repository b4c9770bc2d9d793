// SPDX-License-Identifier: Apache-2.0
// The machine under a worker, simulated: its process table, and a disk with faults. The real code
// of the worker makes its system calls; in this test program they are replaced (machine_calls.cc)
// and come here while there is a Machine.
//
// Processes exist in the table only: what a job does, a function of the test does, when its program
// would start. Files are real ones below one directory, but calls for them fail as those of a bad
// disk do: full, unreadable, bytes lost by a failed sync, slow, entries that cannot be removed.
//
// Thread-safe. One machine at a time.
#ifndef CONCUR_TESTS_WORKER_MACHINE_MACHINE_H_
#define CONCUR_TESTS_WORKER_MACHINE_MACHINE_H_

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.h"

namespace concur::testing {

// A planted bug: what the system, or the worker's code, is made to do wrong.
enum class MachineBug : uint8_t {
  kNone,
  kOrphanKillLost,    // the daemons of a job are not killed at its end
  kLeftoversUnseen,   // a starting worker does not see what an earlier one left running
  kExitCodeLost,      // every process seems to have succeeded
  kSyncErrorHidden,   // a failed sync is taken for a good one
  kFullDiskHidden,    // a write to a full disk is taken for a good one
  kReadErrorHidden,   // an unreadable piece of a file is read as zeros
  kRemovalPretended,  // a removed entry is still there
  kSpoolNotWritten,   // results are not in the spool when they are reported
  kTimeoutForgotten,  // nobody enforces time-outs
  kStopForgotten,     // orders to stop are not passed on
  kForgetForgotten,   // orders to forget are not passed on
  kUploadSkipped,     // results are reported before their artifacts are uploaded
  kTooManyAtOnce,     // more jobs run than the worker has slots
};

// Rates at which calls fail, from 0 to 1.
struct FaultRates {
  double full = 0;        // writes and new names: ENOSPC
  double unreadable = 0;  // open and read: EIO
  double sync_lost = 0;   // fsync: EIO, and bytes are gone
  double sync_slow = 0;
  double stuck = 0;    // a removal or rename: EIO, this time
  double spawn = 0;    // no process can be started: EAGAIN
  double partial = 0;  // reads and writes: fewer bytes than asked for, or EINTR
};

// A program as execve gets it.
struct Execution {
  std::vector<std::string> argv;
  std::string environment;  // as /proc/PID/environ
  std::string directory;
};

// Future behaviour of a process.
struct Behaviour {
  struct Child {
    bool own_session = false;          // has left its parent's group
    bool cleared_environment = false;  // does not carry the run directory's variable
  };
  int wait_status = 0;  // status of its end by itself
  // When that comes; none: it goes on until it is killed.
  std::optional<std::chrono::milliseconds> end_after;
  bool ignores_term = false;
  bool dies_slowly = false;  // some time after SIGKILL, as one in the middle of I/O
  bool kernel_oom = false;   // the kernel counts its end as one for lack of memory
  int64_t memory_bytes = 0;
  std::string output;
  std::vector<Child> children;  // which go on until they are killed
};

class Machine {
 public:
  using Programs = std::function<Behaviour(const Execution&)>;

  // `directory`: whose files have faults. `programs` is called when a program starts, on the thread
  // that starts it.
  Machine(uint64_t seed, std::string directory, FaultRates rates, MachineBug bug,
          Programs programs);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  // Null: calls go to the kernel.
  static Machine* current() { return current_; }

  // --- for the test -----------------------------------------------------------------------------

  void StopFaults();
  // The worker is killed: its jobs die with it, their daemons do not, and none of its calls changes
  // anything any more. `Restart` ends that.
  void KillWorker();
  void Restart();
  // A worker that starts is told so, until it has started.
  void SetStarting(bool starting) { starting_ = starting; }
  // The entry can never be removed, as an immutable file.
  void MakeUndeletable(const std::string& path);
  // Processes that are not zombies; with `directory`, of those that run there.
  size_t Living(const std::string& directory = "") const;
  size_t LivingJobs() const;
  // Number of faults of each kind so far.
  std::map<std::string, int> counts() const;

  // Files that this thread handles have no faults.
  class Unharmed {
   public:
    Unharmed();
    ~Unharmed();
  };

  // --- processes, for the replaced calls --------------------------------------------------------

  // Runs `child` as clone does, whose system calls come to ChildCall.
  pid_t Clone(int (*child)(void*), void* argument, int* pidfd);
  // A call of the child between clone and exec; returns its result.
  long ChildCall(long number, const long* arguments);
  static bool InChild();
  int Kill(pid_t pid, int signal);
  // -1 with errno; 0: none has ended.
  pid_t Wait(pid_t pid, int* status, int options);
  // By the pidfd that Clone gave; nullopt: it is none. 0: it runs.
  std::optional<pid_t> EndedOf(int pidfd);
  int OpenPidfd(pid_t pid);
  void Closed(int fd);
  // The contents of a file of /proc; nullopt: it is not one of a simulated process.
  std::optional<std::string> ProcFile(const std::string& path) const;
  std::string AdoptedChildren() const;
  std::string DirectoryOf(pid_t pid) const;
  // A directory that looks like /proc.
  std::string ProcDirectory();
  void Adopt() { adopts_ = true; }

  // --- files, for the replaced calls ------------------------------------------------------------

  // The error with which the call is to fail, or 0.
  int OnNewName(const std::string& path);
  int OnOpen(const std::string& path);
  int OnRemove(const std::string& path, dev_t device, ino_t inode);
  int OnRename(const std::string& from);
  // Bytes to handle, 0 to `size`, or less: the negative error.
  ssize_t OnRead(int fd, size_t size);
  ssize_t OnWrite(int fd, size_t size);
  // Carries out what a failed sync does to the bytes.
  int OnSync(int fd);
  bool IsDead() const { return dead_; }
  MachineBug bug() const { return bug_; }
  bool Has(const std::string& path) const;

 private:
  struct Process {
    pid_t pid = 0;
    pid_t parent = 0;
    pid_t group = 0;
    bool adopted = false;
    bool zombie = false;
    int status = 0;
    int ended = -1;   // an eventfd, readable after the end
    int output = -1;  // the pipe's write end
    std::string environment;
    std::string directory;
    Behaviour behaviour;
    std::optional<std::chrono::steady_clock::time_point> end_time;
    int end_status = 0;
  };

  bool Draw(double rate, const char* what);
  void Start(Process process, const Execution& execution);
  void EndLocked(pid_t pid, int status);
  void SignalLocked(Process& process, int signal);
  void Run();

  const std::string directory_;
  const std::string proc_;
  const MachineBug bug_;
  const Programs programs_;
  static inline std::atomic<Machine*> current_ = nullptr;

  std::atomic<bool> dead_ = false;
  std::atomic<bool> starting_ = false;
  std::atomic<bool> adopts_ = false;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Random random_;
  FaultRates rates_;
  std::map<std::string, int> counts_;
  pid_t next_pid_ = 1'000'000'000;  // no real process has such a number
  std::map<pid_t, Process> processes_;
  std::map<int, pid_t> pidfds_;
  std::set<std::pair<dev_t, ino_t>> undeletable_;
  int oom_kills_ = 0;
  bool closing_ = false;
  std::thread thread_;  // lets processes end
};

}  // namespace concur::testing

#endif  // CONCUR_TESTS_WORKER_MACHINE_MACHINE_H_
