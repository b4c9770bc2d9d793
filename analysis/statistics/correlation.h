// SPDX-License-Identifier: Apache-2.0
// Correlation coefficients of two lists of scores, defined on ties, constants and small samples.
//
// Thread-safe (stateless). Inputs are finite; results are the same bits on every machine that has
// IEEE doubles, except for p-values, which go through the C library.
// Formulas and sources: docs/statistics.md.
#ifndef CONCUR_ANALYSIS_STATISTICS_CORRELATION_H_
#define CONCUR_ANALYSIS_STATISTICS_CORRELATION_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "analysis/statistics/coefficient.h"

namespace concur::analysis {

// Kendall's tau-b in O(n log n) (Knight, 1966). The p-value is exact without ties when n <= 33 or
// at most one pair is discordant (or concordant), else from the normal approximation with
// correction for ties (Kendall, 1970).
// REQUIRES, for all three: x.size() == y.size(), all values finite.
Correlation KendallTauB(absl::Span<const double> x, absl::Span<const double> y);

// True when a score exceeds another one by more than `within`, 0 or more, beyond that rounding: for
// 0 exactly, as tied scores are made equal where tables are read.
inline bool ExceedsBy(double score, double other, double within) {
  constexpr double kRounding = 0x1p-34;
  return within > 0
             ? score - other > within + kRounding * std::fmax(std::fabs(score), std::fabs(other))
             : score > other;
}

// Tau-b in which pairs tie that differ by at most `within` (ExceedsBy), 0 or more, on a list: the
// general coefficient of correlation of Daniels (Biometrika 1944) with the signs of differences
// beyond it. O(n²) above 0. Constant is a list of which all pairs tie. There is no p-value.
Correlation KendallTauBWithin(absl::Span<const double> x, absl::Span<const double> y,
                              double within_x, double within_y);

// Pearson's r. The p-value is exact under normality (a beta distribution); 1 when n = 2.
Correlation PearsonR(absl::Span<const double> x, absl::Span<const double> y);

// Spearman's rho: Pearson's r of average ranks. The p-value is that of SpearmanNull.
Correlation SpearmanRho(absl::Span<const double> x, absl::Span<const double> y);

// Null distributions of Kendall's tau without ties, kept for the next call with the same n.
// Thread-compatible.
class KendallNull {
 public:
  // The two-sided p-value of `discordant` pairs among n values. REQUIRES: 2 <= n <= kSizeMax, or
  // at most one pair is discordant, or at most one is concordant.
  double PValue(int64_t n, int64_t discordant);
  static constexpr int64_t kSizeMax = 33;

 private:
  std::vector<std::vector<double>> below_;  // by n: 2 P(discordant pairs <= count)
};

// Sums over groups of equal values, whose sizes are t.
struct Ties {
  int64_t pairs = 0;   // t (t - 1) / 2
  double triples = 0;  // t (t - 1) (t - 2)
  double spread = 0;   // t (t - 1) (2 t + 5)

  void Add(int64_t t);
};

// Tau-b and its p-value from counts of pairs. `difference` is concordant less discordant pairs.
// REQUIRES: n >= 2, neither list constant.
Correlation KendallFromCounts(int64_t n, int64_t difference, const Ties& x, const Ties& y,
                              bool with_p_value, KendallNull& null);

// Pearson's r from sums of squares and products of deviations, in whatever scale.
Correlation PearsonFromSums(int64_t n, double xx, double yy, double xy);
// Its p-value.
double PearsonPValue(int64_t n, double r);

// values - reference, all times one power of two where they would overflow or vanish otherwise.
std::vector<double> ScaledDifferences(absl::Span<const double> values, double reference);

// Deviations from the mean, scaled to a largest absolute value of 1 so that squares neither
// overflow nor vanish; zeros when all values are equal. Their error is a few units in the last
// place of the spread, however large the mean is.
std::vector<double> ScaledDeviations(absl::Span<const double> values);

// Any of the coefficients; kWeightedKendall, kTopK and kRbo are in weighted_rank.h. `top` matters
// to kTopK only.
Correlation Correlate(Coefficient coefficient, absl::Span<const double> x,
                      absl::Span<const double> y, size_t top = kTopDefault);

// Ranks from 1; ties share the average of their ranks.
std::vector<double> AverageRanks(absl::Span<const double> values);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_STATISTICS_CORRELATION_H_
