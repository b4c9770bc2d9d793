// SPDX-License-Identifier: Apache-2.0
#include "base/http/session.h"

#include <sys/stat.h>

#include <set>
#include <string>

#include "base/file.h"
#include "tests/testing/test.h"

namespace concur::http {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

SessionSealer Sealer(char fill) { return SessionSealer(std::string(kPageKeyBytes, fill)); }

TEST(SessionTest, ACookieHoldsItsTokenUntilItExpires) {
  const SessionSealer sealer = Sealer('k');
  const std::string cookie = sealer.Seal("secret", kNow + absl::Hours(1));
  EXPECT_THAT(cookie, Not(HasSubstr("secret")));
  EXPECT_EQ(sealer.Open(cookie, kNow).value(), "secret");
  EXPECT_EQ(Sealer('k').Open(cookie, kNow).value(), "secret") << "after a restart";
  EXPECT_THAT(sealer.Open(cookie, kNow + absl::Hours(1)),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("expired")));
}

TEST(SessionTest, AChangedOrForeignCookieOpensNothing) {
  const SessionSealer sealer = Sealer('k');
  const std::string cookie = sealer.Seal("secret", kNow + absl::Hours(1));
  for (size_t i = 0; i < cookie.size(); ++i) {
    std::string changed = cookie;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    const auto opened = sealer.Open(changed, kNow);
    // The last character may have bits that base64 drops.
    EXPECT_TRUE(!opened.ok() || i + 1 >= cookie.size()) << i;
    EXPECT_FALSE(sealer.Open(cookie.substr(0, i), kNow).ok()) << i;
  }
  EXPECT_FALSE(Sealer('x').Open(cookie, kNow).ok());
  EXPECT_FALSE(sealer.Open(std::string(100'000, 'A'), kNow).ok());
  EXPECT_FALSE(sealer.Open("not base64 \n\"", kNow).ok());
}

TEST(SessionTest, EachCookieHasAValueOfItsOwnThatCannotBeToldFromIt) {
  const SessionSealer sealer = Sealer('k');
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const std::string cookie = sealer.Seal("secret", kNow);
    EXPECT_TRUE(seen.insert(cookie).second);
    EXPECT_TRUE(seen.insert(sealer.CsrfOf(cookie)).second);
    EXPECT_EQ(sealer.CsrfOf(cookie), sealer.CsrfOf(cookie));
    EXPECT_NE(sealer.CsrfOf(cookie), Sealer('x').CsrfOf(cookie));
  }
}

TEST(SessionTest, TheKeyIsMadeOnceAndForItsOwnerAlone) {
  const TempDir dir;
  const std::string path = dir.File("page-key");
  const std::string key = EnsurePageKey(path).value();
  EXPECT_EQ(key.size(), kPageKeyBytes);
  EXPECT_EQ(EnsurePageKey(path).value(), key);
  EXPECT_NE(EnsurePageKey(dir.File("other")).value(), key);
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  ASSERT_OK(WriteFileAtomically(path, "short", 0600));
  EXPECT_THAT(EnsurePageKey(path), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("remove it")));
}

}  // namespace
}  // namespace concur::http
