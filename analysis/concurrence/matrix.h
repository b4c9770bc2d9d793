// SPDX-License-Identifier: Apache-2.0
// A concurrence matrix: for every two benchmarks of a score table, how similarly they rank the
// approaches, on how many approaches that rests, and which ones are missing.
//
// Immutable once computed; thread-compatible.
#ifndef CONCUR_ANALYSIS_CONCURRENCE_MATRIX_H_
#define CONCUR_ANALYSIS_CONCURRENCE_MATRIX_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/bootstrap.h"
#include "analysis/concurrence/bounds.h"
#include "analysis/concurrence/difference.h"
#include "analysis/concurrence/structure.h"
#include "analysis/families.h"
#include "analysis/score_table.h"
#include "analysis/statistics/correlation.h"
#include "analysis/statistics/intervals.h"

namespace concur::analysis {

struct MatrixOptions {
  Coefficient coefficient = Coefficient::kKendall;
  // Use only approaches that have a score on every benchmark, instead of, for each pair, those
  // that have both scores.
  bool complete_cases = false;
  size_t influences = 0;     // for each pair, list so many of the most influential approaches
  bool swaps = false;        // for each pair, list the approaches that swap places
  bool p_values = false;     // compute p-values of independence; they cost more than all the rest
  size_t top = kTopDefault;  // the k of the top-k overlap
  bool bounds = false;       // for each pair, what missing scores could make of it
  // Set: with intervals from the bootstrap over approaches (its `top` is the one above), or …
  std::optional<BootstrapOptions> bootstrap;
  std::optional<double> fisher_level;  // … by Fisher's z; the bootstrap takes precedence
  // Needs the bootstrap.
  std::vector<DifferenceQuery> differences;
  std::string families;  // the tag of approaches whose values are families, as FamiliesOf takes it
  // Loop for the coefficients of many approaches; any order and any threads give the same bits.
  ParallelFor parallel_for = SequentialFor;
};

struct MatrixPair {
  size_t a = 0;  // indices of benchmarks, a < b
  size_t b = 0;
  Correlation correlation;  // its p-value is NaN unless asked for
  std::optional<Interval> interval;
  // The coefficient without the noise of seeds; nothing where cells do not tell it
  // (SeedReliability) or both benchmarks score the same trained models.
  std::optional<double> noise_free;
  std::string warning;                      // about the interval; mostly ""
  std::vector<size_t> missing;              // indices of approaches without a value in a or in b
  std::vector<Influence> influences;        // where asked for, strongest first
  std::vector<Swap> swaps;                  // where asked for, clearest first
  std::optional<CoefficientBounds> bounds;  // where asked for and there is one
};

// A missing score and its reason.
struct MissingScore {
  size_t approach = 0;
  size_t benchmark = 0;
  CellState state = CellState::kMissing;
};

struct ConcurrenceMatrix {
  Coefficient coefficient = Coefficient::kKendall;
  double level = 0;                     // level of the intervals; 0 without
  std::string interval_method;          // e.g. "BCa bootstrap, 10000 replicates, seed 1"
  std::vector<std::string> benchmarks;  // the table's order
  std::vector<std::string> approaches;
  // The upper triangle by rows: (0,1), (0,2), …, (1,2), …
  std::vector<MatrixPair> pairs;
  Families families;                   // families of the approaches
  std::vector<std::string> warnings;   // about all intervals, but for:
  std::optional<Relatives> relatives;  // undeclared, which make intervals too short
  std::vector<MissingScore> missing;   // by benchmark, then approach
  std::vector<int> decimals;           // decimal places of each benchmark's scores
  // Benchmarks with scores of which some seeds or settings are not there, and how many.
  std::vector<std::pair<size_t, size_t>> partial;
  std::vector<BenchmarkFlag> flags;    // benchmarks that hardly tell approaches apart
  bool with_swaps = false;             // pairs list their swaps
  std::vector<std::string> left_out;   // approaches dropped by complete_cases
  std::vector<std::string> minimized;  // benchmarks of which less is better
  std::vector<SettingChoice> choices;  // ways in which their settings were chosen, in order
  size_t top = kTopDefault;            // the k of the top-k overlap
  double ties_within = 0;              // the largest of the benchmarks'
  bool with_bounds = false;            // pairs carry their bounds
  bool with_p_values = false;
  std::vector<PairDifference> differences;

  // REQUIRES: a < b < benchmarks.size().
  const MatrixPair& pair(size_t a, size_t b) const {
    return pairs[a * (2 * benchmarks.size() - a - 1) / 2 + (b - a - 1)];
  }
};

// More benchmarks than this make more pairs than anyone can read or memory should hold.
inline constexpr size_t kMatrixBenchmarksMax = 2000;

// Computes all pairs, of oriented scores: a positive coefficient means agreement on what is better,
// whatever the benchmarks' goals. A pair without a defined coefficient says why; it is not an
// error. InvalidArgument for a families tag that no approach carries, when the table has more than
// kMatrixBenchmarksMax benchmarks, for ties_within with another coefficient than tau-b, with
// p-values, bounds or Fisher's intervals, which know of none, for differences without a bootstrap,
// and what BootstrapPairs, BootstrapDifferences, ValidateFisher and BoundsOfPair refuse.
absl::StatusOr<ConcurrenceMatrix> ComputeMatrix(const ScoreTable& table,
                                                const MatrixOptions& options);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_CONCURRENCE_MATRIX_H_
