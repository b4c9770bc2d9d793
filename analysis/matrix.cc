#include "analysis/matrix.h"

#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "analysis/bootstrap.h"
#include "analysis/bounds.h"
#include "analysis/correlation.h"
#include "analysis/difference.h"
#include "analysis/fisher.h"
#include "analysis/pairwise.h"
#include "analysis/structure.h"
#include "base/status_macros.h"

namespace concur::analysis {
namespace {

void AddFewApproachesWarning(MatrixPair& pair) {
  if (pair.interval.has_value() && pair.correlation.n < kIntervalApproachesMin) {
    absl::StrAppend(&pair.warning, pair.warning.empty() ? "" : "; ", "fewer than ",
                    kIntervalApproachesMin,
                    " approaches: may be too short, see docs/statistics.md");
  }
}

absl::Status AddFisherIntervals(double level, ConcurrenceMatrix& matrix) {
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
      if (matrix.coefficient == Coefficient::kKendall &&
          std::abs(pair.correlation.value) > kFisherTauMax) {
        pair.warning = "tau beyond 0.8: Fisher's z is too short there, see docs/statistics.md";
      }
    } else {
      pair.warning = std::string(interval.status().message());
    }
    AddFewApproachesWarning(pair);
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
  matrix.interval_method = absl::StrCat(
      options.method == BootstrapMethod::kBca ? "BCa" : "percentile",
      " bootstrap over approaches, ", options.replicates, " replicates, seed ", options.seed);
  for (size_t i = 0; i < intervals.size(); ++i) {
    if (matrix.pairs[i].correlation.defined()) {
      matrix.pairs[i].interval = intervals[i].interval;
      matrix.pairs[i].warning = intervals[i].warning;
      AddFewApproachesWarning(matrix.pairs[i]);
    }
  }
  return absl::OkStatus();
}

void AddStructure(const ScoreTable& table, const MatrixOptions& options,
                  ConcurrenceMatrix& matrix) {
  matrix.flags = FlagBenchmarks(table);
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

absl::StatusOr<ConcurrenceMatrix> ComputeMatrix(const ScoreTable& table,
                                                const MatrixOptions& options) {
  const size_t benchmarks = table.benchmarks().size();
  if (benchmarks > kMatrixBenchmarksMax) {
    return absl::InvalidArgumentError(absl::StrCat("expected at most ", kMatrixBenchmarksMax,
                                                   " benchmarks in a matrix, got ", benchmarks,
                                                   "; choose some with --columns or --where"));
  }
  ConcurrenceMatrix matrix;
  matrix.coefficient = options.coefficient;
  matrix.top = options.top;
  for (size_t b = 0; b < benchmarks; ++b) {
    matrix.benchmarks.push_back(table.benchmarks()[b].name);
  }
  ScoreTable complete_cases;
  if (options.complete_cases) {
    complete_cases = table.CompleteCases();
  }
  const ScoreTable& used = options.complete_cases ? complete_cases : table;
  for (const AxisEntry& approach : used.approaches()) {
    matrix.approaches.push_back(approach.name);
  }
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
    for (size_t i = 0; i < used.approaches().size(); ++i) {
      if (used.cell(i, b).state != CellState::kValue) {
        matrix.missing.push_back({i, b, used.cell(i, b).state});
      }
    }
  }
  matrix.pairs.reserve(benchmarks * (benchmarks - (benchmarks > 0 ? 1 : 0)) / 2);
  PairwiseCorrelations correlations(used, options.coefficient, options.p_values, options.top);
  for (size_t a = 0; a < benchmarks; ++a) {
    for (size_t b = a + 1; b < benchmarks; ++b) {
      MatrixPair& pair = matrix.pairs.emplace_back();
      pair.a = a;
      pair.b = b;
      pair.correlation = correlations.Compute(a, b, pair.missing);
    }
  }
  AddStructure(used, options, matrix);
  if (options.bootstrap.has_value()) {
    BootstrapOptions bootstrap = *options.bootstrap;
    bootstrap.top = options.top;
    CONCUR_RETURN_IF_ERROR(AddIntervals(used, bootstrap, matrix));
    CONCUR_ASSIGN_OR_RETURN(
        matrix.differences,
        BootstrapDifferences(used, options.coefficient, options.differences, bootstrap));
  } else if (!options.differences.empty()) {
    return absl::InvalidArgumentError(
        "difference: needs bootstrap intervals; give --interval and --interval-method bca or "
        "percentile");
  } else if (options.fisher_level.has_value()) {
    CONCUR_RETURN_IF_ERROR(AddFisherIntervals(*options.fisher_level, matrix));
  }
  if (options.bounds) {
    CONCUR_RETURN_IF_ERROR(AddBounds(used, options, matrix));
  }
  return matrix;
}

}  // namespace concur::analysis
