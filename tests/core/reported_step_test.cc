// SPDX-License-Identifier: Apache-2.0
#include "core/reported_step.h"

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

TEST(StepCountsTest, EachStepOfANameCountsOnceAndStepsGrow) {
  StepCounts counts;
  EXPECT_TRUE(counts.Count({0, "f1", 1}));
  EXPECT_TRUE(counts.Count({3, "f1", 1}));
  EXPECT_FALSE(counts.Count({3, "f1", 2}));
  EXPECT_FALSE(counts.Count({2, "f1", 2}));
  EXPECT_TRUE(counts.Count({2, "loss", 2}));
  EXPECT_TRUE(counts.Count({4, "f1", 2}));
  EXPECT_EQ(counts.total(), 4);
}

TEST(StepCountsTest, OfOneJobAFewNamesCount) {
  StepCounts counts;
  for (size_t i = 0; i < kStepNamesMax; ++i) {
    EXPECT_TRUE(counts.Count({1, absl::StrCat("name ", i), 1}));
  }
  EXPECT_FALSE(counts.Count({1, "one more", 1}));
  EXPECT_TRUE(counts.Count({2, "name 0", 1}));
}

// A job that reported after every example filled the database.
TEST(StepCountsTest, ManyStepsAreThinnedToTheirEnd) {
  StepCounts counts;
  int64_t step = 0;
  int64_t last = 0;
  for (; step < 3'000'000; ++step) {
    if (counts.Count({step, "f1", 1})) {
      EXPECT_LE(step - last, 1 + last / kStepGrowth + 1);
      last = step;
    }
  }
  EXPECT_GT(last, step - step / 60);
  EXPECT_GT(counts.total(), kStepsDense + 300);
  // Up to the largest step there is room in one Sync.
  for (; last < kStepMax - last / kStepGrowth - 2; last += last / kStepGrowth + 1) {
    EXPECT_TRUE(counts.Count({last + last / kStepGrowth + 1, "f1", 1}));
  }
  EXPECT_LE(counts.total() * kStepNamesMax, kStepsOfJobMax);
}

// docs/job-environment.md says so.
TEST(StepCountsTest, OfAThousandSteps993IsTheLastThatCountsAndOfAHundredAllDo) {
  StepCounts all;
  for (int64_t step = 1; step <= 1000; ++step) {
    all.Count({step, "f1", 1});
  }
  EXPECT_EQ(all.series()[0].last, 993);
  StepCounts tenths;
  for (int64_t step = 10; step <= 1000; step += 10) {
    EXPECT_TRUE(tenths.Count({step, "f1", 1}));
  }
}

TEST(StepCountsTest, ARestoredOneGoesOnWhereItWas) {
  StepCounts counts;
  EXPECT_TRUE(counts.Count({7, "f1", 1}));
  StepCounts restored;
  for (const StepCounts::Series& series : counts.series()) {
    EXPECT_OK(restored.Restore(series));
  }
  EXPECT_FALSE(restored.Count({7, "f1", 1}));
  EXPECT_TRUE(restored.Count({8, "f1", 1}));
  EXPECT_THAT(restored.Restore({"f1", 1, 9}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("\"f1\" stand twice")));
  EXPECT_FALSE(restored.Restore({"loss", 0, 9}).ok());
}

TEST(ReportedStepTest, FieldsBeyondTheirLimitsAreNamed) {
  const auto check = [](ReportedStep step) { return CheckReportedStep(FieldPath("r"), step); };
  EXPECT_OK(check({0, "f1", -1}));
  EXPECT_OK(check({kStepMax, std::string(kStepNameBytesMax, 'x'), 1}));
  const auto refused = [](const std::string& text) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text));
  };
  EXPECT_THAT(check({-1, "f1", 1}), refused("r.step: expected"));
  EXPECT_THAT(check({kStepMax + 1, "f1", 1}), refused("r.step: expected"));
  EXPECT_THAT(check({1, "", 1}), refused("r.name: expected a name"));
  EXPECT_THAT(check({1, "a\nb", 1}), refused("r.name: "));
  EXPECT_THAT(check({1, "\xff", 1}), refused("r.name: "));
  EXPECT_THAT(check({1, std::string(kStepNameBytesMax + 1, 'x'), 1}), refused("r.name: expected"));
  EXPECT_THAT(check({1, "f1", std::numeric_limits<double>::quiet_NaN()}), refused("r.value: "));
  EXPECT_THAT(check({1, "f1", std::numeric_limits<double>::infinity()}), refused("r.value: "));
}

}  // namespace
}  // namespace concur::testing
