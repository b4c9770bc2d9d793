// SPDX-License-Identifier: Apache-2.0
// The log of a room: a file of JSON lines, one event each, only ever appended to. Each line begins
// with a checksum of the line before it and of its own rest, so that a line that is removed, moved
// or changed is noticed, but for lines cut off at the end. What Append has returned OK for survives
// a loss of power.
//
// Thread-compatible.
#ifndef CONCUR_STUDIES_ANNOTATION_LOG_H_
#define CONCUR_STUDIES_ANNOTATION_LOG_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "studies/annotation/event.h"

namespace concur::annotation {

inline constexpr int64_t kLogBytesMax = int64_t{1} << 30;
// One annotator's share.
inline constexpr int64_t kAnnotatorBytesMax = kLogBytesMax / 64;

// {"sum": "…", "event": "attempt", "time": …, …} with its line feed, to follow the lines `before`.
// The sum is the first 16 hexadecimal digits of the SHA-256 of the last line's sum, if there is
// one, and of what follows the own one.
std::string EventLine(const Event& event, absl::string_view before);

struct LogContents {
  std::vector<Event> events;  // the first is the opening, and no other is
  size_t bytes = 0;           // size of whole lines; what follows was cut off while it was written
  std::string last_line;      // for the next; "" where lines are not chained
  std::map<std::string, int64_t> bytes_of;  // by annotator: bytes of what they did
};
// Reads a log's text; `path` is for messages. DataLoss, with path and line, for a line that is not
// as EventLine wrote it; a last line without its end is passed over.
absl::StatusOr<LogContents> ParseLog(absl::string_view text, const std::string& path);

class Log {
 public:
  // Makes the file with its first event; replaces one that is there.
  static absl::Status Create(const std::string& path, const Event& opening);
  // Opens it to append, and cuts off what follows `bytes`. REQUIRES: no other process has it open
  // so (RoomLock).
  static absl::StatusOr<std::unique_ptr<Log>> Open(const std::string& path);

  // Contents of the file when it was opened. To be taken once.
  LogContents TakeContents() { return std::move(contents_); }
  // Writes and syncs. After an error the file is as it was, or the log takes no more events.
  // ResourceExhausted when it, or what its annotator did, would grow beyond its limit.
  absl::Status Append(const Event& event);

 private:
  Log(std::string path, FileDescriptor file, LogContents contents)
      : path_(std::move(path)),
        file_(std::move(file)),
        contents_(std::move(contents)),
        bytes_(contents_.bytes),
        last_line_(contents_.last_line),
        bytes_of_(contents_.bytes_of) {}

  const std::string path_;
  FileDescriptor file_;
  LogContents contents_;
  size_t bytes_;
  std::string last_line_;
  std::map<std::string, int64_t> bytes_of_;
  bool is_broken_ = false;
};

}  // namespace concur::annotation

#endif  // CONCUR_STUDIES_ANNOTATION_LOG_H_
