// SPDX-License-Identifier: Apache-2.0
#include "coordinator/ship/ship_status.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/file.h"

namespace concur {
namespace {

constexpr char kShipStatus[] = "/ship.status";
constexpr int64_t kStatusBytes = 42;  // two numbers of 20 digits, a blank and a line feed

}  // namespace

absl::Status WriteShipStatus(const std::string& directory, const ShipStatus& status) {
  const std::string path = directory + kShipStatus;
  const FileDescriptor fd(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) {
    return ErrnoStatus(errno, path, "open");
  }
  const int64_t millis = status.time == absl::InfinitePast() ? 0 : absl::ToUnixMillis(status.time);
  const std::string line = absl::StrFormat("%020d %020d\n", millis, status.bytes_behind);
  return pwrite(fd.get(), line.data(), line.size(), 0) == static_cast<ssize_t>(line.size())
             ? absl::OkStatus()
             : ErrnoStatus(errno, path, "write");
}

std::optional<ShipStatus> ReadShipStatus(const std::string& directory) {
  const absl::StatusOr<std::string> text = ReadFile(directory + kShipStatus, kStatusBytes);
  if (!text.ok() || static_cast<int64_t>(text->size()) != kStatusBytes) {
    return std::nullopt;
  }
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(absl::StripSuffix(*text, "\n"), ' ');
  int64_t millis = 0;
  ShipStatus status;
  if (!absl::SimpleAtoi(parts.first, &millis) ||
      !absl::SimpleAtoi(parts.second, &status.bytes_behind)) {
    return std::nullopt;
  }
  status.time = millis == 0 ? absl::InfinitePast() : absl::FromUnixMillis(millis);
  return status;
}

}  // namespace concur
