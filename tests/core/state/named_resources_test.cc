// SPDX-License-Identifier: Apache-2.0
#include "core/state/named_resources.h"

#include <map>
#include <string>

#include "tests/testing/test.h"

namespace concur {
namespace {

using ::testing::Pointee;

class NamedResourcesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    resources_.Set("api", 3);
    resources_.Set("db", 1);
  }

  NamedResources resources_;
  const uint32_t one_ = resources_.Add({{"api", 1}});
  const uint32_t two_ = resources_.Add({{"api", 2}});
  const uint32_t both_ = resources_.Add({{"api", 1}, {"db", 1}});
};

TEST_F(NamedResourcesTest, ASetKeepsItsNumberAndNothingIsNumberZero) {
  EXPECT_EQ(resources_.Add({{"api", 1}}), one_);
  EXPECT_NE(one_, two_);
  EXPECT_EQ(resources_.Add({}), 0u);
  EXPECT_TRUE(NamedResources().empty());
  EXPECT_FALSE(resources_.empty());
}

TEST_F(NamedResourcesTest, NoMoreIsTakenThanThereIs) {
  EXPECT_TRUE(resources_.HasUnits(two_));
  resources_.Take(two_, 7);
  EXPECT_THAT(resources_.Lacking(two_), Pointee(Eq("api")));
  EXPECT_TRUE(resources_.HasUnits(one_));
  resources_.Take(both_, 7);
  EXPECT_FALSE(resources_.HasUnits(one_));
  resources_.Return(two_, 7);
  EXPECT_TRUE(resources_.HasUnits(two_));
  EXPECT_THAT(resources_.Lacking(both_), Pointee(Eq("db")));
}

TEST_F(NamedResourcesTest, WhatIsNotSetIsNotThere) {
  EXPECT_THAT(resources_.Lacking(resources_.Add({{"other", 1}})), Pointee(Eq("other")));
  resources_.Unset("api");
  EXPECT_FALSE(resources_.HasUnits(one_));
  EXPECT_EQ(resources_.AmountOf("api"), std::nullopt);
  EXPECT_EQ(resources_.count(), 1u);
}

TEST_F(NamedResourcesTest, ALowerAmountTakesNothingBackAndGivesNothingUntilItFits) {
  resources_.Take(two_, 1);
  resources_.Set("api", 1);
  EXPECT_EQ(resources_.all().at("api").in_use, 2);
  EXPECT_FALSE(resources_.HasUnits(one_));
  EXPECT_EQ(resources_.Free().at("api"), 0);
  resources_.Return(two_, 1);
  EXPECT_TRUE(resources_.HasUnits(one_));
}

TEST_F(NamedResourcesTest, NothingIsGivenBesideAnAttemptThatHoldsNobodyKnowsWhat) {
  resources_.Take(NamedResources::kUnknown, {});
  EXPECT_FALSE(resources_.HasUnits(one_));
  EXPECT_EQ(resources_.Lacking(one_), nullptr);
  resources_.Return(NamedResources::kUnknown, {});
  EXPECT_TRUE(resources_.HasUnits(one_));
}

TEST_F(NamedResourcesTest, AnOwnerHoldsWhatItsAttemptsHoldUntilNobodyWaitsForThem) {
  resources_.Take(two_, 1);
  resources_.Take(both_, 2);
  EXPECT_EQ(resources_.ShareHeldBy(1, one_), 666666);
  EXPECT_EQ(resources_.ShareHeldBy(2, both_), 1000000);
  resources_.Disown(two_, 1);
  EXPECT_EQ(resources_.ShareHeldBy(1, one_), 0);
  EXPECT_EQ(resources_.all().at("api").in_use, 3);
  resources_.Return(two_, {});
  EXPECT_EQ(resources_.all().at("api").in_use, 1);
}

TEST_F(NamedResourcesTest, SetsOverlapByName) {
  EXPECT_TRUE(resources_.Overlap(one_, two_));
  EXPECT_FALSE(resources_.Overlap(one_, resources_.Add({{"db", 1}})));
  EXPECT_FALSE(resources_.Overlap(one_, 0));
}

TEST_F(NamedResourcesTest, SoManyJobsCouldStartWithWhatIsFree) {
  std::map<std::string, int64_t> free = resources_.Free();
  EXPECT_EQ(resources_.TakeFrom(free, both_, 5), 1u);
  EXPECT_EQ(resources_.TakeFrom(free, two_, 5), 1u);
  EXPECT_EQ(resources_.TakeFrom(free, one_, 5), 0u);
  EXPECT_EQ(resources_.TakeFrom(free, 0, 5), 5u);
}

TEST_F(NamedResourcesTest, ARecountOfWhatIsHeldIsEqual) {
  resources_.Take(two_, 1);
  NamedResources recount = resources_.Unheld();
  EXPECT_DEATH(resources_.CheckInvariants(recount), "");
  recount.Take(two_, 1);
  resources_.CheckInvariants(recount);
}

TEST_F(NamedResourcesTest, ARateGivesOutItsTokensOneByOneFromAnEmptyBucket) {
  const absl::Time start = absl::FromUnixSeconds(1'700'000'000);
  resources_.Set("api", 3, 600, start);
  absl::Time now = start;
  size_t given = 0;
  for (; now < start + absl::Minutes(1); now += absl::Milliseconds(7)) {
    while (resources_.Paced(one_, now) == nullptr) {
      resources_.CountStart(one_, now);
      ++given;
    }
    EXPECT_GT(resources_.NextToken(now), now);
    EXPECT_LE(resources_.NextToken(now), now + absl::Milliseconds(100));
  }
  EXPECT_EQ(given, 599u) << "one each 100 ms, the first after that time";
  EXPECT_THAT(resources_.Paced(both_, now - absl::Milliseconds(7)), Pointee(Eq("api")));
  now += absl::Hours(1);
  for (given = 0; resources_.Paced(one_, now) == nullptr; ++given) {
    resources_.CountStart(one_, now);
  }
  EXPECT_EQ(given, 10u) << "those of a second at once";
}

TEST_F(NamedResourcesTest, OneAMinuteIsOneAMinute) {
  const absl::Time start = absl::FromUnixSeconds(1'700'000'000);
  resources_.Set("db", 1, 1, start);
  EXPECT_EQ(resources_.NextToken(start), start + absl::Minutes(1));
  resources_.Set("db", 2, 1, start + absl::Seconds(10));
  EXPECT_EQ(resources_.NextToken(start), start + absl::Minutes(1)) << "the rate is the same";
  const absl::Time later = start + absl::Hours(2);
  EXPECT_EQ(resources_.Paced(both_, later), nullptr);
  resources_.CountStart(both_, later);
  EXPECT_EQ(resources_.NextToken(later), later + absl::Minutes(1));
  resources_.Set("db", 2);
  EXPECT_EQ(resources_.Paced(both_, later), nullptr);
  EXPECT_EQ(resources_.NextToken(later), absl::InfiniteFuture());
}

}  // namespace
}  // namespace concur
