// SPDX-License-Identifier: Apache-2.0
// How many approaches, seeds and test examples it takes to know a coefficient to ± W.
//
// Thread-safe (values, stateless). Formulas and sources: docs/planning.md.
#ifndef CONCUR_ANALYSIS_PLAN_POWER_H_
#define CONCUR_ANALYSIS_PLAN_POWER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analysis/coefficient.h"
#include "analysis/table.h"

namespace concur::analysis {

struct PowerOptions {
  double within = 0.1;
  double level = 0.95;
  Coefficient coefficient = Coefficient::kKendall;  // one that has plans
  double value = 0;                                 // of the coefficient that is expected
  double spread = 10;      // standard deviation of the approaches' true scores, in points
  double seed_spread = 1;  // of one approach's scores over seeds, in points
  double accuracy = 50;    // of a typical approach, in percent: each example is right or wrong
};

// InvalidArgument unless 0 < within < 1 and 0 < level < 1.
absl::Status CheckPrecision(double within, double level);
// The standard normal quantile that leaves (1 - level) / 2 above it.
double NormalQuantile(double level);
// Half the width of the interval of a coefficient of n approaches without ties, a sample of more.
// REQUIRES: n >= 2, -1 < value < 1, 0 < level < 1.
double HalfWidthOf(Coefficient coefficient, double value, int64_t n, double level);
// How far a coefficient between normal scores lies from the one that is seen when this share of the
// variance of either list is noise. REQUIRES: 0 <= noise_share < 1.
double ShiftByNoise(Coefficient coefficient, double value, double noise_share);

// A row for each number of approaches, then how many approaches, seeds and examples are needed.
// Seeds and examples are enough when their noise shifts tau by at most a quarter of `within`.
// InvalidArgument for options out of range.
absl::StatusOr<Table> PowerTable(const PowerOptions& options);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_PLAN_POWER_H_
