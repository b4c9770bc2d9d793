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
#include "analysis/intervals.h"
#include "analysis/score_table.h"

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
  // Ranks by `from` and by `to` among the listed systems: 1 is the best, ties share the best rank.
  int64_t rank = 0;
  int64_t new_rank = 0;
  bool fitted = true;  // false: left out of the line (asked for, or a score that is 0 or 100 %)
  // What the line predicts, and the score beyond it (effective robustness); in the table's unit.
  // Nothing where there is no line, or the scale has no value for `from`.
  std::optional<double> predicted;
  std::optional<double> residual;
  // With a bootstrap: where the line lies at `from` in the central share `level` of the replicates
  // (a point of its band), and the score beyond it there. Only the line is uncertain in these.
  std::optional<Interval> predicted_interval;
  std::optional<Interval> residual_interval;
  // Of the scores themselves, where AddScoreIntervals has put them.
  std::optional<Interval> from_interval;
  std::optional<Interval> to_interval;
};

struct ShiftFit {
  std::string from;
  std::string to;
  FitScale scale = FitScale::kLinear;
  int64_t n = 0;  // systems behind the line
  // Of the transformed scores. Nothing with fewer than two different `from` scores; r_squared also
  // where all `to` scores are equal.
  std::optional<double> slope;
  std::optional<double> intercept;
  std::optional<double> r_squared;
  std::optional<double> mean_gap;  // over the systems behind the line, in the table's unit
  // Percentile bootstrap over systems, where asked for.
  double level = 0;
  std::optional<Interval> slope_interval;
  std::optional<Interval> intercept_interval;
  std::optional<Interval> r_squared_interval;
  std::optional<Interval> mean_gap_interval;
  std::vector<FittedSystem> systems;  // by `from`, best first; ties in the table's order
  std::vector<std::string> missing;   // approaches that lack a score
};

struct FitOptions {
  FitScale scale = FitScale::kLinear;
  std::vector<std::string> exclude;  // approaches to list but not to fit, e.g. human scores
  // What a perfect score is: 100 for percent, 1 for shares. 0: 100 if any score is above 1, else 1.
  double full_score = 0;
  std::optional<BootstrapOptions> bootstrap;  // level, replicates and seed count
};

// One fit for each of `to`. InvalidArgument for an unknown benchmark or excluded approach, for a
// score outside [0, full_score] in probit or logit scale, and for bad bootstrap options.
absl::StatusOr<std::vector<ShiftFit>> FitShift(const ScoreTable& table, const std::string& from,
                                               absl::Span<const std::string> to,
                                               const FitOptions& options);

// Sets from_interval and to_interval from per-example scores (of share 0 to 1) where there are any:
// Clopper and Pearson's when every score of the list is 0 or 1, else Student's t; in the table's
// unit, `full_score` being a perfect score. InvalidArgument for a bad level.
absl::Status AddScoreIntervals(const std::vector<ExampleTable>& examples, double full_score,
                               double level, std::vector<ShiftFit>& fits);

// Forms as in writers.h; JSON: {"fits":[{"from","to","scale","n","slope","intercept","r_squared",
// "mean_gap","systems":[{"name","from","to","gap","rank","new_rank","delta_rank","fitted",
// "predicted","residual"}],"missing":[…]}]}; with a bootstrap also "level", and "slope_interval"
// and its like as [low, high]; with score intervals "from_interval" and "to_interval".
std::string ShiftText(const std::vector<ShiftFit>& fits);
std::string ShiftCsv(const std::vector<ShiftFit>& fits);  // one line for each system
std::string ShiftJson(const std::vector<ShiftFit>& fits);
std::string ShiftJsonLines(const std::vector<ShiftFit>& fits);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_FIT_H_
