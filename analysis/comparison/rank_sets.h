// SPDX-License-Identifier: Apache-2.0
// How much of a ranking the data resolve: confidence sets for ranks, groups of approaches that
// cannot be told apart, and neighbours that differ.
//
// Thread-safe (stateless). The same estimate, options and seed give the same bits on any number of
// threads. Method and sources: docs/statistics.md.
#ifndef CONCUR_ANALYSIS_RANK_SETS_H_
#define CONCUR_ANALYSIS_RANK_SETS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/bootstrap.h"
#include "analysis/example_runs.h"
#include "analysis/generalization.h"
#include "analysis/score_table.h"
#include "analysis/table.h"

namespace concur::analysis {

// Estimates with their joint error: estimate = truth + sum over u of g_u factors[u], where the g_u
// are independent with mean 0 and variance 1.
struct RankEstimate {
  std::vector<double> values;                // larger is better
  std::vector<std::vector<double>> factors;  // each as long as `values`
  // Of Student's t, for variances estimated from few units; 0: known, the normal distribution.
  double degrees = 0;
  std::string unit;  // what varies, for people: "benchmarks", "test examples", "given errors"
};

// Averages over benchmarks, as if these were a sample: each benchmark is a factor, paired over
// approaches. InvalidArgument with fewer than three benchmarks. REQUIRES: every approach listed has
// all scores of the group.
absl::StatusOr<RankEstimate> EstimateOverBenchmarks(const ScoreTable& table,
                                                    const BenchmarkGroup& group,
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
  // By approach: from 1 for the best; an approach starts a group when it differs, simultaneously,
  // from the best of the group before.
  std::vector<int64_t> groups;
  // Between neighbours in the order of values, best first: two-sided p-values, and Holm's.
  std::vector<size_t> order;
  std::vector<double> neighbour_p;
  std::vector<double> neighbour_p_holm;
};

struct RankSetOptions {
  double level = 0.95;
  int64_t draws = 2000;
  uint64_t seed = 1;
  ParallelFor parallel_for = SequentialFor;
};

inline constexpr size_t kRankedMax = 1000;

// Step-down confidence sets for ranks by pairwise differences in units of their standard errors
// (Mogstad, Romano, Shaikh and Wilhelm, Review of Economic Studies 2024; two-sided, as the R
// package csranks). Critical values come from draws where the errors are known, and from Student's
// t with Holm's correction where each pair's error is estimated from few units. InvalidArgument for
// a level not in (0, 1), draws not in [100, 1'000'000], and more than kRankedMax approaches.
absl::StatusOr<RankSets> ComputeRankSets(const RankEstimate& estimate,
                                         const RankSetOptions& options);

// The approaches that have an average of the first group, by rank.
std::vector<size_t> RankedApproaches(const Generalization& ranking);

// EstimateOverBenchmarks of the first group's averages; unset where it resolves no ranks: of fewer
// than two approaches or three benchmarks, and of more than `approaches_max` approaches.
absl::StatusOr<std::optional<RankEstimate>> EstimateIfResolvable(
    const ScoreTable& table, const Generalization& ranking, size_t approaches_max = kRankedMax);

// Adds rank sets and groups to the rows of GeneralizationTable whose approaches, in its order, are
// ranked, and says below how many neighbours differ.
void AddRankSets(const RankEstimate& estimate, const RankSets& sets, const RankSetOptions& options,
                 Table& table);

// GeneralizationTable with how scores were chosen and, where there is an estimate, with rank sets.
// `goals_differ`: GroupsByGoal gave two groups, of which the first one ranks.
absl::StatusOr<Table> RankingTable(const ScoreTable& table, const Generalization& ranking,
                                   bool goals_differ, const std::optional<RankEstimate>& estimate,
                                   const RankSetOptions& options);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_RANK_SETS_H_
