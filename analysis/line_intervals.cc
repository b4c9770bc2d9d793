// SPDX-License-Identifier: Apache-2.0
#include "analysis/line_intervals.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/correlation.h"
#include "analysis/fisher.h"
#include "analysis/intervals.h"

namespace concur::analysis {
namespace {

constexpr double kNoLine = std::numeric_limits<double>::quiet_NaN();

double Student(double degrees, double level) {
  return boost::math::quantile(boost::math::complement(
      boost::math::students_t_distribution<double>(degrees), (1 - level) / 2));
}

// The share of the variance of x that is not noise; NaN without spread.
double ReliabilityOf(const std::vector<double>& x, const std::vector<double>& noise) {
  const Moments moments = ComputeMoments(x);
  const double mean_noise =
      std::accumulate(noise.begin(), noise.end(), 0.0) / static_cast<double>(noise.size());
  return 1 - mean_noise / (moments.standard_deviation * moments.standard_deviation);
}

template <typename T>
std::vector<T> Without(std::vector<T> values, size_t index) {
  values.erase(values.begin() + static_cast<std::ptrdiff_t>(index));
  return values;
}

}  // namespace

Line FitLine(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  const Moments mx = ComputeMoments(x);
  const Moments my = ComputeMoments(y);
  Line line{kNoLine, kNoLine, kNoLine};
  if (x.size() < 2 || mx.standard_deviation == 0) {
    return line;
  }
  double xx = 0;
  double xy = 0;
  double yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mx.mean) * (x[i] - mx.mean);
    xy += (x[i] - mx.mean) * (y[i] - my.mean);
    yy += (y[i] - my.mean) * (y[i] - my.mean);
  }
  if (n < 2 || xx == 0) {
    return line;
  }
  line.slope = xy / xx;
  line.intercept = my.mean - line.slope * mx.mean;
  if (my.standard_deviation > 0 && yy > 0) {
    line.r_squared = std::min(1.0, (xy / xx) * (xy / yy));
  }
  return line;
}

LineIntervals::LineIntervals(const std::vector<double>& x, const std::vector<double>& y,
                             double level)
    : line_(FitLine(x, y)) {
  const size_t n = x.size();
  if (n < 3 || !std::isfinite(line_.slope)) {
    return;
  }
  defined_ = true;
  t_ = Student(static_cast<double>(n - 2), level);
  const Moments moments = ComputeMoments(x);
  mean_x_ = moments.mean;
  const auto count = static_cast<double>(n);
  const double xx = (count - 1) * moments.standard_deviation * moments.standard_deviation;
  constexpr double kAlone = 1 - 1e-9;
  double squares = 0;
  bool alone = false;
  for (size_t i = 0; i < n; ++i) {
    const double deviation = x[i] - mean_x_;
    const double leverage = 1 / count + deviation * deviation / xx;
    const double residual = y[i] - line_.intercept - line_.slope * x[i];
    squares += residual * residual;
    if (leverage > kAlone) {
      alone = true;
      continue;
    }
    const double weight = residual * residual / ((1 - leverage) * (1 - leverage));
    middle_variance_ += weight / (count * count);
    slope_variance_ += weight * deviation * deviation / (xx * xx);
    covariance_ += weight * deviation / (count * xx);
  }
  if (alone) {
    const double variance = squares / (count - 2);
    middle_variance_ = variance / count;
    slope_variance_ = variance / xx;
    covariance_ = 0;
  }
  slope_error_ = std::sqrt(slope_variance_);
}

std::optional<Interval> LineIntervals::Around(double value, double variance) const {
  if (!defined_) {
    return std::nullopt;
  }
  const double half = t_ * std::sqrt(std::max(0.0, variance));
  return Interval{value - half, value + half};
}

std::optional<Interval> LineIntervals::Slope() const {
  return Around(line_.slope, slope_variance_);
}

std::optional<Interval> LineIntervals::Intercept() const { return At(0); }

std::optional<Interval> LineIntervals::At(double x) const {
  const double distance = x - mean_x_;
  return Around(line_.intercept + line_.slope * x, middle_variance_ + 2 * distance * covariance_ +
                                                       distance * distance * slope_variance_);
}

std::optional<Interval> RSquaredInterval(double r_squared, size_t n, double level) {
  const absl::StatusOr<Interval> r =
      FisherInterval(Coefficient::kPearson, std::sqrt(r_squared), static_cast<int64_t>(n), level);
  if (!r.ok()) {
    return std::nullopt;
  }
  const double far = std::max(std::abs(r->low), std::abs(r->high));
  return Interval{r->low > 0 ? r->low * r->low : 0, far * far};
}

std::optional<CorrectedLine> CorrectForNoise(const std::vector<double>& x,
                                             const std::vector<double>& y,
                                             const std::vector<double>& noise, double level) {
  constexpr double kReliabilityMin = 0.5;
  const Line line = FitLine(x, y);
  if (x.size() < 2 || !std::isfinite(line.slope)) {
    return std::nullopt;
  }
  CorrectedLine corrected;
  corrected.reliability = ReliabilityOf(x, noise);
  if (!(corrected.reliability >= kReliabilityMin)) {
    return std::nullopt;
  }
  corrected.slope = line.slope / corrected.reliability;
  corrected.intercept = ComputeMoments(y).mean - corrected.slope * ComputeMoments(x).mean;
  std::vector<double> slopes;
  for (size_t i = 0; i < x.size() && x.size() > 3; ++i) {
    const std::vector<double> rest = Without(x, i);
    const double reliability = ReliabilityOf(rest, Without(noise, i));
    slopes.push_back(FitLine(rest, Without(y, i)).slope / reliability);
    if (!(reliability >= kReliabilityMin)) {
      return corrected;
    }
  }
  if (!slopes.empty()) {
    const auto n = static_cast<double>(slopes.size());
    const double error = ComputeMoments(slopes).standard_deviation * (n - 1) / std::sqrt(n);
    const double half = Student(n - 2, level) * error;
    corrected.slope_interval = Interval{corrected.slope - half, corrected.slope + half};
  }
  return corrected;
}

}  // namespace concur::analysis
