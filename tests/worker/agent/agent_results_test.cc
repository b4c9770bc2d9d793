// SPDX-License-Identifier: Apache-2.0
// Logs that are followed, what an earlier incarnation left, and results in bulk.

#include <string>
#include <vector>

#include "tests/testing/test.h"
#include "tests/worker/agent/agent_fixture.h"

namespace concur::worker {
namespace {

using testing::FakeGateway;

TEST_F(AgentTest, AFollowedLogIsSentFromWhereItWasAskedFor) {
  Connect();
  StartAttempts({Id(1)});
  SyncResponse follow;
  follow.logs.push_back({Id(1), 0});
  Answer(follow);
  ASSERT_THAT(last().log_chunks, SizeIs(1)) << "that there is nothing yet";
  EXPECT_THAT(last().log_chunks[0].data, IsEmpty());
  Answer(follow);
  EXPECT_THAT(last().log_chunks, IsEmpty()) << "it is said once";
  executor_.SetLog(Id(1), "hello");
  StepAtNext();
  ASSERT_THAT(last().log_chunks, SizeIs(1));
  EXPECT_EQ(last().log_chunks[0].data, "hello");
  EXPECT_EQ(last().log_chunks[0].offset, 0);
  follow.logs[0].offset = 5;
  Answer(follow);
  EXPECT_THAT(last().log_chunks, IsEmpty());
  executor_.SetLog(Id(1), "hello" + std::string(200'000, 'x'));
  StepAtNext();
  ASSERT_THAT(last().log_chunks, SizeIs(1));
  EXPECT_EQ(last().log_chunks[0].offset, 5);
  EXPECT_THAT(last().log_chunks[0].data, SizeIs(kLogChunkBytesMax));
  Answer({});  // nobody follows any more
  const uint64_t sequence = last().sequence;
  clock_.Advance(absl::Seconds(2));
  Step();
  EXPECT_EQ(last().sequence, sequence);
}

TEST_F(AgentTest, ACheckpointIsSpooledPublishedAndReportedWithItsAttempt) {
  Connect();
  StartAttempts({Id(1)});
  JobResult result;
  result.failure = FailureClass::kPreempted;
  const Checkpoint left{Sha256Of("left"), 4, 1};
  executor_.Finish(Id(1), result, /*published=*/false, left);
  Step();
  EXPECT_EQ(spool_.kept.at(Id(1)).finished.checkpoint, left);
  EXPECT_EQ(executor_.publishing().at(Id(1)).checkpoint, left);
  EXPECT_THAT(FinishedIds(last()), IsEmpty());
  executor_.FinishPublishing(Id(1));
  StepAtNext();
  ASSERT_THAT(FinishedIds(last()), ElementsAre(Id(1)));
  EXPECT_EQ(last().finished[0].checkpoint, left);
}

TEST_F(AgentTest, ThatALogEndsIsSaidAgainToWhoAsksAgain) {
  Connect();
  StartAttempts({Id(1)});
  executor_.SetLog(Id(1), "hello");
  SyncResponse follow;
  follow.logs.push_back({Id(1), 0});
  Answer(follow);
  ASSERT_THAT(last().log_chunks, SizeIs(1));
  follow.logs[0].offset = 5;
  Answer(follow);  // the end that the chunk had
  EXPECT_THAT(last().log_chunks, IsEmpty());
  Answer(follow);  // answers a call that said nothing about the log
  StepAtNext();
  ASSERT_THAT(last().log_chunks, SizeIs(1));
  EXPECT_EQ(last().log_chunks[0].offset, 5);
  EXPECT_THAT(last().log_chunks[0].data, IsEmpty());
}

TEST_F(AgentTest, AFloodedLogDoesNotKeepTheCoordinatorBusy) {
  Connect();
  StartAttempts({Id(1)});
  executor_.SetLog(Id(1), std::string(10'000'000, 'x'));
  SyncResponse follow;
  follow.logs.push_back({Id(1), 0});
  Answer(follow);
  const absl::Time start = clock_.Now();
  const uint64_t first = last().sequence;
  while (clock_.Now() < start + absl::Seconds(30)) {
    if (!last().log_chunks.empty() && gateway_.open().contains(last().sequence)) {
      follow.logs[0].offset += static_cast<int64_t>(last().log_chunks[0].data.size());
      Answer(follow);
    }
    StepAtNext();
  }
  EXPECT_LT(last().sequence - first, 30 / 0.3 * 2 + 10);
}

TEST_F(AgentTest, ANewIncarnationReportsWhatTheOldOneLeftInItsFirstSync) {
  gateway_ = FakeGateway();
  options_.info.incarnation = "i2";
  options_.info.previous_incarnation = "i1";
  Restart({{{Id(1), Success()}, true}, {{Id(2), Success()}, false}});
  Step();
  EXPECT_THAT(gateway_.requests(), IsEmpty()) << "the second one's artifacts are on their way";
  executor_.FinishPublishing(Id(2));
  Step();
  EXPECT_EQ(last().sequence, 1u);
  EXPECT_EQ(last().worker.previous_incarnation, "i1");
  EXPECT_THAT(FinishedIds(last()), UnorderedElementsAre(Id(1), Id(2)));
}

TEST_F(AgentTest, ANewIncarnationDoesNotWaitForEverForOldArtifacts) {
  gateway_ = FakeGateway();
  Restart({{{Id(2), Success()}, false}});
  // A worker whose coordinator was away used a whole processor until the wait was over.
  EXPECT_EQ(Step(), clock_.Now() + options_.recovery_wait);
  clock_.Advance(options_.recovery_wait);
  Step();
  ASSERT_THAT(gateway_.requests(), SizeIs(1));
  EXPECT_THAT(last().finished, IsEmpty());
  EXPECT_THAT(last().running, ElementsAre(Id(2)));
  Answer({});
  executor_.FinishPublishing(Id(2));
  Step();
  EXPECT_THAT(FinishedIds(last()), ElementsAre(Id(2)));
}

TEST_F(AgentTest, ResultsBeyondTheLimitOfOneSyncComeInTheNext) {
  std::vector<SpooledResult> recovered;
  for (uint32_t i = 0; i < kSyncFinishedMax + 7; ++i) {
    recovered.push_back({{Id(i), Success()}, true});
  }
  gateway_ = FakeGateway();
  Restart(recovered);
  Step();
  ASSERT_THAT(last().finished, SizeIs(kSyncFinishedMax));
  EXPECT_THAT(last().running, SizeIs(7));
  SyncResponse response;
  for (const FinishedAttempt& finished : last().finished) {
    response.forget.push_back({finished.id, true, ""});
  }
  Answer(response);
  EXPECT_THAT(last().finished, SizeIs(7));
  EXPECT_THAT(last().running, IsEmpty());
}

TEST_F(AgentTest, TheExecutorHearsWhereTheCoordinatorsArtifactsLieBeforeItStartsAnything) {
  Connect();
  SyncResponse response;
  response.artifact_directory = "/data/artifacts";
  response.artifact_store_id = "abc";
  Answer(response);
  EXPECT_EQ(executor_.store(), (CoordinatorStore{"/data/artifacts", "abc"}));
}

TEST_F(AgentTest, WhileEnoughWaitsHereResultsAreGathered) {
  Connect();
  executor_.SetWaiting(8);
  StartAttempts({Id(1), Id(2), Id(3)});
  const uint64_t sequence = last().sequence;
  executor_.Finish(Id(1), Success());
  const absl::Time next = Step();
  EXPECT_EQ(last().sequence, sequence);
  EXPECT_THAT(spool_.kept, IsEmpty());
  EXPECT_LE(next - clock_.Now(), options_.gather);
  executor_.Finish(Id(2), Success());
  clock_.Advance(next - clock_.Now());
  Step();
  EXPECT_THAT(FinishedIds(last()), ElementsAre(Id(1), Id(2)));
  EXPECT_THAT(spool_.kept, SizeIs(2));
}

TEST_F(AgentTest, NothingIsGatheredOnceHalfOfWhatWaitedHasStarted) {
  Connect();
  executor_.SetWaiting(8);
  StartAttempts({Id(1)});
  executor_.SetWaiting(3);
  executor_.Finish(Id(1), Success());
  Step();
  EXPECT_THAT(FinishedIds(last()), ElementsAre(Id(1)));
}

}  // namespace
}  // namespace concur::worker
