// Files of the network on disk: resumed, verified, tried again, and under their names only when
// they are whole.
//
// Thread-compatible; processes that fetch the same file keep out of each other's way by a lock.
#ifndef CONCUR_FETCH_DOWNLOAD_H_
#define CONCUR_FETCH_DOWNLOAD_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "fetch/transport.h"

namespace concur::fetch {

struct RemoteFile {
  std::string url;
  std::optional<Digest> sha256;  // pinned, or not known
};

struct DownloadOptions {
  int silent_attempts_max = 6;                // in a row that bring no byte
  absl::Duration backoff = absl::Seconds(1);  // doubled with each of them
  absl::Duration backoff_max = absl::Minutes(1);
  int64_t bytes_max = int64_t{1} << 40;
  std::function<void(absl::Duration)> sleep = {};  // absl::SleepFor when empty
  // How much of the file is here; `total` is -1 when the server does not say.
  std::function<void(int64_t done, int64_t total)> progress = {};
  // Before each wait for another attempt: why, and for how long.
  std::function<void(const absl::Status& why, absl::Duration wait)> on_retry = {};
};

enum class DownloadOutcome { kPresent, kFetched, kResumed };

struct Download {
  DownloadOutcome outcome = DownloadOutcome::kFetched;
  int64_t bytes = 0;
  Digest sha256;
};

// Fetches a file to `path`, whose directory is made if absent. What came so far stays in
// "PATH.part" between attempts and calls, and is gone on OK and when the digest is wrong. A file
// at `path` of the pinned digest, or of any when none is pinned, is left alone.
// DataLoss: a whole file came twice and its digest is not the pinned one. FailedPrecondition:
// another process fetches it. Otherwise the transport's last error; what may pass is tried again.
absl::StatusOr<Download> DownloadFile(Transport& transport, const RemoteFile& file,
                                      const std::string& path, const DownloadOptions& options);

}  // namespace concur::fetch

#endif  // CONCUR_FETCH_DOWNLOAD_H_
