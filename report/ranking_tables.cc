// SPDX-License-Identifier: Apache-2.0
#include "report/ranking_tables.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/comparison/parts.h"
#include "analysis/references.h"
#include "base/decimal.h"
#include "base/metric_meaning.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "report/notes.h"
#include "report/text.h"

namespace concur::analysis {
namespace {

// The digits after the point that tell the scores of every benchmark of the group apart.
int DecimalsOf(const ScoreTable& table, const BenchmarkGroup& group) {
  int decimals = TableColumn().decimals;
  for (const size_t benchmark : group.benchmarks) {
    decimals = std::max(decimals, table.decimals(benchmark));
  }
  return decimals;
}

// True when the average lacks some seed or setting.
bool IsPartialAverage(const ScoreTable& table, size_t approach, const BenchmarkGroup& group) {
  return std::any_of(group.benchmarks.begin(), group.benchmarks.end(),
                     [&](size_t b) { return table.cell(approach, b).IsPartial(); });
}

}  // namespace

std::string SizesSentence(const ScoreTable& table, const BenchmarkGroup& group) {
  constexpr double kApart = 10;
  std::vector<std::pair<double, std::string>> sizes;  // medians, names
  bool any_without_limits = false;
  for (const size_t benchmark : group.benchmarks) {
    std::vector<double> values;
    for (const ScoreCell& cell : table.column(benchmark)) {
      if (cell.state == CellState::kValue) {
        values.push_back(std::abs(cell.value));
      }
    }
    if (!values.empty()) {
      std::sort(values.begin(), values.end());
      sizes.emplace_back(values[values.size() / 2], ScreenName(table.benchmarks()[benchmark].name));
      any_without_limits = any_without_limits || !table.range(benchmark);
    }
  }
  if (!any_without_limits) {
    return "";
  }
  const auto [small, large] = std::minmax_element(sizes.begin(), sizes.end());
  return large->first <= kApart * small->first
             ? ""
             : absl::StrCat("The averages of ", group.name, " follow ", large->second,
                            ", whose scores are about ", ShortestDecimal(large->first), "; on ",
                            small->second, " they are about ", ShortestDecimal(small->first), ".");
}

namespace {

// Says which benchmarks the averages leave out, and for whose sake.
void NoteLeftOut(const ScoreTable& table, const Generalization& generalization, Table& result) {
  if (!generalization.left_out.empty()) {
    const BenchmarkGroup& group = generalization.groups[0];
    std::vector<std::string> left_out;
    for (const size_t benchmark : generalization.left_out) {
      std::vector<std::string> lacking;
      for (const RankedApproach& approach : generalization.approaches) {
        if (!table.approaches()[approach.approach].is_reference &&
            table.cell(approach.approach, benchmark).state != CellState::kValue) {
          lacking.push_back(table.approaches()[approach.approach].name);
        }
      }
      left_out.push_back(
          absl::StrCat(table.benchmarks()[benchmark].name, " (", FirstNames(lacking), ")"));
    }
    result.notes.push_back(absl::StrCat(
        "Averages of ", group.name, " are over the ", group.benchmarks.size(), " of ",
        group.benchmarks.size() + left_out.size(),
        " benchmarks that all ranked approaches have. Left out, since some lack them: ",
        FirstNames(left_out, "; "), "."));
  }
}

}  // namespace

Table GeneralizationTable(const ScoreTable& table, const Generalization& generalization) {
  Table result;
  result.title = absl::StrCat(
      "Macro averages over benchmarks, ranked by ", generalization.groups[0].name, " (",
      generalization.groups[0].benchmarks.size(),
      generalization.groups[0].benchmarks.size() == 1 ? " benchmark)" : " benchmarks)");
  result.columns = {{"rank", "rank", true}, {"approach", "approach"}};
  for (const BenchmarkGroup& group : generalization.groups) {
    result.columns.push_back({group.name, group.name, true, DecimalsOf(table, group)});
  }
  if (generalization.baseline.has_value()) {
    const std::string& name = table.approaches()[*generalization.baseline].name;
    result.columns.push_back({"gain", absl::StrCat("over ", name), true});
  }
  std::vector<std::string> incomplete;
  bool any_partial = false;
  size_t references = 0;
  for (const RankedApproach& approach : generalization.approaches) {
    const std::string& name = table.approaches()[approach.approach].name;
    const bool is_reference = table.approaches()[approach.approach].is_reference;
    std::vector<TableCell> row = {approach.rank > 0 ? IntegerCell(approach.rank) : TableCell(),
                                  WithFootnote(TextCell(name), is_reference ? kReferenceSign : "")};
    references += is_reference ? 1 : 0;
    std::set<size_t> missing;
    for (size_t group = 0; group < approach.averages.size(); ++group) {
      const Average& average = approach.averages[group];
      const bool is_partial =
          average.value.has_value() &&
          IsPartialAverage(table, approach.approach, generalization.groups[group]);
      row.push_back(WithFootnote(NumberCell(average.value), is_partial ? kPartialSign : ""));
      any_partial = any_partial || is_partial;
      missing.insert(average.missing.begin(), average.missing.end());
    }
    if (generalization.baseline.has_value()) {
      row.push_back(SignedCell(approach.gain, DecimalsOf(table, generalization.groups[0])));
    }
    result.rows.push_back(std::move(row));
    if (!missing.empty() && !is_reference) {
      std::vector<std::string> names;
      for (const size_t benchmark : missing) {
        const CellState state = table.cell(approach.approach, benchmark).state;
        names.push_back(absl::StrCat(
            table.benchmarks()[benchmark].name,
            state == CellState::kMissing ? "" : absl::StrCat(" (", CellStateName(state), ")")));
      }
      incomplete.push_back(absl::StrCat("  ", name, ": ", FirstNames(names)));
    }
  }
  if (const std::vector<std::string> names = table.Minimized(); !names.empty()) {
    result.notes.push_back(absl::StrCat(LessIsBetter(names), "."));
  }
  for (const BenchmarkGroup& group : generalization.groups) {
    const std::set<std::string> scales = ScalesOf(table, group);
    if (scales.size() > 1) {
      result.notes.push_back(
          absl::StrCat("The averages of ", group.name,
                       " mix scores of several scales: ", absl::StrJoin(scales, ", "), "."));
    } else if (std::string sizes = SizesSentence(table, group); !sizes.empty()) {
      result.notes.push_back(std::move(sizes));
    }
  }
  std::map<std::string, std::vector<std::string>> converted;  // names by factor
  for (const Conversion& one : generalization.converted) {
    converted[ShortestDecimal(one.factor)].push_back(ScreenName(one.benchmark));
  }
  for (const auto& [factor, names] : converted) {
    result.notes.push_back(absl::StrCat("In the averages, scores on ", FirstNames(names, ", "),
                                        " are multiplied by ", factor,
                                        " to be percents. If their scale is another, state it: ",
                                        "#scale in a file, scale of a sweep's metric."));
  }
  NoteLeftOut(table, generalization, result);
  if (any_partial) {
    result.notes.push_back(
        "* some seeds or settings of its scores failed, are pending, or were canceled or stopped.");
  }
  if (references > 0) {
    result.notes.emplace_back(kReferenceNote);
  }
  if (!incomplete.empty()) {
    result.notes.push_back(absl::StrCat(
        "Not ranked or without an average, because scores are missing (", incomplete.size(), " of ",
        table.approaches().size() - references, " approaches):"));
    constexpr size_t kShownMax = 10;
    const size_t shown = std::min(incomplete.size(), kShownMax);
    result.notes.insert(result.notes.end(), incomplete.begin(),
                        incomplete.begin() + static_cast<ptrdiff_t>(shown));
    if (incomplete.size() > shown) {
      result.notes.push_back(absl::StrCat("  and ", incomplete.size() - shown, " more"));
    }
  }
  return result;
}

void AddRankSets(const RankEstimate& estimate, const RankSets& sets, const RankSetOptions& options,
                 Table& table) {
  for (const char* key : {"rank_low", "rank_high", "all_ranks_low", "all_ranks_high"}) {
    table.columns.push_back(ForPrograms(key));
  }
  table.columns.push_back(ForPeople("rank set", true));
  table.columns.push_back(ForPeople("of all", true));
  table.columns.push_back({"group", "group", true});
  table.columns.push_back({"next_p", "next differs: p", true, 4});
  const auto text = [](const RankSet& set) {
    return TextCell(set.low == set.high ? absl::StrCat(set.low)
                                        : absl::StrCat(set.low, "–", set.high));
  };
  for (size_t i = 0; i < table.rows.size(); ++i) {
    TableRow& row = table.rows[i];
    if (i >= sets.order.size()) {
      row.resize(table.columns.size());
      continue;
    }
    const size_t approach = sets.order[i];
    const RankSet& own = sets.marginal[approach];
    const RankSet& all = sets.simultaneous[approach];
    for (TableCell& cell : std::vector<TableCell>{
             IntegerCell(own.low), IntegerCell(own.high), IntegerCell(all.low),
             IntegerCell(all.high), text(own), text(all), IntegerCell(sets.groups[approach]),
             i < sets.neighbour_p.size() ? NumberCell(sets.neighbour_p[i]) : TableCell()}) {
      row.push_back(std::move(cell));
    }
  }
  const auto differ = std::count_if(sets.neighbour_p.begin(), sets.neighbour_p.end(),
                                    [&](double p) { return p <= 1 - options.level; });
  const int64_t groups =
      sets.groups.empty() ? 0 : *std::max_element(sets.groups.begin(), sets.groups.end());
  table.notes.push_back(absl::StrCat(
      "Resolved by ", estimate.unit, ": ", differ, " of ", Counted(sets.neighbour_p.size(), "pair"),
      " of neighbours in the ranking differ with ", ShortestDecimal(options.level * 100),
      " % confidence for all pairs together; ", Counted(static_cast<size_t>(groups), "group"),
      "."));
  if (!estimate.note.empty()) {
    table.notes.push_back(estimate.note);
  }
  table.notes.push_back(absl::StrCat("With ", ShortestDecimal(options.level * 100),
                                     " % confidence, a rank set holds the approach's true rank, "
                                     "and those \"of all\" hold all true "
                                     "ranks at once. Approaches of one group are not told apart."));
  if (options.ties_within > 0) {
    table.notes.push_back(absl::StrCat("Averages that differ by at most ",
                                       ShortestDecimal(options.ties_within), " count as equal."));
  }
}

absl::StatusOr<Table> RankingTable(const ScoreTable& table, const Generalization& ranking,
                                   bool goals_differ, const std::optional<RankEstimate>& estimate,
                                   const RankSetOptions& options) {
  Table result = GeneralizationTable(table, ranking);
  if (goals_differ) {
    result.notes.push_back(absl::StrCat("Ranked by the benchmarks of which ",
                                        ranking.groups[0].name,
                                        "; --group NAME=PATTERN chooses others to rank by."));
  }
  for (const std::string& warning : PartWarnings(table)) {
    result.notes.push_back(absl::StrCat("Warning: ", warning, "."));
  }
  result.details = ChoiceNotes(table.benchmarks());
  if (estimate.has_value()) {
    CONCUR_ASSIGN_OR_RETURN(const RankSets sets, ComputeRankSets(*estimate, options));
    AddRankSets(*estimate, sets, options, result);
  }
  return result;
}

absl::StatusOr<Table> CrossTable(const ScoreTable& table) {
  Table result;
  result.columns = {{"approach", "approach"}, {"train", "trained on"}};
  for (const AxisEntry& benchmark : table.benchmarks()) {
    result.columns.push_back({benchmark.name, benchmark.name, true});
    result.columns.push_back(ForPrograms(absl::StrCat(benchmark.name, " sd")));
  }
  const std::vector<std::vector<bool>> best = BestTrainSets(table);
  bool any_seeds = false;
  bool any_best = false;
  for (size_t row = 0; row < table.approaches().size(); ++row) {
    const AxisEntry& entry = table.approaches()[row];
    const auto train = entry.tags.find("train");
    if (train == entry.tags.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", entry.name,
                       "\" has no tag \"train\", which says what it was trained "
                       "on; expected a column of that name"));
    }
    std::vector<TableCell> cells = {TextCell(ApproachOfRow(entry)),
                                    train->second.empty() ? TableCell() : TextCell(train->second)};
    for (size_t b = 0; b < table.benchmarks().size(); ++b) {
      const ScoreCell& cell = table.cell(row, b);
      cells.push_back(AsTableCell(table, row, b));
      cells.back().is_marked = best[row][b];
      const bool has_sd = cell.state == CellState::kValue && cell.seeds >= 2;
      cells.push_back(NumberCell(has_sd ? std::optional(cell.standard_deviation) : std::nullopt));
      any_seeds = any_seeds || has_sd;
      any_best = any_best || best[row][b];
    }
    result.rows.push_back(std::move(cells));
  }
  result.title = absl::StrCat("Scores by train set (rows) and test set (columns)",
                              any_seeds ? ", mean ± standard deviation over seeds" : "");
  if (any_best) {
    result.notes.push_back("Marked: the best train set of each approach, for each test set.");
  }
  for (const std::string& note : ScoreNotes(table)) {
    result.notes.push_back(note);
  }
  result.details = ChoiceNotes(table.benchmarks());
  return result;
}

}  // namespace concur::analysis
