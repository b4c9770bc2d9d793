#include "core/blame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace concur {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

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
  EXPECT_THAT(blame.AddSuccess(1, "good"), ElementsAre("bad"));
  EXPECT_THAT(blame.AddSuccess(3, "better"), ElementsAre("bad"));
  const Blame::Suspicion suspicion = blame.SuspicionOf("bad");
  EXPECT_EQ(suspicion.failures, 3u);
  EXPECT_THAT(suspicion.groups, ElementsAre(1, 3));
  EXPECT_THAT(suspicion.succeeded, ElementsAre("better", "good"));
  blame.CheckInvariants();
}

TEST(BlameTest, ItsOwnSuccessClearsAWorkerInThatGroupAlone) {
  Blame blame;
  blame.AddSuccess(1, "good");
  blame.AddSuccess(2, "good");
  blame.AddFailure(1, "flaky");
  blame.AddFailure(2, "flaky");
  EXPECT_THAT(blame.AddSuccess(1, "flaky"), IsEmpty());
  EXPECT_THAT(blame.SuspicionOf("flaky").groups, ElementsAre(2));
  // Failing again where it succeeded lately is not held against it.
  blame.AddFailure(1, "flaky");
  EXPECT_THAT(blame.SuspicionOf("flaky").groups, ElementsAre(2));
}

TEST(BlameTest, APardonForgetsFailuresAndForgettingTheRest) {
  Blame blame;
  blame.AddFailure(1, "bad");
  blame.AddSuccess(1, "good");
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

TEST(BlameTest, TheTableStaysSoundUnderRandomEvents) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed, "blame");
    Blame blame;
    for (int step = 0; step < 500; ++step) {
      const std::string worker(1, static_cast<char>('a' + random.Below(5)));
      const auto group = static_cast<Blame::Group>(random.Below(6));
      const uint64_t what = random.Below(20);
      if (what < 9) {
        blame.AddFailure(group, worker);
      } else if (what < 17) {
        blame.AddSuccess(group, worker);
      } else if (what < 19) {
        blame.Pardon(worker);
      } else {
        blame.Forget(worker);
      }
      blame.CheckInvariants();
    }
  }
}

}  // namespace
}  // namespace concur
