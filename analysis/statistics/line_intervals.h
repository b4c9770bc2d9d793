// SPDX-License-Identifier: Apache-2.0
// A least-squares line with intervals that hold for few points, and the line that noise in x has
// flattened, corrected.
//
// Thread-safe (stateless). Formulas, sources and measured coverage: docs/statistics.md.
#ifndef CONCUR_ANALYSIS_STATISTICS_LINE_INTERVALS_H_
#define CONCUR_ANALYSIS_STATISTICS_LINE_INTERVALS_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "analysis/statistics/intervals.h"

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

// Points of one family share a number; empty: every point alone.
using PointFamilies = std::vector<size_t>;

// Intervals of a line by the covariance HC3 or, where points come in families, its clustered form
// CR3: the squared changes of the line when a family is left out (MacKinnon and White, Journal of
// Econometrics 1985; Bell and McCaffrey, Survey Methodology 2002). Student's t has Satterthwaite's
// degrees under equal scatter (Bell and McCaffrey). Where one family alone decides the line, which
// then has no change, a line through points that are alone has the variance of equal scatter, and
// one through families none.
class LineIntervals {
 public:
  // No intervals with fewer than three points or families, or an undefined line.
  // REQUIRES: 0 < level < 1.
  LineIntervals(const std::vector<double>& x, const std::vector<double>& y,
                const PointFamilies& families, double level);

  std::optional<Interval> Slope() const;
  std::optional<Interval> Intercept() const;
  std::optional<Interval> At(double x) const;  // interval of the line at x
  // An interval for one more point, of another family, at x, which scatters as the others do: the
  // half width of At, and that of the scatter by Student's t with the effective number of families
  // less 2 degrees, are added as squares.
  std::optional<Interval> Next(double x) const;

 private:
  // Sums over a family's points, x less mean_x_: their number, of x, x², residuals and x residuals.
  struct FamilySums {
    double n = 0;
    double x = 0;
    double xx = 0;
    double e = 0;
    double xe = 0;
  };
  struct Variance {
    double value = 0;
    double degrees = 0;
  };
  // The variance of `height` times the line at mean_x_ plus `slope` times the slope.
  Variance VarianceOf(double height, double slope) const;
  double LeverageOf(const FamilySums& family) const;
  std::optional<Interval> Around(double value, const Variance& variance) const;

  bool defined_ = false;
  Line line_;
  double level_ = 0;
  double mean_x_ = 0;
  double count_ = 0;
  double xx_ = 0;
  bool equal_scatter_ = false;
  double scatter_ = 0;    // variance of a point around the line
  double effective_ = 0;  // families, as Families::effective
  std::vector<FamilySums> families_;
};

// An interval of the squared correlation: by Fisher's z of its root where each point is alone, else
// by the jackknife of z over families; low is 0 where the root's interval has both signs. Nothing
// with fewer than four points or families, or for a perfect line.
std::optional<Interval> RSquaredInterval(const std::vector<double>& x, const std::vector<double>& y,
                                         const PointFamilies& families, double level);

// The line through points whose x carry noise with these variances: the slope divided by the
// reliability of x (Fuller, Measurement Error Models, 1987, § 1.2), with an interval by the
// jackknife over families and Student's t with their number less 2 degrees.
struct CorrectedLine {
  double reliability = 0;  // 1 - mean noise / variance of x
  double slope = 0;
  double intercept = 0;
  std::optional<Interval> slope_interval;
};
// Nothing where the line is undefined or noise is more than half of the variance of x.
std::optional<CorrectedLine> CorrectForNoise(const std::vector<double>& x,
                                             const std::vector<double>& y,
                                             const std::vector<double>& noise,
                                             const PointFamilies& families, double level);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_STATISTICS_LINE_INTERVALS_H_
