#include "core/ready_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace concur {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Resources kMuch{.cpu_millis = 64'000, .memory_bytes = int64_t{1} << 40, .gpus = 8};

ReadyQueue::Lane LaneOf(uint64_t sweep, int32_t priority = 0, bool is_train = true,
                        Resources resources = {}) {
  return {.priority = priority, .sweep = {sweep}, .is_train = is_train, .resources = resources};
}

std::vector<std::string> PopAll(ReadyQueue& queue, const Resources& free = kMuch) {
  std::vector<std::string> jobs;
  while (const std::optional<JobId> job = queue.Pop(free)) {
    jobs.push_back(job->ToString());
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

}  // namespace
}  // namespace concur
