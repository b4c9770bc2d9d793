#include "worker/agent.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/testing/fake_executor.h"
#include "tests/testing/fake_gateway.h"
#include "tests/testing/simulated_clock.h"
#include "tests/testing/status_matchers.h"

namespace concur::worker {
namespace {

using ::testing::ElementsAre;
using testing::FakeExecutor;
using testing::FakeGateway;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::SimulatedClock;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

AttemptId Id(uint32_t job, uint32_t attempt = 1) { return AttemptId{{{1}, job}, {attempt}}; }

JobOrder Order(AttemptId id) {
  JobOrder order;
  order.id = id;
  return order;
}

JobResult Success() {
  JobResult result;
  result.succeeded = true;
  return result;
}

class MemorySpool : public Spool {
 public:
  absl::Status Put(const std::vector<SpooledResult>& results) override {
    if (!status.ok()) {
      return status;
    }
    for (const SpooledResult& result : results) {
      kept[result.finished.id] = result;
    }
    return absl::OkStatus();
  }
  void Remove(const std::vector<AttemptId>& ids) override {
    for (const AttemptId& id : ids) {
      kept.erase(id);
    }
  }

  absl::Status status;
  std::map<AttemptId, SpooledResult> kept;
};

class AgentTest : public ::testing::Test {
 protected:
  AgentTest() {
    options_.info.name = "w1";
    options_.info.incarnation = "i1";
    options_.seed = 1;
    Restart();
  }

  void Restart(const std::vector<SpooledResult>& recovered = {}) {
    agent_ = std::make_unique<Agent>(clock_, gateway_, executor_, spool_, options_, recovered);
  }

  absl::Time Step() {
    const absl::Time next = agent_->Step();
    agent_->CheckInvariants();
    EXPECT_LE(gateway_.open().size(), 1u);
    return next;
  }
  // Lets the time of the next step come.
  void StepAtNext() {
    const absl::Time next = Step();
    ASSERT_NE(next, absl::InfiniteFuture());
    if (next > clock_.Now()) {
      clock_.Advance(next - clock_.Now());
    }
    Step();
  }
  const SyncRequest& last() { return gateway_.last(); }
  void Answer(SyncResponse response) {
    if (response.lease == absl::ZeroDuration()) {
      response.lease = absl::Seconds(30);
    }
    gateway_.Answer(last().sequence, std::move(response));
    Step();
  }
  // A worker that is connected and has a parked call.
  void Connect() {
    Step();
    Answer({});
    ASSERT_GT(last().wait, absl::ZeroDuration());
  }
  void StartAttempts(std::vector<AttemptId> ids) {
    SyncResponse response;
    for (const AttemptId& id : ids) {
      response.start.push_back(Order(id));
    }
    Answer(response);
  }
  static std::vector<AttemptId> FinishedIds(const SyncRequest& request) {
    std::vector<AttemptId> ids;
    for (const FinishedAttempt& finished : request.finished) {
      ids.push_back(finished.id);
    }
    return ids;
  }

  SimulatedClock clock_;
  FakeGateway gateway_;
  FakeExecutor executor_;
  MemorySpool spool_;
  AgentOptions options_;
  std::unique_ptr<Agent> agent_;
};

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

TEST_F(AgentTest, DrainLetsJobsEndTakesNothingNewAndLeaves) {
  Connect();
  StartAttempts({Id(1)});
  agent_->RequestDrain();
  Step();
  EXPECT_TRUE(last().draining);
  EXPECT_FALSE(last().leaving);
  StartAttempts({Id(2)});  // from before the coordinator knew
  EXPECT_THAT(executor_.started(), ElementsAre(Id(1)));
  EXPECT_THAT(FinishedIds(last()), ElementsAre(Id(2)));
  SyncResponse forget;
  forget.forget.push_back({Id(2), true, ""});
  Answer(forget);
  executor_.Finish(Id(1), Success());
  Step();
  EXPECT_TRUE(last().leaving);
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
  while (!last().leaving) {
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
  if (!last().leaving) {
    Answer(drain);
  }
  ASSERT_TRUE(last().leaving);
  Answer(drain);
  EXPECT_TRUE(agent_->done());
  EXPECT_THAT(executor_.stops(), IsEmpty());
}

TEST_F(AgentTest, AFollowedLogIsSentFromWhereItWasAskedFor) {
  Connect();
  StartAttempts({Id(1)});
  SyncResponse follow;
  follow.logs.push_back({Id(1), 0});
  Answer(follow);
  EXPECT_THAT(last().log_chunks, IsEmpty());
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
  Step();
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
