// SPDX-License-Identifier: Apache-2.0
#include "bench/replays/until_replay.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "analysis/plan/plan_estimate.h"
#include "analysis/plan/plan_power.h"
#include "base/status_macros.h"
#include "bench/replays/plan_replay.h"

namespace concur::analysis {
namespace {

constexpr double kRoundingOfCoverage = 1e-9;

struct Stopped {
  double cost = 0;
  size_t looks = 0;
  Look look;
};

// One replay of a complete table: runs batch after batch.
Stopped RunUntil(const RankedTable& table, const CellPlan& plan, const UntilOptions& options) {
  const std::vector<CellBatch> batches = BatchesOf(plan, table.approaches());
  const std::vector<bool> scored(table.approaches() * table.benchmarks(), true);
  const double level = LevelOfLook(options.level, batches.size());
  Stopped stopped;
  for (const CellBatch& batch : batches) {
    stopped.cost = batch.cost;
    ++stopped.looks;
    stopped.look = LookAt(table, plan, batch.threshold, scored, options.rule.coefficient, level);
    if (stopped.look.half_width <= options.rule.within) {
      break;
    }
  }
  return stopped;
}

}  // namespace

absl::StatusOr<UntilReplay> ReplayUntil(const ScoreTable& table, const CellCosts& costs,
                                        const UntilOptions& options) {
  ReplayOptions checked;
  checked.replays = options.replays;
  checked.level = options.level;
  CONCUR_RETURN_IF_ERROR(CheckReplay(table, checked));
  CONCUR_RETURN_IF_ERROR(CheckPrecision(options.rule.within, options.level));
  const RankedTable ranked(table.Oriented());
  const std::vector<bool> all(table.approaches().size() * table.benchmarks().size(), true);
  const std::vector<PairEstimate> truth =
      LookAt(ranked, CellPlan(costs, options.seed), std::numeric_limits<double>::infinity(), all,
             options.rule.coefficient, options.level)
          .pairs;
  std::vector<UntilReplay> replays(static_cast<size_t>(options.replays));
  options.parallel_for(replays.size(), [&](size_t number) {
    const Stopped stopped = RunUntil(ranked, CellPlan(costs, options.seed + number), options);
    UntilReplay& replay = replays[number];
    for (size_t p = 0; p < truth.size(); ++p) {
      const PairEstimate& pair = stopped.look.pairs[p];
      replay.coverage += pair.interval.low <= truth[p].value + kRoundingOfCoverage &&
                                 truth[p].value <= pair.interval.high + kRoundingOfCoverage
                             ? 1
                             : 0;
      replay.mean_abs_error += std::abs(pair.value - truth[p].value);
    }
    const auto pairs = static_cast<double>(truth.size());
    replay.all_hold = replay.coverage == pairs ? 1 : 0;
    replay.coverage /= pairs;
    replay.mean_abs_error /= pairs;
    replay.cost = stopped.cost;
    replay.looks = static_cast<double>(stopped.looks);
    replay.half_width = stopped.look.half_width;
    replay.whole = stopped.cost == 1 ? 1 : 0;
  });
  UntilReplay mean;
  const auto count = static_cast<double>(replays.size());
  for (double UntilReplay::*const field :
       {&UntilReplay::cost, &UntilReplay::looks, &UntilReplay::coverage, &UntilReplay::all_hold,
        &UntilReplay::mean_abs_error, &UntilReplay::half_width, &UntilReplay::whole}) {
    for (const UntilReplay& replay : replays) {
      mean.*field += replay.*field;
    }
    mean.*field /= count;
  }
  return mean;
}

Table UntilTable(const UntilReplay& replay, const UntilOptions& options) {
  Table table;
  table.title =
      absl::StrFormat("Runs that stop when %s of every pair is known to ± %g: %d replays",
                      PlannedTitle(options.rule.coefficient), options.rule.within, options.replays);
  table.columns = {{"cost", "cost", true, 3},
                   {"looks", "looks", true, 2},
                   {"coverage", "coverage", true, 3},
                   {"all_hold", "all hold", true, 3},
                   {"mean_abs_error", "mean |error|", true, 3},
                   {"half_width", "widest ±", true, 3},
                   {"whole", "ran all", true, 3}};
  table.rows.push_back({NumberCell(replay.cost), NumberCell(replay.looks),
                        NumberCell(replay.coverage), NumberCell(replay.all_hold),
                        NumberCell(replay.mean_abs_error), NumberCell(replay.half_width),
                        NumberCell(replay.whole)});
  table.notes.push_back(absl::StrFormat(
      "Means over replays at the time of stopping: the share of the whole table's cost; how often "
      "intervals hold what the whole table gives, over replays and pairs, and all of a replay at "
      "once. The intervals of all looks together have the level %.0f %%.",
      100 * options.level));
  return table;
}

}  // namespace concur::analysis
