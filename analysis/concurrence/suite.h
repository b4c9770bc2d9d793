// SPDX-License-Identifier: Apache-2.0
// A benchmark against its suite: how similarly it ranks the approaches as the other benchmarks do
// on average.
//
// Thread-safe (stateless). The same table and options give the same bits.
#ifndef CONCUR_ANALYSIS_CONCURRENCE_SUITE_H_
#define CONCUR_ANALYSIS_CONCURRENCE_SUITE_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/concurrence/matrix.h"
#include "analysis/score_table.h"

namespace concur::analysis {

// A table of two columns: a benchmark, and each approach's mean rank on the others (the corrected
// item-total correlation, Henrysson, Psychometrika 1963, in ranks). Ranks are shares from 0 to 1,
// (average rank - 1/2) / n of the n approaches on that benchmark, so that those of benchmarks with
// gaps compare; more is better. An approach without any other score has none. The first column
// keeps its cells; both are oriented. REQUIRES: benchmark < table.benchmarks().size().
absl::StatusOr<ScoreTable> AgainstOthers(const ScoreTable& table, size_t benchmark);

// The matrix of each such table, in order. InvalidArgument for fewer than three benchmarks, and
// what ComputeMatrix refuses.
absl::StatusOr<std::vector<ConcurrenceMatrix>> CompareWithSuite(const ScoreTable& table,
                                                                const MatrixOptions& options);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_CONCURRENCE_SUITE_H_
