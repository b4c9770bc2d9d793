// SPDX-License-Identifier: Apache-2.0
// Rooms with their people, simulated: see docs/reliability.md.
//
// CONCUR_ROOM_SEEDS=n runs n seeds instead of 1,000, CONCUR_ROOM_FIRST=n starts at seed n.
#include "tests/studies/annotation/room_world.h"

#include <cstdlib>
#include <iostream>

#include "absl/strings/numbers.h"
#include "base/log.h"
#include "tests/testing/test.h"

namespace concur::annotation {
namespace {

uint64_t RoomNumberFrom(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
  uint64_t number = 0;
  return text != nullptr && absl::SimpleAtoi(text, &number) ? number : otherwise;
}

// As docs/reliability.md says.
constexpr uint64_t kSeedsForABug = 10;

class RoomWorldTest : public ::testing::Test {
 protected:
  // Refused requests and full disks are as they should be here.
  void SetUp() override { SetLog(LogLevel::kNone, LogFormat::kText); }
  void TearDown() override { SetLog(LogLevel::kInfo, LogFormat::kText); }
};

TEST_F(RoomWorldTest, EveryPromiseHoldsInEveryWorld) {
  const uint64_t first = RoomNumberFrom("CONCUR_ROOM_FIRST", 1);
  const uint64_t seeds = RoomNumberFrom("CONCUR_ROOM_SEEDS", 1'000);
  RoomWorldCounts all;
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    RoomWorld world(seed, RoomBug::kNone);
    ASSERT_EQ(world.Run(), "") << "seed " << seed;
    all.attempts += world.counts().attempts;
    all.kept += world.counts().kept;
    all.dropped += world.counts().dropped;
    all.rejected += world.counts().rejected;
    all.resent += world.counts().resent;
    all.restarts += world.counts().restarts;
    all.tails += world.counts().tails;
    all.jumps += world.counts().jumps;
    all.splits += world.counts().splits;
  }
  std::cout << all.attempts << " attempts, " << all.kept << " kept, " << all.dropped << " dropped, "
            << all.rejected << " rejected, " << all.resent << " requests sent again, "
            << all.restarts << " restarts, " << all.tails << " lines cut off, " << all.jumps
            << " jumps of the clock, " << all.splits << " worlds with splits\n";
  // The worlds contain what they are meant to test.
  if (seeds >= 100) {
    const auto worlds = static_cast<int64_t>(seeds);
    EXPECT_GT(all.attempts, 10 * worlds);
    EXPECT_GT(all.kept, worlds);
    EXPECT_GT(all.dropped, worlds / 2);
    EXPECT_GT(all.rejected, worlds / 2);
    EXPECT_GT(all.resent, 10 * worlds);
    EXPECT_GT(all.restarts, 2 * worlds);
    EXPECT_GT(all.tails, worlds);
    EXPECT_GT(all.jumps, worlds);
    EXPECT_GT(all.splits, worlds / 10);
  }
}

TEST_F(RoomWorldTest, EachPlantedBugIsFound) {
  for (int bug = 1; bug <= kRoomBugs; ++bug) {
    const auto planted = static_cast<RoomBug>(bug);
    std::string found;
    uint64_t seed = 0;
    while (found.empty() && seed < kSeedsForABug) {
      found = RoomWorld(++seed, planted).Run();
    }
    EXPECT_NE(found, "") << RoomBugName(planted) << " goes unnoticed";
    std::cout << RoomBugName(planted) << ": seed " << seed << ": "
              << found.substr(0, found.find('\n')) << "\n";
  }
}

}  // namespace
}  // namespace concur::annotation
