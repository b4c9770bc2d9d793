// SPDX-License-Identifier: Apache-2.0
// Coefficients between groups of benchmarks as a table.
//
// Thread-safe (stateless).
#ifndef CONCUR_REPORT_BLOCK_TABLE_H_
#define CONCUR_REPORT_BLOCK_TABLE_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "analysis/comparison/generalization.h"
#include "analysis/concurrence/concordance.h"
#include "analysis/concurrence/matrix.h"
#include "report/table.h"

namespace concur::analysis {

// For every two groups, and each with itself: how many pairs of benchmarks lie between them, and
// the median, least and greatest coefficient, with the pairs that have them. Pairs of a benchmark
// with itself do not count; undefined pairs are counted apart. Lists the benchmarks in no group.
// `within` has each group's concordance, or is empty; `intervals` says how its intervals were made,
// "" without any.
Table BlockTable(const ConcurrenceMatrix& matrix, const std::vector<BenchmarkGroup>& groups,
                 absl::Span<const Concordance> within = {}, const std::string& intervals = "");

}  // namespace concur::analysis

#endif  // CONCUR_REPORT_BLOCK_TABLE_H_
