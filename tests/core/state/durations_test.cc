// SPDX-License-Identifier: Apache-2.0
#include "core/state/durations.h"

#include <map>
#include <optional>
#include <vector>

#include "tests/testing/test.h"

namespace concur {
namespace {

class DurationsTest : public ::testing::Test {
 protected:
  std::map<Durations::Group, Durations::Rank> Add(Durations::Group group, absl::Duration time) {
    std::map<Durations::Group, Durations::Rank> changed;
    durations_.Add(group, time, [&](auto g, auto rank) { changed[g] = rank; });
    return changed;
  }
  std::map<Durations::Group, Durations::Rank> Remove(Durations::Group group, absl::Duration time) {
    std::map<Durations::Group, Durations::Rank> changed;
    durations_.Remove(group, time, [&](auto g, auto rank) { changed[g] = rank; });
    return changed;
  }

  Durations durations_;
  const Durations::Group train_x_ = durations_.GroupOf("a", "x", true);
  const Durations::Group train_y_ = durations_.GroupOf("a", "y", true);
  const Durations::Group eval_x_ = durations_.GroupOf("a", "x", false);
};

TEST_F(DurationsTest, AGroupIsNamedByApproachBenchmarkAndKind) {
  EXPECT_EQ(durations_.GroupOf("a", "x", true), train_x_);
  EXPECT_NE(train_x_, train_y_);
  EXPECT_NE(train_x_, eval_x_);
  EXPECT_NE(durations_.GroupOf("b", "x", true), train_x_);
  EXPECT_EQ(durations_.size(), 4u);
  EXPECT_EQ(durations_.approach(eval_x_), "a");
  EXPECT_EQ(durations_.benchmark(train_y_), "y");
  EXPECT_FALSE(durations_.is_train(eval_x_));
}

TEST_F(DurationsTest, NothingIsKnownAtFirstAndThatRanksAboveEverything) {
  EXPECT_EQ(durations_.Expected(train_x_), std::nullopt);
  EXPECT_EQ(durations_.RankOf(train_x_), Durations::kUnknownRank);
  EXPECT_GT(Durations::kUnknownRank, Durations::RankOf(absl::InfiniteDuration()));
}

TEST_F(DurationsTest, TheMeanIsOfTheGroupAndElseOfTheApproachsJobsOfThatKind) {
  Add(train_x_, absl::Seconds(10));
  Add(train_x_, absl::Seconds(20));
  EXPECT_EQ(durations_.Expected(train_x_)->mean, absl::Seconds(15));
  EXPECT_EQ(durations_.Expected(train_x_)->count, 2u);
  EXPECT_EQ(durations_.Expected(train_y_)->mean, absl::Seconds(15));
  EXPECT_EQ(durations_.Expected(train_y_)->count, 0u);
  EXPECT_EQ(durations_.Expected(eval_x_), std::nullopt);
  Add(train_y_, absl::Seconds(1));
  EXPECT_EQ(durations_.Expected(train_y_)->mean, absl::Seconds(1));
}

TEST_F(DurationsTest, WhatIsTakenAwayLeavesNoTrace) {
  Add(train_x_, absl::Seconds(7));
  const auto rank = durations_.RankOf(train_x_);
  Add(train_x_, absl::Hours(3));
  Remove(train_x_, absl::Hours(3));
  EXPECT_EQ(durations_.Expected(train_x_)->mean, absl::Seconds(7));
  EXPECT_EQ(durations_.RankOf(train_x_), rank);
  Remove(train_x_, absl::Seconds(7));
  EXPECT_EQ(durations_.Expected(train_x_), std::nullopt);
  EXPECT_EQ(durations_.RankOf(train_y_), Durations::kUnknownRank);
}

TEST_F(DurationsTest, WhoeverListensHearsOfEveryChangedRankAndOfNoOther) {
  const auto rank = Durations::RankOf(absl::Seconds(8));
  EXPECT_THAT(Add(train_x_, absl::Seconds(8)),
              UnorderedElementsAre(Pair(train_x_, rank), Pair(train_y_, rank)));
  EXPECT_THAT(Add(train_x_, absl::Seconds(8)), IsEmpty());
  EXPECT_THAT(Remove(train_x_, absl::Seconds(8)), IsEmpty());
  EXPECT_THAT(Remove(train_x_, absl::Seconds(8)),
              UnorderedElementsAre(Pair(train_x_, Durations::kUnknownRank),
                                   Pair(train_y_, Durations::kUnknownRank)));
}

TEST_F(DurationsTest, RanksGrowWithDurationsInStepsOfAQuarterOfADoubling) {
  Durations::Rank previous = Durations::RankOf(absl::ZeroDuration());
  for (absl::Duration time = absl::Microseconds(1); time < absl::Hours(1000); time *= 2) {
    EXPECT_GE(Durations::RankOf(time), previous);
    previous = Durations::RankOf(time);
  }
  EXPECT_EQ(Durations::RankOf(absl::Seconds(2)), Durations::RankOf(absl::Seconds(1)) + 4);
  EXPECT_GT(Durations::RankOf(absl::Seconds(13)), Durations::RankOf(absl::Seconds(10)));
}

TEST_F(DurationsTest, ADurationThatCannotBeDoesNoHarm) {
  Add(train_x_, -absl::Seconds(5));
  EXPECT_EQ(durations_.Expected(train_x_)->mean, absl::ZeroDuration());
  Add(train_x_, absl::InfiniteDuration());
  EXPECT_GT(durations_.Expected(train_x_)->mean, absl::Hours(1));
  EXPECT_LT(durations_.Expected(train_x_)->mean, absl::InfiniteDuration());
}

}  // namespace
}  // namespace concur
