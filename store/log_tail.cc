// SPDX-License-Identifier: Apache-2.0
#include "store/log_tail.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "store/sqlite_schema.h"

namespace concur {
namespace {

constexpr size_t kHeaderBytes = 32;
constexpr size_t kImageHeaderBytes = 24;
constexpr size_t kPageBytes = kDatabasePageBytes;
constexpr size_t kImageBytes = kImageHeaderBytes + kPageBytes;
constexpr size_t kImagesPerPiece = (size_t{4} << 20) / kImageBytes;
// A log that SQLite cut to the limit never ends right behind an image.
static_assert((kDatabaseLogBytesMax - kHeaderBytes) % kImageBytes != 0);
constexpr uint32_t kMagic = 0x377f0682;  // says that words are little-endian

using Words = std::array<uint32_t, 2>;
using Sink = absl::FunctionRef<absl::Status(absl::string_view images)>;

uint32_t WordAt(absl::string_view bytes, size_t at) {
  uint32_t word = 0;
  for (size_t i = 0; i < 4; ++i) {
    word = word << 8 | static_cast<uint8_t>(bytes[at + i]);
  }
  return word;
}

Words WordsAt(absl::string_view bytes, size_t at) {
  return {WordAt(bytes, at), WordAt(bytes, at + 4)};
}

Words SumOf(absl::string_view bytes, Words sums) {
  for (size_t at = 0; at < bytes.size(); at += 8) {
    Words words;
    std::memcpy(words.data(), bytes.data() + at, 8);
    sums[0] += words[0] + sums[1];
    sums[1] += words[1] + sums[0];
  }
  return sums;
}

struct LogFile {
  std::string path;
  FileDescriptor fd;  // invalid: there is none

  static absl::StatusOr<LogFile> Open(const std::string& database) {
    LogFile log{database + "-wal", {}};
    log.fd = FileDescriptor(open(log.path.c_str(), O_RDONLY | O_CLOEXEC));
    return log.fd.valid() || errno == ENOENT ? absl::StatusOr<LogFile>(std::move(log))
                                             : ErrnoStatus(errno, log.path, "open");
  }
  // Fewer bytes than asked for at the end of the file.
  absl::StatusOr<std::string> Read(size_t bytes, size_t offset) const {
    std::string data(bytes, '\0');
    size_t filled = 0;
    for (ssize_t got = 1; got != 0 && filled < bytes;) {
      got = pread(fd.get(), data.data() + filled, bytes - filled,
                  static_cast<off_t>(offset + filled));
      if (got < 0) {
        return ErrnoStatus(errno, path, "read");
      }
      filled += static_cast<size_t>(got);
    }
    data.resize(filled);
    return data;
  }
  absl::StatusOr<std::string> ReadImages(uint64_t first, size_t bytes) const {
    return Read(bytes, kHeaderBytes + first * kImageBytes);
  }
  absl::Status Lost(absl::string_view why) const {
    return absl::AbortedError(absl::StrCat(path, ": ", why));
  }
};

absl::StatusOr<LogPosition> FrontOf(const LogFile& log) {
  LogPosition front;
  if (!log.fd.valid()) {
    return front;
  }
  CONCUR_ASSIGN_OR_RETURN(const std::string bytes, log.Read(kHeaderBytes, 0));
  if (bytes.size() < kHeaderBytes) {
    return front;
  }
  const uint32_t magic = WordAt(bytes, 0);
  const Words sums = SumOf(absl::string_view(bytes).substr(0, kImageHeaderBytes), {});
  // The checksum of a log of big-endian words differs, and zeros are their own checksum.
  if (magic != (kMagic | 1) && (magic == 0 || sums != WordsAt(bytes, kImageHeaderBytes))) {
    return front;  // SQLite does not read it either
  }
  if (magic != kMagic || WordAt(bytes, 8) != kPageBytes) {
    return absl::FailedPreconditionError(absl::StrCat(
        log.path, ": expected a log of little-endian words and pages of ", kPageBytes, " bytes"));
  }
  return LogPosition{WordsAt(bytes, 16), 0, sums};
}

// Gives the images from a position on to `sink`, until `frames_max` or the first that is not the
// next of this log; returns the position of that.
absl::StatusOr<LogPosition> Walk(const LogFile& log, LogPosition at, uint64_t frames_max,
                                 Sink sink) {
  for (;;) {
    const size_t bytes = kImageBytes * std::min<uint64_t>(frames_max - at.frames, kImagesPerPiece);
    CONCUR_ASSIGN_OR_RETURN(const std::string data, log.ReadImages(at.frames, bytes));
    const absl::string_view piece = data;
    size_t valid = 0;
    for (; valid + kImageBytes <= piece.size(); valid += kImageBytes) {
      const Words sums = SumOf(piece.substr(valid + kImageHeaderBytes, kPageBytes),
                               SumOf(piece.substr(valid, 8), at.sums));
      if (WordsAt(piece, valid + 8) != at.salts || WordsAt(piece, valid + 16) != sums) {
        break;
      }
      at.sums = sums;
      ++at.frames;
    }
    if (valid > 0) {
      CONCUR_RETURN_IF_ERROR(sink(piece.substr(0, valid)));
    }
    if (valid < kImagesPerPiece * kImageBytes) {
      return at;
    }
  }
}

// The end of the last commit behind a position; the position itself when there is none.
absl::StatusOr<LogPosition> LastCommit(const LogFile& log, const LogPosition& from) {
  LogPosition end = from;
  uint64_t frames = from.frames;
  CONCUR_RETURN_IF_ERROR(Walk(log, from, UINT64_MAX, [&](absl::string_view piece) {
                           for (size_t at = 0; at < piece.size(); at += kImageBytes) {
                             ++frames;
                             if (WordAt(piece, at + 4) != 0) {
                               end.frames = frames;
                               end.sums = WordsAt(piece, at + 16);
                             }
                           }
                           return absl::OkStatus();
                         }).status());
  return end;
}

}  // namespace

absl::StatusOr<LogPosition> FrontOfLog(const std::string& path) {
  CONCUR_ASSIGN_OR_RETURN(const LogFile log, LogFile::Open(path));
  return FrontOf(log);
}

absl::StatusOr<bool> FollowLog(const std::string& path, LogPosition& position,
                               absl::FunctionRef<void(int64_t bytes)> found, Sink sink) {
  CONCUR_ASSIGN_OR_RETURN(const LogFile log, LogFile::Open(path));
  CONCUR_ASSIGN_OR_RETURN(const LogPosition front, FrontOf(log));
  if (!front.has_log() || !position.has_log()) {
    return front == position ? absl::StatusOr<bool>(false)
                             : log.Lost(front.has_log() ? "it was made anew" : "it was removed");
  }
  const bool is_next = front.salts != position.salts;
  if (is_next && front.salts[0] != position.salts[0] + 1) {
    return log.Lost("it began anew more than once since it was last read");
  }
  if (!is_next && position.frames > 0) {
    // A commit whose sync failed may have been written over by another one.
    CONCUR_ASSIGN_OR_RETURN(const std::string last,
                            log.ReadImages(position.frames - 1, kImageHeaderBytes));
    if (last.size() < kImageHeaderBytes || WordsAt(last, 8) != position.salts ||
        WordsAt(last, 16) != position.sums) {
      return log.Lost("a commit that was read was written over");
    }
  }
  CONCUR_ASSIGN_OR_RETURN(const LogPosition end, LastCommit(log, position));
  if (end.frames > position.frames) {
    found(static_cast<int64_t>((end.frames - position.frames) * kImageBytes));
    CONCUR_ASSIGN_OR_RETURN(const LogPosition given, Walk(log, position, end.frames, sink));
    if (given != end) {
      return log.Lost("it was written over while it was read");
    }
  }
  if (is_next) {
    // The old log ended there when an image of a still older one follows, or when the file ends
    // right behind its last commit. Else the new one has reached the place, or the first commit of
    // the new one cut the file: to kDatabaseLogBytesMax, or to its own end if that is more.
    CONCUR_ASSIGN_OR_RETURN(
        const LogPosition stop,
        Walk(log, end, UINT64_MAX, [](absl::string_view /*images*/) { return absl::OkStatus(); }));
    CONCUR_ASSIGN_OR_RETURN(const std::string behind, log.ReadImages(stop.frames, kImageBytes));
    bool has_ended = behind.size() == kImageBytes && WordsAt(behind, 8) != front.salts;
    if (behind.empty() && stop == end && end.frames > 0) {
      CONCUR_ASSIGN_OR_RETURN(const std::string last,
                              log.ReadImages(end.frames - 1, kImageHeaderBytes));
      has_ended = last.size() == kImageHeaderBytes && WordsAt(last, 8) == end.salts &&
                  WordsAt(last, 16) == end.sums;
    }
    CONCUR_ASSIGN_OR_RETURN(const LogPosition again, FrontOf(log));
    if (again != front || !has_ended) {
      return log.Lost("it began anew and was written over or cut since it was last read");
    }
  }
  position = is_next ? front : end;
  return is_next;
}

absl::Status ApplyLog(absl::string_view images, int fd, const std::string& path, uint64_t* pages) {
  for (; !images.empty(); images.remove_prefix(kImageBytes)) {
    if (images.size() < kImageBytes || WordAt(images, 0) == 0) {
      return absl::DataLossError(absl::StrCat(path, ": expected page images in its log"));
    }
    const auto offset = static_cast<off_t>((uint64_t{WordAt(images, 0)} - 1) * kPageBytes);
    if (lseek(fd, offset, SEEK_SET) < 0) {
      return ErrnoStatus(errno, path, "seek");
    }
    CONCUR_RETURN_IF_ERROR(WriteAll(fd, images.substr(kImageHeaderBytes, kPageBytes), path));
    *pages = WordAt(images, 4) != 0 ? WordAt(images, 4) : *pages;
  }
  return absl::OkStatus();
}

}  // namespace concur
