// SPDX-License-Identifier: Apache-2.0
// Sweeps with a search: when settings are chosen, from which scores, and that a chosen one stays.
// The harness restarts the scheduler after every turn and compares.

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/scheduler/scheduler.h"
#include "tests/core/state/blame_fixture.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

class SchedulerSearchTest : public BlameSchedulerTest {
 protected:
  static constexpr uint32_t kWorkers = 12;

  // Approach a on x, evaluated on x and its validation set.
  static SweepSpec Searched(uint32_t trials, uint32_t parallel, int seeds = 1) {
    SweepSpec spec = Trains({"a"}, {"x"}, seeds);
    AddValidationSet(0, &spec);
    spec.random_settings = trials - 1;
    spec.failures_max_per_block = 0;
    spec.search = SearchSpec{.parallel = parallel};
    return spec;
  }
  void Start(SweepSpec spec) {
    sweep_ = Submit(std::move(spec));
    for (uint32_t i = 0; i < kWorkers; ++i) {
      AddWorker(absl::StrCat("w", i));
    }
    Sync();
  }
  const Expansion& Plan() { return *scheduler().views().FindSweep(sweep_)->expansion; }
  std::vector<Proposal> Chosen() { return Plan().spec().search->proposals; }
  double LrOf(uint32_t setting) { return std::get<double>(Plan().SettingOf(0, setting).at("lr")); }
  // Ends what runs, in the order of the workers, and syncs: scores are best at lr 0.01, and of the
  // test set worst there.
  void EndRunning(const std::set<uint32_t>& failing = {}) {
    for (const std::string& name : WorkerNames()) {
      for (const AttemptId& id : std::set<AttemptId>(RunningSetOf(name))) {
        const JobCoordinates at = Plan().Locate(id.job.index);
        JobResult result = SuccessOf(id, at.is_train);
        if (!at.is_train) {
          const double distance = std::abs(std::log10(LrOf(at.setting)) + 2);
          const bool is_validation =
              Plan().spec().benchmarks[at.test_benchmark].validation_of.has_value();
          result.metrics[0].value = is_validation ? 90 - 10 * distance : 10 + 10 * distance;
        }
        WorkerCalled(name).Finish(
            id, failing.contains(at.setting) ? FailureOf(FailureClass::kFailed) : result);
      }
    }
    Sync();
    Sync();
  }
  void RunToEnd(const std::set<uint32_t>& failing = {}) {
    for (int round = 0; round < 200 && CountOf(sweep_, JobState::kRunning) > 0; ++round) {
      EndRunning(failing);
    }
  }
  // Chosen settings with a job that has not ended.
  size_t PendingTrials() {
    std::set<uint32_t> pending;
    for (uint32_t job = 0; job < Plan().job_count(); ++job) {
      const JobCoordinates at = Plan().Locate(job);
      if (Plan().HasSetting(at.block, at.setting) && !IsTerminal(StateOf(sweep_, job))) {
        pending.insert(at.setting);
      }
    }
    return pending.size();
  }
  uint32_t JobsOf(JobState state) { return CountOf(sweep_, state); }

  SweepId sweep_;
};

TEST_F(SchedulerSearchTest, OnlySoManyTrialsAreWithoutAResult) {
  Start(Searched(/*trials=*/12, /*parallel=*/3, /*seeds=*/2));
  EXPECT_THAT(Chosen(), SizeIs(2));  // beside the default
  EXPECT_EQ(JobsOf(JobState::kRunning), 6u);
  EXPECT_EQ(Explained(sweep_, "waits for results of 3 trials of its search"), 9u * 2 * 3);
  while (JobsOf(JobState::kRunning) > 0) {
    EndRunning();
    EXPECT_LE(PendingTrials(), 3u);
  }
}

TEST_F(SchedulerSearchTest, TheFirstThirdIsSampledAndTheRestIsChosenByValidationScores) {
  Start(Searched(/*trials=*/30, /*parallel=*/1));
  RunToEnd();
  EXPECT_EQ(JobsOf(JobState::kSucceeded), 90u);
  ASSERT_THAT(Chosen(), SizeIs(29));
  const Hyperparameters& space = Plan().spec().approaches[0].hyperparameters;
  for (uint32_t setting = 0; setting < 10; ++setting) {
    EXPECT_EQ(Plan().SettingOf(0, setting), SampleSetting(space, 0, "a", setting));
  }
  const auto mean_distance = [&](uint32_t from, uint32_t to) {
    double sum = 0;
    for (uint32_t setting = from; setting < to; ++setting) {
      sum += std::abs(std::log10(LrOf(setting)) + 2);
    }
    return sum / (to - from);
  };
  EXPECT_LT(mean_distance(10, 30), 0.6 * mean_distance(0, 10));
}

TEST_F(SchedulerSearchTest, TestScoresCountOnlyWhereTheSweepSaysSo) {
  SweepSpec spec = Searched(30, 1);
  spec.search->on_test = true;
  Start(std::move(spec));
  RunToEnd();
  double sum = 0;
  for (uint32_t setting = 20; setting < 30; ++setting) {
    sum += std::abs(std::log10(LrOf(setting)) + 2);
  }
  EXPECT_GT(sum / 10, 1);  // the test set is best far from 0.01
}

TEST_F(SchedulerSearchTest, EveryTrainSetHasItsOwnSearch) {
  SweepSpec spec = Trains({"a"}, {"x", "y"}, 1);
  AddValidationSet(0, &spec);
  AddValidationSet(1, &spec);
  spec.random_settings = 11;
  spec.search = SearchSpec{.parallel = 2};
  Start(std::move(spec));
  RunToEnd();
  EXPECT_THAT(Chosen(), SizeIs(22));
  EXPECT_EQ(Plan().SettingOf(0, 2), Plan().SettingOf(1, 2));  // sampled
  EXPECT_NE(Plan().SettingOf(0, 11), Plan().SettingOf(1, 11));
}

TEST_F(SchedulerSearchTest, ARestartChoosesNothingAnewAndGoesOn) {
  Start(Searched(12, 2));
  for (int round = 0; round < 7; ++round) {
    EndRunning();
    const std::vector<Proposal> before = Chosen();
    harness().RestartCoordinator();
    Sync();
    Sync();
    const std::vector<Proposal> after = Chosen();
    ASSERT_GE(after.size(), before.size());
    EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin()));
  }
  RunToEnd();
  EXPECT_EQ(JobsOf(JobState::kSucceeded), 36u);
}

TEST_F(SchedulerSearchTest, AFailedTrialCountsAsBadAndTheSearchGoesOn) {
  Start(Searched(12, 2));
  RunToEnd({1, 5});
  EXPECT_THAT(Chosen(), SizeIs(11));
  EXPECT_EQ(JobsOf(JobState::kFailed), 2u);
  EXPECT_EQ(JobsOf(JobState::kSkipped), 4u);
}

TEST_F(SchedulerSearchTest, ARetriedTrialKeepsItsSettingAndIsPendingAgain) {
  Start(Searched(12, 2));
  RunToEnd({1});
  const Setting setting = Plan().SettingOf(0, 1);
  ASSERT_OK(scheduler().RetryJobs(sweep_, {3}, /*rerun_succeeded=*/false));
  Sync();
  EXPECT_EQ(Plan().SettingOf(0, 1), setting);
  EXPECT_EQ(PendingTrials(), 1u);
  RunToEnd();
  EXPECT_EQ(JobsOf(JobState::kSucceeded), 36u);
}

TEST_F(SchedulerSearchTest, NothingIsChosenWhileTheSweepIsPaused) {
  Start(Searched(12, 2));
  EndRunning();  // evaluations run
  ASSERT_OK(scheduler().PauseSweep(sweep_));
  RunToEnd();
  const size_t chosen = Chosen().size();
  EXPECT_LT(chosen, 11u);
  EXPECT_GT(Explained(sweep_, "its setting is chosen when the sweep goes on"), 0u);
  ASSERT_OK(scheduler().ResumeSweep(sweep_));
  Sync();
  RunToEnd();
  EXPECT_EQ(JobsOf(JobState::kSucceeded), 36u);
}

TEST_F(SchedulerSearchTest, ACanceledSweepChoosesNothingAndARetryGoesOnWhereItWas) {
  Start(Searched(12, 2));
  EndRunning();
  EndRunning();
  const std::vector<Proposal> before = Chosen();
  ASSERT_OK(scheduler().CancelSweep(sweep_));
  Sync();
  Sync();
  EXPECT_EQ(Chosen(), before);
  for (const std::string& name : WorkerNames()) {
    const std::set<AttemptId> stopping = WorkerCalled(name).stopping();
    for (const AttemptId& id : stopping) {
      WorkerCalled(name).Drop(id);
    }
  }
  Sync();
  Sync();
  ASSERT_OK(scheduler().RetryJobs(sweep_, {}, /*rerun_succeeded=*/false));
  Sync();
  RunToEnd();
  EXPECT_EQ(JobsOf(JobState::kSucceeded), 36u);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), Chosen().begin()));
}

TEST_F(SchedulerSearchTest, ASettingWhoseJobsWereCanceledIsPassedOver) {
  Start(Searched(12, 2));
  ASSERT_OK(scheduler().CancelJob({sweep_, 15}));  // setting 5, not chosen yet
  Sync();
  RunToEnd();
  EXPECT_FALSE(Plan().HasSetting(0, 5));
  EXPECT_EQ(JobsOf(JobState::kSucceeded), 33u);
  EXPECT_EQ(JobsOf(JobState::kCanceled), 3u);
}

// The next trial waited for a score that could not come.
TEST_F(SchedulerSearchTest, ASettingWhoseEvaluationWasCanceledHoldsNobodyUp) {
  Start(Searched(12, 2));
  for (uint32_t setting = 2; setting < 12; ++setting) {
    ASSERT_OK(scheduler().CancelJob({sweep_, 3 * setting + 2}));  // on the validation set
  }
  Sync();
  RunToEnd();
  EXPECT_THAT(Chosen(), SizeIs(11));
  EXPECT_EQ(JobsOf(JobState::kSucceeded), 26u);
}

TEST_F(SchedulerSearchTest, ASecondSweepOfTheSameSearchTakesTheResultsOfTheFirst) {
  Start(Searched(12, 1));
  RunToEnd();
  const std::vector<Proposal> first = Chosen();
  sweep_ = Submit(Searched(12, 1));
  Sync();
  EXPECT_EQ(scheduler().views().FindSweep(sweep_)->reused, 36u);
  EXPECT_EQ(Chosen(), first);
}

TEST_F(SchedulerSearchTest, ARepeatedRequestIsKnownAfterSettingsWereChosen) {
  const auto submit = [&](SweepSpec spec, const std::string& text) {
    return harness().Submit(std::move(spec), text, "me", "request");
  };
  ASSERT_OK_AND_ASSIGN(sweep_, submit(Searched(12, 2), "text"));
  harness().EndTurn();
  ASSERT_THAT(Chosen(), SizeIs(1));
  ASSERT_OK_AND_ASSIGN(const SweepId again, submit(Searched(12, 2), "text"));
  EXPECT_EQ(again, sweep_);
  EXPECT_THAT(submit(Searched(13, 2), "other").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("with another spec")));
}

TEST_F(SchedulerSearchTest, ARowOfAJobWhoseSettingIsNotThereIsDamage) {
  Start(Searched(12, 2));
  absl::StatusOr<Snapshot> snapshot = harness().store().Load();
  ASSERT_OK(snapshot.status());
  ASSERT_OK_AND_ASSIGN(Expansion submitted, Expansion::Make(Searched(12, 2)));
  EXPECT_THAT(
      Scheduler::Restore(SchedulerPolicy(), *std::move(snapshot),
                         {std::make_shared<const Expansion>(std::move(submitted))}, harness().now())
          .status(),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("its search has no setting for it")));
}

TEST_F(SchedulerSearchTest, ApproachesWithoutTrainingAreSearchedToo) {
  SweepSpec spec = Evals({"a"}, {"x"}, 1);
  AddValidationSet(0, &spec);
  spec.approaches[0].hyperparameters.defaults = {{"lr", 0.1}};
  spec.approaches[0].hyperparameters.space = {{"lr", LogUniformRange{0.001, 1.0}}};
  spec.random_settings = 11;
  spec.search = SearchSpec{.parallel = 2};
  Start(std::move(spec));
  EXPECT_EQ(JobsOf(JobState::kBlocked), 20u);
  RunToEnd();
  EXPECT_EQ(JobsOf(JobState::kSucceeded), 24u);
}

}  // namespace
}  // namespace concur::testing
