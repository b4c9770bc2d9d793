// SPDX-License-Identifier: Apache-2.0
#include "worker/run_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "worker/process_tree.h"
#include "worker/remove_tree.h"

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
// The kernel's clock of file systems has moved on after so long.
constexpr absl::Duration kTickMax = absl::Milliseconds(100);

absl::Status MakeDirectory(const std::string& path) {
  if (mkdir(path.c_str(), kMode) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, path, "make directory");
  }
  return absl::OkStatus();
}

// One of this user. That it was read is not noted: that takes longer than to read it.
FileDescriptor OpenDirectory(int parent, const char* name) {
  return FileDescriptor(
      openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NOATIME | O_CLOEXEC));
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

// What statfs calls the file system of `path`; 0 when that is not known.
decltype(statfs::f_type) FileSystemOf(const std::string& path) {
  struct statfs info {};
  return statfs(path.c_str(), &info) == 0 ? info.f_type : 0;
}

// NFS keeps a file that is still open under another name when it is removed.
bool IsOnNfs(const std::string& path) { return FileSystemOf(path) == NFS_SUPER_MAGIC; }

// Others may keep seconds only, or times of another machine's clock.
bool TellsChanges(const std::string& path) {
  const auto type = FileSystemOf(path);
  return type == EXT4_SUPER_MAGIC || type == XFS_SUPER_MAGIC || type == BTRFS_SUPER_MAGIC ||
         type == TMPFS_MAGIC;
}

// Of the file that the attempt reads; zero when it is a mixture, which is built for it.
Digest DataOf(const JobOrder& order) {
  return !order.is_train                           ? order.test.digest
         : order.is_mixture || order.train.empty() ? Digest()
                                                   : order.train[0].digest;
}

// The name of the link to an attempt's data in its run directory.
std::string DataName(const RunPaths& paths) {
  const std::string& path = paths.test.empty() ? paths.train : paths.test;
  return path.substr(std::min(path.size(), paths.directory.size() + 1));
}

// Whether `paths` name a file or folder of this name in the run directory.
bool IsNamed(const RunPaths& paths, absl::string_view name) {
  const size_t at = paths.directory.size() + 1;
  for (const std::string* path :
       {&paths.test, &paths.metrics, &paths.predictions, &paths.examples, &paths.train,
        &paths.validation, &paths.model, &paths.checkpoint, &paths.code}) {
    if (path->size() > at && absl::string_view(*path).substr(at) == name) {
      return true;
    }
  }
  return false;
}

// Whether `name` is a symbolic link to `target`.
bool IsLinkTo(int directory, const std::string& name, const std::string& target) {
  std::array<char, 4096> text;
  const ssize_t got = readlinkat(directory, name.c_str(), text.data(), text.size());
  return got > 0 && absl::string_view(text.data(), static_cast<size_t>(got)) == target;
}

// Of a link to run directories elsewhere: the directory that MakeScratch made for them. "" for
// anything else: a folder, a link that somebody else made, or what somebody else has put where the
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
    CONCUR_RETURN_IF_ERROR(KillLeftovers(scratch, kLeftoversTimeout));
    CONCUR_RETURN_IF_ERROR(RemoveOrSetAside(scratch, scratch, notices));
  }
  CONCUR_RETURN_IF_ERROR(KillLeftovers(runs, kLeftoversTimeout));
  return RemoveOrSetAside(runs, runs, notices);
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

std::string RunName(const AttemptId& id) {
  return absl::StrCat("s", id.job.sweep.number, "-", id.job.index, "-a", id.attempt.number);
}

int64_t DiskUseOf(const std::string& path) {
  int64_t bytes = 0;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator
           it(path, std::filesystem::directory_options::skip_permission_denied, error),
       end;
       !error && it != end; it.increment(error)) {
    struct stat info {};
    if (lstat(it->path().c_str(), &info) == 0) {
      bytes += int64_t{info.st_blocks} * 512;
    }
  }
  return bytes;
}

RunDirectories::RunDirectories(std::string link, std::string runs, std::string logs,
                               const Made& made)
    : link_(std::move(link)),
      runs_(std::move(runs)),
      logs_(std::move(logs)),
      made_(made),
      recycles_(!IsOnNfs(runs_)),
      tells_changes_(TellsChanges(runs_)) {}

RunDirectories::~RunDirectories() {
  if (link_.empty()) {
    return;
  }
  // The link goes last: by it the next worker here finds what is left.
  const absl::Status removed = RemoveTree(std::filesystem::path(runs_).parent_path().string());
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
  RemoveKept(runs, notices);
  RemoveKept(logs, notices);
  CONCUR_RETURN_IF_ERROR(RemoveRuns(runs, notices));
  CONCUR_RETURN_IF_ERROR(RemoveOrSetAside(logs, logs, notices));
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
  std::unique_ptr<RunDirectories> directories(
      new RunDirectories(link, runs, logs, {info.st_uid, info.st_gid, info.st_mode, info.st_dev}));
  directories->notices_ = std::move(notices);
  return directories;
}

std::string RunDirectories::links() const {
  return (std::filesystem::path(runs_).parent_path() / "links").string();
}

RunPaths RunDirectories::PathsOf(const JobOrder& order, const std::string& name) const {
  RunPaths paths;
  paths.directory = absl::StrCat(runs_, "/", name);
  if (order.is_train) {
    paths.checkpoint = absl::StrCat(paths.directory, "/", kCheckpointName);
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
  paths.model = absl::StrCat(paths.directory, "/model");
  paths.predictions = absl::StrCat(paths.directory, "/predictions.json");
  paths.metrics = absl::StrCat(paths.directory, "/metrics.json");
  paths.examples = absl::StrCat(paths.directory, "/examples.jsonl");
  paths.output = absl::StrCat(paths.directory, "/", kOutputName);
  paths.temporary = absl::StrCat(paths.directory, "/", kTemporaryName);
  paths.log = absl::StrCat(logs_, "/", name, ".log");
  return paths;
}

std::optional<RunDirectories::Spare> RunDirectories::TakeSpare(const std::string& directory,
                                                               const std::string& data_name,
                                                               const Digest& data) {
  MutexLock lock(mu_);
  used_.insert(directory);
  if (spares_.empty()) {
    return std::nullopt;
  }
  auto chosen = std::find_if(spares_.begin(), spares_.end(), [&](const Spare& spare) {
    return spare.contents.data == data && spare.data_name == data_name;
  });
  chosen = chosen == spares_.end() ? spares_.end() - 1 : chosen;
  Spare taken = std::move(*chosen);
  *chosen = std::move(spares_.back());
  spares_.pop_back();
  return taken;
}

absl::StatusOr<RunContents> RunDirectories::Make(const RunPaths& paths, const JobOrder& order) {
  const std::string data_name = DataName(paths);
  const Digest data = DataOf(order);
  if (std::optional<Spare> spare = TakeSpare(paths.directory, data_name, data)) {
    RunContents& contents = spare->contents;
    // Takes the place of nothing or of an empty directory.
    if (rename(spare->directory.c_str(), paths.directory.c_str()) == 0) {
      if (!contents.target.empty() && (contents.data != data || spare->data_name != data_name)) {
        const std::string link = absl::StrCat(paths.directory, "/", spare->data_name);
        if (unlink(link.c_str()) != 0) {
          return ErrnoStatus(errno, link, "remove");
        }
        contents.target.clear();
      }
      contents.data = data;
      return std::move(contents);
    }
    MutexLock lock(mu_);
    spares_.push_back(*std::move(spare));
  }
  if (mkdir(paths.directory.c_str(), kMode) != 0) {
    if (errno != EEXIST) {
      return ErrnoStatus(errno, paths.directory, "make directory");
    }
    // A second try after a transfer that did not come through starts from an empty directory.
    CONCUR_RETURN_IF_ERROR(RemoveTree(paths.directory));
    CONCUR_RETURN_IF_ERROR(MakeDirectory(paths.directory));
  }
  CONCUR_RETURN_IF_ERROR(MakeDirectory(paths.output));
  CONCUR_RETURN_IF_ERROR(MakeDirectory(paths.temporary));
  RunContents contents;
  contents.data = data;
  return contents;
}

bool RunDirectories::IsMade(const struct stat& info) const {
  return info.st_uid == made_.owner && info.st_gid == made_.group && info.st_mode == made_.mode &&
         info.st_dev == made_.device;
}

bool RunDirectories::IsEmpty(int directory, const char* name, RunContents::Folder& folder) const {
  struct stat info {};
  if (folder.settled && fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
      info.st_ino == folder.inode && info.st_ctim.tv_sec == folder.change_time.tv_sec &&
      info.st_ctim.tv_nsec == folder.change_time.tv_nsec) {
    return true;
  }
  const FileDescriptor opened = OpenDirectory(directory, name);
  std::vector<std::string> none;
  if (!opened.valid() || fstat(opened.get(), &info) != 0 || !IsMade(info) ||
      !ReadNames(opened.get(), 0, none)) {
    return false;
  }
  // A change within the same tick of the kernel's clock could have the same time; one of seconds
  // only ticks slowly.
  const absl::Duration age = absl::Now() - absl::TimeFromTimespec(info.st_ctim);
  folder = {info.st_ino, info.st_ctim,
            tells_changes_ && age > kTickMax && info.st_ctim.tv_nsec != 0};
  return true;
}

bool RunDirectories::Empty(const RunPaths& paths, bool named_only, RunContents& contents) const {
  const FileDescriptor directory = OpenDirectory(AT_FDCWD, paths.directory.c_str());
  struct stat info {};
  std::vector<std::string> names;
  if (!directory.valid() || fstat(directory.get(), &info) != 0 || !IsMade(info) ||
      !ReadNames(directory.get(), kFilesMax, names)) {
    return false;
  }
  const auto is_folder = [](const std::string& name) {
    return name == kOutputName || name == kTemporaryName;
  };
  // Folders first: where one of them is not empty, all may be left as it is.
  for (const std::string& name : names) {
    if (is_folder(name) ? !IsEmpty(directory.get(), name.c_str(),
                                   name == kOutputName ? contents.output : contents.temporary)
                        : named_only && !IsNamed(paths, name)) {
      return false;
    }
  }
  const std::string link = contents.data.IsZero() || contents.target.empty() ? "" : DataName(paths);
  bool has_link = false;
  for (const std::string& name : names) {
    if (name == link && IsLinkTo(directory.get(), name, contents.target)) {
      has_link = true;
    } else if (!is_folder(name) && unlinkat(directory.get(), name.c_str(),
                                            name == kCheckpointName ? AT_REMOVEDIR : 0) != 0) {
      return false;
    }
  }
  if (!has_link) {
    contents.target.clear();
  }
  return std::count_if(names.begin(), names.end(), is_folder) == 2;
}

void RunDirectories::Release(const std::string& directory) {
  MutexLock lock(mu_);
  used_.erase(directory);
  if (!used_.empty()) {
    return;
  }
  for (Spare& spare : spares_) {
    if (!spare.contents.target.empty()) {
      unlink(absl::StrCat(spare.directory, "/", spare.data_name).c_str());
      spare.contents.target.clear();
    }
  }
}

bool RunDirectories::KeepSpare(const RunPaths& paths, RunContents& contents) {
  MutexLock lock(mu_);
  if (spares_.size() >= kSparesMax) {
    return false;
  }
  spares_.push_back({paths.directory, DataName(paths), std::move(contents)});
  return true;
}

bool RunDirectories::Recycle(const RunPaths& paths, RunContents& contents) {
  if (!recycles_ || !Empty(paths, /*named_only=*/true, contents) || !KeepSpare(paths, contents)) {
    return false;
  }
  Release(paths.directory);
  return true;
}

absl::Status RunDirectories::Remove(const RunPaths& paths, RunContents contents) {
  const bool kept =
      recycles_ && Empty(paths, /*named_only=*/false, contents) && KeepSpare(paths, contents);
  const absl::Status removed = kept ? absl::OkStatus() : RemoveTree(paths.directory);
  Release(paths.directory);
  return removed;
}

absl::Status RunDirectories::RemoveLog(const RunPaths& paths) {
  return unlink(paths.log.c_str()) == 0 || errno == ENOENT
             ? absl::OkStatus()
             : ErrnoStatus(errno, paths.log, "remove");
}

}  // namespace concur::worker
