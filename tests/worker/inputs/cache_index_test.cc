// SPDX-License-Identifier: Apache-2.0
#include "worker/inputs/cache_index.h"

#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/testing/test.h"

namespace concur::worker {
namespace {

// Names that go until the rest fits, in order.
std::vector<std::string> Gone(CacheIndex& index) {
  std::vector<std::string> gone;
  while (const std::optional<std::string> name = index.NextToGo()) {
    gone.push_back(*name);
    index.Removed(*name);
  }
  return gone;
}

TEST(CacheIndexTest, WhatWasUsedLongestAgoGoesFirst) {
  CacheIndex index(25);
  index.Use("a", 10);
  index.Use("b", 10);
  EXPECT_THAT(Gone(index), IsEmpty());
  index.Use("a", 10);
  index.Use("c", 10);
  EXPECT_THAT(Gone(index), ElementsAre("b"));
  index.Use("d", 24);
  EXPECT_THAT(Gone(index), ElementsAre("a", "c"));
  EXPECT_EQ(index.bytes(), 24);
}

TEST(CacheIndexTest, WhatIsHeldStaysHoweverOldAndLarge) {
  CacheIndex index(5);
  index.Use("a", 10);
  {
    const CacheHold hold(index, "a");
    const CacheHold another(index, "a");
    CacheHold moved(index, "b");
    CacheHold to = std::move(moved);
    index.Use("b", 10);
    index.Use("c", 1);
    EXPECT_THAT(Gone(index), ElementsAre("c"));
    EXPECT_EQ(index.bytes(), 20);
    index.Release("a");
    EXPECT_THAT(Gone(index), IsEmpty()) << "one of its holds is left";
    index.Hold("a");
  }
  EXPECT_THAT(Gone(index), ElementsAre("a", "b"));
}

TEST(CacheIndexTest, AChangedSizeCountsOnce) {
  CacheIndex index(100);
  index.Use("a", 10);
  index.Use("a", 30);
  EXPECT_EQ(index.bytes(), 30);
}

TEST(CacheIndexTest, ZeroIsNoLimit) {
  CacheIndex index(0);
  index.Use("a", int64_t{1} << 60);
  EXPECT_THAT(Gone(index), IsEmpty());
}

TEST(CacheIndexTest, WhoeverHoldsWhatIsBeingRemovedWaitsForItsEnd) {
  CacheIndex index(5);
  index.Use("a", 10);
  ASSERT_EQ(index.NextToGo(), "a");
  bool removed = false;
  std::thread holder([&] {
    const CacheHold hold(index, "a");
    EXPECT_TRUE(removed);
  });
  removed = true;
  index.Removed("a");
  holder.join();
}

}  // namespace
}  // namespace concur::worker
