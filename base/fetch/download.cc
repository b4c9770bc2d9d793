// SPDX-License-Identifier: Apache-2.0
#include "base/fetch/download.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "base/fetch/part_file.h"
#include "base/fetch/transport.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace concur::fetch {
namespace {

// Number of times that the partial file may be finished or removed between opening and locking it.
constexpr int kOpensMax = 10;

// Restarts allowed in a download, for servers that do not resume or whose file changes.
constexpr int kRestartsMax = 20;

bool AreTwoVersions(const Version& a, const Version& b) {
  return (!a.validator.empty() && !b.validator.empty() && a.validator != b.validator) ||
         (a.bytes >= 0 && b.bytes >= 0 && a.bytes != b.bytes);
}

// `room`: the bytes that the file may have until its disk is full.
absl::Status CheckSize(const RemoteFile& file, int64_t bytes, int64_t room,
                       const DownloadOptions& options) {
  if (bytes > options.bytes_max) {
    return absl::ResourceExhaustedError(
        absl::StrCat(file.url, ": more than the limit of ", options.bytes_max, " bytes"));
  }
  return bytes <= room ? absl::OkStatus()
                       : absl::ResourceExhaustedError(
                             absl::StrCat(file.url, ": the disk has no room for it; make some (",
                                          options.disk_kept, " bytes of the disk stay free)"));
}

// One GET from the end of the partial file; starts over if the server sends from the beginning, and
// if nothing would show that what is here and what comes are of one version. OutOfRange: they are
// not.
absl::Status Attempt(Transport& transport, const RemoteFile& file, PartFile& part, int64_t room,
                     const DownloadOptions& options) {
  if (part.version().validator.empty() && !file.sha256.has_value()) {
    CONCUR_RETURN_IF_ERROR(part.Clear());
  }
  const std::string validator = part.version().validator;  // the answer may bring another
  int64_t total = -1;
  const absl::Status got = transport.Get(
      file.url, part.bytes(), validator,
      [&](const Reply& reply) -> absl::Status {
        total = reply.version.bytes;
        CONCUR_RETURN_IF_ERROR(CheckSize(file, total, room, options));
        if (!reply.from_offset || part.bytes() == 0) {
          return part.Begin(reply.version);
        }
        if (AreTwoVersions(part.version(), reply.version)) {
          return absl::OutOfRangeError(absl::StrCat(file.url,
                                                    ": the file has changed since its first ",
                                                    part.bytes(), " bytes were fetched"));
        }
        return absl::OkStatus();
      },
      [&](absl::string_view bytes) -> absl::Status {
        CONCUR_RETURN_IF_ERROR(
            CheckSize(file, part.bytes() + static_cast<int64_t>(bytes.size()), room, options));
        CONCUR_RETURN_IF_ERROR(part.Append(bytes));
        if (options.progress) {
          options.progress(part.bytes(), total);
        }
        return absl::OkStatus();
      });
  CONCUR_RETURN_IF_ERROR(got);
  // A server may send less than the rest.
  return part.bytes() < total
             ? absl::UnavailableError(absl::StrCat(file.url, ": the answer ends at byte ",
                                                   part.bytes(), " of ", total))
             : absl::OkStatus();
}

// Retries until the file is complete or an error is permanent.
absl::Status FillPart(Transport& transport, const RemoteFile& file, PartFile& part, int64_t room,
                      const DownloadOptions& options) {
  const int restarts_max = part.restarts() + kRestartsMax;
  absl::Duration backoff = options.backoff;
  for (int silent = 0;;) {
    const int64_t before = part.bytes();
    absl::Status status = Attempt(transport, file, part, room, options);
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
    if (part.restarts() > restarts_max) {
      return absl::Status(status.code(),
                          absl::StrCat(status.message(), " (begun anew ", kRestartsMax, " times)"));
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

// The bytes that the part may come to have until its disk is full.
int64_t RoomOf(const PartFile& part) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(part.path(), error);
  return error ? INT64_MAX : part.bytes() + static_cast<int64_t>(space.available);
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
  absl::StatusOr<PartFile> opened = absl::AbortedError("not opened yet");
  for (int i = 0; i < kOpensMax && absl::IsAborted(opened.status()); ++i) {
    if (const auto present = Present(file, path); present.ok()) {
      return Download{DownloadOutcome::kPresent, present->bytes, present->digest};
    }
    opened = PartFile::Open(path + ".part", options.opened_for_test);
  }
  CONCUR_RETURN_IF_ERROR(opened.status());
  PartFile part = *std::move(opened);
  const int64_t room = std::max(part.bytes(), RoomOf(part) - options.disk_kept);
  const bool had_bytes = part.bytes() > 0;
  for (int mismatches = 0;;) {
    const absl::Status filled = FillPart(transport, file, part, room, options);
    if (!filled.ok()) {
      if (part.bytes() == 0) {
        part.Remove();
      }
      return filled;
    }
    CONCUR_ASSIGN_OR_RETURN(const FileDigest digest, DigestFile(part.path()));
    if (!file.sha256.has_value() || digest.digest == *file.sha256) {
      CONCUR_RETURN_IF_ERROR(part.MoveTo(path));
      return Download{
          had_bytes && part.restarts() == 0 ? DownloadOutcome::kResumed : DownloadOutcome::kFetched,
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
