#include "analysis/fit.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "analysis/bootstrap.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "base/suggest.h"

namespace concur::analysis {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

using Normal = boost::math::normal_distribution<
    double, boost::math::policies::policy<
                boost::math::policies::domain_error<boost::math::policies::ignore_error>,
                boost::math::policies::overflow_error<boost::math::policies::ignore_error>>>;

struct Line {
  double slope = kNaN;
  double intercept = kNaN;
  double r_squared = kNaN;
};

// Least squares; NaN where undefined.
Line FitLine(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  const Moments mx = ComputeMoments(x);
  const Moments my = ComputeMoments(y);
  Line line;
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

std::optional<double> IfFinite(double value) {
  return std::isfinite(value) ? std::optional<double>(value) : std::nullopt;
}

absl::StatusOr<size_t> FindBenchmark(const ScoreTable& table, const std::string& name) {
  std::vector<std::string> names;
  for (size_t b = 0; b < table.benchmarks().size(); ++b) {
    if (table.benchmarks()[b].name == name) {
      return b;
    }
    names.push_back(table.benchmarks()[b].name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown column \"", name, "\"", DidYouMean(name, names)));
}

absl::Status CheckExcluded(const ScoreTable& table, const std::vector<std::string>& exclude) {
  std::vector<std::string> names;
  for (const AxisEntry& approach : table.approaches()) {
    names.push_back(approach.name);
  }
  for (const std::string& name : exclude) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("exclude: unknown approach \"", name, "\"", DidYouMean(name, names)));
    }
  }
  return absl::OkStatus();
}

double FullScore(const ScoreTable& table) {
  for (size_t b = 0; b < table.benchmarks().size(); ++b) {
    for (const ScoreCell& cell : table.column(b)) {
      if (cell.state == CellState::kValue && cell.value > 1) {
        return 100;
      }
    }
  }
  return 1;
}

// Ranks from 1 for the largest; ties share the best rank.
std::vector<int64_t> CompetitionRanks(const std::vector<double>& scores) {
  std::vector<int64_t> ranks;
  ranks.reserve(scores.size());
  for (const double score : scores) {
    ranks.push_back(1 + std::count_if(scores.begin(), scores.end(),
                                      [&](double other) { return other > score; }));
  }
  return ranks;
}

class Fitter {
 public:
  Fitter(const ScoreTable& table, const FitOptions& options, double full_score)
      : table_(table), options_(options), full_score_(full_score) {}

  absl::StatusOr<ShiftFit> Fit(size_t from, size_t to) {
    ShiftFit fit;
    fit.from = table_.benchmarks()[from].name;
    fit.to = table_.benchmarks()[to].name;
    fit.scale = options_.scale;
    CONCUR_RETURN_IF_ERROR(Collect(from, to, fit));
    std::vector<double> x;
    std::vector<double> y;
    double gaps = 0;
    for (const FittedSystem& system : fit.systems) {
      if (system.fitted) {
        x.push_back(ToScale(system.from));
        y.push_back(ToScale(system.to));
        gaps += system.gap;
      }
    }
    fit.n = static_cast<int64_t>(x.size());
    const Line line = FitLine(x, y);
    fit.slope = IfFinite(line.slope);
    fit.intercept = IfFinite(line.intercept);
    fit.r_squared = IfFinite(line.r_squared);
    if (!x.empty()) {
      fit.mean_gap = gaps / static_cast<double>(x.size());
    }
    for (FittedSystem& system : fit.systems) {
      const double at = ToScale(system.from);
      if (fit.slope.has_value() && std::isfinite(at)) {
        system.predicted = FromScale(*fit.intercept + *fit.slope * at);
        system.residual = system.to - *system.predicted;
      }
    }
    if (options_.bootstrap.has_value() && fit.slope.has_value()) {
      Bootstrap(x, y, line, fit);
    }
    return fit;
  }

 private:
  double ToScale(double score) const {
    return options_.scale == FitScale::kLinear ? score
                                               : Transform(options_.scale, score / full_score_);
  }
  double FromScale(double value) const {
    return options_.scale == FitScale::kLinear
               ? value
               : full_score_ * InverseTransform(options_.scale, value);
  }

  absl::Status Collect(size_t from, size_t to, ShiftFit& fit) const {
    for (size_t i = 0; i < table_.approaches().size(); ++i) {
      const ScoreCell& x = table_.cell(i, from);
      const ScoreCell& y = table_.cell(i, to);
      const std::string& name = table_.approaches()[i].name;
      if (x.state != CellState::kValue || y.state != CellState::kValue) {
        fit.missing.push_back(name);
        continue;
      }
      for (const double score : {x.value, y.value}) {
        if (options_.scale != FitScale::kLinear && (score < 0 || score > full_score_)) {
          return absl::InvalidArgumentError(
              absl::StrCat("approach \"", name, "\": a score in ", FitScaleName(options_.scale),
                           " scale must be from 0 to ", full_score_, ", got ", score));
        }
      }
      FittedSystem system;
      system.approach = i;
      system.name = name;
      system.from = x.value;
      system.to = y.value;
      system.gap = x.value - y.value;
      system.fitted = std::find(options_.exclude.begin(), options_.exclude.end(), name) ==
                          options_.exclude.end() &&
                      std::isfinite(ToScale(x.value)) && std::isfinite(ToScale(y.value));
      fit.systems.push_back(std::move(system));
    }
    std::stable_sort(fit.systems.begin(), fit.systems.end(),
                     [](const FittedSystem& a, const FittedSystem& b) { return a.from > b.from; });
    std::vector<double> scores;
    std::vector<double> new_scores;
    for (const FittedSystem& system : fit.systems) {
      scores.push_back(system.from);
      new_scores.push_back(system.to);
    }
    const std::vector<int64_t> ranks = CompetitionRanks(scores);
    const std::vector<int64_t> new_ranks = CompetitionRanks(new_scores);
    for (size_t i = 0; i < fit.systems.size(); ++i) {
      fit.systems[i].rank = ranks[i];
      fit.systems[i].new_rank = new_ranks[i];
    }
    return absl::OkStatus();
  }

  void Bootstrap(const std::vector<double>& x, const std::vector<double>& y, const Line& line,
                 ShiftFit& fit) const {
    const BootstrapOptions& options = *options_.bootstrap;
    Random random(options.seed, "bootstrap/systems");
    std::vector<double> slopes;
    std::vector<double> intercepts;
    std::vector<double> r_squareds;
    std::vector<double> mean_gaps;
    std::vector<double> gaps;
    for (const FittedSystem& system : fit.systems) {
      if (system.fitted) {
        gaps.push_back(system.gap);
      }
    }
    std::vector<double> drawn_x(x.size());
    std::vector<double> drawn_y(x.size());
    for (int64_t replicate = 0; replicate < options.replicates; ++replicate) {
      double gap = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        const size_t drawn = random.Below(x.size());
        drawn_x[i] = x[drawn];
        drawn_y[i] = y[drawn];
        gap += gaps[drawn];
      }
      mean_gaps.push_back(gap / static_cast<double>(x.size()));
      const Line drawn = FitLine(drawn_x, drawn_y);
      slopes.push_back(drawn.slope);
      intercepts.push_back(drawn.intercept);
      r_squareds.push_back(drawn.r_squared);
    }
    const auto interval = [&](std::vector<double>& values, double estimate) {
      return IntervalFromReplicates(values, estimate, {}, options.level,
                                    BootstrapMethod::kPercentile)
          .interval;
    };
    fit.level = options.level;
    fit.mean_gap_interval = interval(mean_gaps, *fit.mean_gap);
    for (FittedSystem& system : fit.systems) {
      if (system.predicted.has_value()) {
        AddBand(slopes, intercepts, system, interval);
      }
    }
    fit.slope_interval = interval(slopes, line.slope);
    fit.intercept_interval = interval(intercepts, line.intercept);
    fit.r_squared_interval = interval(r_squareds, line.r_squared);
  }

  // Where the lines of all replicates lie at one system.
  template <typename MakeInterval>
  void AddBand(const std::vector<double>& slopes, const std::vector<double>& intercepts,
               FittedSystem& system, const MakeInterval& interval) const {
    const double at = ToScale(system.from);
    std::vector<double> places;
    places.reserve(slopes.size());
    for (size_t i = 0; i < slopes.size(); ++i) {
      places.push_back(FromScale(intercepts[i] + slopes[i] * at));  // NaN stays
    }
    system.predicted_interval = interval(places, *system.predicted);
    if (system.predicted_interval.has_value()) {
      system.residual_interval = Interval{system.to - system.predicted_interval->high,
                                          system.to - system.predicted_interval->low};
    }
  }

  const ScoreTable& table_;
  const FitOptions& options_;
  double full_score_;
};

absl::StatusOr<std::optional<Interval>> ScoreInterval(const std::vector<ExampleTable>& examples,
                                                      const std::string& benchmark,
                                                      const std::string& approach,
                                                      double full_score, double level) {
  for (const ExampleTable& table : examples) {
    const auto found = std::find(table.approaches.begin(), table.approaches.end(), approach);
    if (table.benchmark != benchmark || found == table.approaches.end() || table.examples < 2) {
      continue;
    }
    const absl::Span<const double> scores =
        table.row(static_cast<size_t>(found - table.approaches.begin()));
    const bool shares = std::all_of(scores.begin(), scores.end(),
                                    [](double score) { return score == 0 || score == 1; });
    absl::StatusOr<Interval> interval =
        shares ? ClopperPearson(std::count(scores.begin(), scores.end(), 1.0),
                                static_cast<int64_t>(scores.size()), level)
               : MeanInterval(scores, level);
    CONCUR_RETURN_IF_ERROR(interval.status());
    return std::optional(Interval{full_score * interval->low, full_score * interval->high});
  }
  return std::optional<Interval>();
}

}  // namespace

absl::Status AddScoreIntervals(const std::vector<ExampleTable>& examples, double full_score,
                               double level, std::vector<ShiftFit>& fits) {
  for (ShiftFit& fit : fits) {
    fit.level = level;
    for (FittedSystem& system : fit.systems) {
      CONCUR_ASSIGN_OR_RETURN(system.from_interval,
                              ScoreInterval(examples, fit.from, system.name, full_score, level));
      CONCUR_ASSIGN_OR_RETURN(system.to_interval,
                              ScoreInterval(examples, fit.to, system.name, full_score, level));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<FitScale> ParseFitScale(absl::string_view name) {
  for (const FitScale scale : {FitScale::kLinear, FitScale::kProbit, FitScale::kLogit}) {
    if (FitScaleName(scale) == name) {
      return scale;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("scale: expected linear, probit or logit, got \"", name, "\""));
}

absl::string_view FitScaleName(FitScale scale) {
  switch (scale) {
    case FitScale::kLinear:
      return "linear";
    case FitScale::kProbit:
      return "probit";
    case FitScale::kLogit:
      return "logit";
  }
  return "linear";
}

double Transform(FitScale scale, double share) {
  if (scale == FitScale::kLinear) {
    return share;
  }
  if (!(share > 0 && share < 1)) {
    return share <= 0 ? -std::numeric_limits<double>::infinity()
                      : std::numeric_limits<double>::infinity();
  }
  return scale == FitScale::kProbit ? boost::math::quantile(Normal(), share)
                                    : std::log(share) - std::log1p(-share);
}

double InverseTransform(FitScale scale, double transformed) {
  switch (scale) {
    case FitScale::kLinear:
      return transformed;
    case FitScale::kProbit:
      return boost::math::cdf(Normal(), transformed);
    case FitScale::kLogit:
      return 1 / (1 + std::exp(-transformed));
  }
  return transformed;
}

absl::StatusOr<std::vector<ShiftFit>> FitShift(const ScoreTable& table, const std::string& from,
                                               absl::Span<const std::string> to,
                                               const FitOptions& options) {
  CONCUR_ASSIGN_OR_RETURN(const size_t from_index, FindBenchmark(table, from));
  CONCUR_RETURN_IF_ERROR(CheckExcluded(table, options.exclude));
  if (options.bootstrap.has_value()) {
    CONCUR_RETURN_IF_ERROR(ValidateBootstrapOptions(*options.bootstrap));
  }
  Fitter fitter(table, options, options.full_score > 0 ? options.full_score : FullScore(table));
  std::vector<ShiftFit> fits;
  for (const std::string& name : to) {
    CONCUR_ASSIGN_OR_RETURN(const size_t to_index, FindBenchmark(table, name));
    CONCUR_ASSIGN_OR_RETURN(ShiftFit fit, fitter.Fit(from_index, to_index));
    fits.push_back(std::move(fit));
  }
  return fits;
}

}  // namespace concur::analysis
