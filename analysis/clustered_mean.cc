// SPDX-License-Identifier: Apache-2.0
#include "analysis/clustered_mean.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "analysis/example_runs.h"
#include "analysis/statistics/intervals.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace concur::analysis {

absl::StatusOr<ClusteredMean> ComputeClusteredMean(absl::Span<const double> values,
                                                   const ExampleClusters& clusters) {
  CONCUR_CHECK(clusters.of.empty() || clusters.of.size() == values.size());
  const size_t count = clusters.of.empty() ? values.size() : clusters.count;
  if (count < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("an interval of a mean needs at least 2 clusters, got ", count));
  }
  const auto n = static_cast<double>(values.size());
  ClusteredMean result;
  result.mean = ComputeMoments(values).mean;
  result.clusters = static_cast<int64_t>(count);
  std::vector<double> sizes(count, 0.0);
  std::vector<double> sums(count, 0.0);
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t cluster = clusters.of.empty() ? i : clusters.of[i];
    ++sizes[cluster];
    sums[cluster] += values[i] - result.mean;
  }
  double squares = 0;
  double sizes_squared = 0;    // sum n_g²
  double adjusted = 0;         // sum c_g n_g², c_g = 1 / (1 - n_g / n)
  double adjusted_fourth = 0;  // sum c_g² n_g⁴
  for (size_t g = 0; g < count; ++g) {
    const double correction = 1 / (1 - sizes[g] / n);
    const double size_squared = sizes[g] * sizes[g];
    squares += correction * sums[g] * sums[g];
    sizes_squared += size_squared;
    adjusted += correction * size_squared;
    adjusted_fourth += correction * correction * size_squared * size_squared;
  }
  result.standard_error = std::sqrt(squares) / n;
  result.degrees = n * n / (sizes_squared + (adjusted * adjusted - adjusted_fourth) / (n * n));
  return result;
}

absl::StatusOr<Interval> ClusteredMeanInterval(absl::Span<const double> values,
                                               const ExampleClusters& clusters, double level) {
  if (!(level > 0 && level < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("level: expected a number strictly between 0 and 1, got ", level));
  }
  CONCUR_ASSIGN_OR_RETURN(const ClusteredMean mean, ComputeClusteredMean(values, clusters));
  const boost::math::students_t_distribution<double> t(mean.degrees);
  const double half =
      boost::math::quantile(boost::math::complement(t, (1 - level) / 2)) * mean.standard_error;
  return Interval{mean.mean - half, mean.mean + half};
}

absl::StatusOr<Interval> ShareInterval(absl::Span<const double> values,
                                       const ExampleClusters& clusters, double level) {
  const auto ones = static_cast<size_t>(std::count(values.begin(), values.end(), 1.0));
  const auto zeros = static_cast<size_t>(std::count(values.begin(), values.end(), 0.0));
  if (clusters.of.empty() && ones + zeros == values.size()) {
    return ClopperPearson(static_cast<int64_t>(ones), static_cast<int64_t>(values.size()), level);
  }
  if (ones == values.size() || zeros == values.size()) {
    const auto count = static_cast<int64_t>(clusters.count);
    return ClopperPearson(ones > 0 ? count : 0, count, level);
  }
  CONCUR_ASSIGN_OR_RETURN(const Interval interval, ClusteredMeanInterval(values, clusters, level));
  return Interval{std::max(0.0, interval.low), std::min(1.0, interval.high)};
}

}  // namespace concur::analysis
