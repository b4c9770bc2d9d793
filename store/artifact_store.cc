#include "store/artifact_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
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

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "store/store_lock.h"

namespace concur {
namespace {

constexpr absl::Duration kTemporaryAgeMax = absl::Hours(24);
constexpr int64_t kBlockBytes = int64_t{1} << 18;
constexpr size_t kIdDigits = 32;
// Up to this size, files are read before they are copied: most of the small ones are here already.
constexpr int64_t kSmallBytesMax = 64 * 1024;
constexpr size_t kDurableMax = 100'000;

bool IsLowerHex(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// Opens an artifact or another file for reading; refuses links, FIFOs, devices and directories.
absl::StatusOr<FileDescriptor> OpenRegular(const std::string& path, struct stat& info) {
  FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (!fd.valid()) {
    if (errno == ELOOP) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": expected a regular file, got a symbolic link"));
    }
    return ErrnoStatus(errno, path, "open");
  }
  if (fstat(fd.get(), &info) != 0) {
    return ErrnoStatus(errno, path, "stat");
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected a regular file, got a ",
                     S_ISDIR(info.st_mode) ? "directory" : "special file"));
  }
  return fd;
}

// Reads to the end from the current offset.
absl::Status ForEachBlock(int fd, const std::string& path,
                          const std::function<absl::Status(absl::string_view)>& use) {
  // Small files have small buffers; the size of others, as in /proc, is not known.
  struct stat size {};
  const bool is_small = fstat(fd, &size) == 0 && size.st_size > 0 && size.st_size < kBlockBytes;
  std::string buffer(static_cast<size_t>(is_small ? size.st_size + 1 : kBlockBytes), '\0');
  for (;;) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0) {
      if (errno == EINTR) {
        continue;
      }
      // The disk cannot give back what it was given.
      return errno == EIO ? absl::DataLossError(absl::StrCat(path, ": read: input/output error"))
                          : ErrnoStatus(errno, path, "read");
    }
    if (got == 0) {
      return absl::OkStatus();
    }
    CONCUR_RETURN_IF_ERROR(use(absl::string_view(buffer.data(), static_cast<size_t>(got))));
  }
}

// Copies the bytes of `from` to the empty file `to` inside the kernel: shared blocks where the file
// system can, a copy elsewhere. False when neither works between these two files.
absl::StatusOr<bool> CopyInKernel(int from, int to, const std::string& to_path) {
  if (ioctl(to, FICLONE, from) == 0) {
    return true;
  }
  bool copied_some = false;
  for (;;) {
    const ssize_t copied =
        copy_file_range(from, nullptr, to, nullptr, size_t{1} << 30, /*flags=*/0);
    if (copied > 0) {
      copied_some = true;
    } else if (copied == 0) {
      // Some kernels give 0 at once for files whose size they do not know (as in /proc).
      return copied_some;
    } else if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) {
      return ErrnoStatus(errno, to_path, "write");
    } else if (errno != EINTR) {
      if (lseek(from, 0, SEEK_SET) != 0 || lseek(to, 0, SEEK_SET) != 0 || ftruncate(to, 0) != 0) {
        return ErrnoStatus(errno, to_path, "seek");
      }
      return false;
    }
  }
}

// Calls `use(name)` for every entry of a directory but "." and ".."; OK when there is none.
absl::Status ForEachEntry(const std::string& directory,
                          const std::function<absl::Status(const std::string&)>& use) {
  std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir(directory.c_str()), closedir);
  if (dir == nullptr) {
    return errno == ENOENT ? absl::OkStatus() : ErrnoStatus(errno, directory, "open");
  }
  for (;;) {
    errno = 0;
    // Each caller has its own DIR, which makes readdir safe in glibc.
    const dirent* entry = readdir(dir.get());  // NOLINT(concurrency-mt-unsafe)
    if (entry == nullptr) {
      return errno == 0 ? absl::OkStatus() : ErrnoStatus(errno, directory, "read");
    }
    const std::string name = entry->d_name;
    if (name != "." && name != "..") {
      CONCUR_RETURN_IF_ERROR(use(name));
    }
  }
}

// Whoever puts an artifact under its name holds the lock shared, Collect holds it alone: an
// artifact that was found to be there is still there when its finder has touched it.
absl::StatusOr<FileDescriptor> LockDirectory(const std::string& directory, int operation) {
  const std::string path = directory + "/lock";
  FileDescriptor fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!fd.valid()) {
    return ErrnoStatus(errno, path, "open");
  }
  while (flock(fd.get(), operation) != 0) {
    if (errno != EINTR) {
      return ErrnoStatus(errno, path, "lock");
    }
  }
  return fd;
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

// The store's name: made by whoever comes first, the same for all who come later.
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
    return absl::DataLossError(absl::StrCat(path, ": expected ", kIdDigits,
                                            " hexadecimal digits, got \"",
                                            absl::CHexEscape(id.substr(0, 80)), "\""));
  }
  return std::string(id);
}

absl::Status NotHere(const absl::Status& status, const Digest& digest) {
  return absl::IsNotFound(status)
             ? absl::NotFoundError(absl::StrCat("artifact ", digest.ToHex(), " is not stored here"))
             : status;
}

}  // namespace

ArtifactStore::ArtifactStore(std::string directory, std::string store_id)
    : directory_(std::move(directory)), store_id_(std::move(store_id)) {}

absl::StatusOr<std::unique_ptr<ArtifactStore>> ArtifactStore::Open(const std::string& directory) {
  CONCUR_RETURN_IF_ERROR(MakeDirectories(directory + "/sha256"));
  CONCUR_RETURN_IF_ERROR(MakeDirectories(directory + "/tmp"));
  CONCUR_RETURN_IF_ERROR(RemoveOldTemporaries(directory + "/tmp"));
  CONCUR_ASSIGN_OR_RETURN(std::string id, ReadOrMakeStoreId(directory));
  return std::unique_ptr<ArtifactStore>(new ArtifactStore(directory, std::move(id)));
}

std::string ArtifactStore::FilePath(const Digest& digest) const {
  const std::string hex = digest.ToHex();
  return absl::StrCat(directory_, "/sha256/", hex.substr(0, 2), "/", hex);
}

ArtifactStore::Writer::Writer(ArtifactStore& store, std::string path, FileDescriptor fd)
    : store_(store), path_(std::move(path)), fd_(std::move(fd)) {}

ArtifactStore::Writer::~Writer() {
  if (!path_.empty()) {
    unlink(path_.c_str());
  }
}

absl::Status ArtifactStore::Writer::Append(absl::string_view data) {
  CONCUR_RETURN_IF_ERROR(WriteAll(fd_.get(), data, path_));
  hasher_.Update(data);
  bytes_ += static_cast<int64_t>(data.size());
  return absl::OkStatus();
}

absl::StatusOr<Digest> ArtifactStore::Writer::Finish(const Digest& expected) {
  const Digest digest = hasher_.Finish();
  if (!expected.IsZero() && digest != expected) {
    return absl::DataLossError(absl::StrCat("artifact ", expected.ToHex(), ": the ", bytes_,
                                            " bytes received have the digest ", digest.ToHex()));
  }
  CONCUR_RETURN_IF_ERROR(store_.Publish(*this, digest));
  return digest;
}

absl::Status ArtifactStore::Publish(Writer& writer, const Digest& digest) {
  const std::string final_path = FilePath(digest);
  const std::string shard = final_path.substr(0, final_path.rfind('/'));
  // Synced before the lock is taken, so that nobody waits for it.
  struct stat info {};
  const auto is_there = [&] {
    return lstat(final_path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
           info.st_size == writer.bytes_;
  };
  bool synced = false;
  if (!is_there()) {
    if (fchmod(writer.fd_.get(), 0444) != 0 || fsync(writer.fd_.get()) != 0) {
      return ErrnoStatus(errno, writer.path_, "sync");
    }
    synced = true;
  }
  CONCUR_ASSIGN_OR_RETURN(const FileDescriptor lock, LockDirectory(directory_, LOCK_SH));
  CONCUR_ASSIGN_OR_RETURN(const bool kept, KeepIfHere(digest, writer.bytes_));
  if (kept) {
    return absl::OkStatus();
  }
  if (!synced && (fchmod(writer.fd_.get(), 0444) != 0 || fsync(writer.fd_.get()) != 0)) {
    return ErrnoStatus(errno, writer.path_, "sync");
  }
  if (mkdir(shard.c_str(), 0755) == 0) {
    CONCUR_RETURN_IF_ERROR(SyncDirectory(directory_ + "/sha256"));
  } else if (errno != EEXIST) {
    return ErrnoStatus(errno, shard, "make directory");
  }
  // The age of an artifact counts from now, not from when its first byte was written.
  if (futimens(writer.fd_.get(), nullptr) != 0) {
    return ErrnoStatus(errno, writer.path_, "touch");
  }
  if (rename(writer.path_.c_str(), final_path.c_str()) != 0) {
    return ErrnoStatus(errno, final_path, "rename");
  }
  writer.path_.clear();
  return fstat(writer.fd_.get(), &info) == 0 ? SyncName(digest, info.st_ino) : SyncDirectory(shard);
}

absl::StatusOr<bool> ArtifactStore::KeepIfHere(const Digest& digest, int64_t bytes) {
  const std::string path = FilePath(digest);
  struct stat info {};
  // The touch tells Collect that someone needs it again. Another user's file cannot be touched: it
  // is replaced by our own copy.
  if (lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size != bytes ||
      utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW) != 0) {
    return false;
  }
  CONCUR_RETURN_IF_ERROR(SyncName(digest, info.st_ino));
  return true;
}

absl::Status ArtifactStore::SyncName(const Digest& digest, uint64_t inode) {
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

absl::StatusOr<std::unique_ptr<ArtifactStore::Writer>> ArtifactStore::NewWriter() {
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
    // Of our own new file: fails only where there are no locks, and then age alone protects it.
    flock(fd.get(), LOCK_EX | LOCK_NB);
    return std::unique_ptr<Writer>(new Writer(*this, std::move(path), std::move(fd)));
  }
}

absl::StatusOr<Digest> ArtifactStore::Put(absl::string_view data) {
  {
    const Digest digest = Sha256Of(data);
    CONCUR_ASSIGN_OR_RETURN(const FileDescriptor lock, LockDirectory(directory_, LOCK_SH));
    CONCUR_ASSIGN_OR_RETURN(const bool kept, KeepIfHere(digest, static_cast<int64_t>(data.size())));
    if (kept) {
      return digest;
    }
  }
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Writer> writer, NewWriter());
  CONCUR_RETURN_IF_ERROR(writer->Append(data));
  return writer->Finish();
}

absl::StatusOr<FileDigest> ArtifactStore::PutFile(const std::string& path) {
  struct stat info {};
  CONCUR_ASSIGN_OR_RETURN(const FileDescriptor source, OpenRegular(path, info));
  if (info.st_size > 0 && info.st_size <= kSmallBytesMax) {
    std::string data;
    CONCUR_RETURN_IF_ERROR(ForEachBlock(source.get(), path, [&](absl::string_view block) {
      data.append(block.data(), block.size());
      return absl::OkStatus();
    }));
    CONCUR_ASSIGN_OR_RETURN(const Digest digest, Put(data));
    return FileDigest{digest, static_cast<int64_t>(data.size())};
  }
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Writer> writer, NewWriter());
  CONCUR_ASSIGN_OR_RETURN(const bool copied,
                          CopyInKernel(source.get(), writer->fd_.get(), writer->path_));
  if (copied) {
    // The copy is hashed, not the source: that may change meanwhile.
    if (lseek(writer->fd_.get(), 0, SEEK_SET) != 0) {
      return ErrnoStatus(errno, writer->path_, "seek");
    }
    CONCUR_RETURN_IF_ERROR(
        ForEachBlock(writer->fd_.get(), writer->path_, [&](absl::string_view block) {
          writer->hasher_.Update(block);
          writer->bytes_ += static_cast<int64_t>(block.size());
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

bool ArtifactStore::Has(const Digest& digest) const { return Size(digest).ok(); }

bool ArtifactStore::Touch(const Digest& digest) {
  const absl::StatusOr<FileDescriptor> lock = LockDirectory(directory_, LOCK_SH);
  return lock.ok() && Has(digest) &&
         utimensat(AT_FDCWD, FilePath(digest).c_str(), nullptr, AT_SYMLINK_NOFOLLOW) == 0;
}

absl::StatusOr<int64_t> ArtifactStore::Size(const Digest& digest) const {
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

absl::StatusOr<std::string> ArtifactStore::PathOf(const Digest& digest) const {
  CONCUR_RETURN_IF_ERROR(Size(digest).status());
  return FilePath(digest);
}

absl::Status ArtifactStore::SetAside(const Digest& digest, absl::string_view problem) const {
  const std::string path = FilePath(digest);
  const std::string damaged = directory_ + "/damaged";
  absl::Status moved = MakeDirectories(damaged);
  std::string target;
  for (int i = 0; moved.ok(); ++i) {
    target = absl::StrCat(damaged, "/", digest.ToHex(), ".", i);
    // renameat2 never replaces an earlier find.
    if (renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE) == 0) {
      break;
    }
    if (errno != EEXIST) {
      moved = ErrnoStatus(errno, path, "set aside");
    }
  }
  return absl::DataLossError(absl::StrCat(
      "artifact ", digest.ToHex(), ": ", problem,
      moved.ok() ? absl::StrCat("; moved to ", target) : absl::StrCat("; ", moved.message())));
}

absl::Status ArtifactStore::ReadChecked(const Digest& digest, int64_t bytes_max,
                                        const std::function<void(absl::string_view)>& use) const {
  const std::string path = FilePath(digest);
  struct stat info {};
  absl::StatusOr<FileDescriptor> fd = OpenRegular(path, info);
  if (absl::IsInvalidArgument(fd.status())) {
    return SetAside(digest, "it is not a regular file");
  }
  if (!fd.ok()) {
    return NotHere(fd.status(), digest);
  }
  if (info.st_size > bytes_max) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "artifact ", digest.ToHex(), " has ", info.st_size, " bytes, more than ", bytes_max));
  }
  Sha256 hasher;
  int64_t bytes = 0;
  CONCUR_RETURN_IF_ERROR(ForEachBlock(fd->get(), path, [&](absl::string_view block) {
    hasher.Update(block);
    bytes += static_cast<int64_t>(block.size());
    // Longer than it was when opened: someone writes to it. The digest will tell.
    if (bytes <= bytes_max) {
      use(block);
    }
    return absl::OkStatus();
  }));
  const Digest found = hasher.Finish();
  if (found != digest) {
    return SetAside(digest,
                    absl::StrCat("damaged: its ", bytes, " bytes have the digest ", found.ToHex()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ArtifactStore::Read(const Digest& digest, int64_t bytes_max) const {
  std::string contents;
  CONCUR_RETURN_IF_ERROR(ReadChecked(digest, bytes_max, [&](absl::string_view block) {
    contents.append(block.data(), block.size());
  }));
  return contents;
}

absl::Status ArtifactStore::Verify(const Digest& digest) const {
  return ReadChecked(digest, INT64_MAX, [](absl::string_view) {});
}

absl::StatusOr<std::string> ArtifactStore::ReadRange(const Digest& digest, int64_t offset,
                                                     int64_t bytes_max) const {
  if (offset < 0 || bytes_max < 0) {
    return absl::InvalidArgumentError(absl::StrCat("range of artifact ", digest.ToHex(),
                                                   ": expected an offset and a size of 0 ",
                                                   "or more, got ", offset, " and ", bytes_max));
  }
  const std::string path = FilePath(digest);
  struct stat info {};
  absl::StatusOr<FileDescriptor> fd = OpenRegular(path, info);
  if (!fd.ok()) {
    return NotHere(fd.status(), digest);
  }
  std::string contents;
  const int64_t rest = std::max<int64_t>(info.st_size - offset, 0);
  contents.resize(static_cast<size_t>(std::min(rest, bytes_max)));
  size_t filled = 0;
  while (filled < contents.size()) {
    const ssize_t got = pread(fd->get(), contents.data() + filled, contents.size() - filled,
                              offset + static_cast<int64_t>(filled));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return errno == EIO ? absl::DataLossError(absl::StrCat(path, ": read: input/output error"))
                          : ErrnoStatus(errno, path, "read");
    }
    if (got == 0) {
      break;
    }
    filled += static_cast<size_t>(got);
  }
  contents.resize(filled);
  return contents;
}

absl::StatusOr<std::vector<Digest>> ArtifactStore::List() const {
  std::vector<Digest> digests;
  const std::string root = directory_ + "/sha256";
  CONCUR_RETURN_IF_ERROR(ForEachEntry(root, [&](const std::string& shard) {
    if (shard.size() != 2 || !IsLowerHex(shard)) {
      return absl::OkStatus();
    }
    return ForEachEntry(absl::StrCat(root, "/", shard), [&](const std::string& name) {
      // Strangers' files are left alone.
      const absl::StatusOr<Digest> digest = Digest::FromHex(name);
      if (digest.ok() && IsLowerHex(name) && name.substr(0, 2) == shard) {
        digests.push_back(*digest);
      }
      return absl::OkStatus();
    });
  }));
  std::sort(digests.begin(), digests.end());
  return digests;
}

absl::StatusOr<int64_t> ArtifactStore::Collect(const absl::flat_hash_set<Digest>& live,
                                               absl::Time before) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<Digest> digests, List());
  int64_t bytes_freed = 0;
  for (const Digest& digest : digests) {
    if (live.contains(digest)) {
      continue;
    }
    const std::string path = FilePath(digest);
    // For one file at a time: nobody waits for a whole collection.
    CONCUR_ASSIGN_OR_RETURN(const FileDescriptor lock, LockDirectory(directory_, LOCK_EX));
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
  return bytes_freed;
}

}  // namespace concur
