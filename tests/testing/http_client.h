// SPDX-License-Identifier: Apache-2.0
// HTTP requests and raw bytes over TCP, to servers on this machine.
#ifndef CONCUR_TESTS_TESTING_HTTP_CLIENT_H_
#define CONCUR_TESTS_TESTING_HTTP_CLIENT_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/file.h"

namespace concur::testing {

// A connection to HOST:PORT; reads time out after 20 s.
inline FileDescriptor ConnectTo(const std::string& address) {
  const size_t colon = address.rfind(':');
  int port = 0;
  CONCUR_CHECK(absl::SimpleAtoi(address.substr(colon + 1), &port));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  CONCUR_CHECK(inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr) == 1);
  FileDescriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience{.tv_sec = 20, .tv_usec = 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  CONCUR_CHECK(connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0);
  return fd;
}

// Sends the bytes and returns all that the server sends before it closes the connection.
inline std::string SendRaw(const std::string& address, const std::string& bytes) {
  const FileDescriptor fd = ConnectTo(address);
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t now = send(fd.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (now <= 0) {
      break;  // refused before the end; there may be a response nevertheless
    }
    sent += static_cast<size_t>(now);
  }
  std::string answer;
  char buffer[65536];
  for (ssize_t got; (got = recv(fd.get(), buffer, sizeof buffer, 0)) > 0;) {
    answer.append(buffer, static_cast<size_t>(got));
  }
  return answer;
}

struct HttpAnswer {
  int status = 0;
  std::string head;
  std::string body;
};

inline HttpAnswer HttpCall(const std::string& address, const std::string& method,
                           const std::string& path) {
  const std::string text =
      SendRaw(address, absl::StrCat(method, " ", path, " HTTP/1.0\r\nHost: test\r\n\r\n"));
  const size_t end = text.find("\r\n\r\n");
  HttpAnswer answer;
  if (end != std::string::npos && text.size() > 12) {
    CONCUR_CHECK(absl::SimpleAtoi(text.substr(9, 3), &answer.status));
    answer.head = text.substr(0, end);
    answer.body = text.substr(end + 4);
  }
  return answer;
}

inline HttpAnswer HttpGet(const std::string& address, const std::string& path) {
  return HttpCall(address, "GET", path);
}

}  // namespace concur::testing

#endif  // CONCUR_TESTS_TESTING_HTTP_CLIENT_H_
