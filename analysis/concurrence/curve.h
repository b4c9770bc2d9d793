// SPDX-License-Identifier: Apache-2.0
// Concurrence as a function of the number of approaches, of training examples, or of the settings
// tried in tuning.
//
// Thread-safe (stateless). Draws come from named streams of the seed; same inputs, same bytes.
// Scores are in the table's unit; what is better, each benchmark's goal says. Formulas and sources:
// docs/statistics.md.
#ifndef CONCUR_ANALYSIS_CONCURRENCE_CURVE_H_
#define CONCUR_ANALYSIS_CONCURRENCE_CURVE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "analysis/bootstrap.h"
#include "analysis/score_table.h"
#include "analysis/statistics/correlation.h"
#include "analysis/statistics/intervals.h"

namespace concur::analysis {

struct CurveOptions {
  Coefficient coefficient = Coefficient::kKendall;
  size_t top = kTopDefault;
  int64_t draws = 1000;  // subsets for each point, where there are more; 10 to 1,000,000
  uint64_t seed = 1;
  double level = 0.95;  // level of the range that subsets spread over, and of intervals
};

// A coefficient at one point of a curve.
struct CurvePoint {
  size_t a = 0;  // columns
  size_t b = 0;
  double x = 0;                   // approaches, settings, training examples
  std::optional<double> value;    // mean over subsets; nothing where it is undefined in most
  std::optional<Interval> range;  // the central `level` of subsets, or the bootstrap interval
  double standard_deviation = 0;
  int64_t draws = 0;      // subsets behind the mean
  int64_t undefined = 0;  // subsets in which the coefficient was undefined, left out of it
};

// Every pair for 3, 4, … up to all approaches: over random subsets of so many approaches, without
// replacement. The last point is the coefficient itself. A pair uses those of a subset that have
// both scores. InvalidArgument for bad options; more than 1,000 approaches.
absl::StatusOr<std::vector<CurvePoint>> ApproachCurve(const ScoreTable& table,
                                                      const CurveOptions& options);

// A benchmark that stands for a point on the x axis, e.g. SQuAD cut to 10,000 examples.
struct SizedBenchmark {
  size_t benchmark = 0;
  double size = 0;  // training examples
};
// Coefficients of each sized benchmark with each target, ordered by target, then size, with
// bootstrap intervals over approaches; `bootstrap` unset: without. Errors: those of BootstrapPairs.
absl::StatusOr<std::vector<CurvePoint>> SizeCurve(const ScoreTable& table,
                                                  absl::Span<const SizedBenchmark> sized,
                                                  absl::Span<const size_t> targets,
                                                  const CurveOptions& options,
                                                  const std::optional<BootstrapOptions>& bootstrap);
// Sizes from a tag of the benchmarks ("train_examples=10000"); those without it are left out.
// InvalidArgument when none carries it, or a value is not a number.
absl::StatusOr<std::vector<SizedBenchmark>> SizesByTag(const ScoreTable& table,
                                                       const std::string& tag);

// The expected best of 1, 2, …, n of the n values, drawn without replacement: an unbiased estimate
// of the expected best of k fresh draws (Tang et al., ACL 2020). Empty for no values.
// REQUIRES: all finite.
std::vector<double> ExpectedMaxima(absl::Span<const double> values);

// A table of single settings: rows "APPROACH #SETTING", as Select::kEach makes them, or "APPROACH"
// where there is one setting only, with the tag setting=SETTING. Scores by approach, then by
// setting in the table's order.
struct SettingScores {
  std::vector<std::string> approaches;
  std::vector<std::string> benchmarks;
  std::vector<std::vector<size_t>> rows;  // by approach: rows of the table
  ScoreTable table;
};
// InvalidArgument when a row has no tag `setting`.
absl::StatusOr<SettingScores> GroupSettings(const ScoreTable& each);

// One row for each approach, benchmark and budget k: the expected best of k of its settings.
struct ExpectedBest {
  size_t approach = 0;
  size_t benchmark = 0;
  int64_t k = 0;
  int64_t settings = 0;  // number of settings that have a score
  double value = 0;      // the expected least score where less is better
};
std::vector<ExpectedBest> ExpectedBestCurve(const SettingScores& scores);

// Every pair when each approach is tuned over k of its settings, k from 1 to the most that all
// approaches have: draws of k settings for each approach, the same ones on all benchmarks, of which
// each benchmark takes its best. InvalidArgument for bad options.
absl::StatusOr<std::vector<CurvePoint>> BudgetCurve(const SettingScores& scores,
                                                    const CurveOptions& options);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_CONCURRENCE_CURVE_H_
