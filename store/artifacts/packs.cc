// SPDX-License-Identifier: Apache-2.0
#include "store/artifacts/packs.h"

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
#include "store/artifacts/file_blocks.h"
#include "store/store_lock.h"

namespace concur {
namespace {

// Limit on tries. Results of listing and lookup are old as soon as packs are merged; then the
// call is tried again.
constexpr int kTriesMax = 10;

absl::Status NotPacked(const Digest& digest) {
  return absl::NotFoundError(absl::StrCat("artifact ", digest.ToHex(), " is not stored here"));
}

// A writer whose pack no longer lies under its name, as when the data directory was moved or
// copied, writes where nobody looks.
absl::Status CheckName(int fd, const std::string& path) {
  struct stat open_file {};
  struct stat named {};
  if (fstat(fd, &open_file) != 0 || lstat(path.c_str(), &named) != 0) {
    return ErrnoStatus(errno, path, "stat");
  }
  return open_file.st_dev == named.st_dev && open_file.st_ino == named.st_ino
             ? absl::OkStatus()
             : absl::NotFoundError(absl::StrCat(path, ": another file has its name"));
}

// Returns true if the artifact's header is there. One that the disk cannot give back is not.
bool HasRecord(int fd, const std::string& path, uint32_t offset, const Digest& digest) {
  const absl::StatusOr<std::string> header = ReadPackBytes(fd, path, offset, kPackHeaderBytes);
  const std::optional<PackRecord> record =
      header.ok() ? ParsePackHeader(*header, offset) : std::nullopt;
  return record && !record->removed && record->digest == digest;
}

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
  if (absl::IsInvalidArgument(fd.status())) {
    return absl::OkStatus();  // not a pack
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

absl::StatusOr<absl::flat_hash_set<std::string>> Packs::Names() const {
  absl::flat_hash_set<std::string> names;
  CONCUR_RETURN_IF_ERROR(ForEachEntry(directory_, [&](const std::string& name) {
    if (absl::EndsWith(name, kPackSuffix)) {
      names.insert(name);
    }
    return absl::OkStatus();
  }));
  return names;
}

absl::Status Packs::Refresh() {
  MutexLock refresh(refresh_mu_);
  // The rest of a pack that is merged meanwhile lies in one that may not have been listed.
  bool any_gone = true;
  for (int i = 0; any_gone && i < kTriesMax; ++i) {
    any_gone = false;
    CONCUR_ASSIGN_OR_RETURN(const absl::flat_hash_set<std::string> names, Names());
    DropGone(names);
    for (const std::string& name : names) {
      const absl::Status read = ReadNew(name);
      if (absl::IsNotFound(read)) {
        any_gone = true;
        continue;
      }
      MutexLock lock(mu_);
      Pack& pack = packs_[NumberOf(name)];
      if (!read.ok() && !pack.is_unreadable) {
        LogWarning("a pack cannot be read: its artifacts count as missing",
                   {{"error", read.ToString()}});
      }
      pack.is_unreadable = !read.ok();
    }
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
  for (int refreshes = 0;; ++refreshes) {
    std::optional<std::pair<Place, std::string>> known = Lookup(digest);
    if (known) {
      const auto& [place, path] = *known;
      Found found{place, path, FileDescriptor(open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW))};
      if (!found.fd.valid() && errno != ENOENT) {
        return ErrnoStatus(errno, path, "open");
      }
      if (found.fd.valid() && HasRecord(found.fd.get(), path, place.offset, digest)) {
        return found;
      }
      Drop(digest, place);  // merged since, or removed
    }
    if (!searches || refreshes == kTriesMax || (refreshes > 0 && !known)) {
      return NotPacked(digest);
    }
    CONCUR_RETURN_IF_ERROR(Refresh());
  }
}

absl::StatusOr<int64_t> Packs::Size(const Digest& digest) {
  CONCUR_ASSIGN_OR_RETURN(const Found found, Find(digest, O_RDONLY, /*searches=*/true));
  return int64_t{found.place.size};
}

absl::StatusOr<Packs::PackedBytes> Packs::Read(const Digest& digest) {
  CONCUR_ASSIGN_OR_RETURN(const Found found, Find(digest, O_RDONLY, /*searches=*/true));
  CONCUR_ASSIGN_OR_RETURN(std::string bytes,
                          ReadPackBytes(found.fd.get(), found.path,
                                        found.place.offset + kPackHeaderBytes, found.place.size));
  return PackedBytes{std::move(bytes), found.place};
}

size_t Packs::indexed_for_test() const {
  MutexLock lock(mu_);
  return index_.size();
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
  // Its writer may not have synced it yet, and cuts it off if that fails.
  if (flock(fd, LOCK_SH | LOCK_NB) != 0) {
    return false;
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
  // Others may read it, as they may read files, whatever the process's mask.
  if (fchmod(own->fd.get(), 0644) != 0 || flock(own->fd.get(), LOCK_EX | LOCK_NB) != 0) {
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
  if (own_ == nullptr || own_->end >= kPackBytesMax) {
    CONCUR_ASSIGN_OR_RETURN(std::shared_ptr<Own> next, Create());
    std::swap(own_, next);
    if (next != nullptr) {
      LeaveFull(*next);
    }
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
  {
    MutexLock lock(write_mu_);
    for (const std::shared_ptr<Own>& own : unsynced_) {
      packs.emplace_back(own, own->end);
    }
    unsynced_.clear();
  }
  absl::Status status;
  for (const auto& [own, end] : packs) {
    absl::Status synced = fdatasync(own->fd.get()) == 0 ? CheckName(own->fd.get(), own->path)
                                                        : ErrnoStatus(errno, own->path, "sync");
    MutexLock lock(write_mu_);
    if (!synced.ok()) {
      GiveUp(own);
      status.Update(synced);
      continue;
    }
    own->synced = end;
    if (own != own_) {
      LeaveFull(*own);
    }
  }
  return status;
}

uint64_t Packs::failed_syncs() const {
  // Waits for a Sync that is giving up: what is found after this is not cut off by it.
  MutexLock lock(write_mu_);
  return failed_syncs_;
}

void Packs::GiveUp(const std::shared_ptr<Own>& own) {
  ++failed_syncs_;
  // The kernel may have dropped what it could not write: it is not tried again.
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

void Packs::LeaveFull(const Own& own) {
  if (own.synced < own.end) {
    return;  // its Sync does it
  }
  MutexLock index(mu_);
  absl::erase_if(index_, [&](const auto& entry) { return entry.second.pack == own.pack; });
  packs_[own.pack].next = 0;
  packs_[own.pack].bytes = -1;
}

absl::Status Packs::RemoveAt(const Digest& digest, const Place& place) {
  CONCUR_ASSIGN_OR_RETURN(const FileDescriptor lock, LockStore(root_, LOCK_EX));
  std::string path;
  {
    MutexLock index(mu_);
    path = PathOf(packs_[place.pack].name);
  }
  const FileDescriptor fd(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid() && errno != ENOENT) {
    return ErrnoStatus(errno, path, "open");
  }
  // Otherwise it was merged or removed meanwhile; whoever reads it next sees.
  if (fd.valid() && HasRecord(fd.get(), path, place.offset, digest)) {
    CONCUR_RETURN_IF_ERROR(MarkRemoved(fd.get(), path, place.offset));
  }
  Drop(digest, place);
  return absl::OkStatus();
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

}  // namespace concur
