// SPDX-License-Identifier: Apache-2.0
#include "store/store_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "base/escape.h"
#include "base/status_macros.h"
#include "store/row_codec.h"

namespace concur {
namespace {

constexpr size_t kMarkBytesMax = 128;

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "unknown";
}

// The start of a small file; "" when it cannot be read.
std::string ReadStart(int fd) {
  char bytes[512];
  const ssize_t got = pread(fd, bytes, sizeof(bytes), 0);
  return got > 0 ? std::string(bytes, static_cast<size_t>(got)) : "";
}

uint32_t ChecksumOf(absl::string_view text) {
  RowChecksum checksum;
  checksum.AddBytes(0, text);
  return static_cast<uint32_t>(checksum.Finish());
}

}  // namespace

absl::StatusOr<StoreLock> StoreLock::Acquire(const std::string& path) {
  const std::string lock_path = path + ".lock";
  FileDescriptor fd(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) {
    return ErrnoStatus(errno, lock_path, "open");
  }
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) {
      return ErrnoStatus(errno, lock_path, "lock");
    }
    std::string holder = ReadStart(fd.get());
    holder = holder.empty() ? "another process" : std::string(absl::StripSuffix(holder, "\n"));
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": in use by ", OneLine(holder), " (it holds ", lock_path,
                     "): stop it, or choose another data directory"));
  }
  const std::string self = absl::StrCat("process ", getpid(), " on ", HostName(), "\n");
  if (ftruncate(fd.get(), 0) != 0) {
    return ErrnoStatus(errno, lock_path, "truncate");
  }
  CONCUR_RETURN_IF_ERROR(WriteAll(fd.get(), self, lock_path));
  return StoreLock(std::move(fd));
}

absl::StatusOr<CommitMark> CommitMark::Open(const std::string& path, std::string database_id) {
  std::string mark_path = path + ".mark";
  FileDescriptor fd(open(mark_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) {
    return ErrnoStatus(errno, mark_path, "open");
  }
  return CommitMark(std::move(mark_path), std::move(database_id), std::move(fd));
}

absl::StatusOr<std::optional<CommitMark::Mark>> CommitMark::ReadOf(const std::string& path) {
  std::string mark_path = path + ".mark";
  FileDescriptor fd(open(mark_path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) {
    return ErrnoStatus(errno, mark_path, "open");
  }
  return CommitMark(std::move(mark_path), "", std::move(fd)).Read();
}

absl::StatusOr<std::optional<CommitMark::Mark>> CommitMark::Read() const {
  char bytes[kMarkBytesMax];
  const ssize_t got = pread(fd_.get(), bytes, sizeof(bytes), 0);
  if (got < 0) {
    return ErrnoStatus(errno, path_, "read");
  }
  // "ID COMMITS CRC\n"; whatever else it holds counts as no mark.
  const absl::string_view text(bytes, static_cast<size_t>(got));
  const size_t crc_at = text.rfind(' ');
  const size_t commits_at = text.find(' ');
  if (crc_at == absl::string_view::npos || commits_at >= crc_at ||
      text.substr(crc_at + 1) != absl::StrFormat("%08x\n", ChecksumOf(text.substr(0, crc_at)))) {
    return std::optional<Mark>();
  }
  Mark mark{std::string(text.substr(0, commits_at)), 0};
  if (!absl::SimpleAtoi(text.substr(commits_at + 1, crc_at - commits_at - 1), &mark.commits)) {
    return std::optional<Mark>();
  }
  return std::optional<Mark>(std::move(mark));
}

absl::Status CommitMark::Write(int64_t commits) {
  // Text of constant length, so that no old digit stays behind.
  std::string text = absl::StrFormat("%s %020d", database_id_, commits);
  absl::StrAppendFormat(&text, " %08x\n", ChecksumOf(text));
  const ssize_t put = pwrite(fd_.get(), text.data(), text.size(), 0);
  if (put != static_cast<ssize_t>(text.size())) {
    return ErrnoStatus(put < 0 ? errno : ENOSPC, path_, "write");
  }
  return absl::OkStatus();
}

absl::Status CheckMark(const std::string& path, const std::string& database_id,
                       const std::optional<CommitMark::Mark>& mark, int64_t commits) {
  // Another database's mark says something only beside a database that never had a commit: then
  // the file that it belonged to is gone.
  if (!mark || mark->commits <= commits || (mark->database_id != database_id && commits > 0)) {
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat(
      path, ": ", mark->commits - commits, " of ", mark->commits,
      " acknowledged commits are missing; ", path, " or ", path,
      "-wal was removed or damaged, or an older copy was put here: bring the right files ",
      "back, restore a backup, or remove ", path, ".mark to go on without them"));
}

absl::StatusOr<std::string> NewUniqueId() {
  unsigned char bytes[16];
  if (getentropy(bytes, sizeof(bytes)) != 0) {
    return ErrnoStatus(errno, "getentropy", "read");
  }
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(bytes), sizeof(bytes)));
}

}  // namespace concur
