// SPDX-License-Identifier: Apache-2.0
#include "store/packs.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "store/file_blocks.h"
#include "store/store_lock.h"

namespace concur {
namespace {

constexpr absl::string_view kPackSuffix = ".pack";

absl::Status NotPacked(const Digest& digest) {
  return absl::NotFoundError(absl::StrCat("artifact ", digest.ToHex(), " is not stored here"));
}

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
    return fd_.valid() ? absl::OkStatus() : ErrnoStatus(errno, path_, "create");
  }

  absl::Status AddPack(int fd, const std::string& from) {
    struct stat info {};
    if (fstat(fd, &info) != 0) {
      return ErrnoStatus(errno, from, "stat");
    }
    time_ = std::max(time_, absl::TimeFromTimespec(info.st_mtim));
    CONCUR_ASSIGN_OR_RETURN(const PackScan scan, ScanPack(fd, from, 0));
    for (PackRecord record : scan.records) {
      if (record.removed) {
        continue;
      }
      CONCUR_ASSIGN_OR_RETURN(
          const std::string data,
          ReadPackBytes(fd, from, record.offset + kPackHeaderBytes, record.size));
      if (data.size() != record.size) {
        return absl::DataLossError(absl::StrCat(from, ": became shorter while it was read"));
      }
      record.offset = end_;
      record.synced = end_;  // when the file has its name, all of it is
      const std::string text = FormatPackRecord(record, data);
      CONCUR_RETURN_IF_ERROR(WritePackBytes(fd_.get(), path_, end_, text));
      end_ += static_cast<uint32_t>(text.size());
    }
    return absl::OkStatus();
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

Packs::Packs(std::string root) : root_(std::move(root)), directory_(root_ + "/packs") {}

std::string Packs::PathOf(const std::string& name) const {
  return absl::StrCat(directory_, "/", name);
}

// --- the index ----------------------------------------------------------------------------------

uint32_t Packs::NumberOf(const std::string& name) {
  const auto [it, is_new] = numbers_.try_emplace(name, static_cast<uint32_t>(packs_.size()));
  if (is_new) {
    packs_.push_back({.name = name});
  }
  return it->second;
}

void Packs::ReadAllAgain() {
  for (Pack& pack : packs_) {
    pack.next = 0;
    pack.bytes = -1;
  }
}

void Packs::Drop(const Digest& digest, const Place& place) {
  MutexLock lock(mu_);
  if (const auto it = index_.find(digest); it != index_.end() && it->second == place) {
    index_.erase(it);
    ReadAllAgain();
  }
}

void Packs::DropRemoved(const std::string& name, const std::vector<PackRecord>& records) {
  MutexLock lock(mu_);
  const uint32_t number = NumberOf(name);
  for (const PackRecord& record : records) {
    const auto it = index_.find(record.digest);
    if (it != index_.end() && it->second == Place{number, record.offset, record.size}) {
      index_.erase(it);
    }
  }
  if (!records.empty()) {
    ReadAllAgain();
  }
}

void Packs::DropGone(const absl::flat_hash_set<std::string>& names) {
  MutexLock lock(mu_);
  std::vector<bool> is_gone(packs_.size());
  bool any = false;
  for (auto it = numbers_.begin(); it != numbers_.end();) {
    const auto here = it++;
    if (!names.contains(here->first)) {
      any = is_gone[here->second] = true;
      numbers_.erase(here);
    }
  }
  if (any) {
    absl::erase_if(index_, [&](const auto& entry) { return is_gone[entry.second.pack]; });
    ReadAllAgain();
  }
}

absl::Status Packs::ReadNew(const std::string& name) {
  const std::string path = PathOf(name);
  struct stat info {};
  const absl::StatusOr<FileDescriptor> fd = OpenRegular(path, info);
  if (absl::IsNotFound(fd.status()) || absl::IsInvalidArgument(fd.status())) {
    return absl::OkStatus();  // merged meanwhile, or not a pack
  }
  CONCUR_RETURN_IF_ERROR(fd.status());
  const absl::Time time = absl::TimeFromTimespec(info.st_mtim);
  uint32_t number = 0;
  uint32_t begin = 0;
  {
    MutexLock lock(mu_);
    number = NumberOf(name);
    if (packs_[number].bytes == info.st_size && packs_[number].time == time) {
      return absl::OkStatus();
    }
    begin = packs_[number].next;
  }
  CONCUR_ASSIGN_OR_RETURN(const PackScan scan, ScanPack(fd->get(), path, begin));
  MutexLock lock(mu_);
  Pack& pack = packs_[number];
  pack.bytes = info.st_size;
  pack.time = time;
  pack.next = scan.next;
  for (const PackRecord& record : scan.records) {
    pack.synced = std::max(pack.synced, record.synced);
    if (!record.removed && record.offset < pack.lost_from) {
      index_.try_emplace(record.digest, Place{number, record.offset, record.size});
    }
  }
  return absl::OkStatus();
}

absl::Status Packs::Refresh() {
  MutexLock refresh(refresh_mu_);
  absl::flat_hash_set<std::string> names;
  CONCUR_RETURN_IF_ERROR(ForEachEntry(directory_, [&](const std::string& name) {
    if (absl::EndsWith(name, kPackSuffix)) {
      names.insert(name);
    }
    return absl::OkStatus();
  }));
  DropGone(names);
  for (const std::string& name : names) {
    CONCUR_RETURN_IF_ERROR(ReadNew(name));
  }
  return absl::OkStatus();
}

std::optional<std::pair<Packs::Place, std::string>> Packs::Lookup(const Digest& digest) const {
  MutexLock lock(mu_);
  const auto it = index_.find(digest);
  if (it == index_.end()) {
    return std::nullopt;
  }
  return std::make_pair(it->second, PathOf(packs_[it->second.pack].name));
}

absl::StatusOr<Packs::Found> Packs::Find(const Digest& digest, int flags, bool searches) {
  // What the index knows may have been merged since: then the new pack is found at the second try.
  for (const bool may_refresh : {searches, false}) {
    std::optional<std::pair<Place, std::string>> known = Lookup(digest);
    if (known) {
      const auto& [place, path] = *known;
      Found found{place, path, FileDescriptor(open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW))};
      if (!found.fd.valid() && errno != ENOENT) {
        return ErrnoStatus(errno, path, "open");
      }
      if (found.fd.valid()) {
        CONCUR_ASSIGN_OR_RETURN(
            const std::string header,
            ReadPackBytes(found.fd.get(), path, place.offset, kPackHeaderBytes));
        const std::optional<PackRecord> record = ParsePackHeader(header, place.offset);
        if (record && !record->removed && record->digest == digest) {
          return found;
        }
      }
      Drop(digest, place);
    }
    if (!may_refresh) {
      break;
    }
    CONCUR_RETURN_IF_ERROR(Refresh());
  }
  return NotPacked(digest);
}

absl::StatusOr<int64_t> Packs::Size(const Digest& digest) {
  CONCUR_ASSIGN_OR_RETURN(const Found found, Find(digest, O_RDONLY, /*searches=*/true));
  return int64_t{found.place.size};
}

absl::StatusOr<std::string> Packs::Read(const Digest& digest) {
  CONCUR_ASSIGN_OR_RETURN(const Found found, Find(digest, O_RDONLY, /*searches=*/true));
  return ReadPackBytes(found.fd.get(), found.path, found.place.offset + kPackHeaderBytes,
                       found.place.size);
}

absl::StatusOr<std::vector<Digest>> Packs::List() {
  CONCUR_RETURN_IF_ERROR(Refresh());
  MutexLock lock(mu_);
  std::vector<Digest> digests;
  digests.reserve(index_.size());
  for (const auto& [digest, place] : index_) {
    digests.push_back(digest);
  }
  return digests;
}

absl::StatusOr<bool> Packs::Keep(const Digest& digest, bool searches) {
  // Collect holds it exclusively: what is found here is still there after it was touched.
  CONCUR_ASSIGN_OR_RETURN(const FileDescriptor lock, LockStore(root_, LOCK_SH));
  {
    // Before it is looked for: a Sync that fails now either has removed it, or tells the next one.
    MutexLock writing(write_mu_);
    ++changes_;
  }
  const absl::StatusOr<Found> found = Find(digest, O_RDONLY, searches);
  if (absl::IsNotFound(found.status())) {
    return false;
  }
  CONCUR_RETURN_IF_ERROR(found.status());
  const int fd = found->fd.get();
  struct stat info {};
  // Another user's pack cannot be touched.
  if (futimens(fd, nullptr) != 0 || fstat(fd, &info) != 0) {
    return false;
  }
  const Place& place = found->place;
  {
    MutexLock index(mu_);
    const Pack& pack = packs_[place.pack];
    if (pack.is_own || place.offset + PackRecordBytes(place.size) <= pack.synced) {
      return true;
    }
  }
  if (fdatasync(fd) != 0) {
    return ErrnoStatus(errno, found->path, "sync");
  }
  MutexLock index(mu_);
  packs_[place.pack].synced = static_cast<uint32_t>(std::min<int64_t>(info.st_size, UINT32_MAX));
  return true;
}

// --- writing ------------------------------------------------------------------------------------

absl::StatusOr<std::shared_ptr<Packs::Own>> Packs::Create() {
  CONCUR_ASSIGN_OR_RETURN(const std::string id, NewUniqueId());
  const std::string name = absl::StrCat(id, kPackSuffix);
  // Shared: a shared_ptr, because Sync works on it while another is begun.
  auto own = std::make_shared<Own>();
  own->path = PathOf(name);
  // Collect does not see it before this process has locked it.
  CONCUR_ASSIGN_OR_RETURN(const FileDescriptor lock, LockStore(root_, LOCK_SH));
  own->fd = FileDescriptor(
      open(own->path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!own->fd.valid()) {
    return ErrnoStatus(errno, own->path, "create");
  }
  if (flock(own->fd.get(), LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    unlink(own->path.c_str());
    return ErrnoStatus(error, own->path, "lock");
  }
  CONCUR_RETURN_IF_ERROR(SyncDirectory(directory_));
  MutexLock index(mu_);
  own->pack = NumberOf(name);
  packs_[own->pack].is_own = true;
  return own;
}

absl::Status Packs::Append(const Digest& digest, absl::string_view data) {
  CONCUR_CHECK(data.size() <= kPackedBytesMax);
  MutexLock lock(write_mu_);
  ++changes_;
  if (own_ == nullptr || own_->end >= kPackBytesMax) {
    CONCUR_ASSIGN_OR_RETURN(own_, Create());
  }
  Own& own = *own_;
  const PackRecord record = {digest, own.end, own.synced, static_cast<uint32_t>(data.size())};
  const std::string text = FormatPackRecord(record, data);
  if (absl::Status written = WritePackBytes(own.fd.get(), own.path, own.end, text); !written.ok()) {
    if (ftruncate(own.fd.get(), own.end) != 0) {
      own_ = nullptr;  // nothing is written behind what may lie there
    }
    return written;
  }
  own.end += static_cast<uint32_t>(text.size());
  if (unsynced_.empty() || unsynced_.back() != own_) {
    unsynced_.push_back(own_);
  }
  MutexLock index(mu_);
  index_.insert_or_assign(digest, Place{own.pack, record.offset, record.size});
  return absl::OkStatus();
}

absl::Status Packs::Sync() {
  std::vector<std::pair<std::shared_ptr<Own>, uint32_t>> packs;
  uint64_t changes = 0;
  {
    MutexLock lock(write_mu_);
    for (const std::shared_ptr<Own>& own : unsynced_) {
      packs.emplace_back(own, own->end);
    }
    unsynced_.clear();
    changes = changes_;
  }
  absl::Status status = std::exchange(next_sync_, absl::OkStatus());
  for (const auto& [own, end] : packs) {
    const int error = fdatasync(own->fd.get()) == 0 ? 0 : errno;
    MutexLock lock(write_mu_);
    if (error == 0) {
      own->synced = end;
      continue;
    }
    status = ErrnoStatus(error, own->path, "sync");
    GiveUp(own);
    if (changes_ != changes) {
      next_sync_ = status;
    }
  }
  return status;
}

void Packs::GiveUp(const std::shared_ptr<Own>& own) {
  // What the kernel could not write it may have dropped: it is not tried again.
  if (own_ == own) {
    own_ = nullptr;
  }
  std::erase(unsynced_, own);
  if (ftruncate(own->fd.get(), own->synced) != 0) {
    LogWarning("a pack keeps what could not be synced", {{"file", own->path}});
  }
  MutexLock index(mu_);
  packs_[own->pack].lost_from = own->synced;
  absl::erase_if(index_, [&](const auto& entry) {
    return entry.second.pack == own->pack && entry.second.offset >= own->synced;
  });
}

absl::StatusOr<int64_t> Packs::Remove(const Digest& digest) {
  CONCUR_ASSIGN_OR_RETURN(const FileDescriptor lock, LockStore(root_, LOCK_EX));
  const absl::StatusOr<Found> found = Find(digest, O_RDWR, /*searches=*/true);
  if (absl::IsNotFound(found.status())) {
    return 0;
  }
  CONCUR_RETURN_IF_ERROR(found.status());
  CONCUR_RETURN_IF_ERROR(MarkRemoved(found->fd.get(), found->path, found->place.offset));
  Drop(digest, found->place);
  return int64_t{found->place.size};
}

// --- garbage ------------------------------------------------------------------------------------

// A pack that is less than half full.
struct Packs::Candidate {
  std::string name;
  uint32_t bytes = 0;  // of the records left
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
  if (absl::TimeFromTimespec(info.st_mtim) >= before || flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
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
    return unlink(path.c_str()) == 0 ? absl::StatusOr<std::optional<Candidate>>(std::nullopt)
                                     : ErrnoStatus(errno, path, "remove");
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
  std::vector<std::string> merged;
  for (const Candidate& candidate : candidates) {
    const std::string from = PathOf(candidate.name);
    const FileDescriptor fd(open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (fd.valid() && flock(fd.get(), LOCK_EX | LOCK_NB) == 0) {
      CONCUR_RETURN_IF_ERROR(writer.AddPack(fd.get(), from));
      merged.push_back(from);
    }
  }
  CONCUR_RETURN_IF_ERROR(writer.Finish(PathOf(absl::StrCat(id, kPackSuffix))));
  CONCUR_RETURN_IF_ERROR(SyncDirectory(directory_));
  for (const std::string& from : merged) {
    if (unlink(from.c_str()) != 0) {
      return ErrnoStatus(errno, from, "remove");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> Packs::Collect(const absl::flat_hash_set<Digest>& live, absl::Time before) {
  std::vector<std::string> names;
  CONCUR_RETURN_IF_ERROR(ForEachEntry(directory_, [&](const std::string& name) {
    if (absl::EndsWith(name, kPackSuffix)) {
      names.push_back(name);
    }
    return absl::OkStatus();
  }));
  std::sort(names.begin(), names.end());
  int64_t bytes_freed = 0;
  std::vector<Candidate> candidates;
  uint32_t bytes = 0;
  const auto merge = [&]() -> absl::Status {
    // One alone is copied only if that frees more than it costs.
    const bool pays = candidates.size() > 1 ||
                      (candidates.size() == 1 && candidates[0].wasted > candidates[0].bytes);
    absl::Status status = pays ? Merge(candidates) : absl::OkStatus();
    candidates.clear();
    bytes = 0;
    return status;
  };
  for (const std::string& name : names) {
    CONCUR_ASSIGN_OR_RETURN(const std::optional<Candidate> candidate,
                            CollectPack(name, live, before, bytes_freed));
    if (candidate) {
      if (bytes + candidate->bytes > kPackBytesMax) {
        CONCUR_RETURN_IF_ERROR(merge());
      }
      candidates.push_back(*candidate);
      bytes += candidate->bytes;
    }
  }
  CONCUR_RETURN_IF_ERROR(merge());
  CONCUR_RETURN_IF_ERROR(Refresh());
  return bytes_freed;
}

}  // namespace concur
