// SPDX-License-Identifier: Apache-2.0
// A least-squares line with intervals that hold for few points, and the line that noise in x has
// flattened, corrected.
//
// Thread-safe (stateless). Formulas, sources and measured coverage: docs/statistics.md.
#ifndef CONCUR_ANALYSIS_LINE_INTERVALS_H_
#define CONCUR_ANALYSIS_LINE_INTERVALS_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "analysis/intervals.h"

namespace concur::analysis {

// NaN where undefined.
struct Line {
  double slope = 0;
  double intercept = 0;
  double r_squared = 0;
};

// Least squares; undefined with fewer than two different x, r_squared also where all y are equal.
// REQUIRES: as many x as y, all finite.
Line FitLine(const std::vector<double>& x, const std::vector<double>& y);

// Intervals of a line by the covariance HC3, which does not assume that points scatter alike
// (MacKinnon and White, Journal of Econometrics 1985), and Student's t with n - 2 degrees. A point
// that alone decides the line (leverage 1) has no residual; the variance is then that of equal
// scatter.
class LineIntervals {
 public:
  // No intervals with fewer than three points or an undefined line. REQUIRES: 0 < level < 1.
  LineIntervals(const std::vector<double>& x, const std::vector<double>& y, double level);

  std::optional<Interval> Slope() const;
  std::optional<Interval> Intercept() const;
  std::optional<Interval> At(double x) const;  // of the line at x
  double slope_error() const { return slope_error_; }

 private:
  std::optional<Interval> Around(double value, double variance) const;

  bool defined_ = false;
  Line line_;
  double t_ = 0;
  double mean_x_ = 0;
  double slope_error_ = 0;
  // Variances of the line at mean_x_, of the slope, and their covariance.
  double middle_variance_ = 0;
  double slope_variance_ = 0;
  double covariance_ = 0;
};

// Of the squared correlation of n points, by Fisher's z of its root; low is 0 where the root's
// interval has both signs. Nothing with fewer than four points or for a perfect line.
std::optional<Interval> RSquaredInterval(double r_squared, size_t n, double level);

// The line through points whose x carry noise with these variances: the slope divided by the
// reliability of x (Fuller, Measurement Error Models, 1987, § 1.2), with an interval by the
// jackknife over points and Student's t with n - 2 degrees.
struct CorrectedLine {
  double reliability = 0;  // 1 - mean noise / variance of x
  double slope = 0;
  double intercept = 0;
  std::optional<Interval> slope_interval;
};
// Nothing where the line is undefined or noise is more than half of the variance of x.
std::optional<CorrectedLine> CorrectForNoise(const std::vector<double>& x,
                                             const std::vector<double>& y,
                                             const std::vector<double>& noise, double level);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_LINE_INTERVALS_H_
