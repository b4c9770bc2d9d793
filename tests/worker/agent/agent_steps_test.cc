// SPDX-License-Identifier: Apache-2.0
// The agent passes on what jobs report, until the coordinator has it.

#include <cstdint>
#include <numeric>
#include <vector>

#include "tests/testing/test.h"
#include "tests/worker/agent/agent_fixture.h"

namespace concur::worker {
namespace {

class AgentStepsTest : public AgentTest {
 protected:
  static std::vector<int64_t> StepsOf(const SyncRequest& request) {
    std::vector<int64_t> steps;
    for (const AttemptStep& step : request.steps) {
      steps.push_back(step.step.step);
    }
    return steps;
  }
  // A parked call, which says all but the steps to come.
  void StartOne() {
    Connect();
    StartAttempts({Id(1)});
    Answer({});
    ASSERT_GT(last().wait, absl::ZeroDuration());
  }
};

TEST_F(AgentStepsTest, ReportsAreSentTogetherAnIntervalAfterTheFirst) {
  StartOne();
  const uint64_t parked = last().sequence;
  executor_.ReportSteps(Id(1), {1});
  Step();
  clock_.Advance(options_.step_interval / 2);
  executor_.ReportSteps(Id(1), {2});
  const absl::Time next = Step();
  EXPECT_EQ(last().sequence, parked);
  EXPECT_EQ(next, clock_.Now() + options_.step_interval / 2);
  clock_.Advance(options_.step_interval / 2);
  Step();
  EXPECT_THAT(StepsOf(last()), ElementsAre(1, 2));
  EXPECT_EQ(last().wait, absl::ZeroDuration());
  Answer({});
  EXPECT_THAT(last().steps, IsEmpty());
}

// A restarted coordinator has it again from the next Sync.
TEST_F(AgentStepsTest, ProgressIsInEverySyncWhileTheAttemptRuns) {
  StartOne();
  executor_.ReportProgress(Id(1), 1, 4);
  executor_.ReportProgress(Id(1), 2, 4);
  executor_.ReportSteps(Id(1), {1});
  for (int sync = 0; sync < 2; ++sync) {
    Step();
    clock_.Advance(options_.step_interval);
    Step();
    ASSERT_EQ(last().progress.size(), 1u);
    EXPECT_EQ(last().progress[0].id, Id(1));
    EXPECT_EQ(last().progress[0].done, 2);
    EXPECT_EQ(last().progress[0].of, 4);
    Answer({});
  }
}

TEST_F(AgentStepsTest, AJobThatReportsFasterThanTheCoordinatorAnswersMakesNoMoreCalls) {
  StartOne();
  executor_.ReportSteps(Id(1), {1});
  Step();
  clock_.Advance(options_.step_interval);
  Step();
  ASSERT_THAT(StepsOf(last()), ElementsAre(1));
  executor_.ReportSteps(Id(1), {2});
  Step();
  Answer({});
  const uint64_t parked = last().sequence;
  EXPECT_THAT(last().steps, IsEmpty());
  EXPECT_GT(last().wait, absl::ZeroDuration());
  executor_.ReportSteps(Id(1), {3});
  Step();
  EXPECT_EQ(last().sequence, parked);
  clock_.Advance(options_.step_interval);
  Step();
  EXPECT_THAT(StepsOf(last()), ElementsAre(2, 3));
}

TEST_F(AgentStepsTest, WhatASyncThatFailedCarriedIsSentAgain) {
  StartOne();
  executor_.ReportSteps(Id(1), {1, 2});
  Step();
  clock_.Advance(options_.step_interval);
  Step();
  ASSERT_THAT(StepsOf(last()), ElementsAre(1, 2));
  gateway_.Fail(last().sequence, absl::UnavailableError("lost"));
  executor_.ReportSteps(Id(1), {3});
  Step();
  clock_.Advance(options_.backoff_max);
  Step();
  EXPECT_THAT(StepsOf(last()), ElementsAre(1, 2, 3));
}

TEST_F(AgentStepsTest, TheLastReportsGoWithTheEndOfTheAttempt) {
  StartOne();
  executor_.ReportSteps(Id(1), {1});
  executor_.Finish(Id(1), Success());
  Step();
  EXPECT_THAT(StepsOf(last()), ElementsAre(1));
  EXPECT_THAT(FinishedIds(last()), ElementsAre(Id(1)));
  SyncResponse forget;
  forget.forget.push_back({Id(1), true, ""});
  Answer(forget);
  EXPECT_THAT(last().steps, IsEmpty());
}

TEST_F(AgentStepsTest, AnAttemptWhoseReportsFindNoRoomIsSaidToRunUntilTheyHave) {
  Connect();
  StartAttempts({Id(1), Id(2)});
  std::vector<int64_t> steps(kSyncStepsMax - 1);
  std::iota(steps.begin(), steps.end(), 0);
  executor_.ReportSteps(Id(1), steps);
  executor_.ReportSteps(Id(2), {1, 2});
  executor_.Finish(Id(1), Success());
  executor_.Finish(Id(2), Success());
  Answer({});
  EXPECT_THAT(last().steps, SizeIs(kSyncStepsMax));
  EXPECT_THAT(FinishedIds(last()), ElementsAre(Id(1)));
  EXPECT_THAT(last().running, ElementsAre(Id(2)));
  Answer({});
  EXPECT_THAT(StepsOf(last()), ElementsAre(2));
  EXPECT_THAT(FinishedIds(last()), ElementsAre(Id(1), Id(2)));
}

}  // namespace
}  // namespace concur::worker
