// SPDX-License-Identifier: Apache-2.0
// The client of several coordinators, of which one leads.
#include "cli/client/client.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/cli/fake_coordinator.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

// Refuses every call, as a stand-by does.
class StandBy final : public grpc::CallbackGenericService {
 public:
  explicit StandBy(const std::string& address) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterCallbackGenericService(this);
    server_ = builder.BuildAndStart();
  }
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
    struct Reactor final : grpc::ServerGenericBidiReactor {
      void OnDone() override { delete this; }
    };
    auto* reactor = new Reactor;  // deletes itself
    reactor->Finish({grpc::StatusCode::UNAVAILABLE, "this coordinator is a stand-by"});
    return reactor;
  }

 private:
  std::unique_ptr<grpc::Server> server_;
};

class ClientTest : public ::testing::Test {
 protected:
  std::unique_ptr<Client> Connect(const std::string& addresses) {
    auto client = Client::Connect(addresses, {});
    EXPECT_OK(client);
    return *std::move(client);
  }

  TempDir dir_;
  const std::string stand_by_address_ = "unix:" + dir_.File("stand-by");
  StandBy stand_by_{stand_by_address_};
  testing::FakeCoordinator leader_;
  const std::string both_ = absl::StrCat(stand_by_address_, ",", leader_.address());
};

TEST_F(ClientTest, TheLeaderIsAskedWhereverItStands) {
  EXPECT_OK(Connect(both_)->ListWorkers());
  EXPECT_OK(Connect(absl::StrCat(leader_.address(), ",", stand_by_address_))->ListWorkers());
  const auto completing = Connect(both_);
  completing->set_patience(absl::ZeroDuration());
  EXPECT_OK(completing->ListWorkers()) << "each is asked once";
}

TEST_F(ClientTest, ACallThatIsNotRepeatedFindsTheLeaderFirst) {
  v1::DeleteSweepRequest request;
  request.set_sweep("s1");
  EXPECT_OK(Connect(both_)->CallOnce<v1::DeleteSweepResponse>(request));
  EXPECT_THAT(leader_.deleted, ElementsAre("s1"));
  leader_.unavailable_deletions = 1;
  request.set_sweep("s2");
  EXPECT_THAT(Connect(both_)->CallOnce<v1::DeleteSweepResponse>(request),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("going away")));
  EXPECT_THAT(leader_.deleted, ElementsAre("s1", "s2"));
}

TEST_F(ClientTest, OnlyASweepsNameIsSent) {
  v1::PauseSweepRequest request;
  request.set_sweep("./bundle/of/results");
  EXPECT_THAT(Connect(leader_.address())->Call<v1::Sweep>(request),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is a path")));
}

TEST_F(ClientTest, AWatchBeginsAtTheLeaderAndGoesOnThere) {
  v1::WatchSweepResponse update;
  update.mutable_sweep()->set_id("s1");
  update.set_cursor("a");
  leader_.watch = {update, v1::WatchSweepResponse(), update};  // the second breaks the stream off
  int updates = 0;
  std::vector<std::string> outages;
  EXPECT_OK(Connect(both_)->WatchSweep(
      "s1", "", v1::WatchSweepRequest::EVENTS_ALL, absl::Minutes(1),
      [&](const v1::WatchSweepResponse&) {
        ++updates;
        return true;
      },
      [&](const absl::Status& status) { outages.emplace_back(status.message()); }));
  EXPECT_EQ(updates, 2);
  EXPECT_THAT(leader_.watch_cursors, ElementsAre("", "a"));
  EXPECT_THAT(outages, ElementsAre("this coordinator is a stand-by"))
      << "at first another one leads; then none does for a moment";
}

TEST_F(ClientTest, WhereNoneLeadsTheErrorNamesEach) {
  const auto client = Connect(absl::StrCat(stand_by_address_, ",unix:", dir_.File("nobody")));
  client->set_patience(absl::ZeroDuration());
  EXPECT_THAT(client->ListWorkers(),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr(absl::StrCat("no coordinator leads at ", stand_by_address_,
                                                    " (this coordinator is a stand-by), unix:")),
                             HasSubstr("/nobody ("))));
}

TEST_F(ClientTest, ASecretGoesInClearTextToNone) {
  EXPECT_THAT(Connect(absl::StrCat(leader_.address(), ",far.example:7447"))->SetSecret("a", "b"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("cross the network to far.example:7447")));
}

}  // namespace
}  // namespace concur::cli
