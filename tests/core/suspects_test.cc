// SPDX-License-Identifier: Apache-2.0
#include "core/suspects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace concur {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr JobId kJob{{1}, 7};
constexpr JobId kOther{{1}, 3};

TEST(SuspectsTest, AJobIsSuspectAfterDeathsInARowAndPoisonAfterOneAlone) {
  Suspects suspects(2);
  EXPECT_FALSE(suspects.AddDeath(kJob, /*shared=*/true));
  EXPECT_FALSE(suspects.MustRunAlone(kJob));
  EXPECT_FALSE(suspects.AddDeath(kJob, /*shared=*/true));
  EXPECT_TRUE(suspects.MustRunAlone(kJob));
  EXPECT_FALSE(suspects.MustRunAlone(kOther));
  EXPECT_TRUE(suspects.AddDeath(kJob, /*shared=*/false));
  EXPECT_EQ(suspects.Of(kJob).in_a_row, 3u);
}

TEST(SuspectsTest, WhatEndsInAnotherWayIsAcquitted) {
  Suspects suspects(2);
  suspects.AddDeath(kJob, false);
  suspects.Acquit(kJob);
  EXPECT_EQ(suspects.size(), 0u);
  suspects.AddDeath(kJob, false);
  EXPECT_FALSE(suspects.MustRunAlone(kJob));
}

TEST(SuspectsTest, ADeathBesideOthersConvictsNobody) {
  Suspects suspects(2);
  suspects.AddDeath(kJob, false);
  suspects.AddDeath(kJob, false);
  EXPECT_FALSE(suspects.AddDeath(kJob, /*shared=*/true));
  EXPECT_TRUE(suspects.AddDeath(kJob, /*shared=*/false));
}

TEST(SuspectsTest, AWorkerThatComesBackTakesItsDeathBack) {
  Suspects suspects(2);
  suspects.AddDeath(kJob, false);
  suspects.AddDeath(kJob, true);
  EXPECT_TRUE(suspects.TakeBackDeath(kJob)) << "it was shared";
  EXPECT_FALSE(suspects.MustRunAlone(kJob));
  EXPECT_FALSE(suspects.TakeBackDeath(kJob));
  EXPECT_FALSE(suspects.TakeBackDeath(kJob));
  EXPECT_EQ(suspects.size(), 0u);
}

TEST(SuspectsTest, NobodyIsSuspectWhenTheLimitIsZero) {
  Suspects suspects(0);
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(suspects.AddDeath(kJob, false));
  }
  EXPECT_FALSE(suspects.MustRunAlone(kJob));
}

TEST(SuspectsTest, ThoseThatAreReadyWaitInOrder) {
  Suspects suspects(1);
  suspects.AddDeath(kJob, true);
  suspects.AddDeath(kOther, true);
  suspects.AddReady(kJob);
  suspects.AddReady(kOther);
  EXPECT_THAT(suspects.ready(), ElementsAre(kOther, kJob));
  suspects.CheckInvariants();
  EXPECT_TRUE(suspects.RemoveReady(kOther));
  EXPECT_FALSE(suspects.RemoveReady(kOther));
  EXPECT_TRUE(suspects.RemoveReady(kJob));
  EXPECT_THAT(suspects.ready(), IsEmpty());
  suspects.AddReady(kJob);
  suspects.Acquit(kJob);
  EXPECT_DEATH(suspects.CheckInvariants(), "MustRunAlone");
}

}  // namespace
}  // namespace concur
