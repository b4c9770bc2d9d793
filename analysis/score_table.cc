// SPDX-License-Identifier: Apache-2.0
#include "analysis/score_table.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/metric_meaning.h"
#include "base/status_macros.h"
#include "base/suggest.h"

namespace concur::analysis {
namespace {

absl::Status CheckNames(const std::vector<AxisEntry>& entries, absl::string_view kind) {
  absl::flat_hash_map<absl::string_view, size_t> seen;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].name.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(kind, " ", i + 1, " has no name"));
    }
    if (!seen.emplace(entries[i].name, i).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(kind, " \"", entries[i].name, "\" comes twice"));
    }
  }
  return absl::OkStatus();
}

struct Condition {
  std::string tag;
  std::string value;
  bool equal = true;
};

absl::StatusOr<Condition> ParseCondition(const std::string& text) {
  Condition condition;
  const size_t sign = text.find('=');
  if (sign == std::string::npos) {
    condition.tag = text;
    condition.value = "yes";
  } else {
    condition.equal = sign == 0 || text[sign - 1] != '!';
    condition.tag = text.substr(0, condition.equal ? sign : sign - 1);
    condition.value = text.substr(sign + 1);
  }
  if (condition.tag.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("where: expected TAG=VALUE, TAG!=VALUE or TAG, got \"", text, "\""));
  }
  return condition;
}

bool AnyHasTag(const std::vector<AxisEntry>& entries, const std::string& tag) {
  return std::any_of(entries.begin(), entries.end(),
                     [&](const AxisEntry& entry) { return entry.tags.count(tag) > 0; });
}

std::vector<size_t> Indices(size_t n) {
  std::vector<size_t> indices(n);
  for (size_t i = 0; i < n; ++i) {
    indices[i] = i;
  }
  return indices;
}

// Keeps of `kept` what satisfies `condition`; an error lists the values that there are.
absl::Status Narrow(const std::vector<AxisEntry>& entries, const Condition& condition,
                    absl::string_view kind, std::vector<size_t>& kept) {
  std::vector<size_t> narrowed;
  for (const size_t i : kept) {
    if ((TagValue(entries[i], condition.tag) == condition.value) == condition.equal) {
      narrowed.push_back(i);
    }
  }
  if (narrowed.empty()) {
    std::set<std::string> values;
    for (const AxisEntry& entry : entries) {
      values.insert(TagValue(entry, condition.tag));
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "where: no ", kind, " is left with ", condition.tag, condition.equal ? "=" : "!=",
        condition.value, "; its values are ", absl::StrJoin(values, ", ")));
  }
  kept = std::move(narrowed);
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> NamesOf(const std::vector<AxisEntry>& entries) {
  std::vector<std::string> names;
  names.reserve(entries.size());
  for (const AxisEntry& entry : entries) {
    names.push_back(entry.name);
  }
  return names;
}

std::vector<std::string> TagsOf(const std::vector<AxisEntry>& entries) {
  std::set<std::string> tags;
  for (const AxisEntry& entry : entries) {
    for (const auto& [tag, value] : entry.tags) {
      tags.insert(tag);
    }
  }
  return {tags.begin(), tags.end()};
}

std::string TagValue(const AxisEntry& entry, const std::string& tag) {
  const auto found = entry.tags.find(tag);
  return found == entry.tags.end() ? "" : found->second;
}

absl::StatusOr<size_t> FindEntry(const std::vector<AxisEntry>& entries, const std::string& name,
                                 absl::string_view complaint, absl::string_view kind) {
  const std::vector<std::string> names = NamesOf(entries);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) {
    return static_cast<size_t>(found - names.begin());
  }
  constexpr size_t kListedMax = 40;
  return absl::InvalidArgumentError(absl::StrCat(complaint, " \"", name, "\"",
                                                 DidYouMean(name, names), "; the ", kind, " are ",
                                                 FirstNames(names, ", ", kListedMax)));
}

absl::Status UnknownTag(absl::string_view complaint, const std::string& tag,
                        const std::vector<std::string>& tags) {
  return absl::InvalidArgumentError(
      absl::StrCat(complaint, " \"", tag, "\"", DidYouMean(tag, tags),
                   tags.empty() ? "; there are no tags"
                                : absl::StrCat("; the tags are ", absl::StrJoin(tags, ", "))));
}

bool MatchesPattern(absl::string_view pattern, absl::string_view text) {
  size_t p = 0;
  size_t t = 0;
  size_t star = absl::string_view::npos;
  size_t after_star = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after_star = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != absl::string_view::npos) {
      p = star + 1;
      t = ++after_star;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') {
    ++p;
  }
  return p == pattern.size();
}

absl::string_view CellStateName(CellState state) {
  switch (state) {
    case CellState::kMissing:
      return "missing";
    case CellState::kValue:
      return "value";
    case CellState::kFailed:
      return "failed";
    case CellState::kPending:
      return "pending";
    case CellState::kStopped:
      return "stopped";
  }
  return "missing";
}

absl::StatusOr<ScoreTable> ScoreTable::Create(std::vector<AxisEntry> approaches,
                                              std::vector<AxisEntry> benchmarks) {
  CONCUR_RETURN_IF_ERROR(CheckNames(approaches, "approach"));
  CONCUR_RETURN_IF_ERROR(CheckNames(benchmarks, "benchmark"));
  if (!benchmarks.empty() && approaches.size() > kCellsMax / benchmarks.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(approaches.size(), " approaches x ", benchmarks.size(),
                     " benchmarks: expected at most ", kCellsMax, " cells"));
  }
  ScoreTable table;
  table.cells_.resize(approaches.size() * benchmarks.size());
  table.approaches_ = std::move(approaches);
  table.benchmarks_ = std::move(benchmarks);
  return table;
}

ScoreTable ScoreTable::Take(const std::vector<size_t>& rows,
                            const std::vector<size_t>& columns) const {
  ScoreTable table;
  for (const size_t row : rows) {
    table.approaches_.push_back(approaches_[row]);
  }
  table.cells_.reserve(rows.size() * columns.size());
  for (const size_t column : columns) {
    table.benchmarks_.push_back(benchmarks_[column]);
    for (const size_t row : rows) {
      table.cells_.push_back(cell(row, column));
    }
  }
  return table;
}

absl::StatusOr<ScoreTable> ScoreTable::Where(absl::Span<const std::string> conditions) const {
  std::vector<size_t> rows = Indices(approaches_.size());
  std::vector<size_t> columns = Indices(benchmarks_.size());
  for (const std::string& text : conditions) {
    CONCUR_ASSIGN_OR_RETURN(const Condition condition, ParseCondition(text));
    const bool of_rows = AnyHasTag(approaches_, condition.tag);
    const bool of_columns = AnyHasTag(benchmarks_, condition.tag);
    if (!of_rows && !of_columns) {
      std::vector<AxisEntry> all = approaches_;
      all.insert(all.end(), benchmarks_.begin(), benchmarks_.end());
      return UnknownTag("where: unknown tag", condition.tag, TagsOf(all));
    }
    if (of_rows) {
      CONCUR_RETURN_IF_ERROR(Narrow(approaches_, condition, "approach", rows));
    } else {
      CONCUR_RETURN_IF_ERROR(Narrow(benchmarks_, condition, "benchmark", columns));
    }
  }
  return Take(rows, columns);
}

absl::StatusOr<ScoreTable> ScoreTable::SelectBenchmarks(absl::Span<const std::string> names) const {
  std::vector<size_t> columns;
  std::set<std::string> seen;
  for (const std::string& name : names) {
    CONCUR_ASSIGN_OR_RETURN(const size_t column,
                            FindEntry(benchmarks_, name, "unknown column", "benchmarks"));
    if (!seen.insert(name).second) {
      return absl::InvalidArgumentError(absl::StrCat("column \"", name, "\" is named twice"));
    }
    columns.push_back(column);
  }
  return Take(Indices(approaches_.size()), columns);
}

ScoreTable ScoreTable::CompleteCases() const {
  std::vector<size_t> rows;
  for (size_t row = 0; row < approaches_.size(); ++row) {
    bool complete = true;
    for (size_t column = 0; column < benchmarks_.size(); ++column) {
      complete = complete && cell(row, column).state == CellState::kValue;
    }
    if (complete) {
      rows.push_back(row);
    }
  }
  return Take(rows, Indices(benchmarks_.size()));
}

ScoreTable ScoreTable::Oriented() const {
  ScoreTable table = *this;
  for (size_t b = 0; b < benchmarks_.size(); ++b) {
    MetricMeaning& metric = table.benchmarks_[b].metric;
    if (sign(b) > 0) {
      continue;
    }
    const std::optional<ScoreRange> limits = range(b);
    metric.goal = Goal::kMaximize;
    metric.scale = limits.has_value() ? Scale{Scale::Kind::kRange, -limits->high, -limits->low}
                                      : Scale{Scale::Kind::kNone};
    for (size_t i = 0; i < approaches_.size(); ++i) {
      table.cell(i, b).value = -table.cell(i, b).value;
    }
  }
  return table;
}

absl::Status ScoreTable::SetTiesWithin(double within) {
  if (!(within >= 0 && std::isfinite(within))) {
    return absl::InvalidArgumentError(
        absl::StrCat("ties-within: expected a difference of scores, 0 or more, got ", within));
  }
  for (size_t b = 0; b < benchmarks_.size(); ++b) {
    const std::optional<ScoreRange> first = range(0);
    const std::optional<ScoreRange> own = range(b);
    const auto width = [](const std::optional<ScoreRange>& of) {
      return of.has_value() ? std::abs(of->high - of->low) : 0;
    };
    if (within > 0 && width(first) != width(own)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "ties-within: expected benchmarks of one scale, got ", benchmarks_[0].name, " and ",
          benchmarks_[b].name, " of different ones; choose some with --columns"));
    }
    benchmarks_[b].ties_within = within;
  }
  return absl::OkStatus();
}

void ScoreTable::MergeTies() {
  for (size_t b = 0; b < benchmarks_.size(); ++b) {
    absl::flat_hash_map<double, double> values;
    for (size_t i = 0; i < approaches_.size(); ++i) {
      if (ScoreCell& one = cell(i, b); one.state == CellState::kValue) {
        one.value = values.emplace(WithoutRounding(one.value), one.value).first->second;
      }
    }
  }
}

std::vector<std::string> ScoreTable::Minimized() const {
  std::vector<std::string> names;
  for (const AxisEntry& benchmark : benchmarks_) {
    if (benchmark.metric.goal == Goal::kMinimize) {
      names.push_back(benchmark.name);
    }
  }
  return names;
}

absl::Status ScoreTable::Minimize(absl::Span<const std::string> patterns) {
  for (const std::string& pattern : patterns) {
    bool matched = false;
    for (AxisEntry& benchmark : benchmarks_) {
      if (MatchesPattern(pattern, benchmark.name)) {
        benchmark.metric.goal = Goal::kMinimize;
        matched = true;
      }
    }
    if (!matched) {
      return FindEntry(benchmarks_, pattern, "minimize: unknown column", "benchmarks").status();
    }
  }
  return absl::OkStatus();
}

std::optional<ScoreRange> ScoreTable::range(size_t benchmark) const {
  const Scale& scale = benchmarks_[benchmark].metric.scale;
  switch (scale.kind) {
    case Scale::Kind::kPercent:
      return ScoreRange{0, 100};
    case Scale::Kind::kFraction:
      return ScoreRange{0, 1};
    case Scale::Kind::kRange:
      return ScoreRange{scale.low, scale.high};
    case Scale::Kind::kNone:
      return std::nullopt;
    case Scale::Kind::kUnstated:
      break;
  }
  if (sign(benchmark) < 0) {
    return std::nullopt;
  }
  const double full = *full_score(benchmark);
  const absl::Span<const ScoreCell> cells = column(benchmark);
  const bool is_share = std::none_of(cells.begin(), cells.end(), [full](const ScoreCell& cell) {
    return cell.state == CellState::kValue && (cell.value < 0 || cell.value > full);
  });
  return is_share ? std::optional(ScoreRange{0, full}) : std::nullopt;
}

std::optional<double> ScoreTable::full_score(size_t benchmark) const {
  if (benchmarks_[benchmark].metric.scale.kind != Scale::Kind::kUnstated) {
    const std::optional<ScoreRange> limits = range(benchmark);
    return limits.has_value() && limits->low == 0 ? std::optional(limits->high) : std::nullopt;
  }
  const absl::Span<const ScoreCell> cells = column(benchmark);
  const bool is_percent = std::any_of(cells.begin(), cells.end(), [](const ScoreCell& cell) {
    return cell.state == CellState::kValue && cell.value > 1;
  });
  return is_percent ? 100 : 1;
}

int ScoreTable::decimals(size_t benchmark) const {
  constexpr int kOfPercents = 2;
  constexpr int kOfFractions = 4;
  if (const std::optional<ScoreRange> limits = range(benchmark); limits.has_value()) {
    return limits->low >= -1 && limits->high <= 1 ? kOfFractions : kOfPercents;
  }
  const absl::Span<const ScoreCell> cells = column(benchmark);
  const bool is_small = std::all_of(cells.begin(), cells.end(), [](const ScoreCell& cell) {
    return cell.state != CellState::kValue || std::abs(cell.value) <= 1;
  });
  return is_small ? kOfFractions : kOfPercents;
}

}  // namespace concur::analysis
