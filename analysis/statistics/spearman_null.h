// SPDX-License-Identifier: Apache-2.0
// P-values of Spearman's rho: over all orders of few values, by Student's t of more.
//
// Thread-compatible: it keeps null distributions for the next call.
#ifndef CONCUR_ANALYSIS_STATISTICS_SPEARMAN_NULL_H_
#define CONCUR_ANALYSIS_STATISTICS_SPEARMAN_NULL_H_

#include <cstddef>
#include <map>
#include <vector>

#include "absl/types/span.h"

namespace concur::analysis {

class SpearmanNull {
 public:
  // Up to so many values, ties included, the p-value is exact (Kendall, Rank Correlation Methods,
  // 1970): the share of all n! ways to pair the ranks whose |rho| is at least the observed one.
  // Above, t = rho sqrt((n - 2) / (1 - rho²)) with n - 2 degrees of freedom; a perfect order, for
  // which t has no value, has 2 / n!.
  static constexpr size_t kSizeMax = 9;

  // Two-sided. `ranks_x` and `ranks_y` are average ranks from 1, `rho` their coefficient (used
  // above kSizeMax). NaN for n = 2. REQUIRES: as many x as y, at least two, neither constant.
  double PValue(absl::Span<const double> ranks_x, absl::Span<const double> ranks_y, double rho);

 private:
  // By sorted ranks, of x then y (doubled, less n + 1): at [s], the share of pairings whose sum of
  // products is s or more in size.
  std::map<std::vector<int>, std::vector<double>> tails_;
};

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_STATISTICS_SPEARMAN_NULL_H_
