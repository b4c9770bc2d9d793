// SPDX-License-Identifier: Apache-2.0
// Replay of plans on a complete table: coefficients from what each budget buys, against those of
// the whole table.
//
// Thread-safe (stateless): the results depend on the seed, and not on `parallel_for`.
#ifndef CONCUR_BENCH_REPLAYS_PLAN_REPLAY_H_
#define CONCUR_BENCH_REPLAYS_PLAN_REPLAY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analysis/bootstrap.h"
#include "analysis/plan/plan.h"
#include "analysis/score_table.h"
#include "analysis/statistics/coefficient.h"
#include "report/table.h"

namespace concur::analysis {

struct ReplayOptions {
  Coefficient coefficient = Coefficient::kKendall;     // one that has plans
  std::vector<double> budgets = {0.1, 0.2, 0.3, 0.5};  // shares of the cost of the whole table
  int64_t replays = 200;
  uint64_t seed = 1;
  double level = 0.95;
  ParallelFor parallel_for = SequentialFor;
};

// Means over replays and pairs of benchmarks. A pair without a coefficient counts as estimated by
// 0 with the interval [-1, 1].
struct PolicyResult {
  double mean_abs_error = 0;
  double standard_error = 0;  // standard error of mean_abs_error, over replays
  double coverage = 0;        // share of intervals that hold the table's value
  double half_width = 0;      // mean, of intervals
  double cost = 0;            // mean, as a share of the whole table
  double undefined = 0;       // share of pairs
};

struct ReplayPoint {
  double budget = 0;
  PolicyResult planned;
  PolicyResult rows;   // complete approaches in random order
  PolicyResult cells;  // cells in random order
};

// InvalidArgument for a table with missing scores, with fewer than two benchmarks or five
// approaches, or with more than kPlanSizeMax pairs of benchmarks times approaches, and for
// options out of range.
absl::Status CheckReplay(const ScoreTable& table, const ReplayOptions& options);

// InvalidArgument as CheckReplay.
absl::StatusOr<std::vector<ReplayPoint>> ReplayPlans(const ScoreTable& table,
                                                     const CellCosts& costs,
                                                     const ReplayOptions& options);

Table ReplayTable(const std::vector<ReplayPoint>& points, const ScoreTable& scores,
                  const CellCosts& costs, const ReplayOptions& options);
// {"points": [{"budget", "planned": {"mean_abs_error", "coverage", …}, "rows": …, "cells": …}]};
// with the row of UntilTable also "until": {…}.
std::string ReplayJson(const std::vector<ReplayPoint>& points,
                       const std::optional<Table>& until = std::nullopt);

}  // namespace concur::analysis

#endif  // CONCUR_BENCH_REPLAYS_PLAN_REPLAY_H_
