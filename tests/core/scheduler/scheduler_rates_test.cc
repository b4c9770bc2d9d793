// SPDX-License-Identifier: Apache-2.0
// Rates of named resources.

#include <utility>

#include "core/scheduler/reason_text.h"
#include "core/scheduler/scheduler.h"
#include "tests/core/state/blame_fixture.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

using RatesTest = BlameSchedulerTest;

TEST_F(RatesTest, JobsOfARateStartAtThatRateAlsoAfterARestart) {
  AddWorker("w", 100);
  CONCUR_CHECK_OK(scheduler().SetResource("api", 100, 60));
  SweepSpec spec = Evals({"a"}, {"x"}, 50);
  spec.approaches[0].predict_uses = {{"api", 1}};
  const SweepId sweep = Submit(std::move(spec));
  Sync();
  EXPECT_EQ(RunningOn("w"), 1u) << "that of the first second";
  EXPECT_THAT(ReasonText(scheduler().views().ReasonOf({sweep, 1})),
              HasSubstr("waits for api: 60 a minute"));
  EXPECT_EQ(scheduler().NextDeadline(), harness().now() + absl::Seconds(1));
  for (int second = 0; second < 20; ++second) {
    if (second == 10) {
      harness().RestartCoordinator();
    }
    Sync();
  }
  EXPECT_EQ(RunningOn("w"), 21u);
}

}  // namespace
}  // namespace concur::testing
