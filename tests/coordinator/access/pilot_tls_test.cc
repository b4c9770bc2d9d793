// SPDX-License-Identifier: Apache-2.0
// The certificates that the workers of pools are given, and what is found wrong with them before
// any worker is started.
#include "coordinator/access/pilot_tls.h"

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "coordinator/access/tls_files.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

class PilotTlsTest : public ::testing::Test {
 protected:
  PilotTlsTest() {
    EXPECT_OK(InitTls(dir_.File("tls"), {"head.example.org", "10.0.0.7"}, absl::Now()));
    EXPECT_OK(InitTls(dir_.File("other"), {}, absl::Now()));
  }
  std::string Path(const std::string& name) const { return dir_.File(name); }
  std::string Pem(const std::string& name) const { return ReadFile(Path(name)).value_or(""); }
  TlsFiles Server(bool mutual) const {
    return {Path("tls/server.pem"), Path("tls/server.key"), mutual ? Path("tls/ca.pem") : ""};
  }
  void Remove(const std::string& name) const { std::filesystem::remove(Path(name)); }

  TempDir dir_;
};

TEST_F(PilotTlsTest, WithoutTlsNothingIsNeeded) {
  ASSERT_OK_AND_ASSIGN(const PilotTls tls, PilotTls::Load({}, {}));
  EXPECT_EQ(tls.ca(), "");
  EXPECT_EQ(tls.key(), "");
  EXPECT_OK(tls.CheckAddress("anywhere:7447"));
}

TEST_F(PilotTlsTest, WhatIsNamedWithoutTlsIsForAProxy) {
  ASSERT_OK_AND_ASSIGN(const PilotTls tls, PilotTls::Load({}, {Path("other/ca.pem"), "", ""}));
  EXPECT_EQ(tls.ca(), Pem("other/ca.pem"));
}

TEST_F(PilotTlsTest, TheCaIsFoundBesideTheCertificate) {
  ASSERT_OK_AND_ASSIGN(const PilotTls tls, PilotTls::Load(Server(false), {}));
  EXPECT_EQ(tls.ca(), Pem("tls/ca.pem"));
  EXPECT_EQ(tls.certificate(), "") << "nobody asks for one";
}

TEST_F(PilotTlsTest, WhoIsAskedForACertificateIsGivenOne) {
  ASSERT_OK_AND_ASSIGN(const PilotTls tls, PilotTls::Load(Server(true), {}));
  EXPECT_EQ(tls.ca(), Pem("tls/ca.pem"));
  EXPECT_EQ(tls.certificate(), Pem("tls/client.pem"));
  EXPECT_EQ(tls.key(), Pem("tls/client.key"));
}

TEST_F(PilotTlsTest, ClientsOfAnotherCaThanTheServersAreGivenBoth) {
  TlsFiles server = Server(false);
  server.client_ca = Path("other/ca.pem");
  ASSERT_OK_AND_ASSIGN(const PilotTls tls, PilotTls::Load(server, {"", Path("other/client.pem"),
                                                                   Path("other/client.key")}));
  EXPECT_EQ(tls.ca(), Pem("tls/ca.pem"));
  EXPECT_EQ(tls.key(), Pem("other/client.key"));
}

TEST_F(PilotTlsTest, AnotherCaIsRefusedWithOpenSslsReason) {
  EXPECT_THAT(PilotTls::Load(Server(false), {Path("other/ca.pem"), "", ""}),
              StatusIs(kInvalid, AllOf(HasSubstr("pilots.ca: expected the CA of tls.certificate, "),
                                       HasSubstr("unable to get local issuer certificate"))));
  Remove("tls/ca.pem");
  TlsFiles server = Server(false);
  server.client_ca = Path("other/ca.pem");
  EXPECT_THAT(PilotTls::Load(server, {}),
              StatusIs(kInvalid, AllOf(HasSubstr("got none (not "), HasSubstr("other/ca.pem: "))));
  server.client_ca = "";
  EXPECT_THAT(PilotTls::Load(server, {}), StatusIs(kInvalid, HasSubstr("to know it by, got none")));
}

TEST_F(PilotTlsTest, AnExpiredCertificateIsRefused) {
  ASSERT_OK(InitTls(Path("old"), {}, absl::Now() - absl::Hours(24 * 826)));
  EXPECT_THAT(PilotTls::Load({Path("old/server.pem"), Path("old/server.key"), ""}, {}),
              StatusIs(kInvalid, HasSubstr("has expired")));
}

TEST_F(PilotTlsTest, WhatTheCoordinatorWouldNotTakeFromWorkersIsRefused) {
  const TlsFiles server = Server(true);
  EXPECT_THAT(PilotTls::Load(server, {"", Path("other/client.pem"), Path("other/client.key")}),
              StatusIs(kInvalid, HasSubstr("pilots.certificate: expected one that tls.client_ca")));
  EXPECT_THAT(PilotTls::Load(server, {"", Path("tls/server.pem"), Path("tls/server.key")}),
              StatusIs(kInvalid, HasSubstr("purpose")))
      << "it is a server's";
  EXPECT_THAT(PilotTls::Load(server, {"", Path("tls/client.pem"), Path("tls/server.key")}),
              StatusIs(kInvalid, HasSubstr("pilots.key: expected the key of ")));
  Remove("tls/client.key");
  EXPECT_THAT(PilotTls::Load(server, {}),
              StatusIs(kInvalid, AllOf(HasSubstr("pilots.certificate, pilots.key: expected what"),
                                       HasSubstr("client.key"))));
}

TEST_F(PilotTlsTest, TheCertificateMustBeForTheAddressThatWorkersCall) {
  ASSERT_OK_AND_ASSIGN(const PilotTls tls, PilotTls::Load(Server(false), {}));
  for (const char* good : {"head.example.org:7447", "10.0.0.7:1", "localhost:7447", "[::1]:7447",
                           "127.0.0.1:7447", "unix:/run/concur", "node7:1,10.0.0.7:1"}) {
    EXPECT_OK(tls.CheckAddress(good)) << good;
  }
  EXPECT_THAT(
      tls.CheckAddress("node7:7447"),
      StatusIs(kInvalid, AllOf(HasSubstr("are to call node7:7447, and tls.certificate is for "
                                         "localhost, 127.0.0.1, ::1, head.example.org, 10.0.0.7: "),
                               HasSubstr("init-tls --host node7"))));
  EXPECT_THAT(tls.CheckAddress("node7:7447,node8:7447"),
              StatusIs(kInvalid, HasSubstr("are to call node7:7447,node8:7447, and")));
  EXPECT_THAT(tls.CheckAddress("[fe80::1]:7447"), StatusIs(kInvalid, HasSubstr("--host fe80::1")));
}

}  // namespace
}  // namespace concur
