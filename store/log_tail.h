// SPDX-License-Identifier: Apache-2.0
// Reads the write-ahead log of a SQLite database that another process writes to, as a file: without
// a lock, a transaction or a connection, so that nothing in the writer waits for the reader.
//
// The log is a ring of page images (https://www.sqlite.org/walformat.html). A checkpoint copies
// them to the database; the next commit then begins the log anew, with its first salt one higher,
// and writes over it from the front, and cuts what is behind kDatabaseLogBytesMax. A reader that
// comes by before the new log has grown to its position finds what it had not read yet still in its
// place; one that comes later, or does not see where the old log ended, is told so.
//
// Functions without state; thread-safe.
#ifndef CONCUR_STORE_LOG_TAIL_H_
#define CONCUR_STORE_LOG_TAIL_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace concur {

// A place behind a commit in one log, or at its front.
struct LogPosition {
  std::array<uint32_t, 2> salts = {};  // which log it is; both zero: there was none
  uint64_t frames = 0;                 // page images before it
  std::array<uint32_t, 2> sums = {};   // checksum of the header and of these

  bool has_log() const { return salts[0] != 0 || salts[1] != 0; }
  friend bool operator==(const LogPosition&, const LogPosition&) = default;
};

// The front of the log of the database at `path`, as it is now; none for an empty or missing file.
absl::StatusOr<LogPosition> FrontOfLog(const std::string& path);

// Gives what was committed behind `position` to `sink`, as whole page images in pieces of at most
// 4 MiB, after `found` was told their bytes, and moves `position` behind them. True: it is at the
// front of the next log now, and there may be more. Aborted when parts are lost to this reader: the
// log was written over, removed or made anew; only a copy of the whole database helps. Then, and
// after errors of `sink`, `position` is as it was.
absl::StatusOr<bool> FollowLog(const std::string& path, LogPosition& position,
                               absl::FunctionRef<void(int64_t bytes)> found,
                               absl::FunctionRef<absl::Status(absl::string_view images)> sink);

// Writes page images, as FollowLog gave them, to a database's file. `pages` becomes the length, in
// pages, that the last commit among them gave it. DataLoss for bytes that are no page images.
absl::Status ApplyLog(absl::string_view images, int fd, const std::string& path, uint64_t* pages);

}  // namespace concur

#endif  // CONCUR_STORE_LOG_TAIL_H_
