// SPDX-License-Identifier: Apache-2.0
#include "store/artifacts/s3_credentials.h"

#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace concur::s3 {
namespace {

constexpr int64_t kFileBytesMax = int64_t{64} * 1024;

}  // namespace

absl::StatusOr<Credentials> ParseCredentials(absl::string_view text) {
  Credentials credentials;
  bool is_default = false;
  int number = 0;
  for (const absl::string_view whole : absl::StrSplit(text, '\n')) {
    ++number;
    const absl::string_view line = absl::StripAsciiWhitespace(whole);
    if (line.empty() || line.front() == '#' || line.front() == ';') {
      continue;
    }
    if (line.front() == '[') {
      is_default = line == "[default]";
      continue;
    }
    const size_t equals = line.find('=');
    if (equals == line.npos) {
      // Not the line itself: it may be a secret.
      return absl::InvalidArgumentError(
          absl::StrCat(number, ": expected [SECTION] or NAME = VALUE"));
    }
    const absl::string_view name = absl::StripAsciiWhitespace(line.substr(0, equals));
    const absl::string_view value = absl::StripAsciiWhitespace(line.substr(equals + 1));
    std::string* const field = !is_default                       ? nullptr
                               : name == "aws_access_key_id"     ? &credentials.access_key
                               : name == "aws_secret_access_key" ? &credentials.secret_key
                               : name == "aws_session_token"     ? &credentials.session_token
                                                                 : nullptr;
    if (field != nullptr) {
      *field = std::string(value);
    }
  }
  if (credentials.access_key.empty() || credentials.secret_key.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(number, ": expected aws_access_key_id and aws_secret_access_key in a section ",
                     "[default]"));
  }
  return credentials;
}

CredentialsSource::CredentialsSource(std::string file, Credentials given)
    : file_(std::move(file)), current_(std::move(given)) {}

std::string CredentialsSource::origin() const {
  return file_.empty() ? "the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)" : file_;
}

absl::StatusOr<Credentials> CredentialsSource::Current() {
  MutexLock lock(mu_);
  if (file_.empty()) {
    return current_;
  }
  struct stat info {};
  if (stat(file_.c_str(), &info) != 0) {
    return ErrnoStatus(errno, file_, "open");
  }
  if ((info.st_mode & 077) != 0) {
    return absl::FailedPreconditionError(
        absl::StrFormat("%s: others may read these credentials (mode %04o); chmod 600 it", file_,
                        static_cast<unsigned>(info.st_mode & 07777)));
  }
  std::string stamp = absl::StrCat(info.st_dev, " ", info.st_ino, " ", info.st_mtim.tv_sec, " ",
                                   info.st_mtim.tv_nsec, " ", info.st_size);
  if (stamp != stamp_) {
    CONCUR_ASSIGN_OR_RETURN(const std::string text, ReadFile(file_, kFileBytesMax));
    absl::StatusOr<Credentials> parsed = ParseCredentials(text);
    if (!parsed.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(file_, ":", parsed.status().message()));
    }
    current_ = *std::move(parsed);
    stamp_ = std::move(stamp);
  }
  return current_;
}

}  // namespace concur::s3
