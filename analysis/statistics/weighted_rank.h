// SPDX-License-Identifier: Apache-2.0
// Agreement at the top of two rankings: Kendall's tau with hyperbolic weights, the overlap of the k
// best, and rank-biased overlap. Higher values are better.
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
// REQUIRES, for all three: x.size() == y.size(), all values finite. Undefined as tau-b is.
Correlation WeightedKendall(absl::Span<const double> x, absl::Span<const double> y);

// The share of the `top` best of x that are among the `top` best of y, in [0, 1]. Approaches tied
// at the last place share the places that are left: each is a member by places left / number tied,
// and two memberships overlap by the lesser of them, so that a list always overlaps itself wholly.
// Undefined with no more than `top` values (all of them are on top), and for constants. There is no
// p-value. REQUIRES: top >= 1.
Correlation TopKOverlap(absl::Span<const double> x, absl::Span<const double> y, size_t top);

// Rank-biased overlap, extrapolated (RBO_EXT: Webber, Moffat and Zobel, ACM Transactions on
// Information Systems 2010), in [0, 1]: p^n + (1 - p) / p times the sum over depths d = 1 … n of
// A_d p^d. A_d = 2 |S_d and T_d| / (|S_d| + |T_d|) is the agreement of the lists' first d; tied
// values all stand at the first of their ranks, as the authors propose, so that S_d may hold more
// than d of them. Unrelated lists without ties have (1 - p^n) / (n (1 - p)) on average. Undefined
// as tau-b is. There is no p-value.
inline constexpr double kRboPersistence = 0.9;  // p: the first ten weigh 86 %
Correlation RankBiasedOverlap(absl::Span<const double> x, absl::Span<const double> y);

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
double RankBiasedOverlapValue(absl::Span<const double> x, absl::Span<const double> y,
                              absl::Span<const double> counts, RankScratch& scratch);
// By ranks from 1 for the least value, equal ones of what is tied, any of them left out.
double RankBiasedOverlapOfRanks(absl::Span<const double> x, absl::Span<const double> y,
                                absl::Span<const double> counts, RankScratch& scratch);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_STATISTICS_WEIGHTED_RANK_H_
