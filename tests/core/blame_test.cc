#include "core/blame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/random.h"

namespace concur {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

TEST(BlameTest, WhatFailsEverywhereIsNobodysFault) {
  Blame blame;
  for (const char* worker : {"a", "b", "c"}) {
    blame.AddFailure(1, worker);
    blame.AddFailure(1, worker);
    EXPECT_EQ(blame.SuspicionOf(worker).failures, 0u) << worker;
  }
}

TEST(BlameTest, AWorkerIsSuspectOfWhatOthersCanDo) {
  Blame blame;
  blame.AddFailure(1, "bad");
  blame.AddFailure(1, "bad");
  blame.AddFailure(2, "bad");
  blame.AddFailure(3, "bad");
  EXPECT_THAT(blame.AddSuccess(1, "good", kNow), ElementsAre("bad"));
  EXPECT_THAT(blame.AddSuccess(3, "better", kNow), ElementsAre("bad"));
  const Blame::Suspicion suspicion = blame.SuspicionOf("bad");
  EXPECT_EQ(suspicion.failures, 3u);
  EXPECT_THAT(suspicion.groups, ElementsAre(1, 3));
  EXPECT_THAT(suspicion.succeeded, ElementsAre("better", "good"));
  blame.CheckInvariants();
}

TEST(BlameTest, ItsOwnSuccessClearsAWorkerInThatGroupAlone) {
  Blame blame;
  blame.AddSuccess(1, "good", kNow);
  blame.AddSuccess(2, "good", kNow);
  blame.AddFailure(1, "flaky");
  blame.AddFailure(2, "flaky");
  EXPECT_THAT(blame.AddSuccess(1, "flaky", kNow), IsEmpty());
  EXPECT_THAT(blame.SuspicionOf("flaky").groups, ElementsAre(2));
  // Failing again where it succeeded lately is not held against it.
  blame.AddFailure(1, "flaky");
  EXPECT_THAT(blame.SuspicionOf("flaky").groups, ElementsAre(2));
}

TEST(BlameTest, APardonForgetsFailuresAndForgettingTheRest) {
  Blame blame;
  blame.AddFailure(1, "bad");
  blame.AddSuccess(1, "good", kNow);
  blame.Pardon("bad");
  EXPECT_EQ(blame.SuspicionOf("bad").failures, 0u);
  blame.AddFailure(1, "bad");
  blame.Forget("good");
  EXPECT_EQ(blame.SuspicionOf("bad").failures, 0u) << "nobody is known who can do it";
  blame.CheckInvariants();
}

TEST(BlameTest, ClassesThatSayNothingOfAMachineDoNotCount) {
  for (const FailureClass failure :
       {FailureClass::kLost, FailureClass::kPreempted, FailureClass::kConfig,
        FailureClass::kTemporary, FailureClass::kNone}) {
    EXPECT_FALSE(CountsForBlame(failure)) << FailureClassName(failure);
  }
  for (const FailureClass failure :
       {FailureClass::kFailed, FailureClass::kOutOfMemory, FailureClass::kTimeout,
        FailureClass::kSpawn, FailureClass::kInvalidOutput, FailureClass::kWorker}) {
    EXPECT_TRUE(CountsForBlame(failure)) << FailureClassName(failure);
  }
}

TEST(BlameTest, ASuccessIsWrittenDownAnewOnlyAfterAWhile) {
  Blame blame;
  blame.AddSuccess(1, "a", kNow);
  EXPECT_THAT(blame.TakeChanged(), ElementsAre(Pair(1, "a")));
  blame.AddSuccess(1, "a", kNow + Blame::kSuccessKept - absl::Nanoseconds(1));
  EXPECT_THAT(blame.TakeChanged(), IsEmpty());
  EXPECT_EQ(blame.CellOf(1, "a").success_time, kNow);
  blame.AddSuccess(1, "a", kNow + Blame::kSuccessKept);
  EXPECT_THAT(blame.TakeChanged(), ElementsAre(Pair(1, "a")));
  // A clock that was set back does not keep the old time for ever.
  blame.AddSuccess(1, "a", kNow);
  EXPECT_EQ(blame.CellOf(1, "a").success_time, kNow);
}

TEST(BlameTest, TheLatestToSucceedTakesThePlaceOfTheOldestAfterAWhile) {
  Blame blame;
  blame.AddSuccess(1, "a", kNow);
  blame.AddSuccess(1, "b", kNow + absl::Minutes(1));
  blame.AddSuccess(1, "c", kNow + absl::Minutes(2));
  blame.TakeChanged();
  blame.AddSuccess(1, "d", kNow + absl::Minutes(9));
  EXPECT_THAT(blame.TakeChanged(), IsEmpty());
  blame.AddSuccess(1, "d", kNow + absl::Minutes(10));
  EXPECT_THAT(blame.TakeChanged(), ElementsAre(Pair(1, "a"), Pair(1, "d")));
  EXPECT_EQ(blame.CellOf(1, "a"), Blame::Cell());
  blame.CheckInvariants();
}

TEST(BlameTest, ACellThatContradictsOthersIsNotPutBack) {
  Blame blame;
  EXPECT_FALSE(blame.Restore(1, "a", {}));
  EXPECT_TRUE(blame.Restore(1, "a", {2, kNow}));
  EXPECT_FALSE(blame.Restore(1, "a", {2, kNow}));
  EXPECT_TRUE(blame.Restore(1, "b", {0, kNow}));
  EXPECT_TRUE(blame.Restore(1, "c", {0, kNow}));
  EXPECT_FALSE(blame.Restore(1, "d", {1, kNow}));
  EXPECT_TRUE(blame.Restore(1, "d", {1, std::nullopt}));
  EXPECT_EQ(blame.SuspicionOf("d").failures, 1u);
  EXPECT_THAT(blame.TakeChanged(), IsEmpty());
  blame.CheckInvariants();
}

// What was saved cell by cell, as it changed, is the table, and decides the same from then on.
TEST(BlameTest, TheTableStaysSoundAndCanBeRestoredUnderRandomEvents) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed, "blame");
    Blame blame;
    std::map<std::pair<Blame::Group, std::string>, Blame::Cell> saved;
    absl::Time now = kNow;
    for (int step = 0; step < 500; ++step) {
      const std::string worker(1, static_cast<char>('a' + random.Below(5)));
      const auto group = static_cast<Blame::Group>(random.Below(6));
      const uint64_t what = random.Below(20);
      now += absl::Seconds(random.Between(-10, 100));
      if (what < 9) {
        blame.AddFailure(group, worker);
      } else if (what < 17) {
        blame.AddSuccess(group, worker, now);
      } else if (what < 19) {
        blame.Pardon(worker);
      } else {
        blame.Forget(worker);
      }
      blame.CheckInvariants();
      for (const auto& [changed_group, changed_worker] : blame.TakeChanged()) {
        const Blame::Cell cell = blame.CellOf(changed_group, changed_worker);
        if (cell == Blame::Cell()) {
          saved.erase({changed_group, changed_worker});
        } else {
          saved[{changed_group, changed_worker}] = cell;
        }
      }
      Blame restored;
      for (const auto& [at, cell] : saved) {
        ASSERT_TRUE(restored.Restore(at.first, at.second, cell));
      }
      restored.CheckInvariants();
      size_t cells = 0;
      blame.ForEach([&](Blame::Group cell_group, const std::string& name, const Blame::Cell& cell) {
        EXPECT_EQ(restored.CellOf(cell_group, name), cell);
        ++cells;
      });
      EXPECT_EQ(cells, saved.size());
      if (random.Chance(0.02)) {
        blame = restored;
      }
    }
  }
}

}  // namespace
}  // namespace concur
