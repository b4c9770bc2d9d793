// SPDX-License-Identifier: Apache-2.0
// Do two approaches differ on one benchmark, or could the test examples alone explain it? Paired
// comparisons from per-example scores.
//
// Thread-safe (stateless). The same table, options and seed give the same bits, however the work
// is spread over threads. Means and differences are in the unit of the table (ExampleTable::unit).
// Where examples share passages or documents, these are the clusters that change sign. Formulas and
// sources: docs/reports.md.
#ifndef CONCUR_ANALYSIS_COMPARISON_COMPARISON_H_
#define CONCUR_ANALYSIS_COMPARISON_COMPARISON_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "analysis/bootstrap.h"
#include "analysis/example_runs.h"
#include "analysis/statistics/intervals.h"
#include "base/metric_meaning.h"

namespace concur::analysis {

// Counts of examples that both, one or neither of two approaches answered right.
struct McNemar {
  int64_t both = 0;
  int64_t only_a = 0;
  int64_t only_b = 0;
  int64_t neither = 0;
  double p_value = 1;  // two-sided, exact (binomial); 1 when they never disagree
};
// REQUIRES: only_a >= 0, only_b >= 0.
double McNemarPValue(int64_t only_a, int64_t only_b);

struct PairedComparison {
  size_t a = 0;  // indices of approaches
  size_t b = 0;
  double mean_a = 0;
  double mean_b = 0;
  double difference = 0;             // mean_a - mean_b
  std::optional<Interval> interval;  // interval of the difference: ClusteredMeanInterval
  // Two-sided, of the paired permutation test: the share of ways to swap the two approaches,
  // cluster by cluster, that differ by at least as much; where no draw does, a bound of that share.
  double p_value = 1;
  // The same as if examples were independent; differs where clusters are not single examples.
  std::optional<Interval> question_interval;
  double question_p = 1;
  // None unless all scores of both are 0 or 1, of which the better one is right.
  std::optional<McNemar> mcnemar;
  // Corrected by HolmCorrect; the p-values themselves before that.
  double p_value_holm = 1;
  double mcnemar_p_holm = 1;
};

struct ComparisonOptions {
  BootstrapOptions bootstrap;           // level; draws of the permutation test, seed, threads
  std::optional<std::string> baseline;  // compare all others with this one, instead of all pairs
  std::optional<ExampleUnit> unit;      // as ClustersOf takes it
};

struct BenchmarkComparison {
  std::string benchmark;
  std::string metric;
  Goal goal = Goal::kMaximize;
  std::vector<std::string> approaches;
  size_t examples = 0;
  ExampleUnit unit = ExampleUnit::kExample;  // unit of the clusters
  size_t clusters = 0;
  std::vector<PairedComparison> pairs;  // the better mean is never b; ties in the table's order
  std::vector<std::string> left_out;
};

// Compares the approaches of one benchmark; fewer than two make no pairs. A permutation
// changes the signs of the same clusters for all approaches. Tests of at most 16 clusters that
// differ, and of right and wrong answers by example, count all permutations. InvalidArgument for an
// unknown baseline, values that are not as many as the table says or not finite, no examples at
// all, and what ValidateBootstrapOptions refuses.
absl::StatusOr<BenchmarkComparison> CompareApproaches(const ExampleTable& table,
                                                      const ComparisonOptions& options);

// Corrects both p-values of all pairs of all benchmarks together: as many tests as were made.
void HolmCorrect(std::vector<BenchmarkComparison>& comparisons);

// CompareApproaches for each table, corrected together. A table with fewer than two approaches has
// no pairs and says so in left_out.
absl::StatusOr<std::vector<BenchmarkComparison>> CompareAll(const std::vector<ExampleTable>& tables,
                                                            const ComparisonOptions& options);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_COMPARISON_COMPARISON_H_
