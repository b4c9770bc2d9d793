// SPDX-License-Identifier: Apache-2.0
// The page's HTTP server: its limits, and viewers who read slowly or not at all.
#include "base/http/http_server.h"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "base/mutex.h"
#include "tests/testing/http_client.h"
#include "tests/testing/test.h"

namespace concur::http {
namespace {

using ::concur::testing::ConnectTo;
using ::concur::testing::SendRaw;

class HttpServerTest : public ::testing::Test {
 protected:
  void Start(const HttpLimits& limits, HttpServer::Handler handler) {
    absl::StatusOr<http::Listener> listener =
        http::Listen(http::ParseEndpoint("test", "127.0.0.1:0").value());
    ASSERT_OK(listener);
    address_ = listener->endpoint.ToString();
    absl::StatusOr<std::unique_ptr<HttpServer>> server =
        HttpServer::Start(*std::move(listener), limits, std::move(handler));
    ASSERT_OK(server);
    server_ = *std::move(server);
  }
  std::string Get(const std::string& path) {
    return SendRaw(address_,
                   absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  }
  std::string Post(const std::string& body) {
    return SendRaw(
        address_,
        absl::StrCat("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ",
                     body.size(), "\r\n\r\n", body));
  }

  std::string address_;
  std::unique_ptr<HttpServer> server_;
};

void Echo(const std::shared_ptr<HttpExchange>& exchange) {
  const HttpRequest& request = exchange->request();
  std::string body = absl::StrCat(request.method, " ", request.path, " ", request.body);
  for (const auto& [name, value] : request.query) {
    absl::StrAppend(&body, " [", name, "=", value, "]");
  }
  exchange->Answer({200, "text/plain", body});
}

TEST_F(HttpServerTest, ARequestReachesItsHandlerWhole) {
  Start({}, Echo);
  EXPECT_THAT(Get("/a%20b?x=1&y=%26%3d&x=2"), EndsWith("GET /a b  [x=1] [y=&=] [x=2]"));
  EXPECT_THAT(Post("{\"a\": 1}"), EndsWith("POST / {\"a\": 1}"));
}

TEST_F(HttpServerTest, AQueryOfTooManyFieldsIsRefused) {
  Start({}, Echo);
  std::string query = "/?a=1";
  for (int i = 1; i < 64; ++i) {
    absl::StrAppend(&query, "&a=", i + 1);
  }
  EXPECT_THAT(Get(query), EndsWith(" [a=64]"));
  EXPECT_THAT(Get(query + "&a=65"), StartsWith("HTTP/1.1 400"));
}

TEST_F(HttpServerTest, ABodyAboveTheLimitIsRefusedUnread) {
  HttpLimits limits;
  limits.body_bytes_max = 100;
  std::atomic<int> calls = 0;
  Start(limits, [&calls](const std::shared_ptr<HttpExchange>& exchange) {
    ++calls;
    Echo(exchange);
  });
  EXPECT_THAT(Post(std::string(100, 'x')), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Post(std::string(101, 'x')), StartsWith("HTTP/1.1 413"));
  // Announced by nothing.
  EXPECT_THAT(SendRaw(address_, absl::StrCat("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                                             "Transfer-Encoding: chunked\r\n\r\nff\r\n",
                                             std::string(255, 'x'), "\r\n0\r\n\r\n")),
              HasSubstr(" 413 "));
  EXPECT_EQ(calls, 1);
}

TEST_F(HttpServerTest, HostileRequestsAreSurvived) {
  HttpLimits limits;
  limits.idle_max = absl::Seconds(1);  // some are waited for to go on
  Start(limits, Echo);
  for (const std::string& hostile :
       {std::string("\r\n\r\n"), std::string("\0\0\0\r\n\r\n", 7), std::string("GET\r\n\r\n"),
        std::string("GET / HTTP/9.9\r\n\r\n"),
        std::string("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n"),
        std::string("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n"),
        absl::StrCat("GET /", std::string(100'000, 'a'), " HTTP/1.1\r\nHost: x\r\n\r\n"),
        absl::StrCat("GET / HTTP/1.1\r\nHost: ", std::string(100'000, 'a'), "\r\n\r\n"),
        absl::StrCat("GET /?", std::string(10'000, '&'), " HTTP/1.1\r\nHost: x\r\n",
                     "Connection: close\r\n\r\n")}) {
    SendRaw(address_, hostile + "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  }
  EXPECT_THAT(Get("/still"), EndsWith("GET /still "));
}

// Sends `text` and then a byte now and then, until the server closes.
absl::Duration TimeUntilClosed(const std::string& address, const std::string& text) {
  const absl::Time start = absl::Now();
  const FileDescriptor client = ConnectTo(address);
  send(client.get(), text.data(), text.size(), MSG_NOSIGNAL);
  char answer[4096];
  for (pollfd readable{client.get(), POLLIN, 0};;) {
    if (poll(&readable, 1, 50) == 0) {
      send(client.get(), "a", 1, MSG_NOSIGNAL);
    } else if (recv(client.get(), answer, sizeof answer, 0) <= 0) {
      break;
    }
  }
  return absl::Now() - start;
}

// 520 connections of that kind kept everybody from the page.
TEST_F(HttpServerTest, AByteNowAndThenHoldsNoConnection) {
  HttpLimits limits;
  limits.idle_max = absl::Seconds(1);
  Start(limits, Echo);
  EXPECT_GE(TimeUntilClosed(address_, "GET /slow"), absl::Seconds(1));
  EXPECT_GE(TimeUntilClosed(address_, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"),
            absl::Seconds(4));
  // Between two requests of one connection too.
  EXPECT_GE(TimeUntilClosed(address_, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"), absl::Seconds(1));
}

// Whoever read a byte now and then held a connection for ever, too.
TEST_F(HttpServerTest, AnAnswerThatIsReadSlowlyIsGivenUpInTime) {
  HttpLimits limits;
  limits.idle_max = absl::Seconds(1);
  limits.answer_rate_min = int64_t{1} << 30;
  Start(limits, [](const std::shared_ptr<HttpExchange>& exchange) {
    exchange->Answer({200, "text/plain", std::string(size_t{64} << 20, 'x')});
  });
  const absl::Time start = absl::Now();
  const FileDescriptor client = ConnectTo(address_);
  const std::string request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  send(client.get(), request.data(), request.size(), MSG_NOSIGNAL);
  std::string piece(size_t{256} << 10, ' ');
  size_t taken = 0;
  for (pollfd closed{client.get(), POLLRDHUP, 0}; poll(&closed, 1, 20) == 0;) {
    taken += static_cast<size_t>(
        std::max<ssize_t>(0, recv(client.get(), piece.data(), piece.size(), MSG_DONTWAIT)));
  }
  EXPECT_GE(absl::Now() - start, absl::Seconds(4));
  EXPECT_GT(taken, size_t{12} << 20) << "the daemon's own time-out ended it";
  EXPECT_LT(taken, size_t{64} << 20);
}

TEST_F(HttpServerTest, SlowConnectionsKeepNobodyOut) {
  HttpLimits limits;
  limits.connections_max = 16;
  limits.idle_max = absl::Hours(1);
  Start(limits, Echo);
  std::vector<FileDescriptor> slow;
  for (int i = 0; i < 40; ++i) {
    slow.push_back(ConnectTo(address_));
    ASSERT_EQ(send(slow.back().get(), "GET /", 5, MSG_NOSIGNAL), 5);
  }
  EXPECT_THAT(Get("/still"), EndsWith("GET /still "));
}

// Each new connection closed the oldest answer: large downloads ended each other.
TEST_F(HttpServerTest, SlowRequestsEndNoAnswer) {
  constexpr size_t kBytes = size_t{32} << 20;  // more than the sockets' buffers take
  HttpLimits limits;
  limits.connections_max = 16;
  limits.idle_max = absl::Hours(1);
  Start(limits, [](const std::shared_ptr<HttpExchange>& exchange) {
    exchange->Answer({200, "text/plain", std::string(kBytes, 'x')});
  });
  const FileDescriptor reader = ConnectTo(address_);
  const std::string request = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  send(reader.get(), request.data(), request.size(), MSG_NOSIGNAL);
  std::string piece(size_t{256} << 10, ' ');
  ssize_t got = recv(reader.get(), piece.data(), 1, 0);  // it has begun
  std::vector<FileDescriptor> slow;
  for (int i = 0; i < 40; ++i) {
    slow.push_back(ConnectTo(address_));
    ASSERT_EQ(send(slow.back().get(), "GET /", 5, MSG_NOSIGNAL), 5);
  }
  EXPECT_GT(Get("/still").size(), kBytes);
  size_t taken = 0;
  for (; got > 0; got = recv(reader.get(), piece.data(), piece.size(), 0)) {
    taken += static_cast<size_t>(got);
  }
  EXPECT_GT(taken, kBytes);
}

TEST_F(HttpServerTest, MoreRequestsThanTheLimitAreToldToComeLater) {
  HttpLimits limits;
  limits.requests_max = 1;
  Mutex mutex;
  std::vector<std::shared_ptr<HttpExchange>> held;
  absl::Notification arrived;
  Start(limits, [&](const std::shared_ptr<HttpExchange>& exchange) {
    if (exchange->request().path == "/held") {
      MutexLock lock(mutex);
      held.push_back(exchange);
      arrived.Notify();
    } else {
      Echo(exchange);
    }
  });
  std::string first;
  std::thread client([&] { first = Get("/held"); });
  arrived.WaitForNotification();
  EXPECT_THAT(Get("/second"), HasSubstr("503"));
  held[0]->Answer({200, "text/plain", "late"});
  client.join();
  EXPECT_THAT(first, EndsWith("late"));
  EXPECT_THAT(Get("/third"), EndsWith("GET /third "));
}

// Events of which the next one is written when the last was taken.
struct Producer {
  std::shared_ptr<EventOutlet> outlet = std::make_shared<EventOutlet>();
  std::atomic<int> drained = 0;
  absl::Notification closed;
  Producer() {
    outlet->SetCallbacks(
        [this] {
          ++drained;
          drained.notify_all();
        },
        [this] { closed.Notify(); });
  }
};

TEST_F(HttpServerTest, EventsArriveInOrderAndTheirEndClosesTheConnection) {
  Producer producer;
  Start({}, [&producer](const std::shared_ptr<HttpExchange>& exchange) {
    exchange->AnswerWithEvents({200, "text/event-stream"}, producer.outlet);
    producer.outlet->Write("data: 1\n\n");
    producer.outlet->Write("data: 2\n\n");
    producer.outlet->End();
  });
  const std::string answer = Get("/");
  EXPECT_THAT(answer, HasSubstr("text/event-stream"));
  EXPECT_THAT(answer, HasSubstr("data: 1\n\ndata: 2\n\n"));
  producer.closed.WaitForNotification();
  EXPECT_EQ(server_->streams(), 0u);
}

TEST_F(HttpServerTest, AViewerWhoDoesNotReadIsAskedForNothingMore) {
  Producer producer;
  Start({}, [&producer](const std::shared_ptr<HttpExchange>& exchange) {
    exchange->AnswerWithEvents({200, "text/event-stream"}, producer.outlet);
    // More than the sockets' buffers take.
    producer.outlet->Write(absl::StrCat("data: ", std::string(size_t{32} << 20, 'x'), "\n\n"));
  });
  FileDescriptor slow = ConnectTo(address_);
  const std::string request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  ASSERT_EQ(send(slow.get(), request.data(), request.size(), 0),
            static_cast<ssize_t>(request.size()));
  char first[64];
  ASSERT_GT(recv(slow.get(), first, sizeof first, 0), 0);
  server_->HeartbeatForTest();  // is not written behind what waits
  EXPECT_EQ(producer.drained, 0);
  // Others are served meanwhile.
  slow.Reset();
  producer.closed.WaitForNotification();
  EXPECT_EQ(producer.drained, 0);
}

TEST_F(HttpServerTest, AViewerWhoLeftIsFoundByHeartbeats) {
  Producer producer;
  Start({}, [&producer](const std::shared_ptr<HttpExchange>& exchange) {
    exchange->AnswerWithEvents({200, "text/event-stream"}, producer.outlet);
  });
  {
    const FileDescriptor viewer = ConnectTo(address_);
    const std::string request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    ASSERT_EQ(send(viewer.get(), request.data(), request.size(), 0),
              static_cast<ssize_t>(request.size()));
    char first[16];
    ASSERT_GT(recv(viewer.get(), first, sizeof first, 0), 0);
  }
  while (!producer.closed.WaitForNotificationWithTimeout(absl::Milliseconds(5))) {
    server_->HeartbeatForTest();
  }
  EXPECT_EQ(server_->streams(), 0u);
}

TEST_F(HttpServerTest, StreamsAboveTheLimitAreRefusedAndClosed) {
  HttpLimits limits;
  limits.streams_max = 0;
  Producer producer;
  Start(limits, [&producer](const std::shared_ptr<HttpExchange>& exchange) {
    exchange->AnswerWithEvents({200, "text/event-stream"}, producer.outlet);
  });
  EXPECT_THAT(Get("/"), HasSubstr("503"));
  producer.closed.WaitForNotification();
}

TEST_F(HttpServerTest, StoppingEndsOpenStreams) {
  Producer producer;
  Start({}, [&](const std::shared_ptr<HttpExchange>& exchange) {
    exchange->AnswerWithEvents({200, "text/event-stream"}, producer.outlet);
    producer.outlet->Write("data: 1\n\n");
  });
  std::string answer;
  std::thread viewer([&] { answer = Get("/"); });
  producer.drained.wait(0);
  server_.reset();
  viewer.join();
  producer.closed.WaitForNotification();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, StoppingClosesStreamsThatWereAnsweredAndHaveNotBegun) {
  Producer producer;
  absl::Notification answered;
  Start({}, [&](const std::shared_ptr<HttpExchange>& exchange) {
    exchange->AnswerWithEvents({200, "text/event-stream"}, producer.outlet);
    answered.Notify();
  });
  std::thread viewer([&] { Get("/"); });
  answered.WaitForNotification();
  server_.reset();
  viewer.join();
  producer.closed.WaitForNotification();
}

}  // namespace
}  // namespace concur::http
