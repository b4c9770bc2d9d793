// SPDX-License-Identifier: Apache-2.0
#include "analysis/statistics/line_intervals.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/statistics/correlation.h"
#include "analysis/statistics/fisher.h"
#include "analysis/statistics/intervals.h"

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

// Points by family, in order of their numbers.
std::vector<std::vector<size_t>> PointsByFamily(const PointFamilies& families, size_t points) {
  std::map<size_t, std::vector<size_t>> members;
  for (size_t i = 0; i < points; ++i) {
    members[families.empty() ? i : families[i]].push_back(i);
  }
  std::vector<std::vector<size_t>> list;
  for (auto& [family, of_family] : members) {
    list.push_back(std::move(of_family));
  }
  return list;
}

std::vector<double> Without(std::vector<double> values, const std::vector<size_t>& points) {
  for (size_t i = points.size(); i > 0; --i) {
    values.erase(values.begin() + static_cast<std::ptrdiff_t>(points[i - 1]));
  }
  return values;
}

// estimate ± t se, se from the values without each family.
Interval JackknifeInterval(double estimate, const std::vector<double>& without, double degrees,
                           double level) {
  const auto n = static_cast<double>(without.size());
  const double error = ComputeMoments(without).standard_deviation * (n - 1) / std::sqrt(n);
  const double half = Student(degrees, level) * error;
  return {estimate - half, estimate + half};
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
                             const PointFamilies& families, double level)
    : line_(FitLine(x, y)), level_(level) {
  const std::vector<std::vector<size_t>> members = PointsByFamily(families, x.size());
  if (members.size() < 3 || !std::isfinite(line_.slope)) {
    return;
  }
  const Moments moments = ComputeMoments(x);
  mean_x_ = moments.mean;
  count_ = static_cast<double>(x.size());
  xx_ = (count_ - 1) * moments.standard_deviation * moments.standard_deviation;
  defined_ = true;
  double squares = 0;
  double sizes = 0;
  for (const std::vector<size_t>& family : members) {
    FamilySums& sums = families_.emplace_back();
    for (const size_t i : family) {
      const double deviation = x[i] - mean_x_;
      const double residual = y[i] - line_.intercept - line_.slope * x[i];
      ++sums.n;
      sums.x += deviation;
      sums.xx += deviation * deviation;
      sums.e += residual;
      sums.xe += residual * deviation;
      squares += residual * residual;
    }
    sizes += sums.n * sums.n;
    constexpr double kAlone = 1e-9;  // share of the spread that the others keep
    const double others = count_ - sums.n;
    if ((xx_ - sums.xx) * others - sums.x * sums.x < kAlone * xx_ * count_) {
      equal_scatter_ = true;
      defined_ = defined_ && members.size() == x.size();
    }
    // e' (I - H)^-1 e of the family: its squared residuals, and what the line took of them.
    scatter_ += LeverageOf(sums);
  }
  effective_ = count_ * count_ / sizes;
  scatter_ = equal_scatter_ ? squares / (count_ - 2) : (squares + scatter_) / count_;
}

// e_g' X_g (X'X - X_g'X_g)^-1 X_g' e_g.
double LineIntervals::LeverageOf(const FamilySums& family) const {
  const double n = count_ - family.n;
  const double x = -family.x;
  const double xx = xx_ - family.xx;
  const double determinant = n * xx - x * x;
  return (xx * family.e * family.e - 2 * x * family.e * family.xe + n * family.xe * family.xe) /
         determinant;
}

LineIntervals::Variance LineIntervals::VarianceOf(double height, double slope) const {
  if (equal_scatter_) {
    return {scatter_ * (height * height / count_ + slope * slope / xx_), count_ - 2};
  }
  // Leaving out a family moves the value by d = v' X_g' e_g, v = (X'X - X_g'X_g)^-1 c. Under equal
  // scatter the d have covariances B, B_gh = (g == h) v_g' X_g'X_g v_g - p_g' (X'X)^-1 p_h,
  // p_g = X_g'X_g v_g; the degrees are tr(B)² / tr(B²).
  double sum = 0;
  double trace = 0;
  double squares = 0;
  double height_height = 0;  // sums of products of p
  double height_slope = 0;
  double slope_slope = 0;
  for (const FamilySums& family : families_) {
    const double n = count_ - family.n;
    const double xx = xx_ - family.xx;
    const double determinant = n * xx - family.x * family.x;
    const double v_height = (xx * height + family.x * slope) / determinant;
    const double v_slope = (family.x * height + n * slope) / determinant;
    const double change = v_height * family.e + v_slope * family.xe;
    const double p_height = family.n * v_height + family.x * v_slope;
    const double p_slope = family.x * v_height + family.xx * v_slope;
    const double own = v_height * p_height + v_slope * p_slope;
    const double shared = p_height * p_height / count_ + p_slope * p_slope / xx_;
    sum += change * change;
    trace += own - shared;
    squares += own * own - 2 * own * shared;
    height_height += p_height * p_height;
    height_slope += p_height * p_slope;
    slope_slope += p_slope * p_slope;
  }
  squares += height_height * height_height / (count_ * count_) +
             2 * height_slope * height_slope / (count_ * xx_) +
             slope_slope * slope_slope / (xx_ * xx_);
  return {sum, trace * trace / squares};
}

std::optional<Interval> LineIntervals::Around(double value, const Variance& variance) const {
  if (!defined_) {
    return std::nullopt;
  }
  const double half = Student(variance.degrees, level_) * std::sqrt(std::max(0.0, variance.value));
  return Interval{value - half, value + half};
}

std::optional<Interval> LineIntervals::Slope() const {
  return defined_ ? Around(line_.slope, VarianceOf(0, 1)) : std::nullopt;
}

std::optional<Interval> LineIntervals::Intercept() const { return At(0); }

std::optional<Interval> LineIntervals::At(double x) const {
  return defined_ ? Around(line_.intercept + line_.slope * x, VarianceOf(1, x - mean_x_))
                  : std::nullopt;
}

std::optional<Interval> LineIntervals::Next(double x) const {
  const std::optional<Interval> line = At(x);
  if (!line.has_value() || effective_ <= 2) {
    return std::nullopt;
  }
  const double middle = (line->low + line->high) / 2;
  const double half = std::hypot((line->high - line->low) / 2,
                                 Student(effective_ - 2, level_) * std::sqrt(scatter_));
  return Interval{middle - half, middle + half};
}

std::optional<Interval> RSquaredInterval(const std::vector<double>& x, const std::vector<double>& y,
                                         const PointFamilies& families, double level) {
  const double root = std::sqrt(FitLine(x, y).r_squared);
  const std::vector<std::vector<size_t>> members = PointsByFamily(families, x.size());
  absl::StatusOr<Interval> r =
      FisherInterval(Coefficient::kPearson, root, static_cast<int64_t>(x.size()), level);
  if (!r.ok() || members.size() < 4) {
    return std::nullopt;
  }
  if (members.size() < x.size()) {
    std::vector<double> without;
    for (const std::vector<size_t>& family : members) {
      const Line line = FitLine(Without(x, family), Without(y, family));
      without.push_back(std::copysign(std::atanh(std::sqrt(line.r_squared)), line.slope));
      if (!std::isfinite(without.back())) {
        return std::nullopt;
      }
    }
    const Interval z = JackknifeInterval(std::copysign(std::atanh(root), FitLine(x, y).slope),
                                         without, static_cast<double>(members.size() - 1), level);
    r = Interval{std::tanh(z.low), std::tanh(z.high)};
  }
  const double far = std::max(std::abs(r->low), std::abs(r->high));
  const double near = std::min(std::abs(r->low), std::abs(r->high));
  return Interval{r->low * r->high > 0 ? near * near : 0, far * far};
}

std::optional<CorrectedLine> CorrectForNoise(const std::vector<double>& x,
                                             const std::vector<double>& y,
                                             const std::vector<double>& noise,
                                             const PointFamilies& families, double level) {
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
  const std::vector<std::vector<size_t>> members = PointsByFamily(families, x.size());
  std::vector<double> slopes;
  for (size_t f = 0; f < members.size() && members.size() > 3; ++f) {
    const std::vector<double> rest = Without(x, members[f]);
    const double reliability = ReliabilityOf(rest, Without(noise, members[f]));
    slopes.push_back(FitLine(rest, Without(y, members[f])).slope / reliability);
    if (!(reliability >= kReliabilityMin)) {
      return corrected;
    }
  }
  if (!slopes.empty()) {
    corrected.slope_interval =
        JackknifeInterval(corrected.slope, slopes, static_cast<double>(members.size() - 2), level);
  }
  return corrected;
}

}  // namespace concur::analysis
