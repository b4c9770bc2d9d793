// SPDX-License-Identifier: Apache-2.0
// Coefficients between benchmarks, of all approaches of a table, from a sample of its cells.
//
// Only approaches that have both scores count, each weighted by the inverse of the probability with
// which it came into the sample; no missing score is filled in. Intervals are for the value that
// the complete table has: a pair all of whose scores are there has an interval without width.
//
// Thread-safe (stateless). Formulas and sources: docs/planning.md.
#ifndef CONCUR_ANALYSIS_PLAN_PLAN_ESTIMATE_H_
#define CONCUR_ANALYSIS_PLAN_PLAN_ESTIMATE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/plan/plan.h"
#include "analysis/plan/plan_pool.h"
#include "analysis/score_table.h"
#include "analysis/statistics/coefficient.h"

namespace concur::analysis {

// The scores of each benchmark and their dense ranks, 1 for the least; ties share one; 0: no score.
// Computed once for many samples.
class RankedTable {
 public:
  explicit RankedTable(const ScoreTable& oriented);

  size_t approaches() const { return approaches_; }
  size_t benchmarks() const { return ranks_.size(); }
  const std::vector<int32_t>& ranks(size_t benchmark) const { return ranks_[benchmark]; }
  // 0 where there is none.
  const std::vector<double>& scores(size_t benchmark) const { return scores_[benchmark]; }
  // Approaches with a score, in order of rank.
  const std::vector<size_t>& order(size_t benchmark) const { return orders_[benchmark]; }

 private:
  size_t approaches_ = 0;
  std::vector<std::vector<int32_t>> ranks_;
  std::vector<std::vector<double>> scores_;
  std::vector<std::vector<size_t>> orders_;
};

struct PairEstimateOptions {
  Coefficient coefficient = Coefficient::kKendall;  // one that has plans
  double level = 0.95;
  // True if the approaches are themselves a sample: then the interval is that of the population
  // that they come from, and has a width also where no score is missing.
  bool approaches_are_sample = false;
  bool pool = true;
};

// Every pair a < b, in order of a, then b.
std::vector<PairEstimate> EstimatePairs(const RankedTable& table, const CellSample& sample,
                                        const PairEstimateOptions& options);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_PLAN_PLAN_ESTIMATE_H_
