// SPDX-License-Identifier: Apache-2.0
// Results that workers call successes.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/scheduler/scheduler.h"
#include "tests/core/state/blame_fixture.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

class SchedulerResultTest : public BlameSchedulerTest {
 protected:
  // View of the only job after its only attempt ended so.
  JobView EndWith(JobResult result) {
    AddWorker("w");
    SweepSpec spec = Evals({"a"}, {"x"}, 1);
    spec.retry.failures_max = 1;
    const SweepId sweep = Submit(std::move(spec));
    Sync();
    FinishAll("w", result);
    Sync();
    return scheduler().views().ViewJob({sweep, 0});
  }
};

// A result without a metric, or with one of another name, counted as a success without a score.
TEST_F(SchedulerResultTest, AnEvalResultWithoutTheBenchmarksMetricIsNoSuccess) {
  JobResult result;
  result.succeeded = true;
  const JobView job = EndWith(result);
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_EQ(job.failure, FailureClass::kInvalidOutput);
  ASSERT_NE(job.result, nullptr);
  EXPECT_THAT(job.result->message, HasSubstr("metric \"exact_match\", got no metric"));
}

TEST_F(SchedulerResultTest, AMetricOfAnotherNameIsNamed) {
  JobResult result;
  result.succeeded = true;
  result.metrics = {{"acc", 1, 10}, {"bleu", 1, 10}, {"c", 1, 1},
                    {"d", 1, 1},    {"e", 1, 1},     {"f", 1, 1}};
  const JobView job = EndWith(result);
  EXPECT_EQ(job.state, JobState::kFailed);
  ASSERT_NE(job.result, nullptr);
  EXPECT_THAT(job.result->message,
              AllOf(HasSubstr("\"exact_match\", got \"acc\", \"bleu\""), HasSubstr("\"e\", …")));
  EXPECT_THAT(job.result->metrics, IsEmpty());
}

TEST_F(SchedulerResultTest, OtherMetricsBesideItDoNoHarm) {
  JobResult result;
  result.succeeded = true;
  result.metrics = {{"exact_match", 10, 10}, {"zeal", 1, 10}};
  EXPECT_EQ(EndWith(result).state, JobState::kSucceeded);
}

TEST_F(SchedulerResultTest, AMetricThatOnlySomePartsHaveIsNotTheWholes) {
  JobResult result;
  result.succeeded = true;
  result.metrics = {{"acc", 1, 10}, {"exact_match", 1, 10, std::nullopt, "law"}};
  const JobView job = EndWith(result);
  EXPECT_EQ(job.state, JobState::kFailed);
  ASSERT_NE(job.result, nullptr);
  EXPECT_EQ(job.result->message,
            "expected the benchmark's metric \"exact_match\", got \"acc\"; only some parts have "
            "it: write it beside \"parts\", too");
}

TEST_F(SchedulerResultTest, ASweepHoldsALimitedNumberOfPartsAndKeepsTheScoreOfTheWhole) {
  AddWorker("w", 1000);
  constexpr uint32_t kSeeds = kPartMetricsOfSweepMax / kPartMetricsMax + 1;
  SweepSpec spec = Evals({"a"}, {"x"}, static_cast<int>(kSeeds));
  const SweepId sweep = Submit(std::move(spec));
  JobResult result;
  result.succeeded = true;
  result.metrics = {{"exact_match", 1, 10}};
  for (size_t i = 0; i < kPartMetricsMax; ++i) {
    result.metrics.push_back(
        {absl::StrCat("m", i % 2), 1, 1, std::nullopt, absl::StrCat("p", 10'000 + i / 2)});
  }
  uint32_t kept = 0;
  for (uint32_t round = 0; round < kSeeds && kept < kSeeds; ++round) {
    Sync();
    FinishAll("w", result);
    Sync();
    kept = 0;
    for (uint32_t job = 0; job < kSeeds; ++job) {
      kept += scheduler().views().ViewJob({sweep, job}).result != nullptr ? 1 : 0;
    }
  }
  ASSERT_EQ(kept, kSeeds);
  size_t without = 0;
  for (uint32_t job = 0; job < kSeeds; ++job) {
    const JobView view = scheduler().views().ViewJob({sweep, job});
    EXPECT_NE(FindMetric(view.result, "exact_match"), nullptr);
    if (PartMetricsOf(*view.result) == 0) {
      ++without;
      EXPECT_THAT(view.result->message, HasSubstr("at most 1000000"));
    }
  }
  EXPECT_EQ(without, 1u);
  scheduler().CheckInvariants();
}

// After a lost lease two equal jobs counted two different scores.
TEST_F(SchedulerResultTest, EqualJobsSettleOnTheResultThatCameFirst) {
  AddWorker("w1");
  SweepSpec spec = Evals({"a"}, {"x"}, 1);
  const SweepId slow = Submit(spec);
  Sync();
  spec.priority = 1;  // its equal job is given out first, when both are ready
  const SweepId fast = Submit(spec);
  ASSERT_EQ(RunningOn("w1"), 1u);
  SetSilent("w1", true);
  harness().Advance(harness().policy().lease + absl::Seconds(1));
  AddWorker("w2");
  Sync();
  ASSERT_EQ(StateOf(fast, 0), JobState::kRunning);
  JobResult first;
  first.succeeded = true;
  first.metrics = {{"exact_match", 1, 10}};
  JobResult second = first;
  second.metrics[0].value = 2;
  FinishAll("w1", first);
  FinishAll("w2", second);
  SetSilent("w2", true);
  SetSilent("w1", false);
  Sync();
  EXPECT_EQ(StateOf(slow, 0), JobState::kSucceeded) << "it came back with its result";
  SetSilent("w2", false);
  Sync();
  const JobView late = scheduler().views().ViewJob({fast, 0});
  EXPECT_EQ(late.state, JobState::kSucceeded);
  EXPECT_EQ(late.reused_from, (JobId{slow, 0}));
  ASSERT_NE(late.result, nullptr);
  EXPECT_EQ(late.result->metrics, first.metrics);
  scheduler().CheckInvariants();
}

}  // namespace
}  // namespace concur::testing
