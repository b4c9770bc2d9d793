// SPDX-License-Identifier: Apache-2.0
// Train jobs that start from another one's system, beside early_stop. The rest is in
// scripts/stages.script.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/scheduler/scheduler.h"
#include "core/state/early_stop_cells.h"
#include "core/sweep/expansion.h"
#include "tests/core/state/blame_fixture.h"
#include "tests/core/sweep/sweep_builder.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

class SchedulerStagesTest : public BlameSchedulerTest {
 protected:
  // The worker that runs the job; "" when none does.
  std::string WorkerOf(JobId job) {
    for (const std::string& name : WorkerNames()) {
      for (const AttemptId& id : RunningSetOf(name)) {
        if (id.job == job) {
          return name;
        }
      }
    }
    return "";
  }
};

TEST(StagesTest, OfASourceOnlyTheDefaultSettingIsComparedWithNoOther) {
  for (const EarlyStopMethod method : {EarlyStopMethod::kAsha, EarlyStopMethod::kHyperband}) {
    SweepSpec spec = Trains({"a", "b"}, {"x"}, 2);
    spec.random_settings = 4;
    spec.early_stop =
        EarlyStopSpec{.rule = {.method = method, .min = 1, .max = 9, .eta = 3}, .metric = "f1"};
    AddStages(&spec, "t", /*chain=*/true);
    ASSERT_OK_AND_ASSIGN(const Expansion expansion, Expansion::Make(std::move(spec)));
    const EarlyStopCells cells(expansion);
    for (uint32_t job = 0; job < expansion.job_count(); ++job) {
      const JobCoordinates at = expansion.Locate(job);
      const bool is_source = expansion.IsSource(at.block) && at.setting == 0;
      const auto place = cells.Find(job);
      EXPECT_EQ(place.has_value(), at.is_train && !is_source) << job;
      if (place) {
        ASSERT_LT(place->group, cells.size());
        ASSERT_LT(place->setting, cells[place->group].size());
        EXPECT_EQ(cells.JobOf(*place), job);
      }
    }
  }
}

// A canceled job leaves nothing to a retry, and a stage that waits for its source is not paused.
TEST_F(SchedulerStagesTest, ARetryTakesNoCheckpointOfACanceledStageAfterARestart) {
  SweepSpec spec = Trains({"a"}, {"x"}, 1);
  spec.approaches.push_back(UntrainedApproach("r"));  // something else, that goes on meanwhile
  spec.random_settings = 1;
  spec.early_stop = EarlyStopSpec{.rule = {.min = 1, .max = 3, .eta = 2}, .metric = "f1"};
  AddStages(&spec, "t", /*chain=*/false);
  const SweepId sweep = Submit(std::move(spec));
  const JobId stage{sweep, 0};
  const JobId source{sweep, *scheduler().views().FindSweep(sweep)->expansion->SourceOf(0)};
  AddWorker("w0", 3);
  Sync();
  AttemptId made{source, {1}};
  ASSERT_EQ(WorkerOf(source), "w0");
  AddWorker("w1", 3);
  WorkerCalled("w0").Finish(made, SuccessOf(made, /*is_train=*/true));
  Sync();
  Sync();
  const std::string worker = WorkerOf(stage);
  ASSERT_NE(worker, "");
  SetSilent(worker, true);
  ASSERT_OK(scheduler().CancelJob(stage));
  ASSERT_OK(scheduler().CancelJob({sweep, 2}));  // the other setting
  scheduler().MarkSystemsCollected({source});
  ASSERT_OK(scheduler().RetryJobs(sweep, {stage.index}, /*rerun_succeeded=*/false).status());
  harness().EndTurn();
  ASSERT_EQ(StateOf(sweep, stage.index), JobState::kBlocked);
  const AttemptId id{stage, {1}};
  WorkerCalled(worker).Finish(id, FailureOf(FailureClass::kPreempted),
                              Checkpoint{Sha256Of("one"), 100, 0});
  harness().RestartCoordinator();
  SetSilent(worker, false);
  Sync();
  EXPECT_EQ(StateOf(sweep, stage.index), JobState::kBlocked);
  EXPECT_EQ(scheduler().views().refused_results(), 1u);
  EXPECT_EQ(scheduler().views().ViewJob(stage).checkpoint, std::nullopt);
}

}  // namespace
}  // namespace concur::testing
