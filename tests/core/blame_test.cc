// SPDX-License-Identifier: Apache-2.0
#include "core/blame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"

namespace concur {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);
constexpr SweepId kSweep{1};

Blame::Kind KindOf(int number) {
  Blame::Kind kind;
  kind.key.bytes[0] = static_cast<uint8_t>(number);
  kind.approach = "a";
  kind.benchmark = "x";
  return kind;
}

std::vector<int> NumbersOf(const std::vector<Blame::Kind>& kinds) {
  std::vector<int> numbers;
  for (const Blame::Kind& kind : kinds) {
    numbers.push_back(kind.key.bytes[0]);
  }
  return numbers;
}

using Changes = std::vector<std::pair<int, std::string>>;
Changes TakeChanges(Blame& blame) {
  Changes changes;
  blame.TakeChanged([&](const Blame::Kind& kind, const std::string& worker, const Blame::Cell&) {
    changes.emplace_back(kind.key.bytes[0], worker);
  });
  return changes;
}

TEST(BlameTest, WhatFailsEverywhereIsNobodysFault) {
  Blame blame;
  for (const char* worker : {"a", "b", "c"}) {
    blame.AddFailure(KindOf(1), worker, kSweep);
    blame.AddFailure(KindOf(1), worker, kSweep);
    EXPECT_EQ(blame.SuspicionOf(worker).failures, 0u) << worker;
  }
}

TEST(BlameTest, AWorkerIsSuspectOfWhatOthersCanDo) {
  Blame blame;
  blame.AddFailure(KindOf(1), "bad", kSweep);
  blame.AddFailure(KindOf(1), "bad", kSweep);
  blame.AddFailure(KindOf(2), "bad", kSweep);
  blame.AddFailure(KindOf(3), "bad", kSweep);
  EXPECT_THAT(blame.AddSuccess(KindOf(1), "good", kSweep, kNow), ElementsAre("bad"));
  EXPECT_THAT(blame.AddSuccess(KindOf(3), "better", kSweep, kNow), ElementsAre("bad"));
  const Blame::Suspicion suspicion = blame.SuspicionOf("bad");
  EXPECT_EQ(suspicion.failures, 3u);
  EXPECT_THAT(NumbersOf(suspicion.kinds), ElementsAre(1, 3));
  EXPECT_THAT(suspicion.succeeded, ElementsAre("better", "good"));
  blame.CheckInvariants();
}

TEST(BlameTest, ItsOwnSuccessClearsAWorkerInThatGroupAlone) {
  Blame blame;
  blame.AddSuccess(KindOf(1), "good", kSweep, kNow);
  blame.AddSuccess(KindOf(2), "good", kSweep, kNow);
  blame.AddFailure(KindOf(1), "flaky", kSweep);
  blame.AddFailure(KindOf(2), "flaky", kSweep);
  EXPECT_THAT(blame.AddSuccess(KindOf(1), "flaky", kSweep, kNow), IsEmpty());
  EXPECT_THAT(NumbersOf(blame.SuspicionOf("flaky").kinds), ElementsAre(2));
  // Failing again where it succeeded lately is not held against it.
  blame.AddFailure(KindOf(1), "flaky", kSweep);
  EXPECT_THAT(NumbersOf(blame.SuspicionOf("flaky").kinds), ElementsAre(2));
}

TEST(BlameTest, APardonForgetsFailuresAndForgettingTheRest) {
  Blame blame;
  blame.AddFailure(KindOf(1), "bad", kSweep);
  blame.AddSuccess(KindOf(1), "good", kSweep, kNow);
  blame.Pardon("bad");
  EXPECT_EQ(blame.SuspicionOf("bad").failures, 0u);
  blame.AddFailure(KindOf(1), "bad", kSweep);
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
  blame.AddSuccess(KindOf(1), "a", kSweep, kNow);
  EXPECT_THAT(TakeChanges(blame), ElementsAre(Pair(1, "a")));
  blame.AddSuccess(KindOf(1), "a", kSweep, kNow + Blame::kSuccessKept - absl::Nanoseconds(1));
  EXPECT_THAT(TakeChanges(blame), IsEmpty());
  EXPECT_EQ(blame.CellOf(KindOf(1).key, "a").success_time, kNow);
  blame.AddSuccess(KindOf(1), "a", kSweep, kNow + Blame::kSuccessKept);
  EXPECT_THAT(TakeChanges(blame), ElementsAre(Pair(1, "a")));
  // A clock that was set back does not keep the old time for ever.
  blame.AddSuccess(KindOf(1), "a", kSweep, kNow);
  EXPECT_EQ(blame.CellOf(KindOf(1).key, "a").success_time, kNow);
}

TEST(BlameTest, TheLatestToSucceedTakesThePlaceOfTheOldestAfterAWhile) {
  Blame blame;
  blame.AddSuccess(KindOf(1), "a", kSweep, kNow);
  blame.AddSuccess(KindOf(1), "b", kSweep, kNow + absl::Minutes(1));
  blame.AddSuccess(KindOf(1), "c", kSweep, kNow + absl::Minutes(2));
  TakeChanges(blame);
  blame.AddSuccess(KindOf(1), "d", kSweep, kNow + absl::Minutes(9));
  EXPECT_THAT(TakeChanges(blame), IsEmpty());
  blame.AddSuccess(KindOf(1), "d", kSweep, kNow + absl::Minutes(10));
  EXPECT_THAT(TakeChanges(blame), ElementsAre(Pair(1, "a"), Pair(1, "d")));
  EXPECT_EQ(blame.CellOf(KindOf(1).key, "a"), Blame::Cell());
  blame.CheckInvariants();
}

TEST(BlameTest, ACellThatContradictsOthersIsNotPutBack) {
  Blame blame;
  EXPECT_FALSE(blame.Restore(KindOf(1), "a", {}));
  EXPECT_TRUE(blame.Restore(KindOf(1), "a", {2, kNow, kSweep}));
  EXPECT_FALSE(blame.Restore(KindOf(1), "a", {2, kNow, kSweep}));
  EXPECT_TRUE(blame.Restore(KindOf(1), "b", {0, kNow, kSweep}));
  EXPECT_TRUE(blame.Restore(KindOf(1), "c", {0, kNow, kSweep}));
  EXPECT_FALSE(blame.Restore(KindOf(1), "d", {1, kNow, kSweep}));
  EXPECT_TRUE(blame.Restore(KindOf(1), "d", {1, std::nullopt, kSweep}));
  EXPECT_EQ(blame.SuspicionOf("d").failures, 1u);
  EXPECT_THAT(TakeChanges(blame), IsEmpty());
  blame.CheckInvariants();
}

// Two workers failed everything with a broken script. Once it was mended, the first to succeed got
// the other one into quarantine.
TEST(BlameTest, TheFirstSuccessOfAWorkerThatHadFailedClearsEverybody) {
  Blame blame;
  for (const char* worker : {"a", "b"}) {
    blame.AddFailure(KindOf(1), worker, kSweep);
    blame.AddFailure(KindOf(1), worker, kSweep);
  }
  EXPECT_THAT(blame.AddSuccess(KindOf(1), "a", kSweep, kNow), IsEmpty());
  EXPECT_EQ(blame.SuspicionOf("b").failures, 0u);
  // From then on it is known that it can be done.
  blame.AddFailure(KindOf(1), "b", kSweep);
  EXPECT_EQ(blame.SuspicionOf("b").failures, 1u);
  blame.AddFailure(KindOf(1), "c", kSweep);
  EXPECT_THAT(blame.AddSuccess(KindOf(1), "c", kSweep, kNow), ElementsAre("b"));
  EXPECT_EQ(blame.SuspicionOf("b").failures, 1u);
  blame.CheckInvariants();
}

TEST(BlameTest, AMendForgetsWhatWasFailedInThatKindAlone) {
  Blame blame;
  blame.AddFailure(KindOf(1), "bad", kSweep);
  blame.AddFailure(KindOf(2), "bad", kSweep);
  blame.Mend(KindOf(1).key);
  blame.Mend(KindOf(3).key);
  blame.AddSuccess(KindOf(1), "good", kSweep, kNow);
  blame.AddSuccess(KindOf(2), "good", kSweep, kNow);
  EXPECT_THAT(NumbersOf(blame.SuspicionOf("bad").kinds), ElementsAre(2));
  blame.CheckInvariants();
}

TEST(BlameTest, WhatASweepChangedLastGoesWithIt) {
  Blame blame;
  blame.AddFailure(KindOf(1), "bad", kSweep);
  blame.AddFailure(KindOf(2), "bad", kSweep);
  blame.AddFailure(KindOf(2), "bad", SweepId{2});
  blame.AddSuccess(KindOf(2), "good", kSweep, kNow);
  TakeChanges(blame);
  blame.ForgetSweep(kSweep);
  EXPECT_THAT(TakeChanges(blame), ElementsAre(Pair(1, "bad"), Pair(2, "good")));
  EXPECT_EQ(blame.CellOf(KindOf(1).key, "bad"), Blame::Cell());
  EXPECT_EQ(blame.CellOf(KindOf(2).key, "bad").failures, 2u);
  blame.CheckInvariants();
}

// What was saved cell by cell, as it changed, is the table, and decides the same from then on.
TEST(BlameTest, TheTableStaysSoundAndCanBeRestoredUnderRandomEvents) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed, "blame");
    Blame blame;
    std::map<std::pair<int, std::string>, Blame::Cell> saved;
    absl::Time now = kNow;
    for (int step = 0; step < 500; ++step) {
      const std::string worker(1, static_cast<char>('a' + random.Below(5)));
      const Blame::Kind kind = KindOf(static_cast<int>(random.Below(6)));
      const SweepId sweep{1 + random.Below(3)};
      const uint64_t what = random.Below(22);
      now += absl::Seconds(random.Between(-10, 100));
      if (what < 9) {
        blame.AddFailure(kind, worker, sweep);
      } else if (what < 17) {
        blame.AddSuccess(kind, worker, sweep, now);
      } else if (what < 19) {
        blame.Pardon(worker);
      } else if (what < 20) {
        blame.Forget(worker);
      } else if (what < 21) {
        blame.Mend(kind.key);
      } else {
        blame.ForgetSweep(sweep);
      }
      blame.CheckInvariants();
      blame.TakeChanged(
          [&](const Blame::Kind& changed, const std::string& name, const Blame::Cell& cell) {
            if (cell.empty()) {
              saved.erase({changed.key.bytes[0], name});
            } else {
              saved[{changed.key.bytes[0], name}] = cell;
            }
          });
      blame.CheckInvariants();
      Blame restored;
      for (const auto& [at, cell] : saved) {
        ASSERT_TRUE(restored.Restore(KindOf(at.first), at.second, cell));
      }
      restored.CheckInvariants();
      size_t cells = 0;
      blame.ForEach([&](const Blame::Kind& at, const std::string& name, const Blame::Cell& cell) {
        EXPECT_EQ(restored.CellOf(at.key, name), cell);
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
