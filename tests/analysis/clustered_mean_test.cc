// SPDX-License-Identifier: Apache-2.0
#include "analysis/clustered_mean.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "analysis/example_runs.h"
#include "analysis/statistics/intervals.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

// clubSandwich 0.5.8 of R 4.2.2: m <- lm(y ~ 1); vcovCR(m, cluster = g, type = "CR2"),
// coef_test(…, test = "Satterthwaite"), conf_int(…).
TEST(ClusteredMeanTest, StandardErrorDegreesAndIntervalAreClubSandwichs) {
  const std::vector<double> values = {1, 0, 1, 1, 0.5, 0, 0, 1, 0.25, 1, 1, 1, 0, 0.75, 1};
  ExamplePlaces places;
  places.documents = {1, 1, 1, 2, 2, 3, 3, 3, 3, 4, 5, 5, 5, 5, 5};
  const ExampleClusters clusters = ClustersOf(places, values.size(), ExampleUnit::kDocument);
  ASSERT_OK_AND_ASSIGN(const ClusteredMean mean, ComputeClusteredMean(values, clusters));
  EXPECT_EQ(mean.clusters, 5);
  EXPECT_NEAR(mean.mean, 0.6333333333333333, 1e-15);
  EXPECT_NEAR(mean.standard_error, 0.1149998672823993, 1e-14);
  EXPECT_NEAR(mean.degrees, 3.1330203442879516, 1e-12);
  ASSERT_OK_AND_ASSIGN(const Interval interval, ClusteredMeanInterval(values, clusters, 0.95));
  EXPECT_NEAR(interval.low, 0.2759878509525190, 1e-10);
  EXPECT_NEAR(interval.high, 0.9906788157141472, 1e-10);
}

TEST(ClusteredMeanTest, SingleExamplesHaveStudentsInterval) {
  const std::vector<double> values = {1, 0.5, 0.25, 0, 1, 0.75};
  const ExampleClusters alone = ClustersOf({}, values.size(), std::nullopt);
  ASSERT_OK_AND_ASSIGN(const Interval interval, ClusteredMeanInterval(values, alone, 0.9));
  ASSERT_OK_AND_ASSIGN(const Interval student, MeanInterval(values, 0.9));
  EXPECT_NEAR(interval.low, student.low, 1e-12);
  EXPECT_NEAR(interval.high, student.high, 1e-12);
}

TEST(ClusteredMeanTest, TheIntervalOfASharedScoreStaysWithinItsRangeAndHasAWidth) {
  // Clusters of 2 questions: with one wrong of 24, mean ± t se went beyond 1; with none, it had no
  // width, as if 24 right answers were proof.
  ExampleClusters pairs;
  pairs.count = 12;
  std::vector<double> values(24, 1.0);
  for (uint32_t i = 0; i < 24; ++i) {
    pairs.of.push_back(i / 2);
  }
  ASSERT_OK_AND_ASSIGN(const Interval all_right, ShareInterval(values, pairs, 0.95));
  ASSERT_OK_AND_ASSIGN(const Interval twelve_right, ClopperPearson(12, 12, 0.95));
  EXPECT_EQ(all_right.low, twelve_right.low) << "as many as there are clusters";
  EXPECT_EQ(all_right.high, 1);
  values[5] = 0;
  ASSERT_OK_AND_ASSIGN(const Interval cut, ShareInterval(values, pairs, 0.95));
  ASSERT_OK_AND_ASSIGN(const Interval whole, ClusteredMeanInterval(values, pairs, 0.95));
  EXPECT_GT(whole.high, 1);
  EXPECT_EQ(cut.high, 1);
  EXPECT_EQ(cut.low, whole.low);
  ASSERT_OK_AND_ASSIGN(const Interval none_right,
                       ShareInterval(std::vector<double>(24, 0.0), pairs, 0.95));
  EXPECT_EQ(none_right.low, 0);
  EXPECT_NEAR(none_right.high, 1 - twelve_right.low, 1e-12);
}

TEST(ClusteredMeanTest, OneClusterHasNoInterval) {
  ExampleClusters one;
  one.of = {0, 0, 0};
  one.count = 1;
  EXPECT_THAT(ComputeClusteredMean({1, 0, 1}, one),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at least 2 clusters")));
}

TEST(ClusteredMeanTest, TheDefaultUnitIsTheCoarsestWithTenGroups) {
  ExamplePlaces places;
  for (int64_t i = 0; i < 60; ++i) {
    places.passages.push_back(i / 3);
    places.documents.push_back(i / 12);
  }
  EXPECT_EQ(ClustersOf(places, 60, std::nullopt).unit, ExampleUnit::kPassage) << "5 documents";
  EXPECT_EQ(ClustersOf(places, 60, ExampleUnit::kDocument).count, 5U) << "asked for";
  EXPECT_EQ(ClustersOf(places, 60, ExampleUnit::kExample).count, 60U);
  places.documents.clear();
  EXPECT_EQ(ClustersOf(places, 60, ExampleUnit::kDocument).unit, ExampleUnit::kExample)
      << "not known";
  for (int64_t i = 0; i < 60; ++i) {
    places.passages[static_cast<size_t>(i)] = i;
  }
  EXPECT_EQ(ClustersOf(places, 60, std::nullopt).unit, ExampleUnit::kExample) << "nothing shared";
}

}  // namespace
}  // namespace concur::analysis
