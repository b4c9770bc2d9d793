// SPDX-License-Identifier: Apache-2.0
// Uploads that are broken off, and what becomes of them.
#include <grpc/grpc.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "base/digest.h"
#include "proto/rpc/channel.h"
#include "proto/rpc/convert_sweep.h"
#include "tests/coordinator/server/server_fixture.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

int64_t SizeOf(absl::string_view data) { return static_cast<int64_t>(data.size()); }

std::string Bytes(int64_t count) {
  std::string bytes;
  for (int64_t i = 0; SizeOf(bytes) < count; ++i) {
    bytes += static_cast<char>(i * i / 7);
  }
  return bytes;
}

// An upload that has not ended.
template <typename Stub>
class Stream {
 public:
  // An upload of an artifact with so many bytes.
  Stream(Stub& stub, const Digest& digest, int64_t offset, int64_t bytes)
      : writer_(stub.UploadArtifact(&context_, &response_)) {
    piece_.set_digest(digest.ToBytes());
    piece_.set_offset(offset);
    piece_.set_size_bytes(bytes);
  }
  ~Stream() {
    if (!ended_) {
      Cancel();
    }
  }

  // In messages of 256 KiB, one at least.
  void Write(absl::string_view data) {
    do {
      piece_.set_data(std::string(data.substr(0, rpc::kChunkBytes)));
      data.remove_prefix(piece_.data().size());
      if (!writer_->Write(piece_)) {
        return;  // End says why
      }
      piece_.clear_digest();
      piece_.clear_offset();
      piece_.clear_size_bytes();
    } while (!data.empty());
  }
  grpc::Status End() {
    ended_ = true;
    writer_->WritesDone();
    return writer_->Finish();
  }
  void Cancel() {
    ended_ = true;
    context_.TryCancel();
    writer_->Finish();
  }
  const v1::UploadArtifactResponse& response() const { return response_; }

 private:
  grpc::ClientContext context_;
  v1::UploadArtifactResponse response_;
  std::unique_ptr<grpc::ClientWriter<v1::UploadArtifactRequest>> writer_;
  v1::UploadArtifactRequest piece_;
  bool ended_ = false;
};

class UploadsTest : public ServerTest {
 protected:
  // When the last user of gRPC 1.51 ends, it may wait ten seconds for a poller that calls which
  // were canceled have left behind. One that never ends is none of that.
  static void SetUpTestSuite() { grpc_init(); }

  template <typename Stub>
  v1::GetUploadOffsetResponse Ask(Stub& stub, const Digest& digest) {
    grpc::ClientContext context;
    v1::GetUploadOffsetRequest request;
    request.set_digest(digest.ToBytes());
    v1::GetUploadOffsetResponse response;
    const grpc::Status status = stub.GetUploadOffset(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  template <typename Stub>
  int64_t Offset(Stub& stub, const Digest& digest) {
    return Ask(stub, digest).offset();
  }

  // Number of bytes of unfinished uploads on the disk; -1 when there are none.
  int64_t BytesUnderWay() const {
    int64_t bytes = -1;
    std::error_code gone;
    for (const auto& entry :
         std::filesystem::directory_iterator(options_.data_directory + "/artifacts/tmp")) {
      if (entry.path().extension() == ".part") {
        const auto size = static_cast<int64_t>(entry.file_size(gone));
        bytes = std::max<int64_t>(bytes, 0) + (gone ? 0 : size);
      }
    }
    return bytes;
  }
  // Asks the server again and again until it is so.
  template <typename Condition>
  bool Eventually(Condition condition) {
    const absl::Time end = absl::Now() + absl::Seconds(60);
    while (absl::Now() < end) {
      if (condition()) {
        return true;
      }
      Ask(client(), Sha256Of("nothing"));
    }
    return false;
  }

  // Sends the first `bytes` bytes and is gone.
  template <typename Stub>
  void BreakOff(Stub& stub, const std::string& data, int64_t bytes) {
    const Digest digest = Sha256Of(data);
    Stream<Stub> upload(stub, digest, 0, SizeOf(data));
    upload.Write(absl::string_view(data).substr(0, bytes));
    ASSERT_TRUE(Eventually([&] { return BytesUnderWay() == bytes; }));
    upload.Cancel();
    ASSERT_TRUE(Eventually([&] { return Offset(stub, digest) != 0; }));
    EXPECT_EQ(Offset(stub, digest), bytes);
  }

  template <typename Stub>
  grpc::Status Send(Stub& stub, const Digest& digest, absl::string_view data, int64_t offset) {
    Stream<Stub> upload(stub, digest, offset, offset + SizeOf(data));
    upload.Write(data);
    return upload.End();
  }

  template <typename Stub>
  void ExpectGoesOn(Stub& stub, const std::string& data) {
    BreakOff(stub, data, 2 * kMiB);
    const Digest digest = Sha256Of(data);
    Stream<Stub> rest(stub, digest, 2 * kMiB, SizeOf(data));
    rest.Write(absl::string_view(data).substr(2 * kMiB));
    const grpc::Status status = rest.End();
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(rest.response().digest(), digest.ToBytes());
    EXPECT_EQ(rest.response().size_bytes(), SizeOf(data));
    EXPECT_EQ(BytesUnderWay(), -1);
    const v1::GetUploadOffsetResponse told = Ask(stub, digest);
    EXPECT_TRUE(told.stored());
    EXPECT_EQ(told.offset(), 0);

    grpc::ClientContext context;
    v1::DownloadArtifactRequest request;
    request.set_digest(digest.ToBytes());
    const auto reader = stub.DownloadArtifact(&context, request);
    std::string back;
    for (v1::DownloadArtifactResponse piece; reader->Read(&piece);) {
      back += piece.data();
    }
    EXPECT_TRUE(reader->Finish().ok());
    EXPECT_TRUE(back == data);
  }

  std::unique_ptr<v1::WorkerGateway::Stub> ConnectWorker() const {
    return v1::WorkerGateway::NewStub(*rpc::MakeChannel(options_.listen));
  }
};

TEST_F(UploadsTest, AnUploadGoesOnWhereItWasBrokenOff) {
  ExpectGoesOn(client(), Bytes(3 * kMiB + 17));
  ExpectGoesOn(*ConnectWorker(), Bytes(4 * kMiB));
}

TEST_F(UploadsTest, WhatOneGoesOnWithNobodyElseCan) {
  const std::string data = Bytes(3 * kMiB);
  const Digest digest = Sha256Of(data);
  BreakOff(client(), data, 2 * kMiB);
  {
    Stream<v1::Coordinator::Stub> first(client(), digest, 2 * kMiB, SizeOf(data));
    first.Write("");
    ASSERT_TRUE(Eventually([&] { return Offset(client(), digest) == 0; }));
    EXPECT_EQ(Send(client(), digest, "x", 2 * kMiB).error_code(), grpc::StatusCode::ABORTED);
  }
  // It was broken off in its turn.
  EXPECT_TRUE(Eventually([&] { return Offset(client(), digest) == 2 * kMiB; }));
}

TEST_F(UploadsTest, AStreamThatBreaksBehindItsLastByteIsStored) {
  const std::string data = Bytes(2 * kMiB);
  {
    Stream<v1::Coordinator::Stub> upload(client(), Sha256Of(data), 0, SizeOf(data));
    upload.Write(data);
    ASSERT_TRUE(Eventually([&] { return BytesUnderWay() == 2 * kMiB; }));
  }
  EXPECT_TRUE(Eventually([&] { return Ask(client(), Sha256Of(data)).stored(); }));
}

TEST_F(UploadsTest, AnotherOffsetThanIsHeldIsAborted) {
  const std::string data = Bytes(3 * kMiB);
  const Digest digest = Sha256Of(data);
  BreakOff(client(), data, 2 * kMiB);
  for (const int64_t offset : {kMiB, 2 * kMiB + 1, 3 * kMiB}) {
    const grpc::Status status = Send(client(), digest, "x", offset);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::ABORTED) << offset;
    EXPECT_THAT(status.error_message(), HasSubstr("2097152 bytes, got"));
  }
  const grpc::Status negative = Send(client(), digest, "x", -1);
  EXPECT_EQ(negative.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(negative.error_message(), HasSubstr("offset: expected 0 or more"));
  const grpc::Status unknown = Send(client(), Sha256Of("unknown"), "x", kMiB);
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_THAT(unknown.error_message(), HasSubstr(" 0 bytes, got 1048576: begin at 0"));
  EXPECT_EQ(Offset(client(), digest), 2 * kMiB) << "it is held as before";
  // From the front is always right.
  EXPECT_TRUE(Send(client(), digest, data, 0).ok());
  EXPECT_EQ(BytesUnderWay(), -1);
}

// 3 MiB that were announced as one byte passed a quota of 1 MiB.
TEST_F(UploadsTest, MoreBytesThanWereAnnouncedAreNotTaken) {
  options_.engine.policy.quotas.owners["ada"].stored_bytes_max = kMiB;
  Restart();
  const std::string data = Bytes(3 * kMiB);
  Stream<v1::Coordinator::Stub> upload(client(), Sha256Of(data), 0, 1);
  upload.Write(data);
  const grpc::Status status = upload.End();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("more than 1 bytes, the size that it announced"));
  EXPECT_FALSE(Ask(client(), Sha256Of(data)).stored());
}

TEST_F(UploadsTest, WrongBytesAreNotHeld) {
  const Digest digest = Sha256Of("other bytes");
  const grpc::Status wrong = Send(client(), digest, Bytes(2 * kMiB), 0);
  EXPECT_EQ(wrong.error_code(), grpc::StatusCode::DATA_LOSS);
  EXPECT_TRUE(Eventually([&] { return BytesUnderWay() == -1; }));
  EXPECT_EQ(Offset(client(), digest), 0);
}

TEST_F(UploadsTest, WrongBytesBehindGoodOnesAreNotHeldEither) {
  const std::string data = Bytes(3 * kMiB);
  BreakOff(client(), data, 2 * kMiB);
  const grpc::Status wrong = Send(client(), Sha256Of(data), "wrong", 2 * kMiB);
  EXPECT_EQ(wrong.error_code(), grpc::StatusCode::DATA_LOSS);
  EXPECT_TRUE(Eventually([&] { return BytesUnderWay() == -1; }));
  EXPECT_EQ(Offset(client(), Sha256Of(data)), 0);
}

TEST_F(UploadsTest, LittleIsNotHeld) {
  const std::string data = Bytes(kMiB);
  {
    Stream<v1::Coordinator::Stub> upload(client(), Sha256Of(data), 0, SizeOf(data));
    upload.Write(absl::string_view(data).substr(1));
    ASSERT_TRUE(Eventually([&] { return BytesUnderWay() == kMiB - 1; }));
  }
  EXPECT_TRUE(Eventually([&] { return BytesUnderWay() == -1; }));
  EXPECT_EQ(Offset(client(), Sha256Of(data)), 0);
}

TEST_F(UploadsTest, WithoutASizeNothingIsHeld) {
  // As clients were before there was one.
  const std::string data = Bytes(3 * kMiB);
  {
    Stream<v1::Coordinator::Stub> upload(client(), Sha256Of(data), 0, 0);
    upload.Write(absl::string_view(data).substr(kMiB));
    ASSERT_TRUE(Eventually([&] { return BytesUnderWay() == 2 * kMiB; }));
  }
  EXPECT_TRUE(Eventually([&] { return BytesUnderWay() == -1; }));
  EXPECT_EQ(Offset(client(), Sha256Of(data)), 0);
  Stream<v1::Coordinator::Stub> negative(client(), Sha256Of(data), 0, -1);
  negative.Write("x");
  const grpc::Status status = negative.End();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("size_bytes: expected 0 or more"));
}

TEST_F(UploadsTest, BytesBeforeTheOffsetCountForTheLimit) {
  options_.limits.artifact_bytes_max = 3 * kMiB - 1;
  Restart();
  const std::string data = Bytes(3 * kMiB);
  BreakOff(client(), data, 2 * kMiB);
  const grpc::Status large =
      Send(client(), Sha256Of(data), absl::string_view(data).substr(2 * kMiB), 2 * kMiB);
  EXPECT_EQ(large.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(large.error_message(), HasSubstr("limits.artifact_bytes_max"));
  EXPECT_TRUE(Eventually([&] { return BytesUnderWay() == -1; })) << "what was refused is not held";
}

TEST_F(UploadsTest, WhatIsHeldBelongsToTheTokenThatSentIt) {
  rpc::Credentials other;
  other.token = "another";
  const auto stranger = v1::Coordinator::NewStub(*rpc::MakeChannel(options_.listen, other));
  const std::string data = Bytes(3 * kMiB);
  const Digest digest = Sha256Of(data);
  BreakOff(client(), data, 2 * kMiB);
  EXPECT_EQ(Offset(*stranger, digest), 0);
  EXPECT_EQ(Send(*stranger, digest, "x", 2 * kMiB).error_code(), grpc::StatusCode::ABORTED);
  EXPECT_EQ(Offset(client(), digest), 2 * kMiB);
}

TEST_F(UploadsTest, WhatIsHeldGoesFirstWhenTheDiskIsFull) {
  v1::CreateSweepRequest sweep;
  *sweep.mutable_spec() = rpc::ToProto(Spec("a", 1));
  sweep.set_request_id("full");
  options_.limits.disk_free_min = INT64_MAX;  // which binds users
  Restart();
  const auto worker = ConnectWorker();
  const std::string data = Bytes(3 * kMiB);
  const auto expect_nothing_held = [&](const grpc::Status& refused) {
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(Offset(*worker, Sha256Of(data)), 0);
    EXPECT_EQ(BytesUnderWay(), -1);
  };
  BreakOff(*worker, data, 2 * kMiB);
  expect_nothing_held(Send(client(), Sha256Of("x"), "x", 0));
  BreakOff(*worker, data, 2 * kMiB);
  grpc::ClientContext context;
  v1::CreateSweepResponse response;
  expect_nothing_held(client().CreateSweep(&context, sweep, &response));
}

TEST_F(UploadsTest, WhatCameWholeInTheMeantimeIsNotHeld) {
  const std::string data = Bytes(3 * kMiB);
  const Digest digest = Sha256Of(data);
  {
    Stream<v1::Coordinator::Stub> stuck(client(), digest, 0, SizeOf(data));
    stuck.Write(absl::string_view(data).substr(0, 2 * kMiB));
    ASSERT_TRUE(Eventually([&] { return BytesUnderWay() == 2 * kMiB; }));
    EXPECT_TRUE(Send(*ConnectWorker(), digest, data, 0).ok());
  }
  EXPECT_TRUE(Eventually([&] { return BytesUnderWay() == -1; }));
}

TEST_F(UploadsTest, AServerThatStartsAgainHoldsNothing) {
  const std::string data = Bytes(3 * kMiB);
  BreakOff(client(), data, 2 * kMiB);
  Restart();
  EXPECT_EQ(BytesUnderWay(), -1) << "it left nothing behind";
  EXPECT_EQ(Offset(client(), Sha256Of(data)), 0);
  const grpc::Status status = Send(client(), Sha256Of(data), "x", 2 * kMiB);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ABORTED);
}

}  // namespace
}  // namespace concur::testing
