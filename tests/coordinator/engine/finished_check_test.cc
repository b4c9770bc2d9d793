// SPDX-License-Identifier: Apache-2.0
// A result that a worker reports is compared with what is stored.
#include "coordinator/engine/finished_check.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/artifacts/directory_store.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

class FinishedCheckTest : public ::testing::Test {
 protected:
  FinishedCheckTest() {
    absl::StatusOr<std::unique_ptr<DirectoryStore>> store =
        DirectoryStore::Open(temp_.File("artifacts"));
    EXPECT_OK(store);
    store_ = *std::move(store);
    EXPECT_OK(store_->Put("stored"));
    JobResult result;
    result.succeeded = true;
    result.metrics = {{"f1", 50, 10}};
    result.artifacts = {{ArtifactKind::kSystem, Sha256Of("stored"), 1}};
    request_.finished = {{AttemptId{{{1}, 7}, {1}}, result}};
  }
  JobResult& result() { return request_.finished.at(0).result; }

  TempDir temp_;
  std::unique_ptr<DirectoryStore> store_;
  SyncRequest request_;
};

// A worker stated one byte for three mebibytes, and its owner's quota counted one.
TEST_F(FinishedCheckTest, SizesAreThoseOfTheArtifacts) {
  CheckFinished(*store_, request_);
  EXPECT_TRUE(result().succeeded);
  ASSERT_THAT(result().artifacts, SizeIs(1));
  EXPECT_EQ(result().artifacts[0].bytes, 6);
}

TEST_F(FinishedCheckTest, ACheckpointHasItsRealSizeAndOneThatWasNeverStoredIsDropped) {
  result().succeeded = false;
  result().failure = FailureClass::kPreempted;
  request_.finished[0].checkpoint = {Sha256Of("stored"), 1, 1};
  CheckFinished(*store_, request_);
  ASSERT_TRUE(request_.finished.at(0).checkpoint.has_value());
  EXPECT_EQ(request_.finished[0].checkpoint->bytes, 6);
  request_.finished[0].checkpoint->digest = Sha256Of("never");
  CheckFinished(*store_, request_);
  ASSERT_THAT(request_.finished, SizeIs(1)) << "it only costs progress";
  EXPECT_EQ(request_.finished[0].checkpoint, std::nullopt);
  EXPECT_EQ(result().failure, FailureClass::kPreempted);
}

// Results with artifacts that were never stored counted as successes, and could not be downloaded.
TEST_F(FinishedCheckTest, ASuccessThatNamesWhatWasNeverStoredIsNone) {
  result().artifacts.push_back({ArtifactKind::kPredictions, Sha256Of("never"), 5});
  CheckFinished(*store_, request_);
  EXPECT_FALSE(result().succeeded);
  EXPECT_EQ(result().failure, FailureClass::kWorker);
  EXPECT_THAT(result().message, HasSubstr("not stored: predictions"));
  EXPECT_THAT(result().metrics, IsEmpty());
  EXPECT_THAT(result().artifacts, SizeIs(1));
}

TEST_F(FinishedCheckTest, ALostLogIsDroppedAndTheResultStands) {
  result().artifacts.push_back({ArtifactKind::kLog, Sha256Of("never"), 5});
  CheckFinished(*store_, request_);
  EXPECT_TRUE(result().succeeded);
  EXPECT_THAT(result().artifacts, SizeIs(1));
}

TEST_F(FinishedCheckTest, AResultThatCannotBeCheckedNowIsReportedAgain) {
  // As object storage that does not answer.
  class Unavailable final : public ArtifactStore {
   public:
    explicit Unavailable(ArtifactStore& store) : store_(store) {}
    const std::string& store_id() const override { return store_.store_id(); }
    const std::string& directory() const override { return store_.directory(); }
    absl::StatusOr<std::unique_ptr<Writer>> NewWriter(const Digest& digest) override {
      return store_.NewWriter(digest);
    }
    absl::StatusOr<std::unique_ptr<Source>> OpenSource(const Digest& digest) const override {
      return store_.OpenSource(digest);
    }
    absl::Status Touch(const Digest& digest) override { return store_.Touch(digest); }
    absl::StatusOr<int64_t> Size(const Digest&) const override {
      return absl::UnavailableError("no connection");
    }
    absl::Status Verify(const Digest& digest) const override { return store_.Verify(digest); }
    absl::StatusOr<std::vector<Digest>> List() const override { return store_.List(); }
    absl::StatusOr<int64_t> Collect(const absl::flat_hash_set<Digest>& live,
                                    absl::Time before) override {
      return store_.Collect(live, before);
    }

   private:
    ArtifactStore& store_;
  };
  const Unavailable unavailable(*store_);
  const AttemptId id = request_.finished[0].id;
  CheckFinished(unavailable, request_);
  EXPECT_THAT(request_.finished, IsEmpty());
  EXPECT_THAT(request_.running, ElementsAre(id));
}

}  // namespace
}  // namespace concur
