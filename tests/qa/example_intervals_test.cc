// SPDX-License-Identifier: Apache-2.0
#include "qa/example_intervals.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

using ::testing::DoubleEq;

// `right` of `n` questions are right; `per_document` consecutive ones share a document (0: none).
qa::ScoreReport ReportOf(int right, int n, int per_document) {
  qa::ScoreReport report;
  report.n = n;
  report.exact_matches = right;
  for (int i = 0; i < n; ++i) {
    qa::ExampleScore& example = report.examples.emplace_back();
    example.id = absl::StrCat(i);
    example.exact_match = i < right;
    example.f1 = i < right ? 1 : 0.5;
    example.document = per_document == 0 ? -1 : i / per_document;
  }
  return report;
}

TEST(ExampleIntervalsTest, QuestionsAloneHaveTheExactIntervalAndStudentsT) {
  const ExampleIntervals intervals = IntervalsOf(ReportOf(8, 10, 0), std::nullopt, 0.95);
  EXPECT_EQ(intervals.clusters.unit, analysis::ExampleUnit::kExample);
  // R: binom.test(8, 10)$conf.int, and t.test(c(rep(1, 8), .5, .5))$conf.int, which goes to 105.08.
  ASSERT_TRUE(intervals.exact_match.has_value());
  EXPECT_THAT(intervals.exact_match->low, DoubleNear(44.39045, 1e-4));
  EXPECT_THAT(intervals.exact_match->high, DoubleNear(97.47893, 1e-4));
  ASSERT_TRUE(intervals.f1.has_value());
  EXPECT_THAT(intervals.f1->low, DoubleNear(74.91895, 1e-4));
  EXPECT_THAT(intervals.f1->high, DoubleEq(100));
}

TEST(ExampleIntervalsTest, QuestionsThatShareDocumentsAreClusteredByDefault) {
  const qa::ScoreReport report = ReportOf(50, 100, 10);
  const ExampleIntervals alone = IntervalsOf(report, analysis::ExampleUnit::kExample, 0.95);
  const ExampleIntervals shared = IntervalsOf(report, std::nullopt, 0.95);
  EXPECT_EQ(shared.clusters.unit, analysis::ExampleUnit::kDocument);
  ASSERT_TRUE(alone.exact_match.has_value() && shared.exact_match.has_value());
  EXPECT_GT(shared.exact_match->high - shared.exact_match->low,
            alone.exact_match->high - alone.exact_match->low);
}

TEST(ExampleIntervalsTest, OneQuestionHasNoIntervalOfItsF1) {
  const ExampleIntervals one = IntervalsOf(ReportOf(0, 1, 0), std::nullopt, 0.95);
  EXPECT_FALSE(one.f1.has_value());
  EXPECT_TRUE(one.exact_match.has_value());
}

}  // namespace
}  // namespace concur
