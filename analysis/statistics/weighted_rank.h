// SPDX-License-Identifier: Apache-2.0
// Agreement at the top of two rankings: Kendall's tau with hyperbolic weights, and the overlap of
// the k best. Higher values are better.
//
// Thread-safe (stateless); each caller brings its own scratch. Scores are in any unit, results are
// plain numbers. Formulas and sources: docs/statistics.md.
#ifndef CONCUR_ANALYSIS_STATISTICS_WEIGHTED_RANK_H_
#define CONCUR_ANALYSIS_STATISTICS_WEIGHTED_RANK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "analysis/statistics/coefficient.h"

namespace concur::analysis {

// Memory kept between calls.
struct RankScratch {
  std::vector<uint32_t> order;
  std::vector<uint32_t> merged;
  std::vector<double> weights;
  std::vector<double> members_x;
  std::vector<double> members_y;
};

// Vigna's weighted tau (WWW 2015) with additive hyperbolic weights, as SciPy's `weightedtau` has
// it: an exchange of the values at ranks r and s (0: the best) weighs 1/(r+1) + 1/(s+1); the result
// is the mean over ranking by x (ties of x by y) and by y (ties of y by x), in [-1, 1]. Ties
// correct the denominator as in tau-b. O(n log n). There is no p-value: its null distribution is
// not known.
// REQUIRES, for both: x.size() == y.size(), all values finite. Undefined as tau-b is.
Correlation WeightedKendall(absl::Span<const double> x, absl::Span<const double> y);

// The share of the `top` best of x that are among the `top` best of y, in [0, 1]. Approaches tied
// at the last place share the places that are left: each is a member by places left / number tied,
// and two memberships overlap by the lesser of them, so that a list always overlaps itself wholly.
// Undefined with no more than `top` values (all of them are on top), and for constants. There is no
// p-value. REQUIRES: top >= 1.
Correlation TopKOverlap(absl::Span<const double> x, absl::Span<const double> y, size_t top);

// The overlap from its parts: how much of each value is among the `top` best of its list, and what
// two lists have in common.
std::vector<double> TopMembers(absl::Span<const double> values, size_t top);
double SharedTop(absl::Span<const double> members_x, absl::Span<const double> members_y,
                 size_t top);

// The same values for lists in which value i stands counts[i] times, a whole number above 0; NaN
// where undefined.
double WeightedKendallValue(absl::Span<const double> x, absl::Span<const double> y,
                            absl::Span<const double> counts, RankScratch& scratch);
double TopKValue(absl::Span<const double> x, absl::Span<const double> y,
                 absl::Span<const double> counts, size_t top, RankScratch& scratch);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_STATISTICS_WEIGHTED_RANK_H_
