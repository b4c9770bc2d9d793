// SPDX-License-Identifier: Apache-2.0
#include "analysis/comparison/strata.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analysis/example_runs.h"
#include "base/check.h"
#include "report/comparison_tables.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

const std::vector<StratifiedExample> kOld = {{"easy", 1}, {"easy", 1}, {"easy", 1}, {"easy", 0},
                                             {"hard", 0}, {"hard", 1}, {"hard", 0}};

TEST(StrataTest, TheOldMixturePredictsTheOldScore) {
  ASSERT_OK_AND_ASSIGN(const StratifiedPrediction same,
                       PredictByStrata("by", kOld, kOld, {}, 0.95));
  EXPECT_NEAR(*same.predicted, same.score, 1e-12);
  EXPECT_NEAR(*same.actual, same.score, 1e-12);
  EXPECT_EQ(same.covered, 1);
}

TEST(StrataTest, ReweightsByTheNewSharesAndLeavesOutUnknownStrata) {
  const std::vector<StratifiedExample> fresh = {
      {"hard", {}}, {"hard", {}}, {"hard", {}}, {"easy", {}}, {"odd", {}}};
  ASSERT_OK_AND_ASSIGN(const StratifiedPrediction shift,
                       PredictByStrata("by", kOld, fresh, {}, 0.95));
  EXPECT_NEAR(*shift.predicted, 100 * (0.75 * (1.0 / 3) + 0.25 * 0.75), 1e-12);
  EXPECT_NEAR(shift.covered, 0.8, 1e-15);
  EXPECT_FALSE(shift.actual.has_value());
  const std::string text = WriteTable(StrataTable({shift}, 0.95), TableFormat::kText);
  EXPECT_THAT(text, HasSubstr("from 57.14 to 43.75 (20.0 % of the new examples"));
}

// The matrices of the definition of HC3 and of Satterthwaite's degrees, in rational numbers.
TEST(StrataTest, IntervalsHaveHc3ErrorsAndSatterthwaitesDegrees) {
  std::vector<StratifiedExample> old;
  for (int i = 0; i < 5; ++i) {
    old.insert(old.end(), kOld.begin(), kOld.end());
  }
  const std::vector<StratifiedExample> fresh = {
      {"hard", {}}, {"hard", {}}, {"hard", {}}, {"easy", {}}};
  ASSERT_OK_AND_ASSIGN(const StratifiedPrediction shift,
                       PredictByStrata("by", old, fresh, {}, 0.95));
  EXPECT_NEAR(shift.interval->high - *shift.predicted, 21.39372161, 1e-5);
}

// Questions of one document counted as independent: intervals held the
// truth in 65 %.
TEST(StrataTest, DocumentsAreLeftOutWhole) {
  std::vector<StratifiedExample> old;
  ExampleClusters documents{ExampleUnit::kDocument, {}, 12};
  for (uint32_t document = 0; document < 12; ++document) {
    for (int i = 0; i < 5; ++i) {
      old.push_back({document % 2 == 0 ? "easy" : "hard", document % 4 < 2 ? 1.0 : 0.0});
      documents.of.push_back(document);
    }
  }
  const auto predict = [&](const ExampleClusters& clusters) {
    const absl::StatusOr<StratifiedPrediction> prediction =
        PredictByStrata("by", old, kOld, clusters, 0.95);
    CONCUR_CHECK_OK(prediction.status());
    return *prediction;
  };
  const StratifiedPrediction clustered = predict(documents);
  const StratifiedPrediction alone = predict({});
  EXPECT_EQ(clustered.predicted, alone.predicted);
  // Five equal answers tell as much as one: the error is that of 12 answers, not of 60.
  EXPECT_GT(clustered.interval->high - clustered.interval->low,
            std::sqrt(5) * (alone.interval->high - alone.interval->low));
  EXPECT_THAT(WriteTable(StrataTable({clustered}, 0.95), TableFormat::kText),
              HasSubstr("by 12 documents"));
  for (size_t i = 0; i < old.size(); ++i) {
    documents.of[i] = old[i].stratum == "easy" ? 0 : documents.of[i];
  }
  EXPECT_FALSE(predict(documents).interval.has_value()) << "one document is the whole stratum";
}

TEST(StrataTest, BadInputsAreRefused) {
  EXPECT_THAT(PredictByStrata("by", {}, kOld, {}, 0.95),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("both test sets, got 0")));
  const std::vector<StratifiedExample> unscored = {{"easy", {}}};
  EXPECT_THAT(PredictByStrata("by", unscored, kOld, {}, 0.95),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("every example")));
  const std::vector<StratifiedExample> nan = {{"easy", std::numeric_limits<double>::quiet_NaN()}};
  EXPECT_THAT(PredictByStrata("by", kOld, nan, {}, 0.95),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("finite")));
  EXPECT_THAT(PredictByStrata("by", kOld, kOld, {}, 1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("interval")));
  const std::vector<StratifiedExample> odd = {{"odd", {}}};
  ASSERT_OK_AND_ASSIGN(const StratifiedPrediction apart,
                       PredictByStrata("by", kOld, odd, {}, 0.95));
  EXPECT_FALSE(apart.predicted.has_value());
}

}  // namespace
}  // namespace concur::analysis
