// SPDX-License-Identifier: Apache-2.0
// Score tables in every form.
#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "analysis/score_table.h"
#include "base/decimal.h"
#include "report/json_text.h"
#include "report/notes.h"
#include "report/table.h"
#include "report/writers.h"

namespace concur::analysis {
namespace {

Json Entries(const std::vector<AxisEntry>& entries) {
  Json list = Json::array();
  for (const AxisEntry& entry : entries) {
    Json json = {{"name", entry.name}, {"tags", entry.tags}};
    if (!entry.metric.IsPlain()) {
      json["goal"] = std::string(GoalName(entry.metric.goal));
      json["scale"] = ScaleText(entry.metric.scale);
    }
    if (!entry.choice.on.empty()) {
      json["chosen_on"] = entry.choice.on;
      json["optimism"] = entry.choice.optimism ? Json(*entry.choice.optimism) : Json();
    }
    list.push_back(std::move(json));
  }
  return list;
}

// The rows of a scores CSV that say what is better, on which scale, on what settings were chosen,
// and what choosing on test sets adds; each only where it says more than the scores alone.
std::vector<TableRow> MeaningRows(const ScoreTable& table, size_t tags) {
  const std::vector<AxisEntry>& benchmarks = table.benchmarks();
  std::vector<TableRow> rows;
  const auto add_row = [&](absl::string_view name, auto says_more, auto cell_of) {
    if (std::any_of(benchmarks.begin(), benchmarks.end(), says_more)) {
      TableRow& row = rows.emplace_back(1 + tags, TableCell());
      row[0] = TextCell(std::string(name));
      for (const AxisEntry& benchmark : benchmarks) {
        row.push_back(cell_of(benchmark));
      }
    }
  };
  const auto has_meaning = [](const AxisEntry& benchmark) { return !benchmark.metric.IsPlain(); };
  add_row(kGoalRow, has_meaning, [](const AxisEntry& benchmark) {
    return TextCell(std::string(GoalName(benchmark.metric.goal)));
  });
  add_row(kScaleRow, has_meaning,
          [](const AxisEntry& benchmark) { return TextCell(ScaleText(benchmark.metric.scale)); });
  add_row(
      kChosenRow, [](const AxisEntry& benchmark) { return !benchmark.choice.on.empty(); },
      [](const AxisEntry& benchmark) { return TextCell(benchmark.choice.on); });
  add_row(
      kOptimismRow,
      [](const AxisEntry& benchmark) { return benchmark.choice.optimism.has_value(); },
      [](const AxisEntry& benchmark) { return NumberCell(benchmark.choice.optimism); });
  return rows;
}

Json CellJson(const ScoreTable& table, size_t approach, size_t benchmark) {
  const ScoreCell& cell = table.cell(approach, benchmark);
  Json json;
  json["approach"] = table.approaches()[approach].name;
  json["benchmark"] = table.benchmarks()[benchmark].name;
  json["state"] = std::string(CellStateName(cell.state));
  const bool has_value = cell.state == CellState::kValue;
  json["value"] = has_value ? Json(cell.value) : Json();
  json["standard_deviation"] =
      has_value && cell.seeds >= 2 ? Json(cell.standard_deviation) : Json();
  json["seeds"] = cell.seeds;
  json["examples"] = cell.examples;
  json["setting"] = cell.setting >= 0 ? Json(cell.setting) : Json();
  json["failed"] = cell.failed;
  json["pending"] = cell.pending;
  json["missing"] = cell.missing;
  json["stopped"] = cell.stopped;
  return json;
}

// Cell by cell: as one document, half a million of them would take a gigabyte.
std::string ScoresJson(const ScoreTable& table) {
  Json json;
  json["approaches"] = Entries(table.approaches());
  json["benchmarks"] = Entries(table.benchmarks());
  if (const std::vector<std::string> choices = ChoiceNotes(table.benchmarks()); !choices.empty()) {
    json["choices"] = choices;
  }
  json["cells"] = Json::array();
  std::string text = JsonLine(json);
  const std::string end = "]}\n";
  text.resize(text.size() - end.size());
  for (size_t i = 0; i < table.approaches().size(); ++i) {
    if (i == 1) {  // growing step by step would hold the text twice
      text.reserve(text.size() + text.size() * table.approaches().size());
    }
    for (size_t b = 0; b < table.benchmarks().size(); ++b) {
      absl::StrAppend(&text, i + b == 0 ? "" : ",",
                      absl::StripSuffix(JsonLine(CellJson(table, i, b)), "\n"));
    }
  }
  absl::StrAppend(&text, end);
  return text;
}

std::string ScoresJsonLines(const ScoreTable& table) {
  std::string text;
  for (size_t i = 0; i < table.approaches().size(); ++i) {
    for (size_t b = 0; b < table.benchmarks().size(); ++b) {
      text += JsonLine(CellJson(table, i, b));
    }
  }
  return text;
}

}  // namespace

Table ScoresTable(const ScoreTable& table, bool people_see_tags) {
  constexpr size_t kHeadingMax = 24;
  const std::vector<std::string> tags = TagsOf(table.approaches());
  // ParseScoresCsv accepts any name, also an empty one, of the first column; names must differ.
  std::vector<std::string> others = NamesOf(table.benchmarks());
  others.insert(others.end(), tags.begin(), tags.end());
  const bool taken = std::find(others.begin(), others.end(), "approach") != others.end();
  Table result;
  result.columns = {{taken ? "" : "approach", "approach"}};
  result.columns[0].width_max = 2 * kHeadingMax;
  for (const std::string& tag : tags) {
    result.columns.push_back(people_see_tags ? TableColumn{tag, tag} : ForPrograms(tag));
  }
  for (const AxisEntry& benchmark : table.benchmarks()) {
    result.columns.push_back({benchmark.name, benchmark.name, true});
    result.columns.back().width_max = kHeadingMax;
  }
  for (size_t i = 0; i < table.approaches().size(); ++i) {
    const AxisEntry& approach = table.approaches()[i];
    TableRow row = {TextCell(approach.name)};
    for (const std::string& tag : tags) {
      row.push_back(TextCell(TagValue(approach, tag)));
    }
    for (size_t b = 0; b < table.benchmarks().size(); ++b) {
      row.push_back(AsTableCell(table, i, b));
    }
    result.rows.push_back(std::move(row));
  }
  result.notes = ScoreNotes(table);
  result.details = ChoiceNotes(table.benchmarks());
  return result;
}

std::string WriteScores(const ScoreTable& table, TableFormat format, const TextOptions& options) {
  switch (format) {
    case TableFormat::kJson:
    case TableFormat::kJsonList:
      return ScoresJson(table);
    case TableFormat::kJsonLines:
      return ScoresJsonLines(table);
    case TableFormat::kCsv: {
      Table result = ScoresTable(table, /*people_see_tags=*/false);
      const std::vector<TableRow> meaning = MeaningRows(table, TagsOf(table.approaches()).size());
      result.rows.insert(result.rows.begin(), meaning.begin(), meaning.end());
      return WriteTable(result, format);
    }
    default:
      return WriteTable(ScoresTable(table, /*people_see_tags=*/false), format, options);
  }
}

}  // namespace concur::analysis
