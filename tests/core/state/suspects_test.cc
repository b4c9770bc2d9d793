// SPDX-License-Identifier: Apache-2.0
#include "core/state/suspects.h"

#include "tests/testing/test.h"

namespace concur {
namespace {

constexpr JobId kSuspectJob{{1}, 7};
constexpr JobId kOther{{1}, 3};

TEST(SuspectsTest, AJobIsSuspectAfterDeathsInARowAndPoisonAfterOneAlone) {
  Suspects suspects(2);
  EXPECT_FALSE(suspects.AddDeath(kSuspectJob, /*shared=*/true));
  EXPECT_FALSE(suspects.MustRunAlone(kSuspectJob));
  EXPECT_FALSE(suspects.AddDeath(kSuspectJob, /*shared=*/true));
  EXPECT_TRUE(suspects.MustRunAlone(kSuspectJob));
  EXPECT_FALSE(suspects.MustRunAlone(kOther));
  EXPECT_TRUE(suspects.AddDeath(kSuspectJob, /*shared=*/false));
  EXPECT_EQ(suspects.Of(kSuspectJob).in_a_row, 3u);
}

TEST(SuspectsTest, WhatEndsInAnotherWayIsAcquitted) {
  Suspects suspects(2);
  suspects.AddDeath(kSuspectJob, false);
  suspects.Acquit(kSuspectJob);
  EXPECT_EQ(suspects.size(), 0u);
  suspects.AddDeath(kSuspectJob, false);
  EXPECT_FALSE(suspects.MustRunAlone(kSuspectJob));
}

TEST(SuspectsTest, ADeathBesideOthersConvictsNobody) {
  Suspects suspects(2);
  suspects.AddDeath(kSuspectJob, false);
  suspects.AddDeath(kSuspectJob, false);
  EXPECT_FALSE(suspects.AddDeath(kSuspectJob, /*shared=*/true));
  EXPECT_TRUE(suspects.AddDeath(kSuspectJob, /*shared=*/false));
}

TEST(SuspectsTest, AWorkerThatComesBackTakesItsDeathBack) {
  Suspects suspects(2);
  suspects.AddDeath(kSuspectJob, false);
  suspects.AddDeath(kSuspectJob, true);
  EXPECT_TRUE(suspects.TakeBackDeath(kSuspectJob)) << "it was shared";
  EXPECT_FALSE(suspects.MustRunAlone(kSuspectJob));
  EXPECT_FALSE(suspects.TakeBackDeath(kSuspectJob));
  EXPECT_FALSE(suspects.TakeBackDeath(kSuspectJob));
  EXPECT_EQ(suspects.size(), 0u);
}

TEST(SuspectsTest, NobodyIsSuspectWhenTheLimitIsZero) {
  Suspects suspects(0);
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(suspects.AddDeath(kSuspectJob, false));
  }
  EXPECT_FALSE(suspects.MustRunAlone(kSuspectJob));
}

TEST(SuspectsTest, ThoseThatAreReadyWaitInOrder) {
  Suspects suspects(1);
  suspects.AddDeath(kSuspectJob, true);
  suspects.AddDeath(kOther, true);
  suspects.AddReady(kSuspectJob);
  suspects.AddReady(kOther);
  EXPECT_THAT(suspects.ready(), ElementsAre(kOther, kSuspectJob));
  suspects.CheckInvariants();
  EXPECT_TRUE(suspects.RemoveReady(kOther));
  EXPECT_FALSE(suspects.RemoveReady(kOther));
  EXPECT_TRUE(suspects.RemoveReady(kSuspectJob));
  EXPECT_THAT(suspects.ready(), IsEmpty());
  suspects.AddReady(kSuspectJob);
  suspects.Acquit(kSuspectJob);
  EXPECT_DEATH(suspects.CheckInvariants(), "MustRunAlone");
}

}  // namespace
}  // namespace concur
