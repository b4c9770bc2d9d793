#include "analysis/report.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "analysis/correlation.h"
#include "analysis/csv.h"
#include "analysis/generalization.h"
#include "analysis/markup.h"
#include "analysis/matrix.h"
#include "analysis/notes.h"
#include "analysis/report_assets.h"
#include "base/status_macros.h"
#include "base/suggest.h"

namespace concur::analysis {
namespace {

using Json = nlohmann::ordered_json;

constexpr Coefficient kCoefficients[] = {Coefficient::kKendall, Coefficient::kPearson,
                                         Coefficient::kSpearman};
constexpr size_t kGroupsMax = 6;

// What people read needs six decimals at most; without them the page is half as large.
Json Rounded(double value) {
  return std::isfinite(value) ? Json(std::round(value * 1e6) / 1e6) : Json();
}

// JSON that may stand in a <script> element: no character can end it.
std::string ScriptJson(const Json& json) {
  const std::string text =
      json.dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::detail::error_handler_t::replace);
  return absl::StrReplaceAll(text, {{"<", "\\u003c"}, {">", "\\u003e"}, {"&", "\\u0026"}});
}

std::string Paragraph(absl::string_view text, absl::string_view style = "") {
  return absl::StrCat("<p", style.empty() ? "" : absl::StrCat(" class=\"", style, "\""), ">",
                      EscapeXml(text), "</p>\n");
}

std::string HtmlCell(const Table& table, size_t column, const TableCell& cell, bool is_head) {
  const TableColumn& about = table.columns[column];
  const std::string shown = cell.text.empty() && cell.kind == TableCell::Kind::kNumber
                                ? Fixed(cell.number, about.decimals)
                            : cell.text.empty() && cell.kind == TableCell::Kind::kInteger
                                ? absl::StrCat(static_cast<int64_t>(cell.number))
                            : cell.text.empty() && cell.kind == TableCell::Kind::kYesNo
                                ? std::string(cell.number != 0 ? "yes" : "no")
                            : cell.text.empty() && about.is_right ? std::string("—")
                                                                  : cell.text;
  std::string key;  // what sorting goes by; nothing where there is no value
  if (cell.kind == TableCell::Kind::kText) {
    key = absl::StrCat(" data-v=\"", EscapeXml(cell.text), "\"");
  } else if (cell.kind != TableCell::Kind::kNone) {
    key = absl::StrCat(" data-v=\"", ShortestDecimal(cell.number), "\"");
  }
  std::vector<std::string> classes;
  if (about.is_right) {
    classes.emplace_back("number");
  }
  if (cell.is_marked) {
    classes.emplace_back("best");
  }
  if (cell.kind == TableCell::Kind::kNone && about.is_right) {
    classes.emplace_back("absent");
  }
  const std::string style =
      classes.empty() ? "" : absl::StrCat(" class=\"", absl::StrJoin(classes, " "), "\"");
  const std::string text = EscapeXml(shown);
  return is_head ? absl::StrCat("<th scope=\"row\"", key, style, " title=\"", text, "\">", text,
                                "</th>")
                 : absl::StrCat("<td", key, style, ">", text, cell.is_marked ? " ◂" : "", "</td>");
}

// A table with its filter; `id` is an HTML name. `row_texts`, unless empty, are what filtering
// looks at in each row.
std::string HtmlTable(const Table& table, const std::string& id, size_t rows_max,
                      const std::vector<std::string>& row_texts = {}) {
  std::string html = absl::StrCat(
      "<div class=\"controls\" data-needs-script hidden><label>Filter rows<input type=\"search\" "
      "data-table=\"",
      id, "\" data-count=\"", id, "-count\" placeholder=\"words, tag=value\">",
      "</label><span class=\"quiet\" id=\"", id, "-count\"></span></div>\n");
  absl::StrAppend(&html, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"",
                  EscapeXml(table.title.empty() ? id : table.title),
                  "\"><table class=\"sortable\" id=\"", id, "\">\n<thead><tr>");
  for (const TableColumn& column : table.columns) {
    if (column.audience != TableColumn::Audience::kPrograms) {
      absl::StrAppend(&html, "<th scope=\"col\"", column.is_right ? " class=\"number\"" : "", ">",
                      EscapeXml(column.head), "</th>");
    }
  }
  html += "</tr></thead>\n<tbody>\n";
  for (size_t r = 0; r < std::min(table.rows.size(), rows_max); ++r) {
    absl::StrAppend(
        &html, "<tr",
        r < row_texts.size() ? absl::StrCat(" data-text=\"", EscapeXml(row_texts[r]), "\"") : "",
        ">");
    bool is_head = true;
    for (size_t c = 0; c < table.columns.size(); ++c) {
      if (table.columns[c].audience != TableColumn::Audience::kPrograms) {
        html += HtmlCell(table, c, table.rows[r][c], is_head);
        is_head = false;
      }
    }
    html += "</tr>\n";
  }
  html += "</tbody></table></div>\n";
  if (table.rows.size() > rows_max) {
    html += Paragraph(absl::StrCat(table.rows.size() - rows_max, " of ", table.rows.size(),
                                   " rows are left out; the command line has them all."),
                      "left-out");
  }
  for (const std::string& note : table.notes) {
    html += Paragraph(note, "quiet");
  }
  return html;
}

std::string EntryText(const AxisEntry& entry) {
  std::string text = entry.name;
  for (const auto& [tag, value] : entry.tags) {
    absl::StrAppend(&text, " ", tag, "=", value);
  }
  return text;
}

Table ScoresAsTable(const ScoreTable& table) {
  Table result;
  result.columns.push_back({"approach", "approach"});
  std::set<std::string> tags;
  for (const AxisEntry& approach : table.approaches()) {
    for (const auto& [tag, value] : approach.tags) {
      tags.insert(tag);
    }
  }
  for (const std::string& tag : tags) {
    result.columns.push_back({tag, tag});
  }
  for (const AxisEntry& benchmark : table.benchmarks()) {
    result.columns.push_back({benchmark.name, benchmark.name, true});
  }
  for (size_t i = 0; i < table.approaches().size(); ++i) {
    const AxisEntry& approach = table.approaches()[i];
    std::vector<TableCell> row = {TextCell(approach.name)};
    for (const std::string& tag : tags) {
      const auto found = approach.tags.find(tag);
      row.push_back(TextCell(found == approach.tags.end() ? "" : found->second));
    }
    for (size_t b = 0; b < table.benchmarks().size(); ++b) {
      const ScoreCell& cell = table.cell(i, b);
      row.push_back(
          NumberCell(cell.state == CellState::kValue ? std::optional(cell.value) : std::nullopt,
                     CellText(cell, 2)));
    }
    result.rows.push_back(std::move(row));
  }
  result.notes = ScoreNotes(table);
  return result;
}

// A table's rows, or a table of the rows `kept`.
struct Subset {
  std::string name;
  std::string condition;  // for Where; empty: all
};

// The tag that makes groups, or "" where none does.
absl::StatusOr<std::string> GroupTag(const ScoreTable& table, const std::string& asked) {
  std::map<std::string, std::set<std::string>> values;
  for (const AxisEntry& approach : table.approaches()) {
    for (const auto& [tag, value] : approach.tags) {
      values[tag].insert(value);
    }
  }
  if (!asked.empty() && values.count(asked) == 0) {
    std::vector<std::string> known;
    known.reserve(values.size());
    for (const auto& [tag, list] : values) {
      known.push_back(tag);
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "group-by: no approach has the tag \"", asked, "\"", DidYouMean(asked, known),
        known.empty() ? "" : absl::StrCat("; the tags are ", absl::StrJoin(known, ", "))));
  }
  if (!asked.empty()) {
    return asked;
  }
  for (auto& [tag, list] : values) {
    for (const AxisEntry& approach : table.approaches()) {
      if (approach.tags.count(tag) == 0) {
        list.insert("");
      }
    }
    const bool can_be_asked_for = tag.find_first_of("=!") == std::string::npos;
    if (list.size() >= 2 && list.size() <= kGroupsMax && can_be_asked_for) {
      return tag;
    }
  }
  return std::string();
}

// Every field of the pairs in a list of its own: short keys stand once.
Json MatrixData(const ConcurrenceMatrix& matrix) {
  Json json;
  json["title"] = MatrixTitle(matrix);
  json["notes"] = MatrixNotes(matrix);
  for (const char* name : {"value", "low", "high", "n", "p", "missing", "reason"}) {
    json[name] = Json::array();
  }
  for (const MatrixPair& pair : matrix.pairs) {
    const Correlation& correlation = pair.correlation;
    json["value"].push_back(correlation.defined() ? Rounded(correlation.value) : Json());
    json["low"].push_back(pair.interval.has_value() ? Rounded(pair.interval->low) : Json());
    json["high"].push_back(pair.interval.has_value() ? Rounded(pair.interval->high) : Json());
    json["n"].push_back(correlation.n);
    json["p"].push_back(std::isnan(correlation.p_value) ? Json() : Json(correlation.p_value));
    json["missing"].push_back(pair.missing);
    json["reason"].push_back(std::string(UndefinedReason(correlation.undefined)));
  }
  return json;
}

// The matrices of some of the table's approaches, whose indices stay those of the whole table.
absl::StatusOr<Json> SubsetData(const ScoreTable& table, const std::string& name,
                                const std::vector<std::string>& conditions,
                                const std::optional<BootstrapOptions>& bootstrap) {
  CONCUR_ASSIGN_OR_RETURN(const ScoreTable part, table.Where(conditions));
  Json indices = Json::array();
  size_t at = 0;
  for (const AxisEntry& approach : part.approaches()) {
    while (table.approaches()[at].name != approach.name) {
      ++at;
    }
    indices.push_back(at);
  }
  Json json;
  json["name"] = name;
  json["approaches"] = indices;
  for (const Coefficient coefficient : kCoefficients) {
    MatrixOptions options;
    options.coefficient = coefficient;
    options.bootstrap = bootstrap;
    CONCUR_ASSIGN_OR_RETURN(const ConcurrenceMatrix matrix, ComputeMatrix(part, options));
    Json data = MatrixData(matrix);
    for (Json& missing : data["missing"]) {
      for (Json& index : missing) {
        index = indices[index.get<size_t>()];
      }
    }
    json["matrices"][std::string(CoefficientName(coefficient))] = std::move(data);
  }
  return json;
}

absl::StatusOr<Json> PageData(const ScoreTable& table, const std::string& group_by,
                              const std::optional<BootstrapOptions>& bootstrap) {
  Json json;
  json["approaches"] = Json::array();
  for (const AxisEntry& approach : table.approaches()) {
    json["approaches"].push_back({{"name", approach.name}, {"tags", approach.tags}});
  }
  json["benchmarks"] = Json::array();
  json["scores"] = Json::array();
  for (size_t b = 0; b < table.benchmarks().size(); ++b) {
    json["benchmarks"].push_back(
        {{"name", table.benchmarks()[b].name}, {"text", EntryText(table.benchmarks()[b])}});
    Json column = Json::array();
    for (const ScoreCell& cell : table.column(b)) {
      column.push_back(cell.state == CellState::kValue ? Rounded(cell.value) : Json());
    }
    json["scores"].push_back(std::move(column));
  }
  json["coefficient_names"] = {
      {"kendall", "Kendall's tau-b"}, {"pearson", "Pearson's r"}, {"spearman", "Spearman's rho"}};
  json["group_by"] = group_by;
  json["subsets"] = Json::array();
  if (table.benchmarks().size() < 2) {
    return json;
  }
  CONCUR_ASSIGN_OR_RETURN(Json all, SubsetData(table, "all approaches", {}, bootstrap));
  json["subsets"].push_back(std::move(all));
  std::set<std::string> values;
  for (const AxisEntry& approach : table.approaches()) {
    const auto found = approach.tags.find(group_by);
    values.insert(found == approach.tags.end() ? "" : found->second);
  }
  if (group_by.empty() || values.size() < 2 || values.size() > kGroupsMax) {
    return json;
  }
  for (const std::string& value : values) {
    const std::string condition = absl::StrCat(group_by, "=", value);
    CONCUR_ASSIGN_OR_RETURN(
        Json part, SubsetData(table, value.empty() ? absl::StrCat("no ", group_by) : condition,
                              {condition}, bootstrap));
    json["subsets"].push_back(std::move(part));
  }
  return json;
}

// The table cut to what a page can hold; says in `left_out` what was cut.
absl::StatusOr<ScoreTable> Cut(const ScoreTable& table, const ReportOptions& options,
                               std::vector<std::string>& left_out) {
  std::vector<AxisEntry> approaches = table.approaches();
  std::vector<AxisEntry> benchmarks = table.benchmarks();
  const auto cut = [&](std::vector<AxisEntry>& entries, size_t max, const char* kind,
                       const char* remedy) {
    if (entries.size() > max) {
      left_out.push_back(absl::StrCat("This page shows the first ", max, " of ", entries.size(),
                                      " ", kind, "; nothing on it counts the others. ", remedy));
      entries.resize(max);
    }
  };
  cut(benchmarks, options.benchmarks_max, "benchmarks",
      "Choose others with --columns or --where; concur matrix -o csv has them all.");
  cut(approaches, options.approaches_max, "approaches",
      "Choose others with --where; concur scores -o csv has them all.");
  CONCUR_ASSIGN_OR_RETURN(ScoreTable kept,
                          ScoreTable::Create(std::move(approaches), std::move(benchmarks)));
  for (size_t b = 0; b < kept.benchmarks().size(); ++b) {
    for (size_t i = 0; i < kept.approaches().size(); ++i) {
      kept.cell(i, b) = table.cell(i, b);
    }
  }
  return kept;
}

std::string ConcurrenceSection(const std::string& svg) {
  return absl::StrCat(
      "<section id=\"concurrence\"><h2>Concurrence</h2>\n"
      "<p id=\"matrix-title\" class=\"quiet\"></p>\n"
      "<div class=\"controls\" data-needs-script hidden>\n"
      "<label>Coefficient<select id=\"coefficient\"><option value=\"kendall\">Kendall's tau-b"
      "</option><option value=\"pearson\">Pearson's r</option><option value=\"spearman\">"
      "Spearman's rho</option></select></label>\n"
      "<label>Approaches<select id=\"subset\"></select></label>\n"
      "<label>Order<select id=\"order\"><option value=\"given\">as given</option>"
      "<option value=\"mean\">by mean coefficient</option><option value=\"name\">by name</option>"
      "</select></label>\n"
      "<label>Filter benchmarks<input id=\"filter\" type=\"search\" placeholder=\"words, "
      "tag=value\"></label>\n<span class=\"quiet\" id=\"matrix-count\"></span></div>\n"
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Concurrence matrix\" "
      "data-needs-script hidden><table class=\"matrix\" id=\"matrix\"></table></div>\n"
      "<p class=\"quiet\" data-needs-script hidden>A line in a cell is the interval, on a scale "
      "from -1 to 1. Choose a cell to see its approaches.</p>\n"
      "<div id=\"matrix-notes\"></div>\n<noscript>",
      svg,
      "</noscript>\n"
      "<div id=\"pair\" class=\"columns\" hidden><div class=\"card\"><h3 id=\"pair-title\"></h3>"
      "<div id=\"pair-plot\"></div></div><div class=\"card\" id=\"pair-facts\"></div></div>\n"
      "</section>\n"
      "<section id=\"all-pairs\" data-needs-script hidden><h2>Pairs of benchmarks</h2>\n"
      "<div class=\"controls\"><label>Filter rows<input type=\"search\" data-table=\"pairs\" "
      "data-count=\"pairs-count\" placeholder=\"words\"></label><span class=\"quiet\" "
      "id=\"pairs-count\"></span></div>\n"
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Pairs of benchmarks\">"
      "<table class=\"sortable\" id=\"pairs\"><thead><tr><th scope=\"col\">a</th>"
      "<th scope=\"col\">b</th><th scope=\"col\" class=\"number\">value</th>"
      "<th scope=\"col\" class=\"number\">low</th><th scope=\"col\" class=\"number\">high</th>"
      "<th scope=\"col\" class=\"number\">n</th><th scope=\"col\" class=\"number\">p</th>"
      "<th scope=\"col\">missing</th></tr></thead><tbody></tbody></table></div></section>\n");
}

std::string Head(const std::string& title) {
  return absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>",
      title, "</title>\n<style>\n", kReportCss, "</style></head>\n<body>\n<header><h1>", title,
      "</h1>\n<div class=\"controls theme\" data-needs-script hidden><label>Colours<select "
      "id=\"theme\"><option value=\"auto\">as the system</option><option value=\"light\">light"
      "</option><option value=\"dark\">dark</option></select></label></div></header>\n");
}

}  // namespace

absl::StatusOr<std::string> ReportHtml(const ScoreTable& table, const ReportOptions& options) {
  std::vector<std::string> left_out;
  CONCUR_ASSIGN_OR_RETURN(const ScoreTable shown, Cut(table, options, left_out));
  CONCUR_ASSIGN_OR_RETURN(const std::string group_by, GroupTag(shown, options.group_by));
  CONCUR_ASSIGN_OR_RETURN(const Json data, PageData(shown, group_by, options.bootstrap));
  const bool has_matrix = shown.benchmarks().size() >= 2;
  std::string html = Head(EscapeXml(options.title));
  html += "<nav aria-label=\"Sections\">";
  html +=
      has_matrix ? "<a href=\"#concurrence\">Concurrence</a><a href=\"#all-pairs\">Pairs</a>" : "";
  html += "<a href=\"#scores\">Scores</a><a href=\"#averages\">Averages</a>";
  for (size_t i = 0; i < options.tables.size(); ++i) {
    absl::StrAppend(&html, "<a href=\"#more-", i, "\">", EscapeXml(options.tables[i].first),
                    "</a>");
  }
  html += "<a href=\"#made\">How this was made</a></nav>\n<main>\n";
  html += Paragraph(absl::StrCat(table.approaches().size(), " approaches, ",
                                 table.benchmarks().size(), " benchmarks."));
  for (const std::string& note : left_out) {
    html += Paragraph(note, "left-out");
  }
  if (has_matrix) {
    MatrixOptions matrix_options;
    matrix_options.bootstrap = options.bootstrap;
    CONCUR_ASSIGN_OR_RETURN(const ConcurrenceMatrix matrix, ComputeMatrix(shown, matrix_options));
    html += ConcurrenceSection(MatrixSvg(matrix));
  } else {
    html +=
        Paragraph("A concurrence matrix needs the scores of two benchmarks or more.", "left-out");
  }
  std::vector<std::string> texts;
  for (const AxisEntry& approach : shown.approaches()) {
    texts.push_back(EntryText(approach));
  }
  absl::StrAppend(&html, "<section id=\"scores\"><h2>Scores</h2>\n",
                  HtmlTable(ScoresAsTable(shown), "score-table", options.rows_max, texts),
                  "</section>\n");
  const std::vector<BenchmarkGroup> groups = {AllBenchmarks(shown)};
  CONCUR_ASSIGN_OR_RETURN(const Generalization ranking, RankByAverage(shown, groups, std::nullopt));
  absl::StrAppend(&html, "<section id=\"averages\"><h2>Averages over the benchmarks</h2>\n",
                  HtmlTable(GeneralizationTable(shown, ranking), "average-table", options.rows_max),
                  "</section>\n");
  for (size_t i = 0; i < options.tables.size(); ++i) {
    const auto& [heading, more] = options.tables[i];
    absl::StrAppend(&html, "<section id=\"more-", i, "\"><h2>", EscapeXml(heading), "</h2>\n",
                    Paragraph(more.title, "quiet"),
                    HtmlTable(more, absl::StrCat("more-table-", i), options.rows_max),
                    "</section>\n");
  }
  html += "<section id=\"made\"><h2>How this was made</h2>\n<dl>";
  for (const auto& [name, value] : options.facts) {
    absl::StrAppend(&html, "<dt>", EscapeXml(name), "</dt><dd>", EscapeXml(value), "</dd>");
  }
  absl::StrAppend(&html, "</dl></section>\n</main>\n<script type=\"application/json\" id=\"data\">",
                  ScriptJson(data), "</script>\n<script>\n", kReportJs,
                  "</script>\n</body></html>\n");
  return html;
}

}  // namespace concur::analysis
