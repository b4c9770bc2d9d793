// SPDX-License-Identifier: Apache-2.0
#include "proto/rpc/credentials.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "proto/rpc/channel.h"
#include "tests/testing/test.h"

namespace concur::rpc {
namespace {

class CredentialsTest : public ::testing::Test {
 protected:
  CredentialsTest() {
    setenv("XDG_STATE_HOME", dir_.File("state").c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    unsetenv("CONCUR_TOKEN");                                 // NOLINT(concurrency-mt-unsafe)
  }
  ~CredentialsTest() override { unsetenv("CONCUR_TOKEN"); }  // NOLINT(concurrency-mt-unsafe)

  std::string Write(const std::string& name, const std::string& contents, int mode = 0600) {
    EXPECT_OK(WriteFileAtomically(dir_.File(name), contents, mode));
    return dir_.File(name);
  }
  TempDir dir_;
};

TEST_F(CredentialsTest, LocalAddressesAreThoseOfThisMachine) {
  for (const char* local :
       {"unix:/run/s", "localhost:1", "127.0.0.1:7447", "127.8.9.1:7", "[::1]:7447"}) {
    EXPECT_TRUE(IsLocalAddress(local)) << local;
  }
  for (const char* other : {"0.0.0.0:7447", "[::]:7447", "10.0.0.1:1", "localhost.evil.org:1",
                            "127.0.0.1.evil.org:7447", "127.evil.org:1", "host:1", ""}) {
    EXPECT_FALSE(IsLocalAddress(other)) << other;
  }
}

TEST_F(CredentialsTest, ATokenFileThatOthersCanReadIsRefused) {
  EXPECT_EQ(LoadCredentials("h:1", {"", "", "", Write("ok", "concur_1\n")})->token, "concur_1");
  for (const int mode : {0604, 0640, 0620, 0602, 0666}) {
    const std::string path = Write("token", "concur_1\n");
    ASSERT_EQ(chmod(path.c_str(), static_cast<mode_t>(mode)), 0);
    EXPECT_THAT(LoadCredentials("h:1", {"", "", "", path}),
                StatusIs(absl::StatusCode::kPermissionDenied,
                         AllOf(HasSubstr(path), HasSubstr("chmod 600"))))
        << mode;
  }
}

TEST_F(CredentialsTest, FilesThatHoldNothingUsefulAreNamed) {
  EXPECT_THAT(LoadCredentials("h:1", {"", "", "", dir_.File("none")}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
  EXPECT_THAT(LoadCredentials("h:1", {"", "", "", Write("empty", "\n")}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("empty file")));
  EXPECT_THAT(LoadCredentials("h:1", {"", "", "", Write("two", "a b\n")}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("one token on one line")));
  EXPECT_THAT(LoadCredentials("h:1", {Write("ca", "hello"), "", "", ""}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected a PEM file")));
  const std::string pem = Write("pem", "-----BEGIN CERTIFICATE-----\n");
  EXPECT_THAT(LoadCredentials("h:1", {pem, pem, "", ""}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--key together")));
  EXPECT_THAT(LoadCredentials("h:1", {"", pem, pem, ""}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--ca with them")));
}

TEST_F(CredentialsTest, ARecordedServersTokenIsFoundByAnyNameOfItsAddress) {
  const std::string token = Write("token", "concur_local\n");
  ASSERT_OK(RecordServer("127.0.0.1:7001", {"", "", "", token}));
  for (const char* address : {"127.0.0.1:7001", "localhost:7001", "[::1]:7001"}) {
    EXPECT_EQ(LoadCredentials(address, {})->token, "concur_local") << address;
  }
  for (const char* other : {"127.0.0.1:7002", "example.org:7001", "unix:/7001"}) {
    EXPECT_EQ(LoadCredentials(other, {})->token, "") << other;
  }
  // A token that is named counts more, that of the file most.
  setenv("CONCUR_TOKEN", "concur_env", 1);  // NOLINT(concurrency-mt-unsafe)
  EXPECT_EQ(LoadCredentials("localhost:7001", {})->token, "concur_env");
  EXPECT_EQ(LoadCredentials("localhost:7001", {"", "", "", Write("t", "concur_file")})->token,
            "concur_file");
  unsetenv("CONCUR_TOKEN");  // NOLINT(concurrency-mt-unsafe)
  ForgetServer("localhost:7001");
  EXPECT_EQ(LoadCredentials("127.0.0.1:7001", {})->token, "");
}

// "From zero to a sweep" failed at its second step: the own coordinator's CA had to be named.
TEST_F(CredentialsTest, TheCaOfTheOwnCoordinatorIsFoundByItsUser) {
  const std::string pem = "-----BEGIN CERTIFICATE-----\n";
  ASSERT_OK(RecordServer("0.0.0.0:7001",
                         {Write("ca.pem", pem + "ca"), Write("client.pem", pem + "client"),
                          Write("client.key", "-----BEGIN KEY"), Write("token", "concur_1\n")}));
  ASSERT_OK_AND_ASSIGN(Credentials found, LoadCredentials("localhost:7001", {}));
  EXPECT_EQ(found.ca, pem + "ca");
  EXPECT_EQ(found.certificate, pem + "client");
  EXPECT_EQ(found.key, "-----BEGIN KEY");
  EXPECT_EQ(found.key_file, dir_.File("client.key"));
  EXPECT_EQ(found.token, "concur_1");
  EXPECT_EQ(LoadCredentials("example.org:7001", {})->ca, "") << "another machine's";
  ASSERT_OK_AND_ASSIGN(found,
                       LoadCredentials("localhost:7001", {Write("o", pem + "o"), "", "", ""}));
  EXPECT_EQ(found.ca, pem + "o") << "what is named counts more";
  EXPECT_EQ(found.certificate, "");
  // Without TLS, nothing but the token.
  ASSERT_OK(RecordServer("0.0.0.0:7001", {"", "", "", dir_.File("token")}));
  EXPECT_EQ(LoadCredentials("localhost:7001", {})->ca, "");
}

TEST_F(CredentialsTest, ATokenThatIsRecordedLaterIsFoundByTheNextCall) {
  ASSERT_OK_AND_ASSIGN(const Credentials early, LoadCredentials("localhost:7001", {}));
  EXPECT_EQ(early.CurrentToken(), "");
  ASSERT_OK(RecordServer("localhost:7001", {"", "", "", Write("token", "concur_first\n")}));
  EXPECT_EQ(early.CurrentToken(), "concur_first");
  ASSERT_OK_AND_ASSIGN(const Credentials later, LoadCredentials("localhost:7001", {}));
  // Another coordinator took the address over.
  ASSERT_OK(RecordServer("localhost:7001", {"", "", "", Write("other", "concur_second\n")}));
  EXPECT_EQ(later.CurrentToken(), "concur_second");
  ForgetServer("localhost:7001");
  EXPECT_EQ(later.CurrentToken(), "concur_first");
}

TEST_F(CredentialsTest, ARecordOfADirectoryThatIsGoneIsNone) {
  ASSERT_OK(RecordServer("unix:/s", {"", "", "", dir_.File("gone")}));
  EXPECT_EQ(LoadCredentials("unix:/s", {})->token, "");
}

TEST_F(CredentialsTest, ASocketOfAnotherUserDoesNotGetTheToken) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root can give a file to somebody else";
  }
  const std::string path = Write("socket", "");
  const std::string address = "unix:" + path;
  ASSERT_OK(RecordServer(address, {"", "", "", Write("token", "concur_mine\n")}));
  EXPECT_EQ(LoadCredentials(address, {})->token, "concur_mine");
  ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
  EXPECT_THAT(LoadCredentials(address, {}),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       AllOf(HasSubstr("another user"), HasSubstr("65534"))));
}

TEST_F(CredentialsTest, ARenewedTokenCountsAtOnce) {
  const std::string path = Write("token", "concur_old\n");
  ASSERT_OK_AND_ASSIGN(const Credentials credentials, LoadCredentials("h:1", {"", "", "", path}));
  EXPECT_EQ(credentials.CurrentToken(), "concur_old");
  Write("token", "concur_new\n");
  EXPECT_EQ(credentials.CurrentToken(), "concur_new");
  unlink(path.c_str());
  EXPECT_EQ(credentials.CurrentToken(), "concur_old");
}

TEST_F(CredentialsTest, ATokenDoesNotCrossANetworkInClearText) {
  Credentials credentials;
  credentials.token = "concur_1";
  EXPECT_OK(MakeChannel("localhost:1", credentials));
  EXPECT_THAT(MakeChannel("10.0.0.1:1", credentials),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("clear text"), HasSubstr("--ca"))));
}

}  // namespace
}  // namespace concur::rpc
