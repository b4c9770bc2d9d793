// SPDX-License-Identifier: Apache-2.0
#include "analysis/generalization.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "analysis/csv.h"
#include "analysis/notes.h"
#include "analysis/references.h"
#include "base/status_macros.h"
#include "base/suggest.h"

namespace concur::analysis {
namespace {

bool IsMinimized(const ScoreTable& table, size_t benchmark) { return table.sign(benchmark) < 0; }

absl::Status CheckOneGoal(const ScoreTable& table, const BenchmarkGroup& group) {
  for (const size_t benchmark : group.benchmarks) {
    if (IsMinimized(table, benchmark) != IsMinimized(table, group.benchmarks[0])) {
      const auto text = [&](size_t b) {
        return absl::StrCat("\"", table.benchmarks()[b].name, "\", of which ",
                            IsMinimized(table, b) ? "less" : "more", " is better");
      };
      return absl::InvalidArgumentError(
          absl::StrCat("group ", group.name, ": expected benchmarks of one goal, got ",
                       text(group.benchmarks[0]), ", and ", text(benchmark)));
    }
  }
  return absl::OkStatus();
}

Average AverageOf(const ScoreTable& table, size_t approach, const BenchmarkGroup& group) {
  Average average;
  double sum = 0;
  for (const size_t benchmark : group.benchmarks) {
    const ScoreCell& cell = table.cell(approach, benchmark);
    if (cell.state == CellState::kValue) {
      sum += cell.value;
    } else {
      average.missing.push_back(benchmark);
    }
  }
  if (average.missing.empty() && !group.benchmarks.empty()) {
    average.value = sum / static_cast<double>(group.benchmarks.size());
  }
  return average;
}

// Below those with a rank stand approaches without an average, and references at the end.
void AssignRanks(const ScoreTable& table, bool minimized, std::vector<RankedApproach>& approaches) {
  std::vector<RankedApproach> ranked;
  std::vector<RankedApproach> without;
  std::vector<RankedApproach> references;
  std::vector<double> values;
  for (RankedApproach& one : approaches) {
    if (table.approaches()[one.approach].is_reference) {
      references.push_back(std::move(one));
    } else if (const std::optional<double>& value = one.averages[0].value; value.has_value()) {
      values.push_back(minimized ? -*value : *value);
      ranked.push_back(std::move(one));
    } else {
      without.push_back(std::move(one));
    }
  }
  approaches.clear();
  for (const std::vector<size_t>& tied : TiedGroups(values)) {
    const auto rank = static_cast<int64_t>(approaches.size()) + 1;
    for (const size_t i : tied) {
      ranked[i].rank = rank;
      approaches.push_back(std::move(ranked[i]));
    }
  }
  approaches.insert(approaches.end(), without.begin(), without.end());
  approaches.insert(approaches.end(), references.begin(), references.end());
}

// Copies the rows of `from` into `into`, whose columns from `first_column` on are those of `from`.
absl::Status MergeRows(const ScoreTable& from, size_t first_column,
                       const absl::flat_hash_map<std::string, size_t>& rows, ScoreTable& into) {
  for (size_t i = 0; i < from.approaches().size(); ++i) {
    const size_t row = rows.at(from.approaches()[i].name);
    for (size_t b = 0; b < from.benchmarks().size(); ++b) {
      into.cell(row, first_column + b) = from.cell(i, b);
    }
  }
  return absl::OkStatus();
}

// The digits after the point that tell the scores of every benchmark of the group apart.
int DecimalsOf(const ScoreTable& table, const BenchmarkGroup& group) {
  int decimals = TableColumn().decimals;
  for (const size_t benchmark : group.benchmarks) {
    decimals = std::max(decimals, table.decimals(benchmark));
  }
  return decimals;
}

// Whether some seeds or settings of the scores that are averaged are not there.
bool IsPartialAverage(const ScoreTable& table, size_t approach, const BenchmarkGroup& group) {
  return std::any_of(group.benchmarks.begin(), group.benchmarks.end(),
                     [&](size_t b) { return table.cell(approach, b).IsPartial(); });
}

}  // namespace

absl::StatusOr<BenchmarkGroup> ParseGroup(const ScoreTable& table, const std::string& text) {
  const size_t sign = text.find('=');
  if (sign == std::string::npos || sign == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("group: expected NAME=PATTERN[,PATTERN…], got \"", text, "\""));
  }
  CONCUR_ASSIGN_OR_RETURN(const std::vector<CsvRecord> records,
                          ParseCsv(absl::string_view(text).substr(sign + 1), "group"));
  BenchmarkGroup group;
  group.name = text.substr(0, sign);
  std::set<size_t> columns;
  for (const CsvRecord& record : records) {
    for (const std::string& pattern : record.fields) {
      const size_t before = columns.size();
      bool matched = false;
      for (size_t b = 0; b < table.benchmarks().size(); ++b) {
        if (MatchesPattern(pattern, table.benchmarks()[b].name)) {
          columns.insert(b);
          matched = true;
        }
      }
      if (!matched && columns.size() == before) {
        const std::vector<std::string> names = NamesOf(table.benchmarks());
        return absl::InvalidArgumentError(absl::StrCat("group ", group.name, ": \"", pattern,
                                                       "\" matches no benchmark",
                                                       DidYouMean(pattern, names)));
      }
    }
  }
  if (columns.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("group ", group.name, ": expected at least one pattern, got none"));
  }
  group.benchmarks.assign(columns.begin(), columns.end());
  return group;
}

absl::StatusOr<std::vector<BenchmarkGroup>> GroupsByTag(const ScoreTable& table,
                                                        const std::string& tag) {
  std::map<std::string, std::vector<size_t>> by_value;
  for (size_t b = 0; b < table.benchmarks().size(); ++b) {
    const auto found = table.benchmarks()[b].tags.find(tag);
    if (found != table.benchmarks()[b].tags.end()) {
      by_value[found->second].push_back(b);
    }
  }
  if (by_value.empty()) {
    return UnknownTag("by: no benchmark has the tag", tag, TagsOf(table.benchmarks()));
  }
  std::vector<BenchmarkGroup> groups;
  groups.reserve(by_value.size());
  for (auto& [value, benchmarks] : by_value) {
    groups.push_back({absl::StrCat(tag, "=", value), std::move(benchmarks)});
  }
  return groups;
}

std::vector<BenchmarkGroup> GroupsByGoal(const ScoreTable& table) {
  std::vector<BenchmarkGroup> groups = {{"more is better", {}}, {"less is better", {}}};
  for (size_t b = 0; b < table.benchmarks().size(); ++b) {
    groups[IsMinimized(table, b) ? 1 : 0].benchmarks.push_back(b);
  }
  if (groups[0].benchmarks.empty() || groups[1].benchmarks.empty()) {
    groups = {{"all", groups[groups[0].benchmarks.empty() ? 1 : 0].benchmarks}};
  }
  return groups;
}

std::vector<std::vector<size_t>> TiedGroups(absl::Span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t x, size_t y) { return values[x] > values[y]; });
  double largest = 0;
  for (const double value : values) {
    largest = std::max(largest, std::abs(value));
  }
  std::vector<std::vector<size_t>> groups;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || values[order[i - 1]] - values[order[i]] > kSumError * largest) {
      groups.emplace_back();
    }
    groups.back().push_back(order[i]);
  }
  for (std::vector<size_t>& tied : groups) {
    std::sort(tied.begin(), tied.end());
  }
  return groups;
}

absl::StatusOr<Generalization> RankByAverage(const ScoreTable& table,
                                             absl::Span<const BenchmarkGroup> groups,
                                             const std::optional<std::string>& baseline) {
  if (groups.empty()) {
    return absl::InvalidArgumentError("expected at least one group of benchmarks, got none");
  }
  for (const BenchmarkGroup& group : groups) {
    CONCUR_RETURN_IF_ERROR(CheckOneGoal(table, group));
  }
  const bool minimized =
      !groups[0].benchmarks.empty() && IsMinimized(table, groups[0].benchmarks[0]);
  Generalization result;
  result.groups.assign(groups.begin(), groups.end());
  for (size_t approach = 0; approach < table.approaches().size(); ++approach) {
    RankedApproach ranked;
    ranked.approach = approach;
    for (const BenchmarkGroup& group : groups) {
      ranked.averages.push_back(AverageOf(table, approach, group));
      if (!std::isfinite(ranked.averages.back().value.value_or(0))) {
        return absl::InvalidArgumentError(absl::StrCat(
            "group ", group.name, ": the average of \"", table.approaches()[approach].name,
            "\" is too large; expected scores with a finite sum"));
      }
    }
    result.approaches.push_back(std::move(ranked));
  }
  if (baseline.has_value()) {
    CONCUR_ASSIGN_OR_RETURN(result.baseline, FindEntry(table.approaches(), *baseline,
                                                       "baseline: no approach", "approaches"));
    const Average& reference = result.approaches[*result.baseline].averages[0];
    if (!reference.value.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("baseline: \"", *baseline, "\" lacks ", reference.missing.size(), " of ",
                       groups[0].benchmarks.size(), " scores of ", groups[0].name));
    }
    const double value = *reference.value;
    for (RankedApproach& approach : result.approaches) {
      if (approach.averages[0].value.has_value()) {
        const double gain = *approach.averages[0].value - value;
        approach.gain = minimized ? -gain : gain;
      }
    }
  }
  AssignRanks(table, minimized, result.approaches);
  return result;
}

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
    std::set<std::string> scales;
    for (const size_t benchmark : group.benchmarks) {
      const Scale& stated = table.benchmarks()[benchmark].metric.scale;
      if (stated.kind != Scale::Kind::kUnstated) {
        scales.insert(ScaleText(stated));
      } else if (const std::optional<ScoreRange> guess = table.range(benchmark)) {
        scales.insert(
            ScaleText({guess->high > 1 ? Scale::Kind::kPercent : Scale::Kind::kFraction}));
      }
    }
    if (scales.size() > 1) {
      result.notes.push_back(
          absl::StrCat("The averages of ", group.name,
                       " mix scores of several scales: ", absl::StrJoin(scales, ", "), "."));
    }
  }
  if (any_partial) {
    result.notes.push_back(
        "* some seeds or settings of its scores failed, are pending, or were canceled or stopped.");
  }
  if (references > 0) {
    result.notes.emplace_back(kReferenceNote);
  }
  if (!incomplete.empty()) {
    result.notes.push_back(absl::StrCat(
        "Without an average of every group, because these scores are not there (",
        incomplete.size(), " of ", table.approaches().size() - references, " approaches):"));
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

absl::StatusOr<ScoreTable> JoinTables(absl::Span<const ScoreTable> tables) {
  std::vector<AxisEntry> approaches;
  std::vector<AxisEntry> benchmarks;
  absl::flat_hash_map<std::string, size_t> rows;
  for (const ScoreTable& table : tables) {
    benchmarks.insert(benchmarks.end(), table.benchmarks().begin(), table.benchmarks().end());
    for (const AxisEntry& approach : table.approaches()) {
      const auto [row, inserted] = rows.emplace(approach.name, approaches.size());
      if (inserted) {
        approaches.push_back(approach);
        continue;
      }
      for (const auto& [tag, value] : approach.tags) {
        const auto [known, added] = approaches[row->second].tags.emplace(tag, value);
        if (!added && known->second != value) {
          return absl::InvalidArgumentError(
              absl::StrCat("the tag \"", tag, "\" of ", approach.name, " is \"", known->second,
                           "\" in one table and \"", value, "\" in another"));
        }
      }
    }
  }
  CONCUR_ASSIGN_OR_RETURN(ScoreTable joined,
                          ScoreTable::Create(std::move(approaches), std::move(benchmarks)));
  size_t column = 0;
  for (const ScoreTable& table : tables) {
    CONCUR_RETURN_IF_ERROR(MergeRows(table, column, rows, joined));
    column += table.benchmarks().size();
  }
  return joined;
}

std::string ApproachOfRow(const AxisEntry& row) {
  const auto train = row.tags.find("train");
  if (train == row.tags.end()) {
    return row.name;
  }
  return std::string(absl::StripSuffix(row.name, absl::StrCat(" ← ", train->second)));
}

std::vector<std::vector<bool>> BestTrainSets(const ScoreTable& scores) {
  const ScoreTable table = scores.Oriented();
  std::map<std::string, std::vector<size_t>> rows_of;
  for (size_t row = 0; row < table.approaches().size(); ++row) {
    rows_of[ApproachOfRow(table.approaches()[row])].push_back(row);
  }
  std::vector<std::vector<bool>> best(table.approaches().size(),
                                      std::vector<bool>(table.benchmarks().size(), false));
  for (const auto& [approach, rows] : rows_of) {
    for (size_t b = 0; b < table.benchmarks().size(); ++b) {
      std::optional<double> highest;
      for (const size_t row : rows) {
        const ScoreCell& cell = table.cell(row, b);
        if (cell.state == CellState::kValue && (!highest.has_value() || cell.value > *highest)) {
          highest = cell.value;
        }
      }
      for (const size_t row : rows) {
        const ScoreCell& cell = table.cell(row, b);
        best[row][b] = rows.size() > 1 && highest.has_value() && cell.state == CellState::kValue &&
                       cell.value == *highest;
      }
    }
  }
  return best;
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
  return result;
}

}  // namespace concur::analysis
