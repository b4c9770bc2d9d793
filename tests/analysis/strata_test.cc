// SPDX-License-Identifier: Apache-2.0
#include "analysis/strata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/testing/status_matchers.h"

namespace concur::analysis {
namespace {

using ::concur::testing::StatusIs;
using ::testing::HasSubstr;

const std::vector<StratifiedExample> kOld = {{"easy", 1}, {"easy", 1}, {"easy", 1}, {"easy", 0},
                                             {"hard", 0}, {"hard", 1}, {"hard", 0}};

TEST(StrataTest, TheOldMixturePredictsTheOldScore) {
  ASSERT_OK_AND_ASSIGN(const StratifiedPrediction same, PredictByStrata("by", kOld, kOld, 0.95));
  EXPECT_NEAR(*same.predicted, same.score, 1e-12);
  EXPECT_NEAR(*same.actual, same.score, 1e-12);
  EXPECT_EQ(same.covered, 1);
}

TEST(StrataTest, ReweightsByTheNewSharesAndLeavesOutUnknownStrata) {
  const std::vector<StratifiedExample> fresh = {
      {"hard", {}}, {"hard", {}}, {"hard", {}}, {"easy", {}}, {"odd", {}}};
  ASSERT_OK_AND_ASSIGN(const StratifiedPrediction shift, PredictByStrata("by", kOld, fresh, 0.95));
  EXPECT_NEAR(*shift.predicted, 100 * (0.75 * (1.0 / 3) + 0.25 * 0.75), 1e-12);
  EXPECT_NEAR(shift.covered, 0.8, 1e-15);
  EXPECT_FALSE(shift.actual.has_value());
  // sd of easy 0.5 (n 4), of hard sqrt(1/3) (n 3), weights 1/4 and 3/4.
  const double variance = 0.0625 * 0.25 / 4 + 0.5625 * (1.0 / 3) / 3;
  EXPECT_NEAR(shift.interval->high - *shift.predicted,
              100 * 1.959963984540054 * std::sqrt(variance), 1e-9);
  const std::string text = WriteTable(StrataTable({shift}, 0.95), TableFormat::kText);
  EXPECT_THAT(text, HasSubstr("from 57.14 to 43.75 (20.0 % of the new examples"));
}

TEST(StrataTest, BadInputsAreRefused) {
  EXPECT_THAT(PredictByStrata("by", {}, kOld, 0.95),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("both test sets, got 0")));
  const std::vector<StratifiedExample> unscored = {{"easy", {}}};
  EXPECT_THAT(PredictByStrata("by", unscored, kOld, 0.95),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("every example")));
  const std::vector<StratifiedExample> nan = {{"easy", std::numeric_limits<double>::quiet_NaN()}};
  EXPECT_THAT(PredictByStrata("by", kOld, nan, 0.95),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("finite")));
  EXPECT_THAT(PredictByStrata("by", kOld, kOld, 1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("interval")));
  const std::vector<StratifiedExample> odd = {{"odd", {}}};
  ASSERT_OK_AND_ASSIGN(const StratifiedPrediction apart, PredictByStrata("by", kOld, odd, 0.95));
  EXPECT_FALSE(apart.predicted.has_value());
}

}  // namespace
}  // namespace concur::analysis
