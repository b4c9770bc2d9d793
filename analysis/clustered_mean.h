// SPDX-License-Identifier: Apache-2.0
// The interval of a mean whose values come in clusters, such as questions on one document.
//
// Thread-safe (stateless).
#ifndef CONCUR_ANALYSIS_CLUSTERED_MEAN_H_
#define CONCUR_ANALYSIS_CLUSTERED_MEAN_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "analysis/example_runs.h"
#include "analysis/statistics/intervals.h"

namespace concur::analysis {

struct ClusteredMean {
  double mean = 0;
  double standard_error = 0;  // CR2
  double degrees = 0;         // degrees of freedom of Student's t
  int64_t clusters = 0;
};

// The mean with its cluster-robust standard error CR2 and degrees of freedom (Bell and McCaffrey,
// Survey Methodology 2002; Pustejovsky and Tipton, JBES 2018), which for a mean have closed forms:
// with n_g of the n values and the sum of deviations e_g in cluster g,
//   se² = sum e_g² / (1 - n_g / n) / n².
// For clusters of equal size the degrees are their number less one. InvalidArgument with fewer than
// two clusters. REQUIRES: as many values as `clusters` has examples, all finite.
absl::StatusOr<ClusteredMean> ComputeClusteredMean(absl::Span<const double> values,
                                                   const ExampleClusters& clusters);

// mean ± t se, in the values' unit. InvalidArgument also for a level not in (0, 1).
absl::StatusOr<Interval> ClusteredMeanInterval(absl::Span<const double> values,
                                               const ExampleClusters& clusters, double level);

// The interval of a mean of values from 0 to 1, such as exact match and F1 of questions; it lies
// in [0, 1]. Clopper and Pearson's where no example shares its cluster and each value is 0 or 1;
// the same of as many examples as there are clusters where all values are 0, or all 1, which
// leaves no spread to go by; else ClusteredMeanInterval's, cut off at 0 and 1. InvalidArgument as
// that, where it is needed. REQUIRES: values in [0, 1], at least one.
absl::StatusOr<Interval> ShareInterval(absl::Span<const double> values,
                                       const ExampleClusters& clusters, double level);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_CLUSTERED_MEAN_H_
