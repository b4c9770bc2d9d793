// SPDX-License-Identifier: Apache-2.0
// P-values of many tests together: the chance of any false finding (Holm, Scandinavian Journal of
// Statistics 1979) and the expected share of false ones among the findings (Benjamini and Hochberg,
// JRSS B 1995). And intervals of what was chosen by its value.
//
// Thread-safe (stateless).
#ifndef CONCUR_ANALYSIS_STATISTICS_MULTIPLICITY_H_
#define CONCUR_ANALYSIS_STATISTICS_MULTIPLICITY_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "analysis/statistics/intervals.h"

namespace concur::analysis {

// Adjusted p-values in the order given; NaN (no test) stays and does not count. The least p-value
// that Holm rejects at a level is the least whose adjusted value is at most that level.
std::vector<double> HolmAdjusted(absl::Span<const double> p_values);
// The same for the false discovery rate; holds for independent and for positively dependent tests.
std::vector<double> BenjaminiHochbergAdjusted(absl::Span<const double> p_values);

// The interval of the largest or the smallest of `count` coefficients, made from its own one of
// `level`: of such a choice of two, the level 1 - 2 (1 - level) / count keeps the false coverage
// rate at 1 - level (Benjamini and Yekutieli, JASA 2005). On the scale of Fisher's z, the ends move
// away from the value as normal quantiles do; an end or a value of 1 in size stays.
// REQUIRES: interval.low <= value <= interval.high but for rounding, 0 < level < 1, count > 0.
Interval IntervalOfExtreme(const Interval& interval, double value, double level, size_t count);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_STATISTICS_MULTIPLICITY_H_
