// SPDX-License-Identifier: Apache-2.0
#include "report/plan_tables.h"

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analysis/plan/plan_estimate.h"
#include "base/decimal.h"
#include "base/status_macros.h"
#include "report/notes.h"

namespace concur::analysis {

Table NextTable(const NextCells& next, const ScoreTable& table, const CellCosts& costs,
                const NextOptions& options) {
  Table output;
  output.title = absl::StrFormat("What to run next, for %s within ± %g",
                                 PlannedTitle(options.coefficient), options.within);
  output.columns = {{"step", "step", true},
                    {"approach", "approach"},
                    {"benchmarks", "benchmarks"},
                    {"cost", "cost", true},
                    {"cost_so_far", "so far", true}};
  output.columns[2].wraps = true;
  double so_far = 0;
  int64_t step = 0;
  for (const NextStep& next_step : next.steps) {
    std::vector<std::string> names;
    for (const size_t b : next_step.benchmarks) {
      names.push_back(table.benchmarks()[b].name);
    }
    so_far += next_step.cost;
    output.rows.push_back(
        {IntegerCell(++step), TextCell(table.approaches()[next_step.approach].name),
         TextCell(absl::StrJoin(names, ", ")), NumberCell(next_step.cost), NumberCell(so_far)});
  }
  const auto name_of = [&](const PairEstimate& pair) {
    return absl::StrCat(table.benchmarks()[pair.a].name, " × ", table.benchmarks()[pair.b].name);
  };
  const PairEstimate& widest = next.pairs[next.widest];
  if (next.half_width <= options.within) {
    output.notes.push_back(absl::StrFormat(
        "Stop: every coefficient of these approaches is known to ± %g.", options.within));
  } else {
    output.notes.push_back(
        absl::StrFormat("The widest interval now: %s, ± %.2f from %d approaches.", name_of(widest),
                        next.half_width, widest.n));
  }
  if (!next.steps.empty()) {
    output.notes.push_back(absl::StrFormat(
        "These steps cost %.3g of the %.3g that all missing cells cost; plan again after some of "
        "them, as widths are expected from what is known.",
        next.cost, next.cost_of_rest));
  }
  const std::string& pair = name_of(next.pairs[next.sample_widest]);
  output.notes.push_back(
      next.approaches_more > 0
          ? absl::StrFormat("For approaches in general, %s is known to ± %.2f even with every cell "
                            "run: ± %g takes about %d more approaches.",
                            pair, next.sample_half_width, options.within, next.approaches_more)
          : std::string("They are enough for approaches in general, too."));
  if (!next.in_order) {
    output.notes.push_back(
        "The existing scores were not run in the order of this plan; their approaches are treated "
        "as chosen at random.");
  }
  if (next.failed > 0) {
    output.notes.push_back(absl::StrCat("Failed cells are not planned again: ", next.failed, "."));
  }
  if (next.stopped > 0) {
    output.notes.push_back(absl::StrCat(
        "Cells whose settings were stopped early are not planned again: ", next.stopped, "."));
  }
  if (next.excluded > 0) {
    output.notes.push_back(
        absl::StrCat("Cells that the sweep excludes are not planned: ", next.excluded, "."));
  }
  if (costs.estimated > 0) {
    output.notes.push_back(absl::StrCat(
        "Costs of ", costs.estimated, " cells are not known and were estimated from the others."));
  }
  output.details = ChoiceNotes(table.benchmarks());
  return output;
}

absl::StatusOr<Table> PowerTable(const PowerOptions& options) {
  CONCUR_ASSIGN_OR_RETURN(const PowerNeeds needs, ComputePower(options));
  Table table;
  table.title = absl::StrFormat("Approaches, seeds and examples needed to know %s of %g to ± %g",
                                PlannedTitle(options.coefficient), options.value, options.within);
  table.columns = {{"unit", "of"},
                   {"count", "count", true},
                   {"half_width", "half-width", true, 3},
                   {"shift", "shift by noise", true, 3},
                   {"needed", "needed"}};
  HalfWidths widths(options.coefficient, options.value, options.level);
  const auto add_approaches = [&](int64_t n, bool needed) {
    table.rows.push_back({TextCell("approaches"), IntegerCell(n), NumberCell(widths.Of(n)),
                          TableCell(), YesNoCell(needed)});
  };
  std::set<int64_t> counts = {5, 10, 20, 32, 50, 100, 200, 500, 1000};
  counts.insert(needs.approaches);
  for (const int64_t n : counts) {
    add_approaches(n, n == needs.approaches);
  }
  const auto add_noise = [&](const std::string& unit, const NoiseNeed& need) {
    table.rows.push_back({TextCell(unit), IntegerCell(need.count), TableCell(),
                          NumberCell(need.shift), YesNoCell(true)});
  };
  add_noise("seeds", needs.seeds);
  add_noise("examples", needs.examples);
  table.notes = {
      absl::StrCat("Approaches as a sample of more, without ties; half-widths of ",
                   ShortestDecimal(100 * options.level), " % intervals."),
      absl::StrFormat(
          "Seeds and examples, each alone, so that noise shifts one of %g by at most a quarter "
          "of ± %g: true scores with a standard deviation of %g points, seeds of %g, and %g %% of "
          "the examples right.",
          needs.shifted, options.within, options.spread, options.seed_spread, options.accuracy)};
  return table;
}

}  // namespace concur::analysis
