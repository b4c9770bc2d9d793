// SPDX-License-Identifier: Apache-2.0
// Every RPC that the protos have, called over a real socket with tokens of every kind.
#include <google/protobuf/descriptor.h>
#include <grpcpp/channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "base/file.h"
#include "concur/v1/coordinator.pb.h"
#include "concur/v1/worker.pb.h"
#include "coordinator/access/access.h"
#include "coordinator/access/tokens.h"
#include "coordinator/server.h"
#include "proto/rpc/channel.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

// Every method, as gRPC calls it.
std::vector<std::string> AllMethods() {
  std::vector<std::string> methods;
  for (const google::protobuf::FileDescriptor* file :
       {v1::CreateSweepRequest::descriptor()->file(), v1::SyncRequest::descriptor()->file()}) {
    for (int i = 0; i < file->service_count(); ++i) {
      for (int j = 0; j < file->service(i)->method_count(); ++j) {
        methods.push_back(absl::StrCat("/", file->service(i)->full_name(), "/",
                                       file->service(i)->method(j)->name()));
      }
    }
  }
  return methods;
}

class ServiceFrontTest : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("XDG_STATE_HOME", dir_.File("state").c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    ServerOptions options;
    options.listen = absl::StrCat("unix:", dir_.File("s"));
    options.data_directory = dir_.File("data");
    options.user = "ada";
    absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(clock_, options);
    ASSERT_OK(server);
    server_ = *std::move(server);
  }

  std::string Token(Role role, absl::Time expire_time = absl::InfiniteFuture()) {
    absl::StatusOr<NewToken> made = CreateToken(dir_.File("data"), absl::StrCat(RoleName(role)),
                                                role, expire_time, absl::Now());
    EXPECT_OK(made);
    return made->token;
  }

  // Calls any method with an empty message.
  grpc::Status Call(const std::string& method, const std::string& token) {
    rpc::Credentials credentials;
    credentials.token = token;
    absl::StatusOr<std::shared_ptr<grpc::Channel>> channel =
        rpc::MakeChannel(server_->address(), credentials);
    EXPECT_OK(channel);
    grpc::GenericStub stub(*channel);
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(60)));
    grpc::CompletionQueue queue;
    const auto wait = [&queue] {
      void* tag = nullptr;
      bool ok = false;
      EXPECT_TRUE(queue.Next(&tag, &ok));
      return ok;
    };
    auto call = stub.PrepareCall(&context, method, &queue);
    call->StartCall(nullptr);
    wait();
    grpc::Slice nothing("");
    call->WriteLast(grpc::ByteBuffer(&nothing, 1), grpc::WriteOptions(), nullptr);
    wait();
    grpc::ByteBuffer answer;
    for (bool more = true; more;) {
      call->Read(&answer, nullptr);
      more = wait();
    }
    grpc::Status status;
    call->Finish(&status, nullptr);
    wait();
    return status;
  }

  // "USER METHOD" of each line of this file of the audit log.
  std::set<std::string> Audited(const std::string& file) {
    std::set<std::string> lines;
    const std::string text = ReadFile(dir_.File("data/audit/" + file)).value_or("");
    for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      const auto json = nlohmann::json::parse(line);
      lines.insert(absl::StrCat(json.value("user", ""), " ", json.value("method", "")));
    }
    return lines;
  }

  TempDir dir_;
  SystemClock clock_;
  std::unique_ptr<Server> server_;
};

TEST_F(ServiceFrontTest, NoMethodAnswersWithoutAToken) {
  for (const std::string& method : AllMethods()) {
    const grpc::Status status = Call(method, "");
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED) << method;
    EXPECT_THAT(status.error_message(), HasSubstr("--token-file")) << method;
  }
}

TEST_F(ServiceFrontTest, EveryMethodAnswersExactlyTheRolesThatItsRuleNames) {
  for (const Role role : {Role::kViewer, Role::kSubmitter, Role::kWorker, Role::kAdmin}) {
    const std::string token = Token(role);
    for (const std::string& method : AllMethods()) {
      const MethodRule* rule = FindMethodRule(method);
      ASSERT_NE(rule, nullptr) << method;
      const grpc::Status status = Call(method, token);
      // An empty message is invalid for most methods, but these were called.
      const bool was_called = status.error_code() != grpc::StatusCode::PERMISSION_DENIED &&
                              status.error_code() != grpc::StatusCode::UNAUTHENTICATED &&
                              status.error_code() != grpc::StatusCode::UNIMPLEMENTED;
      EXPECT_EQ(was_called, RoleSuffices(role, rule->least))
          << RoleName(role) << " " << method << ": " << status.error_message();
    }
  }
}

TEST_F(ServiceFrontTest, EveryCallIsAuthenticatedExactlyOnce) {
  for (const std::string& token : {std::string(), Token(Role::kViewer), Token(Role::kAdmin)}) {
    for (const std::string& method : AllMethods()) {
      const int64_t before = server_->access_for_test().authentications_for_test();
      Call(method, token);
      EXPECT_EQ(server_->access_for_test().authentications_for_test(), before + 1) << method;
    }
  }
}

TEST_F(ServiceFrontTest, EveryRefusedCallAndEveryChangeIsAudited) {
  const std::string admin = Token(Role::kAdmin);
  const std::string viewer = Token(Role::kViewer);
  std::set<std::string> expected;
  std::set<std::string> expected_refused;
  for (const std::string& method : AllMethods()) {
    const MethodRule& rule = *FindMethodRule(method);
    const std::string name(rule.name());
    Call(method, admin);
    if (rule.audited) {
      expected.insert("admin " + name);
    }
    Call(method, viewer);
    if (!RoleSuffices(Role::kViewer, rule.least)) {
      expected.insert("viewer " + name);
    }
    Call(method, "");
    expected_refused.insert(" " + name);
  }
  // An empty message is invalid for each method that an admin may call.
  EXPECT_EQ(Audited("failed.jsonl"), expected);
  EXPECT_EQ(Audited("refused.jsonl"), expected_refused);
}

TEST_F(ServiceFrontTest, TheUsersOwnTokenIsAnAdmins) {
  const std::string token(absl::StripAsciiWhitespace(*ReadFile(LocalTokenPath(dir_.File("data")))));
  EXPECT_TRUE(Call("/concur.v1.Coordinator/ListWorkers", token).ok());
  EXPECT_EQ(Call("/concur.v1.Coordinator/DrainWorker", token).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST_F(ServiceFrontTest, ClientsOfTheSameUserFindTheTokenByTheAddress) {
  ASSERT_OK_AND_ASSIGN(const rpc::Credentials found,
                       rpc::LoadCredentials(server_->address(), rpc::CredentialFiles()));
  EXPECT_TRUE(Call("/concur.v1.Coordinator/ListWorkers", found.CurrentToken()).ok());
  server_->Stop();
  ASSERT_OK_AND_ASSIGN(const rpc::Credentials gone,
                       rpc::LoadCredentials(server_->address(), rpc::CredentialFiles()));
  EXPECT_EQ(gone.CurrentToken(), "");
}

}  // namespace
}  // namespace concur
