// SPDX-License-Identifier: Apache-2.0
// When to stop running a plan's cells: coefficients are looked at after batches of cells, at times
// that are fixed beforehand, and each look has an equal share of the chance of error (Bonferroni).
// So all intervals of all looks hold together with the level that was asked for, whenever the run
// stops and for whatever reason.
//
// Thread-safe (values, stateless). Formulas and figures: docs/planning.md.
#ifndef CONCUR_ANALYSIS_PLAN_PLAN_UNTIL_H_
#define CONCUR_ANALYSIS_PLAN_PLAN_UNTIL_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "analysis/plan/plan.h"
#include "analysis/plan/plan_estimate.h"
#include "analysis/statistics/coefficient.h"

namespace concur::analysis {

// When every coefficient between benchmarks is known well enough.
struct UntilRule {
  Coefficient coefficient = Coefficient::kKendall;  // one that has plans
  double within = 0.1;                              // the half-width
};
// "tau ±W" (also "tau +-W" and "tau W"), "r ±W" or "rho ±W", with W between 0 and 1.
// InvalidArgument, without the place, for anything else.
absl::StatusOr<UntilRule> ParseUntil(absl::string_view text);
// "tau ±0.1".
std::string UntilText(const UntilRule& rule);

// A batch of cells, and the look at the coefficients that follows it.
struct CellBatch {
  double threshold = 0;  // limit below which cells are released by then: CellPlan::Below
  size_t cells = 0;      // number of these cells
  double cost = 0;       // their cost, as a share of all
};
// In order. The costs of the first look and of each further one grow by a third, from a tenth of
// the whole or from what eight approaches cost; the last batch is all that is left.
std::vector<CellBatch> BatchesOf(const CellPlan& plan, size_t approaches);
// Level of the intervals at every look, so that those of all looks hold with `level`. The last look
// is at the whole table, which leaves nothing to chance, and takes no share.
double LevelOfLook(double level, size_t looks);

struct Look {
  std::vector<PairEstimate> pairs;
  size_t widest = 0;      // the pair with the widest interval
  double half_width = 0;  // half-width of that interval
};
// Estimates from the cells below `threshold` that have a score (`scored`, approach by
// approach), by intervals of `level`.
Look LookAt(const RankedTable& table, const CellPlan& plan, double threshold,
            const std::vector<bool>& scored, Coefficient coefficient, double level);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_PLAN_PLAN_UNTIL_H_
