// SPDX-License-Identifier: Apache-2.0
// Three rates and ETAs of one sweep contradicted each other: now there is one.
#include "cli/output/estimate.h"

#include <string>
#include <vector>

#include "tests/testing/test.h"

namespace concur::cli {
namespace {

v1::Sweep Going(uint32_t recent_jobs, int64_t seconds, uint32_t left) {
  v1::Sweep sweep;
  sweep.set_state(v1::Sweep::STATE_ACTIVE);
  sweep.set_recent_jobs(recent_jobs);
  sweep.mutable_recent_span()->set_seconds(seconds);
  sweep.mutable_counts()->set_ready(left - 2);
  sweep.mutable_counts()->set_running(2);
  sweep.mutable_counts()->set_canceled(1000);
  return sweep;
}

TEST(EstimateTest, WhatIsLeftTakesAsLongAsWhatWasDone) {
  const Estimate estimate = EstimateOf(Going(20, 10, 30));
  EXPECT_EQ(RateText(estimate.jobs_per_second), "2.0 jobs/s");
  EXPECT_EQ(EtaText(estimate), "15.0 s");
}

TEST(EstimateTest, WhileNothingEndsTheRateFallsAndTheEtaGrows) {
  const Estimate estimate = EstimateOf(Going(20, 10, 30), absl::Seconds(10));
  EXPECT_DOUBLE_EQ(estimate.jobs_per_second, 1);
  EXPECT_EQ(EtaText(estimate), "30.0 s");
}

TEST(EstimateTest, WithoutWorkOrTimeNothingIsKnown) {
  v1::Sweep sweep = Going(20, 10, 30);
  for (const v1::Sweep::State state : {v1::Sweep::STATE_PAUSED, v1::Sweep::STATE_CANCELING,
                                       v1::Sweep::STATE_FAILED, v1::Sweep::STATE_SUCCEEDED}) {
    sweep.set_state(state);
    EXPECT_EQ(EstimateOf(sweep).jobs_per_second, 0);
    EXPECT_EQ(EtaText(EstimateOf(sweep)), "");
  }
  EXPECT_EQ(EtaText(EstimateOf(Going(0, 10, 30))), "") << "nothing ended";
  EXPECT_EQ(RateText(EstimateOf(Going(1, 0, 30)).jobs_per_second), "") << "too short a time";
  EXPECT_EQ(RateText(EstimateOf(v1::Sweep(), absl::Hours(1)).jobs_per_second), "")
      << "a coordinator that does not tell";
}

TEST(EstimateTest, OneSweepAndAllSweepsAgree) {
  std::vector<v1::Sweep> sweeps = {Going(20, 10, 30)};
  EXPECT_EQ(EtaText(EstimateOf(sweeps)), EtaText(EstimateOf(sweeps[0])));
  sweeps.push_back(Going(10, 10, 60));
  EXPECT_EQ(RateText(EstimateOf(sweeps).jobs_per_second), "3.0 jobs/s");
  EXPECT_EQ(EtaText(EstimateOf(sweeps)), "30.0 s");
  sweeps[1].set_state(v1::Sweep::STATE_PAUSED);
  EXPECT_EQ(EtaText(EstimateOf(sweeps)), "15.0 s") << "nothing waits for a paused one";
}

TEST(EstimateTest, SlowRatesAreGivenByTheMinute) {
  EXPECT_EQ(RateText(12.3), "12 jobs/s");
  EXPECT_EQ(RateText(0.5), "30 jobs/min");
  EXPECT_EQ(RateText(0.01), "0.6 jobs/min");
  EXPECT_EQ(RateText(0), "");
}

}  // namespace
}  // namespace concur::cli
