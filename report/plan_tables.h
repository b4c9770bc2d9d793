// SPDX-License-Identifier: Apache-2.0
// Plans as tables: what to run next, and how many approaches, seeds and examples it takes.
//
// Thread-safe (stateless).
#ifndef CONCUR_REPORT_PLAN_TABLES_H_
#define CONCUR_REPORT_PLAN_TABLES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "analysis/plan/plan.h"
#include "analysis/plan/plan_next.h"
#include "analysis/plan/plan_power.h"
#include "analysis/score_table.h"
#include "report/table.h"

namespace concur::analysis {

// One row for each step.
Table NextTable(const NextCells& next, const ScoreTable& table, const CellCosts& costs,
                const NextOptions& options);

// A row for each number of approaches, then how many approaches, seeds and examples are needed.
// Seeds and examples are enough when their noise shifts tau by at most a quarter of `within`.
// InvalidArgument for options out of range.
absl::StatusOr<Table> PowerTable(const PowerOptions& options);

}  // namespace concur::analysis

#endif  // CONCUR_REPORT_PLAN_TABLES_H_
