// SPDX-License-Identifier: Apache-2.0
// Downloads of files to disk: resumed, retried and verified; a file gets its name only when it is
// complete.
//
// Thread-compatible; a lock keeps processes from downloading the same file at the same time.
#ifndef CONCUR_BASE_FETCH_DOWNLOAD_H_
#define CONCUR_BASE_FETCH_DOWNLOAD_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "base/fetch/transport.h"

namespace concur::fetch {

struct RemoteFile {
  std::string url;
  std::optional<Digest> sha256;  // expected digest, if known
};

struct DownloadOptions {
  int silent_attempts_max = 6;                // consecutive attempts without a byte
  absl::Duration backoff = absl::Seconds(1);  // doubled after each of them
  absl::Duration backoff_max = absl::Minutes(1);
  int64_t bytes_max = int64_t{1} << 40;
  int64_t disk_kept = int64_t{256} << 20;          // bytes of the disk that stay free
  std::function<void(absl::Duration)> sleep = {};  // absl::SleepFor when empty
  // Bytes present so far; `total` is -1 when the server does not say.
  std::function<void(int64_t done, int64_t total)> progress = {};
  // Called before each wait for another attempt.
  std::function<void(const absl::Status& why, absl::Duration wait)> on_retry = {};
  // Called between the opening of the partial file and its locking.
  std::function<void()> opened_for_test = {};
};

enum class DownloadOutcome { kPresent, kFetched, kResumed };

struct Download {
  DownloadOutcome outcome = DownloadOutcome::kFetched;
  int64_t bytes = 0;
  Digest sha256;
};

// Downloads a file to `path`, creating its directory if needed. Partial contents are kept in
// "PATH.part" between attempts and calls, and what the server says of their version in
// "PATH.part.version"; they are removed on success and when the digest is wrong. They are added to
// only if the server still has that version or, where it does not say, if the digest is known.
// An existing file at `path` is kept if it has the expected digest or if none is given.
// DataLoss: two complete downloads had another digest. FailedPrecondition: another process
// downloads the file. ResourceExhausted: it is larger than `bytes_max` or what the disk has room
// for. Aborted: others finished or removed it again and again meanwhile. Otherwise the transport's
// last error; transient errors are retried.
absl::StatusOr<Download> DownloadFile(Transport& transport, const RemoteFile& file,
                                      const std::string& path, const DownloadOptions& options);

}  // namespace concur::fetch

#endif  // CONCUR_BASE_FETCH_DOWNLOAD_H_
