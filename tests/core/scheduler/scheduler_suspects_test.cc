// SPDX-License-Identifier: Apache-2.0
// A job that takes its workers along.

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/scheduler/reason_text.h"
#include "core/scheduler/scheduler.h"
#include "tests/core/state/blame_fixture.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

constexpr uint32_t kPoison = 0;  // the index of the job that kills its worker

class SuspectsSchedulerTest : public BlameSchedulerTest {
 protected:
  // One sweep of so many eval jobs; all of them fit on a worker at a time.
  void Begin(int jobs, int workers, uint32_t lost_max = 10) {
    for (int i = 0; i < workers; ++i) {
      AddWorker(absl::StrCat("w", i), /*cpus=*/16);
    }
    SweepSpec spec = Evals({"a"}, {"x"}, jobs);
    spec.retry.lost_max = lost_max;
    sweep_ = Submit(std::move(spec));
  }
  // Every worker syncs; then each that runs the poison dies with all that it runs, and others
  // finish what they run.
  void RunUntilDeath() {
    Sync();
    for (const std::string& name : WorkerNames()) {
      if (RunsPoison(name)) {
        ++deaths_;
        beside_ = RunningOn(name) - 1;
        Restart(name);
      } else {
        FinishAllWell(name);
      }
    }
  }
  bool RunsPoison(const std::string& name) {
    for (const AttemptId& id : RunningSetOf(name)) {
      if (id.job.index == kPoison) {
        return true;
      }
    }
    return false;
  }

  SweepId sweep_;
  int deaths_ = 0;
  size_t beside_ = 0;  // number of jobs that the last death took along
};

// Eleven workers died of one job by default, and other jobs' budgets of lost attempts with them.
TEST_F(SuspectsSchedulerTest, AJobThatKillsItsWorkersIsGivenUpAfterItRanAlone) {
  Begin(/*jobs=*/12, /*workers=*/3, /*lost_max=*/1);
  for (int round = 0; round < 40 && StateOf(sweep_, kPoison) != JobState::kFailed; ++round) {
    RunUntilDeath();
  }
  Sync();
  EXPECT_EQ(deaths_, 3);
  EXPECT_EQ(beside_, 0u) << "the last time it ran alone";
  const JobView poison = scheduler().views().ViewJob({sweep_, kPoison});
  EXPECT_EQ(poison.state, JobState::kFailed);
  EXPECT_EQ(poison.failure, FailureClass::kPoison);
  ASSERT_NE(poison.result, nullptr);
  EXPECT_THAT(poison.result->message,
              AllOf(HasSubstr("died 3 times in a row"), HasSubstr("attempts 1 to 3"),
                    HasSubstr("no other job beside it")));
  for (int round = 0; round < 5; ++round) {
    RunUntilDeath();
  }
  EXPECT_EQ(CountOf(sweep_, JobState::kSucceeded), 11u);
  for (uint32_t job = 1; job < 12; ++job) {
    EXPECT_EQ(scheduler().views().ViewJob({sweep_, job}).lost, 0u) << "its budget was touched";
  }
}

TEST_F(SuspectsSchedulerTest, OnlyTheOneThatRunsAloneIsConvicted) {
  Begin(/*jobs=*/3, /*workers=*/1);
  RunUntilDeath();
  RunUntilDeath();
  EXPECT_EQ(beside_, 2u);
  // All three were there twice: each runs alone now, and those that do no harm succeed.
  Sync();
  EXPECT_EQ(RunningOn("w0"), 1u);
  EXPECT_THAT(ReasonText(scheduler().views().ReasonOf({sweep_, 2})), HasSubstr("runs alone next"));
  for (int round = 0; round < 6; ++round) {
    RunUntilDeath();
  }
  EXPECT_EQ(deaths_, 3);
  EXPECT_EQ(CountOf(sweep_, JobState::kSucceeded), 2u);
  EXPECT_EQ(StateOf(sweep_, kPoison), JobState::kFailed);
}

TEST_F(SuspectsSchedulerTest, ARestartOfTheCoordinatorForgetsNoDeath) {
  Begin(/*jobs=*/4, /*workers=*/2);
  for (int round = 0; round < 30 && StateOf(sweep_, kPoison) != JobState::kFailed; ++round) {
    RunUntilDeath();
    Sync();
    harness().RestartCoordinator();
  }
  EXPECT_EQ(deaths_, 3);
  EXPECT_EQ(scheduler().views().ViewJob({sweep_, kPoison}).failure, FailureClass::kPoison);
}

TEST_F(SuspectsSchedulerTest, AnEndOfAnotherKindBeginsTheCountAnew) {
  Begin(/*jobs=*/1, /*workers=*/1);
  RunUntilDeath();
  Sync();
  FinishAll("w0", FailureOf(FailureClass::kFailed));
  Sync();
  RunUntilDeath();
  RunUntilDeath();
  Sync();
  EXPECT_EQ(StateOf(sweep_, kPoison), JobState::kRunning);
  EXPECT_EQ(scheduler().views().ViewJob({sweep_, kPoison}).deaths, 2u);
}

TEST_F(SuspectsSchedulerTest, ARetryBeginsTheCountAnew) {
  Begin(/*jobs=*/1, /*workers=*/1);
  for (int round = 0; round < 3; ++round) {
    RunUntilDeath();
  }
  Sync();
  ASSERT_EQ(StateOf(sweep_, kPoison), JobState::kFailed);
  ASSERT_TRUE(scheduler().RetryJobs(sweep_, {}, false).ok());
  Sync();
  FinishAllWell("w0");
  Sync();
  EXPECT_EQ(StateOf(sweep_, kPoison), JobState::kSucceeded);
}

TEST_F(SuspectsSchedulerTest, BusyWorkersAreEmptiedForASuspect) {
  Begin(/*jobs=*/1, /*workers=*/1);
  RunUntilDeath();
  RunUntilDeath();
  // Other work keeps coming: the suspect's turn comes all the same.
  Submit(Evals({"b"}, {"y"}, 200));
  Sync();
  EXPECT_EQ(StateOf(sweep_, kPoison), JobState::kRunning);
  EXPECT_EQ(RunningOn("w0"), 1u) << "nothing runs beside it";
  FinishAllWell("w0");
  Sync();
  EXPECT_EQ(StateOf(sweep_, kPoison), JobState::kSucceeded);
  EXPECT_EQ(RunningOn("w0"), 16u);
}

}  // namespace
}  // namespace concur::testing
