// SPDX-License-Identifier: Apache-2.0
// Cases that downloads, object storage and Kubernetes do not show by their own tests: how a request
// ends that is interrupted, late or never sent.
#include "base/http/client.h"

#include <atomic>
#include <string>
#include <thread>

#include "absl/time/time.h"
#include "base/clock.h"
#include "tests/testing/http_server.h"
#include "tests/testing/test.h"

namespace concur::http {
namespace {

using ::concur::testing::Answer;
using ::concur::testing::FakeHttpServer;

class ClientTest : public ::testing::Test {
 protected:
  SystemClock clock_;
  Client client_{clock_, {}};
};

TEST_F(ClientTest, ReadSomeReturnsWhatHasComeAndReadWaitsForAllOfIt) {
  FakeHttpServer server;
  server.Script({{.body = std::string(1'000'000, 'x')}});
  ASSERT_OK_AND_ASSIGN(const auto exchange, client_.Send({.url = server.Url("/")}));
  std::string data;
  ASSERT_OK(exchange->ReadSome(10, &data));
  EXPECT_GE(data.size(), 1u);
  EXPECT_LE(data.size(), 10u);
  const size_t before = data.size();
  ASSERT_OK(exchange->Read(500'000, &data));
  EXPECT_EQ(data.size(), before + 500'000);
  ASSERT_OK(exchange->Read(1'000'000, &data));
  EXPECT_EQ(data.size(), 1'000'000u);
  ASSERT_OK(exchange->ReadSome(10, &data));
  EXPECT_EQ(data.size(), 1'000'000u) << "the answer has ended";
}

TEST_F(ClientTest, ABodyIsSentWithDelete) {
  FakeHttpServer server;
  server.Script({{.body = "gone"}});
  ASSERT_OK(client_.Send({.method = "DELETE", .url = server.Url("/job"), .body = "{now}"}));
  ASSERT_EQ(server.requests().size(), 1u);
  EXPECT_THAT(server.requests()[0], StartsWith("DELETE /job "));
  EXPECT_THAT(server.requests()[0], HasSubstr("\r\n\r\n{now}"));
}

TEST_F(ClientTest, AnInterruptCancelsTheWaitForAnAnswerAndForItsBytes) {
  for (const size_t cut_at : {size_t{0}, size_t{2}}) {
    std::atomic<int> stalls{0};
    Interrupt interrupt;
    FakeHttpServer server([&] {
      if (++stalls == 3) {
        interrupt.Set();
      }
    });
    server.Script({{.body = "never", .cut_at = cut_at, .stall = true}});
    auto exchange = client_.Send({.url = server.Url("/"), .interrupt = &interrupt});
    std::string data;
    if (cut_at > 0) {
      ASSERT_OK(exchange);
      ASSERT_OK((*exchange)->ReadSome(100, &data));
      EXPECT_EQ(data, "ne");
      EXPECT_THAT((*exchange)->ReadSome(100, &data),
                  StatusIs(absl::StatusCode::kCancelled, HasSubstr("interrupted")));
    } else {
      EXPECT_THAT(exchange, StatusIs(absl::StatusCode::kCancelled, HasSubstr("interrupted")));
    }
    interrupt.Clear();
    EXPECT_FALSE(interrupt.IsSet());
  }
}

TEST_F(ClientTest, ATimeoutIsOfTheWholeExchange) {
  FakeHttpServer server;
  server.Script({{.body = "never", .cut_at = 2, .stall = true}});
  ASSERT_OK_AND_ASSIGN(const auto exchange,
                       client_.Send({.url = server.Url("/"), .timeout = absl::Milliseconds(200)}));
  std::string data;
  ASSERT_OK(exchange->Read(100, &data));
  EXPECT_EQ(data, "ne");
  EXPECT_THAT(exchange->Read(100, &data),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("timed out")));
}

TEST_F(ClientTest, OnlyARequestThatCannotHaveArrivedCountsAsNotSent) {
  std::string url;
  {
    FakeHttpServer server;
    url = server.Url("/");
    server.Script({{.drop = true}});
    const absl::Status lost = client_.Send({.url = url}).status();
    EXPECT_THAT(lost, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("Empty reply")));
    EXPECT_FALSE(NothingSent(lost));
  }
  const absl::Status refused = client_.Send({.url = url}).status();
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("connect")));
  EXPECT_TRUE(NothingSent(refused));
  FakeHttpServer redirecting;
  redirecting.Script({{.status = 307, .location = url}});
  const absl::Status redirected =
      client_.Send({.url = redirecting.Url("/"), .redirects_max = 1}).status();
  EXPECT_THAT(redirected, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("connect")));
  EXPECT_FALSE(NothingSent(redirected)) << "the first server has had it";
}

}  // namespace
}  // namespace concur::http
