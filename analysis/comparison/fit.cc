// SPDX-License-Identifier: Apache-2.0
#include "analysis/comparison/fit.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "analysis/clustered_mean.h"
#include "analysis/families.h"
#include "analysis/statistics/line_intervals.h"
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

// Score that stands for a share of 1 on both benchmarks.
absl::StatusOr<double> FullScoreOfPair(const ScoreTable& table, size_t from, size_t to,
                                       FitScale scale) {
  double full = 0;
  double guess = 0;
  const bool is_from_share = table.full_score(from) == 1;
  const absl::Span<const ScoreCell> shares = table.column(is_from_share ? from : to);
  const auto is_unstated = [&table](size_t benchmark) {
    return table.benchmarks()[benchmark].metric.scale.kind == Scale::Kind::kUnstated;
  };
  if (is_unstated(from) && is_unstated(to) && table.full_score(from) != table.full_score(to) &&
      std::any_of(shares.begin(), shares.end(), [](const ScoreCell& cell) {
        return cell.state == CellState::kValue && cell.value > 0 && cell.value < 1;
      })) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", table.benchmarks()[from].name, "\" looks like ",
                     is_from_share ? "shares" : "percents", " and \"", table.benchmarks()[to].name,
                     "\" like ", is_from_share ? "percents" : "shares",
                     ": expected one unit; state it by --unit, or by #scale in the file"));
  }
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

ExampleClusters ClustersFrom(const PointFamilies& families) {
  ExampleClusters clusters;
  std::map<size_t, uint32_t> numbers;
  for (const size_t family : families) {
    clusters.of.push_back(
        numbers.emplace(family, static_cast<uint32_t>(numbers.size())).first->second);
  }
  clusters.count = numbers.size();
  return clusters;
}

class Fitter {
 public:
  // `families` by row of the table, empty: none.
  Fitter(const ScoreTable& table, const FitOptions& options, const PointFamilies& families,
         double full_score)
      : table_(table), options_(options), families_(families), full_score_(full_score) {}

  absl::StatusOr<ShiftFit> Fit(size_t from, size_t to) {
    ShiftFit fit;
    fit.from = table_.benchmarks()[from].name;
    fit.to = table_.benchmarks()[to].name;
    fit.scale = options_.scale;
    fit.full_score = full_score_;
    fit.benchmarks = {table_.benchmarks()[from]};
    if (from != to) {
      fit.benchmarks.push_back(table_.benchmarks()[to]);
    }
    CONCUR_RETURN_IF_ERROR(Collect(from, to, fit));
    std::vector<double> x;
    std::vector<double> y;
    std::vector<double> gaps;
    PointFamilies families;
    for (const FittedSystem& system : fit.systems) {
      if (system.fitted) {
        x.push_back(ToScale(system.from));
        y.push_back(ToScale(system.to));
        gaps.push_back(system.gap);
        families.push_back(families_.empty() ? families.size() : families_[system.approach]);
      }
    }
    fit.n = static_cast<int64_t>(x.size());
    const Line line = FitLine(x, y);
    fit.slope = IfFinite(line.slope);
    fit.intercept = IfFinite(line.intercept);
    fit.r_squared = IfFinite(line.r_squared);
    if (!x.empty()) {
      fit.mean_gap =
          std::accumulate(gaps.begin(), gaps.end(), 0.0) / static_cast<double>(gaps.size());
    }
    for (FittedSystem& system : fit.systems) {
      const double at = ToScale(system.from);
      if (fit.slope.has_value() && std::isfinite(at)) {
        system.predicted = FromScale(*fit.intercept + *fit.slope * at);
        system.residual = system.to - *system.predicted;
      }
    }
    if (options_.level.has_value() && fit.slope.has_value()) {
      AddIntervals(x, y, gaps, families, fit);
    }
    AddCorrection(x, y, families, fit);
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

  void AddIntervals(const std::vector<double>& x, const std::vector<double>& y,
                    const std::vector<double>& gaps, const PointFamilies& families,
                    ShiftFit& fit) const {
    const double level = *options_.level;
    const LineIntervals intervals(x, y, families, level);
    fit.level = level;
    fit.slope_interval = intervals.Slope();
    fit.intercept_interval = intervals.Intercept();
    if (fit.r_squared.has_value()) {
      fit.r_squared_interval = RSquaredInterval(x, y, families, level);
    }
    const auto in_scores = [this](const Interval& interval) {
      return Interval{FromScale(interval.low), FromScale(interval.high)};
    };
    for (FittedSystem& system : fit.systems) {
      const std::optional<Interval> line =
          system.predicted.has_value() ? intervals.At(ToScale(system.from)) : std::nullopt;
      if (line.has_value()) {
        system.predicted_interval = in_scores(*line);
      }
      const std::optional<Interval> next =
          system.predicted.has_value() ? intervals.Next(ToScale(system.from)) : std::nullopt;
      if (next.has_value()) {
        const Interval score = in_scores(*next);
        system.residual_interval = Interval{system.to - score.high, system.to - score.low};
      }
    }
    const absl::StatusOr<Interval> gap = ClusteredMeanInterval(gaps, ClustersFrom(families), level);
    if (gap.ok()) {
      fit.mean_gap_interval = *gap;
    }
  }

  // Adds the line as it would be without noise of the original scores, where all of it is known.
  void AddCorrection(const std::vector<double>& x, const std::vector<double>& y,
                     const PointFamilies& families, ShiftFit& fit) const {
    std::vector<double> noise;
    for (const FittedSystem& system : fit.systems) {
      if (system.fitted && system.from_error.has_value()) {
        const double error = *system.from_error * ScaleSlope(system.from);
        noise.push_back(error * error);
      }
    }
    if (noise.size() == x.size() && !x.empty()) {
      fit.corrected = CorrectForNoise(x, y, noise, families, options_.level.value_or(0.95));
    }
  }

  // Slope of the scale as a function of the score, at `score`.
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

  const ScoreTable& table_;
  const FitOptions& options_;
  const PointFamilies& families_;
  double full_score_;
};

// Score that stands for a share of 1 on a benchmark: `asked` unless that is 0. Nothing where scores
// are no shares.
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
    if (std::any_of(scores.begin(), scores.end(), [](double s) { return !(s >= 0 && s <= 1); })) {
      return std::optional<Interval>();  // no shares
    }
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
  if (options.level.has_value() && !(*options.level > 0 && *options.level < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("interval: expected a number strictly between 0 and 1, got ", *options.level));
  }
  CONCUR_ASSIGN_OR_RETURN(const Families families, FamiliesOf(table, options.families));
  PointFamilies family_of;
  if (families.declared()) {
    family_of.resize(table.approaches().size());
    for (size_t f = 0; f < families.members.size(); ++f) {
      for (const size_t row : families.members[f]) {
        family_of[row] = f;
      }
    }
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
    CONCUR_ASSIGN_OR_RETURN(
        ShiftFit fit, Fitter(table, options, family_of, full_score).Fit(from_index, to_index));
    fit.families = families.tag;
    fits.push_back(std::move(fit));
  }
  return fits;
}

}  // namespace concur::analysis
