// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/agent.h"

#include <vector>

#include "tests/testing/test.h"
#include "tests/worker/agent/agent_fixture.h"

namespace concur::worker {
namespace {

using testing::FakeGateway;

TEST_F(AgentTest, KeepsOneCallParkedAndWellUnderTheLease) {
  Connect();
  EXPECT_THAT(gateway_.open(), SizeIs(1));
  EXPECT_LE(last().wait, absl::Seconds(10));
  Answer({});
  EXPECT_THAT(gateway_.open(), SizeIs(1));
  const uint64_t sequence = last().sequence;
  Step();
  Step();
  EXPECT_EQ(last().sequence, sequence) << "nothing happened, nothing is said";
}

TEST_F(AgentTest, StartsWhatIsOrderedAndTellsAtOnce) {
  Connect();
  StartAttempts({Id(1), Id(2)});
  EXPECT_THAT(executor_.started(), ElementsAre(Id(1), Id(2)));
  EXPECT_THAT(last().running, ElementsAre(Id(1), Id(2)));
}

TEST_F(AgentTest, ARepeatedOrderStartsNothing) {
  Connect();
  StartAttempts({Id(1)});
  StartAttempts({Id(1)});
  EXPECT_THAT(executor_.started(), ElementsAre(Id(1)));
  executor_.Finish(Id(1), Success());
  Step();
  StartAttempts({Id(1)});
  EXPECT_THAT(executor_.started(), ElementsAre(Id(1)));
}

TEST_F(AgentTest, AnAnswerToASupersededCallIsIgnored) {
  Connect();
  StartAttempts({Id(1)});
  const uint64_t old = last().sequence;
  executor_.Finish(Id(1), Success());
  Step();
  ASSERT_GT(last().sequence, old);
  SyncResponse late;
  late.start.push_back(Order(Id(2)));
  gateway_.Answer(old, late);
  Step();
  EXPECT_THAT(executor_.started(), ElementsAre(Id(1)));
  // The same order in the answer that counts is carried out.
  StartAttempts({Id(2)});
  EXPECT_THAT(executor_.started(), ElementsAre(Id(1), Id(2)));
}

TEST_F(AgentTest, AnAnswerThatComesTwiceCountsOnce) {
  Connect();
  SyncResponse response;
  response.start.push_back(Order(Id(1)));
  response.lease = absl::Seconds(30);
  const uint64_t sequence = last().sequence;
  gateway_.Answer(sequence, response);
  gateway_.Answer(sequence, response);
  Step();
  gateway_.Answer(sequence, response);
  Step();
  EXPECT_THAT(executor_.started(), ElementsAre(Id(1)));
}

TEST_F(AgentTest, AResultIsRepeatedInEverySyncUntilForgotten) {
  Connect();
  StartAttempts({Id(1)});
  executor_.Finish(Id(1), Success());
  Step();
  EXPECT_THAT(FinishedIds(last()), ElementsAre(Id(1)));
  EXPECT_THAT(last().running, IsEmpty());
  EXPECT_EQ(last().wait, absl::ZeroDuration()) << "news are answered at once";
  EXPECT_THAT(spool_.kept, SizeIs(1));
  Answer({});
  EXPECT_THAT(FinishedIds(last()), ElementsAre(Id(1)));
  EXPECT_GT(last().wait, absl::ZeroDuration()) << "an answer without a word about it must not spin";
  SyncResponse forget;
  forget.forget.push_back({Id(1), true, ""});
  Answer(forget);
  EXPECT_THAT(last().finished, IsEmpty());
  EXPECT_THAT(spool_.kept, IsEmpty());
  EXPECT_THAT(executor_.forgotten(), ElementsAre(Id(1)));
}

TEST_F(AgentTest, ABusyWorkerTakesItsAnswers) {
  // Results that come faster than answers must not supersede the call whose answer brings work.
  Connect();
  StartAttempts({Id(1), Id(2), Id(3)});
  executor_.Finish(Id(1), Success());
  Step();
  const uint64_t sequence = last().sequence;
  executor_.Finish(Id(2), Success());
  Step();
  EXPECT_EQ(last().sequence, sequence);
  SyncResponse response;
  response.forget.push_back({Id(1), true, ""});
  response.start.push_back(Order(Id(4)));
  Answer(response);
  EXPECT_TRUE(executor_.started().contains(Id(4)));
  EXPECT_THAT(FinishedIds(last()), ElementsAre(Id(2)));
  EXPECT_THAT(last().running, ElementsAre(Id(3), Id(4)));
}

TEST_F(AgentTest, AResultIsInTheSpoolBeforeItIsReported) {
  Connect();
  StartAttempts({Id(1)});
  executor_.Finish(Id(1), Success(), /*published=*/false);
  Step();
  ASSERT_TRUE(spool_.kept.contains(Id(1)));
  EXPECT_FALSE(spool_.kept[Id(1)].published);
  EXPECT_TRUE(executor_.publishing().contains(Id(1)));
  EXPECT_THAT(last().running, ElementsAre(Id(1))) << "still this worker's until it is published";
  executor_.FinishPublishing(Id(1));
  Step();
  EXPECT_TRUE(spool_.kept[Id(1)].published);
  EXPECT_THAT(FinishedIds(last()), ElementsAre(Id(1)));
}

TEST_F(AgentTest, AFullSpoolDiskDoesNotLoseAResult) {
  spool_.status = absl::ResourceExhaustedError("no space left");
  Connect();
  StartAttempts({Id(1)});
  executor_.Finish(Id(1), Success());
  Step();
  EXPECT_THAT(FinishedIds(last()), ElementsAre(Id(1)));
}

TEST_F(AgentTest, JobsGoOnThroughAnOutageOfAnyLength) {
  Connect();
  StartAttempts({Id(1), Id(2)});
  const absl::Time start = clock_.Now();
  int calls = 0;
  while (clock_.Now() < start + absl::Hours(10)) {
    if (!gateway_.open().empty()) {
      gateway_.Fail(last().sequence, absl::UnavailableError("connection refused"));
      ++calls;
    }
    StepAtNext();
  }
  while (gateway_.open().empty()) {
    StepAtNext();
  }
  EXPECT_THAT(executor_.stops(), IsEmpty());
  EXPECT_THAT(executor_.running(), SizeIs(2));
  EXPECT_LT(calls, 10 * 3600 / 2) << "backs off";
  EXPECT_GT(calls, 10 * 3600 / 6) << "but keeps trying";
  executor_.Finish(Id(1), Success());
  Answer({});
  EXPECT_THAT(FinishedIds(last()), ElementsAre(Id(1)));
  EXPECT_THAT(last().running, ElementsAre(Id(2)));
}

TEST_F(AgentTest, TheLeaseIsCountedFromTheLastAnsweredCallWithAMargin) {
  Step();
  const absl::Time sent = clock_.Now();
  clock_.Advance(absl::Seconds(3));
  SyncResponse response;
  response.lease = absl::Seconds(20);
  Answer(response);
  EXPECT_EQ(executor_.lease_end(), sent + absl::Seconds(18));
  gateway_.Fail(last().sequence, absl::UnavailableError("gone"));
  Step();
  EXPECT_EQ(executor_.lease_end(), sent + absl::Seconds(18)) << "a failed call renews nothing";
}

// The coordinator gives the units to another worker's job then.
TEST_F(AgentTest, WhatHoldsUnitsOfANamedResourceIsKilledBeforeTheLeaseEnds) {
  Step();
  const absl::Time sent = clock_.Now();
  SyncResponse response;
  response.start = {Order(Id(1)), Order(Id(2))};
  response.start[0].holds_units = true;
  Answer(response);
  clock_.Advance(sent + absl::Seconds(26) - clock_.Now());
  gateway_.Fail(last().sequence, absl::UnavailableError("gone"));
  EXPECT_LE(Step(), sent + absl::Seconds(27));
  EXPECT_FALSE(executor_.stops().contains(Id(1)));
  clock_.Advance(sent + absl::Seconds(27) - clock_.Now());
  Step();
  ASSERT_TRUE(executor_.stops().contains(Id(1)));
  ASSERT_EQ(executor_.stops().at(Id(1)).size(), 1u);
  EXPECT_EQ(executor_.stops().at(Id(1))[0].cause, StopCause::kLeaseEnds);
  EXPECT_TRUE(executor_.stops().at(Id(1))[0].at_once);
  EXPECT_FALSE(executor_.stops().contains(Id(2))) << "other jobs go on";
  Step();
  EXPECT_EQ(executor_.stops().at(Id(1)).size(), 1u) << "once";
}

TEST_F(AgentTest, WhatIsBeingStoppedGentlyIsKilledBeforeTheLeaseEndsToo) {
  Step();
  const absl::Time sent = clock_.Now();
  SyncResponse response;
  response.start = {Order(Id(1))};
  response.start[0].holds_units = true;
  Answer(response);
  SyncResponse stop;
  stop.stop = {{Id(1), StopReason::kCanceled}};
  Answer(stop);
  ASSERT_EQ(executor_.stops().at(Id(1)).size(), 1u);
  EXPECT_FALSE(executor_.stops().at(Id(1))[0].at_once);
  clock_.Advance(sent + absl::Seconds(27) - clock_.Now());
  Step();
  ASSERT_EQ(executor_.stops().at(Id(1)).size(), 2u);
  EXPECT_TRUE(executor_.stops().at(Id(1))[1].at_once);
}

TEST_F(AgentTest, ACallThatIsNeverAnsweredIsMadeAgain) {
  Connect();
  const uint64_t sequence = last().sequence;
  StepAtNext();  // the parked call's time and more are over
  StepAtNext();  // after the back-off
  EXPECT_GT(last().sequence, sequence);
  EXPECT_THAT(gateway_.open(), ElementsAre(last().sequence));
  EXPECT_LT(clock_.Now() - absl::FromUnixSeconds(1'700'000'000), absl::Seconds(25))
      << "well before the lease of 30 s ends";
}

TEST_F(AgentTest, BackOffGrowsHasJitterAndIsTheSameForTheSameSeed) {
  const auto delays = [&](uint64_t seed) {
    options_.seed = seed;
    Restart();
    std::vector<absl::Duration> result;
    Step();
    for (int i = 0; i < 10; ++i) {
      gateway_.Fail(last().sequence, absl::UnavailableError("no"));
      const absl::Time now = clock_.Now();
      const absl::Time next = Step();
      result.push_back(next - now);
      clock_.Advance(next - now);
      Step();
    }
    return result;
  };
  // A fresh gateway for each agent: sequences start anew.
  const std::vector<absl::Duration> first = delays(1);
  gateway_ = FakeGateway();
  EXPECT_EQ(delays(1), first);
  gateway_ = FakeGateway();
  EXPECT_NE(delays(2), first);
  EXPECT_LE(first.front(), options_.backoff_min);
  EXPECT_GE(first.back(), options_.backoff_max / 2);
  EXPECT_LE(first.back(), options_.backoff_max);
}

TEST_F(AgentTest, ARefusedNameIsTriedAgainUntilTheOtherIsGone) {
  Step();
  for (int i = 0; i < 50; ++i) {
    gateway_.Fail(last().sequence, absl::AlreadyExistsError("a live worker is called \"w1\""));
    StepAtNext();
    ASSERT_FALSE(agent_->done());
  }
  EXPECT_FALSE(agent_->connected());
  Answer({});
  EXPECT_TRUE(agent_->connected());
}

TEST_F(AgentTest, AnAbortedCallIsMadeAgainWithAHigherSequence) {
  Connect();
  const uint64_t sequence = last().sequence;
  gateway_.Fail(sequence, absl::AbortedError("a later sync was seen"));
  StepAtNext();
  EXPECT_GT(last().sequence, sequence);
}

TEST_F(AgentTest, StopOrdersAreObeyedOnce) {
  Connect();
  StartAttempts({Id(1), Id(2)});
  SyncResponse response;
  response.stop.push_back({Id(1), StopReason::kCanceled});
  response.stop.push_back({Id(9), StopReason::kFenced});
  Answer(response);
  Answer(response);
  ASSERT_THAT(executor_.stops(), SizeIs(1));
  EXPECT_THAT(executor_.stops().at(Id(1)), SizeIs(1));
  EXPECT_THAT(last().running, ElementsAre(Id(1), Id(2))) << "it runs until it has ended";
  executor_.FinishStopped(Id(1));
  Step();
  EXPECT_THAT(FinishedIds(last()), ElementsAre(Id(1)));
}

TEST_F(AgentTest, ACancelIsPassedOnAfterAnEarlyStopAndWhileACheckpointIsUploaded) {
  Connect();
  StartAttempts({Id(1), Id(2)});
  executor_.Finish(Id(1), JobResult(), /*published=*/false, Checkpoint{Sha256Of("left"), 4, 1});
  Step();
  const auto order = [&](StopReason reason) {
    SyncResponse response;
    response.stop.push_back({Id(1), reason});
    response.stop.push_back({Id(2), reason});
    Answer(response);
    Answer(response);
  };
  order(StopReason::kEarlyStop);
  EXPECT_FALSE(executor_.stops().contains(Id(1))) << "it has ended";
  EXPECT_THAT(executor_.stops().at(Id(2)), SizeIs(1));
  order(StopReason::kCanceled);
  ASSERT_TRUE(executor_.stops().contains(Id(1))) << "its upload is for nobody";
  EXPECT_THAT(executor_.stops().at(Id(1)), SizeIs(1));
  EXPECT_EQ(executor_.stops().at(Id(1))[0].cause, StopCause::kCanceled);
  EXPECT_THAT(executor_.stops().at(Id(2)), SizeIs(2));
  EXPECT_EQ(executor_.stops().at(Id(2))[1].cause, StopCause::kCanceled);
}

TEST_F(AgentTest, ARefusedResultIsTroubleUnlessItsAttemptWasToldToStop) {
  Connect();
  StartAttempts({Id(1), Id(2)});
  SyncResponse stop;
  stop.stop.push_back({Id(1), StopReason::kEarlyStop});
  Answer(stop);
  executor_.FinishStopped(Id(1));
  executor_.Finish(Id(2), Success());
  Step();
  ASSERT_THAT(FinishedIds(last()), ElementsAre(Id(1), Id(2)));
  const auto log_of_refusal = [&](const AttemptId& id) {
    SyncResponse response;
    response.forget.push_back({id, false, "not expected"});
    ::testing::internal::CaptureStderr();
    Answer(response);
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(log_of_refusal(Id(1)), Not(HasSubstr("refused a result")));
  EXPECT_THAT(log_of_refusal(Id(2)), HasSubstr("refused a result"));
}

TEST_F(AgentTest, AForgetOrderForWhatRunsChangesNothing) {
  Connect();
  StartAttempts({Id(1)});
  SyncResponse response;
  response.forget.push_back({Id(1), false, "confused"});
  Answer(response);
  EXPECT_THAT(last().running, ElementsAre(Id(1)));
}

TEST_F(AgentTest, AnAttemptThatWasForgottenIsNotRunAgainButHandedBack) {
  Connect();
  StartAttempts({Id(1)});
  executor_.Finish(Id(1), Success());
  Step();
  SyncResponse response;
  response.forget.push_back({Id(1), true, ""});
  Answer(response);
  // A coordinator that was set back to an older state orders it again.
  StartAttempts({Id(1)});
  EXPECT_THAT(executor_.started(), ElementsAre(Id(1)));
  ASSERT_THAT(last().finished, SizeIs(1));
  EXPECT_EQ(last().finished[0].result.failure, FailureClass::kPreempted);
  StartAttempts({Id(1, 2)});
  EXPECT_THAT(executor_.started(), ElementsAre(Id(1), Id(1, 2)));
}

}  // namespace
}  // namespace concur::worker
