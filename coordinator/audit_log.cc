// SPDX-License-Identifier: Apache-2.0
#include "coordinator/audit_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace concur {
namespace {

constexpr size_t kTextBytesMax = 500;  // of each value; callers choose some of them
constexpr absl::Duration kComplaintInterval = absl::Minutes(1);

std::string LineOf(const AuditEntry& entry, absl::Time now) {
  nlohmann::ordered_json json;
  json["time"] = absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", now, absl::UTCTimeZone());
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
  add("message", entry.outcome.message());
  return absl::StrCat(json.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace),
                      "\n");
}

}  // namespace

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(Clock& clock, const std::string& directory,
                                                         AuditOptions options) {
  CONCUR_RETURN_IF_ERROR(MakeDirectories(directory, 0700));
  std::unique_ptr<AuditLog> log(new AuditLog(clock, options));
  MutexLock lock(log->mutex_);
  log->calls_.path = directory + "/calls.jsonl";
  log->refused_.path = directory + "/refused.jsonl";
  CONCUR_RETURN_IF_ERROR(OpenFile(&log->calls_));
  CONCUR_RETURN_IF_ERROR(OpenFile(&log->refused_));
  return log;
}

void AuditLog::Write(const AuditEntry& entry) {
  const absl::Time now = clock_.Now();
  const std::string line = LineOf(entry, now);
  MutexLock lock(mutex_);
  const absl::Status status = Append(entry.user.empty() ? &refused_ : &calls_, line);
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
  if (!file->fd.valid() ||
      (file->bytes > 0 && file->bytes + static_cast<int64_t>(line.size()) > options_.bytes_max)) {
    CONCUR_RETURN_IF_ERROR(Rotate(file));
  }
  file->bytes += static_cast<int64_t>(line.size());
  return WriteAll(file->fd.get(), line, file->path);
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

}  // namespace concur
