// SPDX-License-Identifier: Apache-2.0
#include "core/state/work_meter.h"

#include <ostream>

#include "absl/time/time.h"
#include "tests/testing/test.h"

namespace concur {

void PrintTo(const RecentWork& work, std::ostream* out) {
  *out << work.jobs << " in " << work.span;
}

namespace {

absl::Time At(double seconds) { return absl::UnixEpoch() + absl::Seconds(seconds); }
RecentWork Of(uint64_t jobs, double seconds) { return {jobs, absl::Seconds(seconds)}; }

TEST(WorkMeterTest, NothingIsKnownOfNothing) { EXPECT_EQ(WorkMeter().Recent(At(5)), RecentWork()); }

TEST(WorkMeterTest, WorkCountsSinceItBegan) {
  WorkMeter meter;
  meter.Add(At(0), 0, true);
  meter.Add(At(4), 8, true);
  EXPECT_EQ(meter.Recent(At(4)), Of(8, 4));
  EXPECT_EQ(meter.Recent(At(8)), Of(8, 8)) << "the rate falls while nothing ends";
}

TEST(WorkMeterTest, OnlyTheLastMinuteCounts) {
  WorkMeter meter;
  for (int second = 0; second <= 100; ++second) {
    meter.Add(At(second), static_cast<uint64_t>(second < 50 ? second : 50 + 3 * (second - 50)),
              true);
  }
  EXPECT_EQ(meter.Recent(At(100)), Of(10 + 150, 60));
  EXPECT_EQ(meter.Recent(At(130)), Of(90, 60));
  EXPECT_EQ(meter.Recent(At(1000)), Of(0, 60));
}

TEST(WorkMeterTest, ManyChangesInASecondAreOneSample) {
  WorkMeter meter;
  uint64_t done = 0;
  for (int i = 0; i <= 100'000; ++i) {
    meter.Add(At(i / 1000.0), done++, true);
  }
  EXPECT_EQ(meter.Recent(At(100)), Of(60'000, 60));
}

// A sweep that waited an hour for workers was said to need sixty times as long.
TEST(WorkMeterTest, TimeInWhichNothingRanDoesNotCount) {
  WorkMeter meter;
  meter.Add(At(0), 0, false);
  meter.Add(At(3600), 0, true);
  meter.Add(At(3602), 10, true);
  EXPECT_EQ(meter.Recent(At(3602)), Of(10, 2));
  meter.Add(At(3603), 10, false);
  meter.Add(At(3604), 10, true);
  meter.Add(At(3605), 20, true);
  EXPECT_EQ(meter.Recent(At(3605)), Of(20, 5)) << "a moment between two jobs is no pause";
  meter.Add(At(3606), 20, false);
  meter.Add(At(9000), 20, true);
  meter.Add(At(9001), 21, true);
  EXPECT_EQ(meter.Recent(At(9001)), Of(1, 1));
}

TEST(WorkMeterTest, JobsThatReturnToTheQueueStartItAnew) {
  WorkMeter meter;
  meter.Add(At(0), 0, true);
  meter.Add(At(10), 100, true);
  meter.Add(At(11), 40, true);
  EXPECT_EQ(meter.Recent(At(12)), Of(0, 1));
  meter.Add(At(13), 44, true);
  EXPECT_EQ(meter.Recent(At(13)), Of(4, 2));
}

TEST(WorkMeterTest, AClockThatWasSetBackStartsItAnew) {
  WorkMeter meter;
  meter.Add(At(5000), 0, true);
  meter.Add(At(5010), 10, true);
  EXPECT_EQ(meter.Recent(At(1000)), Of(10, 0)) << "nothing is known";
  meter.Add(At(1000), 11, true);
  meter.Add(At(1002), 15, true);
  EXPECT_EQ(meter.Recent(At(1002)), Of(4, 2));
}

TEST(WorkMeterTest, WhatWasDoneBeforeTheMeterDoesNotCount) {
  WorkMeter meter;
  meter.Add(At(0), 5000, true);
  meter.Add(At(10), 5020, true);
  EXPECT_EQ(meter.Recent(At(10)), Of(20, 10));
}

}  // namespace
}  // namespace concur
