// SPDX-License-Identifier: Apache-2.0
#include "report/table.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analysis/statistics/intervals.h"
#include "base/csv.h"
#include "base/decimal.h"
#include "report/json_text.h"
#include "report/markup.h"
#include "report/text.h"

namespace concur::analysis {
namespace {

using Audience = TableColumn::Audience;
using Fields = std::vector<std::string>;

std::string Shown(const TableCell& cell, const TableColumn& column) {
  return ShownValue(cell, column) + cell.footnote;
}

Json JsonValue(const TableCell& cell) {
  switch (cell.kind) {
    case TableCell::Kind::kNone:
      return Json();
    case TableCell::Kind::kText:
      return Json(cell.text);
    case TableCell::Kind::kInteger:
      return Json(cell.integer);
    case TableCell::Kind::kNumber:
      return Json(cell.number);
    case TableCell::Kind::kYesNo:
      return Json(cell.integer != 0);
  }
  return Json();
}

Json RowJson(const Table& table, const TableRow& row) {
  Json json = Json::object();
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].audience != Audience::kPeople) {
      json[table.columns[i].key] = JsonValue(row[i]);
    }
  }
  return json;
}

// The notes and the details, each sentence once.
std::vector<std::string> AllNotes(const Table& table) {
  std::vector<std::string> notes = table.notes;
  for (const std::string& detail : table.details) {
    if (std::find(notes.begin(), notes.end(), detail) == notes.end()) {
      notes.push_back(detail);
    }
  }
  return notes;
}

std::string WriteJson(const Table& table) {
  Json json;
  json["title"] = table.title;
  json["rows"] = RowsJson(table);
  json["notes"] = AllNotes(table);
  return JsonLine(json);
}

std::string WriteJsonLines(const Table& table) {
  std::string text;
  for (const TableRow& row : table.rows) {
    text += JsonLine(RowJson(table, row));
  }
  return text;
}

std::string CsvValue(const TableCell& cell) {
  return cell.kind == TableCell::Kind::kText ? CsvText(cell.text) : ValueText(cell);
}

std::string WriteCsv(const Table& table) {
  const auto line = [&table](const auto& field) {
    Fields fields;
    for (size_t i = 0; i < table.columns.size(); ++i) {
      if (table.columns[i].audience != Audience::kPeople) {
        fields.push_back(field(i));
      }
    }
    return absl::StrCat(absl::StrJoin(fields, ","), "\n");
  };
  std::string text = line([&table](size_t i) { return CsvText(table.columns[i].key); });
  for (const TableRow& row : table.rows) {
    text += line([&row](size_t i) { return CsvValue(row[i]); });
  }
  return text;
}

// The columns for people of each row; `render` makes the field of a cell and its column's index.
template <typename Render>
std::vector<Fields> PeopleRows(const Table& table, const Render& render) {
  std::vector<Fields> rows;
  for (const TableRow& row : table.rows) {
    Fields fields;
    for (size_t i = 0; i < table.columns.size(); ++i) {
      if (table.columns[i].audience != Audience::kPrograms) {
        fields.push_back(render(row[i], i));
      }
    }
    rows.push_back(std::move(fields));
  }
  return rows;
}

std::string MarkdownRow(const Fields& fields) {
  return absl::StrCat("| ", absl::StrJoin(fields, " | "), " |\n");
}

std::string WriteMarkdown(const Table& table) {
  Fields heads;
  Fields rule;
  for (const TableColumn* column : PeopleColumns(table)) {
    heads.push_back(EscapeMarkdown(column->head));
    rule.push_back(column->is_right ? "---:" : ":---");
  }
  std::string text = table.title.empty() ? "" : absl::StrCat(EscapeMarkdown(table.title), "\n\n");
  absl::StrAppend(&text, MarkdownRow(heads), MarkdownRow(rule));
  const auto render = [&table](const TableCell& cell, size_t column) {
    const std::string escaped = EscapeMarkdown(Shown(cell, table.columns[column]));
    return cell.is_marked ? absl::StrCat("**", escaped, "**") : escaped;
  };
  for (const Fields& row : PeopleRows(table, render)) {
    text += MarkdownRow(row);
  }
  for (const std::string& note : table.notes) {
    absl::StrAppend(&text, "\n", EscapeMarkdown(note), "\n");
  }
  return text;
}

std::string WriteLatex(const Table& table) {
  Fields heads;
  std::string columns;
  for (const TableColumn* column : PeopleColumns(table)) {
    heads.push_back(EscapeLatex(column->head));
    columns += column->is_right ? 'r' : 'l';
  }
  std::string text = absl::StrCat("\\begin{tabular}{", columns, "}\n\\toprule\n",
                                  absl::StrJoin(heads, " & "), " \\\\\n\\midrule\n");
  const auto render = [&table](const TableCell& cell, size_t column) {
    const std::string escaped = EscapeLatex(Shown(cell, table.columns[column]));
    return cell.is_marked ? absl::StrCat("\\textbf{", escaped, "}") : escaped;
  };
  for (const Fields& row : PeopleRows(table, render)) {
    absl::StrAppend(&text, absl::StrJoin(row, " & "), " \\\\\n");
  }
  text += "\\bottomrule\n\\end{tabular}\n";
  // Below the table, where lines break: a cell over all columns would be as wide as the note.
  std::vector<std::string> notes = table.notes;
  if (!table.title.empty()) {
    notes.insert(notes.begin(), table.title);
  }
  for (const std::string& note : notes) {
    absl::StrAppend(&text, "\n{\\footnotesize\\raggedright ", EscapeLatex(note), "\\par}\n");
  }
  return text;
}

// Class of report.css that makes the columns small enough to stand on one page.
const char* WidthClass(size_t columns) {
  constexpr size_t kPlainMax = 12;
  constexpr size_t kWideMax = 32;
  return columns <= kPlainMax ? "" : columns <= kWideMax ? " wide" : " very-wide";
}

// Attributes of a cell: what sorting goes by (nothing where there is no value), and its classes.
std::string HtmlAttributes(const TableCell& cell, const TableColumn& column) {
  std::string text;
  if (cell.kind == TableCell::Kind::kText) {
    text = absl::StrCat(" data-v=\"", EscapeXml(cell.text), "\"");
  } else if (cell.kind != TableCell::Kind::kNone) {
    const bool is_number = cell.kind == TableCell::Kind::kNumber;
    text = absl::StrCat(
        " data-v=\"", is_number ? ShortestDecimal(cell.number) : absl::StrCat(cell.integer), "\"");
  }
  Fields classes;
  if (column.is_right) {
    classes.emplace_back("number");
  }
  if (cell.is_marked) {
    classes.emplace_back("best");
  }
  if (cell.kind == TableCell::Kind::kNone && column.is_right) {
    classes.emplace_back("absent");
  }
  if (!classes.empty()) {
    absl::StrAppend(&text, " class=\"", absl::StrJoin(classes, " "), "\"");
  }
  return text;
}

// The first column heads its row.
std::string HtmlRow(const Table& table, const TableRow& row) {
  std::string html;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].audience == Audience::kPrograms) {
      continue;
    }
    constexpr size_t kRowHeadMax = 32;
    const std::string whole = Shown(row[i], table.columns[i]);
    const std::string text = EscapeXml(html.empty() ? ShortName(whole, kRowHeadMax) : whole);
    const std::string attributes = HtmlAttributes(row[i], table.columns[i]);
    html += html.empty()
                ? absl::StrCat("<th scope=\"row\"", attributes, " title=\"", EscapeXml(whole),
                               "\">", text, "</th>")
                : absl::StrCat("<td", attributes, ">", text, row[i].is_marked ? " ◂" : "", "</td>");
  }
  return html;
}

}  // namespace

Json RowsJson(const Table& table) {
  Json rows = Json::array();
  for (const TableRow& row : table.rows) {
    rows.push_back(RowJson(table, row));
  }
  return rows;
}

TableCell WithFootnote(TableCell cell, std::string sign) {
  cell.footnote = std::move(sign);
  return cell;
}

TableCell WithTone(TableCell cell, Tone tone) {
  cell.tone = tone;
  return cell;
}

TableCell TextCell(std::string text) { return {TableCell::Kind::kText, std::move(text)}; }

TableCell IntegerCell(int64_t value, std::string shown) {
  return {TableCell::Kind::kInteger, std::move(shown), 0, value};
}

TableCell UnsignedCell(uint64_t value) {
  return value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())
             ? IntegerCell(static_cast<int64_t>(value))
             : TextCell(absl::StrCat(value));
}

TableCell YesNoCell(bool value) { return {TableCell::Kind::kYesNo, "", 0, value ? 1 : 0}; }

TableCell NumberCell(std::optional<double> value, std::string shown) {
  if (!value.has_value() || std::isnan(*value)) {
    return {TableCell::Kind::kNone, std::move(shown)};
  }
  return {TableCell::Kind::kNumber, std::move(shown), *value};
}

TableCell PValueCell(double p) {
  return NumberCell(p, std::isnan(p) ? "—" : p < 1e-4 ? "<0.0001" : absl::StrFormat("%.4f", p));
}

TableCell CoefficientCell(std::optional<double> value) {
  return NumberCell(value, value.has_value() ? "" : "undef");
}

TableCell SignedCell(std::optional<double> value, int decimals) {
  return NumberCell(value, value.has_value() ? absl::StrFormat("%+.*f", decimals, *value) : "");
}

TableCell LowCell(const std::optional<Interval>& interval) {
  return interval.has_value() ? NumberCell(interval->low) : TableCell();
}

TableCell HighCell(const std::optional<Interval>& interval) {
  return interval.has_value() ? NumberCell(interval->high) : TableCell();
}

TableColumn ForPrograms(std::string key) {
  return {std::move(key), "", false, 0, Audience::kPrograms};
}

TableColumn ForPeople(std::string head, bool is_right) {
  return {"", std::move(head), is_right, 0, Audience::kPeople};
}

std::string WriteTable(const Table& table, TableFormat format, const TextOptions& options) {
  if (options.details && !table.details.empty()) {
    Table whole = table;
    whole.notes = AllNotes(table);
    whole.details.clear();
    return WriteTable(whole, format, options);
  }
  switch (format) {
    case TableFormat::kText:
      return WriteTextTable(table, options);
    case TableFormat::kCsv:
      return WriteCsv(table);
    case TableFormat::kJson:
      return WriteJson(table);
    case TableFormat::kJsonList:
      return IndentedJson(RowsJson(table));
    case TableFormat::kJsonLines:
      return WriteJsonLines(table);
    case TableFormat::kMarkdown:
      return WriteMarkdown(table);
    case TableFormat::kLatex:
      return WriteLatex(table);
  }
  return "";
}

std::string CsvLine(const TableRow& row) {
  Fields fields;
  for (const TableCell& cell : row) {
    fields.push_back(CsvValue(cell));
  }
  return absl::StrCat(absl::StrJoin(fields, ","), "\n");
}

std::string HtmlParagraph(const std::string& text, const std::string& style) {
  return absl::StrCat("<p", style.empty() ? "" : absl::StrCat(" class=\"", style, "\""), ">",
                      EscapeXml(text), "</p>\n");
}

namespace {

// With the field that filters its rows.
std::string HtmlTableElement(const Table& table, const HtmlTableOptions& options) {
  std::string html = absl::StrCat(
      "<div class=\"controls\" data-needs-script hidden><label>Filter rows<input type=\"search\" "
      "data-table=\"",
      options.id, "\" data-count=\"", options.id, "-count\" placeholder=\"words, tag=value\">",
      "</label><span class=\"quiet\" id=\"", options.id, "-count\"></span></div>\n");
  absl::StrAppend(&html, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"",
                  EscapeXml(table.title.empty() ? options.id : table.title),
                  "\"><table class=\"sortable", WidthClass(PeopleColumns(table).size()), "\" id=\"",
                  options.id, "\">\n<thead><tr>");
  for (const TableColumn* column : PeopleColumns(table)) {
    absl::StrAppend(&html, "<th scope=\"col\"", column->is_right ? " class=\"number\"" : "", ">",
                    EscapeXml(column->head), "</th>");
  }
  html += "</tr></thead>\n<tbody>\n";
  for (size_t r = 0; r < std::min(table.rows.size(), options.rows_max); ++r) {
    const std::string searched =
        r < options.row_texts.size()
            ? absl::StrCat(" data-text=\"", EscapeXml(options.row_texts[r]), "\"")
            : "";
    absl::StrAppend(&html, "<tr", searched, ">", HtmlRow(table, table.rows[r]), "</tr>\n");
  }
  html += "</tbody></table></div>\n";
  if (table.rows.size() > options.rows_max) {
    html +=
        HtmlParagraph(absl::StrCat(table.rows.size() - options.rows_max, " of ", table.rows.size(),
                                   " rows are left out; the command line has them all."),
                      "left-out");
  }
  return html;
}

}  // namespace

std::string WriteHtmlTable(const Table& table, const HtmlTableOptions& options) {
  std::string html = table.rows.empty() ? "" : HtmlTableElement(table, options);
  for (const std::string& note : table.notes) {
    html += HtmlParagraph(note, "quiet");
  }
  return html;
}

}  // namespace concur::analysis
