// SPDX-License-Identifier: Apache-2.0
// The status pages, asked by monitoring systems and by strangers.
#include "base/metrics/status_server.h"

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "base/metrics/metric_set.h"
#include "tests/testing/exposition.h"
#include "tests/testing/http_client.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

using ::concur::testing::HttpCall;
using ::concur::testing::HttpGet;
using ::concur::testing::SendRaw;

class StatusServerTest : public ::testing::Test {
 protected:
  StatusServerTest() {
    absl::StatusOr<std::unique_ptr<StatusServer>> server =
        StatusServer::Start("127.0.0.1:0", {[this] {
                                              ++scrapes_;
                                              return metrics_.Text();
                                            },
                                            [this] { return ready_; }});
    EXPECT_OK(server);
    server_ = *std::move(server);
  }
  const std::string& address() { return server_->address(); }

  MetricSet metrics_;
  std::atomic<int> scrapes_ = 0;
  absl::Status ready_;
  std::unique_ptr<StatusServer> server_;
};

TEST_F(StatusServerTest, AddressesThatAreNoneAreRefused) {
  for (const char* bad : {"", "9464", ":9464", "127.0.0.1", "127.0.0.1:", "127.0.0.1:70000",
                          "127.0.0.1:-1", "example.org:9464", "127.0.0.1:94,127.0.0.2:95",
                          "127.0.0.1:9464s", "[::1:9464", "+9464", "127.0.0.1:9464 "}) {
    EXPECT_THAT(StatusServer::Start(bad, {}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected HOST:PORT")))
        << bad;
  }
}

TEST_F(StatusServerTest, ATakenAddressIsSaidToBe) {
  EXPECT_THAT(StatusServer::Start(address(), {}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("--metrics-listen")));
  EXPECT_THAT(StatusServer::Start("192.0.2.1:0", {}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("not this machine's")));
}

TEST_F(StatusServerTest, AFileIsServedAsItWasAtTheStart) {
  const TempDir dir;
  const std::string path = dir.File("worker");
  const std::string bytes = std::string(1 << 20, 'x') + std::string(1, '\0') + "end";
  ASSERT_OK(WriteFileAtomically(path, bytes));
  StatusPages pages;
  pages.files["/worker/abc"] = path;
  const absl::StatusOr<std::unique_ptr<StatusServer>> server =
      StatusServer::Start("127.0.0.1:0", pages);
  ASSERT_OK(server);
  ASSERT_OK(WriteFileAtomically(path, "another"));
  for (int again = 0; again < 2; ++again) {
    const auto answer = HttpGet((*server)->address(), "/worker/abc");
    EXPECT_EQ(answer.status, 200);
    EXPECT_TRUE(answer.body == bytes) << answer.body.size() << " bytes";
  }
  EXPECT_EQ(HttpGet((*server)->address(), "/worker/abd").status, 404);
  EXPECT_EQ(HttpGet((*server)->address(), "/worker/").status, 404);
  pages.files["/worker/def"] = dir.File("none");
  EXPECT_THAT(StatusServer::Start("127.0.0.1:0", pages),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(dir.File("none"))));
}

// The head came, with the length of the file, and then nothing.
TEST_F(StatusServerTest, AFileIsNotBegunWithoutADescriptor) {
  const TempDir dir;
  ASSERT_OK(WriteFileAtomically(dir.File("worker"), "bytes"));
  StatusPages pages;
  pages.files["/worker/abc"] = dir.File("worker");
  const absl::StatusOr<std::unique_ptr<StatusServer>> server =
      StatusServer::Start("127.0.0.1:0", pages);
  ASSERT_OK(server);
  const FileDescriptor client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in peer{};
  peer.sin_family = AF_INET;
  peer.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const std::string& address = (*server)->address();
  peer.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  ASSERT_EQ(connect(client.get(), reinterpret_cast<sockaddr*>(&peer), sizeof peer), 0);
  const auto ask = [&client](const std::string& page) {
    const std::string head = "GET " + page + " HTTP/1.1\r\nHost: x\r\n\r\n";
    char answer[4096];
    EXPECT_EQ(send(client.get(), head.data(), head.size(), MSG_NOSIGNAL), head.size());
    return std::string(answer, std::max<ssize_t>(0, recv(client.get(), answer, sizeof answer, 0)));
  };
  ASSERT_THAT(ask("/healthz"), HasSubstr(" 200 "));  // it has accepted
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit few = {256, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<FileDescriptor> taken;
  for (int copy = dup(client.get()); copy >= 0; copy = dup(client.get())) {
    taken.emplace_back(copy);
  }
  EXPECT_THAT(ask("/worker/abc"), HasSubstr(" 503 "));
  taken.clear();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_THAT(ask("/worker/abc"), HasSubstr(" 200 "));
}

TEST_F(StatusServerTest, ThePagesSayHowItIs) {
  EXPECT_EQ(HttpGet(address(), "/healthz").status, 200);
  EXPECT_EQ(HttpGet(address(), "/readyz").body, "ok\n");
  ready_ = absl::UnavailableError("the disk hangs");
  const auto answer = HttpGet(address(), "/readyz");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.body, "the disk hangs\n");
  EXPECT_EQ(HttpGet(address(), "/healthz").status, 200) << "waiting is no reason to be restarted";
}

TEST_F(StatusServerTest, NumbersAreServedInPrometheusFormat) {
  metrics_.AddProcess("concur-test", "1.2.3");
  metrics_.Counter("concur_things_total", "Things", {{"state", "odd \"one\"\\\n"}}).Increment(3);
  metrics_.Histogram("concur_wait_seconds", "Waits", ShortSpans()).Observe(0.02);
  const auto answer = HttpGet(address(), "/metrics");
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.head, HasSubstr("text/plain; version=0.0.4"));
  const testing::Samples samples = testing::ParseExposition(answer.body);
  EXPECT_EQ(samples.at("concur_things_total{state=\"odd \\\"one\\\"\\\\\\n\"}"), 3);
  EXPECT_EQ(samples.at("concur_wait_seconds_bucket{le=\"0.03\"}"), 1);
  EXPECT_EQ(samples.at("concur_wait_seconds_bucket{le=\"0.01\"}"), 0);
  EXPECT_EQ(samples.at("concur_build_info{program=\"concur-test\",version=\"1.2.3\"}"), 1);
  EXPECT_GT(samples.at("concur_process_resident_memory_bytes"), 1e6);
  EXPECT_GT(samples.at("concur_process_open_fds"), 3);
  EXPECT_GT(samples.at("concur_process_start_time_seconds"), 1e9);
}

TEST_F(StatusServerTest, OtherPagesAndMethodsAreRefused) {
  for (const char* path : {"/", "/metrics/", "/metricsx", "/healthz/../metrics/x", "/etc/passwd",
                           "/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd"}) {
    EXPECT_THAT(HttpGet(address(), path).status, AnyOf(404, 400)) << path;
  }
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH"}) {
    EXPECT_THAT(HttpCall(address(), method, "/metrics").status, AnyOf(405, 404, 501)) << method;
  }
  EXPECT_EQ(scrapes_, 0);
  const auto head = HttpCall(address(), "HEAD", "/healthz");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.body, "");
}

TEST_F(StatusServerTest, HostileRequestsAreSurvived) {
  const std::vector<std::string> hostile = {
      "\r\n\r\n",
      std::string("\0\0\0\0\r\n\r\n", 8),
      "GET\r\n\r\n",
      "GET /metrics\r\n\r\n",
      "GET /metrics HTTP/9.9\r\n\r\n",
      "GET /metrics HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
      "POST /metrics HTTP/1.1\r\nContent-Length: 999999999999999999999\r\n\r\n",
      "GET /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzzzz\r\n",
      absl::StrCat("GET /", std::string(20000, 'a'), " HTTP/1.1\r\n\r\n"),
      absl::StrCat("GET /metrics HTTP/1.1\r\nX: ", std::string(100000, 'b'), "\r\n\r\n"),
      "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a TLS client\r\n\r\n",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  };
  for (const std::string& bytes : hostile) {
    const std::string answer = SendRaw(address(), bytes);
    EXPECT_THAT(answer, AnyOf("", ContainsRegex("^HTTP/[0-9.]+ (200|4..|5..) ")))
        << bytes.substr(0, 60);
    EXPECT_EQ(HttpGet(address(), "/healthz").status, 200) << "after " << bytes.substr(0, 60);
  }
}

TEST_F(StatusServerTest, OneWhoDawdlesDoesNotKeepOthersOut) {
  const FileDescriptor slow = testing::ConnectTo(address());
  const FileDescriptor slower = testing::ConnectTo(address());
  ASSERT_EQ(send(slower.get(), "GET /met", 8, MSG_NOSIGNAL), 8);
  EXPECT_EQ(HttpGet(address(), "/healthz").status, 200);
}

// 60 idle connections stopped /healthz for 40 s, and 300 for good: Kubernetes would have taken the
// coordinator out of its Service.
TEST_F(StatusServerTest, IdleConnectionsKeepNoProbeOut) {
  std::vector<FileDescriptor> idle;
  for (int i = 0; i < 600; ++i) {
    idle.push_back(testing::ConnectTo(address()));
    if (i % 2 == 1) {
      ASSERT_EQ(send(idle.back().get(), "GET /met", 8, MSG_NOSIGNAL), 8);
    }
    if (i % 100 == 99) {
      const absl::Time begin = absl::Now();
      EXPECT_EQ(HttpGet(address(), "/healthz").status, 200);
      EXPECT_EQ(HttpGet(address(), "/readyz").status, 200);
      EXPECT_LT(absl::Now() - begin, absl::Seconds(2));
    }
  }
}

TEST_F(StatusServerTest, AMetricsPageThatHangsKeepsNoProbeOut) {
  absl::Notification begun;
  absl::Notification go_on;
  const auto server = StatusServer::Start("127.0.0.1:0", {[&] {
                                                            if (!begun.HasBeenNotified()) {
                                                              begun.Notify();
                                                            }
                                                            go_on.WaitForNotification();
                                                            return std::string("late 1\n");
                                                          },
                                                          [] { return absl::OkStatus(); }});
  ASSERT_OK(server);
  const std::string hung = (*server)->address();
  std::vector<std::thread> scrapes;
  std::atomic<int> served = 0;
  std::atomic<int> refused = 0;
  for (int i = 0; i < 20; ++i) {
    scrapes.emplace_back([&] {
      const int status = HttpGet(hung, "/metrics").status;
      ++(status == 200 ? served : refused);
      EXPECT_THAT(status, AnyOf(200, 503));
    });
  }
  begun.WaitForNotification();
  EXPECT_EQ(HttpGet(hung, "/healthz").status, 200);
  EXPECT_EQ(HttpGet(hung, "/readyz").status, 200);
  while (refused < 4) {  // the limit is 16 at a time
    std::this_thread::yield();
  }
  go_on.Notify();
  for (std::thread& scrape : scrapes) {
    scrape.join();
  }
  EXPECT_EQ(served, 16);
  EXPECT_EQ(refused, 4);
}

TEST_F(StatusServerTest, OneAddressHasALimitedNumberOfConnections) {
  StatusLimits limits;
  limits.connections_per_peer_max = 4;
  limits.idle_max = absl::Hours(1);
  const auto server = StatusServer::Start("127.0.0.1:0", {}, limits);
  ASSERT_OK(server);
  std::vector<FileDescriptor> held;
  for (int i = 0; i < 4; ++i) {
    held.push_back(testing::ConnectTo((*server)->address()));
  }
  const FileDescriptor further = testing::ConnectTo((*server)->address());
  char byte = 0;
  EXPECT_EQ(recv(further.get(), &byte, 1, 0), 0);
  held.clear();
  while (HttpGet((*server)->address(), "/healthz").status != 200) {  // until it sees them closed
    std::this_thread::yield();
  }
}

TEST_F(StatusServerTest, WhoHasWaitedLongestMakesRoom) {
  StatusLimits limits;
  limits.connections_max = 16;
  limits.connections_per_peer_max = 16;
  limits.idle_max = absl::Hours(1);
  const auto server = StatusServer::Start("127.0.0.1:0", {}, limits);
  ASSERT_OK(server);
  std::vector<FileDescriptor> idle;
  for (int i = 0; i < 13; ++i) {
    idle.push_back(testing::ConnectTo((*server)->address()));
  }
  char byte = 0;
  EXPECT_EQ(recv(idle.front().get(), &byte, 1, 0), 0);
  EXPECT_EQ(recv(idle[1].get(), &byte, 1, MSG_DONTWAIT), -1) << "it stays";
}

TEST_F(StatusServerTest, WhoSendsNothingIsCutOff) {
  StatusLimits limits;
  limits.idle_max = absl::Seconds(1);
  const auto server = StatusServer::Start("127.0.0.1:0", {}, limits);
  ASSERT_OK(server);
  const FileDescriptor idle = testing::ConnectTo((*server)->address());
  char byte = 0;
  EXPECT_EQ(recv(idle.get(), &byte, 1, 0), 0);
}

TEST_F(StatusServerTest, ScrapesAtTheSameTimeAgree) {
  auto& counter = metrics_.Counter("concur_things_total", "Things");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 10; ++j) {
        counter.Increment();
        testing::ParseExposition(HttpGet(address(), "/metrics").body);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(testing::ParseExposition(metrics_.Text()).at("concur_things_total"), 40);
}

}  // namespace
}  // namespace concur
