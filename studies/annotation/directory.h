// SPDX-License-Identifier: Apache-2.0
// A room in a directory: log.jsonl, and copies of the files that the room was opened with. The
// directory is all that a restart, `concur annotate status` and `export` need.
//
// Thread-compatible.
#ifndef CONCUR_STUDIES_ANNOTATION_DIRECTORY_H_
#define CONCUR_STUDIES_ANNOTATION_DIRECTORY_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "studies/annotation/log.h"
#include "studies/annotation/room.h"

namespace concur::annotation {

// The right to make, open and change the room in a directory, for one process at a time; it ends
// with this object or the process.
class RoomLock {
 public:
  // Makes the directory, which only this user may enter. FailedPrecondition while another process
  // has the lock, or when the directory is another's.
  static absl::StatusOr<RoomLock> Take(const std::string& directory);

 private:
  explicit RoomLock(FileDescriptor file) : file_(std::move(file)) {}

  FileDescriptor file_;
};

// True if a room was made in this directory.
bool HasRoom(const std::string& directory);

// Makes a room of `passages` and, unless it is "", `onboarding`, both files (passages.h), in a
// directory that only this user may enter. AlreadyExists when there is one.
absl::Status MakeRoom(const std::string& directory, const std::string& passages,
                      const std::string& onboarding, const Settings& settings, absl::Time now);

// The room as its log tells, for reading. NotFound without one; DataLoss, with file and line, when
// a file was changed or an event cannot have happened.
absl::StatusOr<Room> ReadRoom(const std::string& directory);

// A room that goes on: what Commit accepts is in the log before it changes the room.
class LiveRoom {
 public:
  // As ReadRoom; keeps the lock of this directory.
  static absl::StatusOr<std::unique_ptr<LiveRoom>> Open(const std::string& directory,
                                                        RoomLock lock);

  const Room& room() const { return room_; }
  // False for a log of an earlier version, of which lines could be removed unnoticed.
  bool is_chained() const { return opening_.log_version >= kChainedVersion; }
  // OK when the room was made from files with these bytes; FailedPrecondition otherwise. "" is any.
  absl::Status CheckIsOf(const std::string& passages, const std::string& onboarding) const;
  // The errors of Room::Check and Log::Append, after which nothing has changed.
  absl::Status Commit(const Event& event);
  // REQUIRES: the room's Check(event) is OK. The errors of Log::Append, likewise.
  absl::Status CommitChecked(const Event& event);

 private:
  LiveRoom(RoomLock lock, Event opening, Room room, std::unique_ptr<Log> log)
      : lock_(std::move(lock)),
        opening_(std::move(opening)),
        room_(std::move(room)),
        log_(std::move(log)) {}

  const RoomLock lock_;
  const Event opening_;
  Room room_;
  const std::unique_ptr<Log> log_;
};

}  // namespace concur::annotation

#endif  // CONCUR_STUDIES_ANNOTATION_DIRECTORY_H_
