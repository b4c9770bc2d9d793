// SPDX-License-Identifier: Apache-2.0
#include "coordinator/access/tokens.h"

#include <sys/stat.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "base/file.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

mode_t ModeOf(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 0777;
}

class TokensTest : public ::testing::Test {
 protected:
  NewToken Create(const std::string& user, Role role,
                  absl::Time expire_time = absl::InfiniteFuture(), absl::Time now = kNow) {
    absl::StatusOr<NewToken> made = CreateToken(dir_.path(), user, role, expire_time, now);
    EXPECT_OK(made);
    return *made;
  }
  TempDir dir_;
};

TEST_F(TokensTest, OnlyTheHashIsKept) {
  const NewToken made = Create("ada", Role::kSubmitter);
  EXPECT_THAT(made.token, AllOf(StartsWith("concur_"), SizeIs(7 + 64)));
  ASSERT_OK_AND_ASSIGN(const std::string file, ReadFile(TokensPath(dir_.path())));
  EXPECT_THAT(file, Not(HasSubstr(made.token.substr(7))));
  EXPECT_THAT(file, HasSubstr(Sha256Of(made.token).ToHex()));
  EXPECT_EQ(ModeOf(TokensPath(dir_.path())), 0600);
}

TEST_F(TokensTest, WhatWasSavedIsLoaded) {
  const NewToken first = Create("ada", Role::kViewer, kNow + absl::Hours(1));
  const NewToken second = Create("Grace Hopper", Role::kWorker);
  EXPECT_EQ(first.record.id, "t1");
  EXPECT_EQ(second.record.id, "t2");
  EXPECT_NE(first.token, second.token);
  ASSERT_OK(RevokeToken(dir_.path(), "t2", kNow + absl::Minutes(1)));
  ASSERT_OK_AND_ASSIGN(const std::vector<TokenRecord> tokens, LoadTokens(dir_.path()));
  ASSERT_THAT(tokens, SizeIs(2));
  EXPECT_EQ(tokens[0].user, "ada");
  EXPECT_EQ(tokens[0].role, Role::kViewer);
  EXPECT_EQ(tokens[0].digest, Sha256Of(first.token));
  EXPECT_EQ(tokens[0].create_time, kNow);
  EXPECT_EQ(tokens[0].StateAt(kNow), "live");
  EXPECT_EQ(tokens[0].StateAt(kNow + absl::Hours(1)), "expired");
  EXPECT_EQ(tokens[1].user, "Grace Hopper");
  EXPECT_EQ(tokens[1].expire_time, absl::InfiniteFuture());
  EXPECT_EQ(tokens[1].StateAt(kNow + absl::Seconds(59)), "live");
  EXPECT_EQ(tokens[1].StateAt(kNow + absl::Minutes(1)), "revoked");
}

TEST_F(TokensTest, RevokingTwiceKeepsTheFirstTimeAndAnUnknownTokenIsNotFound) {
  Create("ada", Role::kAdmin);
  ASSERT_OK(RevokeToken(dir_.path(), "t1", kNow));
  ASSERT_OK_AND_ASSIGN(const TokenRecord again,
                       RevokeToken(dir_.path(), "t1", kNow + absl::Hours(1)));
  EXPECT_EQ(again.revoke_time, kNow);
  EXPECT_THAT(RevokeToken(dir_.path(), "t9", kNow),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no token \"t9\"")));
}

TEST_F(TokensTest, BadRequestsAreRefused) {
  EXPECT_THAT(CreateToken(dir_.path(), "", Role::kAdmin, absl::InfiniteFuture(), kNow),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("user")));
  EXPECT_THAT(CreateToken(dir_.path(), "a\nb", Role::kAdmin, absl::InfiniteFuture(), kNow),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("user")));
  EXPECT_THAT(CreateToken(dir_.path(), "a", Role::kAdmin, kNow, kNow),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("in the future")));
  EXPECT_THAT(RoleFromName("root"), StatusIs(absl::StatusCode::kInvalidArgument,
                                             HasSubstr("viewer, submitter, worker, admin")));
}

TEST_F(TokensTest, LongEndedTokensAreDroppedAndTheirNumbersNotGivenAgain) {
  Create("ada", Role::kViewer, kNow + absl::Hours(1));
  Create("ada", Role::kViewer, kNow + absl::Hours(1));
  const NewToken later =
      Create("ada", Role::kViewer, absl::InfiniteFuture(), kNow + absl::Hours(24 * 100));
  EXPECT_EQ(later.record.id, "t3");
  ASSERT_OK_AND_ASSIGN(const std::vector<TokenRecord> tokens, LoadTokens(dir_.path()));
  std::set<std::string> ids;
  for (const TokenRecord& record : tokens) {
    ids.insert(record.id);
  }
  EXPECT_EQ(ids, (std::set<std::string>{"t2", "t3"}));  // the newest of then stayed
}

TEST_F(TokensTest, AMalformedFileIsNamedAndNotReplaced) {
  for (const char* bad :
       {"", "{", "[]", "{\"tokens\": 1}", "{\"tokens\": [1]}", "{\"tokens\": [{\"id\": 1}]}",
        R"({"tokens": [{"id": "t1", "user": "a", "role": "king", "sha256": ""}]})",
        R"({"tokens": [{"id": "t1", "user": "a", "role": "admin", "sha256": "xyz"}]})"}) {
    ASSERT_OK(WriteFileAtomically(TokensPath(dir_.path()), bad));
    EXPECT_THAT(LoadTokens(dir_.path()),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("tokens.json")))
        << bad;
    EXPECT_FALSE(CreateToken(dir_.path(), "a", Role::kAdmin, absl::InfiniteFuture(), kNow).ok());
    EXPECT_EQ(*ReadFile(TokensPath(dir_.path())), bad);
  }
}

TEST_F(TokensTest, TheLocalTokenIsMadeOnceForItsUserAlone) {
  ASSERT_OK(EnsureLocalToken(dir_.path(), "ada", kNow));
  const std::string path = LocalTokenPath(dir_.path());
  EXPECT_EQ(ModeOf(path), 0600);
  const std::string token = *ReadFile(path);
  ASSERT_OK_AND_ASSIGN(const std::vector<TokenRecord> tokens, LoadTokens(dir_.path()));
  ASSERT_THAT(tokens, SizeIs(1));
  EXPECT_EQ(tokens[0].digest, Sha256Of(absl::StripAsciiWhitespace(token)));
  EXPECT_EQ(tokens[0].role, Role::kAdmin);
  // Kept over restarts, and closed again when a copy opened it.
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  ASSERT_OK(EnsureLocalToken(dir_.path(), "ada", kNow));
  EXPECT_EQ(*ReadFile(path), token);
  EXPECT_EQ(ModeOf(path), 0600);
  // One that was revoked is replaced.
  ASSERT_OK(RevokeToken(dir_.path(), "t1", kNow));
  ASSERT_OK(EnsureLocalToken(dir_.path(), "ada", kNow));
  EXPECT_NE(*ReadFile(path), token);
}

TEST(RoleTest, ARoleMayWhatItsLesserOnesMay) {
  const std::vector<Role> roles = {Role::kViewer, Role::kSubmitter, Role::kWorker, Role::kAdmin};
  const bool may[4][4] = {// asks for viewer, submitter, worker, admin
                          {true, false, false, false},
                          {true, true, false, false},
                          {false, false, true, false},
                          {true, true, true, true}};
  for (size_t role = 0; role < roles.size(); ++role) {
    for (size_t least = 0; least < roles.size(); ++least) {
      EXPECT_EQ(RoleSuffices(roles[role], roles[least]), may[role][least]) << role << " " << least;
    }
    ASSERT_OK_AND_ASSIGN(const Role named, RoleFromName(RoleName(roles[role])));
    EXPECT_EQ(named, roles[role]);
  }
}

}  // namespace
}  // namespace concur
