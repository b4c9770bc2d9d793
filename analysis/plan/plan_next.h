// SPDX-License-Identifier: Apache-2.0
// Cells to run next in a table that is partly there, until every coefficient is known to ± W.
//
// Thread-safe (values, stateless). Formulas and sources: docs/planning.md.
#ifndef CONCUR_ANALYSIS_PLAN_PLAN_NEXT_H_
#define CONCUR_ANALYSIS_PLAN_PLAN_NEXT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/plan/plan.h"
#include "analysis/plan/plan_estimate.h"
#include "analysis/score_table.h"
#include "analysis/statistics/coefficient.h"

namespace concur::analysis {

struct NextOptions {
  Coefficient coefficient = Coefficient::kKendall;  // one that has plans
  double within = 0.1;  // half-width of an interval that is narrow enough
  double level = 0.95;
  uint64_t seed = 1;
  // True for sweeps: cells without a job cannot run. They are missing, and none of their scores is.
  bool empty_is_excluded = false;
};

// Cells of one approach that are run together.
struct NextStep {
  size_t approach = 0;
  std::vector<size_t> benchmarks;
  double cost = 0;
};

struct NextCells {
  std::vector<PairEstimate> pairs;  // as they are known now
  size_t widest = 0;                // the one of these with the widest interval
  double half_width = 0;            // half-width of that interval
  std::vector<NextStep> steps;      // in order; empty when it is narrow enough
  double cost = 0;                  // cost of the steps
  double cost_of_rest = 0;          // cost of all cells that may be run and have no score
  bool in_order = true;             // the scores are those that this plan begins with
  int64_t failed = 0;               // cells that failed, which are not planned again
  int64_t stopped = 0;              // cells whose settings were stopped early: neither are these
  int64_t excluded = 0;             // cells that cannot be run
  // With the approaches as a sample of more: the widest half-width with every cell run, the pair
  // that has it, and how many more approaches would make it narrow enough.
  double sample_half_width = 0;
  size_t sample_widest = 0;
  int64_t approaches_more = 0;
};

// InvalidArgument for fewer than two benchmarks or five approaches, for tables that are too large
// (kPlanSizeMax), and for options out of range.
absl::StatusOr<NextCells> PlanNext(const ScoreTable& table, const CellCosts& costs,
                                   const NextOptions& options);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_PLAN_PLAN_NEXT_H_
