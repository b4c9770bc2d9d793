// SPDX-License-Identifier: Apache-2.0
#include "base/http/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace concur::http {
namespace {

constexpr int kBacklog = 512;

}  // namespace

std::string Endpoint::ToString() const {
  return absl::StrContains(host, ':') ? absl::StrCat("[", host, "]:", port)
                                      : absl::StrCat(host, ":", port);
}

bool Endpoint::IsLoopback() const {
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) {
    return (ntohl(v4.s_addr) >> 24) == 127;
  }
  in6_addr v6{};
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

absl::StatusOr<Endpoint> ParseEndpoint(absl::string_view what, const std::string& text) {
  const size_t colon = text.rfind(':');
  Endpoint endpoint;
  if (colon != std::string::npos) {
    endpoint.host = text.substr(0, colon);
    if (absl::StartsWith(endpoint.host, "[") && absl::EndsWith(endpoint.host, "]")) {
      endpoint.host = endpoint.host.substr(1, endpoint.host.size() - 2);
    } else if (endpoint.host == "localhost") {
      endpoint.host = "127.0.0.1";
    }
    std::array<unsigned char, sizeof(in6_addr)> bytes{};
    const bool is_address = inet_pton(AF_INET, endpoint.host.c_str(), bytes.data()) == 1 ||
                            inet_pton(AF_INET6, endpoint.host.c_str(), bytes.data()) == 1;
    const std::string port = text.substr(colon + 1);
    const bool is_number = port.find_first_not_of("0123456789") == std::string::npos;
    if (is_address && is_number && absl::SimpleAtoi(port, &endpoint.port) &&
        endpoint.port <= 65535) {
      return endpoint;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": expected HOST:PORT with a numeric host, such as 127.0.0.1:9464, got \"",
                   text, "\""));
}

absl::StatusOr<Listener> Listen(const Endpoint& endpoint) {
  sockaddr_storage storage{};
  socklen_t size = 0;
  auto* any = reinterpret_cast<sockaddr*>(&storage);  // NOLINT: as the system call wants it
  const bool is_v6 = absl::StrContains(endpoint.host, ':');
  bool is_address = false;
  if (is_v6) {
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage);  // NOLINT
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(static_cast<uint16_t>(endpoint.port));
    is_address = inet_pton(AF_INET6, endpoint.host.c_str(), &v6->sin6_addr) == 1;
    size = sizeof *v6;
  } else {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&storage);  // NOLINT
    v4->sin_family = AF_INET;
    v4->sin_port = htons(static_cast<uint16_t>(endpoint.port));
    is_address = inet_pton(AF_INET, endpoint.host.c_str(), &v4->sin_addr) == 1;
    size = sizeof *v4;
  }
  if (!is_address) {  // else it would listen on every address
    return absl::InvalidArgumentError(absl::StrCat(
        endpoint.ToString(), ": expected an IP address without an interface (\"%eth0\")"));
  }
  FileDescriptor fd(
      socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  const int off = 0;
  if (!fd.valid() || setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      (is_v6 && setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) != 0) ||
      bind(fd.get(), any, size) != 0 || listen(fd.get(), kBacklog) != 0 ||
      getsockname(fd.get(), any, &size) != 0) {
    return ErrnoStatus(errno, endpoint.ToString(), "listen");
  }
  Listener listener;
  listener.socket = std::move(fd);
  listener.endpoint = endpoint;
  listener.endpoint.port =
      is_v6 ? ntohs(reinterpret_cast<sockaddr_in6*>(&storage)->sin6_port)  // NOLINT
            : ntohs(reinterpret_cast<sockaddr_in*>(&storage)->sin_port);   // NOLINT
  return listener;
}

}  // namespace concur::http
