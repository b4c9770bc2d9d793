// SPDX-License-Identifier: Apache-2.0
#include "worker/inputs/run_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "base/log.h"
#include "base/process/process_tree.h"
#include "base/process/remove_tree.h"
#include "base/status_macros.h"
#include "core/sweep/command_template.h"

namespace concur::worker {
namespace {

constexpr absl::Duration kLeftoversTimeout = absl::Seconds(10);
constexpr mode_t kMode = 0755;
constexpr size_t kSparesMax = 256;
constexpr char kScratchName[] = "concur-runs-";
constexpr char kOutputName[] = "output";
constexpr char kCheckpointName[] = "checkpoint";
constexpr char kTemporaryName[] = "tmp";
// A run directory with more entries than these is removed as any tree.
constexpr size_t kFilesMax = 64;

absl::Status MakeDirectory(const std::string& path) {
  if (mkdir(path.c_str(), kMode) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, path, "make directory");
  }
  return absl::OkStatus();
}

absl::Status MakeFolders(const RunPaths& paths) {
  CONCUR_RETURN_IF_ERROR(MakeDirectory(paths.output));
  CONCUR_RETURN_IF_ERROR(MakeDirectory(paths.checkpoint));
  return MakeDirectory(paths.temporary);
}

FileDescriptor OpenDirectory(int parent, const char* name) {
  return FileDescriptor(openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// The names in a directory; false when it cannot be read or has more than `names_max`. The C
// library's way asks for more memory and makes three more system calls.
bool ReadNames(int directory, size_t names_max, std::vector<std::string>& names) {
  alignas(dirent64) std::array<char, 2048> buffer;
  for (;;) {
    const ssize_t got = getdents64(directory, buffer.data(), buffer.size());
    if (got <= 0) {
      return got == 0;
    }
    for (ssize_t at = 0; at < got;) {
      // As the kernel laid them out.
      const auto* entry = reinterpret_cast<const dirent64*>(buffer.data() + at);  // NOLINT
      const absl::string_view name = entry->d_name;
      if (name != "." && name != "..") {
        if (names.size() == names_max) {
          return false;
        }
        names.emplace_back(name);
      }
      at += entry->d_reclen;
    }
  }
}

// Tells ext4 that the folders in `path` have nothing to do with each other: it spreads them over
// the disk. Without a journal it looks through all inodes that were deleted lately near a new file,
// 0.1 ms and more where all runs are neighbours. Other file systems do as they like.
void SpreadFolders(const std::string& path) {
  const FileDescriptor directory = OpenDirectory(AT_FDCWD, path.c_str());
  int flags = 0;
  if (ioctl(directory.get(), FS_IOC_GETFLAGS, &flags) == 0) {
    flags |= FS_TOPDIR_FL;
    ioctl(directory.get(), FS_IOC_SETFLAGS, &flags);
  }
}

// Without links: the kernel names a process's working directory so.
absl::StatusOr<std::string> Resolve(const std::string& path) {
  std::error_code error;
  std::string resolved = std::filesystem::canonical(path, error).string();
  if (error) {
    return ErrnoStatus(error.value(), path, "resolve");
  }
  return resolved;
}

// NFS keeps a file that is still open under another name when it is removed.
bool IsOnNfs(const std::string& path) {
  struct statfs info {};
  return statfs(path.c_str(), &info) == 0 && info.f_type == NFS_SUPER_MAGIC;
}

// Directory that MakeScratch made for the run directories to which `link` leads. "" for anything
// else: a folder, a link that somebody else made, or what somebody else has put where the
// directory was before the machine's memory was lost.
std::string ScratchOf(const std::string& link) {
  std::error_code error;
  const std::filesystem::path scratch = std::filesystem::read_symlink(link, error).parent_path();
  struct stat info {};
  const bool is_own = !error && absl::StartsWith(scratch.filename().string(), kScratchName) &&
                      lstat(scratch.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
                      info.st_uid == geteuid();
  return is_own ? scratch.string() : "";
}

// A directory in `parent` that nobody else has, with a folder for runs, to which `link` points.
absl::StatusOr<std::string> MakeScratch(const std::string& parent, const std::string& link) {
  CONCUR_RETURN_IF_ERROR(MakeDirectories(parent, 0700));
  CONCUR_ASSIGN_OR_RETURN(const std::string root, Resolve(parent));
  struct stat info {};
  if (stat(root.c_str(), &info) == 0 && (info.st_mode & S_IWOTH) != 0 &&
      (info.st_mode & S_ISVTX) == 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        root, ": everybody may rename and remove what is in it; expected a directory of your own, ",
        "or one with the sticky bit as /tmp has"));
  }
  std::string scratch = absl::StrCat(root, "/", kScratchName, "XXXXXX");
  if (mkdtemp(scratch.data()) == nullptr) {
    return ErrnoStatus(errno, root, "make a directory in");
  }
  const std::string runs = absl::StrCat(scratch, "/runs");
  if (symlink(runs.c_str(), link.c_str()) != 0) {
    const int link_error = errno;
    rmdir(scratch.c_str());
    return ErrnoStatus(link_error, link, "link");
  }
  CONCUR_RETURN_IF_ERROR(MakeDirectory(runs));
  return runs;
}

// Removes an earlier worker's run directories, with what still runs in them.
absl::Status RemoveRuns(const std::string& runs, std::vector<std::string>& notices) {
  if (const std::string scratch = ScratchOf(runs); !scratch.empty()) {
    CONCUR_RETURN_IF_ERROR(process::KillLeftovers(scratch, kLeftoversTimeout));
    CONCUR_RETURN_IF_ERROR(process::RemoveOrSetAside(scratch, scratch, notices));
  }
  CONCUR_RETURN_IF_ERROR(process::KillLeftovers(runs, kLeftoversTimeout));
  return process::RemoveOrSetAside(runs, runs, notices);
}

// Suffixes come over the wire; core/ checks them, and this is a second guard.
std::string SafeSuffix(const std::string& suffix) {
  std::string safe;
  for (const char c : suffix) {
    if (c != '/' && c != '\0' && safe.size() < 64) {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

bool HasNothing(const std::string& path) {
  const FileDescriptor directory = OpenDirectory(AT_FDCWD, path.c_str());
  std::vector<std::string> none;
  return directory.valid() ? ReadNames(directory.get(), 0, none) : errno == ENOENT;
}

std::string RunName(const AttemptId& id) {
  return absl::StrCat("s", id.job.sweep.number, "-", id.job.index, "-a", id.attempt.number);
}

RunDirectories::RunDirectories(std::string link, std::string runs, std::string logs,
                               const Made& made, bool recycles)
    : link_(std::move(link)),
      runs_(std::move(runs)),
      logs_(std::move(logs)),
      made_(made),
      recycles_(recycles) {}

RunDirectories::~RunDirectories() {
  if (link_.empty()) {
    return;
  }
  // The link goes last: by it the next worker here finds what is left.
  const absl::Status removed =
      process::RemoveTree(std::filesystem::path(runs_).parent_path().string());
  if (removed.ok()) {
    unlink(link_.c_str());
  } else {
    LogWarning("run directories could not be removed", {{"error", removed.ToString()}});
  }
}

absl::StatusOr<std::unique_ptr<RunDirectories>> RunDirectories::Open(
    const std::string& work_directory, const std::string& run_directory) {
  CONCUR_RETURN_IF_ERROR(MakeDirectories(work_directory, 0700));
  CONCUR_ASSIGN_OR_RETURN(const std::string root, Resolve(work_directory));
  const std::string logs = absl::StrCat(root, "/logs");
  std::string runs = absl::StrCat(root, "/runs");
  std::vector<std::string> notices;
  process::RemoveKept(runs, notices);
  process::RemoveKept(logs, notices);
  CONCUR_RETURN_IF_ERROR(RemoveRuns(runs, notices));
  CONCUR_RETURN_IF_ERROR(process::RemoveOrSetAside(logs, logs, notices));
  CONCUR_RETURN_IF_ERROR(MakeDirectory(logs));
  std::string link;
  if (run_directory.empty()) {
    CONCUR_RETURN_IF_ERROR(MakeDirectory(runs));
  } else {
    link = std::move(runs);
    CONCUR_ASSIGN_OR_RETURN(runs, MakeScratch(run_directory, link));
  }
  SpreadFolders(runs);
  struct stat info {};
  if (lstat(runs.c_str(), &info) != 0) {
    return ErrnoStatus(errno, runs, "look at");
  }
  std::unique_ptr<RunDirectories> directories(new RunDirectories(
      link, runs, logs, {info.st_uid, info.st_gid, info.st_mode, info.st_dev}, !IsOnNfs(runs)));
  directories->notices_ = std::move(notices);
  return directories;
}

std::string RunDirectories::links() const {
  return (std::filesystem::path(runs_).parent_path() / "links").string();
}

RunPaths RunDirectories::PathsOf(const JobOrder& order) const {
  const std::string name = RunName(order.id);
  RunPaths paths;
  paths.directory = absl::StrCat(runs_, "/", name);
  paths.checkpoint = absl::StrCat(paths.directory, "/", kCheckpointName);
  if (order.is_train) {
    const std::string suffix =
        order.is_mixture || order.train.empty() ? ".jsonl" : SafeSuffix(order.train[0].suffix);
    paths.train = absl::StrCat(paths.directory, "/train", suffix);
    if (!order.validation.empty()) {
      paths.validation = absl::StrCat(
          paths.directory, "/validation",
          order.validation.size() > 1 ? ".jsonl" : SafeSuffix(order.validation[0].suffix));
    }
    if (!order.system.IsZero()) {
      paths.start = absl::StrCat(paths.directory, "/start");
    }
  } else {
    paths.test = absl::StrCat(paths.directory, "/test", SafeSuffix(order.test.suffix));
  }
  if (order.code) {
    paths.code = absl::StrCat(paths.directory, "/code");
  }
  if (order.id.job.IsService() && UsesPlaceholder(order.command, "socket")) {
    paths.socket = absl::StrCat(paths.directory, "/socket/s");  // 107 bytes may be all there are
  }
  paths.model = absl::StrCat(paths.directory, "/model");
  paths.predictions = absl::StrCat(paths.directory, "/predictions.json");
  paths.metrics = absl::StrCat(paths.directory, "/metrics.json");
  paths.examples = absl::StrCat(paths.directory, "/examples.jsonl");
  paths.reports = absl::StrCat(paths.directory, "/metrics-lines.jsonl");
  paths.output = absl::StrCat(paths.directory, "/", kOutputName);
  paths.temporary = absl::StrCat(paths.directory, "/", kTemporaryName);
  paths.log = absl::StrCat(logs_, "/", name, ".log");
  return paths;
}

absl::Status RunDirectories::Make(const RunPaths& paths) {
  {
    MutexLock lock(mu_);
    used_.insert(paths.directory);
    // A name that comes again: the directory itself was kept.
    if (std::erase(spares_, paths.directory) > 0) {
      return absl::OkStatus();
    }
    // Takes the place of nothing or of an empty directory.
    if (!spares_.empty() && rename(spares_.back().c_str(), paths.directory.c_str()) == 0) {
      spares_.pop_back();
      return absl::OkStatus();
    }
  }
  if (mkdir(paths.directory.c_str(), kMode) != 0) {
    if (errno != EEXIST) {
      return ErrnoStatus(errno, paths.directory, "make directory");
    }
    // A second try after a transfer that did not come through starts from an empty directory.
    CONCUR_RETURN_IF_ERROR(process::RemoveTree(paths.directory));
    CONCUR_RETURN_IF_ERROR(MakeDirectory(paths.directory));
  }
  return MakeFolders(paths);
}

bool RunDirectories::IsMade(int directory) const {
  struct stat info {};
  return fstat(directory, &info) == 0 && info.st_uid == made_.owner && info.st_gid == made_.group &&
         info.st_mode == made_.mode && info.st_dev == made_.device;
}

bool RunDirectories::Empty(const RunPaths& paths) const {
  const FileDescriptor directory = OpenDirectory(AT_FDCWD, paths.directory.c_str());
  if (!directory.valid() || !IsMade(directory.get())) {
    return false;
  }
  std::vector<std::string> names;
  if (!ReadNames(directory.get(), kFilesMax, names)) {
    return false;
  }
  int folders = 0;
  for (const std::string& name : names) {
    if (name == kOutputName || name == kCheckpointName || name == kTemporaryName) {
      const FileDescriptor folder = OpenDirectory(directory.get(), name.c_str());
      std::vector<std::string> none;
      if (!folder.valid() || !IsMade(folder.get()) || !ReadNames(folder.get(), 0, none)) {
        return false;
      }
      ++folders;
    } else if (unlinkat(directory.get(), name.c_str(), 0) != 0) {
      return false;
    }
  }
  return folders == 3;
}

absl::Status RunDirectories::Remove(const RunPaths& paths, bool has_log) {
  if (has_log && unlink(paths.log.c_str()) != 0 && errno != ENOENT) {
    return ErrnoStatus(errno, paths.log, "remove");
  }
  if (recycles_ && Empty(paths)) {
    MutexLock lock(mu_);
    if (spares_.size() < kSparesMax) {
      used_.erase(paths.directory);
      spares_.push_back(paths.directory);
      return absl::OkStatus();
    }
  }
  absl::Status removed = process::RemoveTree(paths.directory, &is_stopping_);
  MutexLock lock(mu_);
  used_.erase(paths.directory);
  return removed;
}

std::vector<std::string> RunDirectories::RemoveStrays() {
  std::vector<std::string> strays;
  {
    MutexLock lock(mu_);
    const std::set<std::string> spares(spares_.begin(), spares_.end());
    std::error_code error;
    for (std::filesystem::directory_iterator it(runs_, error), end; !error && it != end;
         it.increment(error)) {
      const std::string path = it->path().string();
      // NFS keeps open files that were removed under such names.
      if (!used_.contains(path) && !spares.contains(path) &&
          !absl::StartsWith(it->path().filename().string(), ".nfs")) {
        strays.push_back(path);
      }
    }
  }
  std::vector<std::string> names;
  for (const std::string& path : strays) {
    if (const absl::Status removed = process::RemoveTree(path, &is_stopping_); !removed.ok()) {
      LogWarning("what a job left among the run directories cannot be removed",
                 {{"error", removed.ToString()}});
    }
    names.push_back(std::filesystem::path(path).filename().string());
  }
  return names;
}

std::string RunDirectories::MovedTo(const RunPaths& paths, int directory) {
  struct stat info {};
  std::error_code error;
  const std::string place =
      std::filesystem::read_symlink(absl::StrCat("/proc/self/fd/", directory), error).string();
  return error || place == paths.directory || lstat(place.c_str(), &info) != 0 ? "" : place;
}

}  // namespace concur::worker
