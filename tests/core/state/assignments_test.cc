// SPDX-License-Identifier: Apache-2.0
#include "core/state/assignments.h"

#include <cstdint>
#include <vector>

#include "tests/testing/test.h"

namespace concur {
namespace {

constexpr absl::Duration kTimeMax = absl::Seconds(60);
constexpr Resources kFourCpus{.cpu_millis = 4000, .memory_bytes = 100, .gpus = 4};

AttemptId AttemptOf(uint32_t job) { return {{{1}, job}, {1}}; }

Assignment Needing(int64_t cpu_millis, uint64_t gpu_mask = 0, int32_t gpus = 0) {
  Assignment assignment;
  assignment.resources = {.cpu_millis = cpu_millis, .memory_bytes = 10, .gpus = gpus};
  assignment.gpu_mask = gpu_mask;
  return assignment;
}

Assignment Ahead(int64_t cpu_millis, int64_t cpu_micros) {
  Assignment assignment = Needing(cpu_millis);
  assignment.ahead = true;
  assignment.ahead_cpu_micros = cpu_micros;
  return assignment;
}

void IgnoreStarted(AttemptId, const Assignment&) {}

std::vector<uint32_t> StartsOf(Assignments& assignments, size_t starts_max = 100) {
  std::vector<uint32_t> jobs;
  assignments.TakeOrders(starts_max, [&](AttemptId id, uint64_t) { jobs.push_back(id.job.index); });
  return jobs;
}

TEST(AssignmentsTest, AnAttemptTakesItsResourcesUntilItIsRemoved) {
  Assignments assignments;
  assignments.Add(AttemptOf(1), Needing(1000, 0b101, 2));
  EXPECT_EQ(assignments.FreeOf(kFourCpus),
            (Resources{.cpu_millis = 3000, .memory_bytes = 90, .gpus = 2}));
  EXPECT_EQ(assignments.GpusFor({.gpus = 2}), 0b1010u);
  EXPECT_TRUE(assignments.GpusAreFree(0b1010, {.gpus = 2}));
  EXPECT_FALSE(assignments.GpusAreFree(0b0110, {.gpus = 2}));
  assignments.CheckInvariants();
  EXPECT_TRUE(assignments.Remove(AttemptOf(1), kFourCpus, IgnoreStarted).has_value());
  EXPECT_FALSE(assignments.Remove(AttemptOf(1), kFourCpus, IgnoreStarted).has_value());
  EXPECT_EQ(assignments.FreeOf(kFourCpus), kFourCpus);
  EXPECT_TRUE(assignments.empty());
  assignments.CheckInvariants();
}

Assignment Sharing(uint64_t gpu_mask, int32_t gpu_share) {
  Assignment assignment = Needing(0, gpu_mask);
  assignment.resources.gpu_share = gpu_share;
  return assignment;
}

TEST(AssignmentsTest, ASharedGpuIsFilledBeforeAnotherIsShared) {
  constexpr Resources kTwoGpus{.cpu_millis = 4000, .memory_bytes = 100, .gpus = 2};
  constexpr Resources kHalf{.gpu_share = 50};
  constexpr Resources kMost{.gpu_share = 70};
  Assignments assignments;
  EXPECT_EQ(assignments.GpusFor(kHalf), 0b01u);
  assignments.Add(AttemptOf(1), Sharing(0b01, 50));
  EXPECT_EQ(assignments.FreeOf(kTwoGpus).gpus, 1);
  EXPECT_EQ(assignments.FreeOf(kTwoGpus).gpu_share, 50);
  EXPECT_EQ(assignments.used().gpu_share, 50);
  EXPECT_EQ(assignments.GpusFor(kHalf), 0b01u);
  EXPECT_EQ(assignments.GpusFor(kMost), 0b10u);
  EXPECT_EQ(assignments.GpusFor({.gpus = 1}), 0b10u);
  EXPECT_FALSE(assignments.GpusAreFree(0b01, {.gpus = 1}));
  EXPECT_TRUE(assignments.GpusAreFree(0b01, kHalf));
  EXPECT_FALSE(assignments.GpusAreFree(0b01, kMost));
  assignments.Add(AttemptOf(2), Sharing(0b10, 70));
  assignments.CheckInvariants();
  // The fullest that has room.
  EXPECT_EQ(assignments.GpusFor({.gpu_share = 30}), 0b10u);
  EXPECT_EQ(assignments.GpusFor({.gpu_share = 31}), 0b01u);
  EXPECT_TRUE(kHalf.FitsIn(assignments.FreeOf(kTwoGpus)));
  EXPECT_FALSE(Resources{.gpu_share = 51}.FitsIn(assignments.FreeOf(kTwoGpus)));
  EXPECT_FALSE(Resources{.gpus = 1}.FitsIn(assignments.FreeOf(kTwoGpus)));
  assignments.Add(AttemptOf(3), Sharing(0b01, 50));
  EXPECT_EQ(assignments.FreeOf(kTwoGpus).gpu_share, 30);
  assignments.CheckInvariants();
  for (const uint32_t job : {1u, 2u, 3u}) {
    EXPECT_TRUE(assignments.Remove(AttemptOf(job), kTwoGpus, IgnoreStarted).has_value());
    assignments.CheckInvariants();
  }
  EXPECT_EQ(assignments.FreeOf(kTwoGpus), kTwoGpus);
}

TEST(AssignmentsTest, NoShareIsFreeWhileItIsNotKnownOfWhichGpusSomeAre) {
  Assignments assignments;
  assignments.Add(AttemptOf(1), Sharing(0b01, 50));
  assignments.Add(AttemptOf(2), Sharing(/*gpu_mask=*/0, 10));
  EXPECT_EQ(assignments.FreeOf(kFourCpus).gpus, 0);
  EXPECT_EQ(assignments.FreeOf(kFourCpus).gpu_share, 0);
  assignments.CheckInvariants();
}

TEST(AssignmentsTest, NoGpuIsFreeWhileItIsNotKnownWhichAreUsed) {
  Assignments assignments;
  assignments.Add(AttemptOf(1), Needing(0, /*gpu_mask=*/0, /*gpus=*/1));
  EXPECT_EQ(assignments.FreeOf(kFourCpus).gpus, 0);
  assignments.Remove(AttemptOf(1), kFourCpus, IgnoreStarted);
  EXPECT_EQ(assignments.FreeOf(kFourCpus).gpus, 4);
}

TEST(AssignmentsTest, WhatIsGivenAheadTakesNothingUntilThereIsRoomAndThenStartsInOrder) {
  Assignments assignments;
  assignments.Add(AttemptOf(1), Needing(4000));
  assignments.Add(AttemptOf(3), Ahead(3000, 30));
  assignments.Add(AttemptOf(2), Ahead(3000, 20));
  assignments.Add(AttemptOf(4), Ahead(1000, 10));
  EXPECT_EQ(assignments.ahead(), 3u);
  EXPECT_EQ(assignments.ahead_cpu_micros(), 60);
  EXPECT_EQ(assignments.used().cpu_millis, 4000);
  assignments.CheckInvariants();
  std::vector<AttemptId> started;
  assignments.Remove(AttemptOf(1), kFourCpus,
                     [&](AttemptId id, const Assignment&) { started.push_back(id); });
  EXPECT_THAT(started, ElementsAre(AttemptOf(2)));
  // The second of them does not fit, and the third does not overtake it.
  EXPECT_EQ(assignments.used().cpu_millis, 3000);
  EXPECT_FALSE(assignments.Find(AttemptOf(2))->ahead);
  EXPECT_EQ(assignments.ahead(), 2u);
  EXPECT_EQ(assignments.ahead_cpu_micros(), 40);
  assignments.CheckInvariants();
  assignments.Remove(AttemptOf(3), kFourCpus, IgnoreStarted);
  EXPECT_EQ(assignments.ahead(), 1u) << "what waits makes no room when it goes";
  assignments.Remove(AttemptOf(2), kFourCpus, IgnoreStarted);
  EXPECT_EQ(assignments.ahead(), 0u);
  EXPECT_EQ(assignments.used().cpu_millis, 1000);
  assignments.CheckInvariants();
}

TEST(AssignmentsTest, AWorkerWithoutAFreeSlotHasNothingFree) {
  Assignments assignments;
  Assignment brief = Needing(1000);
  brief.is_short = true;
  assignments.Add(AttemptOf(1), Needing(1000));
  assignments.Add(AttemptOf(2), brief);
  EXPECT_EQ(assignments.FreeOf(kFourCpus, 3).cpu_millis, 2000);
  EXPECT_EQ(assignments.FreeShortly(kFourCpus, 3).cpu_millis, 3000);
  EXPECT_FALSE(Resources{.cpu_millis = 0}.FitsIn(assignments.FreeOf(kFourCpus, 2)));
  EXPECT_EQ(assignments.FreeShortly(kFourCpus, 2).cpu_millis, 3000);
  EXPECT_FALSE(Resources{.cpu_millis = 0}.FitsIn(assignments.FreeShortly(kFourCpus, 1)));
  assignments.CheckInvariants();
}

TEST(AssignmentsTest, WhatIsGivenAheadStartsWhenASlotIsFree) {
  Assignments assignments;
  assignments.Add(AttemptOf(1), Needing(1000));
  assignments.Add(AttemptOf(2), Ahead(1000, 7));
  assignments.Add(AttemptOf(3), Ahead(1000, 7));
  std::vector<uint32_t> started;
  const auto note = [&](AttemptId id, const Assignment&) { started.push_back(id.job.index); };
  ASSERT_TRUE(assignments.Remove(AttemptOf(1), kFourCpus, note, /*slots=*/1).has_value());
  EXPECT_THAT(started, ElementsAre(2));
  EXPECT_EQ(assignments.ahead(), 1u);
  assignments.CheckInvariants();
}

TEST(AssignmentsTest, AnOrderToStartIsRepeatedUntilASyncListsTheAttempt) {
  Assignments assignments;
  assignments.Add(AttemptOf(1), Needing(1000));
  EXPECT_TRUE(assignments.HasOrders());
  EXPECT_THAT(StartsOf(assignments), ElementsAre(1));
  EXPECT_FALSE(assignments.HasOrders());
  // The answer was lost.
  assignments.BeginSync(absl::UnixEpoch(), absl::ZeroDuration());
  EXPECT_THAT(assignments.EndSync(), IsEmpty());
  EXPECT_TRUE(assignments.HasOrders());
  EXPECT_THAT(StartsOf(assignments), ElementsAre(1));
  // It arrived.
  assignments.BeginSync(absl::UnixEpoch(), absl::ZeroDuration());
  EXPECT_TRUE(assignments.SetListed(AttemptOf(1)));
  EXPECT_FALSE(assignments.SetListed(AttemptOf(2)));
  EXPECT_THAT(assignments.EndSync(), IsEmpty());
  EXPECT_FALSE(assignments.HasOrders());
  EXPECT_THAT(StartsOf(assignments), IsEmpty());
}

TEST(AssignmentsTest, AnAttemptHasStoppedOnceASyncNoLongerListsIt) {
  Assignments assignments;
  assignments.Add(AttemptOf(1), Needing(1000));
  assignments.BeginSync(absl::UnixEpoch(), absl::ZeroDuration());
  assignments.SetListed(AttemptOf(1));
  assignments.EndSync();
  EXPECT_TRUE(assignments.Stop(AttemptOf(1), StopReason::kFenced, kTimeMax, true));
  EXPECT_FALSE(assignments.Stop(AttemptOf(1), StopReason::kCanceled, kTimeMax, true))
      << "it stops already";
  EXPECT_TRUE(assignments.HasOrders());
  const std::vector<StopOrder> stop = assignments.TakeOrders(100, [](AttemptId, uint64_t) {});
  ASSERT_EQ(stop.size(), 1u);
  EXPECT_EQ(stop[0].reason, StopReason::kFenced);
  assignments.BeginSync(absl::UnixEpoch(), absl::ZeroDuration());
  assignments.SetListed(AttemptOf(1));
  EXPECT_THAT(assignments.EndSync(), IsEmpty()) << "it still runs";
  assignments.BeginSync(absl::UnixEpoch(), absl::ZeroDuration());
  EXPECT_THAT(assignments.EndSync(), ElementsAre(AttemptOf(1)));
}

TEST(AssignmentsTest, TimePassesWithSyncsAndBeginsAnewWhenAnAttemptIsTakenStartsAndStops) {
  Assignments assignments;
  const absl::Time begin = absl::FromUnixSeconds(1000);
  const auto sync = [&](int seconds, const std::vector<uint32_t>& listed) {
    assignments.BeginSync(begin + absl::Seconds(seconds), absl::Seconds(30));
    for (const uint32_t job : listed) {
      EXPECT_TRUE(assignments.SetListed(AttemptOf(job)));
    }
    assignments.EndSync();
    return assignments.Overdue();
  };
  Assignment first = Needing(4000);
  Assignment ahead = Ahead(1000, 10);
  for (Assignment* one : {&first, &ahead}) {
    one->time_max = absl::Seconds(50);
    one->time_left = absl::Seconds(20);
    one->time_left_at = begin;
  }
  assignments.Add(AttemptOf(1), first);
  assignments.Add(AttemptOf(2), ahead);
  EXPECT_THAT(sync(20, {}), IsEmpty());
  EXPECT_THAT(sync(21, {1}), ElementsAre(AttemptOf(2))) << "it was not taken";
  EXPECT_THAT(sync(21, {1, 2}), IsEmpty());
  EXPECT_THAT(sync(41, {1, 2}), IsEmpty());
  assignments.Remove(AttemptOf(1), kFourCpus, IgnoreStarted);
  EXPECT_THAT(sync(71, {2}), IsEmpty()) << "it has just started";
  EXPECT_THAT(sync(91, {2}), IsEmpty());
  EXPECT_THAT(sync(92, {2}), ElementsAre(AttemptOf(2)));
  assignments.Stop(AttemptOf(2), StopReason::kFenced, absl::Seconds(40), /*counted=*/false);
  EXPECT_THAT(sync(1000, {2}), IsEmpty()) << "a long pause is worth 30 s";
  EXPECT_THAT(sync(1011, {2}), ElementsAre(AttemptOf(2)));
  assignments.Abandon(AttemptOf(2));
  EXPECT_THAT(sync(9999, {2}), IsEmpty());
  EXPECT_EQ(assignments.used().cpu_millis, 1000) << "it keeps its room";
  assignments.CheckInvariants();
}

TEST(AssignmentsTest, OneAnswerHasSoManyStartsAndTheNextHasTheOthersToo) {
  Assignments assignments;
  for (uint32_t job = 1; job <= 3; ++job) {
    assignments.Add(AttemptOf(job), Needing(0));
  }
  EXPECT_THAT(StartsOf(assignments, 2), ElementsAre(1, 2));
  EXPECT_TRUE(assignments.HasOrders());
  assignments.BeginSync(absl::UnixEpoch(), absl::ZeroDuration());
  assignments.SetListed(AttemptOf(1));
  assignments.SetListed(AttemptOf(2));
  assignments.EndSync();
  EXPECT_THAT(StartsOf(assignments, 2), ElementsAre(3));
}

TEST(AssignmentsTest, TwoAttemptsOnOneGpuEndTheProcess) {
  Assignments assignments;
  assignments.Add(AttemptOf(1), Needing(0, 0b11, 2));
  assignments.Add(AttemptOf(2), Needing(0, 0b10, 1));
  EXPECT_DEATH(assignments.CheckInvariants(), "gpu_mask");
}

}  // namespace
}  // namespace concur
