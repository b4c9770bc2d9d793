// SPDX-License-Identifier: Apache-2.0
// A control group for each job: the kernel counts and limits what all of its processes take
// together, whoever their parent is, and finds them when they are to be killed.
//
// Groups are directories below the worker's own group, in the one hierarchy of version 2 or in
// those of version 1 for memory, pids and cpu. To make one costs more than to start a process, so
// they are kept and used again. A job has its worker's user and may move its own processes
// elsewhere: this holds accidents, not attacks.
#ifndef CONCUR_BASE_PROCESS_CGROUP_H_
#define CONCUR_BASE_PROCESS_CGROUP_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "base/mutex.h"

namespace concur::process {

struct GroupLimits {
  int64_t memory_bytes_max = 0;  // page cache counts, and is dropped first; 0: no limit
  int64_t processes_max = 0;     // threads included; 0: no limit
  int64_t cpu_millis = 0;        // its share while CPUs are short; 0: as 1000

  friend bool operator==(const GroupLimits&, const GroupLimits&) = default;
};

// A control group's place in one hierarchy.
struct Hierarchy {
  std::string directory;  // the groups' parent
  bool memory = false;
  bool pids = false;
  bool cpu = false;
};

class Cgroups;

// The group of one job. Used by one thread at a time.
class JobGroup {
 public:
  // Kills what is in it, and removes it.
  ~JobGroup();
  JobGroup(const JobGroup&) = delete;
  JobGroup& operator=(const JobGroup&) = delete;

  // A process of one thread that writes "0" to each of these moves into the group.
  const std::vector<int>& entry_fds() const { return entry_fds_; }
  // For CLONE_INTO_CGROUP; -1 under version 1.
  int directory_fd() const { return directory_fd_.get(); }
  // True if the kernel counts and limits the group's memory.
  bool has_memory() const { return usage_.valid(); }

  // Bytes that its processes hold now, without page cache that the kernel may drop.
  int64_t Memory() const;
  // The most that they held at a time since Take: what the kernel saw, less the page cache that is
  // there now.
  int64_t MemoryPeak();
  // Processes that the kernel has killed for memory since Take.
  int64_t OomKills();
  // True if it reached its limit of memory since Take.
  bool ReachedMemoryMax() const;
  // Kills everything in it, also what is being forked, and waits until it is gone, at most for a
  // while. Cheap when it is empty. True if all is gone.
  bool Kill();
  std::vector<pid_t> Pids() const;

 private:
  friend class Cgroups;
  friend struct GroupReturn;
  // Its directory in one hierarchy.
  struct Place {
    std::string directory;
    Hierarchy hierarchy;
    FileDescriptor entry;
  };

  JobGroup(Cgroups& owner, int version) : owner_(owner), version_(version) {}
  absl::Status Open(const std::vector<Hierarchy>& hierarchies, absl::string_view name);
  absl::Status SetLimits(const GroupLimits& limits);
  absl::Status SetMemoryMax(const std::string& directory, int64_t bytes_max) const;
  // Makes it as good as new for the next job. True if that was possible.
  bool Clean();
  int64_t PageCache() const;
  int64_t KernelPeak();
  int64_t OomKillsEver();
  // True if nothing runs in it; false when that cannot be read, as something may run.
  bool IsEmpty() const;

  // Constant after Open.
  Cgroups& owner_;
  const int version_;
  std::vector<Place> places_;
  std::vector<int> entry_fds_;
  FileDescriptor directory_fd_;
  FileDescriptor usage_;
  FileDescriptor peak_;
  FileDescriptor stat_;
  FileDescriptor events_;
  FileDescriptor population_;

  bool limited_ = false;  // limits_ are the kernel's
  GroupLimits limits_;
  int64_t oom_kills_before_ = 0;
  // Nothing runs in it since Kill said so. What was read since then holds until the next job.
  bool is_empty_ = false;
  std::optional<int64_t> last_peak_;
  std::optional<int64_t> last_oom_kills_;
};

// Gives a group back instead of deleting it.
struct GroupReturn {
  void operator()(JobGroup* group) const;
};
using JobGroupPtr = std::unique_ptr<JobGroup, GroupReturn>;

// Thread-safe; outlives its groups.
class Cgroups {
 public:
  struct Options {
    std::string work_directory;  // names the groups; its lock is held
    std::string root = {};       // prefix of /proc and /sys; "" but in tests
    bool prefer_v2 = false;      // also without its memory controller
  };
  // Kills and removes what an earlier worker of this work directory left. FailedPrecondition with
  // the reason when this machine gives no groups to this user.
  static absl::StatusOr<std::unique_ptr<Cgroups>> Open(const Options& options);
  // Removes the groups.
  ~Cgroups();
  Cgroups(const Cgroups&) = delete;
  Cgroups& operator=(const Cgroups&) = delete;

  // An empty group with these limits.
  absl::StatusOr<JobGroupPtr> Take(const GroupLimits& limits);
  int version() const { return version_; }
  // As WorkerInfo::containment.
  std::vector<std::string> Names() const;
  size_t made_for_test() const {
    MutexLock lock(mu_);
    return made_;
  }

 private:
  friend struct GroupReturn;
  Cgroups(int version, std::vector<Hierarchy> hierarchies, std::string record)
      : version_(version), hierarchies_(std::move(hierarchies)), record_(std::move(record)) {}
  void GiveBack(std::unique_ptr<JobGroup> group);

  // Constant after construction.
  const int version_;
  const std::vector<Hierarchy> hierarchies_;
  const std::string record_;  // the file that tells the next worker of them

  mutable Mutex mu_;
  uint64_t made_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<std::unique_ptr<JobGroup>> free_ ABSL_GUARDED_BY(mu_);
};

// The directories of this process's own groups, as /proc below `root` tells: version 2's with ""
// as the controller, those of version 1 with their controllers' names.
struct OwnGroup {
  std::string controller;
  std::string directory;
};
std::vector<OwnGroup> FindOwnGroups(const std::string& root);

}  // namespace concur::process

#endif  // CONCUR_BASE_PROCESS_CGROUP_H_
