// SPDX-License-Identifier: Apache-2.0
#include "core/state/blame.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

constexpr absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);
constexpr SweepId kSweep{1};

Blame::Kind KindOf(int number, SweepId sweep = kSweep) {
  return {.sweep = sweep, .approach = absl::StrCat("a", number), .benchmark = "x"};
}

// Kind 1 has the jobs 10 to 19, and so on.
JobId JobOf(int job, SweepId sweep = kSweep) { return {sweep, static_cast<uint32_t>(job)}; }

class BlameTest : public ::testing::Test {
 protected:
  void Fail(int job, const std::string& worker) {
    blame_.AddFailure(KindOf(job / 10), JobOf(job), worker);
    blame_.CheckInvariants();
  }
  std::vector<std::string> Succeed(int job, const std::string& worker, absl::Time now = kNow) {
    std::vector<std::string> suspects =
        blame_.AddSuccess(KindOf(job / 10), JobOf(job), worker, now);
    blame_.CheckInvariants();
    return suspects;
  }
  Blame::Suspicion SuspicionOf(const std::string& worker, const std::string& beside = "") {
    return blame_.SuspicionOf(worker, [&](const std::string& other) { return other != beside; });
  }
  uint32_t JobsOf(const std::string& worker) { return SuspicionOf(worker).jobs; }
  using Changes = std::vector<std::pair<std::string, std::string>>;
  Changes TakeChanges() {
    Changes changes;
    blame_.TakeChanged([&](const Digest& key, const Blame::Kind& kind, const std::string& worker,
                           const Blame::Cell&) {
      changes.emplace_back(key == Blame::KeyOf(kind) ? kind.approach : "job", worker);
    });
    std::sort(changes.begin(), changes.end());
    return changes;
  }

  Blame blame_;
};

TEST_F(BlameTest, WhatFailsEverywhereIsNobodysFault) {
  for (const char* worker : {"a", "b", "c"}) {
    Fail(10, worker);
    Fail(10, worker);
    EXPECT_EQ(JobsOf(worker), 0u) << worker;
  }
}

TEST_F(BlameTest, AWorkerIsSuspectOfTheJobsThatOthersDid) {
  Fail(10, "bad");
  Fail(10, "bad");
  Fail(11, "bad");
  Fail(20, "bad");
  Fail(30, "bad");
  EXPECT_THAT(Succeed(10, "good"), ElementsAre("bad"));
  EXPECT_THAT(Succeed(30, "better"), ElementsAre("bad"));
  const Blame::Suspicion suspicion = SuspicionOf("bad");
  EXPECT_EQ(suspicion.jobs, 2u) << "jobs, not attempts";
  EXPECT_THAT(suspicion.kinds, ElementsAre(KindOf(1), KindOf(3)));
  EXPECT_THAT(suspicion.succeeded, ElementsAre("better", "good"));
}

// An approach failed for some of its settings: the worker that had got these, and no other job of
// the kind, had "failed what succeeds on" the others.
TEST_F(BlameTest, OtherJobsOfTheKindSayNothing) {
  for (int job = 10; job < 15; ++job) {
    Fail(job, "unlucky");
    Succeed(job + 5, "lucky");
  }
  EXPECT_EQ(JobsOf("unlucky"), 0u);
}

TEST_F(BlameTest, ASuccessOnTheSameMachineSaysNothing) {
  Fail(10, "w1");
  EXPECT_THAT(Succeed(10, "w2"), ElementsAre("w1"));
  EXPECT_EQ(SuspicionOf("w1", /*beside=*/"w2").jobs, 0u);
  EXPECT_EQ(JobsOf("w1"), 1u);
}

TEST_F(BlameTest, ItsOwnSuccessClearsAWorkerInThatKindAlone) {
  Fail(10, "flaky");
  Fail(20, "flaky");
  Succeed(10, "good");
  Succeed(20, "good");
  EXPECT_THAT(Succeed(11, "flaky"), IsEmpty());
  EXPECT_THAT(SuspicionOf("flaky").kinds, ElementsAre(KindOf(2)));
  // Failing again where it succeeded lately is not held against it.
  Fail(12, "flaky");
  Succeed(12, "good");
  EXPECT_THAT(SuspicionOf("flaky").kinds, ElementsAre(KindOf(2)));
}

TEST_F(BlameTest, APardonForgetsFailuresAndForgettingTheRest) {
  Fail(10, "bad");
  Succeed(10, "good");
  blame_.Pardon("bad");
  EXPECT_EQ(JobsOf("bad"), 0u);
  Fail(11, "bad");
  Succeed(11, "good");
  EXPECT_EQ(JobsOf("bad"), 1u);
  blame_.Forget("good");
  EXPECT_EQ(JobsOf("bad"), 0u) << "nobody is known who can do it";
  blame_.CheckInvariants();
}

TEST_F(BlameTest, AWorkerIsKnownToHaveFailedAJobUntilThatIsForgotten) {
  Fail(10, "w");
  EXPECT_TRUE(blame_.HasFailed("w", JobOf(10)));
  EXPECT_FALSE(blame_.HasFailed("w", JobOf(11)));
  EXPECT_FALSE(blame_.HasFailed("v", JobOf(10)));
  blame_.Mend(JobOf(10));
  EXPECT_FALSE(blame_.HasFailed("w", JobOf(10)));
}

TEST_F(BlameTest, ClassesThatSayNothingOfAMachineDoNotCount) {
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

TEST_F(BlameTest, ASuccessIsWrittenDownAnewOnlyAfterAWhile) {
  Succeed(10, "a");
  EXPECT_THAT(TakeChanges(), ElementsAre(Pair("a1", "a")));
  Succeed(11, "a", kNow + Blame::kSuccessKept - absl::Nanoseconds(1));
  EXPECT_THAT(TakeChanges(), IsEmpty());
  EXPECT_EQ(blame_.CellOf(Blame::KeyOf(KindOf(1)), "a").success_time, kNow);
  Succeed(12, "a", kNow + Blame::kSuccessKept);
  EXPECT_THAT(TakeChanges(), ElementsAre(Pair("a1", "a")));
  // A clock that was set back does not keep the old time for ever.
  Succeed(13, "a");
  EXPECT_EQ(blame_.CellOf(Blame::KeyOf(KindOf(1)), "a").success_time, kNow);
}

TEST_F(BlameTest, TheLatestToSucceedTakesThePlaceOfTheOldestAfterAWhile) {
  Succeed(10, "a");
  Succeed(11, "b", kNow + absl::Minutes(1));
  Succeed(12, "c", kNow + absl::Minutes(2));
  TakeChanges();
  Succeed(13, "d", kNow + absl::Minutes(9));
  EXPECT_THAT(TakeChanges(), IsEmpty());
  Succeed(14, "d", kNow + absl::Minutes(10));
  EXPECT_THAT(TakeChanges(), ElementsAre(Pair("a1", "a"), Pair("a1", "d")));
  EXPECT_EQ(blame_.CellOf(Blame::KeyOf(KindOf(1)), "a"), Blame::Cell());
}

TEST_F(BlameTest, ACellThatContradictsOthersIsNotPutBack) {
  const Digest kind = Blame::KeyOf(KindOf(1));
  const Digest job = Blame::KeyOf(JobOf(10));
  EXPECT_FALSE(blame_.Restore(kind, KindOf(1), "a", {}));
  EXPECT_FALSE(blame_.Restore(kind, KindOf(1), "a", {1, kNow})) << "of a job alone";
  for (const char* worker : {"a", "b", "c"}) {
    EXPECT_TRUE(blame_.Restore(kind, KindOf(1), worker, {0, kNow}));
    EXPECT_FALSE(blame_.Restore(kind, KindOf(1), worker, {0, kNow})) << "there already";
  }
  EXPECT_FALSE(blame_.Restore(kind, KindOf(1), "d", {0, kNow})) << "one too many";
  EXPECT_TRUE(blame_.Restore(job, KindOf(1), "d", {1, std::nullopt}));
  EXPECT_TRUE(blame_.Restore(job, KindOf(1), "a", {0, kNow}));
  EXPECT_EQ(JobsOf("d"), 1u);
  EXPECT_THAT(TakeChanges(), IsEmpty());
  blame_.CheckInvariants();
}

// Two workers failed everything with a broken script. Once it was mended, the first to succeed got
// the other one into quarantine.
TEST_F(BlameTest, TheFirstSuccessOfAWorkerThatHadFailedClearsEverybody) {
  for (const char* worker : {"a", "b"}) {
    Fail(10, worker);
    Fail(11, worker);
  }
  EXPECT_THAT(Succeed(10, "a"), IsEmpty());
  EXPECT_EQ(JobsOf("b"), 0u);
  // From then on it is known that it can be done.
  Fail(11, "b");
  EXPECT_THAT(Succeed(11, "a"), ElementsAre("b"));
  EXPECT_EQ(JobsOf("b"), 1u);
}

TEST_F(BlameTest, AMendForgetsWhatWasFailedAtThatJobAlone) {
  Fail(10, "bad");
  Fail(20, "bad");
  blame_.Mend(JobOf(10));
  blame_.Mend(JobOf(99));
  Succeed(10, "good");
  Succeed(20, "good");
  EXPECT_THAT(SuspicionOf("bad").kinds, ElementsAre(KindOf(2)));
}

// A command was mended, and its jobs submitted again: what they failed before is another sweep's.
TEST_F(BlameTest, AnotherSweepsJobsAreOthers) {
  Fail(10, "bad");
  blame_.AddSuccess(KindOf(1, SweepId{2}), JobOf(10, SweepId{2}), "good", kNow);
  EXPECT_EQ(JobsOf("bad"), 0u);
  TakeChanges();
  blame_.ForgetSweep(kSweep);
  EXPECT_THAT(TakeChanges(), ElementsAre(Pair("job", "bad")));
  blame_.ForgetSweep(SweepId{2});
  EXPECT_THAT(TakeChanges(), ElementsAre(Pair("a1", "good")));
  blame_.CheckInvariants();
}

TEST_F(BlameTest, ASuccessThatNothingIsComparedWithIsNotKept) {
  Fail(10, "bad");
  Succeed(10, "good");
  Succeed(11, "bad");
  TakeChanges();
  size_t cells = 0;
  blame_.ForEach(
      [&](const Digest& key, const Blame::Kind& kind, const std::string&, const Blame::Cell&) {
        EXPECT_EQ(key, Blame::KeyOf(kind));
        ++cells;
      });
  EXPECT_EQ(cells, 2u);
}

// Cells that were saved as they changed make up the table, and decide the same from then on.
TEST_F(BlameTest, TheTableStaysSoundAndCanBeRestoredUnderRandomEvents) {
  struct Saved {
    Blame::Kind kind;
    Blame::Cell cell;
  };
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed, "blame");
    Blame blame;
    std::map<std::pair<Digest, std::string>, Saved> saved;
    absl::Time now = kNow;
    for (int step = 0; step < 500; ++step) {
      const std::string worker(1, static_cast<char>('a' + random.Below(5)));
      const SweepId sweep{1 + random.Below(3)};
      const int job = static_cast<int>(random.Below(20));
      const Blame::Kind kind = KindOf(job / 4, sweep);
      const uint64_t what = random.Below(22);
      now += absl::Seconds(random.Between(-10, 100));
      if (what < 12) {
        blame.AddFailure(kind, JobOf(job, sweep), worker);
      } else if (what < 17) {
        blame.AddSuccess(kind, JobOf(job, sweep), worker, now);
      } else if (what < 19) {
        blame.Pardon(worker);
      } else if (what < 20) {
        blame.Forget(worker);
      } else if (what < 21) {
        blame.Mend(JobOf(job, sweep));
      } else {
        blame.ForgetSweep(sweep);
      }
      blame.CheckInvariants();
      blame.TakeChanged([&](const Digest& key, const Blame::Kind& changed, const std::string& name,
                            const Blame::Cell& cell) {
        if (cell.empty()) {
          saved.erase({key, name});
        } else {
          saved[{key, name}] = {changed, cell};
        }
      });
      blame.CheckInvariants();
      Blame restored;
      for (const auto& [at, row] : saved) {
        ASSERT_TRUE(restored.Restore(at.first, row.kind, at.second, row.cell));
      }
      restored.CheckInvariants();
      size_t cells = 0;
      blame.ForEach([&](const Digest& key, const Blame::Kind&, const std::string& name,
                        const Blame::Cell& cell) {
        EXPECT_EQ(restored.CellOf(key, name), cell);
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
