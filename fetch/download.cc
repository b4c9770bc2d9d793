// SPDX-License-Identifier: Apache-2.0
#include "fetch/download.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace concur::fetch {
namespace {

// The partial file PATH.part, locked, with the version of the file that it is of in
// PATH.part.version.
class PartFile {
 public:
  // Aborted when another process has finished the file meanwhile, so that this is no part any more.
  static absl::StatusOr<PartFile> Open(const std::string& path) {
    FileDescriptor fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (!fd.valid()) {
      return ErrnoStatus(errno, path, "open");
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
    if (lstat(path.c_str(), &named) != 0 || named.st_ino != info.st_ino ||
        named.st_dev != info.st_dev) {
      return absl::AbortedError(absl::StrCat(path, ": another process has just fetched this file"));
    }
    PartFile part;
    part.path_ = path;
    part.fd_ = std::move(fd);
    part.bytes_ = info.st_size;
    part.resumed_ = part.bytes_ > 0;
    if (part.bytes_ > 0) {
      part.version_ = ReadVersion(part.version_path());
    }
    return part;
  }

  const std::string& path() const { return path_; }
  int64_t bytes() const { return bytes_; }
  // Whether it has bytes of an earlier call.
  bool resumed() const { return resumed_; }
  // As Reply::version; "" when it is not known.
  const std::string& version() const { return version_; }
  absl::Status SetVersion(const std::string& version) {
    if (version == version_) {
      return absl::OkStatus();
    }
    version_ = version;
    return WriteFileAtomically(version_path(), version);
  }

  absl::Status Append(absl::string_view bytes) {
    if (lseek(fd_.get(), bytes_, SEEK_SET) < 0) {
      return ErrnoStatus(errno, path_, "seek");
    }
    CONCUR_RETURN_IF_ERROR(WriteAll(fd_.get(), bytes, path_));
    bytes_ += static_cast<int64_t>(bytes.size());
    return absl::OkStatus();
  }
  absl::Status Clear() {
    if (ftruncate(fd_.get(), 0) != 0) {
      return ErrnoStatus(errno, path_, "truncate");
    }
    bytes_ = 0;
    resumed_ = false;
    version_.clear();
    unlink(version_path().c_str());
    return absl::OkStatus();
  }
  absl::Status MoveTo(const std::string& path) {
    if (fsync(fd_.get()) != 0) {
      return ErrnoStatus(errno, path_, "sync");
    }
    if (rename(path_.c_str(), path.c_str()) != 0) {
      return ErrnoStatus(errno, path, "rename");
    }
    unlink(version_path().c_str());
    const std::string parent = std::filesystem::path(path).parent_path().string();
    return SyncDirectory(parent.empty() ? "." : parent);
  }
  void Remove() {
    unlink(version_path().c_str());
    unlink(path_.c_str());
  }

 private:
  // What is no line of a header counts as nothing.
  static std::string ReadVersion(const std::string& path) {
    constexpr int64_t kVersionBytesMax = 1000;
    std::string version = ReadFile(path, kVersionBytesMax).value_or("");
    const bool is_line =
        std::all_of(version.begin(), version.end(), [](char c) { return c >= ' ' && c <= '~'; });
    return is_line ? version : "";
  }
  std::string version_path() const { return path_ + ".version"; }

  std::string path_;
  std::string version_;
  FileDescriptor fd_;
  int64_t bytes_ = 0;
  bool resumed_ = false;
};

// One GET from the end of the partial file; starts over if the server sends from the beginning.
absl::Status Attempt(Transport& transport, const std::string& url, PartFile& part,
                     const DownloadOptions& options) {
  int64_t total = -1;
  return transport.Get(
      url, part.bytes(), part.version(),
      [&](const Reply& reply) -> absl::Status {
        if (!reply.from_offset && part.bytes() > 0) {
          CONCUR_RETURN_IF_ERROR(part.Clear());
        }
        CONCUR_RETURN_IF_ERROR(part.SetVersion(reply.version));
        total = reply.bytes < 0 ? -1 : part.bytes() + reply.bytes;
        return absl::OkStatus();
      },
      [&](absl::string_view bytes) -> absl::Status {
        if (part.bytes() + static_cast<int64_t>(bytes.size()) > options.bytes_max) {
          return absl::ResourceExhaustedError(
              absl::StrCat(url, ": more than the limit of ", options.bytes_max, " bytes"));
        }
        CONCUR_RETURN_IF_ERROR(part.Append(bytes));
        if (options.progress) {
          options.progress(part.bytes(), total);
        }
        return absl::OkStatus();
      });
}

// Retries until the file is complete or an error is permanent.
absl::Status FillPart(Transport& transport, const RemoteFile& file, PartFile& part,
                      const DownloadOptions& options) {
  absl::Duration backoff = options.backoff;
  for (int silent = 0;;) {
    // Nothing would tell that the rest is of another version.
    if (part.bytes() > 0 && part.version().empty() && !file.sha256.has_value()) {
      CONCUR_RETURN_IF_ERROR(part.Clear());
    }
    const int64_t before = part.bytes();
    absl::Status status = Attempt(transport, file.url, part, options);
    if (absl::IsOutOfRange(status) && before > 0) {
      CONCUR_RETURN_IF_ERROR(part.Clear());  // longer than the file, or another file
    } else if (!absl::IsUnavailable(status)) {
      return status;
    }
    if (part.bytes() > before) {
      silent = 0;
      backoff = options.backoff;
    } else if (++silent >= options.silent_attempts_max) {
      return absl::Status(status.code(), absl::StrCat(status.message(), " (", silent,
                                                      " attempts in a row brought nothing)"));
    }
    if (options.on_retry) {
      options.on_retry(status, backoff);
    }
    if (options.sleep) {
      options.sleep(backoff);
    } else {
      absl::SleepFor(backoff);
    }
    backoff = std::min(backoff * 2, options.backoff_max);
  }
}

// The existing file at `path` if it is usable.
absl::StatusOr<FileDigest> Present(const RemoteFile& file, const std::string& path) {
  CONCUR_ASSIGN_OR_RETURN(const FileDigest digest, DigestFile(path));
  if (file.sha256.has_value() && digest.digest != *file.sha256) {
    return absl::NotFoundError("another file");
  }
  return digest;
}

}  // namespace

absl::StatusOr<Download> DownloadFile(Transport& transport, const RemoteFile& file,
                                      const std::string& path, const DownloadOptions& options) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  if (!parent.empty()) {
    CONCUR_RETURN_IF_ERROR(MakeDirectories(parent));
  }
  if (const auto present = Present(file, path); present.ok()) {
    return Download{DownloadOutcome::kPresent, present->bytes, present->digest};
  }
  absl::StatusOr<PartFile> opened = PartFile::Open(path + ".part");
  while (absl::IsAborted(opened.status())) {
    if (const auto present = Present(file, path); present.ok()) {
      return Download{DownloadOutcome::kPresent, present->bytes, present->digest};
    }
    opened = PartFile::Open(path + ".part");
  }
  CONCUR_RETURN_IF_ERROR(opened.status());
  PartFile part = *std::move(opened);
  for (int mismatches = 0;;) {
    const absl::Status filled = FillPart(transport, file, part, options);
    if (!filled.ok()) {
      if (part.bytes() == 0) {
        part.Remove();
      }
      return filled;
    }
    CONCUR_ASSIGN_OR_RETURN(const FileDigest digest, DigestFile(part.path()));
    if (!file.sha256.has_value() || digest.digest == *file.sha256) {
      CONCUR_RETURN_IF_ERROR(part.MoveTo(path));
      return Download{part.resumed() ? DownloadOutcome::kResumed : DownloadOutcome::kFetched,
                      digest.bytes, digest.digest};
    }
    if (++mismatches == 2) {
      part.Remove();
      return absl::DataLossError(absl::StrCat(
          file.url, ": expected a file of SHA-256 ", file.sha256->ToHex(), ", got ",
          digest.digest.ToHex(), " (", digest.bytes,
          " bytes); the file was replaced, or something between here and there changes it"));
    }
    // A part of an older file, or damage in transit: download from the beginning once more.
    CONCUR_RETURN_IF_ERROR(part.Clear());
  }
}

}  // namespace concur::fetch
