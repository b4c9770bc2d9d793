// SPDX-License-Identifier: Apache-2.0
#include "coordinator/access/tokens.h"

#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/file_lock.h"
#include "base/status_macros.h"
#include "core/fields.h"
#include "core/names.h"

namespace concur {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<absl::string_view, 4> kRoleNames = {"viewer", "submitter", "worker", "admin"};
// The prefix lets secret scanners recognize tokens in places where they must not be.
constexpr absl::string_view kTokenPrefix = "concur_";
constexpr size_t kTokenRandomBytes = 32;
constexpr int64_t kTokensBytesMax = int64_t{64} << 20;
constexpr absl::Duration kEndedKept = absl::Hours(24 * 90);

absl::StatusOr<std::string> RandomToken() {
  std::string bytes(kTokenRandomBytes, '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = getrandom(bytes.data() + done, bytes.size() - done, 0);
    if (got < 0 && errno != EINTR) {
      return ErrnoStatus(errno, "getrandom", "read");
    }
    done += got > 0 ? static_cast<size_t>(got) : 0;
  }
  return absl::StrCat(kTokenPrefix, absl::BytesToHexString(bytes));
}

std::string TimeText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E*SZ", time, absl::UTCTimeZone());
}

Json ToJson(const TokenRecord& record) {
  Json json = {{"id", record.id},
               {"user", record.user},
               {"role", RoleName(record.role)},
               {"sha256", record.digest.ToHex()},
               {"create_time", TimeText(record.create_time)}};
  if (record.expire_time != absl::InfiniteFuture()) {
    json["expire_time"] = TimeText(record.expire_time);
  }
  if (record.revoke_time != absl::InfiniteFuture()) {
    json["revoke_time"] = TimeText(record.revoke_time);
  }
  return json;
}

// The text of a field; DataLoss when it is missing or not a string.
absl::StatusOr<std::string> TextOf(const Json& json, const char* field) {
  const auto it = json.find(field);
  if (it == json.end() || !it->is_string()) {
    return absl::DataLossError(absl::StrCat(field, ": expected text"));
  }
  return it->get<std::string>();
}

absl::Status ReadTime(const Json& json, const char* field, absl::Time* time) {
  if (!json.contains(field)) {
    return absl::OkStatus();
  }
  CONCUR_ASSIGN_OR_RETURN(const std::string text, TextOf(json, field));
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, text, time, &error)) {
    return absl::DataLossError(absl::StrCat(field, ": expected a time, got \"", text, "\""));
  }
  return absl::OkStatus();
}

absl::StatusOr<TokenRecord> FromJson(const Json& json) {
  if (!json.is_object()) {
    return absl::DataLossError("expected a record");
  }
  TokenRecord record;
  CONCUR_ASSIGN_OR_RETURN(record.id, TextOf(json, "id"));
  CONCUR_ASSIGN_OR_RETURN(record.user, TextOf(json, "user"));
  CONCUR_ASSIGN_OR_RETURN(const std::string role, TextOf(json, "role"));
  CONCUR_ASSIGN_OR_RETURN(record.role, RoleFromName(role));
  CONCUR_ASSIGN_OR_RETURN(const std::string hex, TextOf(json, "sha256"));
  CONCUR_ASSIGN_OR_RETURN(record.digest, Digest::FromHex(hex));
  CONCUR_RETURN_IF_ERROR(ReadTime(json, "create_time", &record.create_time));
  CONCUR_RETURN_IF_ERROR(ReadTime(json, "expire_time", &record.expire_time));
  CONCUR_RETURN_IF_ERROR(ReadTime(json, "revoke_time", &record.revoke_time));
  return record;
}

// Held while the file is read, changed and replaced.
absl::StatusOr<FileDescriptor> LockTokens(const std::string& data_directory) {
  return LockFile(data_directory + "/tokens.lock");
}

absl::Status SaveTokens(const std::string& data_directory, const std::vector<TokenRecord>& tokens) {
  Json list = Json::array();
  for (const TokenRecord& record : tokens) {
    list.push_back(ToJson(record));
  }
  return WriteFileAtomically(TokensPath(data_directory),
                             absl::StrCat(Json{{"tokens", list}}.dump(1), "\n"), 0600);
}

uint64_t NumberOf(const TokenRecord& record) {
  uint64_t number = 0;
  return absl::SimpleAtoi(
             absl::string_view(record.id).substr(std::min<size_t>(1, record.id.size())), &number)
             ? number
             : 0;
}

// Under the lock.
absl::StatusOr<NewToken> AddToken(const std::string& data_directory, const std::string& user,
                                  Role role, absl::Time expire_time, absl::Time now) {
  CONCUR_ASSIGN_OR_RETURN(std::vector<TokenRecord> tokens, LoadTokens(data_directory));
  uint64_t last = 0;
  for (const TokenRecord& record : tokens) {
    last = std::max(last, NumberOf(record));
  }
  // The newest is kept, so that its number is not reused.
  tokens.erase(std::remove_if(tokens.begin(), tokens.end(),
                              [now, last](const TokenRecord& record) {
                                return std::min(record.expire_time, record.revoke_time) <
                                           now - kEndedKept &&
                                       NumberOf(record) != last;
                              }),
               tokens.end());
  if (tokens.size() >= kTokensMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there are ", tokens.size(), " tokens; revoke some that nobody uses"));
  }
  NewToken made;
  CONCUR_ASSIGN_OR_RETURN(made.token, RandomToken());
  made.record = {absl::StrCat("t", last + 1), user, role, Sha256Of(made.token), now, expire_time};
  tokens.push_back(made.record);
  CONCUR_RETURN_IF_ERROR(SaveTokens(data_directory, tokens));
  return made;
}

}  // namespace

absl::string_view RoleName(Role role) { return NameIn(kRoleNames, role); }

absl::StatusOr<Role> RoleFromName(absl::string_view name) {
  return FromNameIn<Role>(kRoleNames, "role", name);
}

bool RoleSuffices(Role role, Role least) {
  if (role == Role::kAdmin || role == least) {
    return true;
  }
  return role == Role::kSubmitter && least == Role::kViewer;
}

absl::string_view TokenRecord::StateAt(absl::Time now) const {
  return now >= revoke_time ? "revoked" : now >= expire_time ? "expired" : "live";
}

std::string TokensPath(const std::string& data_directory) {
  return data_directory + "/tokens.json";
}

std::string LocalTokenPath(const std::string& data_directory) { return data_directory + "/token"; }

absl::StatusOr<std::vector<TokenRecord>> LoadTokens(const std::string& data_directory) {
  const std::string path = TokensPath(data_directory);
  const absl::StatusOr<std::string> text = ReadFile(path, kTokensBytesMax);
  if (absl::IsNotFound(text.status())) {
    return std::vector<TokenRecord>();
  }
  if (!text.ok()) {
    return text.status();
  }
  const Json json = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  const auto list = json.is_object() ? json.find("tokens") : json.end();
  if (!json.is_object() || list == json.end() || !list->is_array()) {
    return absl::DataLossError(absl::StrCat(path, ": expected JSON {\"tokens\": […]}"));
  }
  std::vector<TokenRecord> tokens;
  for (const Json& item : *list) {
    absl::StatusOr<TokenRecord> record = FromJson(item);
    if (!record.ok()) {
      return absl::DataLossError(
          absl::StrCat(path, ": tokens[", tokens.size(), "]: ", record.status().message()));
    }
    tokens.push_back(*std::move(record));
  }
  return tokens;
}

absl::StatusOr<NewToken> CreateToken(const std::string& data_directory, const std::string& user,
                                     Role role, absl::Time expire_time, absl::Time now) {
  CONCUR_RETURN_IF_ERROR(CheckName(FieldPath("user"), user));
  if (expire_time <= now) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a time of expiry in the future, got ", TimeText(expire_time)));
  }
  CONCUR_ASSIGN_OR_RETURN(const FileDescriptor lock, LockTokens(data_directory));
  return AddToken(data_directory, user, role, expire_time, now);
}

absl::StatusOr<TokenRecord> RevokeToken(const std::string& data_directory, absl::string_view id,
                                        absl::Time now) {
  CONCUR_ASSIGN_OR_RETURN(const FileDescriptor lock, LockTokens(data_directory));
  CONCUR_ASSIGN_OR_RETURN(std::vector<TokenRecord> tokens, LoadTokens(data_directory));
  const auto found = std::find_if(tokens.begin(), tokens.end(),
                                  [id](const TokenRecord& record) { return record.id == id; });
  if (found == tokens.end()) {
    return absl::NotFoundError(
        absl::StrCat("no token ", Quoted(id), " in ", TokensPath(data_directory)));
  }
  if (found->revoke_time > now) {
    found->revoke_time = now;
    CONCUR_RETURN_IF_ERROR(SaveTokens(data_directory, tokens));
  }
  return *found;
}

namespace {

// The live token in the file at `path`, created there when there is none.
absl::StatusOr<std::string> EnsureTokenFile(const std::string& data_directory,
                                            const std::string& path, const std::string& user,
                                            Role role, absl::Time now) {
  CONCUR_ASSIGN_OR_RETURN(const FileDescriptor lock, LockTokens(data_directory));
  CONCUR_ASSIGN_OR_RETURN(const std::vector<TokenRecord> tokens, LoadTokens(data_directory));
  const absl::StatusOr<std::string> text = ReadFile(path, 4096);
  if (text.ok()) {
    const absl::string_view token = absl::StripAsciiWhitespace(*text);
    const Digest digest = Sha256Of(token);
    for (const TokenRecord& record : tokens) {
      if (record.digest == digest && record.StateAt(now) == "live" && record.user == user &&
          record.role == role) {
        // A copy or a restore may have widened who can read it.
        if (chmod(path.c_str(), 0600) != 0) {
          return ErrnoStatus(errno, path, "chmod");
        }
        return std::string(token);
      }
    }
  } else if (!absl::IsNotFound(text.status())) {
    return text.status();
  }
  CONCUR_ASSIGN_OR_RETURN(const NewToken made,
                          AddToken(data_directory, user, role, absl::InfiniteFuture(), now));
  CONCUR_RETURN_IF_ERROR(WriteFileAtomically(path, absl::StrCat(made.token, "\n"), 0600));
  return made.token;
}

}  // namespace

absl::Status EnsureLocalToken(const std::string& data_directory, const std::string& user,
                              absl::Time now) {
  return EnsureTokenFile(data_directory, LocalTokenPath(data_directory), user, Role::kAdmin, now)
      .status();
}

absl::StatusOr<std::string> EnsurePilotToken(const std::string& data_directory, absl::Time now) {
  return EnsureTokenFile(data_directory, absl::StrCat(data_directory, "/pilot-token"), "pilots",
                         Role::kWorker, now);
}

}  // namespace concur
