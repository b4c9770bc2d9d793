// SPDX-License-Identifier: Apache-2.0
// Analytic intervals of a correlation coefficient by Fisher's z.
//
// Thread-safe (stateless). Formulas, sources and measured coverage: docs/statistics.md.
#ifndef CONCUR_ANALYSIS_STATISTICS_FISHER_H_
#define CONCUR_ANALYSIS_STATISTICS_FISHER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analysis/statistics/correlation.h"
#include "analysis/statistics/intervals.h"

namespace concur::analysis {

// Why a nominal 95 % interval deserves less trust; "" where it held the truth in 94 % of
// simulations or more.
std::string FisherWarning(Coefficient coefficient, double value);

// InvalidArgument when the coefficient has no such interval (weighted Kendall, top-k, rbo) or
// `level` is not in (0, 1).
absl::Status ValidateFisher(Coefficient coefficient, double level);

// tanh(atanh(value) ± z s), with s² = 1/(n - 3) for Pearson (Fisher, 1921; exact order under
// bivariate normality), (1 + rho²/2)/(n - 3) for Spearman (Bonett and Wright, 2000) and
// 0.437/(n - 4) for Kendall (Fieller, Hartley and Pearson, 1957). The last two hold without ties.
// Errors of ValidateFisher; FailedPrecondition, with the reason, when n is too small, or the value
// is 1 or -1, where the interval would have no width.
// REQUIRES: -1 <= value <= 1.
absl::StatusOr<Interval> FisherInterval(Coefficient coefficient, double value, int64_t n,
                                        double level);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_STATISTICS_FISHER_H_
