// SPDX-License-Identifier: Apache-2.0
#include "worker/inputs/verified_inputs.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace concur::worker {
namespace {

constexpr absl::Duration kVerifyInterval = absl::Hours(1);
// Code has fewer entries; more of them are somebody's attempt to keep this busy.
constexpr size_t kMarksMax = 50'000;
// To compare a larger input again takes longer than a tick.
constexpr int64_t kQuickBytesMax = int64_t{64} << 10;
constexpr int kTicksMax = 20;
// Outputs with the same bytes, put at the same moment, replace each other's file.
constexpr int kComparisonsMax = 20;
constexpr int kLargeComparisonsMax = 3;

// The kernel's clock of change times.
absl::Time TickTime() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return absl::TimeFromTimespec(now);
}

bool IsInMemory(const std::string& path) {
  struct statfs info {};
  return statfs(path.c_str(), &info) == 0 &&
         (info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC);
}

// Errors that say what lies there, which is not what should; all others say nothing about it.
bool SaysWhatIsThere(int error) {
  return error == ENOENT || error == ENOTDIR || error == EACCES || error == ELOOP;
}

// Whoever writes through a mapping changes the file's time only when the kernel notices, at the
// first write to a page since that was last written back.
void ProtectMappings(const std::string& path) {
  const auto sync = [](const std::string& entry) {
    const FileDescriptor file(open(entry.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (file.valid()) {
      fdatasync(file.get());
    }
  };
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    sync(path);
    return;
  }
  std::error_code error;
  size_t seen = 0;
  for (std::filesystem::recursive_directory_iterator it(path, error), end;
       !error && it != end && seen < kMarksMax; it.increment(error), ++seen) {
    sync(it->path().string());
  }
}

}  // namespace

bool MeansOtherBytes(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsInvalidArgument(status) ||
         absl::IsPermissionDenied(status);
}

absl::StatusOr<VerifiedInputs::Marks> VerifiedInputs::MarksOf(const std::string& path) {
  Marks marks;
  const absl::Time tick = TickTime();  // before: what is changed later has this time at least
  absl::Time last = absl::InfinitePast();
  bool is_folder = false;
  const auto add = [&](const std::string& entry) {
    struct stat info {};
    if (lstat(entry.c_str(), &info) != 0) {
      return errno;
    }
    const absl::Time change = absl::TimeFromTimespec(info.st_ctim);
    marks.all.push_back({info.st_dev, info.st_ino, info.st_size, absl::ToUnixNanos(change)});
    last = std::max(last, change);
    is_folder = S_ISDIR(info.st_mode);
    return 0;
  };
  int error = add(path);
  if (error == 0 && is_folder) {
    std::error_code listed;
    for (std::filesystem::recursive_directory_iterator it(path, listed), end;
         !listed && error == 0 && it != end; it.increment(listed)) {
      if (marks.all.size() == kMarksMax) {
        return Marks();
      }
      error = add(it->path().string());
    }
    error = listed ? listed.value() : error;
    std::sort(marks.all.begin(), marks.all.end());
  }
  if (error != 0) {
    return SaysWhatIsThere(error) ? absl::StatusOr<Marks>(Marks())
                                  : ErrnoStatus(error, path, "stat");
  }
  marks.are_settled = last < tick;
  return marks;
}

bool VerifiedInputs::IsLarge(const Marks& marks) {
  return marks.all.size() > 1 || (!marks.all.empty() && marks.all[0].bytes > kQuickBytesMax);
}

bool VerifiedInputs::IsSame(const std::string& name, const std::string& path, uint64_t generation) {
  const absl::StatusOr<Marks> now = MarksOf(path);
  MutexLock lock(mu_);
  const auto it = known_.find(name);
  return now.ok() && it != known_.end() && it->second.generation == generation &&
         it->second.marks.are_settled && it->second.marks.all == now->all;
}

bool VerifiedInputs::HasDiffered(const std::string& name, uint64_t generation) {
  MutexLock lock(mu_);
  const auto it = known_.find(name);
  return it != known_.end() && generation < it->second.other_bytes;
}

bool VerifiedInputs::IsLatest(const std::string& name, uint64_t generation) {
  MutexLock lock(mu_);
  const auto it = known_.find(name);
  return it != known_.end() && it->second.generation == generation;
}

absl::Status VerifiedInputs::Compare(const std::string& path, const Verify& verify, bool is_due,
                                     bool was_changed, Marks& marks) {
  if (is_due) {
    utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
    marks = {};
    if (was_changed) {
      ProtectMappings(path);
    }
    CONCUR_ASSIGN_OR_RETURN(marks, MarksOf(path));
  }
  for (int i = 0; IsLarge(marks) && !marks.are_settled && i < kTicksMax; ++i) {
    absl::SleepFor(absl::Milliseconds(1));
    CONCUR_ASSIGN_OR_RETURN(marks, MarksOf(path));
  }
  CONCUR_RETURN_IF_ERROR(verify());
  CONCUR_ASSIGN_OR_RETURN(const Marks after, MarksOf(path));
  if (after.all != marks.all) {
    return absl::AbortedError("changed while it was compared");
  }
  marks.are_settled = marks.are_settled && !IsInMemory(path);
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> VerifiedInputs::Look(const std::string& name, const std::string& path,
                                              const Verify& verify) {
  for (int compared = 1;; ++compared) {
    CONCUR_ASSIGN_OR_RETURN(const Marks marks, MarksOf(path));
    absl::StatusOr<uint64_t> generation = LookOnce(name, path, verify, marks);
    if (!absl::IsAborted(generation.status())) {
      return generation;
    }
    if (compared == (IsLarge(marks) ? kLargeComparisonsMax : kComparisonsMax)) {
      return absl::UnavailableError(absl::StrCat(path, ": somebody writes to it"));
    }
  }
}

absl::StatusOr<uint64_t> VerifiedInputs::LookOnce(const std::string& name, const std::string& path,
                                                  const Verify& verify, Marks marks) {
  const absl::Time now = absl::Now();
  bool was_changed = false;
  bool is_due = false;
  {
    MutexLock lock(mu_);
    Known& known = known_[name];
    was_changed = !known.marks.all.empty() && known.marks.all != marks.all;
    is_due = was_changed || now >= known.verify_time + kVerifyInterval;
    if (!is_due && known.marks.are_settled) {
      return known.generation;
    }
    if (was_changed) {
      known.suspects.insert(known.readers.begin(), known.readers.end());
    }
    if (known.generation == 0 || was_changed) {
      known.generation = next_generation_++;
    }
    known.marks = {};  // until it is known again
  }
  absl::Status compared = Compare(path, verify, is_due, was_changed, marks);
  MutexLock lock(mu_);
  Known& known = known_[name];
  if (absl::IsDataLoss(compared)) {
    known.suspects.insert(known.readers.begin(), known.readers.end());
    known.generation = next_generation_++;
    known.other_bytes = known.generation;
    return compared;
  }
  known.marks = std::move(marks);
  if (!compared.ok()) {
    known.marks.are_settled = false;
    return compared;
  }
  known.verify_time = is_due ? now : known.verify_time;
  return known.generation;
}

void VerifiedInputs::Forget(const std::string& name) {
  MutexLock lock(mu_);
  known_.erase(name);
}

void VerifiedInputs::Begin(const std::string& name, const AttemptId& attempt) {
  MutexLock lock(mu_);
  known_[name].readers.push_back(attempt);
}

std::vector<AttemptId> VerifiedInputs::End(const std::string& name, const AttemptId& attempt) {
  MutexLock lock(mu_);
  const auto it = known_.find(name);
  if (it == known_.end()) {
    return {};
  }
  Known& known = it->second;
  std::vector<AttemptId> others(known.suspects.begin(), known.suspects.end());
  std::erase(others, attempt);
  const auto reader = std::find(known.readers.begin(), known.readers.end(), attempt);
  if (reader != known.readers.end()) {
    known.readers.erase(reader);
  }
  if (known.readers.empty()) {
    known.suspects.clear();
  }
  return others;
}

}  // namespace concur::worker
