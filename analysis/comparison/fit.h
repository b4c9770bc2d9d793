// SPDX-License-Identifier: Apache-2.0
// Prediction of scores on a test set from those on another: least-squares lines in linear, probit
// or logit scale, the gap, and what each system scores beyond the line (Miller et al., ICML 2020).
//
// Thread-safe (stateless). Formulas and sources: docs/statistics.md.
#ifndef CONCUR_ANALYSIS_COMPARISON_FIT_H_
#define CONCUR_ANALYSIS_COMPARISON_FIT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "analysis/comparison/comparison.h"
#include "analysis/example_runs.h"
#include "analysis/score_table.h"
#include "analysis/statistics/intervals.h"
#include "analysis/statistics/line_intervals.h"

namespace concur::analysis {

// The scale in which a line is fitted: the score itself, or the standard normal quantile or the
// logarithm of the odds of the score as a share.
enum class FitScale { kLinear, kProbit, kLogit };
absl::StatusOr<FitScale> ParseFitScale(absl::string_view name);  // linear, probit, logit
absl::string_view FitScaleName(FitScale scale);

// `share` in (0, 1) (any finite number for kLinear), and back.
double Transform(FitScale scale, double share);
double InverseTransform(FitScale scale, double transformed);

struct FittedSystem {
  size_t approach = 0;  // row of the table
  std::string name;
  double from = 0;  // scores, in the table's unit
  double to = 0;
  double gap = 0;  // from - to
  // Ranks by `from` and by `to` among the listed systems: 1 is the best by the benchmarks' goal,
  // ties share the best rank. References have none: 0.
  int64_t rank = 0;
  int64_t new_rank = 0;
  bool is_reference = false;  // AxisEntry::is_reference: listed, and never fitted
  bool fitted = true;         // false: not in the line (asked for, or no probit or logit)
  // The line's score, and the score less it (effective robustness); in the table's unit.
  // Nothing where there is no line, or the scale has no value for `from`.
  std::optional<double> predicted;
  std::optional<double> residual;
  std::optional<double> from_error;  // standard error of `from`, where it is known
  // With intervals: the line at `from` (a point of its band), and `to` less the prediction interval
  // of one more system of another family (by chance 0 is outside in 1 - level of cases).
  std::optional<Interval> predicted_interval;
  std::optional<Interval> residual_interval;
  // Intervals of the scores themselves, where AddScoreIntervals has put them.
  std::optional<Interval> from_interval;
  std::optional<Interval> to_interval;
  // The same as if examples were independent; differs where they come in clusters.
  std::optional<Interval> from_interval_by_question;
  std::optional<Interval> to_interval_by_question;
};

struct ShiftFit {
  std::string from;
  std::string to;
  FitScale scale = FitScale::kLinear;
  double full_score = 1;  // score at a share of 1
  int64_t n = 0;          // systems behind the line
  // Fit of the transformed scores. Nothing with fewer than two different `from` scores; r_squared
  // also where all `to` scores are equal.
  std::optional<double> slope;
  std::optional<double> intercept;
  std::optional<double> r_squared;
  std::optional<double> mean_gap;  // over the systems behind the line, in the table's unit
  double level = 0;                // level of the intervals, where asked for
  double score_level = 0;  // level of from_interval and to_interval, if AddScoreIntervals put them
  std::string families;    // the tag by which intervals take systems as relatives; "": none
  std::optional<Interval> slope_interval;
  std::optional<Interval> intercept_interval;
  std::optional<Interval> r_squared_interval;
  std::optional<Interval> mean_gap_interval;
  // The line without the noise of the original scores, where each has a known error.
  std::optional<CorrectedLine> corrected;
  bool clustered = false;             // intervals of scores draw passages or documents
  std::vector<FittedSystem> systems;  // by `from`, best first; ties in the table's order
  std::vector<std::string> missing;   // approaches that lack a score
  std::vector<AxisEntry> benchmarks;  // `from` and `to`, with how their settings were chosen
};

struct FitOptions {
  FitScale scale = FitScale::kLinear;
  std::vector<std::string> exclude;  // approaches to list but not to fit, e.g. human scores
  // Score that stands for a share of 1: 100 for percent, 1 for fractions. 0: by the scale of the
  // two benchmarks; where neither is stated, 100 if any of their scores is above 1, else 1.
  double full_score = 0;
  std::optional<double> level;  // with intervals
  std::string families;         // the tag whose values are families, as FamiliesOf takes it
  // By row of the table: standard errors of the original scores, in their unit. Empty: those of
  // means over seeds.
  std::vector<std::optional<double>> from_errors;
};

// One fit for each of `to`. InvalidArgument for an unknown benchmark or excluded approach, for two
// benchmarks of different goals, for a level not in (0, 1), for a families tag that no approach
// carries, and in probit or logit scale for a score outside [0, full_score] and for benchmarks of
// different scales or of one that is no share.
absl::StatusOr<std::vector<ShiftFit>> FitShift(const ScoreTable& table, const std::string& from,
                                               absl::Span<const std::string> to,
                                               const FitOptions& options);

struct ScoreIntervalOptions {
  double level = 0.95;
  double full_score = 0;  // score at a share of 1; 0: ScoreTable::full_score of each benchmark
  std::optional<ExampleUnit> unit = {};  // unit of clusters, as ClustersOf takes it
};

// Sets from_interval and to_interval from per-example scores, shares from 0 to 1, where there are
// any and the benchmark's scores are shares: ShareInterval, in the table's unit. InvalidArgument
// for a bad level.
absl::Status AddScoreIntervals(const std::vector<ExampleTable>& examples, const ScoreTable& table,
                               const ScoreIntervalOptions& options, std::vector<ShiftFit>& fits);

// Standard errors of the scores on `benchmark` by row of `table`, from the same examples.
std::vector<std::optional<double>> ScoreErrors(const std::vector<ExampleTable>& examples,
                                               const ScoreTable& table,
                                               const std::string& benchmark,
                                               const ScoreIntervalOptions& options);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_COMPARISON_FIT_H_
