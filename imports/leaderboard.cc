// SPDX-License-Identifier: Apache-2.0
// Leaderboards as tables: CSV or TSV, with a row for each model (wide) or for each score (long).
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
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "analysis/csv.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/metric_meaning.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "imports/leaderboard_columns.h"
#include "imports/reader.h"
#include "imports/results.h"

namespace concur::imports {
namespace {

constexpr int64_t kTableBytesMax = int64_t{256} << 20;
constexpr size_t kColumnsMax = 10'000;
// Counted with the header's width, to which short rows are filled up: a small file may have many.
constexpr size_t kTableFieldsMax = 10'000'000;

// Fields between tabs. Quotes around a whole field are dropped; others stand for themselves, as
// tables that were copied from pages have them.
absl::StatusOr<std::vector<analysis::CsvRecord>> SplitTabs(absl::string_view text,
                                                           absl::string_view path) {
  std::vector<analysis::CsvRecord> records;
  int64_t line = 0;
  for (absl::string_view row : absl::StrSplit(text, '\n')) {
    ++line;
    absl::ConsumeSuffix(&row, "\r");
    if (row.empty()) {
      continue;
    }
    if (const size_t bad = FindInvalidUtf8(row); bad != absl::string_view::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":", line, ": byte ", bad + 1, ": not UTF-8"));
    }
    analysis::CsvRecord record;
    record.line = line;
    for (absl::string_view field : absl::StrSplit(row, '\t')) {
      if (field.size() >= 2 && field.front() == '"' && field.back() == '"') {
        field = field.substr(1, field.size() - 2);
      }
      record.fields.emplace_back(absl::StripAsciiWhitespace(field));
    }
    records.push_back(std::move(record));
  }
  return records;
}

struct SeparatedRecords {
  char separator = ',';
  std::vector<analysis::CsvRecord> records;
};

absl::StatusOr<SeparatedRecords> ReadRecords(absl::string_view text, absl::string_view path) {
  SeparatedRecords read;
  absl::string_view body = text;
  absl::ConsumePrefix(&body, "\xef\xbb\xbf");
  absl::string_view head = body.substr(0, body.find('\n'));
  absl::ConsumeSuffix(&head, "\r");
  if (absl::EndsWith(path, ".tsv") || absl::StrContains(head, '\t')) {
    read.separator = '\t';
    CONCUR_ASSIGN_OR_RETURN(read.records, SplitTabs(body, path));
    return read;
  }
  // Spreadsheets write semicolons where the comma is the decimal point.
  const auto columns = [&](char separator) {
    const auto records = analysis::ParseCsv(head, path, separator);
    return records.ok() && !records->empty() ? (*records)[0].fields.size() : 0;
  };
  read.separator = columns(';') > columns(',') ? ';' : ',';
  CONCUR_ASSIGN_OR_RETURN(read.records, analysis::ParseCsv(text, path, read.separator));
  return read;
}

// The table, its rows as wide as its header. A header that lacks the name of the first column, as
// pandas writes an index, gets it.
absl::StatusOr<LeaderboardTable> TableOf(SeparatedRecords read, absl::string_view path,
                                         FileResults& results) {
  std::vector<analysis::CsvRecord>& records = read.records;
  if (records.size() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected a header and a row or more, got ", records.size(),
                     records.size() == 1 ? " line" : " lines"));
  }
  LeaderboardTable table;
  table.header = std::move(records[0].fields);
  const size_t wider = static_cast<size_t>(
      std::count_if(records.begin() + 1, records.end(), [&](const analysis::CsvRecord& record) {
        return record.fields.size() == table.header.size() + 1;
      }));
  if (wider == records.size() - 1) {
    table.header.insert(table.header.begin(), "model");
  } else if (table.header[0].empty() && !table.header.empty()) {
    table.header[0] = "model";
  }
  if (table.header.size() < 2 || table.header.size() > kColumnsMax) {
    return absl::InvalidArgumentError(absl::StrCat(path, ":1: expected 2 to ", kColumnsMax,
                                                   " columns, got ", table.header.size()));
  }
  if ((records.size() - 1) * table.header.size() > kTableFieldsMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ":", records[0].line, ": expected at most ", kTableFieldsMax, " fields, got ",
        records.size() - 1, " rows of ", table.header.size(), " columns; import a part of them"));
  }
  std::set<std::string> names;
  for (const std::string& name : table.header) {
    if (!name.empty() && !names.insert(name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":1: the column \"", name, "\" comes twice"));
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
  ReadDecimalCommas(read.separator, table);
  return table;
}

// What tells rows of one name apart: the first column about the model by which they all differ.
std::optional<size_t> DistinguishingColumn(const LeaderboardTable& table,
                                           const std::vector<ColumnPlan>& plan, size_t model) {
  for (size_t c = 0; c < plan.size(); ++c) {
    if (plan[c].kind != ColumnKind::kTag || PlainName(table.header[c]) == "rank" ||
        absl::StrContains(PlainName(table.header[c]), "url")) {
      continue;
    }
    std::set<std::pair<std::string, std::string>> seen;
    bool differ = true;
    bool has_words = false;
    for (const LeaderboardTable::Row& row : table.rows) {
      differ = differ && seen.emplace(row.fields[model], row.fields[c]).second;
      has_words = has_words || (!IsGap(row.fields[c]) && !ParseScore(row.fields[c]));
    }
    if (differ && has_words) {
      return c;
    }
  }
  return std::nullopt;
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

// Appends the run of one field; skips gaps and what is no score, by reason.
void TakeField(const std::string& field, const std::string& path, int64_t line,
               const ColumnPlan& column, Run run, FileResults& results) {
  const std::string place = absl::StrCat(path, ":", line, ": ", column.name);
  if (IsGap(field)) {
    results.skipped.push_back({"no score: a gap", place});
    return;
  }
  const std::optional<ParsedScore> score = ParseScore(field);
  if (!score.has_value()) {
    results.skipped.push_back({"a field that is no score", place});
    return;
  }
  run.task = column.name;
  run.place = absl::StrCat("line ", line);
  Metric metric;
  metric.name = column.metric;
  metric.value = score->value;
  metric.meaning = column.meaning;
  run.metrics.push_back(metric);
  for (size_t i = 0; i < score->parts.size(); ++i) {
    metric.name = absl::StrCat(column.metric, "/", i + 1);
    metric.value = score->parts[i];
    run.metrics.push_back(metric);
  }
  results.runs.push_back(std::move(run));
}

absl::Status TakeWide(const LeaderboardTable& table, const ReadOptions& options,
                      FileResults& results) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<ColumnPlan> plan,
                          PlanColumns(table, options, results.path));
  size_t model = 0;
  size_t scores = 0;
  for (size_t c = 0; c < plan.size(); ++c) {
    model = plan[c].kind == ColumnKind::kModel ? c : model;
    scores += plan[c].kind == ColumnKind::kScore ? 1 : 0;
    if (plan[c].kind == ColumnKind::kAggregate) {
      results.skipped.push_back({plan[c].reason, absl::StrCat(results.path, ": ", plan[c].name)});
    }
  }
  if (scores == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        results.path, ":1: expected a column of scores beside \"", table.header[model],
        "\", found none; --keep COLUMN takes one that looks like a mean, or is about the model"));
  }
  std::map<std::string, size_t> rows_by_name;
  for (const LeaderboardTable::Row& row : table.rows) {
    ++rows_by_name[row.fields[model]];
  }
  const std::optional<size_t> apart = rows_by_name.size() == table.rows.size()
                                          ? std::nullopt
                                          : DistinguishingColumn(table, plan, model);
  std::map<std::vector<std::string>, int64_t> seen;  // by fields; to its line
  for (const LeaderboardTable::Row& row : table.rows) {
    Run run;
    run.model = row.fields[model];
    if (IsGap(run.model)) {
      results.skipped.push_back(
          {"a row without a model's name", absl::StrCat(results.path, ":", row.line)});
      continue;
    }
    if (!seen.emplace(row.fields, row.line).second) {
      results.skipped.push_back(
          {"a row that came before, field by field", absl::StrCat(results.path, ":", row.line)});
      continue;
    }
    if (apart.has_value() && rows_by_name[run.model] > 1 && !IsGap(row.fields[*apart])) {
      run.model = absl::StrCat(run.model, " (", row.fields[*apart], ")");
    }
    for (size_t c = 0; c < plan.size(); ++c) {
      if (plan[c].kind == ColumnKind::kTag && !IsGap(row.fields[c])) {
        AddTag(run.model_tags, plan[c].name, row.fields[c]);
      }
    }
    AddFamily(row.fields[model], run.model_tags);
    for (size_t c = 0; c < plan.size(); ++c) {
      if (plan[c].kind == ColumnKind::kScore) {
        TakeField(row.fields[c], results.path, row.line, plan[c], run, results);
      }
    }
  }
  return absl::OkStatus();
}

// The tasks of a long table that are means of others.
std::set<std::string> AggregateTasks(const LeaderboardTable& table, const LongColumns& at,
                                     const ReadOptions& options) {
  LeaderboardTable wide;
  std::map<std::string, size_t> tasks;
  std::map<std::string, size_t> models;
  for (const LeaderboardTable::Row& row : table.rows) {
    tasks.emplace(row.fields[at.task], tasks.size());
    models.emplace(row.fields[at.model], models.size());
  }
  std::set<std::string> aggregates;
  constexpr size_t kFieldsMax = 4'000'000;
  if (tasks.size() * models.size() <= kFieldsMax) {
    wide.header.resize(tasks.size());
    wide.rows.resize(models.size());
    std::vector<size_t> columns;
    for (const auto& [task, column] : tasks) {
      wide.header[column] = task;
      columns.push_back(columns.size());
    }
    for (LeaderboardTable::Row& row : wide.rows) {
      row.fields.resize(tasks.size());
    }
    for (const LeaderboardTable::Row& row : table.rows) {
      wide.rows[models[row.fields[at.model]]].fields[tasks[row.fields[at.task]]] =
          row.fields[at.score];
    }
    for (const size_t column : MeansOfOthers(wide, columns)) {
      aggregates.insert(wide.header[column]);
    }
  }
  for (const auto& [task, column] : tasks) {
    if (NamesAggregate(task) || std::find(options.leave_out.begin(), options.leave_out.end(),
                                          task) != options.leave_out.end()) {
      aggregates.insert(task);
    }
    if (std::find(options.keep.begin(), options.keep.end(), task) != options.keep.end()) {
      aggregates.erase(task);
    }
  }
  return aggregates;
}

// The runs of a model on a task, of one repeat, in their order. A metric's rows go to one run after
// the other, so that those that have it are the first ones.
struct CellRuns {
  std::vector<size_t> runs;
  std::map<std::string, size_t> with_metric;  // how many
};
using RunsByCell = std::map<std::vector<std::string>, CellRuns>;

// Makes the last run, which is of one row, a part of the first one of its cell that lacks its
// metric; where all have it, another run of the cell begins.
void JoinMetrics(std::vector<Run>& runs, RunsByCell& by_cell) {
  const Run& last = runs.back();
  CellRuns& cell = by_cell[{last.model, last.task, last.repeat}];
  const size_t with_metric = cell.with_metric[last.metrics[0].name]++;
  if (with_metric == cell.runs.size()) {
    cell.runs.push_back(runs.size() - 1);
    return;
  }
  std::vector<Metric>& metrics = runs[cell.runs[with_metric]].metrics;
  metrics.insert(metrics.end(), last.metrics.begin(), last.metrics.end());
  runs.pop_back();
}

void TakeLong(const LeaderboardTable& table, const LongColumns& at, const ReadOptions& options,
              FileResults& results) {
  const std::set<std::string> aggregates = AggregateTasks(table, at, options);
  for (const std::string& task : aggregates) {
    results.skipped.push_back(
        {"a task that is a mean of others", absl::StrCat(results.path, ": ", task)});
  }
  std::set<std::vector<std::string>> seen;
  RunsByCell by_cell;
  for (const LeaderboardTable::Row& row : table.rows) {
    const std::string& task = row.fields[at.task];
    if (aggregates.count(task) > 0) {
      continue;
    }
    const std::string place = absl::StrCat(results.path, ":", row.line);
    if (IsGap(row.fields[at.model]) || task.empty()) {
      results.skipped.push_back({"a row without a model or a task", place});
      continue;
    }
    if (!seen.insert(row.fields).second) {
      results.skipped.push_back({"a row that came before, field by field", place});
      continue;
    }
    Run run;
    run.model = row.fields[at.model];
    AddFamily(run.model, run.model_tags);
    ColumnPlan column;
    column.name = task;
    if (at.metric.has_value() && !row.fields[*at.metric].empty()) {
      column.metric = row.fields[*at.metric];
    } else if (PlainName(table.header[at.score]) != "score" &&
               PlainName(table.header[at.score]) != "value" &&
               PlainName(table.header[at.score]) != "result") {
      column.metric = table.header[at.score];
    }
    if (UsuallyMinimized(column.metric) || UsuallyMinimized(task)) {
      column.meaning.goal = Goal::kMinimize;
    }
    if (at.repeat.has_value()) {
      // Numbers in their order, not as text.
      const std::string& repeat = row.fields[*at.repeat];
      run.repeat =
          absl::StrCat(std::string(repeat.size() < 20 ? 20 - repeat.size() : 0, ' '), repeat);
    }
    const size_t runs = results.runs.size();
    TakeField(row.fields[at.score], results.path, row.line, column, std::move(run), results);
    if (results.runs.size() > runs) {
      Metric& metric = results.runs.back().metrics[0];
      if (at.standard_error.has_value()) {
        if (const auto error = ParseScore(row.fields[*at.standard_error])) {
          metric.standard_error = error->value;
        }
      }
      if (at.examples.has_value()) {
        if (const auto examples = ParseScore(row.fields[*at.examples]);
            examples && examples->value >= 0 && examples->value < 1e12) {
          metric.examples = static_cast<int64_t>(examples->value);
        }
      }
      JoinMetrics(results.runs, by_cell);
    }
  }
}

absl::StatusOr<FileResults> ReadLeaderboard(const std::string& path, const ReadOptions& options,
                                            JsonDocument& /*document*/) {
  FileResults results;
  results.path = path;
  CONCUR_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kTableBytesMax));
  results.digest = Sha256Of(text);
  CONCUR_ASSIGN_OR_RETURN(SeparatedRecords records, ReadRecords(text, path));
  CONCUR_ASSIGN_OR_RETURN(const LeaderboardTable table, TableOf(std::move(records), path, results));
  if (const std::optional<LongColumns> columns = FindLongColumns(table, options)) {
    TakeLong(table, *columns, options, results);
    return results;
  }
  CONCUR_RETURN_IF_ERROR(TakeWide(table, options, results));
  return results;
}

}  // namespace

Format LeaderboardFormat() {
  return {"leaderboard", "CSV or TSV with a row for each model, or for each score",
          [](absl::string_view name) {
            const std::string lower = absl::AsciiStrToLower(name);
            return absl::EndsWith(lower, ".csv") || absl::EndsWith(lower, ".tsv");
          },
          ReadLeaderboard};
}

}  // namespace concur::imports
