// SPDX-License-Identifier: Apache-2.0
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
#include "analysis/clustered_mean.h"
#include "analysis/line_intervals.h"
#include "analysis/notes.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "base/suggest.h"

namespace concur::analysis {
namespace {

using Normal = boost::math::normal_distribution<
    double, boost::math::policies::policy<
                boost::math::policies::domain_error<boost::math::policies::ignore_error>,
                boost::math::policies::overflow_error<boost::math::policies::ignore_error>>>;

std::optional<double> IfFinite(double value) {
  return std::isfinite(value) ? std::optional<double>(value) : std::nullopt;
}

// What a share of 1 is on both benchmarks.
absl::StatusOr<double> FullScoreOfPair(const ScoreTable& table, size_t from, size_t to,
                                       FitScale scale) {
  double full = 0;
  double guess = 0;
  for (const size_t benchmark : {from, to}) {
    const Scale& stated = table.benchmarks()[benchmark].metric.scale;
    const std::optional<double> own = table.full_score(benchmark);
    guess = std::max(guess, own.value_or(1));
    if (stated.kind == Scale::Kind::kUnstated || scale == FitScale::kLinear) {
      continue;
    }
    if (!own.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", table.benchmarks()[benchmark].name, "\": a score in ", FitScaleName(scale),
          " scale must be a share, from 0 to a greatest score; its scale is ", ScaleText(stated)));
    }
    if (full != 0 && full != *own) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", table.benchmarks()[from].name, "\" and \"",
                       table.benchmarks()[to].name, "\": expected one scale in ",
                       FitScaleName(scale), " scale, got 0..", full, " and 0..", *own));
    }
    full = *own;
  }
  return full != 0 ? full : guess;
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
    fit.full_score = full_score_;
    fit.choices = ChoiceNotes(
        from == to ? std::vector<AxisEntry>{table_.benchmarks()[from]}
                   : std::vector<AxisEntry>{table_.benchmarks()[from], table_.benchmarks()[to]});
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
      if (UsesStudent(x.size())) {
        AddStudentIntervals(x, y, fit);
      } else {
        Bootstrap(x, y, line, fit);
      }
    }
    AddCorrection(x, y, fit);
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

  bool UsesStudent(size_t systems) const {
    return options_.method == LineMethod::kHc3 ||
           (options_.method == LineMethod::kAuto && systems < kBootstrapSystemsMin);
  }

  void AddStudentIntervals(const std::vector<double>& x, const std::vector<double>& y,
                           ShiftFit& fit) const {
    const double level = options_.bootstrap->level;
    const LineIntervals intervals(x, y, level);
    fit.level = level;
    fit.method = LineMethod::kHc3;
    fit.slope_interval = intervals.Slope();
    fit.intercept_interval = intervals.Intercept();
    if (fit.r_squared.has_value()) {
      fit.r_squared_interval = RSquaredInterval(*fit.r_squared, x.size(), level);
    }
    std::vector<double> gaps;
    for (FittedSystem& system : fit.systems) {
      if (system.fitted) {
        gaps.push_back(system.gap);
      }
      const std::optional<Interval> at =
          system.predicted.has_value() ? intervals.At(ToScale(system.from)) : std::nullopt;
      if (at.has_value()) {
        system.predicted_interval = Interval{FromScale(at->low), FromScale(at->high)};
        AddResidualInterval(system);
      }
    }
    const absl::StatusOr<Interval> gap = MeanInterval(gaps, level);
    if (gap.ok()) {
      fit.mean_gap_interval = *gap;
    }
  }

  // What the line would be without the noise of the original scores, where all of it is known.
  void AddCorrection(const std::vector<double>& x, const std::vector<double>& y,
                     ShiftFit& fit) const {
    std::vector<double> noise;
    for (const FittedSystem& system : fit.systems) {
      if (system.fitted && system.from_error.has_value()) {
        const double error = *system.from_error * ScaleSlope(system.from);
        noise.push_back(error * error);
      }
    }
    if (noise.size() == x.size() && !x.empty()) {
      fit.corrected = CorrectForNoise(
          x, y, noise, options_.bootstrap.has_value() ? options_.bootstrap->level : 0.95);
    }
  }

  // How fast the scale moves with the score, there.
  double ScaleSlope(double score) const {
    const double share = score / full_score_;
    switch (options_.scale) {
      case FitScale::kLinear:
        break;
      case FitScale::kProbit:
        return 1 / (full_score_ * boost::math::pdf(Normal(), Transform(FitScale::kProbit, share)));
      case FitScale::kLogit:
        return 1 / (full_score_ * share * (1 - share));
    }
    return 1;
  }

  // The standard error of a system's original score: given, or of the mean over its seeds.
  std::optional<double> FromError(size_t row, const ScoreCell& cell) const {
    if (!options_.from_errors.empty()) {
      return options_.from_errors[row];
    }
    return cell.seeds >= 2
               ? std::optional(cell.standard_deviation / std::sqrt(static_cast<double>(cell.seeds)))
               : std::nullopt;
  }

  static void AddResidualInterval(FittedSystem& system) {
    system.residual_interval = Interval{system.to - system.predicted_interval->high,
                                        system.to - system.predicted_interval->low};
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
      system.from_error = FromError(i, x);
      system.is_reference = table_.approaches()[i].is_reference;
      system.fitted = !system.is_reference &&
                      std::find(options_.exclude.begin(), options_.exclude.end(), name) ==
                          options_.exclude.end() &&
                      std::isfinite(ToScale(x.value)) && std::isfinite(ToScale(y.value));
      fit.systems.push_back(std::move(system));
    }
    const double sign = table_.sign(from);
    std::stable_sort(fit.systems.begin(), fit.systems.end(),
                     [sign](const FittedSystem& a, const FittedSystem& b) {
                       return sign * a.from > sign * b.from;
                     });
    std::vector<double> scores;
    std::vector<double> new_scores;
    std::vector<FittedSystem*> ranked;
    for (FittedSystem& system : fit.systems) {
      if (!system.is_reference) {
        ranked.push_back(&system);
        scores.push_back(sign * system.from);
        new_scores.push_back(sign * system.to);
      }
    }
    const std::vector<int64_t> ranks = CompetitionRanks(scores);
    const std::vector<int64_t> new_ranks = CompetitionRanks(new_scores);
    for (size_t i = 0; i < ranked.size(); ++i) {
      ranked[i]->rank = ranks[i];
      ranked[i]->new_rank = new_ranks[i];
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
    fit.method = LineMethod::kPercentile;
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
      AddResidualInterval(system);
    }
  }

  const ScoreTable& table_;
  const FitOptions& options_;
  double full_score_;
};

// What a share of 1 is on a benchmark: `asked` unless that is 0. Nothing where scores are no
// shares.
std::optional<double> FullScoreOf(const ScoreTable& table, const std::string& benchmark,
                                  double asked) {
  if (asked > 0) {
    return asked;
  }
  for (size_t b = 0; b < table.benchmarks().size(); ++b) {
    if (table.benchmarks()[b].name == benchmark) {
      return table.full_score(b);
    }
  }
  return std::nullopt;
}

absl::StatusOr<std::optional<Interval>> ScoreInterval(const std::vector<ExampleTable>& examples,
                                                      const std::string& benchmark,
                                                      const std::string& approach,
                                                      std::optional<double> full_score,
                                                      double level,
                                                      std::optional<ExampleUnit> unit) {
  if (!full_score.has_value()) {
    return std::optional<Interval>();
  }
  for (const ExampleTable& table : examples) {
    const auto found = std::find(table.approaches.begin(), table.approaches.end(), approach);
    if (table.benchmark != benchmark || found == table.approaches.end() || table.examples < 2) {
      continue;
    }
    const absl::Span<const double> scores =
        table.row(static_cast<size_t>(found - table.approaches.begin()));
    const ExampleClusters clusters = ClustersOf(table.places, table.examples, unit);
    CONCUR_ASSIGN_OR_RETURN(const Interval interval, ShareInterval(scores, clusters, level));
    return std::optional(Interval{*full_score * interval.low, *full_score * interval.high});
  }
  return std::optional<Interval>();
}

}  // namespace

absl::Status AddScoreIntervals(const std::vector<ExampleTable>& examples, const ScoreTable& table,
                               const ScoreIntervalOptions& options, std::vector<ShiftFit>& fits) {
  for (ShiftFit& fit : fits) {
    fit.score_level = options.level;
    for (const ExampleTable& scores : examples) {
      const ExampleUnit used = ClustersOf(scores.places, scores.examples, options.unit).unit;
      if ((scores.benchmark == fit.from || scores.benchmark == fit.to) &&
          used != ExampleUnit::kExample) {
        fit.clustered = true;
      }
    }
    for (FittedSystem& system : fit.systems) {
      const auto interval = [&](const std::string& benchmark, std::optional<ExampleUnit> unit) {
        return ScoreInterval(examples, benchmark, system.name,
                             FullScoreOf(table, benchmark, options.full_score), options.level,
                             unit);
      };
      CONCUR_ASSIGN_OR_RETURN(system.from_interval, interval(fit.from, options.unit));
      CONCUR_ASSIGN_OR_RETURN(system.to_interval, interval(fit.to, options.unit));
      CONCUR_ASSIGN_OR_RETURN(system.from_interval_by_question,
                              interval(fit.from, ExampleUnit::kExample));
      CONCUR_ASSIGN_OR_RETURN(system.to_interval_by_question,
                              interval(fit.to, ExampleUnit::kExample));
    }
  }
  return absl::OkStatus();
}

std::vector<std::optional<double>> ScoreErrors(const std::vector<ExampleTable>& examples,
                                               const ScoreTable& table,
                                               const std::string& benchmark,
                                               const ScoreIntervalOptions& options) {
  std::vector<std::optional<double>> errors(table.approaches().size());
  const std::optional<double> full_score = FullScoreOf(table, benchmark, options.full_score);
  for (const ExampleTable& scores : examples) {
    if (scores.benchmark != benchmark || !full_score.has_value()) {
      continue;
    }
    const ExampleClusters clusters = ClustersOf(scores.places, scores.examples, options.unit);
    for (size_t a = 0; a < scores.approaches.size(); ++a) {
      const absl::StatusOr<ClusteredMean> mean = ComputeClusteredMean(scores.row(a), clusters);
      for (size_t row = 0; row < errors.size() && mean.ok(); ++row) {
        if (table.approaches()[row].name == scores.approaches[a]) {
          errors[row] = *full_score * mean->standard_error;
        }
      }
    }
  }
  return errors;
}

absl::StatusOr<LineMethod> ParseLineMethod(absl::string_view name) {
  if (name == "auto") {
    return LineMethod::kAuto;
  }
  if (name == "hc3") {
    return LineMethod::kHc3;
  }
  if (name == "percentile") {
    return LineMethod::kPercentile;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("interval-method: expected auto, hc3 or percentile, got \"", name, "\""));
}

absl::StatusOr<FitScale> ParseFitScale(absl::string_view name) {
  for (const FitScale scale : {FitScale::kLinear, FitScale::kProbit, FitScale::kLogit}) {
    if (FitScaleName(scale) == name) {
      return scale;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("scale: ", ExpectedOneOf({"linear", "probit", "logit"}, name)));
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
  CONCUR_ASSIGN_OR_RETURN(const size_t from_index,
                          FindEntry(table.benchmarks(), from, "unknown column", "benchmarks"));
  for (const std::string& name : options.exclude) {
    CONCUR_RETURN_IF_ERROR(
        FindEntry(table.approaches(), name, "exclude: unknown approach", "approaches").status());
  }
  if (options.bootstrap.has_value()) {
    CONCUR_RETURN_IF_ERROR(ValidateBootstrapOptions(*options.bootstrap));
  }
  std::vector<ShiftFit> fits;
  for (const std::string& name : to) {
    CONCUR_ASSIGN_OR_RETURN(const size_t to_index,
                            FindEntry(table.benchmarks(), name, "unknown column", "benchmarks"));
    if (table.sign(from_index) != table.sign(to_index)) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", from, "\" and \"", name,
                       "\": expected one goal, got a benchmark of which more is better and one of "
                       "which less is"));
    }
    double full_score = options.full_score;
    if (full_score <= 0) {
      CONCUR_ASSIGN_OR_RETURN(full_score,
                              FullScoreOfPair(table, from_index, to_index, options.scale));
    }
    CONCUR_ASSIGN_OR_RETURN(ShiftFit fit,
                            Fitter(table, options, full_score).Fit(from_index, to_index));
    fits.push_back(std::move(fit));
  }
  return fits;
}

}  // namespace concur::analysis
