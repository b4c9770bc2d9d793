// SPDX-License-Identifier: Apache-2.0
#include "analysis/concurrence/matrix.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "analysis/bootstrap.h"
#include "analysis/comparison/parts.h"
#include "analysis/concurrence/bounds.h"
#include "analysis/concurrence/difference.h"
#include "analysis/concurrence/family_permutation.h"
#include "analysis/concurrence/pairwise.h"
#include "analysis/concurrence/structure.h"
#include "analysis/families.h"
#include "analysis/noise.h"
#include "analysis/statistics/correlation.h"
#include "analysis/statistics/fisher.h"
#include "base/status_macros.h"

namespace concur::analysis {
namespace {

// Warns of an interval that holds the truth too rarely in simulations (docs/coverage.md).
void AddFewWarning(const ScoreTable& table, const Families& families, MatrixPair& pair) {
  if (!pair.interval.has_value()) {
    return;
  }
  const std::string few = FewUnitsWarning(
      families.declared(),
      families.declared() ? SizesOfPair(table, families.members, pair.a, pair.b).effective : 0,
      pair.correlation.n);
  if (!few.empty()) {
    absl::StrAppend(&pair.warning, pair.warning.empty() ? "" : "; ", few);
  }
}

// P-values that take relatives as such, where families are declared.
void AddFamilyPValues(const ScoreTable& table, const MatrixOptions& options,
                      ConcurrenceMatrix& matrix) {
  constexpr size_t kWorkMax = 200'000'000;
  const size_t work = std::max<size_t>(1, matrix.pairs.size() * matrix.approaches.size());
  const auto permutations = static_cast<int64_t>(std::clamp<size_t>(kWorkMax / work, 99, 999));
  options.parallel_for(matrix.pairs.size(), [&](size_t i) {
    MatrixPair& pair = matrix.pairs[i];
    pair.correlation.p_value =
        FamilyPermutationPValue(table, matrix.families.members, pair.a, pair.b, options.coefficient,
                                options.top, permutations);
  });
}

absl::Status AddFisherIntervals(const ScoreTable& table, double level, ConcurrenceMatrix& matrix) {
  CONCUR_RETURN_IF_ERROR(ValidateFisher(matrix.coefficient, level));
  matrix.level = level;
  matrix.interval_method = "Fisher's z, which assumes normal scores without ties";
  for (MatrixPair& pair : matrix.pairs) {
    if (!pair.correlation.defined()) {
      continue;
    }
    const absl::StatusOr<Interval> interval =
        FisherInterval(matrix.coefficient, pair.correlation.value, pair.correlation.n, level);
    if (interval.ok()) {
      pair.interval = *interval;
      pair.warning = FisherWarning(matrix.coefficient, pair.correlation.value);
    } else {
      pair.warning = std::string(interval.status().message());
    }
    AddFewWarning(table, matrix.families, pair);
  }
  return absl::OkStatus();
}

absl::Status AddBounds(const ScoreTable& table, const MatrixOptions& options,
                       ConcurrenceMatrix& matrix) {
  BoundsOptions bounds;
  bounds.top = options.top;
  matrix.with_bounds = true;
  for (MatrixPair& pair : matrix.pairs) {
    CONCUR_ASSIGN_OR_RETURN(pair.bounds,
                            BoundsOfPair(table, options.coefficient, pair.a, pair.b, bounds));
  }
  return absl::OkStatus();
}

absl::Status AddIntervals(const ScoreTable& table, const BootstrapOptions& options,
                          ConcurrenceMatrix& matrix) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<BootstrapInterval> intervals,
                          BootstrapPairs(table, matrix.coefficient, options));
  matrix.level = options.level;
  BootstrapOptions used = options;
  used.method = MethodOf(matrix.coefficient, options.method);
  matrix.interval_method = BootstrapText(used, matrix.families);
  for (size_t i = 0; i < intervals.size(); ++i) {
    if (matrix.pairs[i].correlation.defined()) {
      matrix.pairs[i].interval = intervals[i].interval;
      matrix.pairs[i].warning = intervals[i].warning;
      AddFewWarning(table, matrix.families, matrix.pairs[i]);
    }
  }
  return absl::OkStatus();
}

// Adds what is known of relatives among the approaches, and what it means for the intervals.
absl::Status AddFamilies(const ScoreTable& table, const MatrixOptions& options,
                         ConcurrenceMatrix& matrix) {
  CONCUR_ASSIGN_OR_RETURN(matrix.families, FamiliesOf(table, options.families));
  if (options.fisher_level.has_value() && !options.bootstrap.has_value() &&
      matrix.families.declared()) {
    matrix.warnings.push_back(
        "Fisher's z takes approaches as unrelated; bca and percentile draw families");
  }
  const bool with_intervals = options.bootstrap.has_value() || options.fisher_level.has_value();
  if (with_intervals && !matrix.families.declared() && options.families.empty()) {
    matrix.relatives = LikelyRelatives(table);
  }
  return absl::OkStatus();
}

// "squad" of the column "squad → newsqa"; "" of a column of what was trained for it alone.
absl::string_view TrainSetOf(absl::string_view column) {
  const size_t arrow = column.find(" → ");
  return arrow == absl::string_view::npos ? "" : column.substr(0, arrow);
}

bool HasGap(const ScoreTable& table, size_t column) {
  for (size_t row = 0; row < table.approaches().size(); ++row) {
    if (table.cell(row, column).state != CellState::kValue) {
      return true;
    }
  }
  return false;
}

void AddNoiseFree(const ScoreTable& table, ConcurrenceMatrix& matrix) {
  // A column's reliability is the same beside every column without a gap; where it has none alone,
  // it has none beside another.
  std::vector<std::optional<double>> alone(table.benchmarks().size());
  std::vector<bool> has_gap(alone.size());
  for (size_t column = 0; column < alone.size(); ++column) {
    alone[column] = SeedReliability(table, column, column);
    has_gap[column] = HasGap(table, column);
  }
  const auto reliability = [&](size_t column, size_t other) {
    return alone[column] && has_gap[other] ? SeedReliability(table, column, other) : alone[column];
  };
  for (MatrixPair& pair : matrix.pairs) {
    const absl::string_view train = TrainSetOf(matrix.benchmarks[pair.a]);
    if (!pair.correlation.defined() || !HasNoiseCorrection(matrix.coefficient) ||
        matrix.ties_within > 0 ||
        (!train.empty() && train == TrainSetOf(matrix.benchmarks[pair.b]))) {
      continue;
    }
    const double first = reliability(pair.a, pair.b).value_or(0);
    const double second = reliability(pair.b, pair.a).value_or(0);
    if (std::min(first, second) >= kReliabilityMin) {
      pair.noise_free = WithoutNoise(matrix.coefficient, pair.correlation.value, 0, first * second);
    }
  }
}

void AddStructure(const ScoreTable& table, const MatrixOptions& options,
                  ConcurrenceMatrix& matrix) {
  matrix.with_swaps = options.swaps;
  if (options.influences > 0) {
    std::vector<std::vector<Influence>> influences =
        LeaveOneOut(table, options.coefficient, options.influences, options.top);
    for (size_t i = 0; i < influences.size(); ++i) {
      matrix.pairs[i].influences = std::move(influences[i]);
    }
  }
  if (options.swaps) {
    for (MatrixPair& pair : matrix.pairs) {
      pair.swaps = FindSwaps(table, pair.a, pair.b);
    }
  }
}

}  // namespace

absl::StatusOr<ConcurrenceMatrix> ComputeMatrix(const ScoreTable& scores,
                                                const MatrixOptions& options) {
  const size_t benchmarks = scores.benchmarks().size();
  if (benchmarks > kMatrixBenchmarksMax) {
    return absl::InvalidArgumentError(absl::StrCat("expected at most ", kMatrixBenchmarksMax,
                                                   " benchmarks in a matrix, got ", benchmarks,
                                                   "; choose some with --columns or --where"));
  }
  const ScoreTable table = scores.Oriented();
  ConcurrenceMatrix matrix;
  for (const AxisEntry& benchmark : scores.benchmarks()) {
    matrix.ties_within = std::max(matrix.ties_within, benchmark.ties_within);
  }
  if (matrix.ties_within > 0 &&
      (options.coefficient != Coefficient::kKendall || options.p_values || options.bounds ||
       (options.fisher_level.has_value() && !options.bootstrap.has_value()))) {
    return absl::InvalidArgumentError(
        "ties-within: needs the coefficient kendall and intervals by bca or percentile, and has no "
        "p-values (--tests) and no bounds");
  }
  matrix.minimized = scores.Minimized();
  for (const AxisEntry& benchmark : scores.benchmarks()) {
    matrix.choices.push_back(benchmark.choice);
  }
  matrix.warnings = BeyondScale(scores);
  for (std::string& warning : PartWarnings(scores)) {
    matrix.warnings.push_back(std::move(warning));
  }
  matrix.coefficient = options.coefficient;
  matrix.top = options.top;
  matrix.with_p_values = options.p_values;
  matrix.benchmarks = NamesOf(table.benchmarks());
  ScoreTable complete_cases;
  if (options.complete_cases) {
    complete_cases = table.CompleteCases();
  }
  const ScoreTable& used = options.complete_cases ? complete_cases : table;
  matrix.approaches = NamesOf(used.approaches());
  if (options.complete_cases) {
    size_t kept = 0;
    for (const AxisEntry& approach : table.approaches()) {
      if (kept < used.approaches().size() && used.approaches()[kept].name == approach.name) {
        ++kept;
      } else {
        matrix.left_out.push_back(approach.name);
      }
    }
  }
  for (size_t b = 0; b < benchmarks; ++b) {
    size_t partial = 0;
    for (size_t i = 0; i < used.approaches().size(); ++i) {
      if (used.cell(i, b).state != CellState::kValue) {
        matrix.missing.push_back({i, b, used.cell(i, b).state});
      } else {
        partial += used.cell(i, b).IsPartial() ? 1 : 0;
      }
    }
    if (partial > 0) {
      matrix.partial.emplace_back(b, partial);
    }
    matrix.decimals.push_back(used.decimals(b));
  }
  matrix.pairs.reserve(benchmarks * (benchmarks - (benchmarks > 0 ? 1 : 0)) / 2);
  PairwiseCorrelations correlations(used, options.coefficient, options.p_values, options.top,
                                    options.parallel_for);
  for (size_t a = 0; a < benchmarks; ++a) {
    for (size_t b = a + 1; b < benchmarks; ++b) {
      MatrixPair& pair = matrix.pairs.emplace_back();
      pair.a = a;
      pair.b = b;
      pair.correlation = correlations.Compute(a, b, pair.missing);
    }
  }
  matrix.flags = FlagBenchmarks(options.complete_cases ? scores.CompleteCases() : scores);
  AddNoiseFree(used, matrix);
  AddStructure(used, options, matrix);
  CONCUR_RETURN_IF_ERROR(AddFamilies(used, options, matrix));
  if (matrix.families.declared() && options.p_values) {
    AddFamilyPValues(used, options, matrix);
  }
  if (options.bootstrap.has_value()) {
    BootstrapOptions bootstrap = *options.bootstrap;
    bootstrap.top = options.top;
    bootstrap.families = options.families;
    CONCUR_RETURN_IF_ERROR(AddIntervals(used, bootstrap, matrix));
    CONCUR_ASSIGN_OR_RETURN(
        matrix.differences,
        BootstrapDifferences(used, options.coefficient, options.differences, bootstrap));
  } else if (!options.differences.empty()) {
    return absl::InvalidArgumentError(
        "difference: needs bootstrap intervals; give --interval and --interval-method bca or "
        "percentile");
  } else if (options.fisher_level.has_value()) {
    CONCUR_RETURN_IF_ERROR(AddFisherIntervals(used, *options.fisher_level, matrix));
  }
  if (options.bounds) {
    CONCUR_RETURN_IF_ERROR(AddBounds(used, options, matrix));
  }
  return matrix;
}

}  // namespace concur::analysis
