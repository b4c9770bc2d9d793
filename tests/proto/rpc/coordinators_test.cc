// SPDX-License-Identifier: Apache-2.0
#include "proto/rpc/coordinators.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/file.h"
#include "concur/v1/coordinator.grpc.pb.h"
#include "proto/rpc/call.h"
#include "proto/rpc/channel.h"
#include "tests/testing/test.h"

namespace concur::rpc {
namespace {

using ::testing::_;

// A coordinator on a socket or port: one that leads answers with its name, the others refuse.
class FakeLeader : public v1::Coordinator::Service {
 public:
  FakeLeader(std::string name, bool leads) : name_(std::move(name)), leads_(leads) {}

  // False when the address is taken.
  bool Listen(const std::string& address) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    return server_ != nullptr;
  }
  int port() const { return port_; }
  void set_leads(bool leads) { leads_ = leads; }

 private:
  grpc::Status GetSweep(grpc::ServerContext*, const v1::GetSweepRequest*,
                        v1::Sweep* sweep) override {
    sweep->set_id(name_);
    return leads_ ? grpc::Status::OK
                  : grpc::Status(grpc::StatusCode::UNAVAILABLE, name_ + " is a stand-by");
  }

  const std::string name_;
  std::atomic<bool> leads_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

class CoordinatorsTest : public ::testing::Test {
 protected:
  std::string Socket(const std::string& name) { return absl::StrCat("unix:", dir_.File(name)); }
  std::string List(const std::vector<std::string>& names) {
    return absl::StrJoin(names, ",", [this](std::string* out, const std::string& name) {
      absl::StrAppend(out, Socket(name));
    });
  }
  std::string Current(const Coordinators& list) {
    const std::string address = list.current()->address;
    return address.substr(address.rfind('/') + 1);
  }
  static CallOptions Options(Coordinators& list) {
    CallOptions options;
    options.coordinators = &list;
    options.backoff_min = absl::Milliseconds(1);
    options.backoff_max = absl::Milliseconds(20);
    return options;
  }
  static grpc::Status Call(Coordinators& list, grpc::ClientContext& context, v1::Sweep* sweep) {
    return v1::Coordinator::NewStub(list.current()->channel)
        ->GetSweep(&context, v1::GetSweepRequest(), sweep);
  }
  // The name of the coordinator that answers.
  static absl::StatusOr<std::string> Ask(Coordinators& list) {
    v1::Sweep sweep;
    const absl::Status status = CallWithRetry(
        Options(list), [&](grpc::ClientContext& context) { return Call(list, context, &sweep); });
    return status.ok() ? absl::StatusOr<std::string>(sweep.id()) : status;
  }
  static absl::Status AskOnce(Coordinators& list) {
    v1::Sweep sweep;
    return CallOnce(Options(list),
                    [&](grpc::ClientContext& context) { return Call(list, context, &sweep); });
  }

  TempDir dir_;
};

TEST_F(CoordinatorsTest, ListsThatAreNoneAreRefused) {
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> parsed,
                       ParseAddresses("a:7447,[::1]:1,unix:/run/concur"));
  EXPECT_EQ(parsed, (std::vector<std::string>{"a:7447", "[::1]:1", "unix:/run/concur"}));
  for (const char* bad : {"", ",", "a:7447,", ",a:7447", "a:7447, b:7447", "a:7447,b", "a;b:1,c"}) {
    EXPECT_THAT(ParseAddresses(bad),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected")))
        << bad;
    EXPECT_FALSE(Coordinators::Make(bad, {}).ok()) << bad;
  }
  std::vector<std::string> many(kAddressesMax, "a:1");
  EXPECT_OK(ParseAddresses(absl::StrJoin(many, ",")));
  many.push_back("a:1");
  EXPECT_THAT(ParseAddresses(absl::StrJoin(many, ",")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at most 16 addresses")));
}

TEST_F(CoordinatorsTest, TheNextOneIsCurrentAfterUnavailableOnly) {
  ASSERT_OK_AND_ASSIGN(const auto list, Coordinators::Make(List({"a", "b", "c"}), {}));
  EXPECT_EQ(Current(*list), "a");
  for (int code = 0; code <= 16; ++code) {
    const auto status = static_cast<absl::StatusCode>(code);
    if (status != absl::StatusCode::kUnavailable && status != absl::StatusCode::kDeadlineExceeded) {
      list->Report(*list->current(), absl::Status(status, "no"));
      EXPECT_EQ(Current(*list), "a") << code;
    }
  }
  list->Report(*list->current(), absl::UnavailableError("down"));
  EXPECT_EQ(Current(*list), "b");
  list->Report(*list->current(), absl::DeadlineExceededError("slow"));
  EXPECT_EQ(Current(*list), "c");
  list->Report(*list->current(), absl::UnavailableError("down"));
  EXPECT_EQ(Current(*list), "a") << "the first follows the last";
}

TEST_F(CoordinatorsTest, TwoFailuresAtOnceMoveOnOnce) {
  ASSERT_OK_AND_ASSIGN(const auto list, Coordinators::Make(List({"a", "b", "c"}), {}));
  const Coordinators::PeerPtr asked = list->current();
  list->Report(*asked, absl::UnavailableError("down"));
  list->Report(*asked, absl::UnavailableError("down"));
  EXPECT_EQ(Current(*list), "b");
}

TEST_F(CoordinatorsTest, TheLeaderIsFoundWhereverItStands) {
  FakeLeader b("b", false);
  FakeLeader c("c", true);
  ASSERT_TRUE(b.Listen(Socket("b")));
  ASSERT_TRUE(c.Listen(Socket("c")));
  ASSERT_OK_AND_ASSIGN(const auto list, Coordinators::Make(List({"nobody", "b", "c"}), {}));
  EXPECT_EQ(*Ask(*list), "c");
  EXPECT_EQ(Current(*list), "c") << "the next call begins there";
  c.set_leads(false);
  b.set_leads(true);
  EXPECT_EQ(*Ask(*list), "b");
}

TEST_F(CoordinatorsTest, WhereNoneLeadsEachIsNamedWithItsFailure) {
  FakeLeader b("b", false);
  ASSERT_TRUE(b.Listen(Socket("b")));
  ASSERT_OK_AND_ASSIGN(const auto list, Coordinators::Make(List({"a", "b"}), {}));
  EXPECT_EQ(list->Failures(), absl::StrCat(Socket("a"), ", ", Socket("b")));
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(AskOnce(*list), StatusIs(absl::StatusCode::kUnavailable, _));
  }
  EXPECT_THAT(list->Failures(), AllOf(HasSubstr(Socket("a") + " ("), HasSubstr("No such file"),
                                      HasSubstr(Socket("b") + " (b is a stand-by)")));
}

TEST_F(CoordinatorsTest, AnAttemptThatRanOutOfTimeIsRepeatedElsewhere) {
  ASSERT_OK_AND_ASSIGN(const auto list, Coordinators::Make(List({"a", "b"}), {}));
  ASSERT_OK_AND_ASSIGN(const auto one, Coordinators::Make(List({"a"}), {}));
  for (Coordinators* each : {list.get(), one.get()}) {
    std::vector<std::string> asked;
    CallWithRetry(Options(*each), [&](grpc::ClientContext&) {
      asked.push_back(Current(*each));
      return asked.size() > 1 ? grpc::Status::OK
                              : grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "slow");
    }).IgnoreError();
    EXPECT_EQ(absl::StrJoin(asked, " "), each == one.get() ? "a" : "a b");
  }
}

TEST_F(CoordinatorsTest, TheAddressesOfANameAreAskedOnceTheFirstRefuses) {
  FakeLeader first("first", false);
  FakeLeader second("second", true);
  ASSERT_TRUE(first.Listen("127.0.0.1:0"));
  ASSERT_TRUE(second.Listen(absl::StrCat("127.0.0.2:", first.port())));
  int looked_up = 0;
  ASSERT_OK_AND_ASSIGN(
      const auto list,
      Coordinators::Make(absl::StrCat("localhost:", first.port()), {},
                         [&](const std::string& host) {
                           EXPECT_EQ(host, "localhost");
                           ++looked_up;
                           return std::vector<std::string>{"127.0.0.2", "127.0.0.1"};
                         }));
  EXPECT_FALSE(list->several());
  EXPECT_TRUE(list->may_be_several());
  EXPECT_EQ(*Ask(*list), "second");
  EXPECT_TRUE(list->several());
  EXPECT_EQ(list->current()->resolved, absl::StrCat("127.0.0.2:", second.port()));
  EXPECT_EQ(looked_up, 1);
  // The other one takes over.
  first.set_leads(true);
  second.set_leads(false);
  EXPECT_EQ(*Ask(*list), "first");
  EXPECT_EQ(list->size(), 2u);
}

TEST_F(CoordinatorsTest, ANameOfOneAddressStaysOne) {
  FakeLeader only("only", false);
  ASSERT_TRUE(only.Listen("127.0.0.1:0"));
  ASSERT_OK_AND_ASSIGN(
      const auto list,
      Coordinators::Make(absl::StrCat("localhost:", only.port()), {},
                         [](const std::string&) { return std::vector<std::string>{"127.0.0.1"}; }));
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(AskOnce(*list), StatusIs(absl::StatusCode::kUnavailable, "only is a stand-by"));
  }
  EXPECT_FALSE(list->several());
  ASSERT_OK_AND_ASSIGN(const auto numeric,
                       Coordinators::Make(absl::StrCat("127.0.0.1:", only.port()), {}));
  EXPECT_FALSE(numeric->may_be_several());
}

TEST_F(CoordinatorsTest, NoTokenGoesInClearTextToAnyOfThem) {
  ASSERT_OK(WriteFileAtomically(dir_.File("token"), "concur_x", 0600));
  const CredentialFiles files = {"", "", "", dir_.File("token")};
  EXPECT_OK(Coordinators::Make("127.0.0.1:7447,unix:/s", files));
  EXPECT_THAT(Coordinators::Make("127.0.0.1:7447,far.example:7447", files),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("cross the network to far.example:7447")));
}

}  // namespace
}  // namespace concur::rpc
