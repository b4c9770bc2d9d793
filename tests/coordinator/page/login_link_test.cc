// SPDX-License-Identifier: Apache-2.0
#include "coordinator/page/login_link.h"

#include <sys/stat.h>

#include <string>

#include "base/file.h"
#include "tests/testing/test.h"

namespace concur::page {
namespace {

std::string CodeIn(const std::string& path) {
  const std::string text = ReadFile(path).value();
  const size_t begin = text.find("#login=") + 7;
  return text.substr(begin, text.find('\n') - begin);
}

TEST(LoginLinkTest, ALinkLogsInOnceAndIsReplaced) {
  const TempDir dir;
  const std::string path = dir.File("page");
  LoginLink link("http://127.0.0.1:1/", path, /*with_code=*/true);
  ASSERT_OK(link.Write());
  const std::string code = CodeIn(path);
  EXPECT_GE(code.size(), 40u);
  for (const std::string& wrong : {std::string(), std::string("x"), code + "x", code.substr(1)}) {
    EXPECT_THAT(link.Redeem(wrong), StatusIs(absl::StatusCode::kUnauthenticated, ::testing::_))
        << wrong;
  }
  EXPECT_OK(link.Redeem(code));
  EXPECT_THAT(link.Redeem(code), StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("before")));
  const std::string next = CodeIn(path);
  EXPECT_NE(next, code);
  EXPECT_OK(link.Redeem(next));
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST(LoginLinkTest, WithoutAuthenticationThereIsNoCodeAndNothingToRedeem) {
  const TempDir dir;
  LoginLink link("http://127.0.0.1:1/", dir.File("page"), /*with_code=*/false);
  ASSERT_OK(link.Write());
  EXPECT_EQ(ReadFile(dir.File("page")).value(), "http://127.0.0.1:1/\n");
  EXPECT_THAT(link.Redeem(""), StatusIs(absl::StatusCode::kUnauthenticated, ::testing::_));
}

TEST(LoginLinkTest, TheFileGoesWithTheServer) {
  const TempDir dir;
  {
    LoginLink link("http://127.0.0.1:1/", dir.File("page"), /*with_code=*/true);
    ASSERT_OK(link.Write());
  }
  EXPECT_THAT(ReadFile(dir.File("page")), StatusIs(absl::StatusCode::kNotFound, ::testing::_));
}

}  // namespace
}  // namespace concur::page
