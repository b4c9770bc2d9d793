#include "worker/run_dir.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "worker/process_tree.h"

namespace concur::worker {
namespace {

constexpr absl::Duration kLeftoversTimeout = absl::Seconds(10);
constexpr mode_t kMode = 0755;
constexpr size_t kSparesMax = 64;

absl::Status MakeDirectory(const std::string& path) {
  if (mkdir(path.c_str(), kMode) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, path, "make directory");
  }
  return absl::OkStatus();
}

// Gives the owner all rights to every folder of the tree.
void OpenUp(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_symlink(path, error) || !std::filesystem::is_directory(path, error)) {
    return;
  }
  chmod(path.c_str(), 0700);
  for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    OpenUp(entry->path());
  }
}

// Suffixes come over the wire; rpc/ checks them, and this keeps a name a name.
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

absl::Status RemoveTree(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) {
    OpenUp(path);
    error.clear();
    std::filesystem::remove_all(path, error);
  }
  return error ? ErrnoStatus(error.value(), path, "remove") : absl::OkStatus();
}

RunDirectories::RunDirectories(std::string runs, std::string logs)
    : runs_(std::move(runs)), logs_(std::move(logs)) {}

absl::StatusOr<std::unique_ptr<RunDirectories>> RunDirectories::Open(
    const std::string& work_directory) {
  std::error_code error;
  CONCUR_RETURN_IF_ERROR(MakeDirectories(work_directory, 0700));
  // Links resolved: the kernel names a process's working directory so.
  const std::filesystem::path root = std::filesystem::canonical(work_directory, error);
  if (error) {
    return ErrnoStatus(error.value(), work_directory, "resolve");
  }
  std::unique_ptr<RunDirectories> directories(
      new RunDirectories((root / "runs").string(), (root / "logs").string()));
  CONCUR_RETURN_IF_ERROR(KillLeftovers(directories->runs_, kLeftoversTimeout));
  CONCUR_RETURN_IF_ERROR(RemoveTree(directories->runs_));
  CONCUR_RETURN_IF_ERROR(RemoveTree(directories->logs_));
  CONCUR_RETURN_IF_ERROR(MakeDirectory(directories->runs_));
  CONCUR_RETURN_IF_ERROR(MakeDirectory(directories->logs_));
  return directories;
}

RunPaths RunDirectories::PathsOf(const JobOrder& order) const {
  const std::string name = RunName(order.id);
  RunPaths paths;
  paths.directory = absl::StrCat(runs_, "/", name);
  if (order.is_train) {
    const std::string suffix =
        order.is_mixture || order.train.empty() ? ".jsonl" : SafeSuffix(order.train[0].suffix);
    paths.train = absl::StrCat(paths.directory, "/train", suffix);
  } else {
    paths.test = absl::StrCat(paths.directory, "/test", SafeSuffix(order.test.suffix));
  }
  paths.model = absl::StrCat(paths.directory, "/model");
  paths.predictions = absl::StrCat(paths.directory, "/predictions.json");
  paths.metrics = absl::StrCat(paths.directory, "/metrics.json");
  paths.output = absl::StrCat(paths.directory, "/output");
  paths.temporary = absl::StrCat(paths.directory, "/tmp");
  paths.log = absl::StrCat(logs_, "/", name, ".log");
  return paths;
}

absl::Status RunDirectories::Make(const RunPaths& paths) {
  std::string spare;
  {
    MutexLock lock(mu_);
    if (!spares_.empty()) {
      spare = std::move(spares_.back());
      spares_.pop_back();
    }
  }
  if (!spare.empty()) {
    // Takes the place of nothing or of an empty directory.
    if (rename(spare.c_str(), paths.directory.c_str()) == 0) {
      return absl::OkStatus();
    }
    MutexLock lock(mu_);
    spares_.push_back(std::move(spare));
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
  return MakeDirectory(paths.temporary);
}

bool RunDirectories::IsAsMade(const RunPaths& paths) const {
  struct stat parent {};
  if (stat(runs_.c_str(), &parent) != 0) {
    return false;
  }
  for (const std::string* path : {&paths.directory, &paths.output, &paths.temporary}) {
    struct stat info {};
    const size_t entries = path == &paths.directory ? 2 : 0;
    if (lstat(path->c_str(), &info) != 0 || !S_ISDIR(info.st_mode) ||
        info.st_uid != parent.st_uid || info.st_gid != parent.st_gid ||
        info.st_mode != parent.st_mode || info.st_dev != parent.st_dev) {
      return false;
    }
    std::error_code error;
    size_t found = 0;
    for (std::filesystem::directory_iterator it(*path, error), end; !error && it != end;
         it.increment(error)) {
      if (++found > entries) {
        return false;
      }
    }
    if (error) {
      return false;
    }
  }
  return true;
}

absl::Status RunDirectories::Remove(const RunPaths& paths) {
  if (unlink(paths.log.c_str()) != 0 && errno != ENOENT) {
    return ErrnoStatus(errno, paths.log, "remove");
  }
  // What most attempts leave.
  for (const std::string* file :
       {&paths.train, &paths.test, &paths.model, &paths.predictions, &paths.metrics}) {
    if (!file->empty()) {
      unlink(file->c_str());
    }
  }
  if (IsAsMade(paths)) {
    MutexLock lock(mu_);
    if (spares_.size() < kSparesMax) {
      spares_.push_back(paths.directory);
      return absl::OkStatus();
    }
  }
  return RemoveTree(paths.directory);
}

}  // namespace concur::worker
