// SPDX-License-Identifier: Apache-2.0
// P-values of many tests together: the chance of any false finding (Holm, Scandinavian Journal of
// Statistics 1979) and the expected share of false ones among the findings (Benjamini and Hochberg,
// JRSS B 1995).
//
// Thread-safe (stateless).
#ifndef CONCUR_ANALYSIS_MULTIPLICITY_H_
#define CONCUR_ANALYSIS_MULTIPLICITY_H_

#include <vector>

#include "absl/types/span.h"

namespace concur::analysis {

// Adjusted p-values in the order given; NaN (no test) stays and does not count. The least p-value
// that Holm rejects at a level is the least whose adjusted value is at most that level.
std::vector<double> HolmAdjusted(absl::Span<const double> p_values);
// The same for the false discovery rate; holds for independent and for positively dependent tests.
std::vector<double> BenjaminiHochbergAdjusted(absl::Span<const double> p_values);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_MULTIPLICITY_H_
