// SPDX-License-Identifier: Apache-2.0
#include "report/html/report.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "analysis/comparison/generalization.h"
#include "analysis/concurrence/matrix.h"
#include "analysis/score_table.h"
#include "analysis/statistics/correlation.h"
#include "base/decimal.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "report/comparison_tables.h"
#include "report/figures/figures.h"
#include "report/figures/step_figure.h"
#include "report/html/report_assets.h"
#include "report/html/report_summary.h"
#include "report/json_text.h"
#include "report/markup.h"
#include "report/notes.h"
#include "report/ranking_tables.h"
#include "report/table.h"
#include "report/writers.h"

namespace concur::analysis {
namespace {

constexpr Coefficient kCoefficients[] = {Coefficient::kKendall, Coefficient::kPearson,
                                         Coefficient::kSpearman};
constexpr size_t kGroupsMax = 6;

// Numbers for people need six decimals at most; without further ones the page is half as large.
Json Rounded(double value) {
  return std::isfinite(value) ? Json(std::round(value * 1e6) / 1e6) : Json();
}

// JSON that may stand in a <script> element: no character can end it.
std::string ScriptJson(const Json& json) {
  const std::string text =
      json.dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::detail::error_handler_t::replace);
  return absl::StrReplaceAll(text, {{"<", "\\u003c"}, {">", "\\u003e"}, {"&", "\\u0026"}});
}

std::string EntryText(const AxisEntry& entry) {
  std::string text = entry.name;
  for (const auto& [tag, value] : entry.tags) {
    absl::StrAppend(&text, " ", tag, "=", value);
  }
  return text;
}

// The tag that makes groups, or "" where none does.
absl::StatusOr<std::string> GroupTag(const ScoreTable& table, const std::string& asked) {
  std::map<std::string, std::set<std::string>> values;
  for (const AxisEntry& approach : table.approaches()) {
    for (const auto& [tag, value] : approach.tags) {
      values[tag].insert(value);
    }
  }
  if (!asked.empty() && values.count(asked) == 0) {
    return UnknownTag("group-by: no approach has the tag", asked, TagsOf(table.approaches()));
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
  for (const char* name : {"value", "low", "high", "n", "free", "missing", "reason"}) {
    json[name] = Json::array();
  }
  for (const MatrixPair& pair : matrix.pairs) {
    const Correlation& correlation = pair.correlation;
    json["value"].push_back(correlation.defined() ? Rounded(correlation.value) : Json());
    json["low"].push_back(pair.interval.has_value() ? Rounded(pair.interval->low) : Json());
    json["high"].push_back(pair.interval.has_value() ? Rounded(pair.interval->high) : Json());
    json["n"].push_back(correlation.n);
    json["free"].push_back(pair.noise_free.has_value() ? Rounded(*pair.noise_free) : Json());
    json["missing"].push_back(pair.missing);
    json["reason"].push_back(std::string(UndefinedReason(correlation.undefined)));
  }
  return json;
}

// The matrices of some of the table's approaches, whose indices stay those of the whole table.
// Moves that of Kendall's tau-b to `kendall`, unless it is null.
absl::StatusOr<Json> SubsetData(const ScoreTable& table, const std::string& name,
                                const std::vector<std::string>& conditions,
                                const std::optional<BootstrapOptions>& bootstrap,
                                std::optional<ConcurrenceMatrix>* kendall = nullptr) {
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
    CONCUR_ASSIGN_OR_RETURN(ConcurrenceMatrix matrix, ComputeMatrix(part, options));
    Json data = MatrixData(matrix);
    if (kendall != nullptr && coefficient == Coefficient::kKendall) {
      *kendall = std::move(matrix);
    }
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
                              const std::optional<BootstrapOptions>& bootstrap,
                              std::optional<ConcurrenceMatrix>* kendall) {
  Json json;
  json["approaches"] = Json::array();
  for (const AxisEntry& approach : table.approaches()) {
    json["approaches"].push_back({{"name", approach.name}, {"tags", approach.tags}});
  }
  json["benchmarks"] = Json::array();
  json["scores"] = Json::array();
  for (size_t b = 0; b < table.benchmarks().size(); ++b) {
    json["benchmarks"].push_back({{"name", table.benchmarks()[b].name},
                                  {"text", EntryText(table.benchmarks()[b])},
                                  {"sign", table.sign(b)},
                                  {"decimals", table.decimals(b)}});
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
  CONCUR_ASSIGN_OR_RETURN(Json all, SubsetData(table, "all approaches", {}, bootstrap, kendall));
  json["subsets"].push_back(std::move(all));
  std::set<std::string> values;
  for (const AxisEntry& approach : table.approaches()) {
    values.insert(TagValue(approach, group_by));
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
      "<div class=\"color-bar\" data-needs-script hidden><span>-1</span><span class=\"bar\"></span>"
      "<span>1</span></div>\n"
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Concurrence matrix\" "
      "data-needs-script hidden><table class=\"matrix\" id=\"matrix\"></table></div>\n"
      "<p class=\"quiet screen-only\" data-needs-script hidden>Choose a cell to see its approaches."
      "</p>\n"
      "<div id=\"matrix-notes\"></div>\n<noscript>",
      svg,
      "</noscript>\n"
      "<div id=\"pair\" class=\"columns\" hidden><div class=\"card\"><h3 id=\"pair-title\"></h3>"
      "<label class=\"check screen-only\"><input type=\"checkbox\" id=\"labels\">Names</label>"
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
      "<th scope=\"col\" class=\"number\">n</th><th scope=\"col\" class=\"number\">noise-free</th>"
      "<th scope=\"col\">missing</th></tr></thead><tbody></tbody></table></div></section>\n");
}

std::string PageScript() { return absl::StrCat("\n", kReportJs); }

// A style or a script that the page may use: by the digest of what stands between its tags.
std::string SourceOf(absl::string_view content) {
  return absl::StrCat("'sha256-", absl::Base64Escape(Sha256Of(content).ToBytes()), "'");
}

std::string Head(const std::string& title) {
  const std::string style = absl::StrCat("\n", kReportCss);
  return absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri "
      "'none'; form-action 'none'; style-src ",
      SourceOf(style), "; script-src ", SourceOf(PageScript()), "\">\n<title>", title,
      "</title>\n<style>", style, "</style></head>\n<body>\n<header><h1>", title,
      "</h1>\n<div class=\"controls theme\" data-needs-script hidden><label>Colours<select "
      "id=\"theme\"><option value=\"auto\">as the system</option><option value=\"light\">light"
      "</option><option value=\"dark\">dark</option></select></label></div></header>\n");
}

std::string SummarySection(const ScoreTable& shown, const ConcurrenceMatrix* matrix,
                           const ReportOptions& options) {
  std::string html = absl::StrCat("<section id=\"summary\"><h2>Summary</h2>\n",
                                  HtmlParagraph(ComparedText(shown)), "<dl class=\"findings\">\n");
  for (const Finding& finding : FindingsOf(shown, matrix, options.comparisons)) {
    absl::StrAppend(&html, "<dt>", EscapeXml(finding.head), "</dt><dd>", EscapeXml(finding.text),
                    "</dd>\n");
  }
  return html + "</dl></section>\n";
}

// A table under a heading of its own, for the navigation and the page.
struct PageTable {
  std::string id;
  std::string name;     // in the navigation
  std::string heading;  // above the table
  Table table;
  std::vector<std::string> row_texts = {};
};

// All tables but those of the matrix, in order.
absl::StatusOr<std::vector<PageTable>> PageTables(const ScoreTable& shown,
                                                  const ReportOptions& options) {
  PageTable scores = {"scores", "Scores", "Scores", ScoresTable(shown, /*people_see_tags=*/true)};
  for (const AxisEntry& approach : shown.approaches()) {
    scores.row_texts.push_back(EntryText(approach));
  }
  ScoreTable averaged = shown;
  std::vector<Conversion> converted = ToPercent(GroupsByGoal(shown), averaged);
  CONCUR_ASSIGN_OR_RETURN(Generalization ranking,
                          RankByAverage(averaged, GroupsByGoal(averaged), std::nullopt));
  ranking.converted = std::move(converted);
  std::vector<PageTable> tables = {std::move(scores),
                                   {"averages", "Averages", "Averages over the benchmarks",
                                    GeneralizationTable(averaged, ranking)}};
  if (!options.comparisons.empty()) {
    Table comparisons = ComparisonTable(options.comparisons, options.comparison);
    if (comparisons.rows.empty()) {
      comparisons.title.clear();  // the notes say why there are none
    }
    tables.push_back(
        {"comparisons", "Comparisons", "Comparisons of approaches", std::move(comparisons)});
  }
  for (const auto& [heading, table] : options.tables) {
    tables.push_back({absl::StrCat("more-", tables.size()), heading, heading, table});
  }
  return tables;
}

}  // namespace

absl::StatusOr<std::string> ReportHtml(const ScoreTable& table, const ReportOptions& options) {
  std::vector<std::string> left_out;
  CONCUR_ASSIGN_OR_RETURN(const ScoreTable shown, Cut(table, options, left_out));
  CONCUR_ASSIGN_OR_RETURN(const std::string group_by, GroupTag(shown, options.group_by));
  std::optional<ConcurrenceMatrix> matrix;
  CONCUR_ASSIGN_OR_RETURN(const Json data, PageData(shown, group_by, options.bootstrap, &matrix));
  CONCUR_ASSIGN_OR_RETURN(const std::vector<PageTable> tables, PageTables(shown, options));
  std::string html = Head(EscapeXml(options.title));
  html += "<nav aria-label=\"Sections\"><a href=\"#summary\">Summary</a>";
  html += matrix.has_value()
              ? "<a href=\"#concurrence\">Concurrence</a><a href=\"#all-pairs\">Pairs</a>"
              : "";
  for (const PageTable& more : tables) {
    absl::StrAppend(&html, "<a href=\"#", more.id, "\">", EscapeXml(more.name), "</a>");
  }
  html += options.curves.has_value() ? "<a href=\"#curves\">Learning curves</a>" : "";
  html += "<a href=\"#made\">How this was made</a></nav>\n<main>\n";
  for (const std::string& note : left_out) {
    html += HtmlParagraph(note, "left-out");
  }
  html += SummarySection(shown, matrix.has_value() ? &*matrix : nullptr, options);
  html += matrix.has_value()
              ? ConcurrenceSection(MatrixSvg(*matrix))
              : HtmlParagraph("A concurrence matrix needs the scores of two benchmarks or more.",
                              "left-out");
  for (const PageTable& more : tables) {
    absl::StrAppend(&html, "<section id=\"", more.id, "\"><h2>", EscapeXml(more.heading), "</h2>\n",
                    more.table.title.empty() ? "" : HtmlParagraph(more.table.title, "quiet"),
                    WriteHtmlTable(more.table, {absl::StrCat(more.id, "-table"), options.rows_max,
                                                more.row_texts}),
                    "</section>\n");
  }
  if (options.curves.has_value()) {
    absl::StrAppend(&html, "<section id=\"curves\"><h2>Learning curves</h2>\n",
                    StepFigureHtml(*options.curves), "</section>\n");
  }
  html += "<section id=\"made\"><h2>How this was made</h2>\n<dl>";
  for (const auto& [name, value] : options.facts) {
    absl::StrAppend(&html, "<dt>", EscapeXml(name), "</dt><dd>", EscapeXml(value), "</dd>");
  }
  html += "</dl>\n";
  std::set<std::string> said;
  const auto say = [&](const std::vector<std::string>& details) {
    for (const std::string& detail : details) {
      html += said.insert(detail).second ? HtmlParagraph(detail, "quiet") : "";
    }
  };
  say(matrix.has_value() ? MatrixDetails(*matrix) : std::vector<std::string>());
  for (const PageTable& more : tables) {
    say(more.table.details);
  }
  absl::StrAppend(&html, "</section>\n</main>\n<script type=\"application/json\" id=\"data\">",
                  ScriptJson(data), "</script>\n<script>", PageScript(),
                  "</script>\n</body></html>\n");
  return html;
}

std::string SectionsHtml(const std::string& title, const std::vector<PageSection>& sections) {
  std::string html = Head(EscapeXml(title)) + "<main>\n";
  for (size_t i = 0; i < sections.size(); ++i) {
    const PageSection& section = sections[i];
    absl::StrAppend(&html, "<section id=\"", section.id, "\">",
                    i == 0 ? "" : absl::StrCat("<h2>", EscapeXml(section.heading), "</h2>"), "\n");
    for (const std::string& paragraph : section.paragraphs) {
      html += HtmlParagraph(paragraph);
    }
    html += section.svg;
    if (!section.table.columns.empty()) {
      html += WriteHtmlTable(section.table,
                             {absl::StrCat(section.id, "-table"), section.table.rows.size(), {}});
    }
    html += "</section>\n";
  }
  return html + "</main>\n</body></html>\n";
}

}  // namespace concur::analysis
