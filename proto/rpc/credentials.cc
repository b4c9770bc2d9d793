// SPDX-License-Identifier: Apache-2.0
#include "proto/rpc/credentials.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace concur::rpc {
namespace {

constexpr int64_t kPemBytesMax = 1 << 20;
constexpr int64_t kTokenBytesMax = 4096;
constexpr int64_t kRecordBytesMax = 32'768;
constexpr std::pair<absl::string_view, std::string CredentialFiles::*> kRecorded[] = {
    {"ca", &CredentialFiles::ca},
    {"certificate", &CredentialFiles::certificate},
    {"key", &CredentialFiles::key}};
constexpr int64_t kSocketsBytesMax = int64_t{64} << 20;
constexpr absl::string_view kListening = "0A";  // TCP_LISTEN in /proc/net/tcp

std::string Environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets variables
  return value == nullptr ? "" : value;
}

std::string PortOf(absl::string_view address) {
  return std::string(address.substr(address.rfind(':') + 1));
}

// "localhost:7447", "127.0.0.1:7447", "0.0.0.0:7447" are one server to a client of its machine.
std::string RecordPath(absl::string_view address) {
  const std::string state = Environment("XDG_STATE_HOME");
  const std::string home = Environment("HOME");
  const std::string name = absl::StartsWith(address, "unix:")
                               ? absl::StrCat("unix-", Sha256Of(address).ToHex().substr(0, 16))
                               : absl::StrCat("port-", PortOf(address));
  return absl::StrCat(
      !state.empty() && state[0] == '/' ? state : absl::StrCat(home, "/.local/state"),
      "/concur/servers/", name);
}

// The user who listens on a TCP port, when the system tells.
std::optional<uid_t> ListenerOf(int port) {
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    const absl::StatusOr<std::string> text = ReadFile(table, kSocketsBytesMax);
    if (!text.ok()) {
      continue;
    }
    for (absl::string_view line : absl::StrSplit(*text, '\n')) {
      // sl local_address rem_address st queues timer retransmits uid …
      const std::vector<absl::string_view> fields = absl::StrSplit(line, ' ', absl::SkipEmpty());
      int local_port = 0;
      uint32_t uid = 0;
      if (fields.size() > 7 && fields[3] == kListening &&
          absl::SimpleHexAtoi(fields[1].substr(fields[1].rfind(':') + 1), &local_port) &&
          local_port == port && absl::SimpleAtoi(fields[7], &uid)) {
        return uid;
      }
    }
  }
  return std::nullopt;
}

// PermissionDenied when another user listens at the address, who could collect the token.
absl::Status CheckServerIsOurs(absl::string_view address) {
  std::optional<uid_t> uid;
  if (absl::StartsWith(address, "unix:")) {
    struct stat info {};
    if (stat(std::string(address.substr(5)).c_str(), &info) == 0) {
      uid = info.st_uid;
    }
  } else {
    int port = 0;
    if (absl::SimpleAtoi(PortOf(address), &port)) {
      uid = ListenerOf(port);
    }
  }
  if (!uid || *uid == geteuid() || *uid == 0) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(absl::StrCat(
      "another user of this machine (uid ", *uid, ") listens at ", address,
      ", where a coordinator of yours did: your token is not shown to it; name a token for it "
      "with --token-file, or your own coordinator with --server"));
}

// A token that others can read is no secret. The group may read one that root provided: that is how
// clusters mount secrets.
absl::StatusOr<std::string> ReadToken(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) {
    return ErrnoStatus(errno, path, "open");
  }
  const mode_t forbidden = info.st_uid == 0 && geteuid() != 0 ? 0027 : 0077;
  if ((info.st_mode & forbidden) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat(path, ": other users may read this token, or change it; \"chmod 600 ", path,
                     "\", and have it replaced if somebody may have seen it"));
  }
  CONCUR_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kTokenBytesMax));
  const absl::string_view token = absl::StripAsciiWhitespace(text);
  for (const char c : token) {
    if (!absl::ascii_isgraph(static_cast<unsigned char>(c))) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": expected one token on one line, got other bytes"));
    }
  }
  if (token.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": expected a token, got an empty file"));
  }
  return std::string(token);
}

absl::Status ReadPem(const std::string& path, std::string* pem) {
  if (path.empty()) {
    return absl::OkStatus();
  }
  CONCUR_ASSIGN_OR_RETURN(*pem, ReadFile(path, kPemBytesMax));
  if (!absl::StrContains(*pem, "-----BEGIN ")) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": expected a PEM file"));
  }
  return absl::OkStatus();
}

// The record of an address: the token's path on the first line, then "ca PATH" and the
// like. nullopt when there is no record, or the coordinator's directory was removed.
std::optional<CredentialFiles> ReadRecord(const std::string& address) {
  const absl::StatusOr<std::string> record = ReadFile(RecordPath(address), kRecordBytesMax);
  if (!record.ok()) {
    return std::nullopt;
  }
  CredentialFiles files;
  const std::vector<std::string> lines = absl::StrSplit(*record, '\n');
  files.token = std::string(absl::StripAsciiWhitespace(lines[0]));
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::pair<std::string, std::string> line =
        absl::StrSplit(lines[i], absl::MaxSplits(' ', 1));
    for (const auto& [name, field] : kRecorded) {
      if (line.first == name) {
        files.*field = line.second;
      }
    }
  }
  return access(files.token.c_str(), F_OK) == 0 ? std::optional(files) : std::nullopt;
}

// The recorded token of credentials->recorded_for, in place of the one found before; nothing
// changes when the record does not name another file.
absl::Status FindRecorded(Credentials* credentials) {
  const std::optional<CredentialFiles> recorded = ReadRecord(credentials->recorded_for);
  if (!recorded || recorded->token == credentials->token_file) {
    return absl::OkStatus();
  }
  CONCUR_RETURN_IF_ERROR(CheckServerIsOurs(credentials->recorded_for));
  CONCUR_ASSIGN_OR_RETURN(credentials->token, ReadToken(recorded->token));
  credentials->token_file = recorded->token;
  return absl::OkStatus();
}

absl::Status ReadPems(const CredentialFiles& files, Credentials* credentials) {
  CONCUR_RETURN_IF_ERROR(ReadPem(files.ca, &credentials->ca));
  CONCUR_RETURN_IF_ERROR(ReadPem(files.certificate, &credentials->certificate));
  credentials->key_file = files.key;
  return ReadPem(files.key, &credentials->key);
}

}  // namespace

std::string Credentials::CurrentToken() const {
  if (!recorded_for.empty()) {
    Credentials found = *this;
    if (FindRecorded(&found).ok() && found.token_file != token_file) {
      return found.token;
    }
  }
  if (token_file.empty()) {
    return token;
  }
  absl::StatusOr<std::string> read = ReadToken(token_file);
  return read.ok() ? *std::move(read) : token;
}

bool IsLocalAddress(absl::string_view address) {
  if (absl::StartsWith(address, "unix:")) {
    return true;
  }
  const absl::string_view host = address.substr(0, address.rfind(':'));
  return host == "localhost" || host == "[::1]" ||
         (absl::StartsWith(host, "127.") &&
          host.find_first_not_of("0123456789.") == absl::string_view::npos);
}

absl::StatusOr<Credentials> LoadCredentials(absl::string_view address,
                                            const CredentialFiles& files) {
  Credentials credentials;
  CONCUR_RETURN_IF_ERROR(ReadPems(files, &credentials));
  if (files.certificate.empty() != files.key.empty() ||
      (files.ca.empty() && !files.certificate.empty())) {
    return absl::InvalidArgumentError(
        "expected --certificate and --key together, and --ca with them");
  }
  if (!files.token.empty()) {
    CONCUR_ASSIGN_OR_RETURN(credentials.token, ReadToken(files.token));
    credentials.token_file = files.token;
  } else if (credentials.token = Environment("CONCUR_TOKEN");
             credentials.token.empty() && IsLocalAddress(address)) {
    credentials.recorded_for = std::string(address);
    CONCUR_RETURN_IF_ERROR(FindRecorded(&credentials));
  }
  if (files.ca.empty() && IsLocalAddress(address)) {
    if (const auto recorded = ReadRecord(std::string(address))) {
      CONCUR_RETURN_IF_ERROR(ReadPems(*recorded, &credentials));
    }
  }
  return credentials;
}

absl::Status RecordServer(absl::string_view address, const CredentialFiles& files) {
  const std::string path = RecordPath(address);
  if (path[0] != '/') {
    return absl::FailedPreconditionError("neither XDG_STATE_HOME nor HOME is set");
  }
  CONCUR_RETURN_IF_ERROR(MakeDirectories(path.substr(0, path.rfind('/')), 0700));
  std::string record = absl::StrCat(files.token, "\n");
  for (const auto& [name, field] : kRecorded) {
    if (!(files.*field).empty()) {
      absl::StrAppend(&record, name, " ", files.*field, "\n");
    }
  }
  return WriteFileAtomically(path, record, 0600);
}

void ForgetServer(absl::string_view address) { unlink(RecordPath(address).c_str()); }

}  // namespace concur::rpc
