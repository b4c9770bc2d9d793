// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/grpc_gateway.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/process/waker.h"
#include "concur/v1/worker.grpc.pb.h"
#include "proto/rpc/convert_sync.h"
#include "tests/testing/test.h"

namespace concur::worker {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

JobOrder TrainOrder() {
  JobOrder order;
  order.id = AttemptId{{{1}, 0}, {1}};
  order.is_train = true;
  order.owner = order.sweep_name = order.approach = order.benchmark = "x";
  order.command = {"true"};
  order.train.push_back({"x", Sha256Of("data"), 4, ".jsonl", 0});
  return order;
}

// A coordinator that answers every Sync at once, unless it is parked, and keeps artifacts in
// memory. What came of an upload that is broken off is held once.
class FakeService : public v1::WorkerGateway::Service {
 public:
  grpc::Status Sync(grpc::ServerContext* context, const v1::SyncRequest* request,
                    v1::SyncResponse* response) override {
    if (request->wait().seconds() > 0) {
      MutexLock lock(mu_);
      while (!context->IsCancelled()) {
        changed_.WaitWithTimeout(mu_, absl::Milliseconds(5));
      }
      return grpc::Status::CANCELLED;
    }
    if (request->worker() == "twin") {
      return {grpc::StatusCode::ALREADY_EXISTS, "a live worker has this name"};
    }
    SyncResponse answer;
    answer.start.push_back(TrainOrder());
    answer.lease = absl::Seconds(30);
    *response = rpc::ToProto(answer);
    if (request->worker() == "bad") {
      response->mutable_start(0)->mutable_id()->set_sweep(0);
    }
    return grpc::Status::OK;
  }

  grpc::Status UploadArtifact(grpc::ServerContext* /*context*/,
                              grpc::ServerReader<v1::UploadArtifactRequest>* reader,
                              v1::UploadArtifactResponse* response) override {
    MutexLock lock(mu_);
    v1::UploadArtifactRequest piece;
    std::string digest;
    std::string data;
    received_.push_back(0);
    for (int pieces = 0; reader->Read(&piece); ++pieces) {
      if (pieces == 0) {
        digest = piece.digest();
        announced_ = piece.size_bytes();
        if (piece.offset() > 0) {
          data = std::exchange(held_[digest], "");
          if (static_cast<int64_t>(data.size()) != piece.offset() || forgets_) {
            return {grpc::StatusCode::ABORTED, "offset: begin at 0"};
          }
        }
      } else if (piece.offset() != 0 || piece.size_bytes() != 0) {
        return {grpc::StatusCode::INVALID_ARGUMENT, "offset: in the first message only"};
      }
      data += piece.data();
      received_.back() += piece.data().size();
      if (received_.back() >= break_at_) {
        break_at_ = SIZE_MAX;
        held_[digest] = data;
        return {grpc::StatusCode::UNAVAILABLE, "connection lost"};
      }
    }
    if (Sha256Of(data).ToBytes() != digest || static_cast<int64_t>(data.size()) != announced_) {
      return {grpc::StatusCode::DATA_LOSS, "digest"};
    }
    artifacts_[digest] = data;
    response->set_digest(digest);
    return grpc::Status::OK;
  }

  grpc::Status GetUploadOffset(grpc::ServerContext* /*context*/,
                               const v1::GetUploadOffsetRequest* request,
                               v1::GetUploadOffsetResponse* response) override {
    MutexLock lock(mu_);
    if (is_old_) {
      return {grpc::StatusCode::UNIMPLEMENTED, ""};
    }
    response->set_offset(static_cast<int64_t>(held_[request->digest()].size()));
    response->set_stored(artifacts_.contains(request->digest()));
    return grpc::Status::OK;
  }

  // The next upload is broken off after so many bytes.
  void BreakAt(size_t bytes) {
    MutexLock lock(mu_);
    break_at_ = bytes;
  }
  // It does not know GetUploadOffset.
  void MakeOld() {
    MutexLock lock(mu_);
    is_old_ = true;
  }
  // It says that it holds something, and holds it no longer when it is asked for.
  void Forget() {
    MutexLock lock(mu_);
    forgets_ = true;
  }
  void Hold(const Digest& digest, const std::string& data) {
    MutexLock lock(mu_);
    held_[digest.ToBytes()] = data;
  }
  std::string Get(const Digest& digest) {
    MutexLock lock(mu_);
    return artifacts_[digest.ToBytes()];
  }
  // Number of bytes of each upload so far.
  std::vector<size_t> received() {
    MutexLock lock(mu_);
    return received_;
  }

  grpc::Status DownloadArtifact(grpc::ServerContext* /*context*/,
                                const v1::DownloadArtifactRequest* request,
                                grpc::ServerWriter<v1::DownloadArtifactResponse>* writer) override {
    MutexLock lock(mu_);
    const auto it = artifacts_.find(request->digest());
    if (it == artifacts_.end()) {
      return {grpc::StatusCode::NOT_FOUND, "no such artifact"};
    }
    for (size_t at = static_cast<size_t>(request->offset()); at < it->second.size(); at += 1000) {
      v1::DownloadArtifactResponse piece;
      piece.set_data(it->second.substr(at, 1000));
      writer->Write(piece);
    }
    return grpc::Status::OK;
  }

 private:
  Mutex mu_;
  CondVar changed_;
  std::map<std::string, std::string> artifacts_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, std::string> held_ ABSL_GUARDED_BY(mu_);
  std::vector<size_t> received_ ABSL_GUARDED_BY(mu_);
  int64_t announced_ ABSL_GUARDED_BY(mu_) = 0;
  size_t break_at_ ABSL_GUARDED_BY(mu_) = SIZE_MAX;
  bool is_old_ ABSL_GUARDED_BY(mu_) = false;
  bool forgets_ ABSL_GUARDED_BY(mu_) = false;
};

class GrpcGatewayTest : public ::testing::Test {
 protected:
  void SetUp() override {
    grpc::ServerBuilder builder;
    address_ = absl::StrCat("unix:", temp_.File("socket"));
    builder.AddListeningPort(address_, grpc::InsecureServerCredentials());
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    gateway_ = Connect(address_);
  }
  void TearDown() override {
    gateway_.reset();
    server_->Shutdown();
  }

  std::unique_ptr<GrpcGateway> Connect(const std::string& addresses) {
    auto coordinators = rpc::Coordinators::Make(addresses, {});
    EXPECT_OK(coordinators);
    return std::make_unique<GrpcGateway>(*std::move(coordinators), [this] { waker_.Wake(); });
  }
  SyncRequest Request(uint64_t sequence, const std::string& name = "w1") {
    SyncRequest request;
    request.worker.name = name;
    request.worker.incarnation = "i";
    request.sequence = sequence;
    request.wait = absl::ZeroDuration();
    return request;
  }
  SyncAnswer Next() {
    for (;;) {
      std::vector<SyncAnswer> answers = gateway_->Poll();
      if (!answers.empty()) {
        EXPECT_EQ(answers.size(), 1u);
        return answers[0];
      }
      waker_.Wait(absl::Seconds(30));
    }
  }

  TempDir temp_;
  std::string address_;
  FakeService service_;
  std::unique_ptr<grpc::Server> server_;
  process::Waker waker_;
  std::unique_ptr<GrpcGateway> gateway_;
  const ArtifactTransfer::IsCanceled never_ = [] { return false; };
};

TEST_F(GrpcGatewayTest, AnAnswerComesThroughPoll) {
  gateway_->StartSync(Request(5), absl::Seconds(30));
  const SyncAnswer answer = Next();
  EXPECT_EQ(answer.sequence, 5u);
  ASSERT_OK(answer.response);
  EXPECT_EQ(answer.response->lease, absl::Seconds(30));
  ASSERT_EQ(answer.response->start.size(), 1u);
  EXPECT_EQ(answer.response->start[0].id.job.sweep.number, 1u);
}

TEST_F(GrpcGatewayTest, ErrorsKeepTheirCodes) {
  gateway_->StartSync(Request(1, "twin"), absl::Seconds(30));
  EXPECT_THAT(Next().response.status(),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("live worker")));
  gateway_->StartSync(Request(2, "bad"), absl::Seconds(30));
  EXPECT_THAT(Next().response.status(),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("malformed")));
}

TEST_F(GrpcGatewayTest, AParkedCallCanBeCanceledOrRunsOutOfTime) {
  SyncRequest request = Request(1);
  request.wait = absl::Seconds(20);
  gateway_->StartSync(request, absl::Seconds(30));
  gateway_->CancelSync(1);
  EXPECT_TRUE(absl::IsCancelled(Next().response.status()));
  request.sequence = 2;
  gateway_->StartSync(request, absl::Milliseconds(20));
  EXPECT_TRUE(absl::IsDeadlineExceeded(Next().response.status()));
  request.sequence = 3;
  gateway_->StartSync(request, absl::Seconds(30));
  gateway_.reset();  // does not wait for the parked call
}

TEST_F(GrpcGatewayTest, AnUnreachableCoordinatorIsUnavailable) {
  gateway_ = Connect(absl::StrCat("unix:", temp_.File("nobody")));
  gateway_->StartSync(Request(1), absl::Seconds(30));
  EXPECT_TRUE(absl::IsUnavailable(Next().response.status()));
  const std::string path = temp_.File("f");
  ASSERT_OK(WriteFileAtomically(path, "x"));
  EXPECT_TRUE(absl::IsUnavailable(gateway_->Upload(Sha256Of("x"), path, never_)));
}

TEST_F(GrpcGatewayTest, ASyncThatIsRefusedGoesToTheNextCoordinator) {
  gateway_ = Connect(absl::StrCat("unix:", temp_.File("nobody"), ",", address_));
  SyncRequest parked = Request(5);
  parked.wait = absl::Seconds(20);
  gateway_->StartSync(parked, absl::Seconds(30));
  ASSERT_OK(Next().response) << "answered at once";
  // Nobody answers: the error names both.
  server_->Shutdown();
  gateway_->StartSync(Request(6), absl::Seconds(30));
  EXPECT_THAT(Next().response.status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("/nobody ("), HasSubstr("/socket ("))));
}

TEST_F(GrpcGatewayTest, TransfersGoToTheNextCoordinatorWhenTheyAreRepeated) {
  gateway_ = Connect(absl::StrCat("unix:", temp_.File("nobody"), ",", address_));
  const std::string path = temp_.File("f");
  ASSERT_OK(WriteFileAtomically(path, "x"));
  EXPECT_TRUE(absl::IsUnavailable(gateway_->Upload(Sha256Of("x"), path, never_)));
  EXPECT_OK(gateway_->Upload(Sha256Of("x"), path, never_));
}

TEST_F(GrpcGatewayTest, ArtifactsGoUpAndComeBackFromAnyOffset) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{1'000'000}}) {
    std::string data(size, 'x');
    for (size_t i = 0; i < size; i += 7) {
      data[i] = static_cast<char>(i);
    }
    const std::string path = temp_.File("data");
    ASSERT_OK(WriteFileAtomically(path, data));
    const Digest digest = Sha256Of(data);
    ASSERT_OK(gateway_->Upload(digest, path, never_));
    for (const size_t offset : {size_t{0}, size / 3, size}) {
      std::string back;
      ASSERT_OK(gateway_->Download(
          digest, static_cast<int64_t>(offset),
          [&](absl::string_view piece) {
            back.append(piece.data(), piece.size());
            return absl::OkStatus();
          },
          never_));
      EXPECT_EQ(back, data.substr(offset));
    }
  }
}

class UploadTest : public GrpcGatewayTest {
 protected:
  UploadTest() {
    for (size_t i = 0; i < data_.size(); i += 7) {
      data_[i] = static_cast<char>(i / 7);
    }
    digest_ = Sha256Of(data_);
    EXPECT_OK(WriteFileAtomically(temp_.File("data"), data_));
  }
  absl::Status Upload() { return gateway_->Upload(digest_, temp_.File("data"), never_); }

  std::string data_ = std::string(3 * kMiB + 5, 'x');
  Digest digest_;
};

TEST_F(UploadTest, GoesOnWhereItWasBrokenOff) {
  service_.BreakAt(2 * kMiB);
  EXPECT_TRUE(absl::IsUnavailable(Upload()));
  ASSERT_OK(Upload());
  EXPECT_EQ(service_.received(), (std::vector<size_t>{2 * kMiB, kMiB + 5}));
  EXPECT_TRUE(service_.Get(digest_) == data_);
}

TEST_F(UploadTest, MayBeBrokenOffAgainAndBehindTheLastByte) {
  service_.BreakAt(2 * kMiB);
  EXPECT_TRUE(absl::IsUnavailable(Upload()));
  service_.BreakAt(kMiB + 5);
  EXPECT_TRUE(absl::IsUnavailable(Upload()));
  ASSERT_OK(Upload());
  EXPECT_EQ(service_.received(), (std::vector<size_t>{2 * kMiB, kMiB + 5, 0}));
  EXPECT_TRUE(service_.Get(digest_) == data_);
}

TEST_F(UploadTest, WhatIsStoredIsNotSent) {
  ASSERT_OK(Upload());
  ASSERT_OK(Upload());
  EXPECT_EQ(service_.received(), std::vector<size_t>{data_.size()});
}

TEST_F(UploadTest, AnOlderCoordinatorIsSentEverything) {
  service_.MakeOld();
  service_.BreakAt(2 * kMiB);
  EXPECT_TRUE(absl::IsUnavailable(Upload()));
  ASSERT_OK(Upload());
  EXPECT_EQ(service_.received(), (std::vector<size_t>{2 * kMiB, data_.size()}));
}

TEST_F(UploadTest, BeginsAgainWhenNothingIsHeldAnyMore) {
  service_.BreakAt(2 * kMiB);
  EXPECT_TRUE(absl::IsUnavailable(Upload()));
  service_.Forget();
  ASSERT_OK(Upload());
  EXPECT_EQ(service_.received(), (std::vector<size_t>{2 * kMiB, 0, data_.size()}));
  EXPECT_TRUE(service_.Get(digest_) == data_);
}

TEST_F(UploadTest, BeginsAgainWhenOtherBytesAreHeld) {
  service_.Hold(digest_, std::string(2 * kMiB, 'y'));
  ASSERT_OK(Upload());
  EXPECT_EQ(service_.received(), (std::vector<size_t>{kMiB + 5, data_.size()}));
  EXPECT_TRUE(service_.Get(digest_) == data_);
}

TEST_F(UploadTest, BeginsAgainWhenMoreIsHeldThanThereIs) {
  service_.Hold(digest_, std::string(4 * kMiB, 'y'));
  ASSERT_OK(Upload());
  EXPECT_EQ(service_.received(), std::vector<size_t>{data_.size()});
}

TEST_F(GrpcGatewayTest, TransfersEndWithTheFirstErrorOrWhenCanceled) {
  const std::string path = temp_.File("data");
  ASSERT_OK(WriteFileAtomically(path, std::string(100'000, 'y')));
  const Digest digest = Sha256Of(std::string(100'000, 'y'));
  EXPECT_TRUE(absl::IsDataLoss(gateway_->Upload(Sha256Of("other"), path, never_)));
  EXPECT_TRUE(absl::IsCancelled(gateway_->Upload(digest, path, [] { return true; })));
  EXPECT_TRUE(absl::IsNotFound(gateway_->Download(
      digest, 0, [](absl::string_view) { return absl::OkStatus(); }, never_)));
  ASSERT_OK(gateway_->Upload(digest, path, never_));
  EXPECT_THAT(gateway_->Download(
                  digest, 0, [](absl::string_view) { return absl::ResourceExhaustedError("full"); },
                  never_),
              StatusIs(absl::StatusCode::kResourceExhausted, "full"));
  EXPECT_TRUE(absl::IsCancelled(gateway_->Download(
      digest, 0, [](absl::string_view) { return absl::OkStatus(); }, [] { return true; })));
}

}  // namespace
}  // namespace concur::worker
