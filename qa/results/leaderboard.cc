// SPDX-License-Identifier: Apache-2.0
// Leaderboards as tables: with a row for each model (wide), for each score (long), or for each
// task, which becomes long.
#include <algorithm>
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
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/csv.h"
#include "base/digest.h"
#include "base/metric_meaning.h"
#include "base/status_macros.h"
#include "base/table/table_text.h"
#include "base/utf8.h"
#include "qa/raw_bytes.h"
#include "qa/results/column_names.h"
#include "qa/results/leaderboard_columns.h"
#include "qa/results/reader.h"
#include "qa/results/results.h"
#include "qa/results/settings.h"
#include "qa/results/table_rows.h"
#include "qa/results/variants.h"

namespace concur::imports {
namespace {

constexpr int64_t kTableBytesMax = int64_t{256} << 20;
constexpr size_t kColumnsMax = 10'000;
// Counted with the header's width, to which short rows are filled up: a small file may have many.
constexpr size_t kTableFieldsMax = 10'000'000;

// The table, its rows as wide as its header. A header that lacks the name of the first column, as
// pandas writes an index, gets it.
absl::StatusOr<LeaderboardTable> TableOf(TableText read, absl::string_view path,
                                         FileResults& results) {
  for (const TableText::LeftOut& line : read.left_out) {
    results.skipped.push_back({line.reason, absl::StrCat(path, ":", line.line), line.count});
  }
  std::vector<CsvRecord>& records = read.records;
  if (records.size() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected a header and a row or more, got ", records.size(),
                     records.size() == 1 ? " line" : " lines"));
  }
  LeaderboardTable table;
  table.separator = read.separator;
  table.header = std::move(records[0].fields);
  const int64_t header_line = records[0].line;
  const size_t wider = static_cast<size_t>(std::count_if(
      records.begin() + 1, records.end(),
      [&](const CsvRecord& record) { return record.fields.size() == table.header.size() + 1; }));
  if (wider == records.size() - 1) {
    table.header.insert(table.header.begin(), "");
  }
  if (table.header.size() < 2 || table.header.size() > kColumnsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ":", header_line, ": expected 2 to ", kColumnsMax, " columns, got ",
                     table.header.size(), ": \"", CleanUtf8(table.header[0], 60), "\""));
  }
  if ((records.size() - 1) * table.header.size() > kTableFieldsMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ":", header_line, ": expected at most ", kTableFieldsMax, " fields, got ",
        records.size() - 1, " rows of ", table.header.size(), " columns; import a part of them"));
  }
  std::set<std::string> names;
  for (const std::string& name : table.header) {
    if (!name.empty() && !names.insert(name).second) {
      return absl::InvalidArgumentError(absl::StrCat(path, ":", header_line, ": the column \"",
                                                     name, "\" comes twice; rename one"));
    }
  }
  for (size_t r = 1; r < records.size(); ++r) {
    std::vector<std::string>& fields = records[r].fields;
    while (fields.size() > table.header.size() && fields.back().empty()) {
      fields.pop_back();
    }
    if (fields.size() > table.header.size()) {
      results.skipped.push_back(
          {"a row with more fields than the header", absl::StrCat(path, ":", records[r].line)});
      continue;
    }
    fields.resize(table.header.size());  // absent fields at the end are gaps
    table.rows.push_back({std::move(fields), records[r].line});
  }
  ReadColumns(table);
  return table;
}

// Numbers sort in their order, not as text.
std::string RepeatText(const std::string& repeat) {
  return absl::StrCat(std::string(repeat.size() < 20 ? 20 - repeat.size() : 0, ' '), repeat);
}

void AddFamily(const std::string& model, Tags& tags) {
  for (const char* column : {"company", "organization", "organisation", "developer", "provider",
                             "team", "submitter", "author", "name"}) {
    const auto found = tags.find(column);
    if (tags.count("family") == 0 && found != tags.end()) {
      AddTag(tags, "family", std::string(found->second));
    }
  }
  if (tags.count("family") == 0) {
    AddTag(tags, "family", FamilyInName(model));
  }
}

// Appends the run of one cell; skips gaps and words, by reason.
void TakeCell(const Cell& cell, const std::string& path, int64_t line, const ColumnPlan& column,
              Run run, FileResults& results) {
  if (cell.kind != CellKind::kNumber) {
    results.skipped.push_back({cell.kind == CellKind::kWord      ? "a field that is no score"
                               : cell.kind == CellKind::kFailure ? "no score: a failure, as OOM"
                               : cell.kind == CellKind::kNotFinite
                                   ? "no score: not a finite number, as inf"
                                   : "no score: a gap",
                               absl::StrCat(path, ":", line, ": ", column.name)});
    return;
  }
  run.task = column.name;
  run.place = absl::StrCat("line ", line);
  Metric metric;
  metric.name = column.metric;
  metric.value = cell.value();
  metric.meaning = column.meaning;
  metric.is_goal_stated = column.is_goal_stated;
  run.metrics.push_back(metric);
  for (size_t i = 0; i < (cell.is_pair ? 2 : 0); ++i) {
    metric.name = absl::StrCat(column.metric, "/", i + 1);
    metric.value = i == 0 ? cell.first : cell.second;
    run.metrics.push_back(metric);
  }
  results.runs.push_back(std::move(run));
}

// Notes every column of a wide table; returns the position of the models.
size_t NoteColumns(const LeaderboardTable& table, const std::vector<ColumnPlan>& plan,
                   FileResults& results) {
  size_t model = 0;
  for (size_t c = 0; c < plan.size(); ++c) {
    const CellColumn& cells = table.columns[c];
    const int64_t values = static_cast<int64_t>(cells.numbers + cells.words + cells.failures);
    const bool is_empty = values == 0;
    const std::string& name = table.header[c];
    switch (plan[c].kind) {
      case ColumnKind::kModel:
        model = c;
        results.columns.push_back({"model", name, values, plan[c].why});
        break;
      case ColumnKind::kScore:
        results.columns.push_back({"benchmark", plan[c].name, values, plan[c].why});
        break;
      case ColumnKind::kTag:
        results.columns.push_back({is_empty ? "left out" : "tag", name, values, plan[c].why});
        break;
      case ColumnKind::kAggregate:
        results.columns.push_back({"mean", name, values, plan[c].why});
        results.skipped.push_back({plan[c].why, absl::StrCat(results.path, ": ", name)});
        break;
    }
  }
  return model;
}

absl::Status TakeWide(LeaderboardTable& table, const ReadOptions& options, FileResults& results) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<ColumnPlan> plan,
                          PlanColumns(table, options, results.path));
  const size_t model = NoteColumns(table, plan, results);
  if (std::none_of(plan.begin(), plan.end(),
                   [](const ColumnPlan& column) { return column.kind == ColumnKind::kScore; })) {
    return absl::InvalidArgumentError(absl::StrCat(
        results.path, ":1: expected a column of scores beside \"", table.header[model],
        "\", found none; --keep COLUMN takes one that looks like a mean, or is about the model"));
  }
  std::optional<size_t> repeat;
  std::vector<size_t> words;  // columns about the model, or about its evaluation
  std::vector<size_t> numbers;
  std::vector<size_t> occasions;
  for (size_t c = 0; c < plan.size(); ++c) {
    const std::string& header = table.header[c];
    if (plan[c].kind != ColumnKind::kTag || Has(options.leave_out, header)) {
      continue;
    }
    if (HasRepeats(table, c)) {
      repeat = c;
    } else if (NamesOccasion(header)) {
      occasions.push_back(c);
    } else if (!NamesIncidental(header) && !NamesUncertainty(header, table.header)) {
      (table.columns[c].words > 0 || NamesSetting(header) ? words : numbers).push_back(c);
    }
  }
  words.insert(words.end(), numbers.begin(), numbers.end());
  const std::vector<size_t> apart = FewestColumns(table, {model}, words);
  std::vector<size_t> base = apart;
  base.insert(base.end(), {model, repeat.value_or(model)});
  const Versions versions = FindVersions(table, model, base, base, occasions, results);
  std::map<std::string, size_t> rows_by_name;
  for (const LeaderboardTable::Row& row : table.rows) {
    ++rows_by_name[row.fields[model]];
  }
  const auto variant_of = [&](const LeaderboardTable::Row& row) {
    std::vector<std::string> fields;
    if (rows_by_name[row.fields[model]] > 1) {
      AddFields(table, row, apart, fields);
    }
    if (versions.models.count(row.fields[model]) > 0) {
      AddFields(table, row, versions.columns, fields);
    }
    return absl::StrJoin(fields, ", ");
  };
  RowCopies copies;
  for (const LeaderboardTable::Row& row : table.rows) {
    copies.Add({row.fields[model], variant_of(row)}, row);
  }
  for (size_t r = 0; r < table.rows.size(); ++r) {
    const LeaderboardTable::Row& row = table.rows[r];
    const std::string place = absl::StrCat(results.path, ":", row.line);
    Run run;
    run.model = row.fields[model];
    const std::string variant = variant_of(row);
    if (!variant.empty()) {
      run.model_settings[std::string(kRowSetting)] = variant;
    }
    if (IsGap(row.fields[model])) {
      results.skipped.push_back({"a row without a model's name", place});
      continue;
    }
    if (NamesAggregate(row.fields[model])) {
      results.skipped.push_back({"a row that is called a mean or an overall score",
                                 absl::StrCat(place, ": ", run.model)});
      continue;
    }
    if (repeat.has_value() && !IsGap(row.fields[*repeat])) {
      run.repeat = RepeatText(row.fields[*repeat]);
    }
    if (copies.IsCopy({run.model, variant}, row, !run.repeat.empty())) {
      results.skipped.push_back({"a row that came before, field by field", place});
      continue;
    }
    for (size_t c = 0; c < plan.size(); ++c) {
      if (plan[c].kind == ColumnKind::kTag && !IsGap(row.fields[c])) {
        AddTag(run.model_tags, plan[c].name, row.fields[c]);
      }
    }
    AddFamily(row.fields[model], run.model_tags);
    for (size_t c = 0; c < plan.size(); ++c) {
      if (plan[c].kind == ColumnKind::kScore) {
        TakeCell(table.columns[c].cells[r], results.path, row.line, plan[c], run, results);
      }
    }
  }
  return absl::OkStatus();
}

// The tasks of a long table that are means of others.
std::set<std::string> AggregateTasks(const LeaderboardTable& table, const LongColumns& at,
                                     const ReadOptions& options) {
  std::map<std::string, size_t> tasks;
  std::map<std::string, size_t> models;
  for (const LeaderboardTable::Row& row : table.rows) {
    tasks.emplace(row.fields[at.task], tasks.size());
    models.emplace(row.fields[at.model], models.size());
  }
  std::vector<std::string> names(tasks.size());
  for (const auto& [task, column] : tasks) {
    names[column] = task;
  }
  std::set<std::string> aggregates;
  constexpr size_t kFieldsMax = 4'000'000;
  if (tasks.size() * models.size() <= kFieldsMax) {
    std::vector<ScoreColumn> wide(tasks.size(), ScoreColumn(models.size()));
    const std::vector<Cell>& cells = table.columns[at.scores[0]].cells;
    for (size_t r = 0; r < table.rows.size(); ++r) {
      const std::vector<std::string>& fields = table.rows[r].fields;
      if (cells[r].kind == CellKind::kNumber) {
        wide[tasks[fields[at.task]]][models[fields[at.model]]] = cells[r].value();
      }
    }
    for (const size_t column : MeansOfOthers(wide)) {
      aggregates.insert(names[column]);
    }
  }
  for (const std::string& task : names) {
    if (NamesAggregate(task) || Has(options.leave_out, task) ||
        (!at.why.empty() && NamesTag(task))) {
      aggregates.insert(task);
    }
    if (Has(options.keep, task)) {
      aggregates.erase(task);
    }
  }
  return aggregates;
}

// Columns of a long table that are settings: those known by name, and those by which rows differ
// that are otherwise of one model, task, metric and repeat. Costs and other measures, which differ
// between repetitions, are none; dates and notes are, where nothing else tells rows apart.
struct SettingColumns {
  std::vector<size_t> data;  // that make another benchmark
  std::vector<size_t> others;
  std::vector<size_t> occasions;
  std::optional<size_t> shots, split, version;
  std::vector<size_t> all() const {
    std::vector<size_t> columns = data;
    columns.insert(columns.end(), others.begin(), others.end());
    for (const auto& c : {shots, split, version}) {
      columns.insert(columns.end(), c.has_value() ? 1 : 0, c.value_or(0));
    }
    return columns;
  }
};

// Differences in a column between rows of one model, task, metric and repetition.
struct Differences {
  bool any = false;
  bool recur = false;     // each value that differs is one of several models
  bool has_part = false;  // a value is a fraction, as a measure's are
};

Differences DifferencesIn(const LeaderboardTable& table, const LongColumns& at, size_t column) {
  std::map<std::vector<std::string>, std::set<std::string>> cells;
  std::map<std::string, std::set<std::string>> models;  // by value
  Differences found;
  for (const LeaderboardTable::Row& row : table.rows) {
    std::vector<std::string> key = {row.fields[at.model], row.fields[at.task]};
    for (const std::optional<size_t>& part : {at.metric, at.repeat}) {
      key.push_back(part.has_value() ? row.fields[*part] : "");
    }
    const std::string& value = row.fields[column];
    cells[std::move(key)].insert(value);
    models[value].insert(row.fields[at.model]);
    found.has_part = found.has_part ||
                     (absl::StrContains(value, '.') && ParseCell(value).kind == CellKind::kNumber);
  }
  found.recur = true;
  for (const auto& [key, values] : cells) {
    found.any = found.any || values.size() > 1;
    found.recur = found.recur && (values.size() < 2 ||
                                  std::all_of(values.begin(), values.end(), [&](const auto& value) {
                                    return models[value].size() > 1;
                                  }));
  }
  found.recur = found.recur && found.any;
  return found;
}

// True if some model has several values in the column.
bool DiffersWithinModel(const LeaderboardTable& table, size_t model, size_t column) {
  std::map<std::string, std::string> first;
  return std::any_of(table.rows.begin(), table.rows.end(), [&](const LeaderboardTable::Row& row) {
    return first.emplace(row.fields[model], row.fields[column]).first->second != row.fields[column];
  });
}

// Decides on a column that no role of `at` claims. A column by which rows differ is a setting,
// unless its name or its values, fractions that no other model has, are a measure's.
void TakeColumn(const LeaderboardTable& table, const LongColumns& at, size_t c,
                SettingColumns& columns, ColumnNote& note) {
  const std::string name = PlainName(table.header[c]);
  bool is_sure = false;
  const bool is_data =
      NamesData(table.header[c], is_sure) && (is_sure || DiffersWithinModel(table, at.model, c));
  const Differences differ = DifferencesIn(table, at, c);
  const bool has_models =
      std::any_of(table.rows.begin(), table.rows.end(), [&](const LeaderboardTable::Row& row) {
        return row.fields[at.model] != table.rows[0].fields[at.model];
      });
  const bool is_incidental = NamesIncidental(table.header[c]);
  const bool is_uncertainty = NamesUncertainty(table.header[c], table.header);
  const char* const guess = "a guess, as rows of one model and task differ in it";
  if (!columns.shots.has_value() && NamesShots(table.header[c])) {
    columns.shots = c;
  } else if (name == "split") {
    columns.split = c;
  } else if (name == "version" || name == "task version") {
    columns.version = c;
  } else if (at.repeat.has_value() && HasRepeats(table, c)) {
    note.kind = "left out";
    note.why = "numbers repetitions, as another column does";
  } else if (is_data) {
    columns.data.push_back(c);
  } else if (name == "temperature" || name == "top p") {
    columns.others.push_back(c);
  } else if (differ.any && !is_uncertainty &&
             (differ.recur || (!is_incidental && (!differ.has_part || !has_models)))) {
    columns.others.push_back(c);
    note.why = guess;
  } else {
    note.kind = "left out";
    note.why = is_uncertainty ? "an uncertainty by its name"
               : differ.any
                   ? absl::StrCat("a guess: a measure by its ", is_incidental ? "name" : "values",
                                  "; rows of one model and task differ in it")
                   : "is neither a score nor tells runs of one model and task apart";
  }
}

SettingColumns FindSettings(const LeaderboardTable& table, const LongColumns& at,
                            const ReadOptions& options, FileResults& results) {
  SettingColumns columns;
  for (size_t c = 0; c < table.header.size(); ++c) {
    ColumnNote note = {"setting", table.header[c],
                       static_cast<int64_t>(table.rows.size() - table.columns[c].gaps), ""};
    const bool is_asked_out = Has(options.leave_out, table.header[c]);
    if (c == at.model || c == at.task || at.metric == c || at.standard_error == c ||
        std::find(at.scores.begin(), at.scores.end(), c) != at.scores.end()) {
      continue;
    }
    if (is_asked_out || at.repeat == c || at.goal == c) {
      note.kind = is_asked_out ? "left out" : at.goal == c ? "goal" : "repeat";
      note.why = is_asked_out ? "--leave-out" : "";
    } else if (at.examples == c) {
      // Another number of examples of one model and task is a limit, or another metric.
      if (!DifferencesIn(table, at, c).any) {
        continue;
      }
      columns.data.push_back(c);
      note.why = "a guess, as rows of one model and task differ in it";
    } else if (NamesOccasion(table.header[c]) && !HasRepeats(table, c)) {
      columns.occasions.push_back(c);
      continue;
    } else {
      TakeColumn(table, at, c, columns, note);
    }
    results.columns.push_back(std::move(note));
  }
  return columns;
}

void TakeRowSettings(const LeaderboardTable& table, const LeaderboardTable::Row& row,
                     const SettingColumns& columns, Run& run) {
  const auto value = [&](size_t column) {
    return IsGap(row.fields[column]) ? std::string() : row.fields[column];
  };
  if (columns.shots.has_value()) {
    int64_t shots = 0;
    if (absl::SimpleAtoi(value(*columns.shots), &shots)) {
      run.shots = shots;
    } else {
      AddSetting(run.data_settings, "", "shots", value(*columns.shots));
    }
  }
  run.split = columns.split.has_value() ? value(*columns.split) : "";
  run.version = columns.version.has_value() ? value(*columns.version) : "";
  for (const size_t column : columns.data) {
    AddSetting(run.data_settings, "", table.header[column], value(column));
  }
  for (const size_t column : columns.others) {
    AddSetting(run.model_settings, "", table.header[column], value(column));
  }
}

// Brings the scores of each task and metric to one unit. By row and column of scores: the scale.
std::vector<std::vector<bool>> SettleLong(LeaderboardTable& table, const LongColumns& at,
                                          FileResults& results) {
  std::vector<std::vector<bool>> is_percent;
  for (const size_t score : at.scores) {
    std::vector<Cell>& cells = table.columns[score].cells;
    std::map<std::pair<std::string, std::string>, std::vector<size_t>> rows;
    for (size_t r = 0; r < cells.size(); ++r) {
      const std::vector<std::string>& fields = table.rows[r].fields;
      rows[{fields[at.task], at.metric ? fields[*at.metric] : ""}].push_back(r);
    }
    is_percent.emplace_back(cells.size(), false);
    for (const auto& [task, of_task] : rows) {
      std::vector<Cell*> group;
      for (const size_t r : of_task) {
        group.push_back(&cells[r]);
      }
      std::vector<std::string> remarks;
      const bool percent = SettlePercent(group, remarks);
      if (percent || (GoalInName(task.first).goal == Goal::kMaximize &&
                      GoalInName(task.second).goal == Goal::kMaximize)) {
        RemarkOnFractions(group, remarks);
      }
      for (const size_t r : of_task) {
        is_percent.back()[r] = percent;
      }
      for (const std::string& remark : remarks) {
        results.columns.push_back({"benchmark", task.first, 0, remark});
      }
    }
    ColumnNote note = {"score", table.header[score], static_cast<int64_t>(cells.size()), at.why};
    for (const std::string& remark : table.columns[score].remarks) {
      absl::StrAppend(&note.why, note.why.empty() ? "" : "; ", remark);
    }
    results.columns.push_back(std::move(note));
  }
  return is_percent;
}

// The runs of a model on a task, of one repeat and with equal settings, in their order. A metric's
// rows go to one run after the other, so that those that have it are the first ones.
struct CellRuns {
  std::vector<size_t> runs;
  std::map<std::string, size_t> with_metric;  // number of runs, by metric
};
using RunsByCell = std::map<std::vector<std::string>, CellRuns>;

// Makes the last run, which is of one row, a part of the first one of its cell that lacks its
// metric; where all have it, another run of the cell begins.
void JoinMetrics(std::vector<Run>& runs, RunsByCell& by_cell) {
  const Run& last = runs.back();
  std::vector<std::string> key = {last.model, last.task,    last.repeat,
                                  last.split, last.version, absl::StrCat(last.shots.value_or(-1))};
  for (const Settings* const settings : {&last.data_settings, &last.model_settings}) {
    for (const auto& [name, value] : *settings) {
      key.push_back(absl::StrCat(name, "=", value));
    }
  }
  CellRuns& cell = by_cell[std::move(key)];
  const size_t with_metric = cell.with_metric[last.metrics[0].name]++;
  if (with_metric == cell.runs.size()) {
    cell.runs.push_back(runs.size() - 1);
    return;
  }
  std::vector<Metric>& metrics = runs[cell.runs[with_metric]].metrics;
  metrics.insert(metrics.end(), last.metrics.begin(), last.metrics.end());
  runs.pop_back();
}

// The score at `score` of a row, with its metric's name and meaning.
ColumnPlan LongScore(const LeaderboardTable& table, const LongColumns& at, size_t score,
                     const LeaderboardTable::Row& row, bool is_percent) {
  ColumnPlan column;
  const std::string header = PlainName(table.header[score]);
  if (at.metric.has_value() && !row.fields[*at.metric].empty()) {
    column.metric = row.fields[*at.metric];
  } else if (header != "score" && header != "value" && header != "result") {
    column.metric = table.header[score];
  }
  const NamedGoal task = GoalInName(row.fields[at.task]);
  const NamedGoal metric = GoalInName(column.metric);
  column.name = task.name;
  column.metric = metric.name;
  const bool is_by_task = !metric.is_stated && (task.is_stated || task.goal == Goal::kMinimize);
  column.meaning.goal = is_by_task ? task.goal : metric.goal;
  column.is_goal_stated = is_by_task ? task.is_stated : metric.is_stated;
  if (at.goal.has_value()) {
    if (const auto goal = StatedGoal(table.header[*at.goal], row.fields[*at.goal])) {
      column.meaning.goal = *goal;
      column.is_goal_stated = true;
    }
  }
  if (is_percent) {
    column.meaning.scale.kind = Scale::Kind::kPercent;
  }
  return column;
}

void TakeLong(LeaderboardTable& table, const LongColumns& at, const ReadOptions& options,
              FileResults& results) {
  const std::set<std::string> aggregates = AggregateTasks(table, at, options);
  for (const std::string& task : aggregates) {
    const bool is_property = !NamesAggregate(task) && NamesTag(task);
    const char* const why = is_property ? "a row that is a property by its name, a guess; --keep"
                                        : "a task that is a mean of others";
    results.skipped.push_back({why, absl::StrCat(results.path, ": ", task)});
    results.columns.push_back({is_property ? "left out" : "mean", task, 0, why});
  }
  const std::vector<std::vector<bool>> is_percent = SettleLong(table, at, results);
  const SettingColumns settings = FindSettings(table, at, options, results);
  std::vector<size_t> group = settings.all();
  group.push_back(at.model);
  std::vector<size_t> columns = group;
  columns.insert(columns.end(), {at.task, at.metric.value_or(at.model)});
  std::vector<size_t> base = columns;
  base.push_back(at.repeat.value_or(at.model));
  const Versions versions = FindVersions(table, at.model, group, base, settings.occasions, results);
  for (const size_t c : settings.occasions) {
    if (std::find(versions.columns.begin(), versions.columns.end(), c) == versions.columns.end()) {
      results.columns.push_back({"left out", table.header[c],
                                 static_cast<int64_t>(table.rows.size() - table.columns[c].gaps),
                                 "is neither a score nor tells versions of a model apart"});
    }
  }
  const auto version_of = [&](const LeaderboardTable::Row& row) {
    std::vector<std::string> fields;
    if (versions.models.count(row.fields[at.model]) > 0) {
      AddFields(table, row, versions.columns, fields);
    }
    return absl::StrJoin(fields, ", ");
  };
  const auto key_of = [&](const LeaderboardTable::Row& row) {
    RowCopies::Key key = {version_of(row)};
    for (const size_t c : columns) {
      key.push_back(row.fields[c]);
    }
    return key;
  };
  RowCopies copies;
  for (const LeaderboardTable::Row& row : table.rows) {
    copies.Add(key_of(row), row);
  }
  RunsByCell by_cell;
  for (size_t r = 0; r < table.rows.size(); ++r) {
    const LeaderboardTable::Row& row = table.rows[r];
    if (aggregates.count(row.fields[at.task]) > 0) {
      continue;
    }
    const std::string place = absl::StrCat(results.path, ":", row.line);
    if (IsGap(row.fields[at.model]) || row.fields[at.task].empty()) {
      results.skipped.push_back({"a row without a model or a task", place});
      continue;
    }
    const std::string repeat = at.repeat ? row.fields[*at.repeat] : "";
    const std::string version = version_of(row);
    if (copies.IsCopy(key_of(row), row, !IsGap(repeat))) {
      results.skipped.push_back({"a row that came before, field by field", place});
      continue;
    }
    for (size_t s = 0; s < at.scores.size(); ++s) {
      ColumnPlan column = LongScore(table, at, at.scores[s], row, is_percent[s][r]);
      Run run;
      run.model = row.fields[at.model];
      AddFamily(run.model, run.model_tags);
      TakeRowSettings(table, row, settings, run);
      if (!version.empty()) {
        run.model_settings[std::string(kRowSetting)] = version;
      }
      run.repeat = IsGap(repeat) ? "" : RepeatText(repeat);
      const size_t runs = results.runs.size();
      TakeCell(table.columns[at.scores[s]].cells[r], results.path, row.line, column, std::move(run),
               results);
      if (results.runs.size() == runs) {
        continue;
      }
      Metric& metric = results.runs.back().metrics[0];
      const auto number = [&](const std::optional<size_t>& of) {
        return of ? table.columns[*of].cells[r] : Cell();
      };
      if (const Cell error = number(at.standard_error); error.kind == CellKind::kNumber) {
        metric.standard_error = error.value();
      }
      if (const Cell examples = number(at.examples);
          examples.kind == CellKind::kNumber && examples.value() >= 0 && examples.value() < 1e12) {
        metric.examples = static_cast<int64_t>(examples.value());
      }
      JoinMetrics(results.runs, by_cell);
    }
  }
}

bool IsMarkdown(absl::string_view path) {
  return absl::EndsWithIgnoreCase(path, ".md") || absl::EndsWithIgnoreCase(path, ".markdown");
}

absl::StatusOr<FileResults> ReadLeaderboard(const std::string& path, const ReadOptions& options,
                                            JsonDocument& /*document*/) {
  FileResults results;
  results.path = path;
  CONCUR_ASSIGN_OR_RETURN(const std::string text, qa::ReadUnpacked(path, kTableBytesMax));
  results.digest = Sha256Of(text);
  CONCUR_ASSIGN_OR_RETURN(TableText read, ReadTableText(text, path, 2 * kTableFieldsMax));
  const bool is_latex = absl::EndsWithIgnoreCase(path, ".tex");
  if ((IsMarkdown(path) && read.separator != '|') || (is_latex && read.separator != '&')) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected a ", is_latex ? "LaTeX" : "Markdown", " table, got text"));
  }
  CONCUR_ASSIGN_OR_RETURN(LeaderboardTable table, TableOf(std::move(read), path, results));
  CONCUR_RETURN_IF_ERROR(CheckModelColumn(table, options, path));
  std::optional<LongColumns> columns;
  if (options.rows.empty()) {
    columns = FindLongColumns(table, options);
  }
  if (!columns.has_value()) {
    CONCUR_ASSIGN_OR_RETURN(columns, TurnTasksInRows(table, options, path, kTableFieldsMax));
  }
  if (columns.has_value()) {
    TakeLong(table, *columns, options, results);
    return results;
  }
  CONCUR_RETURN_IF_ERROR(TakeWide(table, options, results));
  return results;
}

}  // namespace

Format LeaderboardFormat() {
  return {"leaderboard", "CSV, TSV, Markdown or LaTeX with a row for each model, task or score",
          [](absl::string_view name) {
            const std::string lower = absl::AsciiStrToLower(name);
            return absl::EndsWith(lower, ".csv") || absl::EndsWith(lower, ".tsv") ||
                   absl::EndsWith(lower, ".psv") || absl::EndsWith(lower, ".tex") ||
                   IsMarkdown(lower);
          },
          ReadLeaderboard};
}

}  // namespace concur::imports
