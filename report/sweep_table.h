// SPDX-License-Identifier: Apache-2.0
// From the scores of a sweep's jobs to its score table: the one way, for every program.
//
// Thread-safe (stateless, deterministic). The server lists scores and the client makes the table
// (docs/design/008-one-path-to-a-score-table.md).
#ifndef CONCUR_REPORT_SWEEP_TABLE_H_
#define CONCUR_REPORT_SWEEP_TABLE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/comparison/selection.h"
#include "analysis/score_table.h"
#include "core/job_score.h"
#include "core/sweep/sweep.h"

namespace concur {

// The axes and the selection rule of a sweep. Its columns are the benchmarks, then the train sets
// that are no benchmark's.
analysis::SelectionOptions SelectionOptionsOf(const SweepSpec& spec);

// Options that a caller gives for a table, besides the metric of its scores.
struct SweepTableOptions {
  // "best", "default", "mean", "each", "best-on-test"; empty: the sweep's rule.
  std::string select = {};
  bool show_validation = false;            // columns for validation sets, too
  std::vector<std::string> minimize = {};  // patterns of columns of which less is better, too
  // Divides benchmarks into their parts, but for those among `columns`, which are asked for.
  bool divide = true;
  std::vector<std::string> columns = {};
  analysis::Layout layout = analysis::Layout::kTrainInColumns;
};

// Pending, failed and canceled jobs count in their cells; those that succeeded without the metric
// do not. A benchmark of which some job has scores of parts has a column for each part in its place
// (analysis/comparison/parts.h); jobs without a part's score are missing there. InvalidArgument for
// an unknown rule, for a pattern that no column matches, for scores of other approaches or
// benchmarks than the sweep's, and for a metric that no job reported, though some have succeeded or
// no benchmark names it.
inline constexpr size_t kPartCellsMax = 2'000'000;  // jobs times parts
absl::StatusOr<analysis::ScoreTable> SweepTable(const SweepSpec& spec,
                                                const std::vector<JobScore>& scores,
                                                const SweepTableOptions& options = {});

}  // namespace concur

#endif  // CONCUR_REPORT_SWEEP_TABLE_H_
