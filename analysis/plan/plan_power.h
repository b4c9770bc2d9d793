// SPDX-License-Identifier: Apache-2.0
// Numbers of approaches, seeds and test examples that it takes to know a coefficient to ± W.
//
// Thread-safe (values, stateless). Formulas and sources: docs/planning.md.
#ifndef CONCUR_ANALYSIS_PLAN_PLAN_POWER_H_
#define CONCUR_ANALYSIS_PLAN_PLAN_POWER_H_

#include <cstdint>
#include <map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analysis/statistics/coefficient.h"

namespace concur::analysis {

struct PowerOptions {
  double within = 0.1;
  double level = 0.95;
  Coefficient coefficient = Coefficient::kKendall;  // one that has plans
  double value = 0;                                 // value of the coefficient that is expected
  double spread = 10;      // standard deviation of the approaches' true scores, in points
  double seed_spread = 1;  // standard deviation of one approach's scores over seeds, in points
  double accuracy = 50;    // a typical approach's, in percent: each example is right or wrong
};

// InvalidArgument unless 0 < within < 1 and 0 < level < 1.
absl::Status CheckPrecision(double within, double level);
// The standard normal quantile that leaves (1 - level) / 2 above it.
double NormalQuantile(double level);
// Half the widths of the intervals that a matrix gives a coefficient of normal scores, a sample of
// more: means over simulated studies, of which one in perfect order, whose interval has no width,
// counts as not known at all. Thread-compatible: it keeps what it has simulated.
// REQUIRES: -1 < value < 1, 0 < level < 1.
class HalfWidths {
 public:
  HalfWidths(Coefficient coefficient, double value, double level)
      : coefficient_(coefficient), value_(value), level_(level) {}

  double Of(int64_t approaches);  // REQUIRES: approaches >= 5

 private:
  Coefficient coefficient_;
  double value_;
  double level_;
  std::map<int64_t, double> simulated_;
};

// Distance of a coefficient between normal scores from the one that is seen when this share of the
// variance of either list is noise. REQUIRES: 0 <= noise_share < 1.
double ShiftByNoise(Coefficient coefficient, double value, double noise_share);

// Seeds or examples: the least count that is enough, and how far their noise then shifts.
struct NoiseNeed {
  int64_t count = 0;
  double shift = 0;
};

struct PowerNeeds {
  int64_t approaches = 0;  // the least count with an interval that is narrow enough
  // Enough when their noise alone shifts a coefficient of `shifted` by at most a quarter of
  // `within`. Where 0 is expected, noise shifts nothing: `shifted` is then 0.5.
  double shifted = 0;
  NoiseNeed seeds;
  NoiseNeed examples;
};

// InvalidArgument for options out of range.
absl::StatusOr<PowerNeeds> ComputePower(const PowerOptions& options);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_PLAN_PLAN_POWER_H_
