// SPDX-License-Identifier: Apache-2.0
// Comparisons as tables: of approaches on their examples, of groups of approaches, of strata, and
// of two score tables.
//
// Thread-safe (stateless).
#ifndef CONCUR_REPORT_COMPARISON_TABLES_H_
#define CONCUR_REPORT_COMPARISON_TABLES_H_

#include <string>
#include <vector>

#include "analysis/bootstrap.h"
#include "analysis/comparison/comparison.h"
#include "analysis/comparison/strata.h"
#include "analysis/comparison/table_difference.h"
#include "analysis/concurrence/contrast.h"
#include "analysis/score_table.h"
#include "report/table.h"

namespace concur::analysis {

// One row for each pair.
Table ComparisonTable(const std::vector<BenchmarkComparison>& comparisons,
                      const ComparisonOptions& options);

// One row for each pair of benchmarks. `options` are those that made the contrast.
Table ContrastTable(const ScoreTable& table, const GroupContrast& contrast,
                    const BootstrapOptions& options);

// One row for each stratum, and one, named "(all)", with the prediction.
Table StrataTable(const std::vector<StratifiedPrediction>& predictions, double level);

// One row for each flip; `before` and `after` name the tables.
Table DifferenceTable(const TableDifference& difference, const std::string& before,
                      const std::string& after);

}  // namespace concur::analysis

#endif  // CONCUR_REPORT_COMPARISON_TABLES_H_
