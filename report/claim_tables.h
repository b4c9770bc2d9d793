// SPDX-License-Identifier: Apache-2.0
// Claims about concurrence as tables: that pairs exceed a threshold, what is left of them given
// another column, and how each benchmark agrees with the rest of its suite.
//
// Thread-safe (stateless).
#ifndef CONCUR_REPORT_CLAIM_TABLES_H_
#define CONCUR_REPORT_CLAIM_TABLES_H_

#include <vector>

#include "analysis/concurrence/matrix.h"
#include "analysis/concurrence/partial.h"
#include "analysis/score_table.h"
#include "report/table.h"

namespace concur::analysis {

// One row for each pair: one-sided bounds and AboveClaim. `matrix` was computed at
// LevelOfBounds(level).
Table AboveTable(const ConcurrenceMatrix& matrix, double threshold, double level);

// One row for each pair: tau-b, and partial tau-b with its interval.
Table PartialTable(const PartialMatrix& partial);

// One row for each benchmark of the suite, from CompareWithSuite(table).
Table SuiteTable(const ScoreTable& table, const std::vector<ConcurrenceMatrix>& members);

}  // namespace concur::analysis

#endif  // CONCUR_REPORT_CLAIM_TABLES_H_
