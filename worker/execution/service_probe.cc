// SPDX-License-Identifier: Apache-2.0
#include "worker/execution/service_probe.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/file.h"

namespace concur::worker {
namespace {

sockaddr_in LoopbackAt(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

bool HasStatus200(int socket, const std::string& path) {
  const std::string request = absl::StrCat(
      "GET ", path, " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nAccept: */*\r\n\r\n");
  if (send(socket, request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(request.size())) {
    return false;
  }
  constexpr size_t kStatusBytes = sizeof("HTTP/1.1 200") - 1;
  std::string answer;
  std::array<char, 256> buffer;
  const absl::Time end = absl::Now() + kServiceAnswerMax;
  while (answer.size() < kStatusBytes && absl::Now() < end) {
    const ssize_t got = recv(socket, buffer.data(), buffer.size(), 0);
    if (got <= 0) {
      return false;
    }
    answer.append(buffer.data(), static_cast<size_t>(got));
  }
  return answer.size() >= kStatusBytes && absl::StartsWith(answer, "HTTP/1.") &&
         answer.substr(8, 4) == " 200";
}

}  // namespace

absl::StatusOr<uint16_t> FindFreePort() {
  const FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = LoopbackAt(0);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (!socket.valid() || bind(socket.get(), generic, size) != 0 ||
      getsockname(socket.get(), generic, &size) != 0) {
    return ErrnoStatus(errno, "127.0.0.1", "find a free port of");
  }
  return ntohs(address.sin_port);
}

bool ServiceAnswers(uint16_t port, const std::string& socket, const std::string& http_path) {
  const sockaddr_in loopback = LoopbackAt(port);
  sockaddr_un local{};
  static_assert(kSocketBytesMax < sizeof local.sun_path);
  local.sun_family = AF_UNIX;
  socket.copy(local.sun_path, kSocketBytesMax);
  const bool is_local = !socket.empty();
  const FileDescriptor own(::socket(is_local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit = absl::ToTimeval(kServiceAnswerMax);
  const auto* const address = is_local ? reinterpret_cast<const sockaddr*>(&local)
                                       : reinterpret_cast<const sockaddr*>(&loopback);
  if (!own.valid() || setsockopt(own.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0 ||
      setsockopt(own.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0 ||
      connect(own.get(), address, is_local ? sizeof local : sizeof loopback) != 0) {
    return false;
  }
  return http_path.empty() || HasStatus200(own.get(), http_path);
}

}  // namespace concur::worker
