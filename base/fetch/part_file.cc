// SPDX-License-Identifier: Apache-2.0
#include "base/fetch/part_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace concur::fetch {
namespace {

constexpr int64_t kVersionBytesMax = int64_t{64} << 10;

// Two lines: the validator, and the bytes of the whole file. Unknown if it is not there or damaged.
Version ReadVersion(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path, kVersionBytesMax);
  const std::vector<std::string> lines = absl::StrSplit(text.value_or(""), '\n');
  Version version;
  // It becomes part of a request.
  for (const char c : lines[0]) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) {
      return {};
    }
  }
  if (lines.size() != 3 || !absl::SimpleAtoi(lines[1], &version.bytes)) {
    return {};
  }
  version.validator = lines[0];
  return version;
}

}  // namespace

absl::StatusOr<PartFile> PartFile::Open(const std::string& path,
                                        const std::function<void()>& opened_for_test) {
  FileDescriptor fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!fd.valid()) {
    return ErrnoStatus(errno, path, "open");
  }
  if (opened_for_test) {
    opened_for_test();
  }
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": another process fetches this file; wait for it"));
  }
  struct stat info {};
  if (fstat(fd.get(), &info) != 0) {
    return ErrnoStatus(errno, path, "stat");
  }
  struct stat named {};
  if (lstat(path.c_str(), &named) != 0 || named.st_dev != info.st_dev ||
      named.st_ino != info.st_ino) {
    return absl::AbortedError(
        absl::StrCat(path, ": other processes fetch this file; wait for them"));
  }
  PartFile part;
  part.path_ = path;
  part.fd_ = std::move(fd);
  part.bytes_ = info.st_size;
  if (part.bytes_ > 0) {
    part.version_ = ReadVersion(part.VersionPath());
  }
  return part;
}

absl::Status PartFile::Append(absl::string_view bytes) {
  if (lseek(fd_.get(), bytes_, SEEK_SET) < 0) {
    return ErrnoStatus(errno, path_, "seek");
  }
  CONCUR_RETURN_IF_ERROR(WriteAll(fd_.get(), bytes, path_));
  bytes_ += static_cast<int64_t>(bytes.size());
  return absl::OkStatus();
}

absl::Status PartFile::Clear() {
  if (bytes_ == 0) {
    return absl::OkStatus();
  }
  // On the disk before another version's name is: a power loss must not leave old bytes under it.
  if (ftruncate(fd_.get(), 0) != 0 || fsync(fd_.get()) != 0) {
    return ErrnoStatus(errno, path_, "truncate");
  }
  bytes_ = 0;
  version_ = {};
  ++restarts_;
  return absl::OkStatus();
}

absl::Status PartFile::Begin(const Version& version) {
  CONCUR_RETURN_IF_ERROR(Clear());
  version_ = version;
  if (version.validator.empty() && version.bytes < 0) {
    unlink(VersionPath().c_str());  // belongs to an earlier file
    return absl::OkStatus();
  }
  return WriteFileAtomically(VersionPath(),
                             absl::StrCat(version.validator, "\n", version.bytes, "\n"));
}

absl::Status PartFile::MoveTo(const std::string& path) {
  if (fsync(fd_.get()) != 0) {
    return ErrnoStatus(errno, path_, "sync");
  }
  unlink(VersionPath().c_str());
  if (rename(path_.c_str(), path.c_str()) != 0) {
    return ErrnoStatus(errno, path, "rename");
  }
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return SyncDirectory(parent.empty() ? "." : parent);
}

void PartFile::Remove() {
  unlink(VersionPath().c_str());
  unlink(path_.c_str());
}

}  // namespace concur::fetch
