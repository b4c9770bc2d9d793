// SPDX-License-Identifier: Apache-2.0
// Bytes that are sent to the server of status pages. Whatever they are, each answer is one of HTTP,
// and the next probe is answered.
#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "base/check.h"
#include "base/metrics/status_server.h"
#include "tests/fuzz/fuzz.h"
#include "tests/testing/http_client.h"

namespace {

const concur::StatusServer& Server() {
  static const std::unique_ptr<concur::StatusServer> server = [] {
    auto started = concur::StatusServer::Start(
        "127.0.0.1:0",
        {[] { return std::string("a_metric 1\n"); }, [] { return absl::OkStatus(); }});
    CONCUR_CHECK_OK(started.status());
    return *std::move(started);
  }();
  return *server;
}

// Sends the bytes, and no more.
std::string Answer(absl::string_view bytes) {
  const concur::FileDescriptor fd = concur::testing::ConnectTo(Server().address());
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t now = send(fd.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (now <= 0) {
      break;
    }
    sent += static_cast<size_t>(now);
  }
  shutdown(fd.get(), SHUT_WR);
  std::string answer;
  char buffer[4096];
  for (ssize_t got = 0; (got = recv(fd.get(), buffer, sizeof buffer, 0)) > 0;) {
    answer.append(buffer, static_cast<size_t>(got));
  }
  return answer;
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string answer = Answer(concur::testing::Text(data, size));
  CONCUR_CHECK(answer.empty() || absl::StartsWith(answer, "HTTP/1."));
  const std::string probe = Answer("GET /healthz HTTP/1.0\r\n\r\n");
  CONCUR_CHECK(absl::StartsWith(probe, "HTTP/1.") && absl::StrContains(probe, " 200 "));
  return 0;
}
