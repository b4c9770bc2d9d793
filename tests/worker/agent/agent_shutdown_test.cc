// SPDX-License-Identifier: Apache-2.0
// Shutdown of a worker: it drains, hands back and leaves.

#include "tests/testing/test.h"
#include "tests/worker/agent/agent_fixture.h"

namespace concur::worker {
namespace {

TEST_F(AgentTest, DrainLetsJobsEndTakesNothingNewAndLeaves) {
  Connect();
  StartAttempts({Id(1)});
  agent_->RequestDrain();
  Step();
  EXPECT_TRUE(last().draining);
  EXPECT_FALSE(last().shutting_down);
  StartAttempts({Id(2)});  // from before the coordinator knew
  EXPECT_THAT(executor_.started(), ElementsAre(Id(1)));
  EXPECT_THAT(FinishedIds(last()), ElementsAre(Id(2)));
  SyncResponse forget;
  forget.forget.push_back({Id(2), true, ""});
  Answer(forget);
  executor_.Finish(Id(1), Success());
  Step();
  EXPECT_TRUE(last().shutting_down);
  EXPECT_THAT(FinishedIds(last()), ElementsAre(Id(1)));
  EXPECT_FALSE(agent_->done());
  SyncResponse response;
  response.forget.push_back({Id(1), true, ""});
  Answer(response);
  EXPECT_TRUE(agent_->done());
  EXPECT_THAT(spool_.kept, IsEmpty());
  EXPECT_EQ(Step(), absl::InfiniteFuture());
}

TEST_F(AgentTest, DrainHandsBackWhatStillRunsAfterTheGrace) {
  options_.drain_grace = absl::Seconds(60);
  Restart();
  Connect();
  StartAttempts({Id(1)});
  agent_->RequestDrain();
  Step();
  clock_.Advance(absl::Seconds(59));
  Step();
  EXPECT_THAT(executor_.stops(), IsEmpty());
  clock_.Advance(absl::Seconds(1));
  Step();
  ASSERT_TRUE(executor_.stops().contains(Id(1)));
  EXPECT_EQ(executor_.stops().at(Id(1))[0].cause, StopCause::kPreempted);
  EXPECT_FALSE(executor_.stops().at(Id(1))[0].at_once);
}

TEST_F(AgentTest, ASecondDrainRequestHandsBackAtOnce) {
  Connect();
  StartAttempts({Id(1)});
  agent_->RequestDrain();
  Step();
  agent_->RequestDrain();
  Step();
  ASSERT_TRUE(executor_.stops().contains(Id(1)));
  EXPECT_TRUE(executor_.stops().at(Id(1))[0].at_once);
  executor_.FinishStopped(Id(1));
  Step();
  // The call in flight may be one that is answered at once; then the last one follows.
  while (!last().shutting_down) {
    Answer({});
  }
  EXPECT_THAT(FinishedIds(last()), ElementsAre(Id(1)));
  Answer({});
  EXPECT_TRUE(agent_->done());
}

TEST_F(AgentTest, BeforeItsEndAWorkerDrainsAndHandsBackInTime) {
  options_.end_time = clock_.Now() + absl::Minutes(10);
  options_.drain_margin = absl::Seconds(60);
  Restart();
  Connect();
  EXPECT_EQ(last().time_left, absl::Seconds(570)) << "until it hands back what runs";
  StartAttempts({Id(1)});
  clock_.Advance(absl::Seconds(539));
  Step();
  EXPECT_FALSE(last().draining);
  clock_.Advance(absl::Seconds(1));
  Step();
  Step();
  EXPECT_TRUE(last().draining);
  EXPECT_THAT(executor_.stops(), IsEmpty());
  // The machine's owner says so, too: that is no second request.
  agent_->RequestDrain();
  Step();
  EXPECT_THAT(executor_.stops(), IsEmpty());
  clock_.Advance(absl::Seconds(30));
  Step();
  ASSERT_TRUE(executor_.stops().contains(Id(1)));
  EXPECT_EQ(executor_.stops().at(Id(1))[0].cause, StopCause::kPreempted);
}

// It left ten seconds after it had handed its jobs back, and large checkpoints were lost.
TEST_F(AgentTest, AKnownEndGivesTheTimeThatUploadsHave) {
  options_.end_time = clock_.Now() + absl::Minutes(10);
  options_.drain_margin = absl::Minutes(4);
  Restart();
  Connect();
  StartAttempts({Id(1)});
  for (int i = 0; i < 48; ++i) {
    clock_.Advance(absl::Seconds(10));
    Step();
    Answer({});
  }
  ASSERT_TRUE(executor_.stops().contains(Id(1)));
  JobResult result;
  result.failure = FailureClass::kPreempted;
  executor_.Finish(Id(1), result, /*published=*/false, Checkpoint{Sha256Of("left"), 4, 1});
  Step();
  clock_.Advance(absl::Seconds(100));
  Step();
  EXPECT_FALSE(last().shutting_down) << "20 s are left";
  executor_.FinishPublishing(Id(1));
  StepAtNext();
  EXPECT_THAT(FinishedIds(last()), ElementsAre(Id(1)));
}

TEST_F(AgentTest, AnEndThatIsFarOffIsNotWaitedFor) {
  options_.end_time = clock_.Now() + absl::Hours(24);
  Restart();
  Connect();
  StartAttempts({Id(1)});
  agent_->RequestDrain();
  Step();
  agent_->RequestDrain();
  Step();
  JobResult result;
  result.failure = FailureClass::kPreempted;
  executor_.Finish(Id(1), result, /*published=*/false, Checkpoint{Sha256Of("left"), 4, 1});
  Step();
  clock_.Advance(options_.leave_timeout - absl::Milliseconds(1));
  Step();
  EXPECT_FALSE(last().shutting_down);
  clock_.Advance(absl::Milliseconds(1));
  Step();
  for (int i = 0; i < 3 && !last().shutting_down; ++i) {
    Answer({});
  }
  EXPECT_TRUE(last().shutting_down) << "the upload is stuck";
}

TEST_F(AgentTest, AnOrphanLeavesOnceItRunsNothing) {
  options_.orphan_timeout = absl::Hours(1);
  Restart();
  Connect();
  StartAttempts({Id(1)});
  clock_.Advance(absl::Hours(2));
  Step();
  EXPECT_FALSE(last().draining) << "what runs is finished, for whoever comes back";
  executor_.Finish(Id(1), Success());
  Step();
  Step();
  for (int i = 0; i < 100 && !agent_->done(); ++i) {
    StepAtNext();
  }
  EXPECT_TRUE(agent_->done());
  EXPECT_THAT(spool_.kept, SizeIs(1));
}

TEST_F(AgentTest, AWorkerLeavesEvenWhenNobodyAnswersAndKeepsItsResults) {
  Connect();
  StartAttempts({Id(1)});
  executor_.Finish(Id(1), Success());
  agent_->RequestDrain();
  Step();
  const absl::Time start = clock_.Now();
  while (!agent_->done()) {
    if (!gateway_.open().empty()) {
      gateway_.Fail(last().sequence, absl::UnavailableError("gone"));
    }
    const absl::Time next = Step();
    if (next != absl::InfiniteFuture() && next > clock_.Now()) {
      clock_.Advance(next - clock_.Now());
    }
    ASSERT_LT(clock_.Now() - start, absl::Minutes(1));
  }
  EXPECT_THAT(spool_.kept, SizeIs(1));
}

JobResult Terminated() {
  JobResult result;
  result.failure = FailureClass::kFailed;
  result.exit_code = 143;
  result.message = "killed by signal 15, Terminated";
  return result;
}

TEST_F(AgentTest, AJobThatGotItsWorkersSigtermFirstIsPreempted) {
  Connect();
  StartAttempts({Id(1), Id(2)});
  executor_.Finish(Id(1), Terminated(), /*published=*/false);
  Step();
  clock_.Advance(options_.terminated_hold - absl::Milliseconds(1));
  Step();
  EXPECT_THAT(spool_.kept, IsEmpty());
  agent_->RequestDrain();
  executor_.Finish(Id(2), Terminated());
  Step();
  ASSERT_THAT(spool_.kept, SizeIs(2));
  for (const auto& [id, kept] : spool_.kept) {
    EXPECT_EQ(kept.finished.result.failure, FailureClass::kPreempted);
    EXPECT_THAT(kept.finished.result.message, HasSubstr("its worker got as well"));
  }
  EXPECT_EQ(executor_.publishing().at(Id(1)).result.failure, FailureClass::kPreempted);
}

TEST_F(AgentTest, AJobThatGotASigtermAloneFails) {
  Connect();
  StartAttempts({Id(1)});
  executor_.Finish(Id(1), Terminated(), /*published=*/false);
  const absl::Time due = clock_.Now() + options_.terminated_hold;
  EXPECT_LE(Step(), due);
  clock_.Advance(options_.terminated_hold);
  Step();
  ASSERT_THAT(spool_.kept, SizeIs(1));
  EXPECT_EQ(spool_.kept.at(Id(1)).finished.result.failure, FailureClass::kFailed);
  agent_->RequestDrain();  // a reported result stays so
  executor_.FinishPublishing(Id(1));
  Step();
  EXPECT_EQ(spool_.kept.at(Id(1)).finished.result.failure, FailureClass::kFailed);
}

TEST_F(AgentTest, AJobOfADrainedWorkerThatFailsOtherwiseFails) {
  Connect();
  StartAttempts({Id(1)});
  agent_->RequestDrain();
  JobResult failed = Terminated();
  failed.exit_code = 1;
  executor_.Finish(Id(1), failed);
  Step();
  EXPECT_EQ(spool_.kept.at(Id(1)).finished.result.failure, FailureClass::kFailed);
}

TEST_F(AgentTest, TheCoordinatorCanDrainAWorkerAndThinkAgain) {
  Connect();
  StartAttempts({Id(1)});
  SyncResponse drain;
  drain.drain = true;
  Answer(drain);
  EXPECT_TRUE(last().draining);
  Answer({});
  EXPECT_FALSE(last().draining);
  Answer(drain);
  executor_.Finish(Id(1), Success());
  Step();
  Answer(drain);
  if (!last().shutting_down) {
    Answer(drain);
  }
  ASSERT_TRUE(last().shutting_down);
  Answer(drain);
  EXPECT_TRUE(agent_->done());
  EXPECT_THAT(executor_.stops(), IsEmpty());
}

}  // namespace
}  // namespace concur::worker
