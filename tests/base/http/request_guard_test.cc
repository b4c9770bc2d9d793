// SPDX-License-Identifier: Apache-2.0
#include "base/http/request_guard.h"

#include "tests/testing/test.h"

namespace concur::http {
namespace {

TEST(RequestGuardTest, ANameThatWasReboundToThisMachineIsRefused) {
  for (const char* host :
       {"", "evil.example", "evil.example:7449", "127.0.0.1.evil.example", "localhost.evil.example",
        "10.0.0.7:7449", "192.168.1.2", "0.0.0.0:7449", "[2001:db8::1]:7449", "[::1", "2130706433",
        "0x7f000001", "127.1", "localhost@evil.example", "evil.example#127.0.0.1", "[::]"}) {
    EXPECT_THAT(CheckHost(host), StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("ssh -L")))
        << host;
  }
}

TEST(RequestGuardTest, ThisMachineIsReachedByItsLoopbackNamesAtAnyPort) {
  for (const char* host :
       {"127.0.0.1:7449", "localhost:9000", "LOCALHOST", "127.0.0.2:1", "[::1]:7449", "[::1]"}) {
    EXPECT_OK(CheckHost(host)) << host;
  }
}

HttpRequest From(const std::string& origin, const std::string& site) {
  HttpRequest request;
  request.host = "127.0.0.1:7449";
  request.origin = origin;
  request.fetch_site = site;
  return request;
}

TEST(RequestGuardTest, OtherSitesRequestsAreRefused) {
  for (const char* origin :
       {"http://evil.example", "null", "https://127.0.0.1:7449", "http://127.0.0.1:7450",
        "http://127.0.0.1:7449.evil.example", "http://localhost:7449"}) {
    EXPECT_THAT(CheckOrigin(From(origin, "")),
                StatusIs(absl::StatusCode::kPermissionDenied, ::testing::_))
        << origin;
  }
  for (const char* site : {"cross-site", "same-site", "nonsense"}) {
    EXPECT_THAT(CheckOrigin(From("", site)),
                StatusIs(absl::StatusCode::kPermissionDenied, ::testing::_))
        << site;
  }
}

TEST(RequestGuardTest, ThePagesOwnRequestsAndThoseOfProgramsPass) {
  EXPECT_OK(CheckOrigin(From("http://127.0.0.1:7449", "same-origin")));
  EXPECT_OK(CheckOrigin(From("", "same-origin")));
  EXPECT_OK(CheckOrigin(From("", "none")));
  EXPECT_OK(CheckOrigin(From("", "")));
}

TEST(RequestGuardTest, ACookieIsFoundByItsWholeNameAndOnlyOnce) {
  EXPECT_EQ(CookieValue("a=1; concur=x; b=2", "concur"), "x");
  EXPECT_EQ(CookieValue("concur=a=b", "concur"), "a=b");
  EXPECT_EQ(CookieValue("xconcur=1; concur2=2", "concur"), "");
  EXPECT_EQ(CookieValue("concur=1; concur=2", "concur"), "") << "another path may have set one";
  EXPECT_EQ(CookieValue("", "concur"), "");
  EXPECT_EQ(CookieValue("concur", "concur"), "");
}

}  // namespace
}  // namespace concur::http
