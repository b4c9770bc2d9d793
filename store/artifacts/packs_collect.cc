// SPDX-License-Identifier: Apache-2.0
// Removes what nobody needs from packs, and merges small ones.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "store/artifacts/file_blocks.h"
#include "store/artifacts/packs.h"
#include "store/store_lock.h"

namespace concur {
namespace {

// Makes one pack of several. What it wrote goes with it unless it is finished.
class PackWriter {
 public:
  explicit PackWriter(std::string path) : path_(std::move(path)) {}
  ~PackWriter() {
    if (fd_.valid() && !finished_) {
      unlink(path_.c_str());
    }
  }
  PackWriter(const PackWriter&) = delete;
  PackWriter& operator=(const PackWriter&) = delete;

  absl::Status Open() {
    fd_ = FileDescriptor(open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    return fd_.valid() && fchmod(fd_.get(), 0644) == 0 ? absl::OkStatus()
                                                       : ErrnoStatus(errno, path_, "create");
  }

  // False when something of it could not be read, or was no record.
  absl::StatusOr<bool> AddPack(int fd, const std::string& from) {
    struct stat info {};
    if (fstat(fd, &info) != 0) {
      return ErrnoStatus(errno, from, "stat");
    }
    time_ = std::max(time_, absl::TimeFromTimespec(info.st_mtim));
    CONCUR_ASSIGN_OR_RETURN(const PackScan scan, ScanPack(fd, from, 0));
    bool is_whole = !scan.is_damaged;
    for (PackRecord record : scan.records) {
      if (record.removed) {
        continue;
      }
      const absl::StatusOr<std::string> data =
          ReadPackBytes(fd, from, record.offset + kPackHeaderBytes, record.size);
      if (absl::IsDataLoss(data.status())) {
        is_whole = false;
        continue;
      }
      CONCUR_RETURN_IF_ERROR(data.status());
      if (data->size() != record.size) {
        return absl::DataLossError(absl::StrCat(from, ": became shorter while it was read"));
      }
      record.offset = end_;
      record.synced = end_;  // when the file has its name, all of it is
      const std::string text = FormatPackRecord(record, *data);
      CONCUR_RETURN_IF_ERROR(WritePackBytes(fd_.get(), path_, end_, text));
      end_ += static_cast<uint32_t>(text.size());
    }
    return is_whole;
  }

  // Durable but for its name. It is as old as the newest that was added.
  absl::Status Finish(const std::string& path) {
    const timespec time = absl::ToTimespec(time_);
    const timespec times[2] = {time, time};
    if (fsync(fd_.get()) != 0 || futimens(fd_.get(), times) != 0) {
      return ErrnoStatus(errno, path_, "sync");
    }
    if (rename(path_.c_str(), path.c_str()) != 0) {
      return ErrnoStatus(errno, path, "rename");
    }
    finished_ = true;
    return absl::OkStatus();
  }

 private:
  const std::string path_;
  FileDescriptor fd_;
  uint32_t end_ = 0;
  absl::Time time_ = absl::UnixEpoch();
  bool finished_ = false;
};

}  // namespace

// A pack that is less than half full.
struct Packs::Candidate {
  std::string name;
  uint32_t bytes = 0;  // taken by the records left
  uint32_t wasted = 0;
};

absl::StatusOr<std::optional<Packs::Candidate>> Packs::CollectPack(
    const std::string& name, const absl::flat_hash_set<Digest>& live, absl::Time before,
    int64_t& bytes_freed) {
  const std::string path = PathOf(name);
  // Held for one pack at a time, so that writers do not wait for the whole collection.
  CONCUR_ASSIGN_OR_RETURN(const FileDescriptor lock, LockStore(root_, LOCK_EX));
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return std::nullopt;  // merged meanwhile, or not a pack
  }
  const FileDescriptor fd(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) {
    return ErrnoStatus(errno, path, "open");
  }
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return std::nullopt;
  }
  // Not before: its writer may have written until it was locked.
  if (fstat(fd.get(), &info) != 0) {
    return ErrnoStatus(errno, path, "stat");
  }
  if (absl::TimeFromTimespec(info.st_mtim) >= before) {
    return std::nullopt;
  }
  CONCUR_ASSIGN_OR_RETURN(const PackScan scan, ScanPack(fd.get(), path, 0));
  uint32_t bytes = 0;
  std::vector<PackRecord> dead;
  for (const PackRecord& record : scan.records) {
    if (!record.removed && live.contains(record.digest)) {
      bytes += PackRecordBytes(record.size);
    } else if (!record.removed) {
      CONCUR_RETURN_IF_ERROR(MarkRemoved(fd.get(), path, record.offset));
      bytes_freed += record.size;
      dead.push_back(record);
    }
  }
  DropRemoved(name, dead);
  if (bytes == 0) {
    CONCUR_RETURN_IF_ERROR(Discard(name, scan.is_damaged));
    return std::nullopt;
  }
  // Its age is that of its artifacts, not of this collection.
  const timespec times[2] = {info.st_atim, info.st_mtim};
  if (futimens(fd.get(), times) != 0) {
    return ErrnoStatus(errno, path, "set the time");
  }
  if (bytes >= kPackBytesMax / 2) {
    return std::nullopt;
  }
  const auto length = static_cast<uint32_t>(std::min<int64_t>(info.st_size, UINT32_MAX));
  return Candidate{name, bytes, length - bytes};
}

absl::Status Packs::Merge(const std::vector<Candidate>& candidates) {
  CONCUR_ASSIGN_OR_RETURN(const std::string id, NewUniqueId());
  const std::string path = absl::StrCat(root_, "/tmp/", id, kPackSuffix);
  CONCUR_ASSIGN_OR_RETURN(const FileDescriptor lock, LockStore(root_, LOCK_EX));
  PackWriter writer(path);
  CONCUR_RETURN_IF_ERROR(writer.Open());
  std::vector<std::pair<std::string, bool>> merged;  // and whether with damage
  for (const Candidate& candidate : candidates) {
    const std::string from = PathOf(candidate.name);
    const FileDescriptor fd(open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (fd.valid() && flock(fd.get(), LOCK_EX | LOCK_NB) == 0) {
      CONCUR_ASSIGN_OR_RETURN(const bool is_whole, writer.AddPack(fd.get(), from));
      merged.emplace_back(candidate.name, !is_whole);
    }
  }
  CONCUR_RETURN_IF_ERROR(writer.Finish(PathOf(absl::StrCat(id, kPackSuffix))));
  CONCUR_RETURN_IF_ERROR(SyncDirectory(directory_));
  for (const auto& [name, is_damaged] : merged) {
    CONCUR_RETURN_IF_ERROR(Discard(name, is_damaged));
  }
  return absl::OkStatus();
}

absl::Status Packs::Discard(const std::string& name, bool is_damaged) {
  const std::string path = PathOf(name);
  if (!is_damaged) {
    return unlink(path.c_str()) == 0 ? absl::OkStatus() : ErrnoStatus(errno, path, "remove");
  }
  // A live artifact whose header is damaged may be in it.
  const std::string damaged = root_ + "/damaged";
  CONCUR_RETURN_IF_ERROR(MakeDirectories(damaged));
  const std::string target = absl::StrCat(damaged, "/", name);
  if (renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE) != 0) {
    return ErrnoStatus(errno, path, "set aside");
  }
  LogWarning("a pack with damage was set aside; what is whole was kept", {{"file", target}});
  return absl::OkStatus();
}

absl::StatusOr<int64_t> Packs::Collect(const absl::flat_hash_set<Digest>& live, absl::Time before) {
  CONCUR_ASSIGN_OR_RETURN(const absl::flat_hash_set<std::string> found, Names());
  std::vector<std::string> names(found.begin(), found.end());
  std::sort(names.begin(), names.end());
  int64_t bytes_freed = 0;
  std::vector<Candidate> candidates;
  uint32_t bytes = 0;
  const auto merge = [&] {
    // One alone is copied only if that frees more than it costs.
    const bool pays = candidates.size() > 1 ||
                      (candidates.size() == 1 && candidates[0].wasted > candidates[0].bytes);
    const absl::Status merged = pays ? Merge(candidates) : absl::OkStatus();
    if (!merged.ok()) {
      LogWarning("packs cannot be merged now", {{"error", merged.ToString()}});
    }
    candidates.clear();
    bytes = 0;
  };
  absl::Status status;
  for (const std::string& name : names) {
    const absl::StatusOr<std::optional<Candidate>> candidate =
        CollectPack(name, live, before, bytes_freed);
    if (!candidate.ok()) {
      LogWarning("a pack cannot be collected", {{"error", candidate.status().ToString()}});
      status.Update(candidate.status());
    } else if (candidate->has_value()) {
      if (bytes + (*candidate)->bytes > kPackBytesMax) {
        merge();
      }
      candidates.push_back(**candidate);
      bytes += (*candidate)->bytes;
    }
  }
  merge();
  CONCUR_RETURN_IF_ERROR(Refresh());
  CONCUR_RETURN_IF_ERROR(status);
  return bytes_freed;
}

}  // namespace concur
