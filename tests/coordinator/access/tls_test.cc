// SPDX-License-Identifier: Apache-2.0
// TLS from the certificates that init-tls makes to the message that a person reads.
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/file.h"
#include "concur/v1/coordinator.grpc.pb.h"
#include "coordinator/access/tls_files.h"
#include "coordinator/access/tokens.h"
#include "coordinator/server.h"
#include "proto/rpc/call.h"
#include "proto/rpc/channel.h"
#include "proto/rpc/diagnose.h"
#include "proto/rpc/status.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

class TlsTest : public ::testing::Test {
 protected:
  TlsTest() {
    setenv("XDG_STATE_HOME", dir_.File("state").c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    unsetenv("CONCUR_TOKEN");                                 // NOLINT(concurrency-mt-unsafe)
    EXPECT_OK(InitTls(Tls(""), {}, absl::Now()));
  }
  std::string Tls(const std::string& name) { return dir_.File("tls/" + name); }

  void Start(const TlsFiles& tls, const std::string& listen = "127.0.0.1:0",
             const ConnectionLimits& limits = {}) {
    ServerOptions options;
    options.listen = listen;
    options.data_directory = dir_.File("data");
    options.user = "ada";
    options.tls = tls;
    options.connections = limits;
    absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(clock_, options);
    ASSERT_OK(server);
    server_ = *std::move(server);
  }
  TlsFiles ServerFiles() { return {Tls("server.pem"), Tls("server.key"), ""}; }
  TlsFiles MutualFiles() { return {Tls("server.pem"), Tls("server.key"), Tls("ca.pem")}; }

  // Asks as a client with these files would.
  absl::Status Ask(const std::string& address, const rpc::CredentialFiles& files) {
    absl::StatusOr<rpc::Credentials> credentials = rpc::LoadCredentials(address, files);
    EXPECT_OK(credentials);
    absl::StatusOr<std::shared_ptr<grpc::Channel>> channel =
        rpc::MakeChannel(address, *credentials);
    EXPECT_OK(channel);
    return AskOn(*channel);
  }
  absl::Status AskOn(const std::shared_ptr<grpc::Channel>& channel) {
    const auto stub = v1::Coordinator::NewStub(channel);
    return rpc::CallOnce(rpc::CallOptions(), [&stub](grpc::ClientContext& context) {
      v1::ListSweepsResponse response;
      return stub->ListSweeps(&context, v1::ListSweepsRequest(), &response);
    });
  }
  absl::Status Diagnose(const rpc::CredentialFiles& files) {
    absl::StatusOr<rpc::Credentials> credentials = rpc::LoadCredentials(server_->address(), files);
    EXPECT_OK(credentials);
    return rpc::DiagnoseHandshake(server_->address(), *credentials);
  }

  TempDir dir_;
  SystemClock clock_;
  std::unique_ptr<Server> server_;
};

TEST_F(TlsTest, KeysAreForTheirOwnerAloneAndTheAuthorityStays) {
  for (const char* key : {"ca.key", "server.key", "client.key"}) {
    struct stat info {};
    ASSERT_EQ(stat(Tls(key).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u) << key;
  }
  const std::string ca = *ReadFile(Tls("ca.pem"));
  const std::string server = *ReadFile(Tls("server.pem"));
  ASSERT_OK(InitTls(Tls(""), {"node-1.example.org", "10.0.0.1"}, absl::Now()));
  EXPECT_EQ(*ReadFile(Tls("ca.pem")), ca);
  EXPECT_NE(*ReadFile(Tls("server.pem")), server);
}

// As the two coordinators of one data directory do at their first start.
TEST_F(TlsTest, ManyAtOnceMakeOneAuthority) {
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([this] { EXPECT_OK(InitTls(dir_.File("both"), {}, absl::Now())); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  Start({dir_.File("both/server.pem"), dir_.File("both/server.key"), ""});
  EXPECT_OK(Ask(server_->address(), {dir_.File("both/ca.pem"), "", "", ""}));
}

TEST_F(TlsTest, HostsThatAreNoneAndABrokenAuthorityAreRefused) {
  for (const char* bad : {"", "a b", "host:7447", "a,DNS:evil.org", "http://a", "a\nb"}) {
    EXPECT_THAT(InitTls(dir_.File("other"), {bad}, absl::Now()),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--host")))
        << bad;
  }
  ASSERT_OK(WriteFileAtomically(Tls("ca.key"), "not a key"));
  EXPECT_THAT(InitTls(Tls(""), {}, absl::Now()),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("ca.key")));
}

TEST_F(TlsTest, ATrustedServerIsSpokenWith) {
  Start(ServerFiles());
  EXPECT_OK(Ask(server_->address(), {Tls("ca.pem"), "", "", ""}));
  EXPECT_OK(Diagnose({Tls("ca.pem"), "", "", ""}));
}

TEST_F(TlsTest, AnAddressThatANameHasShowsTheCertificateOfTheName) {
  Start(ServerFiles(), "0.0.0.0:0");
  const std::string port = server_->address().substr(server_->address().rfind(':'));
  const rpc::CredentialFiles files = {Tls("ca.pem"), "", "", ""};
  ASSERT_OK_AND_ASSIGN(const rpc::Credentials credentials,
                       rpc::LoadCredentials("localhost" + port, files));
  ASSERT_OK_AND_ASSIGN(const auto channel,
                       rpc::MakeChannel("localhost" + port, credentials, "127.0.0.2" + port));
  EXPECT_OK(AskOn(channel));
  EXPECT_THAT(Ask("127.0.0.2" + port, files),
              StatusIs(absl::StatusCode::kUnavailable, ::testing::_));
}

TEST_F(TlsTest, APlainClientIsToldToSpeakTls) {
  Start(ServerFiles());
  rpc::ForgetServer(server_->address());  // as for clients of other users
  EXPECT_THAT(Ask(server_->address(), {}), StatusIs(absl::StatusCode::kUnavailable, ::testing::_));
  EXPECT_THAT(Diagnose({}), StatusIs(absl::StatusCode::kPermissionDenied,
                                     AllOf(HasSubstr("speaks TLS"), HasSubstr("CONCUR_CA"))));
}

TEST_F(TlsTest, AnotherAuthorityIsNotBelieved) {
  Start(ServerFiles());
  ASSERT_OK(InitTls(dir_.File("other"), {}, absl::Now()));
  const rpc::CredentialFiles other = {dir_.File("other/ca.pem"), "", "", ""};
  EXPECT_THAT(Ask(server_->address(), other),
              StatusIs(absl::StatusCode::kUnavailable, ::testing::_));
  EXPECT_THAT(Diagnose(other), StatusIs(absl::StatusCode::kPermissionDenied,
                                        HasSubstr("the CA of --ca did not sign")));
}

TEST_F(TlsTest, AnExpiredCertificateSaysSo) {
  ASSERT_OK(InitTls(Tls(""), {}, absl::Now() - absl::Hours(24 * 1000)));
  Start(ServerFiles());
  EXPECT_THAT(Diagnose({Tls("ca.pem"), "", "", ""}),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("has expired")));
}

TEST_F(TlsTest, AnAddressThatTheCertificateLacksIsNotBelieved) {
  Start(ServerFiles());
  const std::string port = server_->address().substr(server_->address().rfind(':'));
  const std::string address = "127.0.0.2" + port;  // the loopback device has all of 127/8
  server_.reset();
  Start(ServerFiles(), address);
  EXPECT_THAT(Diagnose({Tls("ca.pem"), "", "", ""}),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("init-tls --host")));
  server_.reset();
  ASSERT_OK(InitTls(Tls(""), {"127.0.0.2"}, absl::Now()));
  Start(ServerFiles(), address);
  EXPECT_OK(Ask(address, {Tls("ca.pem"), "", "", ""}));
}

TEST_F(TlsTest, MutualTlsAsksForACertificateOfTheRightAuthority) {
  Start(MutualFiles());
  const rpc::CredentialFiles good = {Tls("ca.pem"), Tls("client.pem"), Tls("client.key"), ""};
  EXPECT_OK(Ask(server_->address(), good));
  EXPECT_OK(Diagnose(good));
  const rpc::CredentialFiles none = {Tls("ca.pem"), "", "", ""};
  EXPECT_THAT(Ask(server_->address(), none),
              StatusIs(absl::StatusCode::kUnavailable, ::testing::_));
  EXPECT_THAT(Diagnose(none),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       AllOf(HasSubstr("asks for a certificate"), HasSubstr("--key"))));
  ASSERT_OK(InitTls(dir_.File("other"), {}, absl::Now()));
  const rpc::CredentialFiles foreign = {Tls("ca.pem"), dir_.File("other/client.pem"),
                                        dir_.File("other/client.key"), ""};
  EXPECT_FALSE(Ask(server_->address(), foreign).ok());
  EXPECT_THAT(Diagnose(foreign), StatusIs(absl::StatusCode::kPermissionDenied,
                                          HasSubstr("does not take the client's certificate")));
}

TEST_F(TlsTest, ATlsClientIsToldThatAServerSpeaksNone) {
  Start({});
  EXPECT_THAT(Diagnose({Tls("ca.pem"), "", "", ""}),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("speaks no TLS")));
  EXPECT_OK(Diagnose({}));
  server_->Stop();
  EXPECT_OK(Diagnose({Tls("ca.pem"), "", "", ""})) << "nobody is there, and nothing is wrong";
}

TEST_F(TlsTest, BeyondThisMachineThereIsNoListeningWithoutTls) {
  ServerOptions options;
  options.data_directory = dir_.File("data");
  options.user = "ada";
  for (const char* listen : {"0.0.0.0:0", "[::]:0", "example.org:1"}) {
    options.listen = listen;
    EXPECT_THAT(Server::Start(clock_, options).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("init-tls"), HasSubstr(listen))));
  }
  options.listen = "0.0.0.0:0";
  options.without_authentication = true;
  EXPECT_OK(Server::Start(clock_, options));
  options.without_authentication = false;
  options.tls = ServerFiles();
  EXPECT_OK(Server::Start(clock_, options));
}

TEST_F(TlsTest, AConnectionThatSaysNothingIsClosed) {
  ConnectionLimits limits;
  limits.handshake_timeout = absl::Milliseconds(200);
  Start({}, absl::StrCat("unix:", dir_.File("s")), limits);
  const FileDescriptor fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::strncpy(name.sun_path, dir_.File("s").c_str(), sizeof name.sun_path - 1);
  ASSERT_EQ(connect(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  // Without the limit this would wait for two minutes, and the test with it.
  const absl::Time start = absl::Now();
  char bytes[4096];
  while (read(fd.get(), bytes, sizeof bytes) > 0) {
  }
  EXPECT_LT(absl::Now() - start, absl::Seconds(60));
}

}  // namespace
}  // namespace concur
