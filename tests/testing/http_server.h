// SPDX-License-Identifier: Apache-2.0
// An HTTP server on an ephemeral port of this machine with one scripted answer per connection,
// which may be faulty.
#ifndef CONCUR_TESTS_TESTING_HTTP_SERVER_H_
#define CONCUR_TESTS_TESTING_HTTP_SERVER_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "base/clock.h"

namespace concur::testing {

struct Answer {
  int status = 200;
  std::string body = {};
  size_t cut_at = std::string::npos;  // position in the body; then the connection is closed
  bool stall = false;                 // sends nothing more instead of closing
  bool honours_range = true;
  std::string content_range = {};  // header of an answer to a range; "": what is sent
  std::string location = {};       // target of a redirect
  std::string headers = {};        // additional ones, each with "\r\n" at the end
  bool drop = false;               // closes the connection before the answer
};

// A clock that only a stalled server moves. Thread-safe.
class StalledClock : public Clock {
 public:
  absl::Time Now() override {
    const std::lock_guard<std::mutex> lock(mu_);
    return now_;
  }
  void Advance(absl::Duration by) {
    const std::lock_guard<std::mutex> lock(mu_);
    now_ += by;
  }

 private:
  std::mutex mu_;
  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
};

// Thread-safe.
class FakeHttpServer {
 public:
  // `on_stall` is called repeatedly while a stalled client waits.
  explicit FakeHttpServer(std::function<void()> on_stall = [] {}) : on_stall_(std::move(on_stall)) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    CONCUR_CHECK(bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0);
    CONCUR_CHECK(listen(listener_, 16) == 0);
    CONCUR_CHECK(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~FakeHttpServer() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  FakeHttpServer(const FakeHttpServer&) = delete;
  FakeHttpServer& operator=(const FakeHttpServer&) = delete;

  std::string Url(const std::string& path) const {
    return absl::StrCat("http://127.0.0.1:", port_, path);
  }
  // The next connections get these answers; later ones get 404.
  void Script(std::vector<Answer> answers) {
    const std::lock_guard<std::mutex> lock(mu_);
    answers_ = std::move(answers);
    next_ = 0;
  }
  // The requests so far, each with its headers and its body.
  std::vector<std::string> requests() const {
    const std::lock_guard<std::mutex> lock(mu_);
    return requests_;
  }

 private:
  void Serve() {
    while (true) {
      const int client = accept(listener_, nullptr, nullptr);
      if (client < 0) {
        return;
      }
      AnswerTo(client);
      close(client);
    }
  }

  void AnswerTo(int client) {
    std::string request;
    char buffer[4096];
    for (size_t whole = std::string::npos; request.size() < whole;) {
      const ssize_t got = recv(client, buffer, sizeof(buffer), 0);
      if (got <= 0) {
        return;
      }
      request.append(buffer, static_cast<size_t>(got));
      if (const size_t end = request.find("\r\n\r\n");
          end != std::string::npos && whole == std::string::npos) {
        whole = end + 4 + BodyBytes(request);
      }
    }
    Answer answer{.status = 404};
    {
      const std::lock_guard<std::mutex> lock(mu_);
      requests_.push_back(request);
      if (next_ < answers_.size()) {
        answer = answers_[next_++];
      }
    }
    if (answer.drop) {
      return;
    }
    size_t from = 0;
    if (const size_t range = request.find("Range: bytes="); range != std::string::npos) {
      int64_t value = 0;
      const std::string text = request.substr(range + 13, request.find('-', range) - range - 13);
      CONCUR_CHECK(absl::SimpleAtoi(text, &value));
      from = answer.honours_range && answer.status == 200 ? static_cast<size_t>(value) : 0;
    }
    Send(client, Head(answer, from));
    if (request.rfind("HEAD ", 0) != 0 && from < answer.body.size()) {
      const size_t end = std::min(answer.cut_at, answer.body.size());
      Send(client, answer.body.substr(from, end > from ? end - from : 0));
    }
    while (answer.stall) {
      pollfd client_gone{.fd = client, .events = POLLIN, .revents = 0};
      if (poll(&client_gone, 1, 2) != 0) {
        return;
      }
      on_stall_();
    }
  }

  // The request's Content-Length.
  static size_t BodyBytes(const std::string& request) {
    const size_t at = request.find("Content-Length: ");
    size_t bytes = 0;
    CONCUR_CHECK(
        at == std::string::npos ||
        absl::SimpleAtoi(request.substr(at + 16, request.find('\r', at) - at - 16), &bytes));
    return bytes;
  }

  static std::string Head(const Answer& answer, size_t from) {
    if (answer.status == 200 && from > 0) {
      if (from >= answer.body.size()) {
        return "HTTP/1.1 416 Range\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
      }
      return absl::StrCat(
          "HTTP/1.1 206 Part\r\nContent-Length: ", answer.body.size() - from, "\r\nContent-Range: ",
          answer.content_range.empty()
              ? absl::StrCat("bytes ", from, "-", answer.body.size() - 1, "/", answer.body.size())
              : answer.content_range,
          "\r\n", answer.headers, "Connection: close\r\n\r\n");
    }
    return absl::StrCat("HTTP/1.1 ", answer.status, " X\r\nContent-Length: ", answer.body.size(),
                        answer.location.empty() ? "" : "\r\nLocation: ", answer.location, "\r\n",
                        answer.headers, "Connection: close\r\n\r\n");
  }
  static void Send(int client, const std::string& bytes) {
    for (size_t sent = 0; sent < bytes.size();) {
      const ssize_t now = send(client, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (now <= 0) {
        return;
      }
      sent += static_cast<size_t>(now);
    }
  }

  const std::function<void()> on_stall_;
  int listener_ = -1;
  uint16_t port_ = 0;
  mutable std::mutex mu_;
  std::vector<Answer> answers_;
  size_t next_ = 0;
  std::vector<std::string> requests_;
  std::thread thread_;
};

}  // namespace concur::testing

#endif  // CONCUR_TESTS_TESTING_HTTP_SERVER_H_
