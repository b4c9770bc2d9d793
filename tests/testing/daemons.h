// SPDX-License-Identifier: Apache-2.0
// Helpers for tests that start an engine's daemons: ports for them, and what they have started.
#ifndef CONCUR_TESTS_TESTING_DAEMONS_H_
#define CONCUR_TESTS_TESTING_DAEMONS_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "base/file.h"

namespace concur::testing {

// A port that nobody listens on now.
inline int FreePort() {
  const FileDescriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  CONCUR_CHECK(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
  CONCUR_CHECK(getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  return ntohs(address.sin_port);
}

// Every process in whose environment all of these "NAME=VALUE" stand.
inline std::vector<pid_t> ProcessesWith(const std::set<std::string>& variables) {
  std::vector<pid_t> pids;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &pid)) {
      continue;
    }
    const absl::StatusOr<std::string> environment = ReadFile(entry.path().string() + "/environ");
    std::set<std::string> found;
    for (const absl::string_view variable : absl::StrSplit(environment.value_or(""), '\0')) {
      if (variables.contains(std::string(variable))) {
        found.insert(std::string(variable));
      }
    }
    if (found == variables) {
      pids.push_back(pid);
    }
  }
  return pids;
}

}  // namespace concur::testing

#endif  // CONCUR_TESTS_TESTING_DAEMONS_H_
