// SPDX-License-Identifier: Apache-2.0
#include "store/artifacts/directory_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "store/artifacts/file_blocks.h"
#include "store/store_lock.h"

namespace concur {
namespace {

constexpr absl::Duration kTemporaryAgeMax = absl::Hours(24);
constexpr size_t kIdDigits = 32;
// Up to this size, files are read before they are copied: most of the small ones are here already.
constexpr int64_t kSmallBytesMax = int64_t{64} * 1024;
constexpr size_t kDurableMax = 100'000;
// Write-back starts after each block of so many bytes, so that the final sync is short.
constexpr int64_t kWriteBehindBytes = int64_t{16} << 20;

bool IsLowerHex(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// Removes what crashed writers left. A living writer holds a lock on its file.
absl::Status RemoveOldTemporaries(const std::string& directory) {
  const absl::Time oldest = absl::Now() - kTemporaryAgeMax;
  return ForEachEntry(directory, [&](const std::string& name) {
    const std::string path = absl::StrCat(directory, "/", name);
    struct stat info {};
    absl::StatusOr<FileDescriptor> fd = OpenRegular(path, info);
    if (fd.ok() && absl::TimeFromTimespec(info.st_mtim) < oldest &&
        flock(fd->get(), LOCK_EX | LOCK_NB) == 0) {
      unlink(path.c_str());
    }
    return absl::OkStatus();
  });
}

// The store's id: created by its first user and read by all later ones.
absl::StatusOr<std::string> ReadOrMakeStoreId(const std::string& directory) {
  const std::string path = directory + "/store-id";
  absl::StatusOr<std::string> text = ReadFile(path, 1024);
  if (absl::IsNotFound(text.status())) {
    CONCUR_ASSIGN_OR_RETURN(const std::string id, NewUniqueId());
    const std::string temporary = absl::StrCat(directory, "/tmp/store-id.", id);
    CONCUR_RETURN_IF_ERROR(WriteFileAtomically(temporary, id + "\n", 0444));
    const int linked = link(temporary.c_str(), path.c_str());
    const int error = errno;
    unlink(temporary.c_str());
    if (linked != 0 && error != EEXIST) {
      return ErrnoStatus(error, path, "create");
    }
    CONCUR_RETURN_IF_ERROR(SyncDirectory(directory));
    text = ReadFile(path, 1024);
  }
  CONCUR_RETURN_IF_ERROR(text.status());
  const absl::string_view id = absl::StripSuffix(*text, "\n");
  if (id.size() != kIdDigits || !IsLowerHex(id)) {
    return absl::DataLossError(
        absl::StrCat(path, ": expected ", kIdDigits, " hexadecimal digits, got ", Quoted(id)));
  }
  return std::string(id);
}

absl::Status NotHere(const absl::Status& status, const Digest& digest) {
  return absl::IsNotFound(status)
             ? absl::NotFoundError(absl::StrCat("artifact ", digest.ToHex(), " is not stored here"))
             : status;
}

std::string Differs(int64_t bytes, const Digest& found) {
  return absl::StrCat("damaged: its ", bytes, " bytes have the digest ", found.ToHex());
}

}  // namespace

DirectoryStore::DirectoryStore(std::string directory, std::string store_id,
                               std::unique_ptr<Packs> packs, Touching touching)
    : directory_(std::move(directory)),
      store_id_(std::move(store_id)),
      packs_(std::move(packs)),
      touching_(touching) {}

absl::StatusOr<std::unique_ptr<DirectoryStore>> DirectoryStore::Open(const std::string& directory,
                                                                     Packing packing,
                                                                     Touching touching) {
  CONCUR_RETURN_IF_ERROR(MakeDirectories(directory + "/sha256"));
  CONCUR_RETURN_IF_ERROR(MakeDirectories(directory + "/tmp"));
  CONCUR_RETURN_IF_ERROR(RemoveOldTemporaries(directory + "/tmp"));
  if (packing == Packing::kMake) {
    CONCUR_RETURN_IF_ERROR(MakeDirectories(directory + "/packs"));
  }
  const bool has_packs = access((directory + "/packs").c_str(), F_OK) == 0;
  CONCUR_ASSIGN_OR_RETURN(std::string id, ReadOrMakeStoreId(directory));
  return std::unique_ptr<DirectoryStore>(
      new DirectoryStore(directory, std::move(id),
                         has_packs ? std::make_unique<Packs>(directory) : nullptr, touching));
}

std::string DirectoryStore::FilePath(const Digest& digest) const {
  const std::string hex = digest.ToHex();
  return absl::StrCat(directory_, "/sha256/", hex.substr(0, 2), "/", hex);
}

// Writes to DIR/tmp.
class DirectoryStore::FileWriter final : public ArtifactStore::Writer {
 public:
  FileWriter(DirectoryStore& store, const Digest& expected, Durability durability, std::string path,
             FileDescriptor fd)
      : store_(store),
        expected_(expected),
        is_durable_(durability == Durability::kDurable),
        path_(std::move(path)),
        fd_(std::move(fd)) {}
  ~FileWriter() override {
    if (!path_.empty()) {
      unlink(path_.c_str());
    }
  }

  absl::Status Append(absl::string_view data) override {
    CONCUR_RETURN_IF_ERROR(WriteAll(fd_.get(), data, path_));
    Hash(data);
    if (is_durable_ && bytes_ - behind_ >= kWriteBehindBytes) {
      // Only begins to write; whether that works is for the sync to say.
      sync_file_range(fd_.get(), behind_, bytes_ - behind_, SYNC_FILE_RANGE_WRITE);
      behind_ = bytes_;
    }
    return absl::OkStatus();
  }
  int64_t bytes() const override { return bytes_; }
  absl::StatusOr<Digest> Finish() override {
    const Digest digest = hasher_.Finish();
    if (!expected_.IsZero() && digest != expected_) {
      return absl::DataLossError(absl::StrCat("artifact ", expected_.ToHex(), ": the ", bytes_,
                                              " bytes received have the digest ", digest.ToHex()));
    }
    CONCUR_RETURN_IF_ERROR(store_.Publish(*this, digest));
    return digest;
  }

  // Hashes and counts bytes that came into the file some other way.
  void Hash(absl::string_view data) {
    hasher_.Update(data);
    bytes_ += static_cast<int64_t>(data.size());
  }
  // Nothing is written after this.
  absl::Status Seal() {
    if (fchmod(fd_.get(), 0444) != 0 || (is_durable_ && fsync(fd_.get()) != 0)) {
      return ErrnoStatus(errno, path_, "sync");
    }
    return absl::OkStatus();
  }
  int fd() const { return fd_.get(); }
  bool is_durable() const { return is_durable_; }
  const std::string& path() const { return path_; }
  void Keep() { path_.clear(); }

 private:
  DirectoryStore& store_;
  const Digest expected_;  // zero: any
  const bool is_durable_;
  std::string path_;  // "" once the file has its name
  FileDescriptor fd_;
  Sha256 hasher_;
  int64_t bytes_ = 0;
  int64_t behind_ = 0;  // number of those that were given to the disk
};

absl::Status DirectoryStore::Publish(FileWriter& writer, const Digest& digest) {
  const std::string final_path = FilePath(digest);
  const std::string shard = final_path.substr(0, final_path.rfind('/'));
  // Synced before the lock is taken, which keeps the lock short.
  struct stat info {};
  const bool was_there = lstat(final_path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
                         info.st_size == writer.bytes();
  if (!was_there) {
    CONCUR_RETURN_IF_ERROR(writer.Seal());
  }
  CONCUR_ASSIGN_OR_RETURN(const FileDescriptor lock, LockStore(directory_, LOCK_SH));
  CONCUR_ASSIGN_OR_RETURN(const bool kept, KeepIfHere(digest, writer.bytes()));
  if (kept) {
    return absl::OkStatus();
  }
  if (was_there) {
    CONCUR_RETURN_IF_ERROR(writer.Seal());
  }
  if (mkdir(shard.c_str(), 0755) == 0) {
    CONCUR_RETURN_IF_ERROR(SyncDirectory(directory_ + "/sha256"));
  } else if (errno != EEXIST) {
    return ErrnoStatus(errno, shard, "make directory");
  }
  // The age of an artifact counts from now, not from when its first byte was written.
  if (futimens(writer.fd(), nullptr) != 0) {
    return ErrnoStatus(errno, writer.path(), "touch");
  }
  if (rename(writer.path().c_str(), final_path.c_str()) != 0) {
    return ErrnoStatus(errno, final_path, "rename");
  }
  writer.Keep();
  if (!writer.is_durable()) {
    return absl::OkStatus();
  }
  return fstat(writer.fd(), &info) == 0 ? SyncName(digest, info.st_ino) : SyncDirectory(shard);
}

absl::StatusOr<bool> DirectoryStore::KeepIfHere(const Digest& digest, int64_t bytes) {
  const std::string path = FilePath(digest);
  struct stat info {};
  // The touch tells Collect that someone needs it again. Another user's file cannot be touched: it
  // is replaced by our own copy.
  if (lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size != bytes ||
      (touching_ == Touching::kOnPut &&
       utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW) != 0)) {
    return false;
  }
  CONCUR_RETURN_IF_ERROR(SyncName(digest, info.st_ino));
  return true;
}

absl::Status DirectoryStore::SyncName(const Digest& digest, uint64_t inode) {
  {
    MutexLock lock(mu_);
    // Under this name another file may stand by now, put there by a process that has not synced it.
    if (const auto it = durable_.find(digest); it != durable_.end() && it->second == inode) {
      return absl::OkStatus();
    }
  }
  const std::string path = FilePath(digest);
  CONCUR_RETURN_IF_ERROR(SyncDirectory(path.substr(0, path.rfind('/'))));
  MutexLock lock(mu_);
  if (durable_.size() >= kDurableMax) {
    durable_.clear();
  }
  durable_[digest] = inode;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<DirectoryStore::FileWriter>> DirectoryStore::MakeWriter(
    const Digest& expected, Durability durability) {
  static std::atomic<uint64_t> counter{0};
  for (;;) {
    // Unique by the loop, not by the name: process numbers repeat across machines and restarts.
    std::string path =
        absl::StrCat(directory_, "/tmp/", getpid(), ".", counter.fetch_add(1), ".part");
    FileDescriptor fd(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd.valid()) {
      if (errno == EEXIST) {
        continue;
      }
      return ErrnoStatus(errno, path, "create");
    }
    // Locks our own new file: fails only where there are no locks, and then age alone protects it.
    flock(fd.get(), LOCK_EX | LOCK_NB);
    return std::make_unique<FileWriter>(*this, expected, durability, std::move(path),
                                        std::move(fd));
  }
}

absl::StatusOr<std::unique_ptr<ArtifactStore::Writer>> DirectoryStore::NewWriter(
    const Digest& digest) {
  return MakeWriter(digest, Durability::kDurable);
}

absl::StatusOr<std::unique_ptr<ArtifactStore::Writer>> DirectoryStore::NewWriter(
    const Digest& digest, Durability durability) {
  return MakeWriter(digest, durability);
}

absl::StatusOr<Digest> DirectoryStore::Put(absl::string_view data, Durability durability) {
  if (durability == Durability::kAtSync && packs_ && data.size() <= kPackedBytesMax) {
    return PutPacked(data);
  }
  {
    const Digest digest = Sha256Of(data);
    CONCUR_ASSIGN_OR_RETURN(const FileDescriptor lock, LockStore(directory_, LOCK_SH));
    CONCUR_ASSIGN_OR_RETURN(const bool kept, KeepIfHere(digest, static_cast<int64_t>(data.size())));
    if (kept) {
      return digest;
    }
  }
  CONCUR_ASSIGN_OR_RETURN(const auto writer, MakeWriter(Digest(), Durability::kDurable));
  CONCUR_RETURN_IF_ERROR(writer->Append(data));
  return writer->Finish();
}

absl::StatusOr<FileDigest> DirectoryStore::PutFile(const std::string& path, Durability durability,
                                                   const Digest& expected) {
  struct stat info {};
  CONCUR_ASSIGN_OR_RETURN(const FileDescriptor source, OpenRegular(path, info));
  if (durability != Durability::kCache && info.st_size > 0 && info.st_size <= kSmallBytesMax) {
    std::string data;
    CONCUR_RETURN_IF_ERROR(ForEachBlock(source.get(), path, [&](absl::string_view block) {
      data.append(block.data(), block.size());
      return absl::OkStatus();
    }));
    CONCUR_ASSIGN_OR_RETURN(const Digest digest, Put(data, durability));
    return FileDigest{digest, static_cast<int64_t>(data.size())};
  }
  CONCUR_ASSIGN_OR_RETURN(
      const auto writer,
      MakeWriter(expected, durability == Durability::kCache ? durability : Durability::kDurable));
  CONCUR_ASSIGN_OR_RETURN(const bool copied,
                          CopyInKernel(source.get(), writer->fd(), writer->path()));
  if (copied) {
    // The copy is hashed, not the source: that may change meanwhile.
    if (lseek(writer->fd(), 0, SEEK_SET) != 0) {
      return ErrnoStatus(errno, writer->path(), "seek");
    }
    CONCUR_RETURN_IF_ERROR(ForEachBlock(writer->fd(), writer->path(), [&](absl::string_view block) {
      writer->Hash(block);
      return absl::OkStatus();
    }));
  } else {
    CONCUR_RETURN_IF_ERROR(ForEachBlock(
        source.get(), path, [&](absl::string_view block) { return writer->Append(block); }));
  }
  FileDigest result;
  CONCUR_ASSIGN_OR_RETURN(result.digest, writer->Finish());
  result.bytes = writer->bytes();
  return result;
}

bool DirectoryStore::Has(const Digest& digest) const { return Size(digest).ok(); }

absl::Status DirectoryStore::Touch(const Digest& digest) {
  const std::string path = FilePath(digest);
  absl::Status file;
  {
    CONCUR_ASSIGN_OR_RETURN(const FileDescriptor lock, LockStore(directory_, LOCK_SH));
    file = FileSize(digest).status();
    if (file.ok() && utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW) != 0) {
      file = NotHere(ErrnoStatus(errno, path, "touch"), digest);
    }
  }
  if (!absl::IsNotFound(file) || packs_ == nullptr) {
    return file;
  }
  CONCUR_ASSIGN_OR_RETURN(const bool kept, packs_->Keep(digest, /*searches=*/true));
  return kept ? absl::OkStatus() : file;
}

absl::StatusOr<int64_t> DirectoryStore::FileSize(const Digest& digest) const {
  const std::string path = FilePath(digest);
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) {
    return NotHere(ErrnoStatus(errno, path, "stat"), digest);
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::DataLossError(absl::StrCat(path, ": expected a regular file"));
  }
  return static_cast<int64_t>(info.st_size);
}

absl::StatusOr<int64_t> DirectoryStore::Size(const Digest& digest) const {
  absl::StatusOr<int64_t> bytes = FileSize(digest);
  return absl::IsNotFound(bytes.status()) && packs_ ? packs_->Size(digest) : bytes;
}

absl::StatusOr<std::string> DirectoryStore::PathOf(const Digest& digest) const {
  CONCUR_RETURN_IF_ERROR(FileSize(digest).status());
  return FilePath(digest);
}

absl::Status DirectoryStore::SetAside(
    const Digest& digest, absl::string_view problem,
    const std::function<absl::Status(const std::string& target)>& move) const {
  const std::string damaged = directory_ + "/damaged";
  absl::Status moved = MakeDirectories(damaged);
  std::string target;
  for (int i = 0; moved.ok(); ++i) {
    target = absl::StrCat(damaged, "/", digest.ToHex(), ".", i);
    moved = move(target);
    if (!absl::IsAlreadyExists(moved)) {
      break;
    }
    moved = absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat(
      "artifact ", digest.ToHex(), ": ", problem,
      moved.ok() ? absl::StrCat("; moved to ", target) : absl::StrCat("; ", moved.message())));
}

absl::Status DirectoryStore::SetFileAside(const Digest& digest, absl::string_view problem) const {
  const std::string path = FilePath(digest);
  return SetAside(digest, problem, [&](const std::string& target) {
    // renameat2 never replaces an earlier find.
    return renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE) == 0
               ? absl::OkStatus()
               : ErrnoStatus(errno, path, "set aside");
  });
}

absl::Status DirectoryStore::VerifyPacked(const Digest& digest) const {
  CONCUR_ASSIGN_OR_RETURN(const Packs::PackedBytes packed, packs_->Read(digest));
  if (const Digest found = Sha256Of(packed.bytes); found != digest) {
    return SetPackedAside(digest, packed,
                          Differs(static_cast<int64_t>(packed.bytes.size()), found));
  }
  return absl::OkStatus();
}

absl::Status DirectoryStore::Verify(const Digest& digest) const {
  const std::string path = FilePath(digest);
  struct stat info {};
  absl::StatusOr<FileDescriptor> fd = OpenRegular(path, info);
  if (absl::IsInvalidArgument(fd.status())) {
    return SetFileAside(digest, "it is not a regular file");
  }
  if (absl::IsNotFound(fd.status()) && packs_) {
    return VerifyPacked(digest);
  }
  if (!fd.ok()) {
    return NotHere(fd.status(), digest);
  }
  Sha256 hasher;
  int64_t bytes = 0;
  CONCUR_RETURN_IF_ERROR(ForEachBlock(fd->get(), path, [&](absl::string_view block) {
    hasher.Update(block);
    bytes += static_cast<int64_t>(block.size());
    return absl::OkStatus();
  }));
  const Digest found = hasher.Finish();
  return found == digest ? absl::OkStatus() : SetFileAside(digest, Differs(bytes, found));
}

absl::StatusOr<std::unique_ptr<ArtifactStore::Source>> DirectoryStore::OpenSource(
    const Digest& digest) const {
  std::string path = FilePath(digest);
  struct stat info {};
  absl::StatusOr<FileDescriptor> fd = OpenRegular(path, info);
  if (absl::IsNotFound(fd.status()) && packs_) {
    CONCUR_ASSIGN_OR_RETURN(Packs::PackedBytes packed, packs_->Read(digest));
    return std::make_unique<BytesSource>(std::move(packed.bytes));
  }
  if (!fd.ok()) {
    return NotHere(fd.status(), digest);
  }
  return std::make_unique<FileSource>(*std::move(fd), std::move(path));
}

absl::StatusOr<std::vector<Digest>> DirectoryStore::List() const {
  CONCUR_ASSIGN_OR_RETURN(std::vector<Digest> digests, ListFiles());
  if (packs_) {
    CONCUR_ASSIGN_OR_RETURN(const std::vector<Digest> packed, packs_->List());
    digests.insert(digests.end(), packed.begin(), packed.end());
  }
  std::sort(digests.begin(), digests.end());
  digests.erase(std::unique(digests.begin(), digests.end()), digests.end());
  return digests;
}

absl::StatusOr<std::vector<Digest>> DirectoryStore::ListFiles() const {
  std::vector<Digest> digests;
  const std::string root = directory_ + "/sha256";
  CONCUR_RETURN_IF_ERROR(ForEachEntry(root, [&](const std::string& shard) {
    if (shard.size() != 2 || !IsLowerHex(shard)) {
      return absl::OkStatus();
    }
    return ForEachEntry(absl::StrCat(root, "/", shard), [&](const std::string& name) {
      // Files that Concur did not write are kept.
      const absl::StatusOr<Digest> digest = Digest::FromHex(name);
      if (digest.ok() && IsLowerHex(name) && name.substr(0, 2) == shard) {
        digests.push_back(*digest);
      }
      return absl::OkStatus();
    });
  }));
  return digests;
}

absl::StatusOr<int64_t> DirectoryStore::Collect(const absl::flat_hash_set<Digest>& live,
                                                absl::Time before) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<Digest> digests, ListFiles());
  int64_t bytes_freed = 0;
  // Files first: that needs no room.
  for (const Digest& digest : digests) {
    if (live.contains(digest)) {
      continue;
    }
    const std::string path = FilePath(digest);
    // Held for one file at a time, so that writers do not wait for the whole collection.
    CONCUR_ASSIGN_OR_RETURN(const FileDescriptor lock, LockStore(directory_, LOCK_EX));
    struct stat info {};
    if (lstat(path.c_str(), &info) != 0 || absl::TimeFromTimespec(info.st_mtim) >= before) {
      continue;
    }
    if (unlink(path.c_str()) == 0) {
      bytes_freed += info.st_size;
    } else if (errno != ENOENT) {
      return ErrnoStatus(errno, path, "remove");
    }
  }
  if (packs_) {
    CONCUR_ASSIGN_OR_RETURN(const int64_t packed, packs_->Collect(live, before));
    bytes_freed += packed;
  }
  return bytes_freed;
}

absl::StatusOr<int64_t> DirectoryStore::Remove(const Digest& digest) {
  const std::string path = FilePath(digest);
  int64_t bytes = 0;
  {
    CONCUR_ASSIGN_OR_RETURN(const FileDescriptor lock, LockStore(directory_, LOCK_EX));
    struct stat info {};
    if (lstat(path.c_str(), &info) == 0 && unlink(path.c_str()) == 0) {
      bytes = info.st_size;
    } else if (errno != ENOENT) {
      return ErrnoStatus(errno, path, "remove");
    }
  }
  if (packs_ == nullptr) {
    return bytes;
  }
  CONCUR_ASSIGN_OR_RETURN(const int64_t packed, packs_->Remove(digest));
  return bytes + packed;
}

}  // namespace concur
