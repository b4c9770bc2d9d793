// SPDX-License-Identifier: Apache-2.0
#include "core/state/reuse_index.h"

#include <functional>
#include <optional>
#include <set>

#include "tests/testing/test.h"

namespace concur {
namespace {

JobId SweepJob(uint64_t sweep, uint32_t index = 0) { return {{sweep}, index}; }

class ReuseIndexTest : public ::testing::Test {
 protected:
  void Add(const char* key, JobId job, bool with_system = false) {
    if (with_system) {
      systems_.insert(job);
    }
    index_.AddFinished(Sha256Of(key), block_, job, is_better_);
    Check();
  }
  void Remove(const char* key, JobId job) {
    index_.RemoveFinished(Sha256Of(key), block_, job, is_better_);
    Check();
  }
  std::optional<JobId> SourceOf(const char* key) { return index_.SourceOf(Sha256Of(key)); }
  void Check() {
    index_.CheckInvariants(is_better_, [this](JobId) { return block_; });
  }

  const Digest block_ = Sha256Of("block");
  const Digest key_ = Sha256Of("key");
  std::set<JobId> systems_;
  const std::function<bool(JobId, JobId)> is_better_ = [this](JobId a, JobId b) {
    return systems_.contains(a) && !systems_.contains(b);
  };
  ReuseIndex index_;
};

TEST_F(ReuseIndexTest, TheFirstFinishedJobOfAKeyIsItsSource) {
  EXPECT_EQ(SourceOf("a"), std::nullopt);
  Add("a", SweepJob(1));
  Add("a", SweepJob(2));
  Add("b", SweepJob(3));
  EXPECT_EQ(SourceOf("a"), SweepJob(1));
  EXPECT_EQ(SourceOf("b"), SweepJob(3));
  EXPECT_EQ(index_.finished(), 3u);
}

TEST_F(ReuseIndexTest, AJobWithItsSystemTakesThePlaceOfASourceWithoutOne) {
  Add("a", SweepJob(1));
  Add("a", SweepJob(2), /*with_system=*/true);
  EXPECT_EQ(SourceOf("a"), SweepJob(2));
  Add("a", SweepJob(3), /*with_system=*/true);
  EXPECT_EQ(SourceOf("a"), SweepJob(2)) << "it has its system already";
}

TEST_F(ReuseIndexTest, ASourceThatGoesIsReplacedByAJobWithItsSystemIfThereIsOne) {
  Add("a", SweepJob(1), /*with_system=*/true);
  Add("a", SweepJob(2));
  Add("a", SweepJob(3), /*with_system=*/true);
  Remove("a", SweepJob(1));
  EXPECT_EQ(SourceOf("a"), SweepJob(3));
  Remove("a", SweepJob(3));
  EXPECT_EQ(SourceOf("a"), SweepJob(2));
  Remove("a", SweepJob(2));
  EXPECT_EQ(SourceOf("a"), std::nullopt);
  EXPECT_EQ(index_.finished(), 0u);
}

TEST_F(ReuseIndexTest, AJobThatIsNoSourceGoesWithoutATrace) {
  Add("a", SweepJob(1));
  Add("a", SweepJob(2));
  Add("a", SweepJob(3));
  Remove("a", SweepJob(2));
  EXPECT_EQ(SourceOf("a"), SweepJob(1));
  EXPECT_EQ(index_.finished(), 2u);
}

TEST_F(ReuseIndexTest, ABlockIsKnownAsLongAsAnyOfItsKeysHasASource) {
  EXPECT_FALSE(index_.HasFinished(block_));
  Add("a", SweepJob(1));
  Add("b", SweepJob(2));
  Remove("a", SweepJob(1));
  EXPECT_TRUE(index_.HasFinished(block_));
  Remove("b", SweepJob(2));
  EXPECT_FALSE(index_.HasFinished(block_));
}

TEST_F(ReuseIndexTest, OfSeveralRunningJobsWithAKeyTheFirstCounts) {
  index_.AddRunning(key_, SweepJob(1));
  index_.AddRunning(key_, SweepJob(2));
  EXPECT_EQ(index_.RunningWith(key_), SweepJob(1));
  index_.RemoveRunning(key_, SweepJob(2));
  EXPECT_EQ(index_.RunningWith(key_), SweepJob(1));
  index_.RemoveRunning(key_, SweepJob(1));
  EXPECT_EQ(index_.RunningWith(key_), std::nullopt);
}

TEST_F(ReuseIndexTest, FollowersAreTakenInOrderAndKeepTheirLeaderUntilRemoved) {
  index_.AddFollower(SweepJob(1), SweepJob(5));
  index_.AddFollower(SweepJob(1), SweepJob(3));
  index_.AddFollower(SweepJob(2), SweepJob(4));
  EXPECT_EQ(index_.LeaderOf(SweepJob(5)), SweepJob(1));
  index_.RemoveFollower(SweepJob(4));
  EXPECT_EQ(index_.LeaderOf(SweepJob(4)), std::nullopt);
  EXPECT_THAT(index_.TakeFollowers(SweepJob(2)), IsEmpty());
  EXPECT_THAT(index_.TakeFollowers(SweepJob(1)), ElementsAre(SweepJob(3), SweepJob(5)));
  EXPECT_EQ(index_.LeaderOf(SweepJob(3)), SweepJob(1));
  index_.RemoveFollower(SweepJob(3));
  index_.RemoveFollower(SweepJob(5));
  index_.RemoveFollower(SweepJob(5));
  EXPECT_EQ(index_.waiting(), 0u);
  Check();
}

TEST_F(ReuseIndexTest, ASourceWithoutASystemBesideAJobWithOneEndsTheProcess) {
  Add("a", SweepJob(1), /*with_system=*/true);
  Add("a", SweepJob(2), /*with_system=*/true);
  systems_.erase(SweepJob(1));  // without a word to the index
  EXPECT_DEATH(Check(), "is_better");
}

}  // namespace
}  // namespace concur
