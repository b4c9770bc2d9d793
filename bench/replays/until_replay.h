// SPDX-License-Identifier: Apache-2.0
// Replays a stopping rule (analysis/plan/plan_until.h) on the planned cells of a complete table.
//
// Thread-safe (stateless): the results depend on the seed, and not on `parallel_for`.
#ifndef CONCUR_BENCH_REPLAYS_UNTIL_REPLAY_H_
#define CONCUR_BENCH_REPLAYS_UNTIL_REPLAY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "analysis/bootstrap.h"
#include "analysis/plan/plan.h"
#include "analysis/plan/plan_until.h"
#include "analysis/score_table.h"
#include "report/table.h"

namespace concur::analysis {

struct UntilOptions {
  UntilRule rule;
  double level = 0.95;
  int64_t replays = 200;
  uint64_t seed = 1;
  ParallelFor parallel_for = SequentialFor;
};

// Means over replays, at the time of stopping.
struct UntilReplay {
  double cost = 0;            // share of the whole table
  double looks = 0;           // up to the last one
  double coverage = 0;        // share of intervals, over replays and pairs, that hold the value
  double all_hold = 0;        // share of replays all of whose intervals do
  double mean_abs_error = 0;  // over pairs
  double half_width = 0;      // half-width of the widest interval
  double whole = 0;           // share of replays that ran every cell
};
// InvalidArgument as ReplayPlans, and for a width or level out of range.
absl::StatusOr<UntilReplay> ReplayUntil(const ScoreTable& table, const CellCosts& costs,
                                        const UntilOptions& options);

Table UntilTable(const UntilReplay& replay, const UntilOptions& options);

}  // namespace concur::analysis

#endif  // CONCUR_BENCH_REPLAYS_UNTIL_REPLAY_H_
