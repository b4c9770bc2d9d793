// SPDX-License-Identifier: Apache-2.0
// Which tables are computed again, and when, on a coordinator whose scores take long to list.
#include "coordinator/page/tables.h"

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "concur/v1/coordinator.grpc.pb.h"
#include "proto/rpc/convert_sweep.h"
#include "tests/core/sweep/sweep_builder.h"
#include "tests/testing/test.h"

namespace concur::page {
namespace {

class SharedClock final : public Clock {
 public:
  absl::Time Now() override { return absl::FromUnixSeconds(seconds_); }
  void Advance(int seconds) { seconds_ += seconds; }

 private:
  std::atomic<int64_t> seconds_ = 1'700'000'000;
};

// A coordinator of one sweep, without scores.
class SlowCoordinator final : public v1::Coordinator::Service {
 public:
  explicit SlowCoordinator(SharedClock& clock) : clock_(clock) {
    SweepSpec spec;
    spec.name = "s";
    spec.approaches = {concur::testing::UntrainedApproach("a")};
    spec.benchmarks = {concur::testing::Benchmark("x")};
    sweep.set_id("s1");
    *sweep.mutable_spec() = rpc::ToProto(spec);
  }

  grpc::Status GetSweep(grpc::ServerContext*, const v1::GetSweepRequest*,
                        v1::Sweep* response) override {
    *response = sweep;
    return grpc::Status::OK;
  }
  grpc::Status ListScores(grpc::ServerContext*, const v1::ListScoresRequest*,
                          v1::ListScoresResponse*) override {
    ++tables;
    clock_.Advance(seconds);
    return grpc::Status::OK;
  }

  v1::Sweep sweep;
  int seconds = 0;             // that a table takes
  std::atomic<int> tables{0};  // that were made

 private:
  SharedClock& clock_;
};

class TablesTest : public ::testing::Test {
 protected:
  TablesTest() {
    grpc::ServerBuilder builder;
    builder.RegisterService(&coordinator_);
    server_ = builder.BuildAndStart();
    tables_ = std::make_unique<Tables>(clock_, server_->InProcessChannel(grpc::ChannelArguments()));
  }
  ~TablesTest() override {
    tables_->Stop();
    tables_.reset();
    server_->Shutdown();
  }

  // Number of tables that have been made once this one is answered.
  int Ask() {
    TableQuery query;
    query.sweep = "s1";
    std::promise<absl::StatusOr<http::HttpResponse>> answer;
    tables_->Make(query, {}, [&answer](absl::StatusOr<http::HttpResponse> response) {
      answer.set_value(std::move(response));
    });
    EXPECT_OK(answer.get_future().get());
    return coordinator_.tables;
  }

  SharedClock clock_;
  SlowCoordinator coordinator_{clock_};
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Tables> tables_;
};

TEST_F(TablesTest, WhileASweepRunsOneThatTookLongIsShownForAsLong) {
  coordinator_.seconds = 60;
  EXPECT_EQ(Ask(), 1);
  EXPECT_EQ(Ask(), 1) << "nothing has changed";
  coordinator_.sweep.mutable_counts()->set_succeeded(1);
  clock_.Advance(59);
  EXPECT_EQ(Ask(), 1) << "half of the time at most";
  clock_.Advance(1);
  EXPECT_EQ(Ask(), 2);
  clock_.Advance(59);
  EXPECT_EQ(Ask(), 2);
  clock_.Advance(1);
  EXPECT_EQ(Ask(), 3) << "a score may have changed without the counts";
}

TEST_F(TablesTest, OneThatIsMadeSoonIsOfTheLatestCounts) {
  EXPECT_EQ(Ask(), 1);
  coordinator_.sweep.mutable_counts()->set_succeeded(1);
  EXPECT_EQ(Ask(), 2);
  clock_.Advance(4);
  EXPECT_EQ(Ask(), 2);
  clock_.Advance(1);
  EXPECT_EQ(Ask(), 3);
}

TEST_F(TablesTest, AnEndedSweepHasTheLastTableHoweverLongItTakes) {
  coordinator_.seconds = 60;
  coordinator_.sweep.mutable_counts()->set_succeeded(1);
  EXPECT_EQ(Ask(), 1);
  coordinator_.sweep.mutable_counts()->set_succeeded(2);
  coordinator_.sweep.mutable_end_time()->set_seconds(1'700'000'100);
  EXPECT_EQ(Ask(), 2) << "nobody asks again";
  clock_.Advance(3600);
  EXPECT_EQ(Ask(), 2) << "nothing changes any more";
}

}  // namespace
}  // namespace concur::page
