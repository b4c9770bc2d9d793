// SPDX-License-Identifier: Apache-2.0
#include "base/process/cgroup.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace concur::process {
namespace {

// A group that still holds so much when it is empty (files in /dev/shm, say) is not used again.
constexpr int64_t kResidueMax = int64_t{1} << 20;
// Below it, page cache is not told from the rest: to ask takes longer than it is worth.
constexpr int64_t kSmallPeak = int64_t{8} << 20;
constexpr absl::Duration kKillMax = absl::Seconds(2);
constexpr size_t kFreeMax = 64;

// Current contents of the file, from its start; "" when it cannot be read.
std::string ReadFd(const FileDescriptor& fd) {
  std::array<char, 8192> text;
  const ssize_t got = pread(fd.get(), text.data(), text.size(), 0);
  return got > 0 ? std::string(text.data(), static_cast<size_t>(got)) : "";
}

int64_t NumberIn(const FileDescriptor& fd) {
  int64_t number = 0;
  return absl::SimpleAtoi(absl::StripAsciiWhitespace(ReadFd(fd)), &number) ? number : 0;
}

// The number after `key` at the start of a line; 0 when there is none.
int64_t NumberAfter(absl::string_view text, absl::string_view key) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    int64_t number = 0;
    if (absl::ConsumePrefix(&line, key) && absl::ConsumePrefix(&line, " ") &&
        absl::SimpleAtoi(line, &number)) {
      return number;
    }
  }
  return 0;
}

FileDescriptor OpenIn(const std::string& directory, absl::string_view name, int flags) {
  return FileDescriptor(open(absl::StrCat(directory, "/", name).c_str(), flags | O_CLOEXEC));
}

// One write, as the kernel wants it.
absl::Status WriteIn(const std::string& directory, absl::string_view name, absl::string_view text) {
  const FileDescriptor fd = OpenIn(directory, name, O_WRONLY);
  if (!fd.valid() || write(fd.get(), text.data(), text.size()) < 0) {
    return ErrnoStatus(errno, absl::StrCat(directory, "/", name),
                       absl::StrCat("write \"", text, "\""));
  }
  return absl::OkStatus();
}

std::string OrMax(int64_t number, absl::string_view max) {
  return number > 0 ? absl::StrCat(number) : std::string(max);
}

// `directory` and the groups that a job made in it, innermost first.
std::vector<std::string> WithGroupsBelow(const std::string& directory) {
  std::vector<std::string> all;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    if (it->is_directory(error)) {
      all.push_back(it->path().string());
    }
  }
  std::reverse(all.begin(), all.end());
  all.push_back(directory);
  return all;
}

std::vector<pid_t> PidsBelow(const std::string& directory) {
  std::vector<pid_t> pids;
  for (const std::string& group : WithGroupsBelow(directory)) {
    // Opened anew: version 1 gives a file that stays open the list of its first read.
    const absl::StatusOr<std::string> text = ReadFile(group + "/cgroup.procs", int64_t{16} << 20);
    if (text.ok()) {
      for (const absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
        pid_t pid = 0;
        if (absl::SimpleAtoi(line, &pid) && pid > 0) {
          pids.push_back(pid);
        }
      }
    }
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

// Kills what is in a group and those below, and waits until it is gone. True if it is.
bool KillAllBelow(const std::string& directory) {
  const absl::Time deadline = absl::Now() + kKillMax;
  for (;;) {
    const std::vector<pid_t> pids = PidsBelow(directory);
    if (pids.empty()) {
      return true;
    }
    if (absl::Now() >= deadline) {
      return false;
    }
    if (!WriteIn(directory, "cgroup.kill", "1").ok()) {
      // Nothing forks faster than it is killed.
      WriteIn(directory, "pids.max", "0").IgnoreError();
    }
    std::map<pid_t, FileDescriptor> open;
    for (const pid_t pid : pids) {
      open.emplace(pid, FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))));
    }
    // Only processes that were listed before and after pidfd_open: a reused pid is not killed.
    for (const pid_t pid : PidsBelow(directory)) {
      if (const auto it = open.find(pid); it != open.end() && it->second.valid()) {
        syscall(SYS_pidfd_send_signal, it->second.get(), SIGKILL, nullptr, 0);
      }
    }
    for (const auto& [pid, pidfd] : open) {
      pollfd wait{pidfd.get(), POLLIN, 0};
      if (pidfd.valid()) {
        poll(&wait, 1, 100);
      }
    }
  }
}

bool RemoveGroups(const std::string& directory) {
  bool removed = true;
  for (const std::string& group : WithGroupsBelow(directory)) {
    // A process that has just ended may hold its group for another moment.
    for (int tries = 0; rmdir(group.c_str()) != 0 && errno != ENOENT; ++tries) {
      if (errno != EBUSY || tries == 20) {
        removed = false;
        break;
      }
      absl::SleepFor(absl::Milliseconds(1));
    }
  }
  return removed;
}

// "concur-" and the work directory's mark.
std::string GroupName(const std::string& work_directory) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::weakly_canonical(work_directory, error);
  return absl::StrCat("concur-",
                      Sha256Of(error ? work_directory : path.string()).ToHex().substr(0, 16));
}

// Ends what earlier workers left, which may have run in other groups than this one.
void RemoveRecorded(const std::string& record, absl::string_view name) {
  const absl::StatusOr<std::string> text = ReadFile(record, int64_t{64} << 10);
  if (!text.ok()) {
    return;
  }
  for (const absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
    const std::string directory(line);
    // Only what bears this work directory's mark and is a group.
    if (std::filesystem::path(directory).filename().string() == name &&
        access(absl::StrCat(directory, "/cgroup.procs").c_str(), F_OK) == 0 &&
        (!KillAllBelow(directory) || !RemoveGroups(directory))) {
      LogWarning("a control group of an earlier worker is still used", {{"group", directory}});
    }
  }
}

bool HasControllers(const std::string& directory, absl::string_view file, absl::string_view name) {
  const absl::StatusOr<std::string> text =
      ReadFile(absl::StrCat(directory, "/", file), int64_t{4} << 10);
  if (!text.ok()) {
    return false;
  }
  const std::set<absl::string_view> names =
      absl::StrSplit(*text, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  return names.contains(name);
}

// Hands the controllers of `directory` on to the groups below it, as far as that is allowed.
void HandOn(const std::string& directory) {
  for (const char* name : {"memory", "pids", "cpu"}) {
    if (HasControllers(directory, "cgroup.controllers", name) &&
        !HasControllers(directory, "cgroup.subtree_control", name)) {
      WriteIn(directory, "cgroup.subtree_control", absl::StrCat("+", name)).IgnoreError();
    }
  }
}

absl::Status SetCpuWeight(const std::string& directory, int version, int64_t millis) {
  return version == 2
             ? WriteIn(directory, "cpu.weight",
                       absl::StrCat(std::clamp<int64_t>(millis / 10, 1, 10'000)))
             : WriteIn(directory, "cpu.shares",
                       absl::StrCat(std::clamp<int64_t>(millis * 1024 / 1000, 2, 262'144)));
}

absl::Status MakeGroup(const std::string& directory) {
  return mkdir(directory.c_str(), 0700) == 0 || errno == EEXIST
             ? absl::OkStatus()
             : ErrnoStatus(errno, directory, "make a control group");
}

// Version 2 gives controllers to the groups below one without processes only: this process moves
// into a group of its own, if it is alone where it is.
absl::StatusOr<Hierarchy> MakeUnified(const std::string& own, absl::string_view name) {
  if (!HasControllers(own, "cgroup.subtree_control", "memory") &&
      HasControllers(own, "cgroup.controllers", "memory")) {
    const absl::StatusOr<std::string> procs = ReadFile(own + "/cgroup.procs", int64_t{1} << 20);
    if (procs.ok() && *procs == absl::StrCat(getpid(), "\n")) {
      const std::string leaf = absl::StrCat(own, "/", name, "-worker");
      CONCUR_RETURN_IF_ERROR(MakeGroup(leaf));
      CONCUR_RETURN_IF_ERROR(WriteIn(leaf, "cgroup.procs", "0"));
    }
  }
  HandOn(own);
  Hierarchy made;
  made.directory = absl::StrCat(own, "/", name);
  CONCUR_RETURN_IF_ERROR(MakeGroup(made.directory));
  HandOn(made.directory);
  made.memory = HasControllers(made.directory, "cgroup.subtree_control", "memory");
  made.pids = HasControllers(made.directory, "cgroup.subtree_control", "pids");
  made.cpu = HasControllers(made.directory, "cgroup.subtree_control", "cpu");
  return made;
}

absl::StatusOr<std::vector<Hierarchy>> MakeLegacy(const std::vector<OwnGroup>& own,
                                                  absl::string_view name) {
  std::map<std::string, Hierarchy> made;  // controllers may share a hierarchy
  for (const OwnGroup& group : own) {
    const bool memory = group.controller == "memory";
    const bool pids = group.controller == "pids";
    if (!memory && !pids && group.controller != "cpu") {
      continue;
    }
    const std::string directory = absl::StrCat(group.directory, "/", name);
    if (const absl::Status status = MakeGroup(directory); !status.ok()) {
      if (!memory && !pids) {
        continue;  // CPUs are shared without it, too
      }
      return status;
    }
    Hierarchy& hierarchy = made[directory];
    hierarchy.directory = directory;
    hierarchy.memory |= memory;
    hierarchy.pids |= pids;
    hierarchy.cpu |= group.controller == "cpu";
  }
  std::vector<Hierarchy> hierarchies;
  bool memory = false;
  bool pids = false;
  for (auto& [directory, hierarchy] : made) {
    memory |= hierarchy.memory;
    pids |= hierarchy.pids;
    hierarchies.push_back(std::move(hierarchy));
  }
  if (!memory || !pids) {
    return absl::FailedPreconditionError("version 1 has no hierarchies for memory and pids");
  }
  return hierarchies;
}

}  // namespace

// --- one job's -----------------------------------------------------------------------------------

absl::Status JobGroup::Open(const std::vector<Hierarchy>& hierarchies, absl::string_view name) {
  for (const Hierarchy& hierarchy : hierarchies) {
    Place place;
    place.directory = absl::StrCat(hierarchy.directory, "/", name);
    place.hierarchy = hierarchy;
    CONCUR_RETURN_IF_ERROR(MakeGroup(place.directory));
    places_.push_back(std::move(place));
    Place& made = places_.back();
    const bool unified = version_ == 2;
    // A thread that moves itself takes no lock of all CPUs; a process does, also one of one thread.
    const char* entry = unified ? "cgroup.procs" : "tasks";
    made.entry = OpenIn(made.directory, entry, O_WRONLY);
    if (!made.entry.valid()) {
      return ErrnoStatus(errno, absl::StrCat(made.directory, "/", entry), "open");
    }
    entry_fds_.push_back(made.entry.get());
    if (unified) {
      directory_fd_ =
          FileDescriptor(open(made.directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
      population_ = OpenIn(made.directory, "cgroup.events", O_RDONLY);
    } else if (hierarchy.pids) {
      population_ = OpenIn(made.directory, "pids.current", O_RDONLY);
    }
    if (hierarchy.memory) {
      usage_ =
          OpenIn(made.directory, unified ? "memory.current" : "memory.usage_in_bytes", O_RDONLY);
      stat_ = OpenIn(made.directory, "memory.stat", O_RDONLY);
      events_ = OpenIn(made.directory, unified ? "memory.events" : "memory.oom_control", O_RDONLY);
      const char* peak = unified ? "memory.peak" : "memory.max_usage_in_bytes";
      peak_ = OpenIn(made.directory, peak, O_RDWR);
      if (!peak_.valid()) {
        peak_ = OpenIn(made.directory, peak, O_RDONLY);  // Linux before 6.12 cannot reset it
      }
    }
  }
  return absl::OkStatus();
}

absl::Status JobGroup::SetMemoryMax(const std::string& directory, int64_t bytes_max) const {
  if (version_ == 2) {
    CONCUR_RETURN_IF_ERROR(WriteIn(directory, "memory.max", OrMax(bytes_max, "max")));
    // Without accounting of swap these are not there; the job's end as a whole is asked for once.
    WriteIn(directory, "memory.swap.max", bytes_max > 0 ? "0" : "max").IgnoreError();
    WriteIn(directory, "memory.oom.group", "1").IgnoreError();
    return absl::OkStatus();
  }
  // Memory and swap together are never to be less than memory.
  WriteIn(directory, "memory.memsw.limit_in_bytes", "-1").IgnoreError();
  CONCUR_RETURN_IF_ERROR(WriteIn(directory, "memory.limit_in_bytes", OrMax(bytes_max, "-1")));
  WriteIn(directory, "memory.memsw.limit_in_bytes", OrMax(bytes_max, "-1")).IgnoreError();
  return absl::OkStatus();
}

absl::Status JobGroup::SetLimits(const GroupLimits& limits) {
  is_empty_ = false;  // from now on something may run in it
  if (limited_ && limits == limits_) {
    return absl::OkStatus();
  }
  const GroupLimits before = limits_;
  const bool all = !std::exchange(limited_, false);
  limits_ = limits;
  for (const Place& place : places_) {
    if (place.hierarchy.memory && (all || limits.memory_bytes_max != before.memory_bytes_max)) {
      CONCUR_RETURN_IF_ERROR(SetMemoryMax(place.directory, limits.memory_bytes_max));
    }
    if (place.hierarchy.pids && (all || limits.processes_max != before.processes_max)) {
      CONCUR_RETURN_IF_ERROR(
          WriteIn(place.directory, "pids.max", OrMax(limits.processes_max, "max")));
    }
    if (place.hierarchy.cpu && (all || limits.cpu_millis != before.cpu_millis)) {
      CONCUR_RETURN_IF_ERROR(SetCpuWeight(place.directory, version_,
                                          limits.cpu_millis > 0 ? limits.cpu_millis : 1000));
    }
  }
  limited_ = true;
  return absl::OkStatus();
}

int64_t JobGroup::PageCache() const {
  const std::string stat = ReadFd(stat_);
  return version_ == 2 ? NumberAfter(stat, "file") - NumberAfter(stat, "shmem")
                       : NumberAfter(stat, "total_cache") - NumberAfter(stat, "total_shmem");
}

int64_t JobGroup::Memory() const {
  return std::max<int64_t>(0, NumberIn(usage_) - std::max<int64_t>(0, PageCache()));
}

int64_t JobGroup::KernelPeak() {
  if (!is_empty_ || !last_peak_.has_value()) {
    last_peak_ = NumberIn(peak_);
  }
  return *last_peak_;
}

int64_t JobGroup::MemoryPeak() {
  const int64_t peak = KernelPeak();
  return peak < kSmallPeak ? peak : std::max<int64_t>(0, peak - std::max<int64_t>(0, PageCache()));
}

int64_t JobGroup::OomKillsEver() {
  if (!is_empty_ || !last_oom_kills_.has_value()) {
    last_oom_kills_ = NumberAfter(ReadFd(events_), "oom_kill");
  }
  return *last_oom_kills_;
}

int64_t JobGroup::OomKills() { return std::max<int64_t>(0, OomKillsEver() - oom_kills_before_); }

bool JobGroup::ReachedMemoryMax() const {
  // The kernel counts some pages ahead for each CPU.
  return limits_.memory_bytes_max > 0 && NumberIn(peak_) >= limits_.memory_bytes_max / 10 * 9;
}

bool JobGroup::IsEmpty() const {
  const std::string text = ReadFd(population_);
  return version_ == 2 ? NumberAfter(text, "populated") == 0 && !text.empty() : text == "0\n";
}

std::vector<pid_t> JobGroup::Pids() const {
  return places_.empty() ? std::vector<pid_t>() : PidsBelow(places_.back().directory);
}

bool JobGroup::Kill() {
  if (is_empty_) {
    return true;
  }
  last_peak_.reset();
  last_oom_kills_.reset();
  is_empty_ = IsEmpty();
  if (is_empty_) {
    return true;
  }
  bool gone = true;
  for (const Place& place : places_) {
    // A job that left one hierarchy's group is still in another's.
    gone = KillAllBelow(place.directory) && gone;
  }
  limited_ = false;  // the limit of processes may be 0 now
  return gone;
}

bool JobGroup::Clean() {
  if (!Kill()) {
    return false;
  }
  if (!has_memory()) {
    return true;
  }
  if (KernelPeak() > kResidueMax && NumberIn(usage_) > kResidueMax && Memory() > kResidueMax) {
    return false;
  }
  oom_kills_before_ = OomKillsEver();
  return pwrite(peak_.get(), "0", 1, 0) == 1;
}

JobGroup::~JobGroup() {
  is_empty_ = false;  // a job of this user may have moved itself into a group that lay spare
  Kill();
  for (const Place& place : places_) {
    if (!RemoveGroups(place.directory)) {
      LogWarning("a job's control group cannot be removed: what is in it does not end",
                 {{"group", place.directory}});
    }
  }
}

void GroupReturn::operator()(JobGroup* group) const {
  group->owner_.GiveBack(std::unique_ptr<JobGroup>(group));
}

// --- all of them ---------------------------------------------------------------------------------

absl::StatusOr<std::unique_ptr<Cgroups>> Cgroups::Open(const Options& options) {
  const std::string name = GroupName(options.work_directory);
  const std::string record = absl::StrCat(options.work_directory, "/control-groups");
  RemoveRecorded(record, name);
  const std::vector<OwnGroup> own = FindOwnGroups(options.root);
  int version = 0;
  std::vector<Hierarchy> hierarchies;
  absl::Status status = absl::FailedPreconditionError("no control groups are mounted");
  for (const OwnGroup& group : own) {
    if (group.controller.empty()) {
      const absl::StatusOr<Hierarchy> made = MakeUnified(group.directory, name);
      if (made.ok()) {
        version = 2;
        hierarchies = {*made};
      }
      status = made.status();
    }
  }
  if (version == 0 || (!hierarchies[0].memory && !options.prefer_v2)) {
    const absl::StatusOr<std::vector<Hierarchy>> made = MakeLegacy(own, name);
    if (made.ok()) {
      if (version == 2) {
        RemoveGroups(hierarchies[0].directory);
      }
      version = 1;
      hierarchies = *made;
    } else if (version == 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("version 2: ", status.message(), "; version 1: ", made.status().message()));
    }
  }
  std::string directories;
  for (const Hierarchy& hierarchy : hierarchies) {
    if (hierarchy.cpu) {
      // All jobs together are one competitor of what runs beside them, and not one each.
      const int64_t cpus = std::max<int64_t>(1, sysconf(_SC_NPROCESSORS_ONLN));
      CONCUR_RETURN_IF_ERROR(SetCpuWeight(hierarchy.directory, version, cpus * 1000));
    }
    absl::StrAppend(&directories, hierarchy.directory, "\n");
  }
  CONCUR_RETURN_IF_ERROR(WriteFileAtomically(record, directories, 0600));
  std::unique_ptr<Cgroups> cgroups(new Cgroups(version, std::move(hierarchies), record));
  // A group that cannot be made or limited is better known now than by the first job.
  const absl::StatusOr<JobGroupPtr> first = cgroups->Take({});
  if (!first.ok()) {
    return absl::FailedPreconditionError(first.status().message());
  }
  return cgroups;
}

Cgroups::~Cgroups() {
  {
    MutexLock lock(mu_);
    free_.clear();
  }
  bool removed = true;
  for (const Hierarchy& hierarchy : hierarchies_) {
    removed = RemoveGroups(hierarchy.directory) && removed;
  }
  if (removed) {
    unlink(record_.c_str());
  }
}

absl::StatusOr<JobGroupPtr> Cgroups::Take(const GroupLimits& limits) {
  std::unique_ptr<JobGroup> group;
  uint64_t number = 0;
  {
    MutexLock lock(mu_);
    if (!free_.empty()) {
      // One that has these limits saves writing them.
      auto chosen = std::find_if(free_.begin(), free_.end(), [&](const auto& one) {
        return one->limited_ && one->limits_ == limits;
      });
      chosen = chosen == free_.end() ? free_.end() - 1 : chosen;
      group = std::move(*chosen);
      free_.erase(chosen);
    } else {
      number = ++made_;
    }
  }
  if (group == nullptr) {
    group.reset(new JobGroup(*this, version_));
    CONCUR_RETURN_IF_ERROR(group->Open(hierarchies_, absl::StrCat("job-", number)));
  }
  CONCUR_RETURN_IF_ERROR(group->SetLimits(limits));
  return JobGroupPtr(group.release());
}

void Cgroups::GiveBack(std::unique_ptr<JobGroup> group) {
  if (!group->Clean()) {
    return;
  }
  MutexLock lock(mu_);
  if (free_.size() < kFreeMax) {
    free_.push_back(std::move(group));
  }
}

std::vector<std::string> Cgroups::Names() const {
  std::vector<std::string> names = {version_ == 2 ? "cgroup-v2" : "cgroup-v1"};
  const auto add = [&](const char* name, bool Hierarchy::*has) {
    if (std::any_of(hierarchies_.begin(), hierarchies_.end(),
                    [has](const Hierarchy& hierarchy) { return hierarchy.*has; })) {
      names.emplace_back(name);
    }
  };
  add("memory", &Hierarchy::memory);
  add("pids", &Hierarchy::pids);
  add("cpu", &Hierarchy::cpu);
  return names;
}

}  // namespace concur::process
