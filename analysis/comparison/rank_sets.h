// SPDX-License-Identifier: Apache-2.0
// Confidence sets for ranks, and groups of approaches no two of which are told apart.
//
// Thread-safe (stateless). The same estimate, options and seed give the same bits on any number of
// threads. Method and sources: docs/statistics.md.
#ifndef CONCUR_ANALYSIS_COMPARISON_RANK_SETS_H_
#define CONCUR_ANALYSIS_COMPARISON_RANK_SETS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "analysis/bootstrap.h"
#include "analysis/comparison/generalization.h"
#include "analysis/example_runs.h"
#include "analysis/score_table.h"

namespace concur::analysis {

// Estimates with their joint error: estimate = truth + sum over u of g_u factors[u], where the g_u
// are independent with mean 0 and variance 1.
struct RankEstimate {
  std::vector<double> values;                // larger is better
  std::vector<std::vector<double>> factors;  // each as long as `values`
  // Degrees of freedom of each variance, estimated from few units; 0: the factors are known.
  double degrees = 0;
  std::string unit;       // varying unit, for people: "benchmarks", "test examples", "given errors"
  std::string note = {};  // which units count as one, for people
};

// Averages over the benchmarks of the first group, as if these were a sample, paired over
// approaches. Benchmarks of one other group, which does not hold them all, count as one unit. Where
// no group tells, those count as one whose residuals (scores less the approach's average and the
// benchmark's, in units of the approach's spread) of five approaches or more correlate above 0.5 by
// average linkage.
// With five approaches and units that all correlate positively (six or more; of fewer, slopes that
// differ from 0 by Student's t at 1 %), residuals are taken from each benchmark's own slope over
// the averages: unrelated units agree so in at most 1 of 32 tables. InvalidArgument with fewer than
// three benchmarks, and with more than 2000. REQUIRES: every approach listed has all scores of the
// group; `table` is oriented.
absl::StatusOr<RankEstimate> EstimateOverBenchmarks(const ScoreTable& table,
                                                    absl::Span<const BenchmarkGroup> groups,
                                                    const std::vector<size_t>& approaches);
// Averages over these very benchmarks, whose scores have independent standard errors; NaN: unknown.
// `errors` has the table's approaches and benchmarks by name. InvalidArgument for a missing error.
absl::StatusOr<RankEstimate> EstimateFromErrors(const ScoreTable& table,
                                                const BenchmarkGroup& group,
                                                const std::vector<size_t>& approaches,
                                                const ScoreTable& errors);
// Averages over these very benchmarks, whose test examples are a sample, drawn in clusters (by
// `unit`, as ClustersOf takes it) and paired over approaches. `table` is not oriented, and its
// scores are shares (ScoreTable::full_score); `examples` has a table for each benchmark.
// InvalidArgument names what is missing.
absl::StatusOr<RankEstimate> EstimateOverExamples(const ScoreTable& table,
                                                  const BenchmarkGroup& group,
                                                  const std::vector<size_t>& approaches,
                                                  const std::vector<ExampleTable>& examples,
                                                  std::optional<ExampleUnit> unit);

struct RankSet {
  int64_t low = 0;  // 1: the best
  int64_t high = 0;
};

struct RankSets {
  std::vector<RankSet> marginal;      // each holds its approach's true rank with the level
  std::vector<RankSet> simultaneous;  // all hold theirs together
  // By approach: from 1 for the best; an approach starts a group when it is told apart from some
  // approach of the group before, all pairs together.
  std::vector<int64_t> groups;
  // Between neighbours in the order of values, best first: two-sided, adjusted for all pairs.
  std::vector<size_t> order;
  std::vector<double> neighbour_p;
};

struct RankSetOptions {
  double level = 0.95;
  // Differences up to this, in the unit of the values, are none: what is shown of two approaches is
  // that one exceeds the other by more, and a set holds all ranks from 1 + the number of approaches
  // that truly do so to the number of those that it does not exceed so.
  double ties_within = 0;
  int64_t draws = 2000;
  uint64_t seed = 1;
  ParallelFor parallel_for = SequentialFor;
};

inline constexpr size_t kRankedMax = 1000;

// Step-down confidence sets for ranks by pairwise differences in units of their standard errors
// (Mogstad, Romano, Shaikh and Wilhelm, Review of Economic Studies 2024; two-sided, as the R
// package csranks; p-values: Romano and Wolf, Econometrica 2005). Critical values are quantiles of
// the largest difference of noise, in draws with the factors.
// Where variances are estimated, with nu degrees each, the covariance S of the estimates is shrunk
// to lambda S + (1 - lambda) v / 2 I, v the mean variance of a difference and lambda the share of
// the spread of these variances that nu does not explain (credibility; Ledoit and Wolf, Journal of
// Multivariate Analysis 2004); a difference is never measured by less than its own variance. Draws
// are multivariate t. The degrees of v are nu times Box's epsilon (Annals of Mathematical
// Statistics 1954) times n - 1, the harmonic mean of the plain and the unbiased estimate; those of
// both parts together have 1 / sqrt(degrees) = lambda / sqrt(nu) + (1 - lambda) / sqrt(those of v).
// From five degrees on, a fifth of the error level goes to each pair's own Student's t, by
// Bonferroni. With less than one degree, or no spread at all, nothing is told apart.
// With ties_within, t is of the excess over it, which is no larger than the noise where the true
// difference is no larger.
// InvalidArgument for a level not in (0, 1), ties_within that is negative or infinite, draws not in
// [100, 1'000'000], more than kRankedMax approaches, and more than 100 million draws for all
// approaches together.
absl::StatusOr<RankSets> ComputeRankSets(const RankEstimate& estimate,
                                         const RankSetOptions& options);

// The approaches that have an average of the first group, by rank.
std::vector<size_t> RankedApproaches(const Generalization& ranking);

// EstimateOverBenchmarks of the first group's averages; unset where it resolves no ranks: of fewer
// than two approaches or three benchmarks, and of more than `approaches_max` approaches.
absl::StatusOr<std::optional<RankEstimate>> EstimateIfResolvable(
    const ScoreTable& table, const Generalization& ranking, size_t approaches_max = kRankedMax);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_COMPARISON_RANK_SETS_H_
