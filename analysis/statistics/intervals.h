// SPDX-License-Identifier: Apache-2.0
// Confidence intervals of one score, in closed form.
//
// Thread-safe (stateless). `level` is the confidence, strictly between 0 and 1 (0.95: 95 %).
// Formulas and sources: docs/statistics.md.
#ifndef CONCUR_ANALYSIS_STATISTICS_INTERVALS_H_
#define CONCUR_ANALYSIS_STATISTICS_INTERVALS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace concur::analysis {

// Both ends belong to the interval; low <= high.
struct Interval {
  double low = 0;
  double high = 0;
};

// "†" for an interval without width, such as [1, 1] of benchmarks that rank all approaches alike:
// resampling cannot show its uncertainty, and whoever sees it must. Else "".
inline std::string DaggerOf(const std::optional<Interval>& interval) {
  return interval.has_value() && interval->low == interval->high ? "†" : "";
}

// Below so many approaches, intervals over approaches are too short (docs/coverage.md).
inline constexpr int64_t kIntervalApproachesMin = 5;
// Says so; "" for enough of them.
std::string FewApproachesWarning(int64_t approaches);

// Mean and sample standard deviation (divisor n - 1), summed in ascending order: the same values in
// any order have the same mean to the last bit.
struct Moments {
  int64_t n = 0;
  double mean = 0;
  double standard_deviation = 0;  // 0 when n < 2
};
Moments ComputeMoments(absl::Span<const double> values);

// The exact binomial interval of a share (Clopper and Pearson, 1934), as fractions in [0, 1].
// InvalidArgument unless 0 <= successes <= n, n > 0 and 0 < level < 1.
absl::StatusOr<Interval> ClopperPearson(int64_t successes, int64_t n, double level);

// Student's t interval of the mean of `values`, in their unit: mean ± t(n - 1) * sd / sqrt(n).
// Equal values give an interval of width zero. InvalidArgument when there are fewer than two
// values, one of them is not finite, or level is out of range.
absl::StatusOr<Interval> MeanInterval(absl::Span<const double> values, double level);

// Student's t interval from moments that were computed elsewhere. Same errors.
absl::StatusOr<Interval> MeanInterval(const Moments& moments, double level);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_STATISTICS_INTERVALS_H_
