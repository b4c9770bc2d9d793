// SPDX-License-Identifier: Apache-2.0
#include "cli/client/server_address.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/data_directory.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "proto/rpc/channel.h"

namespace concur::cli {
namespace {

constexpr char kDefaultAddress[] = "127.0.0.1:7447";
constexpr int64_t kAddressBytesMax = 4096;

std::string AddressPath() { return DefaultDataDirectory() + "/address"; }

// True if a "concur up" runs on the default data directory.
bool UpRuns() {
  const std::string path = absl::StrCat(DefaultDataDirectory(), "/", kUpLockFile);
  const FileDescriptor lock(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return lock.valid() && flock(lock.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace

absl::StatusOr<std::string> ReadPageLink(const std::string& data_directory) {
  const absl::StatusOr<std::string> link = ReadFile(data_directory + "/page", kAddressBytesMax);
  if (absl::IsNotFound(link.status())) {
    return absl::FailedPreconditionError(
        absl::StrCat(data_directory,
                     ": no coordinator of this directory serves a page; name another directory by "
                     "--data-dir, or start one: \"concur up\", or concur-coordinator with "
                     "--page-listen 127.0.0.1:7449"));
  }
  CONCUR_RETURN_IF_ERROR(link.status());
  return std::string(absl::StripAsciiWhitespace(*link));
}

absl::StatusOr<std::string> AwaitServerAddress(CommandContext& context, absl::Duration wait_max) {
  if (!context.server.empty()) {
    return ServerAddress(context);
  }
  const std::string path = AddressPath();
  const absl::Time end = absl::Now() + wait_max;
  while (!ReadFile(path, kAddressBytesMax).ok()) {
    if (!UpRuns()) {
      break;
    }
    if (absl::Now() >= end) {
      return absl::UnavailableError(
          absl::StrCat("\"concur up\" runs on ", DefaultDataDirectory(),
                       " and its coordinator has no address in ", path,
                       ": it is starting or ending; try again, or name another one with --server"));
    }
    absl::SleepFor(absl::Milliseconds(50));
  }
  return ServerAddress(context);
}

absl::StatusOr<std::string> ServerAddress(const CommandContext& context) {
  std::string address = context.server;
  if (address.empty()) {
    const absl::StatusOr<std::string> written = ReadFile(AddressPath(), kAddressBytesMax);
    address = written.ok() ? std::string(absl::StripAsciiWhitespace(*written)) : kDefaultAddress;
  }
  CONCUR_RETURN_IF_ERROR(rpc::ParseAddresses(address).status());
  return address;
}

}  // namespace concur::cli
