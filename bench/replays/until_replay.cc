// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan_until.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "analysis/coefficient.h"
#include "analysis/plan.h"
#include "analysis/plan_estimate.h"
#include "analysis/plan_power.h"
#include "analysis/plan_replay.h"
#include "analysis/score_table.h"
#include "analysis/table.h"
#include "base/status_macros.h"

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

absl::StatusOr<UntilRule> ParseUntil(absl::string_view text) {
  absl::string_view rest = absl::StripAsciiWhitespace(text);
  UntilRule rule;
  bool is_known = false;
  // "r" is the beginning of "rho".
  for (const Coefficient coefficient :
       {Coefficient::kKendall, Coefficient::kSpearman, Coefficient::kPearson}) {
    if (!is_known && absl::ConsumePrefix(&rest, PlannedSymbol(coefficient))) {
      rule.coefficient = coefficient;
      is_known = true;
    }
  }
  rest = absl::StripLeadingAsciiWhitespace(rest);
  if (!absl::ConsumePrefix(&rest, "±")) {
    absl::ConsumePrefix(&rest, "+-");
  }
  if (!is_known || !absl::SimpleAtod(rest, &rule.within) || !(rule.within > 0 && rule.within < 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected \"tau ±W\", \"r ±W\" or \"rho ±W\" with a half-width W between 0 and "
        "1, such as \"tau ±0.1\", got \"",
        text, "\""));
  }
  return rule;
}

std::string UntilText(const UntilRule& rule) {
  return absl::StrCat(PlannedSymbol(rule.coefficient), " ±", rule.within);
}

std::vector<CellBatch> BatchesOf(const CellPlan& plan, size_t approaches) {
  constexpr double kFirstShare = 0.1;
  constexpr double kApproachesFirst = 8;  // fewer say too little for an interval
  constexpr double kGrowth = 4.0 / 3;
  const std::vector<PlannedCell>& cells = plan.cells();
  std::vector<CellBatch> batches;
  double next = std::max(kFirstShare, kApproachesFirst / static_cast<double>(approaches));
  double cost = 0;
  for (size_t i = 0; i < cells.size(); ++i) {
    cost += plan.CostOf(cells[i]);
    const bool is_last = i + 1 == cells.size();
    if (!is_last && (cells[i + 1].key == cells[i].key || cost < next * plan.total_cost())) {
      continue;
    }
    batches.push_back({is_last ? std::numeric_limits<double>::infinity() : cells[i + 1].key, i + 1,
                       is_last ? 1 : cost / plan.total_cost()});
    while (cost >= next * plan.total_cost()) {
      next *= kGrowth;
    }
  }
  return batches;
}

double LevelOfLook(double level, size_t looks) {
  return looks < 2 ? level : 1 - (1 - level) / static_cast<double>(looks - 1);
}

Look LookAt(const RankedTable& table, const CellPlan& plan, double threshold,
            const std::vector<bool>& scored, Coefficient coefficient, double level) {
  CellSample sample = plan.Below(threshold);
  for (size_t i = 0; i < scored.size(); ++i) {
    sample.has[i] = sample.has[i] && scored[i];
  }
  PairEstimateOptions options;
  options.coefficient = coefficient;
  options.level = level;
  options.pool = false;
  Look look;
  look.pairs = EstimatePairs(table, sample, options);
  for (size_t p = 0; p < look.pairs.size(); ++p) {
    const double width = (look.pairs[p].interval.high - look.pairs[p].interval.low) / 2;
    if (width > look.half_width) {
      look.half_width = width;
      look.widest = p;
    }
  }
  return look;
}

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
