// SPDX-License-Identifier: Apache-2.0
// The coordinator's status pages: what they say while it works, and while its engine does not.
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "base/file.h"
#include "concur/v1/coordinator.grpc.pb.h"
#include "concur/v1/worker.grpc.pb.h"
#include "coordinator/engine/engine.h"
#include "coordinator/server.h"
#include "coordinator/services/coordinator_metrics.h"
#include "coordinator/ship/ship_status.h"
#include "proto/rpc/channel.h"
#include "proto/rpc/convert_sweep.h"
#include "proto/rpc/credentials.h"
#include "store/memory_store.h"
#include "tests/testing/exposition.h"
#include "tests/testing/http_client.h"
#include "tests/testing/simulated_clock.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

using ::concur::testing::HttpGet;
using ::concur::testing::ParseExposition;
using ::concur::testing::Samples;

class MetricsTest : public ::testing::Test {
 protected:
  MetricsTest() {
    setenv("XDG_STATE_HOME", dir_.File("state").c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    options_.listen = "127.0.0.1:0";
    options_.metrics_listen = "127.0.0.1:0";
    options_.data_directory = dir_.File("data");
    options_.user = "ada";
    options_.version = "9.9";
    options_.without_authentication = true;
  }
  void Start() {
    absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(clock_, options_);
    ASSERT_OK(server);
    server_ = *std::move(server);
  }
  // Any generic call, by method; returns its status.
  grpc::StatusCode ListWorkers() {
    const auto channel =
        grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials());
    grpc::ClientContext context;
    v1::ListWorkersResponse response;
    return v1::Coordinator::NewStub(channel)
        ->ListWorkers(&context, v1::ListWorkersRequest(), &response)
        .error_code();
  }

  TempDir dir_;
  SystemClock clock_;
  ServerOptions options_;
  std::unique_ptr<Server> server_;
};

TEST_F(MetricsTest, WithoutTheOptionThereIsNoPage) {
  options_.metrics_listen = "";
  Start();
  EXPECT_EQ(server_->metrics_address(), "");
}

TEST_F(MetricsTest, BadAddressesEndTheStart) {
  options_.metrics_listen = "example.org:1";
  EXPECT_THAT(Server::Start(clock_, options_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected HOST:PORT")));
}

TEST_F(MetricsTest, TheStaticWorkerIsServedByItsDigest) {
  options_.static_worker = dir_.File("worker");
  EXPECT_THAT(
      Server::Start(clock_, options_),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("static_worker: " + options_.static_worker)));
  ASSERT_OK(WriteFileAtomically(options_.static_worker, "a program"));
  options_.data_directory = dir_.File("other");
  Start();
  const auto page =
      HttpGet(server_->metrics_address(), absl::StrCat("/worker/", Sha256Of("a program").ToHex()));
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.body, "a program");
  EXPECT_EQ(HttpGet(server_->metrics_address(), "/worker/").status, 404);
}

TEST_F(MetricsTest, CallsAreCountedByMethodAndStatus) {
  Start();
  EXPECT_EQ(ListWorkers(), grpc::StatusCode::OK);
  EXPECT_EQ(ListWorkers(), grpc::StatusCode::OK);
  const auto page = HttpGet(server_->metrics_address(), "/metrics");
  const Samples samples = ParseExposition(page.body);
  const std::string method = "grpc_method=\"concur.v1.Coordinator/ListWorkers\"";
  EXPECT_EQ(samples.at("grpc_server_call_started_total{" + method + "}"), 2);
  EXPECT_EQ(
      samples.at("grpc_server_call_duration_seconds_count{" + method + ",grpc_status=\"OK\"}"), 2);
  EXPECT_EQ(samples.at("concur_build_info{program=\"concur-coordinator\",version=\"9.9\"}"), 1);
  EXPECT_EQ(samples.at("concur_workers{state=\"live\"}"), 0);
  EXPECT_EQ(samples.at("concur_jobs{state=\"ready\"}"), 0);
  EXPECT_GT(samples.at("concur_data_free_bytes"), 0);
  EXPECT_GT(samples.at("concur_job_memory_max_bytes"), samples.at("concur_job_memory_bytes"));
  EXPECT_GE(samples.at("concur_engine_requests_total"), 2);
  EXPECT_LT(samples.at("concur_totals_age_seconds"), 5);
}

TEST_F(MetricsTest, TheLagOfShippingIsShownWhereSomethingIsShipped) {
  Start();
  const auto samples = [&] {
    return ParseExposition(HttpGet(server_->metrics_address(), "/metrics").body);
  };
  EXPECT_EQ(samples().count("concur_ship_behind_seconds"), 0u);
  ASSERT_OK(WriteShipStatus(options_.data_directory, {absl::InfinitePast(), 4096}));
  EXPECT_TRUE(std::isinf(samples().at("concur_ship_behind_seconds")));
  EXPECT_EQ(samples().at("concur_ship_behind_bytes"), 4096);
  ASSERT_OK(WriteShipStatus(options_.data_directory, {clock_.Now() - absl::Minutes(10), 0}));
  EXPECT_NEAR(samples().at("concur_ship_behind_seconds"), 600, 60);
  EXPECT_EQ(samples().at("concur_ship_behind_bytes"), 0);
  // It is no longer shipped: the last lag would be shown for ever.
  ASSERT_EQ(unlink((options_.data_directory + "/ship.status").c_str()), 0);
  EXPECT_TRUE(std::isnan(samples().at("concur_ship_behind_seconds")));
  EXPECT_TRUE(std::isnan(samples().at("concur_ship_behind_bytes")));
}

TEST_F(MetricsTest, SyncsAreCountedWhateverBecomesOfThem) {
  Start();
  const auto channel = grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials());
  const auto stub = v1::WorkerGateway::NewStub(channel);
  const auto sync = [&stub](const v1::SyncRequest& request) {
    grpc::ClientContext context;
    v1::SyncResponse response;
    return stub->Sync(&context, request, &response).error_code();
  };
  v1::SyncRequest request;
  EXPECT_EQ(sync(request), grpc::StatusCode::INVALID_ARGUMENT);
  request.set_worker("w");
  request.set_incarnation("w-1");
  request.set_sequence(1);
  request.mutable_capacity()->set_cpu_millis(1000);
  request.mutable_wait()->set_seconds(0);
  EXPECT_EQ(sync(request), grpc::StatusCode::OK);
  request.set_sequence(2);
  request.mutable_wait()->set_seconds(20);
  grpc::ClientContext parked;
  v1::SyncResponse response;
  absl::Notification ended;
  stub->async()->Sync(&parked, &request, &response,
                      [&ended](const grpc::Status&) { ended.Notify(); });
  const std::string method = "grpc_method=\"concur.v1.WorkerGateway/Sync\"";
  const auto wait_for = [&](const std::string& series, double count) {
    const absl::Time deadline = absl::Now() + absl::Seconds(10);
    const auto value = [&] {
      return ParseExposition(HttpGet(server_->metrics_address(), "/metrics").body)[series];
    };
    while (value() < count && absl::Now() < deadline) {
      std::this_thread::yield();
    }
    EXPECT_GE(value(), count) << series;
  };
  wait_for("grpc_server_call_started_total{" + method + "}", 3);
  parked.TryCancel();
  ended.WaitForNotification();
  wait_for("grpc_server_call_duration_seconds_count{" + method + ",grpc_status=\"CANCELLED\"}", 1);
  const Samples samples = ParseExposition(HttpGet(server_->metrics_address(), "/metrics").body);
  EXPECT_EQ(samples.at("grpc_server_call_started_total{" + method + "}"), 3);
  for (const char* status : {"OK", "INVALID_ARGUMENT", "CANCELLED"}) {
    EXPECT_EQ(samples.at(absl::StrCat("grpc_server_call_duration_seconds_count{", method,
                                      ",grpc_status=\"", status, "\"}")),
              1)
        << status;
  }
}

TEST_F(MetricsTest, MethodsThatStrangersInventShareOneLabel) {
  Start();
  const auto channel = grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials());
  grpc::internal::RpcMethod method("/nobody/Knows", grpc::internal::RpcMethod::NORMAL_RPC);
  grpc::ClientContext context;
  v1::ListWorkersResponse response;
  const grpc::Status status =
      grpc::internal::BlockingUnaryCall<v1::ListWorkersRequest, v1::ListWorkersResponse,
                                        google::protobuf::MessageLite,
                                        google::protobuf::MessageLite>(
          channel.get(), method, &context, v1::ListWorkersRequest(), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(HttpGet(server_->metrics_address(), "/metrics").body, Not(HasSubstr("nobody")));
}

TEST_F(MetricsTest, HealthIsAnsweredWithoutToken) {
  options_.without_authentication = false;
  Start();
  EXPECT_EQ(HttpGet(server_->metrics_address(), "/healthz").status, 200);
  EXPECT_EQ(HttpGet(server_->metrics_address(), "/readyz").status, 200);
  server_->Stop();
}

// The engine of these stands still unless it is told to take a turn.
class TotalsCacheTest : public ::testing::Test {
 protected:
  TotalsCacheTest()
      : engine_(*Engine::Create(clock_, store_, rpc::DecodeSpec, EngineOptions())),
        cache_(*engine_, clock_) {}

  testing::SimulatedClock clock_;
  MemoryStore store_;
  std::unique_ptr<Engine> engine_;
  TotalsCache cache_;
};

TEST_F(TotalsCacheTest, AnEngineThatStandsStillHoldsUpAScrapeForALimitedTime) {
  TotalsCache::Answer answer = cache_.Get(absl::Seconds(1), absl::Milliseconds(5));
  EXPECT_FALSE(answer.totals.has_value());
  EXPECT_THAT(answer.status,
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("did not answer")));
  // However many ask meanwhile, the engine is asked once.
  cache_.Get(absl::Seconds(1), absl::Milliseconds(1));
  cache_.Get(absl::Seconds(1), absl::Milliseconds(1));
  EXPECT_TRUE(engine_->RunTurn());
  EXPECT_FALSE(engine_->RunTurn());
  answer = cache_.Get(absl::Seconds(1), absl::ZeroDuration());
  EXPECT_OK(answer.status);
  EXPECT_TRUE(answer.totals.has_value());

  clock_.Advance(absl::Minutes(1));
  answer = cache_.Get(absl::Seconds(1), absl::Milliseconds(5));
  EXPECT_TRUE(answer.totals.has_value()) << "old ones are better than none";
  EXPECT_EQ(answer.age, absl::Minutes(1));
  EXPECT_THAT(answer.status, StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("disk")));
}

TEST_F(TotalsCacheTest, AnEngineThatStopsSaysSo) {
  engine_->Stop();
  EXPECT_THAT(cache_.Get(absl::Seconds(1), absl::Seconds(10)).status,
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("shutting down")));
}

}  // namespace
}  // namespace concur
