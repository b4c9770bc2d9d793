// SPDX-License-Identifier: Apache-2.0
#include "core/result.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/full_result.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

// True if the field called `name` has the same value in both.
bool FieldIsEqual(const JobResult& a, const JobResult& b, absl::string_view name) {
  bool equal = true;
  VisitFields(a, [&](absl::string_view field_a, const auto& value_a) {
    VisitFields(b, [&](absl::string_view field_b, const auto& value_b) {
      if constexpr (std::is_same_v<decltype(value_a), decltype(value_b)>) {
        equal = equal && (field_a != name || field_b != name || value_a == value_b);
      }
    });
  });
  return equal;
}

TEST(ResultTest, FullResultsSetEveryFieldAndAreValid) {
  const std::vector<JobResult> full = testing::FullResults();
  for (const JobResult& result : full) {
    EXPECT_OK(ValidateJobResult(result, FieldPath("result")));
  }
  VisitFields(full[0], [&](absl::string_view field, const auto&) {
    EXPECT_TRUE(std::any_of(
        full.begin(), full.end(),
        [&](const JobResult& result) { return !FieldIsEqual(result, JobResult(), field); }))
        << field << " has its default in tests/testing/full_result.h";
  });
}

TEST(ResultTest, MetricsAndArtifactsStandInOrderEachOnce) {
  JobResult result = testing::FullResults()[0];
  std::swap(result.metrics[0], result.metrics[1]);
  EXPECT_THAT(
      ValidateJobResult(result, FieldPath("r")),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("r.metrics[1]: expected each once and in order, got exact_match")));
  result = testing::FullResults()[0];
  std::swap(result.metrics[1], result.metrics[2]);
  EXPECT_THAT(ValidateJobResult(result, FieldPath("r")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("r.metrics[2]: expected each once and in order, got f1 after "
                                 "a/b: f1")));
  result = testing::FullResults()[0];
  result.artifacts[1].kind = result.artifacts[0].kind;
  EXPECT_THAT(ValidateJobResult(result, FieldPath("r")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("r.artifacts[1]: expected")));
}

TEST(ResultTest, TheEndsOfAnIntervalAreFiniteAndInOrder) {
  Metric metric{"f1", 50, 8, MetricInterval{60, 40}};
  EXPECT_THAT(CheckMetric(FieldPath("m"), metric),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "m.interval: expected finite ends in order, got 60 to 40"));
  metric.interval = {std::nan(""), 60};
  EXPECT_THAT(CheckMetric(FieldPath("m"), metric),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("m.interval: ")));
  metric.interval = {40, 60};
  EXPECT_OK(CheckMetric(FieldPath("m"), metric));
}

TEST(ResultTest, AMetricOfAPartIsNoneOfTheWhole) {
  const JobResult result = testing::FullResults()[0];
  EXPECT_EQ(FindMetric(&result, "f1")->part, "");
  EXPECT_EQ(PartMetricsOf(result), 2u);
  JobResult parts;
  parts.metrics = {{"f1", 1, 0, std::nullopt, "a"}};
  EXPECT_EQ(FindMetric(&parts, "f1"), nullptr);
}

TEST(ResultTest, PartsAndTheirMetricsAreLimited) {
  JobResult result = testing::FullResults()[0];
  result.metrics.clear();
  for (size_t i = 0; i < kPartsMax; ++i) {
    result.metrics.push_back({"a", 1, 0, std::nullopt, absl::StrCat("p", 10'000 + i)});
    result.metrics.push_back({"b", 1, 0, std::nullopt, absl::StrCat("p", 10'000 + i)});
  }
  EXPECT_OK(ValidateJobResult(result, FieldPath("r")));
  result.metrics.push_back({"c", 1, 0, std::nullopt, result.metrics.back().part});
  EXPECT_THAT(ValidateJobResult(result, FieldPath("r")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("r.metrics of parts: ")));
  result.metrics.clear();
  for (size_t i = 0; i <= kPartsMax; ++i) {
    result.metrics.push_back({"a", 1, 0, std::nullopt, absl::StrCat("p", 10'000 + i)});
  }
  EXPECT_THAT(ValidateJobResult(result, FieldPath("r")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("r.parts: ")));
}

TEST(ResultTest, ANameOfAMetricIsOneLine) {
  EXPECT_THAT(CheckMetric(FieldPath("m"), {"a\nb", 1, 0}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "m.name: expected one line without control characters, got \"a\\nb\""));
}

}  // namespace
}  // namespace concur
