// SPDX-License-Identifier: Apache-2.0
#include "coordinator/access/audit_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace concur {
namespace {

constexpr size_t kTextBytesMax = 500;  // limit for each value; callers choose some of them
constexpr absl::Duration kComplaintInterval = absl::Minutes(1);
constexpr int64_t kAuditPieceBytes = int64_t{256} << 10;  // holds many lines
constexpr absl::Duration kFoldInterval = absl::Minutes(1);
constexpr size_t kFoldsMax = 1000;

// True for a call that was refused before it changed anything. Others may have had an effect.
bool IsRefusal(const absl::Status& outcome) {
  switch (outcome.code()) {
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnimplemented:
      return true;
    default:
      return false;
  }
}

// The peer without its port.
std::string FoldKey(const AuditEntry& entry) {
  return absl::StrCat(entry.user, "\n", entry.token, "\n",
                      entry.peer.substr(0, entry.peer.rfind(':')), "\n", entry.method, "\n",
                      entry.outcome.raw_code());
}

std::string LineOf(const AuditEntry& entry, absl::Time time, int64_t more) {
  nlohmann::ordered_json json;
  json["time"] = absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
  const auto add = [&json](const char* name, absl::string_view value) {
    if (!value.empty()) {
      json[name] = std::string(value.substr(0, kTextBytesMax));
    }
  };
  add("user", entry.user);
  add("token", entry.token);
  add("certificate", entry.certificate);
  add("peer", entry.peer);
  add("method", entry.method);
  add("target", entry.target);
  json["outcome"] = absl::AsciiStrToLower(absl::StatusCodeToString(entry.outcome.code()));
  if (more > 0) {
    json["calls"] = more;
  }
  add("message", entry.outcome.message());
  return absl::StrCat(json.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace),
                      "\n");
}

// `begin` says where the line is, for a person who looks at a damaged one.
AuditRecord RecordOf(absl::string_view line, int64_t begin) {
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  AuditRecord record;
  const auto text = [&json](const char* name) {
    const auto found = json.is_object() ? json.find(name) : json.end();
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (!absl::ParseTime(absl::RFC3339_full, text("time"), &record.time, nullptr)) {
    record.time = absl::InfinitePast();
    record.outcome = "unreadable";
    record.message = absl::StrCat("a damaged line at byte ", begin, " of its file");
    return record;
  }
  record.user = text("user");
  record.token = text("token");
  record.certificate = text("certificate");
  record.peer = text("peer");
  record.method = text("method");
  record.target = text("target");
  record.outcome = text("outcome");
  record.message = text("message");
  if (const auto calls = json.find("calls"); calls != json.end() && calls->is_number_integer()) {
    record.message =
        absl::StrCat("the last of ", calls->get<int64_t>(), " more such calls; ", record.message);
  }
  return record;
}

bool IsWanted(const AuditRecord& record, const AuditFilter& filter) {
  const auto fits = [](const std::string& wanted, const std::string& value) {
    return wanted.empty() || wanted == value;
  };
  // "s12, all jobs" and "s12/3" are calls on s12, too.
  const auto concerns = [](const std::string& wanted, absl::string_view target) {
    return absl::ConsumePrefix(&target, wanted) &&
           (wanted.empty() || target.empty() || target[0] == '/' || absl::StartsWith(target, ", "));
  };
  return fits(filter.user, record.user) && fits(filter.method, record.method) &&
         concerns(filter.target, record.target);
}

// Where a page goes on: before byte `end` of the file with this inode. Rotation renames files, so
// that their names say nothing.
struct AuditPlace {
  uint64_t inode = 0;
  int64_t end = 0;

  std::string ToToken() const { return absl::StrCat(inode, "-", end); }
};

absl::StatusOr<AuditPlace> PlaceOf(const std::string& token) {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(token, '-');
  AuditPlace place;
  if (!absl::SimpleAtoi(parts.first, &place.inode) || !absl::SimpleAtoi(parts.second, &place.end) ||
      place.end < 0 || place.ToToken() != token) {
    return absl::InvalidArgumentError(absl::StrCat(
        "page_token: expected one that an earlier page gave, got \"", token.substr(0, 100), "\""));
  }
  return place;
}

// `bytes` bytes from `begin` on.
absl::StatusOr<std::string> ReadPart(int fd, int64_t begin, int64_t bytes) {
  std::string part(static_cast<size_t>(bytes), '\0');
  size_t done = 0;
  while (done < part.size()) {
    const ssize_t got =
        pread(fd, &part[done], part.size() - done, begin + static_cast<int64_t>(done));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return ErrnoStatus(got < 0 ? errno : EIO, "the audit log", "read");
    }
    done += static_cast<size_t>(got);
  }
  return part;
}

// Adds the lines that end at or before `end`, newest first, until the page is full or `budget`
// bytes were read, which it lowers. Returns where the next page goes on in this file; 0: it is
// done.
absl::StatusOr<int64_t> ReadBackwards(int fd, int64_t end, const AuditFilter& filter,
                                      size_t count_max, int64_t* budget, AuditPage* page) {
  while (end > 0 && *budget > 0 && page->records.size() < count_max) {
    const int64_t begin = std::max<int64_t>(0, end - kAuditPieceBytes);
    CONCUR_ASSIGN_OR_RETURN(const std::string part, ReadPart(fd, begin, end - begin));
    *budget -= end - begin;
    absl::string_view left = part;
    bool found = false;
    while (!left.empty() && page->records.size() < count_max) {
      const size_t feed = left.substr(0, left.size() - 1).rfind('\n');
      if (feed == absl::string_view::npos && begin > 0 && found) {
        break;  // the rest of this line is before this piece
      }
      const size_t from = feed == absl::string_view::npos ? 0 : feed + 1;
      const absl::string_view line = absl::StripTrailingAsciiWhitespace(left.substr(from));
      AuditRecord record = RecordOf(line, begin + static_cast<int64_t>(from));
      if (!line.empty() && IsWanted(record, filter)) {
        page->records.push_back(std::move(record));
      }
      left = left.substr(0, from);
      found = true;
    }
    end = begin + static_cast<int64_t>(left.size());
  }
  return end;
}

}  // namespace

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(Clock& clock, const std::string& directory,
                                                         AuditOptions options) {
  CONCUR_RETURN_IF_ERROR(MakeDirectories(directory, 0700));
  std::unique_ptr<AuditLog> log(new AuditLog(clock, directory, options));
  MutexLock lock(log->mutex_);
  log->calls_.path = log->calls_path_;
  log->failed_.path = log->failed_path_;
  log->refused_.path = log->refused_path_;
  for (File* file : {&log->calls_, &log->failed_, &log->refused_}) {
    CONCUR_RETURN_IF_ERROR(OpenFile(file));
  }
  return log;
}

AuditLog::~AuditLog() {
  MutexLock lock(mutex_);
  for (File* file : {&failed_, &refused_}) {
    WriteFolds(file, absl::InfiniteFuture());
  }
}

void AuditLog::Write(const AuditEntry& entry) {
  const absl::Time now = clock_.Now();
  MutexLock lock(mutex_);
  const bool is_stranger = entry.user.empty();
  const bool is_refusal = IsRefusal(entry.outcome);
  File* file = is_stranger ? &refused_ : &failed_;
  if ((is_stranger || !entry.outcome.ok()) && !(is_refusal && IsFolded(file, entry, now))) {
    WriteLine(file, entry, now, 0);
  }
  if (!is_stranger && !is_refusal) {
    WriteLine(&calls_, entry, now, 0);
  }
}

bool AuditLog::IsFolded(File* file, const AuditEntry& entry, absl::Time now) {
  if (now >= next_folds_) {
    next_folds_ = now + kFoldInterval / 2;
    for (File* each : {&failed_, &refused_}) {
      WriteFolds(each, now - kFoldInterval);
    }
  }
  const std::string key = FoldKey(entry);
  auto it = file->folds.find(key);
  const bool is_beyond = it == file->folds.end();
  if (is_beyond && file->folds.size() < kFoldsMax) {
    file->folds[key] = {now, entry, now, 0};
    return false;
  }
  if (is_beyond) {  // one number for all of them, of nobody in particular
    it = file->folds.try_emplace("", Fold{now, entry, now, 0}).first;
  }
  Fold& fold = it->second;
  fold.last = entry;
  if (is_beyond) {
    fold.last = {};
    fold.last.outcome = absl::Status(entry.outcome.code(), "of callers beyond those told apart");
  }
  fold.last_time = now;
  ++fold.more;
  return true;
}

void AuditLog::WriteFolds(File* file, absl::Time begin_max) {
  for (auto it = file->folds.begin(); it != file->folds.end();) {
    Fold& fold = it->second;
    if (fold.begin > begin_max) {
      ++it;
      continue;
    }
    if (fold.more > 0) {
      WriteLine(file, fold.last, fold.last_time, fold.more);
    }
    it = file->folds.erase(it);
  }
}

void AuditLog::WriteLine(File* file, const AuditEntry& entry, absl::Time time, int64_t more) {
  const absl::Status status = Append(file, LineOf(entry, time, more));
  const absl::Time now = clock_.Now();
  if (!status.ok() && now >= next_complaint_) {
    next_complaint_ = now + kComplaintInterval;
    LogError("the audit log has a gap", {{"error", std::string(status.message())}});
  }
}

absl::Status AuditLog::OpenFile(File* file) {
  file->fd = FileDescriptor(
      open(file->path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  struct stat info {};
  if (!file->fd.valid() || fstat(file->fd.get(), &info) != 0) {
    return ErrnoStatus(errno, file->path, "open");
  }
  file->bytes = info.st_size;
  return absl::OkStatus();
}

absl::Status AuditLog::Append(File* file, const std::string& line) {
  if (!file->fd.valid()) {  // could not be opened last time
    CONCUR_RETURN_IF_ERROR(OpenFile(file));
  }
  if (file->bytes > 0 && file->bytes + static_cast<int64_t>(line.size()) > options_.bytes_max) {
    CONCUR_RETURN_IF_ERROR(Rotate(file));
  }
  absl::Status written = WriteAll(file->fd.get(), line, file->path);
  if (!written.ok()) {
    // Half a line would spoil the next one.
    if (ftruncate(file->fd.get(), file->bytes) != 0) {
      file->fd.Reset();
    }
    return written;
  }
  file->bytes += static_cast<int64_t>(line.size());
  return absl::OkStatus();
}

absl::Status AuditLog::Rotate(File* file) {
  file->fd.Reset();
  for (int i = options_.files_max; i > 0; --i) {
    const std::string from = i == 1 ? file->path : absl::StrCat(file->path, ".", i - 1);
    if (rename(from.c_str(), absl::StrCat(file->path, ".", i).c_str()) != 0 && errno != ENOENT) {
      return ErrnoStatus(errno, from, "rename");
    }
  }
  return OpenFile(file);
}

absl::StatusOr<std::vector<AuditLog::Readable>> AuditLog::OpenAll(const AuditFilter& filter) {
  std::vector<std::string> names = {filter.strangers     ? refused_path_
                                    : filter.failed_only ? failed_path_
                                                         : calls_path_};
  for (int i = 1; i <= options_.files_max; ++i) {
    names.push_back(absl::StrCat(names[0], ".", i));
  }
  MutexLock lock(mutex_);  // no file is renamed or written meanwhile
  std::vector<Readable> files;
  for (const std::string& name : names) {
    Readable file;
    file.fd = FileDescriptor(open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file.fd.valid() && errno == ENOENT) {
      continue;
    }
    struct stat info {};
    if (!file.fd.valid() || fstat(file.fd.get(), &info) != 0) {
      return ErrnoStatus(errno, name, "open");
    }
    file.inode = info.st_ino;
    file.bytes = info.st_size;
    files.push_back(std::move(file));
  }
  return files;
}

absl::StatusOr<AuditPage> AuditLog::Read(const AuditFilter& filter, const std::string& page_token,
                                         size_t count_max) {
  if (page_token.empty()) {
    MutexLock lock(mutex_);
    for (File* file : {&failed_, &refused_}) {
      for (auto& [key, fold] : file->folds) {
        if (fold.more > 0) {
          WriteLine(file, fold.last, fold.last_time, std::exchange(fold.more, 0));
        }
      }
    }
  }
  std::optional<AuditPlace> place;  // the first of the files that is read; none: the newest
  if (!page_token.empty()) {
    CONCUR_ASSIGN_OR_RETURN(place, PlaceOf(page_token));
  }
  CONCUR_ASSIGN_OR_RETURN(const std::vector<Readable> files, OpenAll(filter));
  AuditPage page;
  int64_t budget = kReadBytesMax;
  for (const Readable& file : files) {
    if (place && place->inode != file.inode) {
      continue;
    }
    int64_t end = place ? std::min(place->end, file.bytes) : file.bytes;
    place.reset();
    if (budget > 0 && page.records.size() < count_max) {
      CONCUR_ASSIGN_OR_RETURN(end,
                              ReadBackwards(file.fd.get(), end, filter, count_max, &budget, &page));
    }
    if (end > 0) {
      page.next_page_token = AuditPlace{file.inode, end}.ToToken();
      break;
    }
  }
  return page;
}

}  // namespace concur
