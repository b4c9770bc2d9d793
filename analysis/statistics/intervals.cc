// SPDX-License-Identifier: Apache-2.0
#include "analysis/statistics/intervals.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/status_macros.h"

namespace concur::analysis {
namespace {

// Arguments are checked before Boost sees them, so that its errors need no exceptions.
using Policy = boost::math::policies::policy<
    boost::math::policies::domain_error<boost::math::policies::ignore_error>,
    boost::math::policies::pole_error<boost::math::policies::ignore_error>,
    boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
    boost::math::policies::evaluation_error<boost::math::policies::ignore_error>>;

absl::Status CheckLevel(double level) {
  if (!(level > 0 && level < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("level: expected a number strictly between 0 and 1, got ", level));
  }
  return absl::OkStatus();
}

}  // namespace

std::string FewApproachesWarning(int64_t approaches) {
  return approaches < kIntervalApproachesMin
             ? absl::StrCat("fewer than ", kIntervalApproachesMin,
                            " approaches: may be too short, see docs/statistics.md")
             : "";
}

Moments ComputeMoments(absl::Span<const double> unsorted) {
  absl::InlinedVector<double, 16> values(unsorted.begin(), unsorted.end());
  std::sort(values.begin(), values.end());
  Moments moments;
  moments.n = static_cast<int64_t>(values.size());
  if (values.empty()) {
    return moments;
  }
  double sum = 0;
  for (const double value : values) {
    sum += value;
  }
  moments.mean = sum / static_cast<double>(values.size());
  if (values.front() == values.back()) {
    moments.mean = values[0];  // rounding of the sum must not invent a spread
    return moments;
  }
  double squares = 0;
  double rest = 0;  // amount that rounding took from the mean; corrects the squares to second order
  for (const double value : values) {
    const double deviation = value - moments.mean;
    squares += deviation * deviation;
    rest += deviation;
  }
  const auto n = static_cast<double>(values.size());
  squares = std::max(0.0, squares - rest * rest / n);
  moments.standard_deviation = std::sqrt(squares / (n - 1));
  return moments;
}

absl::StatusOr<Interval> ClopperPearson(int64_t successes, int64_t n, double level) {
  CONCUR_RETURN_IF_ERROR(CheckLevel(level));
  if (n <= 0 || successes < 0 || successes > n) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected 0 <= successes <= n and n > 0, got successes=", successes, ", n=", n));
  }
  const double tail = (1 - level) / 2;
  const auto k = static_cast<double>(successes);
  const auto rest = static_cast<double>(n - successes);
  Interval interval{0, 1};
  if (successes > 0) {
    interval.low = boost::math::ibeta_inv(k, rest + 1, tail, Policy());
  }
  if (successes < n) {
    interval.high = boost::math::ibetac_inv(k + 1, rest, tail, Policy());
  }
  return interval;
}

absl::StatusOr<Interval> MeanInterval(const Moments& moments, double level) {
  CONCUR_RETURN_IF_ERROR(CheckLevel(level));
  if (moments.n < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("an interval of a mean needs at least 2 values, got ", moments.n));
  }
  if (!std::isfinite(moments.mean) || !std::isfinite(moments.standard_deviation)) {
    return absl::InvalidArgumentError("an interval of a mean needs finite values");
  }
  const boost::math::students_t_distribution<double, Policy> t(static_cast<double>(moments.n - 1));
  const double half = boost::math::quantile(boost::math::complement(t, (1 - level) / 2)) *
                      moments.standard_deviation / std::sqrt(static_cast<double>(moments.n));
  return Interval{moments.mean - half, moments.mean + half};
}

absl::StatusOr<Interval> MeanInterval(absl::Span<const double> values, double level) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat("value ", i + 1, ": expected a finite number, got ", values[i]));
    }
  }
  return MeanInterval(ComputeMoments(values), level);
}

}  // namespace concur::analysis
