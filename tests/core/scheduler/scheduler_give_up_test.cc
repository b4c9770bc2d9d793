// SPDX-License-Identifier: Apache-2.0
// Groups of jobs that fail altogether are given up, the rest is not, and a retry tries all again.

#include <string>

#include "core/scheduler/reason_text.h"
#include "tests/core/state/blame_fixture.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

class GiveUpTest : public BlameSchedulerTest {};

TEST_F(GiveUpTest, AnApproachThatFailsEverywhereIsGivenUpAndARetryTriesAgain) {
  AddWorker("w1");
  AddWorker("w2");
  SweepSpec spec = Trains({"a"}, {"x", "y", "z"}, 4);
  spec.failures_max_per_block = 3;
  const SweepId id = Submit(spec);
  for (int round = 0; round < 12; ++round) {
    Round({"w1", "w2"});
  }
  const SweepView view = *scheduler().views().FindSweep(id);
  EXPECT_EQ(view.state, SweepState::kFailed);
  const uint32_t failed = view.counts[static_cast<size_t>(JobState::kFailed)];
  EXPECT_LT(failed, 7u);  // 12 train jobs in total
  uint32_t skipped = 0;
  for (uint32_t job = 0; job < view.expansion->job_count(); ++job) {
    if (ReasonText(scheduler().views().ReasonOf({id, job})).find("approach a fails everywhere") !=
        std::string::npos) {
      ++skipped;
    }
  }
  EXPECT_GT(skipped, 0u);
  ASSERT_OK_AND_ASSIGN(const uint32_t retried, scheduler().RetryJobs(id, {}, false));
  EXPECT_EQ(retried, view.expansion->job_count());
  for (int round = 0; round < 20; ++round) {
    Round({});
  }
  EXPECT_EQ(scheduler().views().FindSweep(id)->state, SweepState::kSucceeded);
}

TEST_F(GiveUpTest, AnApproachThatSucceedsSomewhereIsNotGivenUp) {
  AddWorker("w1");
  AddWorker("w2");
  SweepSpec spec = Trains({"a"}, {"x", "y", "z"}, 4);
  spec.failures_max_per_block = 4;  // the blocks' own rule: all seeds of one train set
  const SweepId id = Submit(spec);
  Round({});
  for (int round = 0; round < 20; ++round) {
    Round({"w1", "w2"});
  }
  uint32_t skipped_by_approach = 0;
  for (uint32_t job = 0; job < scheduler().views().FindSweep(id)->expansion->job_count(); ++job) {
    skipped_by_approach +=
        ReasonText(scheduler().views().ReasonOf({id, job})).find("fails everywhere") !=
                std::string::npos
            ? 1
            : 0;
  }
  EXPECT_EQ(skipped_by_approach, 0u);
}

TEST_F(GiveUpTest, ATrainSetThatFailsWithEveryApproachIsGivenUp) {
  AddWorker("w1");
  AddWorker("w2");
  SweepSpec spec = Trains({"a", "b", "c"}, {"x"}, 4);
  spec.failures_max_per_block = 3;
  const SweepId id = Submit(spec);
  for (int round = 0; round < 12; ++round) {
    Round({"w1", "w2"});
  }
  bool told = false;
  for (uint32_t job = 0; job < scheduler().views().FindSweep(id)->expansion->job_count(); ++job) {
    told = told || ReasonText(scheduler().views().ReasonOf({id, job}))
                           .find("train set x fails with every approach") != std::string::npos;
  }
  EXPECT_TRUE(told);
}

TEST_F(GiveUpTest, ATestBenchmarkOnWhichEverythingFailsIsGivenUp) {
  AddWorker("w1");
  AddWorker("w2");
  SweepSpec spec = Evals({"a", "b", "c"}, {"good", "bad"}, 3);
  spec.retry.failures_max = 1;
  spec.failures_max_per_block = 4;
  const SweepId id = Submit(spec);
  const auto is_bad = [](const JobCoordinates& at) { return at.test_benchmark == 1; };
  for (int round = 0; round < 12; ++round) {
    RoundOf(is_bad);
  }
  EXPECT_EQ(scheduler().views().FindSweep(id)->state, SweepState::kFailed);
  EXPECT_EQ(CountOf(id, JobState::kSucceeded), 9u);
  const uint32_t failed = CountOf(id, JobState::kFailed);
  // Four at least, and one of each approach.
  EXPECT_THAT(failed, AllOf(::testing::Ge(4u), ::testing::Le(8u)));
  EXPECT_EQ(CountOf(id, JobState::kSkipped), 9 - failed);
  EXPECT_EQ(Explained(id, "benchmark bad fails with every approach: "), 9 - failed);
  EXPECT_EQ(Explained(id, "none succeeded (failures_max_per_block 4); `concur sweep retry`"),
            9 - failed);
  // The data was mended: a retry tries all of it again.
  ASSERT_OK_AND_ASSIGN(const uint32_t retried, scheduler().RetryJobs(id, {}, false));
  EXPECT_EQ(retried, 9u);
  for (int round = 0; round < 12; ++round) {
    Round({});
  }
  EXPECT_EQ(scheduler().views().FindSweep(id)->state, SweepState::kSucceeded);
}

TEST_F(GiveUpTest, WhatFailsOnOneTestGoesOnWithTheOthers) {
  AddWorker("w1");
  AddWorker("w2");
  SweepSpec spec = Trains({"a"}, {"x", "bad"}, 6);
  spec.train_sets.resize(1);
  spec.evaluate_on = EvaluateOn::kAll;
  spec.failures_max_per_block = 3;
  const SweepId id = Submit(spec);
  for (int round = 0; round < 20; ++round) {
    RoundOf([](const JobCoordinates& at) { return !at.is_train && at.test_benchmark == 1; });
  }
  EXPECT_EQ(CountOf(id, JobState::kSucceeded), 12u);  // trained, and evaluated on x
  EXPECT_EQ(CountOf(id, JobState::kFailed) + CountOf(id, JobState::kSkipped), 6u);
  EXPECT_GT(CountOf(id, JobState::kSkipped), 0u);
  EXPECT_EQ(Explained(id, "approach a on train set x fails on benchmark bad: "),
            CountOf(id, JobState::kSkipped));
}

TEST_F(GiveUpTest, NothingIsGivenUpWhileAnotherSettingMayDo) {
  AddWorker("w1");
  AddWorker("w2");
  SweepSpec spec = Trains({"a"}, {"x"}, 5);
  spec.random_settings = 2;
  spec.failures_max_per_block = 3;
  const SweepId id = Submit(spec);
  const auto fails = [](const JobCoordinates& at) { return at.setting == 0; };
  for (int round = 0; round < 40; ++round) {
    RoundOf(fails);
  }
  EXPECT_EQ(CountOf(id, JobState::kFailed), 5u);
  EXPECT_EQ(CountOf(id, JobState::kSkipped), 5u);  // evaluations of what could not be trained
  EXPECT_EQ(CountOf(id, JobState::kSucceeded), 20u);
}

TEST_F(GiveUpTest, FailuresOfOneWorkerGiveNothingUpWhileThereIsAnother) {
  AddWorker("bad");
  AddWorker("full", 0);  // lives, and has room for nothing
  SweepSpec spec = Evals({"a"}, {"x"}, 8);
  spec.retry.failures_max = 1;
  spec.failures_max_per_block = 2;
  const SweepId id = Submit(spec);
  for (int round = 0; round < 12; ++round) {
    Round({"bad"});
  }
  EXPECT_EQ(CountOf(id, JobState::kFailed), 8u);
}

TEST_F(GiveUpTest, WithoutAWordOfItTenFailuresAreEnoughAndZeroTurnsItOff) {
  AddWorker("w");
  SweepSpec spec = Evals({"a"}, {"x"}, 13);
  spec.retry.failures_max = 1;
  const SweepId id = Submit(spec);
  spec.failures_max_per_block = 0;
  spec.approaches[0].version = "2";
  const SweepId never = Submit(spec);
  for (int round = 0; round < 30; ++round) {
    Round({"w"});
  }
  EXPECT_EQ(CountOf(id, JobState::kFailed), 10u);
  EXPECT_EQ(CountOf(id, JobState::kSkipped), 3u);
  EXPECT_THAT(ReasonText(scheduler().views().ReasonOf({id, 12})),
              AllOf(HasSubstr("skipped: approach a fails: 10 jobs failed"),
                    HasSubstr("failures_max_per_block 10")));
  EXPECT_EQ(CountOf(never, JobState::kFailed), 13u);
}

}  // namespace
}  // namespace concur::testing
