// SPDX-License-Identifier: Apache-2.0
// Uncertainty of each coefficient of a matrix when approaches, seeds and test examples all count
// as drawn by chance, how much of that each of them causes, and what more of which could narrow.
//
// Thread-safe (stateless). The same runs, options and seed give the same bits on any number of
// threads. Method, sources and simulations: docs/statistics.md.
#ifndef CONCUR_ANALYSIS_CONCURRENCE_UNCERTAINTY_H_
#define CONCUR_ANALYSIS_CONCURRENCE_UNCERTAINTY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/bootstrap.h"
#include "analysis/concurrence/structure.h"
#include "analysis/example_runs.h"
#include "analysis/score_table.h"
#include "analysis/statistics/correlation.h"
#include "analysis/statistics/intervals.h"

namespace concur::analysis {

struct UncertaintyOptions {
  Coefficient coefficient = Coefficient::kKendall;
  BootstrapOptions bootstrap;
  std::optional<ExampleUnit> unit;  // as ClustersOf takes it
};

// Variances of a coefficient; standard deviations are their roots.
struct PairUncertainty {
  size_t a = 0;
  size_t b = 0;
  int64_t n = 0;                     // approaches with both scores
  std::optional<double> value;       // nothing: undefined
  std::optional<Interval> interval;  // interval of the hierarchical bootstrap
  std::string warning;
  double total = 0;  // all variance
  // Part of it that more test examples can remove; nothing without per-example scores.
  std::optional<double> examples;
  std::optional<double> seeds;  // … more seeds; nothing where no approach has two runs
  double approaches = 0;        // the rest: only more approaches can narrow it
  // As `examples`, with every example drawn alone; nothing where that is how they are drawn.
  std::optional<double> examples_alone;
  // The coefficient without noise of seeds and examples, with its interval; nothing where the noise
  // is not known, is most of the spread, or the coefficient has no correction (noise.h).
  std::optional<double> noise_free;
  std::optional<Interval> noise_free_interval;
  // Mean shift of the coefficient by noise of seeds and examples: mostly towards 0.
  double shift_by_noise = 0;
};

struct Uncertainty {
  UncertaintyOptions options;
  std::vector<std::string> benchmarks;
  std::vector<std::string> approaches;
  std::vector<std::string> left_out;
  std::vector<std::string> minimized;  // benchmarks of which less is better
  std::vector<BenchmarkFlag> flags;    // benchmarks that hardly tell approaches apart
  // By benchmark: what is drawn in place of single examples, and the share of the variance of
  // scores that is not noise.
  std::vector<ExampleClusters> clusters;
  std::vector<std::optional<double>> reliabilities;
  std::vector<PairUncertainty> pairs;  // the upper triangle by rows
};

// Fewer test examples of a benchmark than this, or groups of them, get a warning: a bootstrap of n
// underestimates the variance by a share of 1/n.
inline constexpr int64_t kIntervalExamplesMin = 30;

// Cells are means over runs of means over examples, negated where less is better: as in
// a matrix, a positive coefficient means agreement on what is better. A pair uses the approaches
// that have both. InvalidArgument for bad bootstrap options, fewer than two benchmarks, runs of a
// length other than `examples`, scores that are not finite, and more than 100 million replicates of
// pairs.
absl::StatusOr<Uncertainty> ComputeUncertainty(ExampleRuns runs, const UncertaintyOptions& options);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_CONCURRENCE_UNCERTAINTY_H_
