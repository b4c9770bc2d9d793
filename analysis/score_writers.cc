// Score tables: the first half of writers.h.
#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/csv.h"
#include "analysis/notes.h"
#include "analysis/score_table.h"
#include "analysis/text_table.h"
#include "analysis/writers.h"

namespace concur::analysis {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, nlohmann::detail::error_handler_t::replace) + "\n";
}

Json Entries(const std::vector<AxisEntry>& entries) {
  Json list = Json::array();
  for (const AxisEntry& entry : entries) {
    list.push_back({{"name", entry.name}, {"tags", entry.tags}});
  }
  return list;
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
  return json;
}

}  // namespace

std::string ScoresText(const ScoreTable& table, const TextOptions& options) {
  constexpr size_t kHeadingMax = 24;
  std::vector<TextTable::Align> aligns = {TextTable::Align::kLeft};
  std::vector<std::string> heading = {"approach"};
  for (const AxisEntry& benchmark : table.benchmarks()) {
    aligns.push_back(TextTable::Align::kRight);
    heading.push_back(Printable(benchmark.name, kHeadingMax));
  }
  TextTable text(std::move(aligns));
  text.AddRow(std::move(heading));
  for (size_t i = 0; i < table.approaches().size(); ++i) {
    std::vector<std::string> row = {Printable(table.approaches()[i].name, 2 * kHeadingMax)};
    for (size_t b = 0; b < table.benchmarks().size(); ++b) {
      row.push_back(CellText(table.cell(i, b), options.decimals));
    }
    text.AddRow(std::move(row));
  }
  std::string result = text.ToString();
  for (const std::string& note : ScoreNotes(table)) {
    absl::StrAppend(&result, "\n", note, "\n");
  }
  return result;
}

std::string ScoresCsv(const ScoreTable& table) {
  std::set<std::string> tags;
  for (const AxisEntry& approach : table.approaches()) {
    for (const auto& [tag, value] : approach.tags) {
      tags.insert(tag);
    }
  }
  // The first column may have any name, also none; the others' differ from it.
  const bool taken = tags.contains("approach") ||
                     std::any_of(table.benchmarks().begin(), table.benchmarks().end(),
                                 [](const AxisEntry& entry) { return entry.name == "approach"; });
  std::vector<std::string> fields = {taken ? "" : "approach"};
  for (const std::string& tag : tags) {
    fields.push_back(CsvField(tag));
  }
  for (const AxisEntry& benchmark : table.benchmarks()) {
    fields.push_back(CsvField(benchmark.name));
  }
  std::string text = absl::StrCat(absl::StrJoin(fields, ","), "\n");
  for (size_t i = 0; i < table.approaches().size(); ++i) {
    const AxisEntry& approach = table.approaches()[i];
    fields = {CsvField(approach.name)};
    for (const std::string& tag : tags) {
      const auto found = approach.tags.find(tag);
      fields.push_back(found == approach.tags.end() ? "" : CsvField(found->second));
    }
    for (size_t b = 0; b < table.benchmarks().size(); ++b) {
      const ScoreCell& cell = table.cell(i, b);
      fields.push_back(cell.state == CellState::kValue ? ShortestDecimal(cell.value) : "");
    }
    absl::StrAppend(&text, absl::StrJoin(fields, ","), "\n");
  }
  return text;
}

std::string ScoresJson(const ScoreTable& table) {
  Json json;
  json["approaches"] = Entries(table.approaches());
  json["benchmarks"] = Entries(table.benchmarks());
  json["cells"] = Json::array();
  for (size_t i = 0; i < table.approaches().size(); ++i) {
    for (size_t b = 0; b < table.benchmarks().size(); ++b) {
      json["cells"].push_back(CellJson(table, i, b));
    }
  }
  return Dump(json);
}

std::string ScoresJsonLines(const ScoreTable& table) {
  std::string text;
  for (size_t i = 0; i < table.approaches().size(); ++i) {
    for (size_t b = 0; b < table.benchmarks().size(); ++b) {
      text += Dump(CellJson(table, i, b));
    }
  }
  return text;
}

}  // namespace concur::analysis
