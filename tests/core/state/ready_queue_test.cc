// SPDX-License-Identifier: Apache-2.0
#include "core/state/ready_queue.h"

#include <optional>
#include <string>
#include <vector>

#include "tests/testing/test.h"

namespace concur {
namespace {

constexpr Resources kMuch{.cpu_millis = 64'000, .memory_bytes = int64_t{1} << 40, .gpus = 8};

ReadyQueue::Lane LaneOf(uint64_t sweep, int32_t priority = 0, bool is_train = true,
                        Resources resources = {}) {
  return {.priority = priority, .sweep = {sweep}, .is_train = is_train, .resources = resources};
}

std::vector<std::string> PopAll(ReadyQueue& queue, const Resources& free = kMuch) {
  std::vector<std::string> jobs;
  const auto fits = [&free](const ReadyQueue::Lane& lane) { return lane.resources.FitsIn(free); };
  while (const std::optional<ReadyQueue::Choice> next =
             queue.First(fits, [](uint32_t) -> int64_t { return 0; })) {
    queue.Erase(next->lane, next->job);
    jobs.push_back(JobId{next->lane.sweep, next->job}.ToString());
  }
  return jobs;
}

TEST(ReadyQueueTest, JobsComeByPriorityThenSweepThenKindThenIndex) {
  ReadyQueue queue;
  queue.Push(LaneOf(2), 0);
  queue.Push(LaneOf(1), 7);
  queue.Push(LaneOf(1), 3);
  queue.Push(LaneOf(1, 0, /*is_train=*/false), 9);
  queue.Push(LaneOf(3, /*priority=*/1), 5);
  queue.Push(LaneOf(4, /*priority=*/-1), 0);
  EXPECT_EQ(queue.size(), 6u);
  EXPECT_THAT(PopAll(queue), ElementsAre("s3/5", "s1/9", "s1/3", "s1/7", "s2/0", "s4/0"));
  EXPECT_EQ(queue.size(), 0u);
}

TEST(ReadyQueueTest, ALaneThatFitsNowhereHoldsUpNobody) {
  ReadyQueue queue;
  queue.Push(LaneOf(1, 9, true, {.cpu_millis = 8000}), 0);
  queue.Push(LaneOf(1, 9, true, {.cpu_millis = 1000, .memory_bytes = 100}), 1);
  queue.Push(LaneOf(1, 9, true, {.cpu_millis = 1000, .gpus = 1}), 2);
  queue.Push(LaneOf(2, 0, true, {.cpu_millis = 500}), 3);
  EXPECT_THAT(PopAll(queue, {.cpu_millis = 1000}), ElementsAre("s2/3"));
  EXPECT_EQ(queue.size(), 3u);
}

TEST(ReadyQueueTest, AnOvercommittedWorkerTakesNotEvenWhatNeedsNothing) {
  ReadyQueue queue;
  queue.Push(LaneOf(1, 0, true, {.cpu_millis = 0}), 0);
  EXPECT_THAT(PopAll(queue, {.cpu_millis = -1}), IsEmpty());
  EXPECT_THAT(PopAll(queue, {.cpu_millis = 0}), ElementsAre("s1/0"));
}

TEST(ReadyQueueTest, APausedSweepsJobsStayAndThoseThatComeWaitToo) {
  ReadyQueue queue;
  queue.Push(LaneOf(1), 0);
  queue.Push(LaneOf(2), 0);
  queue.Pause({1});
  queue.Pause({1});
  queue.Push(LaneOf(1), 1);
  EXPECT_TRUE(queue.Contains(LaneOf(1), 0));
  EXPECT_TRUE(queue.Contains(LaneOf(1), 1));
  EXPECT_EQ(queue.size(), 3u);
  EXPECT_THAT(PopAll(queue), ElementsAre("s2/0"));
  queue.Erase(LaneOf(1), 0);
  queue.Resume({1});
  queue.Resume({2});
  EXPECT_THAT(PopAll(queue), ElementsAre("s1/1"));
}

TEST(ReadyQueueTest, ASweepsPriorityChangesForAllOfItsLanes) {
  ReadyQueue queue;
  queue.Push(LaneOf(1), 0);
  queue.Push(LaneOf(2), 0);
  queue.Push(LaneOf(2, 0, false), 1);
  queue.SetPriority({2}, 3);
  queue.SetPriority({9}, 3);  // has no jobs
  EXPECT_FALSE(queue.Contains(LaneOf(2), 0));
  ReadyQueue::Lane raised = LaneOf(2);
  raised.priority = 3;
  EXPECT_TRUE(queue.Contains(raised, 0));
  queue.SetRank(0, 5);
  queue.Push(raised, 7);
  EXPECT_THAT(PopAll(queue), ElementsAre("s2/1", "s2/0", "s2/7", "s1/0"));
  EXPECT_EQ(queue.size(), 0u);
}

TEST(ReadyQueueTest, AnErasedJobDoesNotComeAndItsLaneMayBeUsedAgain) {
  ReadyQueue queue;
  queue.Push(LaneOf(1), 0);
  queue.Erase(LaneOf(1), 0);
  EXPECT_FALSE(queue.Contains(LaneOf(1), 0));
  EXPECT_EQ(queue.size(), 0u);
  queue.Push(LaneOf(1), 0);
  EXPECT_THAT(PopAll(queue), ElementsAre("s1/0"));
}

TEST(ReadyQueueTest, ErasingASweepTakesPausedJobsAndThePauseItself) {
  ReadyQueue queue;
  queue.Push(LaneOf(1), 0);
  queue.Push(LaneOf(1, 0, false), 1);
  queue.Push(LaneOf(2), 0);
  queue.Pause({1});
  queue.EraseSweep({1});
  EXPECT_EQ(queue.size(), 1u);
  queue.Push(LaneOf(1), 5);
  EXPECT_THAT(PopAll(queue), ElementsAre("s1/5", "s2/0"));
}

TEST(ReadyQueueTest, WhatTakesLongestComesFirstWithinASweepAndKind) {
  ReadyQueue queue;
  const auto lane = [](Durations::Group group) {
    ReadyQueue::Lane made = LaneOf(1);
    made.group = group;
    return made;
  };
  queue.Push(lane(0), 0);
  queue.Push(lane(1), 1);
  queue.Push(lane(2), 2);
  queue.SetRank(1, 50);
  queue.SetRank(2, 70);
  queue.Push(lane(2), 3);
  EXPECT_EQ(queue.rank_min(), 50);
  EXPECT_TRUE(queue.Contains(lane(1), 1));
  // An unknown rank comes before everything; a rank may change while jobs wait.
  queue.SetRank(0, 60);
  queue.SetRank(1, 60);
  queue.SetRank(1, 80);
  EXPECT_THAT(PopAll(queue), ElementsAre("s1/1", "s1/2", "s1/3", "s1/0"));
  EXPECT_EQ(queue.rank_min(), Durations::kUnknownRank);
}

TEST(ReadyQueueTest, ARankThatChangesWhileASweepIsPausedCountsAfterwards) {
  ReadyQueue queue;
  ReadyQueue::Lane slow = LaneOf(1);
  slow.group = 1;
  queue.Push(LaneOf(1), 0);
  queue.Push(slow, 1);
  queue.Pause({1});
  queue.SetRank(0, 1);
  queue.SetRank(1, 2);
  EXPECT_EQ(queue.cpu_millis_min(), INT64_MAX);
  queue.Resume({1});
  EXPECT_EQ(queue.cpu_millis_min(), 1000);
  EXPECT_THAT(PopAll(queue), ElementsAre("s1/1", "s1/0"));
}

TEST(ReadyQueueTest, WhoeverUsesLeastComesFirst) {
  ReadyQueue queue;
  ReadyQueue::Lane ann = LaneOf(1);
  ann.owner = 1;
  ReadyQueue::Lane bob = LaneOf(2);
  bob.owner = 2;
  queue.Push(ann, 0);
  queue.Push(bob, 5);
  const auto any = [](const ReadyQueue::Lane&) { return true; };
  std::vector<int64_t> used = {0, 3, 2};
  const auto share = [&](uint32_t owner) { return used[owner]; };
  EXPECT_EQ(queue.First(any, share)->job, 5u);
  used[2] = 4;
  EXPECT_EQ(queue.First(any, share)->job, 0u);
  // Whoever has nothing that may be taken is passed over.
  EXPECT_EQ(queue.First([](const ReadyQueue::Lane& lane) { return lane.owner == 2; }, share)->job,
            5u);
}

}  // namespace
}  // namespace concur
