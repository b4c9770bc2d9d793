// SPDX-License-Identifier: Apache-2.0
#include "analysis/statistics/fisher.h"

#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "analysis/statistics/correlation.h"
#include "analysis/statistics/intervals.h"
#include "base/status_macros.h"

namespace concur::analysis {

absl::Status ValidateFisher(Coefficient coefficient, double level) {
  if (coefficient == Coefficient::kWeightedKendall || LeastValue(coefficient) == 0) {
    return absl::InvalidArgumentError(absl::StrCat("interval-method: fisher has no formula for ",
                                                   CoefficientName(coefficient),
                                                   "; expected bca or percentile"));
  }
  if (!(level > 0 && level < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("interval: expected a number strictly between 0 and 1, got ", level));
  }
  return absl::OkStatus();
}

std::string FisherWarning(Coefficient coefficient, double value) {
  if (coefficient != Coefficient::kKendall) {
    return "";
  }
  constexpr double kShortEvenForNormalScores = 0.65;
  return std::abs(value) > kShortEvenForNormalScores
             ? "tau beyond 0.65: Fisher's z is too short there, see docs/statistics.md"
             : "Fisher's z of tau holds 90 to 93 % where scores are not normal or have ties, see "
               "docs/statistics.md";
}

absl::StatusOr<Interval> FisherInterval(Coefficient coefficient, double value, int64_t n,
                                        double level) {
  CONCUR_RETURN_IF_ERROR(ValidateFisher(coefficient, level));
  const bool kendall = coefficient == Coefficient::kKendall;
  const auto degrees = static_cast<double>(n - (kendall ? 4 : 3));
  if (degrees <= 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("fewer than ", kendall ? 5 : 4, " approaches: no analytic interval"));
  }
  if (std::abs(value) >= 1) {
    return absl::FailedPreconditionError("a perfect value: no analytic interval");
  }
  constexpr double kKendallVariance = 0.437;
  const double variance = (kendall                                 ? kKendallVariance
                           : coefficient == Coefficient::kSpearman ? 1 + value * value / 2
                                                                   : 1) /
                          degrees;
  const double half = boost::math::quantile(boost::math::complement(
                          boost::math::normal_distribution<double>(), (1 - level) / 2)) *
                      std::sqrt(variance);
  const double z = std::atanh(value);
  return Interval{std::tanh(z - half), std::tanh(z + half)};
}

}  // namespace concur::analysis
