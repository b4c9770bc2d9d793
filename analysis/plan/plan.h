// SPDX-License-Identifier: Apache-2.0
// Which cells of a score table to run next so that the coefficients between its benchmarks are
// known well at least cost, and what is known of them after some were run.
//
// Every approach draws one permanent random number u in (0, 1). A cell belongs to the sample of
// threshold k when u < k * rate(cell); the rate is sqrt(w / c), with c the cost of the cell's block
// of benchmarks for that approach and w how many pairs the block limits. So cheap benchmarks are
// run for nearly all approaches, costly ones for a sample in which cheap approaches are more
// frequent, and with equal costs whole rows are run in random order. Cells in the order of u / rate
// are the plan: it can be stopped anywhere and resumed, and depends on the seed alone.
//
// Thread-safe (values, stateless). Method, sources and replays: docs/planning.md.
#ifndef CONCUR_ANALYSIS_PLAN_PLAN_H_
#define CONCUR_ANALYSIS_PLAN_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "analysis/score_table.h"
#include "analysis/statistics/coefficient.h"

namespace concur::analysis {

// The coefficients that have plans: "kendall", "pearson" and "spearman". InvalidArgument for
// others.
absl::StatusOr<Coefficient> ParsePlannedCoefficient(absl::string_view name);
// REQUIRES, for both: one that has plans.
absl::string_view PlannedTitle(Coefficient coefficient);   // "Kendall's tau-b", "Pearson's r", …
absl::string_view PlannedSymbol(Coefficient coefficient);  // "tau", "r", "rho"

// Pairs of benchmarks times approaches of the largest table that is planned.
inline constexpr size_t kPlanSizeMax = 10'000'000;

// A number for each cell, approach by approach.
struct CellGrid {
  CellGrid() = default;
  CellGrid(size_t rows, size_t columns, double value)
      : approaches(rows), benchmarks(columns), values(rows * columns, value) {}

  double at(size_t approach, size_t benchmark) const {
    return values[approach * benchmarks + benchmark];
  }
  double& at(size_t approach, size_t benchmark) {
    return values[approach * benchmarks + benchmark];
  }

  size_t approaches = 0;
  size_t benchmarks = 0;
  std::vector<double> values;
};

struct CellCosts {
  CellGrid grid;          // above 0
  int64_t estimated = 0;  // cells whose cost the table of costs does not have
};

// 1 for every cell.
CellCosts EqualCosts(const ScoreTable& table);
// The costs of `table`'s cells by the names in `costs`, a table of the same kind. A missing one is
// the product of an effect of the approach and one of the benchmark, which are medians of what is
// there; an approach without any cost is taken for a typical one. InvalidArgument for a benchmark
// without any cost, and for costs that are negative.
absl::StatusOr<CellCosts> MatchCosts(const ScoreTable& table, const ScoreTable& costs);

// The cells that have a score, and with which probability each was to be run.
struct CellSample {
  std::vector<bool> has;  // approach by approach
  CellGrid probability;
  // True if the cells of one approach were drawn independently of each other. Else they share the
  // approach's number, so that two were run together with the lesser of their probabilities.
  bool independent = false;
  double cost = 0;
  bool Has(size_t approach, size_t benchmark) const {
    return has[approach * probability.benchmarks + benchmark];
  }
};

// A cell and its place in the plan: cells with equal keys are to be run together.
struct PlannedCell {
  double key = 0;
  size_t approach = 0;
  size_t benchmark = 0;
};

class CellPlan {
 public:
  CellPlan(const CellCosts& costs, uint64_t seed);

  // In the order in which they are to be run.
  const std::vector<PlannedCell>& cells() const { return cells_; }
  double total_cost() const { return total_; }
  double CostOf(const PlannedCell& cell) const { return costs_.at(cell.approach, cell.benchmark); }
  // The cells whose key is below `threshold`.
  CellSample Below(double threshold) const;
  // The first cells, up to `cost` in all; equal keys together.
  CellSample Within(double cost) const;
  // With which probability a cell belongs to Below(threshold).
  double Probability(size_t approach, size_t benchmark, double threshold) const;

 private:
  CellGrid costs_;
  CellGrid rates_;
  std::vector<PlannedCell> cells_;
  double total_ = 0;
};

// Baselines: complete approaches, and cells, in random order, as many as cost no more than `cost`.
CellSample RandomRows(const CellCosts& costs, double cost, uint64_t seed);
CellSample RandomCells(const CellCosts& costs, double cost, uint64_t seed);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_PLAN_PLAN_H_
