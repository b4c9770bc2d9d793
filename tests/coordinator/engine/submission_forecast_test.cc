// SPDX-License-Identifier: Apache-2.0
#include "coordinator/engine/submission_forecast.h"

#include <memory>
#include <utility>

#include "tests/core/sweep/sweep_builder.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

// Eight jobs of a second each.
ForecastBasis EightSeconds(const Labels& asked) {
  SweepSpec spec;
  spec.name = "labels";
  spec.approaches = {testing::UntrainedApproach("guess")};
  spec.approaches[0].predict_resources = Resources{.cpu_millis = 1000};
  spec.approaches[0].predict_labels = asked;
  spec.benchmarks = {testing::Benchmark("x")};
  spec.train_sets = {testing::PlainTrainSet(spec, 0)};
  spec.seeds = {1, 2, 3, 4, 5, 6, 7, 8};
  ForecastBasis basis;
  absl::StatusOr<Expansion> expansion = Expansion::Make(std::move(spec));
  EXPECT_OK(expansion.status());
  basis.expansion = std::make_shared<const Expansion>(*std::move(expansion));
  basis.means[{"guess", "x", false}] = absl::Seconds(1);
  const Resources one_slot{.cpu_millis = 1000};
  basis.workers = {one_slot, one_slot};
  basis.labels = {{{"gpu", "a100"}}, {}};
  return basis;
}

TEST(SubmissionForecastTest, JobsThatAskForLabelsRunOnlyWhereTheyMay) {
  const auto anywhere = ForecastMakespan(EightSeconds({}));
  const auto labeled = ForecastMakespan(EightSeconds({{"gpu", "a100"}}));
  ASSERT_TRUE(anywhere && labeled);
  EXPECT_LT(*anywhere, absl::Seconds(5));
  EXPECT_GE(*labeled, absl::Seconds(8));
  EXPECT_FALSE(ForecastMakespan(EightSeconds({{"gpu", "h100"}})));
}

}  // namespace
}  // namespace concur
