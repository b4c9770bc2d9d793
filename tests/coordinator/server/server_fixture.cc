// SPDX-License-Identifier: Apache-2.0
#include "tests/coordinator/server/server_fixture.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "proto/rpc/channel.h"
#include "proto/rpc/convert_sweep.h"
#include "proto/rpc/convert_value.h"
#include "tests/core/sweep/sweep_builder.h"
#include "tests/testing/exposition.h"
#include "tests/testing/http_client.h"

namespace concur::testing {
namespace {

template <typename Call>
void MustSucceed(Call call) {
  grpc::ClientContext context;
  const grpc::Status status = call(&context);
  ASSERT_TRUE(status.ok()) << status.error_message();
}

}  // namespace

void ServerTest::SetUp() {
  // The server notes for clients where it is.
  setenv("XDG_STATE_HOME", dir_.path().c_str(), 1);  // NOLINT(concurrency-mt-unsafe): no threads
  options_.data_directory = dir_.File("data");
  options_.listen = absl::StrCat("unix:", dir_.File("socket"));
  options_.user = "ada";
  options_.without_authentication = true;
  options_.metrics_listen = "127.0.0.1:0";
  Start();
}

void ServerTest::TearDown() { RecordAnsweredMethods(); }

std::set<std::string>& ServerTest::methods_answered() {
  static auto& methods = *new std::set<std::string>();
  return methods;
}

void ServerTest::RecordAnsweredMethods() const {
  const std::string prefix = "grpc_server_call_duration_seconds_count{grpc_method=\"";
  const std::string suffix = "\",grpc_status=\"OK\"}";
  for (const auto& [series, count] :
       ParseExposition(HttpGet(server_->metrics_address(), "/metrics").body)) {
    if (absl::StartsWith(series, prefix) && absl::EndsWith(series, suffix)) {
      methods_answered().insert(
          series.substr(prefix.size(), series.size() - prefix.size() - suffix.size()));
    }
  }
}

void ServerTest::Start() {
  absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(clock_, options_);
  CONCUR_CHECK_OK(server.status());
  server_ = *std::move(server);
  client_ = Connect();
  gateway_ = v1::WorkerGateway::NewStub(*rpc::MakeChannel(options_.listen));
}

void ServerTest::Restart() {
  RecordAnsweredMethods();
  server_.reset();
  Start();
}

std::unique_ptr<v1::Coordinator::Stub> ServerTest::Connect() const {
  return v1::Coordinator::NewStub(*rpc::MakeChannel(options_.listen));
}

Digest ServerTest::Upload(const std::string& contents) {
  const Digest digest = Sha256Of(contents);
  MustSucceed([&](grpc::ClientContext* context) {
    v1::UploadArtifactResponse response;
    const auto writer = client_->UploadArtifact(context, &response);
    v1::UploadArtifactRequest request;
    request.set_digest(digest.ToBytes());
    request.set_data(contents);
    writer->Write(request);
    writer->WritesDone();
    return writer->Finish();
  });
  return digest;
}

SweepSpec ServerTest::Spec(const std::string& approach, int seeds) {
  SweepSpec spec;
  spec.name = absl::StrCat("of-", approach);
  spec.approaches = {UntrainedApproach(approach)};
  spec.approaches[0].predict_command.push_back(approach);  // names alone share results
  spec.benchmarks = {Benchmark("x", false), Benchmark("y", false)};
  spec.seeds.clear();
  for (int seed = 1; seed <= seeds; ++seed) {
    spec.seeds.push_back(seed);
  }
  for (const BenchmarkSpec& benchmark : spec.benchmarks) {
    Upload(benchmark.test->path);
  }
  return spec;
}

std::string ServerTest::Submit(const SweepSpec& spec) {
  v1::CreateSweepRequest request;
  *request.mutable_spec() = rpc::ToProto(spec);
  request.set_request_id(spec.name);
  v1::CreateSweepResponse response;
  MustSucceed([&](grpc::ClientContext* context) {
    return client_->CreateSweep(context, request, &response);
  });
  return response.sweep().id();
}

v1::Sweep ServerTest::GetSweep(const std::string& sweep) {
  v1::GetSweepRequest request;
  request.set_sweep(sweep);
  v1::Sweep response;
  MustSucceed(
      [&](grpc::ClientContext* context) { return client_->GetSweep(context, request, &response); });
  return response;
}

void ServerTest::Sync(absl::Duration run_time, absl::Duration wait) {
  v1::SyncRequest request;
  request.set_worker("w");
  request.set_incarnation("w-1");
  request.add_notices("a mount cannot be removed");
  request.mutable_capacity()->set_cpu_millis(4000);
  request.set_sequence(++sequence_);
  *request.mutable_wait() = rpc::ToProto(wait);
  for (const v1::JobOrder& order : started_) {
    v1::FinishedAttempt& finished = *request.add_finished();
    *finished.mutable_id() = order.id();
    v1::JobResult& result = *finished.mutable_result();
    result = result_;
    result.set_succeeded(true);
    result.mutable_start_time()->set_seconds(1'700'000'000);
    *result.mutable_run_time() = rpc::ToProto(run_time);
    for (const char* name : {"exact_match", "f1"}) {
      v1::Metric& metric = *result.add_metrics();
      metric.set_name(name);
      metric.set_value(50);
      metric.set_examples(10);
    }
  }
  started_.clear();
  v1::SyncResponse response;
  MustSucceed(
      [&](grpc::ClientContext* context) { return gateway_->Sync(context, request, &response); });
  for (const v1::ForgetOrder& order : response.forget()) {
    EXPECT_TRUE(order.accepted());
  }
  started_.assign(response.start().begin(), response.start().end());
}

void ServerTest::RunAll(absl::Duration run_time) {
  do {
    Sync(run_time);
  } while (running() > 0);
}

}  // namespace concur::testing
