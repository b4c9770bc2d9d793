#include "analysis/table.h"

#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "analysis/csv.h"
#include "analysis/markup.h"
#include "analysis/notes.h"
#include "analysis/text_table.h"

namespace concur::analysis {
namespace {

using Json = nlohmann::ordered_json;
using Audience = TableColumn::Audience;
using Row = std::vector<std::string>;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, nlohmann::detail::error_handler_t::replace) + "\n";
}

std::string Shown(const TableCell& cell, const TableColumn& column) {
  if (!cell.text.empty()) {
    return cell.text;
  }
  switch (cell.kind) {
    case TableCell::Kind::kNone:
      return column.is_right ? "—" : "";
    case TableCell::Kind::kText:
      return "";
    case TableCell::Kind::kInteger:
      return absl::StrFormat("%.0f", cell.number);
    case TableCell::Kind::kNumber:
      return Fixed(cell.number, column.decimals);
    case TableCell::Kind::kYesNo:
      return cell.number != 0 ? "yes" : "no";
  }
  return "";
}

std::string CsvText(const TableCell& cell) {
  switch (cell.kind) {
    case TableCell::Kind::kNone:
      return "";
    case TableCell::Kind::kText:
      return CsvField(cell.text);
    case TableCell::Kind::kInteger:
      return absl::StrFormat("%.0f", cell.number);
    case TableCell::Kind::kNumber:
      return ShortestDecimal(cell.number);
    case TableCell::Kind::kYesNo:
      return cell.number != 0 ? "yes" : "no";
  }
  return "";
}

Json JsonValue(const TableCell& cell) {
  switch (cell.kind) {
    case TableCell::Kind::kNone:
      return Json();
    case TableCell::Kind::kText:
      return Json(cell.text);
    case TableCell::Kind::kInteger:
      return Json(static_cast<int64_t>(cell.number));
    case TableCell::Kind::kNumber:
      return Json(cell.number);
    case TableCell::Kind::kYesNo:
      return Json(cell.number != 0);
  }
  return Json();
}

Json RowJson(const Table& table, const std::vector<TableCell>& row) {
  Json json = Json::object();
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].audience != Audience::kPeople) {
      json[table.columns[i].key] = JsonValue(row[i]);
    }
  }
  return json;
}

std::string WriteJson(const Table& table) {
  Json json;
  json["title"] = table.title;
  json["rows"] = Json::array();
  for (const std::vector<TableCell>& row : table.rows) {
    json["rows"].push_back(RowJson(table, row));
  }
  json["notes"] = table.notes;
  return Dump(json);
}

std::string WriteJsonLines(const Table& table) {
  std::string text;
  for (const std::vector<TableCell>& row : table.rows) {
    text += Dump(RowJson(table, row));
  }
  return text;
}

std::string WriteCsv(const Table& table) {
  Row fields;
  for (const TableColumn& column : table.columns) {
    if (column.audience != Audience::kPeople) {
      fields.push_back(CsvField(column.key));
    }
  }
  std::string text = absl::StrCat(absl::StrJoin(fields, ","), "\n");
  for (const std::vector<TableCell>& row : table.rows) {
    fields.clear();
    for (size_t i = 0; i < table.columns.size(); ++i) {
      if (table.columns[i].audience != Audience::kPeople) {
        fields.push_back(CsvText(row[i]));
      }
    }
    absl::StrAppend(&text, absl::StrJoin(fields, ","), "\n");
  }
  return text;
}

// What people see of the table, each field through `render`.
template <typename Render>
std::vector<Row> PeopleRows(const Table& table, const Render& render) {
  std::vector<Row> rows;
  for (const std::vector<TableCell>& row : table.rows) {
    Row fields;
    for (size_t i = 0; i < table.columns.size(); ++i) {
      if (table.columns[i].audience != Audience::kPrograms) {
        fields.push_back(render(Shown(row[i], table.columns[i]), row[i].is_marked, i));
      }
    }
    rows.push_back(std::move(fields));
  }
  return rows;
}

std::vector<const TableColumn*> PeopleColumns(const Table& table) {
  std::vector<const TableColumn*> columns;
  for (const TableColumn& column : table.columns) {
    if (column.audience != Audience::kPrograms) {
      columns.push_back(&column);
    }
  }
  return columns;
}

std::string WriteText(const Table& table) {
  constexpr size_t kFieldMax = 60;
  std::vector<TextTable::Align> aligns;
  Row heads;
  std::vector<bool> any_marked(table.columns.size(), false);  // figures stay below each other
  for (const TableColumn* column : PeopleColumns(table)) {
    aligns.push_back(column->is_right ? TextTable::Align::kRight : TextTable::Align::kLeft);
    heads.push_back(Printable(column->head, kFieldMax));
  }
  for (const std::vector<TableCell>& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      any_marked[i] = any_marked[i] || row[i].is_marked;
    }
  }
  TextTable text(std::move(aligns));
  text.AddRow(std::move(heads));
  const auto render = [&](const std::string& shown, bool is_marked, size_t column) {
    const char* mark = is_marked ? "◂" : any_marked[column] ? " " : "";
    return absl::StrCat(Printable(shown, kFieldMax), mark);
  };
  for (Row& row : PeopleRows(table, render)) {
    text.AddRow(std::move(row));
  }
  std::string result = table.title.empty() ? "" : absl::StrCat(Printable(table.title), "\n\n");
  result += text.ToString();
  for (const std::string& note : table.notes) {
    // Notes that continue another are indented.
    absl::StrAppend(&result, absl::StartsWith(note, " ") ? "" : "\n", Printable(note), "\n");
  }
  return result;
}

std::string MarkdownRow(const Row& fields) {
  return absl::StrCat("| ", absl::StrJoin(fields, " | "), " |\n");
}

std::string WriteMarkdown(const Table& table) {
  Row heads;
  Row rule;
  for (const TableColumn* column : PeopleColumns(table)) {
    heads.push_back(EscapeMarkdown(column->head));
    rule.push_back(column->is_right ? "---:" : ":---");
  }
  std::string text = table.title.empty() ? "" : absl::StrCat(EscapeMarkdown(table.title), "\n\n");
  absl::StrAppend(&text, MarkdownRow(heads), MarkdownRow(rule));
  const auto render = [](const std::string& shown, bool is_marked, size_t) {
    const std::string escaped = EscapeMarkdown(shown);
    return is_marked ? absl::StrCat("**", escaped, "**") : escaped;
  };
  for (const Row& row : PeopleRows(table, render)) {
    text += MarkdownRow(row);
  }
  for (const std::string& note : table.notes) {
    absl::StrAppend(&text, "\n", EscapeMarkdown(note), "\n");
  }
  return text;
}

std::string WriteLatex(const Table& table) {
  Row heads;
  std::string columns;
  for (const TableColumn* column : PeopleColumns(table)) {
    heads.push_back(EscapeLatex(column->head));
    columns += column->is_right ? 'r' : 'l';
  }
  std::string text = absl::StrCat("\\begin{tabular}{", columns, "}\n\\toprule\n",
                                  absl::StrJoin(heads, " & "), " \\\\\n\\midrule\n");
  const auto render = [](const std::string& shown, bool is_marked, size_t) {
    const std::string escaped = EscapeLatex(shown);
    return is_marked ? absl::StrCat("\\textbf{", escaped, "}") : escaped;
  };
  for (const Row& row : PeopleRows(table, render)) {
    absl::StrAppend(&text, absl::StrJoin(row, " & "), " \\\\\n");
  }
  text += "\\bottomrule\n";
  std::vector<std::string> notes = table.notes;
  if (!table.title.empty()) {
    notes.insert(notes.begin(), table.title);
  }
  for (const std::string& note : notes) {
    absl::StrAppend(&text, "\\multicolumn{", heads.size(), "}{l}{\\footnotesize ",
                    EscapeLatex(note), "} \\\\\n");
  }
  return text + "\\end{tabular}\n";
}

}  // namespace

TableCell TextCell(std::string text) { return {TableCell::Kind::kText, std::move(text)}; }

TableCell IntegerCell(int64_t value) {
  return {TableCell::Kind::kInteger, "", static_cast<double>(value)};
}

TableCell YesNoCell(bool value) { return {TableCell::Kind::kYesNo, "", value ? 1.0 : 0.0}; }

TableCell NumberCell(std::optional<double> value, std::string shown) {
  if (!value.has_value() || std::isnan(*value)) {
    return {TableCell::Kind::kNone, std::move(shown)};
  }
  return {TableCell::Kind::kNumber, std::move(shown), *value};
}

std::string WriteTable(const Table& table, TableFormat format) {
  switch (format) {
    case TableFormat::kText:
      return WriteText(table);
    case TableFormat::kCsv:
      return WriteCsv(table);
    case TableFormat::kJson:
      return WriteJson(table);
    case TableFormat::kJsonLines:
      return WriteJsonLines(table);
    case TableFormat::kMarkdown:
      return WriteMarkdown(table);
    case TableFormat::kLatex:
      return WriteLatex(table);
  }
  return "";
}

}  // namespace concur::analysis
