// SPDX-License-Identifier: Apache-2.0
// How scores on one test set predict scores on another: least-squares lines in linear, probit or
// logit scale, the gap, and what each system scores beyond the line (Miller et al., ICML 2020).
//
// Thread-safe (stateless). Formulas and sources: docs/statistics.md.
#ifndef CONCUR_ANALYSIS_FIT_H_
#define CONCUR_ANALYSIS_FIT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "analysis/bootstrap.h"
#include "analysis/comparison.h"
#include "analysis/example_runs.h"
#include "analysis/intervals.h"
#include "analysis/line_intervals.h"
#include "analysis/score_table.h"
#include "analysis/table.h"

namespace concur::analysis {

// The scale in which a line is fitted: the score itself, or the standard normal quantile or the
// logarithm of the odds of the score as a share.
enum class FitScale { kLinear, kProbit, kLogit };
absl::StatusOr<FitScale> ParseFitScale(absl::string_view name);  // linear, probit, logit
absl::string_view FitScaleName(FitScale scale);

// `share` in (0, 1) (any finite number for kLinear), and back.
double Transform(FitScale scale, double share);
double InverseTransform(FitScale scale, double transformed);

// Where intervals come from: HC3 with Student's t (LineIntervals), or the percentile bootstrap over
// systems, which holds too rarely for few of them. kAuto: HC3 below kBootstrapSystemsMin.
enum class LineMethod { kAuto, kHc3, kPercentile };
absl::StatusOr<LineMethod> ParseLineMethod(absl::string_view name);  // auto, hc3, percentile
inline constexpr size_t kBootstrapSystemsMin = 30;

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
  bool fitted = true;  // false: left out of the line (asked for, or a score that is 0 or 100 %)
  // What the line predicts, and the score beyond it (effective robustness); in the table's unit.
  // Nothing where there is no line, or the scale has no value for `from`.
  std::optional<double> predicted;
  std::optional<double> residual;
  std::optional<double> from_error;  // standard error of `from`, where it is known
  // With intervals: where the line lies at `from` (a point of its band), and the score beyond it
  // there. Only the line is uncertain in these.
  std::optional<Interval> predicted_interval;
  std::optional<Interval> residual_interval;
  // Of the scores themselves, where AddScoreIntervals has put them.
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
  double full_score = 1;  // what a share of 1 is
  int64_t n = 0;          // systems behind the line
  // Of the transformed scores. Nothing with fewer than two different `from` scores; r_squared also
  // where all `to` scores are equal.
  std::optional<double> slope;
  std::optional<double> intercept;
  std::optional<double> r_squared;
  std::optional<double> mean_gap;  // over the systems behind the line, in the table's unit
  // Intervals by `method`, where asked for.
  double level = 0;
  double score_level = 0;  // of from_interval and to_interval, where AddScoreIntervals has put them
  LineMethod method = LineMethod::kPercentile;
  std::optional<Interval> slope_interval;
  std::optional<Interval> intercept_interval;
  std::optional<Interval> r_squared_interval;
  std::optional<Interval> mean_gap_interval;
  // The line without the noise of the original scores, where each has a known error.
  std::optional<CorrectedLine> corrected;
  bool clustered = false;             // intervals of scores draw passages or documents
  std::vector<FittedSystem> systems;  // by `from`, best first; ties in the table's order
  std::vector<std::string> missing;   // approaches that lack a score
  std::vector<std::string> choices;   // how settings were chosen: ChoiceNotes
};

struct FitOptions {
  FitScale scale = FitScale::kLinear;
  std::vector<std::string> exclude;  // approaches to list but not to fit, e.g. human scores
  // What a share of 1 is: 100 for percent, 1 for fractions. 0: by the scale of the two benchmarks;
  // where neither is stated, 100 if any of their scores is above 1, else 1.
  double full_score = 0;
  std::optional<BootstrapOptions> bootstrap;  // for intervals: level, replicates and seed count
  LineMethod method = LineMethod::kAuto;
  // By row of the table: standard errors of the original scores, in their unit. Empty: those of
  // means over seeds.
  std::vector<std::optional<double>> from_errors;
};

// One fit for each of `to`. InvalidArgument for an unknown benchmark or excluded approach, for two
// benchmarks of different goals, for bad bootstrap options, and in probit or logit scale for a
// score outside [0, full_score] and for benchmarks of different scales or of one that is no share.
absl::StatusOr<std::vector<ShiftFit>> FitShift(const ScoreTable& table, const std::string& from,
                                               absl::Span<const std::string> to,
                                               const FitOptions& options);

struct ScoreIntervalOptions {
  double level = 0.95;
  double full_score = 0;  // what a share of 1 is; 0: ScoreTable::full_score of each benchmark
  std::optional<ExampleUnit> unit = {};  // of clusters, as ClustersOf takes it
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

// One row for each system. Text is a table for each fit. CSV has a line, and the other forms a
// note, for each approach that lacks a score. JSON: {"fits":[{"from","to","scale","n","slope",
// "intercept","r_squared","mean_gap","systems":[{"name","from","to","gap","rank","new_rank",
// "delta_rank","fitted","predicted","residual"}],"missing":[…]}]}; references have no ranks and
// "reference": true; with a bootstrap also "level",
// and "slope_interval" and its like as [low, high]; with score intervals "from_interval" and
// "to_interval". JSON lines: one such fit a line.
std::string WriteShift(const std::vector<ShiftFit>& fits, TableFormat format);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_FIT_H_
