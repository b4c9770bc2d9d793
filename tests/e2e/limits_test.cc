// SPDX-License-Identifier: Apache-2.0
// Calls that a coordinator's options forbid are refused with the option's name, and leave nothing
// behind; who opens connections and streams and leaves them idle is let go, and disturbs nobody.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/file.h"
#include "concur/v1/coordinator.grpc.pb.h"
#include "proto/rpc/channel.h"
#include "proto/rpc/credentials.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/test.h"
#include "tests/testing/text.h"

namespace concur::testing {
namespace {

// One approach whose job writes a model of 4,000 bytes, on `seeds` seeds: two jobs each.
std::string Sweep(int seeds) {
  return absl::StrCat(R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: small}
spec:
  approaches:
    - metadata: {name: zeros}
      spec:
        version: "1"
        train: {command: [/bin/sh, -c, "head -c 4000 /dev/zero > {model}; : {train} {seed}"]}
        predict: {command: [/bin/sh, -c, "printf '{{\"accuracy\": 0.5}}' > {metrics}; : {model} {test}"]}
        resources: {cpus: 2}
  benchmarks:
    - metadata: {name: task}
      spec: {format: file, train: set.txt, test: set.txt, metric: accuracy}
  retry: {failures_max: 1}
  seeds: {from: 1, to: )",
                      seeds, "}\n");
}

class LimitsTest : public ::testing::Test {
 protected:
  void Start(absl::string_view spec) {
    cluster_.Write("set.txt", "x\n");
    cluster_.Write("options.yaml",
                   absl::StrCat("apiVersion: concur/v1\nkind: CoordinatorOptions\nspec: ", spec));
    cluster_.StartCoordinator({"--options", cluster_.File("options.yaml")});
  }
  Output Submit(int seeds) {
    cluster_.Write("sweep.yaml", Sweep(seeds));
    return cluster_.Concur({"sweep", "submit", cluster_.File("sweep.yaml")});
  }
  std::string Sweeps() { return cluster_.Concur({"-o", "csv", "sweep", "list"}).out; }

  Cluster cluster_;
};

TEST_F(LimitsTest, SweepOfTooManyJobsIsRefused) {
  Start("{limits: {jobs_per_sweep_max: 15}}\n");
  const Output refused = Submit(8);
  EXPECT_EQ(refused.exit_code, 1) << refused.out;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("16 jobs"), HasSubstr("jobs_per_sweep_max")));
  EXPECT_THAT(Sweeps(), Not(HasSubstr("small")));
}

TEST_F(LimitsTest, OneSweepTooManyIsRefusedUntilOneIsDeleted) {
  Start("{limits: {sweeps_max: 1}}\n");
  EXPECT_EQ(Submit(1).exit_code, 0);
  const Output refused = Submit(2);
  EXPECT_EQ(refused.exit_code, 1) << refused.out;
  EXPECT_THAT(refused.err, HasSubstr("limits.sweeps_max"));
  EXPECT_THAT(Sweeps(), Not(HasSubstr("s2")));
  EXPECT_EQ(cluster_.Concur({"sweep", "cancel", "s1"}).exit_code, 0);
  EXPECT_EQ(cluster_.Concur({"sweep", "delete", "s1", "--yes"}).exit_code, 0);
  EXPECT_EQ(Submit(2).exit_code, 0);
}

TEST_F(LimitsTest, SweepBeyondTheMemoryForJobsIsRefused) {
  Start("{limits: {job_memory_max: 8KiB}}\n");
  EXPECT_EQ(Submit(5).exit_code, 0);
  const Output refused = Submit(6);
  EXPECT_EQ(refused.exit_code, 1) << refused.out;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("limits.job_memory_max"),
                                 HasSubstr("its sweeps have 10, and this one has 12")));
  EXPECT_THAT(Sweeps(), Not(HasSubstr("s2")));
  // A start with less leaves it on disk, and says so.
  cluster_.KillCoordinator(SIGTERM);
  Start("{limits: {job_memory_max: 4KiB}}\n");
  EXPECT_THAT(Sweeps(), HasSubstr("not loaded"));
  const Output left_out = cluster_.Concur({"sweep", "get", "s1"});
  EXPECT_EQ(left_out.exit_code, 4) << left_out.out;
  EXPECT_THAT(left_out.err, AllOf(HasSubstr("it has 10 jobs"), HasSubstr("job_memory_max")));
  EXPECT_EQ(cluster_.Concur({"sweep", "delete", "s1", "--yes"}).exit_code, 4) << "it has not ended";
  cluster_.KillCoordinator(SIGTERM);
  Start("{limits: {job_memory_max: 8KiB}}\n");
  EXPECT_EQ(cluster_.Concur({"sweep", "get", "s1"}).exit_code, 0);
  EXPECT_EQ(cluster_.Concur({"sweep", "cancel", "s1"}).exit_code, 0);
  cluster_.KillCoordinator(SIGTERM);
  Start("{limits: {job_memory_max: 4KiB}}\n");
  EXPECT_THAT(Sweeps(), HasSubstr("not loaded"));
  const Output deleted = cluster_.Concur({"sweep", "delete", "small", "--yes"});
  EXPECT_EQ(deleted.exit_code, 0) << deleted.err;
  EXPECT_THAT(deleted.out, AllOf(HasSubstr("s1"), HasSubstr("small")));
  EXPECT_THAT(Sweeps(), Not(HasSubstr("s1")));
}

TEST_F(LimitsTest, RequestThatFitsInNoPoolIsRefused) {
  Start("{pools: [{name: tiny, max: {cpus: 1, memory: 4GiB}}]}\n");
  const Output refused = Submit(1);
  EXPECT_EQ(refused.exit_code, 2) << refused.out;
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr(".yaml:"), HasSubstr("spec.approaches[0]"),
                    HasSubstr("resources: expected"), HasSubstr("tiny"), HasSubstr("cpus 2")));
  EXPECT_THAT(Sweeps(), Not(HasSubstr("small")));
}

TEST_F(LimitsTest, SweepBeyondItsOwnersQuotaIsRefusedAndTheUseIsShown) {
  Start("{owner: ada, quotas: {owners: [{name: ada, stored_bytes_max: 3B}]}}\n");
  EXPECT_EQ(Submit(1).exit_code, 0);
  EXPECT_THAT(cluster_.Concur({"sweep", "get", "s1"}).out, HasSubstr("2 B of 3 B stored"));
  cluster_.Write("set.txt", "other\n");
  const Output refused = Submit(2);
  EXPECT_EQ(refused.exit_code, 1) << refused.out;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("stored_bytes_max of ada leaves 1 bytes"),
                                 HasSubstr("this upload has 6")));
  EXPECT_THAT(Sweeps(), Not(HasSubstr("s2")));
}

TEST_F(LimitsTest, DataSetOfTooManyBytesIsRefused) {
  Start("{limits: {artifact_bytes_max: 1B}}\n");
  const Output refused = Submit(1);
  EXPECT_EQ(refused.exit_code, 1) << refused.out;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("limits.artifact_bytes_max, 1"), HasSubstr("set.txt")));
  EXPECT_THAT(Sweeps(), Not(HasSubstr("small")));
}

// --- those who do nothing ------------------------------------------------------------------------

class IdlerTest : public LimitsTest {
 protected:
  static constexpr int kTestSetBytes = 16 << 20;  // more than the windows of a connection hold

  std::unique_ptr<v1::Coordinator::Stub> Connect() {
    const auto credentials = rpc::LoadCredentials(cluster_.server(), {});
    CONCUR_CHECK_OK(credentials.status());
    const auto channel = rpc::MakeChannel(cluster_.server(), *credentials);
    CONCUR_CHECK_OK(channel.status());
    channels_.push_back(*channel);
    return v1::Coordinator::NewStub(*channel);
  }
  // A sweep with a large data file, which is then an artifact.
  Digest SubmitLarge() {
    const std::string large(kTestSetBytes, 'x');
    cluster_.Write("set.txt", large);
    cluster_.Write("sweep.yaml", Sweep(1));
    EXPECT_EQ(cluster_.Concur({"sweep", "submit", cluster_.File("sweep.yaml")}).exit_code, 0);
    return Sha256Of(large);
  }
  bool Answers() { return cluster_.Concur({"sweep", "list"}).exit_code == 0; }
  std::string Log() { return ReadFile(cluster_.File("logs/coordinator.err")).value_or(""); }

  std::vector<std::shared_ptr<grpc::Channel>> channels_;
};

// The deadline of every call here, should nothing else end it.
void LimitTime(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
}

void ExpectStoodStill(const grpc::Status& status) {
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(status.error_message(), "the other side stood still for too long");
}

TEST_F(IdlerTest, AReaderThatDoesNotReadIsBrokenOffAndHoldsUpNobody) {
  Start("{limits: {stalled_max: 1s}}\n");
  const Digest large = SubmitLarge();
  const auto stub = Connect();
  v1::DownloadArtifactRequest request;
  request.set_digest(large.ToBytes());
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::DownloadArtifactResponse>>> readers;
  for (int i = 0; i < 20; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    LimitTime(*contexts.back());
    readers.push_back(stub->DownloadArtifact(contexts.back().get(), request));
  }
  EXPECT_TRUE(Answers());
  // Each has its own second: who reads before it is over gets the rest.
  EXPECT_TRUE(Eventually([&] {
    return Count(Log(), "a stream was broken off: the other side neither reads nor sends") ==
           readers.size();
  }));
  EXPECT_THAT(Log(), HasSubstr("DownloadArtifact"));
  for (auto& reader : readers) {
    v1::DownloadArtifactResponse piece;
    int64_t bytes = 0;
    while (reader->Read(&piece)) {
      bytes += static_cast<int64_t>(piece.data().size());
    }
    EXPECT_LT(bytes, kTestSetBytes);
    ExpectStoodStill(reader->Finish());
  }
  // Who reads gets all of it.
  grpc::ClientContext context;
  LimitTime(context);
  const auto reader = stub->DownloadArtifact(&context, request);
  v1::DownloadArtifactResponse piece;
  int64_t bytes = 0;
  while (reader->Read(&piece)) {
    bytes += static_cast<int64_t>(piece.data().size());
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(bytes, kTestSetBytes);
}

TEST_F(IdlerTest, AnUploadThatSendsNothingIsBrokenOff) {
  Start("{limits: {stalled_max: 1s}}\n");
  const auto stub = Connect();
  grpc::ClientContext context;
  LimitTime(context);
  v1::UploadArtifactResponse response;
  const auto writer = stub->UploadArtifact(&context, &response);
  v1::UploadArtifactRequest piece;
  piece.set_digest(Sha256Of("never sent").ToBytes());
  piece.set_data("never");
  ASSERT_TRUE(writer->Write(piece));
  ExpectStoodStill(writer->Finish());  // without WritesDone
  EXPECT_THAT(Log(), HasSubstr("UploadArtifact"));
  EXPECT_TRUE(Answers());
}

// Server reflection, which needs no token.
TEST_F(IdlerTest, AStreamInBothDirectionsThatDoesNotBeginIsBrokenOff) {
  Start("{limits: {stalled_max: 1s}}\n");
  Connect();
  grpc::GenericStub stub(channels_.back());
  grpc::ClientContext context;
  LimitTime(context);
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareCall(
      &context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
  grpc::Status status;
  int steps[2];
  call->StartCall(&steps[0]);
  call->Finish(&status, &steps[1]);
  for (int i = 0; i < 2; ++i) {
    void* step = nullptr;
    bool ok = false;
    ASSERT_TRUE(queue.Next(&step, &ok));
  }
  ExpectStoodStill(status);
  EXPECT_TRUE(Answers());
}

TEST_F(IdlerTest, AWatcherOfASweepInWhichNothingHappensIsNot) {
  Start("{limits: {stalled_max: 1s}}\n");
  EXPECT_EQ(Submit(1).exit_code, 0);
  const auto stub = Connect();
  grpc::ClientContext context;
  LimitTime(context);
  v1::WatchSweepRequest request;
  request.set_sweep("s1");
  const auto reader = stub->WatchSweep(&context, request);
  v1::WatchSweepResponse news;
  ASSERT_TRUE(reader->Read(&news));
  // Meanwhile somebody else stands still for long enough to be broken off.
  grpc::ClientContext other;
  LimitTime(other);
  v1::UploadArtifactResponse response;
  const auto writer = stub->UploadArtifact(&other, &response);
  ExpectStoodStill(writer->Finish());
  EXPECT_EQ(cluster_.Concur({"sweep", "cancel", "s1"}).exit_code, 0);
  while (reader->Read(&news)) {
  }
  EXPECT_EQ(news.sweep().state(), v1::Sweep::STATE_CANCELED);
  EXPECT_TRUE(reader->Finish().ok());
}

TEST_F(IdlerTest, MoreStreamsThanAPeerMayHaveAreRefused) {
  Start("{limits: {streams_per_peer_max: 6}}\n");
  EXPECT_EQ(Submit(1).exit_code, 0);
  v1::WatchSweepRequest request;
  request.set_sweep("s1");
  std::vector<std::unique_ptr<v1::Coordinator::Stub>> stubs;
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::WatchSweepResponse>>> readers;
  v1::WatchSweepResponse news;
  for (int i = 0; i < 6; ++i) {
    stubs.push_back(Connect());
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    LimitTime(*contexts.back());
    readers.push_back(stubs.back()->WatchSweep(contexts.back().get(), request));
    ASSERT_TRUE(readers.back()->Read(&news));
  }
  const auto stub = Connect();
  const auto try_one = [&] {
    grpc::ClientContext context;
    LimitTime(context);
    const auto reader = stub->WatchSweep(&context, request);
    const bool watches = reader->Read(&news);
    if (watches) {
      context.TryCancel();
    }
    return std::pair(watches, reader->Finish());
  };
  const auto [watches, status] = try_one();
  EXPECT_FALSE(watches);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), AllOf(HasSubstr("has 6 streams open"),
                                            HasSubstr("limits.streams_per_peer_max is 6")));
  EXPECT_TRUE(Answers());  // calls that are no streams go on
  contexts[0]->TryCancel();
  EXPECT_TRUE(Eventually([&] { return try_one().first; }));
}

TEST_F(IdlerTest, AConnectionThatSaysNothingIsClosed) {
  Start("{limits: {handshake_max: 1s}}\n");
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_GE(fd, 0);
  const FileDescriptor closer(fd);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = cluster_.File("socket");
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  char bytes[4096];
  for (;;) {  // the server's own settings, then the end
    pollfd ready{fd, POLLIN, 0};
    ASSERT_EQ(poll(&ready, 1, 60'000), 1) << "the connection stays open";
    if (read(fd, bytes, sizeof(bytes)) <= 0) {
      break;
    }
  }
  EXPECT_TRUE(Answers());
}

TEST_F(IdlerTest, AConnectionWithoutACallIsClosed) {
  Start("{limits: {idle_max: 1s}}\n");
  const auto stub = Connect();
  grpc::ClientContext context;
  LimitTime(context);
  v1::ListSweepsResponse sweeps;
  ASSERT_TRUE(stub->ListSweeps(&context, {}, &sweeps).ok());
  grpc::Channel& channel = *channels_.back();
  ASSERT_EQ(channel.GetState(false), GRPC_CHANNEL_READY);
  EXPECT_TRUE(channel.WaitForStateChange(
      GRPC_CHANNEL_READY, std::chrono::system_clock::now() + std::chrono::seconds(60)));
  grpc::ClientContext again;
  LimitTime(again);
  EXPECT_TRUE(stub->ListSweeps(&again, {}, &sweeps).ok());  // it connects anew
}

TEST_F(IdlerTest, AGiantMessageIsRefusedBeforeItIsRead) {
  Start("{}\n");
  // Concur's own clients would not even send it.
  grpc::ChannelArguments arguments;
  arguments.SetMaxSendMessageSize(-1);
  const auto client = v1::Coordinator::NewStub(
      grpc::CreateCustomChannel(cluster_.server(), grpc::InsecureChannelCredentials(), arguments));
  grpc::ClientContext context;
  LimitTime(context);
  context.AddMetadata(
      "authorization",
      absl::StrCat("Bearer ", absl::StripAsciiWhitespace(*ReadFile(cluster_.File("data/token")))));
  v1::CreateSweepRequest request;
  request.mutable_spec()->set_description(
      std::string(static_cast<size_t>(rpc::kMessageBytesLimit) + 1, 'x'));
  v1::CreateSweepResponse created;
  const grpc::Status giant = client->CreateSweep(&context, request, &created);
  EXPECT_EQ(giant.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << giant.error_message();
  EXPECT_THAT(giant.error_message(), HasSubstr("Received message larger than max"));
  // A client without a token may send less than others.
  const auto nobody = v1::Coordinator::NewStub(grpc::CreateCustomChannel(
      cluster_.server(), grpc::InsecureChannelCredentials(), grpc::ChannelArguments()));
  grpc::ClientContext without_token;
  LimitTime(without_token);
  request.mutable_spec()->set_description(std::string(1 << 20, 'x'));
  const grpc::Status cut = nobody->CreateSweep(&without_token, request, &created);
  EXPECT_EQ(cut.error_code(), grpc::StatusCode::UNAVAILABLE) << cut.error_message();
  // Pieces of artifacts have a smaller limit of their own.
  const auto stub = Connect();
  grpc::ClientContext upload;
  LimitTime(upload);
  v1::UploadArtifactResponse response;
  const auto writer = stub->UploadArtifact(&upload, &response);
  v1::UploadArtifactRequest piece;
  piece.set_digest(Sha256Of("x").ToBytes());
  piece.set_data(std::string((1 << 20) + 1, 'x'));
  writer->Write(piece);
  writer->WritesDone();
  const grpc::Status large = writer->Finish();
  EXPECT_EQ(large.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(large.error_message(), HasSubstr("data: at most 1048576 bytes"));
  EXPECT_TRUE(Answers());
}

}  // namespace
}  // namespace concur::testing
