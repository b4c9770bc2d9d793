// SPDX-License-Identifier: Apache-2.0
#include "cli/client/server_address.h"

#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "rpc/channel.h"

namespace concur::cli {
namespace {

constexpr char kDefaultAddress[] = "127.0.0.1:7447";
constexpr int64_t kAddressBytesMax = 4096;

// "" when it is unset.
std::string Environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets variables
  return value == nullptr ? "" : value;
}

}  // namespace

std::string DefaultDataDirectory() {
  const std::string xdg = Environment("XDG_DATA_HOME");
  if (!xdg.empty() && xdg[0] == '/') {  // the specification says to ignore relative ones
    return xdg + "/concur";
  }
  const std::string home = Environment("HOME");
  return (home.empty() ? std::string(".") : home) + "/.local/share/concur";
}

absl::StatusOr<std::string> ServerAddress(const CommandContext& context) {
  std::string address = context.server;
  if (address.empty()) {
    const absl::StatusOr<std::string> written =
        ReadFile(DefaultDataDirectory() + "/address", kAddressBytesMax);
    address = written.ok() ? std::string(absl::StripAsciiWhitespace(*written)) : kDefaultAddress;
  }
  CONCUR_RETURN_IF_ERROR(rpc::ParseAddress(address).status());
  return address;
}

}  // namespace concur::cli
