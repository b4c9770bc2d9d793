// SPDX-License-Identifier: Apache-2.0
// The artifact store in object storage, against a server that checks what Amazon's checks.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "store/artifacts/artifact_reader.h"
#include "store/artifacts/s3_store.h"
#include "tests/testing/swift_server.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

std::string RandomBytes(size_t size, absl::string_view stream) {
  Random random(1, stream);
  std::string bytes(size, '\0');
  for (char& c : bytes) {
    c = static_cast<char>(random.Below(256));
  }
  return bytes;
}

class SwiftTest : public ::testing::Test {
 protected:
  // One server for all: each test has a prefix of its own.
  static void SetUpTestSuite() {
    if (SwiftServer::IsAvailable()) {
      server_ = new SwiftServer;
      server_->MakeBucket("artifacts");
    }
  }
  static void TearDownTestSuite() {
    delete server_;
    server_ = nullptr;
  }
  void SetUp() override {
    if (server_ == nullptr) {
      GTEST_SKIP() << SwiftServer::kMissing;
    }
    options_.endpoint = server_->endpoint();
    options_.bucket = "artifacts";
    options_.prefix = absl::StrCat(
        "of/", ::testing::UnitTest::GetInstance()->current_test_info()->name(), "-1.0_x");
    options_.credentials = {SwiftServer::kAccessKey, SwiftServer::kSecretKey, ""};
    options_.part_bytes = int64_t{5} << 20;
    options_.touched_for = absl::ZeroDuration();
    options_.sleep = [](absl::Duration) {};
    Open();
  }
  void Open() { store_ = std::make_unique<S3Store>(clock_, options_, "an id"); }

  absl::Status Put(absl::string_view data) const {
    CONCUR_ASSIGN_OR_RETURN(const auto writer, store_->NewWriter(Sha256Of(data)));
    for (size_t at = 0; at < data.size(); at += 300'000) {
      CONCUR_RETURN_IF_ERROR(writer->Append(data.substr(at, 300'000)));
    }
    return writer->Finish().status();
  }
  absl::StatusOr<std::string> Read(const Digest& digest, int64_t offset = 0) const {
    ArtifactReader reader(*store_, digest, offset);
    std::string all;
    std::string piece;
    do {
      CONCUR_RETURN_IF_ERROR(reader.Next(100'000, &piece));
      all += piece;
    } while (!piece.empty());
    return all;
  }

  inline static SwiftServer* server_ = nullptr;
  SystemClock clock_;
  s3::Options options_;
  std::unique_ptr<S3Store> store_;
};

TEST_F(SwiftTest, WhatWasPutIsReadWhetherInOnePartOrMany) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{300'000}, size_t{5} << 20,
                            (size_t{5} << 20) + 1, size_t{12} << 20}) {
    SCOPED_TRACE(size);
    const std::string data = RandomBytes(size, absl::StrCat(size));
    const Digest digest = Sha256Of(data);
    EXPECT_THAT(store_->Size(digest),
                StatusIs(absl::StatusCode::kNotFound, HasSubstr("not stored")));
    ASSERT_OK(Put(data));
    ASSERT_OK_AND_ASSIGN(const int64_t bytes, store_->Size(digest));
    EXPECT_EQ(bytes, static_cast<int64_t>(size));
    ASSERT_OK_AND_ASSIGN(const std::string read, Read(digest));
    EXPECT_TRUE(read == data);
    ASSERT_OK_AND_ASSIGN(const std::string rest, Read(digest, static_cast<int64_t>(size / 2)));
    EXPECT_TRUE(rest == data.substr(size / 2));
    EXPECT_OK(store_->Verify(digest));
    EXPECT_OK(store_->Touch(digest));
    ASSERT_OK(Put(data)) << "again";
  }
}

TEST_F(SwiftTest, AnUnknownDigestIsNotFoundEverywhere) {
  const Digest digest = Sha256Of("nobody put this");
  const auto not_found = StatusIs(absl::StatusCode::kNotFound, HasSubstr(digest.ToHex()));
  EXPECT_THAT(store_->Size(digest), not_found);
  EXPECT_THAT(store_->OpenSource(digest), not_found);
  EXPECT_THAT(store_->Verify(digest), not_found);
  EXPECT_THAT(store_->Touch(digest), not_found);
}

TEST_F(SwiftTest, NothingIsThereBeforeTheLastByteIs) {
  const std::string data = RandomBytes(size_t{11} << 20, "half");
  s3::Client client(clock_, options_);
  {
    ASSERT_OK_AND_ASSIGN(const auto writer, store_->NewWriter(Sha256Of(data)));
    ASSERT_OK(writer->Append(data));
    EXPECT_THAT(store_->Size(Sha256Of(data)), StatusIs(absl::StatusCode::kNotFound, HasSubstr("")));
    ASSERT_OK_AND_ASSIGN(const s3::UploadPage begun, client.ListUploads(options_.prefix, {}));
    EXPECT_EQ(begun.uploads.size(), 1u);
  }
  ASSERT_OK_AND_ASSIGN(const s3::UploadPage left, client.ListUploads(options_.prefix, {}));
  EXPECT_THAT(left.uploads, IsEmpty());
  // Other bytes than announced.
  ASSERT_OK_AND_ASSIGN(const auto writer, store_->NewWriter(Sha256Of("something else")));
  ASSERT_OK(writer->Append(data));
  EXPECT_THAT(writer->Finish(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(Sha256Of(data).ToHex())));
  EXPECT_THAT(store_->Size(Sha256Of("something else")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("")));
}

TEST_F(SwiftTest, TheServerComparesWhatItGotWithTheDigest) {
  s3::Client client(clock_, options_);
  EXPECT_THAT(client.Put("of/bad", "these bytes", Sha256Of("other bytes")),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("6 attempts")));
  EXPECT_THAT(client.Head("of/bad"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("404")));
}

TEST_F(SwiftTest, CollectRemovesOldArtifactsThatNobodyNeeds) {
  ASSERT_OK(Put("live"));
  ASSERT_OK(Put("dead"));
  s3::Client client(clock_, options_);
  ASSERT_OK(
      client.Put(options_.prefix + "/sha256/ab/notes", "a stranger's", Sha256Of("a stranger's")));
  ASSERT_OK_AND_ASSIGN(const int64_t young, store_->Collect({}, absl::Now() - absl::Hours(1)));
  EXPECT_EQ(young, 0);
  ASSERT_OK_AND_ASSIGN(const int64_t freed,
                       store_->Collect({Sha256Of("live")}, absl::Now() + absl::Hours(1)));
  EXPECT_EQ(freed, 4);
  ASSERT_OK_AND_ASSIGN(const std::vector<Digest> all, store_->List());
  EXPECT_THAT(all, UnorderedElementsAre(Sha256Of("live")));
  EXPECT_OK(client.Head(options_.prefix + "/sha256/ab/notes").status());
}

TEST_F(SwiftTest, ATouchMakesAnArtifactAsNew) {
  ASSERT_OK(Put("asked about"));
  const Digest digest = Sha256Of("asked about");
  s3::Client client(clock_, options_);
  const std::string key =
      absl::StrCat(options_.prefix, "/sha256/", digest.ToHex().substr(0, 2), "/", digest.ToHex());
  ASSERT_OK_AND_ASSIGN(const s3::Client::Info before, client.Head(key));
  // The server's times are whole seconds.
  Eventually([&] { return absl::Now() > before.modified + absl::Seconds(1); });
  ASSERT_OK(store_->Touch(digest));
  ASSERT_OK_AND_ASSIGN(const s3::Client::Info after, client.Head(key));
  EXPECT_GT(after.modified, before.modified);
  ASSERT_OK_AND_ASSIGN(const std::string read, Read(digest));
  EXPECT_EQ(read, "asked about");
}

TEST_F(SwiftTest, ADamagedArtifactIsSetAsideAndNeverServed) {
  ASSERT_OK(Put("the right bytes"));
  const Digest digest = Sha256Of("the right bytes");
  s3::Client client(clock_, options_);
  const std::string key =
      absl::StrCat(options_.prefix, "/sha256/", digest.ToHex().substr(0, 2), "/", digest.ToHex());
  ASSERT_OK(client.Put(key, "the wrong bytes", Sha256Of("the wrong bytes")));
  EXPECT_THAT(Read(digest), StatusIs(absl::StatusCode::kDataLoss,
                                     AllOf(HasSubstr(digest.ToHex()), HasSubstr("moved to of/"))));
  EXPECT_THAT(store_->Size(digest), StatusIs(absl::StatusCode::kNotFound, HasSubstr("")));
  ASSERT_OK(Put("the right bytes"));
  EXPECT_OK(Read(digest).status());
}

TEST_F(SwiftTest, ListsOfManyPagesAreWhole) {
  options_.page_size = 4;
  Open();
  std::vector<Digest> put;
  for (int i = 0; i < 10; ++i) {
    const std::string data = absl::StrCat(i);
    put.push_back(Sha256Of(data));
    ASSERT_OK(Put(data));
  }
  std::sort(put.begin(), put.end());
  ASSERT_OK_AND_ASSIGN(const std::vector<Digest> all, store_->List());
  EXPECT_TRUE(all == put);
}

TEST_F(SwiftTest, WhatIsWrongIsSaid) {
  EXPECT_THAT(store_->ReadId(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("NoSuchKey")));
  ASSERT_OK(store_->WriteId());
  ASSERT_OK_AND_ASSIGN(const std::string id, store_->ReadId());
  EXPECT_EQ(id, "an id");

  options_.credentials.secret_key = "wrong";
  Open();
  EXPECT_THAT(store_->ReadId(),
              StatusIs(absl::StatusCode::kUnauthenticated,
                       AllOf(HasSubstr("SignatureDoesNotMatch"), HasSubstr("is wrong"))));
  EXPECT_THAT(Put("data"), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("is wrong")));
  options_.credentials.secret_key = SwiftServer::kSecretKey;
  options_.region = "eu-west-7";
  Open();
  EXPECT_THAT(store_->ReadId(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                         AllOf(HasSubstr("artifacts.s3.region is eu-west-7"),
                                               HasSubstr("the bucket is in us-east-1"))));
  options_.region = "us-east-1";
  options_.bucket = "nobodys";
  Open();
  EXPECT_THAT(store_->ReadId(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("NoSuchBucket"), HasSubstr("make the bucket"))));
  options_.endpoint = "http://127.0.0.1:1";
  Open();
  EXPECT_THAT(store_->ReadId(), StatusIs(absl::StatusCode::kUnavailable,
                                         AllOf(HasSubstr("127.0.0.1:1"), HasSubstr("6 attempts"))));
}

}  // namespace
}  // namespace concur::testing
