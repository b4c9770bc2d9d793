// SPDX-License-Identifier: Apache-2.0
#include "analysis/comparison/generalization.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
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
#include "base/check.h"
#include "base/csv.h"
#include "base/metric_meaning.h"
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

// The benchmarks that RankByAverage averages of a group.
std::vector<size_t> CommonOf(const ScoreTable& table, const BenchmarkGroup& group) {
  const auto lacks = [&](size_t approach, size_t benchmark) {
    return table.cell(approach, benchmark).state != CellState::kValue;
  };
  std::set<size_t> all;
  std::set<size_t> ranked;
  for (size_t i = 0; i < table.approaches().size(); ++i) {
    const auto count = std::count_if(group.benchmarks.begin(), group.benchmarks.end(),
                                     [&](size_t benchmark) { return lacks(i, benchmark); });
    if (!table.approaches()[i].is_reference) {
      all.insert(i);
      if (3 * static_cast<size_t>(count) <= group.benchmarks.size()) {
        ranked.insert(i);
      }
    }
  }
  ranked = ranked.empty() ? all : ranked;
  std::vector<size_t> widest;
  while ((ranked.size() > 1 || ranked == all) && 2 * widest.size() <= group.benchmarks.size()) {
    std::vector<size_t> common;
    std::vector<size_t> fewest;  // approaches
    for (const size_t benchmark : group.benchmarks) {
      std::vector<size_t> without;
      std::copy_if(ranked.begin(), ranked.end(), std::back_inserter(without),
                   [&](size_t approach) { return lacks(approach, benchmark); });
      if (without.empty()) {
        common.push_back(benchmark);
      } else if (fewest.empty() || without.size() < fewest.size()) {
        fewest = std::move(without);
      }
    }
    if (fewest.empty()) {
      return common;
    }
    widest = common.size() > widest.size() ? std::move(common) : widest;
    for (const size_t approach : fewest) {
      ranked.erase(approach);
    }
  }
  return widest;
}

// Leaves benchmarks out of the group as RankByAverage says; returns them.
std::vector<size_t> KeepCommon(const ScoreTable& table, BenchmarkGroup& group) {
  std::vector<size_t> kept = CommonOf(table, group);
  std::vector<size_t> left_out;
  if (!kept.empty()) {
    std::set_difference(group.benchmarks.begin(), group.benchmarks.end(), kept.begin(), kept.end(),
                        std::back_inserter(left_out));
    group.benchmarks = std::move(kept);
  }
  return left_out;
}

bool HasScores(const ScoreTable& table, size_t benchmark) {
  const absl::Span<const ScoreCell> cells = table.column(benchmark);
  return std::any_of(cells.begin(), cells.end(),
                     [](const ScoreCell& cell) { return cell.state == CellState::kValue; });
}

// The table with the scores of these columns multiplied, which then are percents.
ScoreTable Multiplied(const ScoreTable& table, const std::map<size_t, double>& factors) {
  std::vector<AxisEntry> benchmarks = table.benchmarks();
  for (const auto& [benchmark, factor] : factors) {
    benchmarks[benchmark].metric.scale = Scale{Scale::Kind::kPercent};
    std::optional<double>& optimism = benchmarks[benchmark].choice.optimism;
    optimism = optimism ? std::optional(*optimism * factor) : std::nullopt;
  }
  absl::StatusOr<ScoreTable> made = ScoreTable::Create(table.approaches(), std::move(benchmarks));
  CONCUR_CHECK(made.ok());
  for (size_t b = 0; b < table.benchmarks().size(); ++b) {
    const auto found = factors.find(b);
    const double factor = found == factors.end() ? 1 : found->second;
    for (size_t i = 0; i < table.approaches().size(); ++i) {
      ScoreCell& cell = made->cell(i, b) = table.cell(i, b);
      cell.value *= factor;
      cell.standard_deviation *= factor;
    }
  }
  return *std::move(made);
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

// By which scores are multiplied to make all of the group's percents; none where they have one
// scale, or one that does not begin at 0.
std::map<size_t, double> PercentFactorsOf(const ScoreTable& table, const BenchmarkGroup& group) {
  std::map<size_t, double> factors;
  if (ScalesOf(table, group).size() < 2) {
    return factors;
  }
  for (const size_t benchmark : group.benchmarks) {
    const std::optional<ScoreRange> range = table.range(benchmark);
    if (!range || range->low != 0 || range->high <= 0) {
      return {};
    }
    if (range->high != 100 && HasScores(table, benchmark)) {
      factors.emplace(benchmark, 100 / range->high);
    }
  }
  return factors;
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

std::set<std::string> ScalesOf(const ScoreTable& table, const BenchmarkGroup& group) {
  std::set<std::string> scales;
  for (const size_t benchmark : group.benchmarks) {
    const Scale& stated = table.benchmarks()[benchmark].metric.scale;
    const std::optional<ScoreRange> range = table.range(benchmark);
    const bool is_share = HasScores(table, benchmark) && range && range->low == 0 &&
                          (range->high == 1 || range->high == 100);
    if (is_share) {
      scales.insert(ScaleText({range->high > 1 ? Scale::Kind::kPercent : Scale::Kind::kFraction}));
    } else if (stated.kind != Scale::Kind::kUnstated) {
      scales.insert(ScaleText(stated));
    }
  }
  return scales;
}

std::vector<Conversion> ToPercent(absl::Span<const BenchmarkGroup> groups, ScoreTable& table) {
  std::vector<Conversion> converted;
  // Groups may share benchmarks: what one of them needs may give another several scales.
  for (bool again = true; again;) {
    again = false;
    for (const BenchmarkGroup& group : groups) {
      const std::map<size_t, double> factors = PercentFactorsOf(table, group);
      for (const auto& [benchmark, factor] : factors) {
        converted.push_back({table.benchmarks()[benchmark].name, factor});
        again = true;
      }
      if (!factors.empty()) {
        table = Multiplied(table, factors);
      }
    }
  }
  return converted;
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
  Generalization result;
  result.groups.assign(groups.begin(), groups.end());
  result.left_out = KeepCommon(table, result.groups[0]);
  groups = result.groups;
  const bool minimized =
      !groups[0].benchmarks.empty() && IsMinimized(table, groups[0].benchmarks[0]);
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
      size_t scored = 0;
      for (const size_t row : rows) {
        const ScoreCell& cell = table.cell(row, b);
        scored += cell.state == CellState::kValue ? 1 : 0;
        if (cell.state == CellState::kValue && (!highest.has_value() || cell.value > *highest)) {
          highest = cell.value;
        }
      }
      for (const size_t row : rows) {
        const ScoreCell& cell = table.cell(row, b);
        best[row][b] = scored > 1 && cell.state == CellState::kValue && cell.value == *highest;
      }
    }
  }
  return best;
}

}  // namespace concur::analysis
