// SPDX-License-Identifier: Apache-2.0
#include "studies/annotation/directory.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "studies/annotation/passages.h"

namespace concur::annotation {
namespace {

constexpr int64_t kInputBytesMax = int64_t{1} << 30;

std::string LogPath(const std::string& directory) { return directory + "/log.jsonl"; }
std::string PassagesPath(const std::string& directory) { return directory + "/passages"; }
std::string OnboardingPath(const std::string& directory) { return directory + "/onboarding"; }

absl::Status MakeRoomDirectory(const std::string& directory) {
  return MakePrivateDirectory(directory, {"lock", "log.jsonl", "passages"});
}

absl::Status CheckCopy(const std::string& path, const std::string& digest) {
  CONCUR_ASSIGN_OR_RETURN(const FileDigest found, DigestFile(path));
  return found.digest.ToHex() == digest
             ? absl::OkStatus()
             : absl::DataLossError(absl::StrCat(
                   path, ": the file was changed after the room was opened; restore it"));
}

// Questions that annotators answer; none in a room where they write.
absl::StatusOr<std::vector<KnownQuestion>> ReadQuestions(const std::string& path,
                                                         const Settings& settings) {
  return settings.answering ? ReadOnboarding(path, kQuestionsMax) : std::vector<KnownQuestion>();
}

absl::StatusOr<Room> RoomOf(const std::string& directory, const std::vector<Event>& events) {
  const Event& opening = events.front();
  CONCUR_RETURN_IF_ERROR(CheckCopy(PassagesPath(directory), opening.passages_digest));
  CONCUR_ASSIGN_OR_RETURN(std::vector<SourcePassage> passages,
                          ReadPassages(PassagesPath(directory)));
  std::vector<KnownQuestion> onboarding;
  if (!opening.onboarding_digest.empty()) {
    CONCUR_RETURN_IF_ERROR(CheckCopy(OnboardingPath(directory), opening.onboarding_digest));
    CONCUR_ASSIGN_OR_RETURN(onboarding, ReadOnboarding(OnboardingPath(directory)));
  }
  CONCUR_ASSIGN_OR_RETURN(std::vector<KnownQuestion> questions,
                          ReadQuestions(PassagesPath(directory), opening.settings));
  CONCUR_ASSIGN_OR_RETURN(Room room, Room::Create(std::move(passages), std::move(onboarding),
                                                  opening.settings, std::move(questions)));
  for (size_t i = 1; i < events.size(); ++i) {
    const absl::Status possible = room.Check(events[i]);
    if (!possible.ok()) {
      return absl::DataLossError(
          absl::StrCat(LogPath(directory), ":", i + 1, ": ", possible.message(),
                       "; restore the file from a copy, or cut it before this line"));
    }
    room.Apply(events[i]);
  }
  return room;
}

// The export needs passages of both kinds. Only for new rooms: others open as they are.
absl::Status CheckHeldOut(const Room& room) {
  const size_t all = room.passages().size();
  size_t held_out = 0;
  for (size_t i = 0; i < all; ++i) {
    held_out += room.IsHeldOut(i) ? 1 : 0;
  }
  return room.settings().answering || room.settings().held_out == 1 ||
                 (held_out >= 2 && held_out < all)
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat(
                   "settings: held_out: expected a share that holds out 2 passages or more and "
                   "leaves 1 to train, got ",
                   held_out, " of ", all,
                   "; choose another --held-out, leave it out, or give more passages"));
}

absl::Status CheckSame(absl::string_view option, const std::string& path,
                       const std::string& digest) {
  if (path.empty()) {
    return absl::OkStatus();
  }
  CONCUR_ASSIGN_OR_RETURN(const FileDigest found, DigestFile(path));
  return found.digest.ToHex() == digest
             ? absl::OkStatus()
             : absl::FailedPreconditionError(
                   absl::StrCat(option, ": the room was opened with another file than ", path,
                                "; choose another --dir for this one"));
}

}  // namespace

absl::StatusOr<RoomLock> RoomLock::Take(const std::string& directory) {
  CONCUR_RETURN_IF_ERROR(MakeRoomDirectory(directory));
  const std::string path = directory + "/lock";
  FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) {
    return ErrnoStatus(errno, path, "open");
  }
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": another concur annotate has this room open"));
  }
  return RoomLock(std::move(file));
}

bool HasRoom(const std::string& directory) {
  std::error_code error;
  return std::filesystem::exists(LogPath(directory), error);
}

absl::Status MakeRoom(const std::string& directory, const std::string& passages,
                      const std::string& onboarding, const Settings& settings, absl::Time now) {
  if (HasRoom(directory)) {
    return absl::AlreadyExistsError(absl::StrCat(directory, ": a room is here already"));
  }
  CONCUR_ASSIGN_OR_RETURN(std::vector<SourcePassage> read, ReadPassages(passages));
  std::vector<KnownQuestion> known;
  if (!onboarding.empty()) {
    CONCUR_ASSIGN_OR_RETURN(known, ReadOnboarding(onboarding));
  }
  CONCUR_ASSIGN_OR_RETURN(std::vector<KnownQuestion> questions, ReadQuestions(passages, settings));
  CONCUR_ASSIGN_OR_RETURN(const Room room, Room::Create(std::move(read), std::move(known), settings,
                                                        std::move(questions)));
  CONCUR_RETURN_IF_ERROR(CheckHeldOut(room));
  CONCUR_RETURN_IF_ERROR(MakeRoomDirectory(directory));
  Event opening;
  opening.kind = EventKind::kOpening;
  opening.time = now;
  opening.settings = settings;
  CONCUR_ASSIGN_OR_RETURN(const std::string text, ReadFile(passages, kInputBytesMax));
  opening.passages_digest = Sha256Of(text).ToHex();
  CONCUR_RETURN_IF_ERROR(WriteFileAtomically(PassagesPath(directory), text, 0600));
  if (!onboarding.empty()) {
    CONCUR_ASSIGN_OR_RETURN(const std::string known_text, ReadFile(onboarding, kInputBytesMax));
    opening.onboarding_digest = Sha256Of(known_text).ToHex();
    CONCUR_RETURN_IF_ERROR(WriteFileAtomically(OnboardingPath(directory), known_text, 0600));
  }
  return Log::Create(LogPath(directory), opening);
}

absl::StatusOr<Room> ReadRoom(const std::string& directory) {
  if (!HasRoom(directory)) {
    return absl::NotFoundError(
        absl::StrCat(directory, ": there is no room here; concur annotate --passages makes one"));
  }
  CONCUR_ASSIGN_OR_RETURN(const std::string text, ReadFile(LogPath(directory), kLogBytesMax));
  CONCUR_ASSIGN_OR_RETURN(const LogContents contents, ParseLog(text, LogPath(directory)));
  return RoomOf(directory, contents.events);
}

absl::StatusOr<std::unique_ptr<LiveRoom>> LiveRoom::Open(const std::string& directory,
                                                         RoomLock lock) {
  CONCUR_ASSIGN_OR_RETURN(std::unique_ptr<Log> log, Log::Open(LogPath(directory)));
  const LogContents contents = log->TakeContents();
  CONCUR_ASSIGN_OR_RETURN(Room room, RoomOf(directory, contents.events));
  return std::unique_ptr<LiveRoom>(
      new LiveRoom(std::move(lock), contents.events.front(), std::move(room), std::move(log)));
}

absl::Status LiveRoom::CheckIsOf(const std::string& passages, const std::string& onboarding) const {
  CONCUR_RETURN_IF_ERROR(CheckSame("--passages", passages, opening_.passages_digest));
  return CheckSame("--onboarding", onboarding, opening_.onboarding_digest);
}

absl::Status LiveRoom::Commit(const Event& event) {
  CONCUR_RETURN_IF_ERROR(room_.Check(event));
  return CommitChecked(event);
}

absl::Status LiveRoom::CommitChecked(const Event& event) {
  CONCUR_RETURN_IF_ERROR(log_->Append(event));
  room_.Apply(event);
  return absl::OkStatus();
}

}  // namespace concur::annotation
