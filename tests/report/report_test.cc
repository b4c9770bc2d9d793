// SPDX-License-Identifier: Apache-2.0
#include "report/html/report.h"

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/digest.h"
#include "report/figures/badge.h"
#include "report/figures/svg_canvas.h"
#include "report/html/report_assets.h"
#include "report/html/report_summary.h"
#include "tests/testing/test.h"
#include "tests/testing/text.h"

namespace concur::analysis {
namespace {

using ::concur::testing::Count;
using Json = nlohmann::json;

ScoreTable ParseReport(const std::string& csv) {
  auto parsed = ParseScoresCsv(csv, "test.csv");
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed->table;
}

std::string Report(const ScoreTable& table, ReportOptions options = {}) {
  options.title = options.title.empty() ? "test" : options.title;
  auto html = ReportHtml(table, options);
  EXPECT_TRUE(html.ok()) << html.status();
  return html.ok() ? *html : "";
}

// The data that the page's script reads.
Json DataOf(const std::string& html) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const size_t from = html.find(begin) + begin.size();
  return Json::parse(html.substr(from, html.find("</script>", from) - from));
}

constexpr char kReportScores[] =
    "a,kind,x,y,z\nm,old,10,20,5\nn,old,20,10,\no,new,30,30,9\np,new,40,35,7\n";

TEST(ReportTest, HoldsEveryMatrixOfEveryGroup) {
  ReportOptions options;
  options.bootstrap = BootstrapOptions();
  options.bootstrap->replicates = 200;
  const Json data = DataOf(Report(ParseReport(kReportScores), options));
  ASSERT_THAT(data["subsets"], SizeIs(3)) << "all, kind=new, kind=old";
  EXPECT_EQ(data["subsets"][1]["name"], "kind=new");
  EXPECT_EQ(data["subsets"][1]["approaches"], Json({2, 3}));
  const Json& tau = data["subsets"][0]["matrices"]["kendall"];
  EXPECT_EQ(tau["value"], Json({0.666667, 0.333333, 0.333333}));
  EXPECT_EQ(tau["n"], Json({4, 3, 3}));
  EXPECT_EQ(tau["missing"][1], Json({1})) << "n has no score on z";
  EXPECT_TRUE(tau["low"][0].is_number());
  EXPECT_EQ(data["scores"][2], Json({5, nullptr, 9, 7}));
  EXPECT_EQ(data["group_by"], "kind");
}

// The summary led with p-values of independence; families and noise stood below it or nowhere.
TEST(ReportTest, TheSummaryLeadsWithFamiliesAndTheValueWithoutNoise) {
  ScoreTable table =
      ParseReport("a,family,x,y\nm,f,10,20\nn,f,20,10\no,g,30,30\np,g,40,35\nq,h,50,60\n");
  for (size_t b = 0; b < 2; ++b) {
    for (size_t i = 0; i < 5; ++i) {
      table.cell(i, b).seeds = 2;
      table.cell(i, b).standard_deviation = 5;
    }
  }
  ASSERT_OK_AND_ASSIGN(const ConcurrenceMatrix matrix, ComputeMatrix(table, {}));
  // Variances 250 and 355, noise 12.5: reliabilities .95 and .9648; 2 / pi asin(sin(.4 pi) /
  // .9574).
  EXPECT_NEAR(*matrix.pairs[0].noise_free, 0.9269, 1e-4);
  const std::string text = FindingsOf(table, &matrix, {})[0].text;
  EXPECT_THAT(text, HasSubstr("n = 5, 0.80"));
  EXPECT_THAT(text, HasSubstr("5 approaches in 3 families tell about as much as"));
  EXPECT_THAT(text, HasSubstr("Corrected for the noise of seeds: 0.93."));
  EXPECT_THAT(Report(table), Not(HasSubstr("class=\"number\">p</th>")));
}

TEST(ReportTest, MissingCellsOfAGroupKeepTheirApproach) {
  const Json data = DataOf(Report(ParseReport(kReportScores)));
  EXPECT_EQ(data["subsets"][2]["matrices"]["pearson"]["missing"][1], Json({1}));
}

TEST(ReportTest, ApproachesWithoutTheTagAreAGroup) {
  ASSERT_OK_AND_ASSIGN(
      const ScoreTable table,
      ScoreTable::Create({{"m", {}}, {"n", {{"neural", "yes"}}}}, {{"x", {}}, {"y", {}}}));
  const Json data = DataOf(Report(table));
  EXPECT_EQ(data["group_by"], "neural");
  ASSERT_THAT(data["subsets"], SizeIs(3));
  EXPECT_EQ(data["subsets"][1]["name"], "no neural");
  EXPECT_EQ(data["subsets"][2]["name"], "neural=yes");
}

TEST(ReportTest, NeedsNothingFromOutside) {
  const std::string html = Report(ParseReport(kReportScores));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_THAT(html, Not(HasSubstr("src=\"")));
  EXPECT_THAT(html, Not(HasSubstr("<link")));
  EXPECT_THAT(html, Not(HasSubstr("@import")));
  EXPECT_THAT(html, Not(HasSubstr("url(")));
  EXPECT_THAT(html, Not(HasSubstr("fetch(")));
}

TEST(ReportTest, AllowsNoScriptAndNoStyleButItsOwn) {
  // Was 'unsafe-inline'.
  const std::string html = Report(ParseReport(kReportScores));
  EXPECT_THAT(html, Not(HasSubstr("unsafe-inline")));
  for (const char* kind : {"style", "script"}) {
    const std::string begin = absl::StrCat("<", kind, ">");
    const size_t from = html.find(begin) + begin.size();
    const std::string content = html.substr(from, html.find(absl::StrCat("</", kind), from) - from);
    ASSERT_GT(content.size(), 1000u);
    EXPECT_THAT(html,
                HasSubstr(absl::StrCat(kind, "-src 'sha256-",
                                       absl::Base64Escape(Sha256Of(content).ToBytes()), "'")));
  }
  EXPECT_THAT(html, Not(HasSubstr(" style=\""))) << "which the policy would refuse";
  EXPECT_THAT(html, Not(HasSubstr(" onclick=\"")));
}

TEST(ReportTest, TheSummaryIsFirstAndHasTheThreeFindings) {
  ReportOptions options;
  options.bootstrap = BootstrapOptions();
  options.bootstrap->replicates = 200;
  const std::string html = Report(ParseReport(kReportScores), options);
  EXPECT_LT(html.find("<section id=\"summary\">"), html.find("<section id=\"concurrence\">"));
  EXPECT_THAT(html, HasSubstr("<p>4 approaches (m, n, o, p) on 3 benchmarks (x, y, z).</p>"));
  EXPECT_THAT(html, HasSubstr("<dt>Concurrence</dt><dd>Most: x and y, n = 4, 0.67 ["));
  EXPECT_THAT(html, HasSubstr(" Least: x and z, n = 3, 0.33 ["));
  EXPECT_THAT(html, HasSubstr("* (and 1 pair more)")) << "y and z have as little";
  EXPECT_THAT(
      html, HasSubstr("These intervals allow for the choice of the most and the least of 3 pairs"));
  EXPECT_THAT(html, HasSubstr("<dt>Unresolved ranks</dt><dd>Not known: without per-example"));
  EXPECT_THAT(html, HasSubstr("<dt>Missing scores</dt><dd>1 of 12 (1 missing): z (1).</dd>"));
}

TEST(ReportTest, UnresolvedRanksNameTheLeadersThatChanceExplains) {
  BenchmarkComparison resolved;
  resolved.benchmark = "easy";
  resolved.approaches = {"a", "b", "c"};
  PairedComparison pair;
  pair.a = 0;
  pair.b = 1;
  pair.mean_a = 90;
  pair.mean_b = 50;
  pair.p_value_holm = 0.001;
  resolved.pairs.push_back(pair);
  pair.b = 2;
  pair.mean_b = 40;
  pair.p_value_holm = 0.5;
  resolved.pairs.push_back(pair);
  BenchmarkComparison open = resolved;
  open.benchmark = "hard";
  open.pairs[0].p_value_holm = 0.2;
  const ScoreTable table = ParseReport("a,x\nm,1\n");
  const std::vector<Finding> findings = FindingsOf(table, nullptr, {resolved, open});
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_THAT(findings[1].text, HasSubstr("3 of 4 differences between two approaches"));
  EXPECT_THAT(findings[1].text,
              HasSubstr("The best two are not resolved on 1 of 2 benchmarks: hard (a, b)."));
  EXPECT_EQ(findings[0].text, "None.");
  EXPECT_THAT(FindingsOf(table, nullptr, {resolved})[1].text,
              HasSubstr("The best approach is resolved on every benchmark."));

  // c has 5, b 7 and a 9 of what less is better.
  BenchmarkComparison errors;
  errors.benchmark = "errors";
  errors.goal = Goal::kMinimize;
  errors.approaches = {"a", "b", "c"};
  for (const size_t worse : {1, 0}) {
    pair.a = 2;
    pair.b = worse;
    pair.mean_a = 5;
    pair.mean_b = worse == 1 ? 7 : 9;
    errors.pairs.push_back(pair);
  }
  pair.a = 1;
  pair.b = 0;
  pair.mean_a = 7;
  pair.mean_b = 9;
  errors.pairs.push_back(pair);
  EXPECT_THAT(FindingsOf(table, nullptr, {errors})[1].text, HasSubstr("errors (c, b)."));
}

TEST(ReportTest, WithoutAnyCoefficientTheSummarySaysWhy) {
  // Was: "No pair of benchmarks has a coefficient: * fewer approaches, because these … there:."
  EXPECT_THAT(Report(ParseReport("a,x,y\nm,1,\nn,,3\n")),
              HasSubstr("No pair of benchmarks has a coefficient: fewer than "));
}

TEST(ReportTest, PerfectConcurrenceSaysThatItsIntervalIsNone) {
  ReportOptions options;
  options.bootstrap = BootstrapOptions();
  options.bootstrap->replicates = 200;
  const std::string html = Report(ParseReport("a,x,y\nm,1,2\nn,2,3\no,3,4\np,4,5\n"), options);
  EXPECT_THAT(
      html, HasSubstr("The one pair: x and y, n = 4, 1.00 [1.00, 1.00]†. † All replicates agree"));
}

TEST(ReportTest, PagesOfPaperKeepEveryColumn) {
  // Columns 17 to 26 were lost; classes make wide tables as wide as the page.
  std::string csv = "a";
  std::string scores = "m";
  for (int b = 0; b < 26; ++b) {
    absl::StrAppend(&csv, ",b", b);
    absl::StrAppend(&scores, ",", b);
  }
  EXPECT_THAT(Report(ParseReport(absl::StrCat(csv, "\n", scores, "\n"))),
              HasSubstr("<table class=\"sortable wide\""));
  const std::string css(kReportCss);
  const std::string print = css.substr(css.find("@media print"));
  EXPECT_THAT(print, HasSubstr(".wide, .very-wide, .matrix { width: 100%; table-layout: fixed; }"));
  EXPECT_THAT(print, HasSubstr("var(--cell-paper)"));
  EXPECT_THAT(css, HasSubstr("@page { size: A4 landscape"));
}

TEST(ReportTest, WhatHasNoRowsIsItsNotes) {
  // 67 approaches without examples gave 40 pages of names.
  ReportOptions options;
  BenchmarkComparison none;
  none.benchmark = "x";
  none.left_out = {"all approaches: no examples"};
  options.comparisons = {none, none};
  const std::string html = Report(ParseReport("a,x,y\nm,1,2\nn,2,1\n"), options);
  EXPECT_THAT(html, HasSubstr("Left out on all benchmarks: all approaches: no examples</p>"));
  EXPECT_THAT(html, Not(HasSubstr("id=\"comparisons-table\"")));
  EXPECT_THAT(html, Not(HasSubstr("Paired comparisons")));
}

TEST(ReportTest, GoalsReachTheScript) {
  const Json data = DataOf(Report(ParseReport("a,x,y\n#goal,,minimize\nm,1,2\nn,2,1\n")));
  EXPECT_EQ(data["benchmarks"][0]["sign"], 1);
  EXPECT_EQ(data["benchmarks"][1]["sign"], -1);
  EXPECT_EQ(data["subsets"][0]["matrices"]["kendall"]["value"], Json({1.0}));
}

TEST(ReportTest, ShowsTablesWithoutScripts) {
  const std::string html = Report(ParseReport(kReportScores));
  EXPECT_THAT(html, HasSubstr("<noscript><svg"));
  EXPECT_THAT(html, HasSubstr("<td class=\"number absent\">—</td>"));
  EXPECT_THAT(html, HasSubstr("1 of 12 cells have no score"));
  EXPECT_THAT(html, HasSubstr("Averages over the benchmarks"));
}

TEST(ReportTest, NamesCannotBecomeMarkupOrScript) {
  const std::string evil = "</script><script>alert(1)</script>\"'&<!--";
  absl::StatusOr<ScoreTable> table = ScoreTable::Create(
      {{evil, {{"tag</style>", evil}}}, {"b", {}}}, {{evil, {}}, {"caf\xE9\x01", {}}});
  ASSERT_OK(table);
  for (size_t i = 0; i < 2; ++i) {
    for (size_t b = 0; b < 2; ++b) {
      table->cell(i, b).state = CellState::kValue;
      table->cell(i, b).value = static_cast<double>(i + b);
    }
  }
  ReportOptions options;
  options.title = evil;
  options.facts = {{evil, evil}};
  const std::string html = Report(*table, options);
  EXPECT_EQ(Count(html, "<script"), 2u) << "the page's own two";
  EXPECT_EQ(Count(html, "</script>"), 2u);
  EXPECT_EQ(Count(html, "</style>"), 1u);
  EXPECT_EQ(Count(html, "<!--"), 0u);
  EXPECT_EQ(DataOf(html)["approaches"][0]["name"], evil);
  EXPECT_THAT(html, Not(HasSubstr("\x01")));
  EXPECT_THAT(html, Not(HasSubstr("caf\xE9")));
}

TEST(ReportTest, SectionsAreEscapedAndNeedNoScript) {
  const std::string evil = "</style><script>alert(1)</script>\"'&<!--";
  PageSection second{"b", evil, {evil}};
  second.table.columns = {{"key", evil}};
  second.table.rows = {{TextCell(evil)}};
  const std::string html =
      SectionsHtml(evil, {{"a", "no heading", {"first"}, "<svg></svg>"}, second});
  EXPECT_EQ(Count(html, "<script"), 0u);
  EXPECT_EQ(Count(html, "</style>"), 1u);
  EXPECT_EQ(Count(html, "<!--"), 0u);
  EXPECT_THAT(html, HasSubstr("<p>first</p>\n<svg></svg>"));
  EXPECT_THAT(html, Not(HasSubstr("no heading")));
  EXPECT_THAT(html, HasSubstr("[hidden] { display: none !important; }"))
      << "controls that need a script were shown without one";
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
}

TEST(BadgeTest, TextIsEscapedCutAndHasContrast) {
  const std::string svg = BadgeSvg("<a>&", std::string(100, 'x'), {160, 74, 0});
  EXPECT_THAT(svg, HasSubstr(">&lt;a&gt;&amp;</text>"));
  EXPECT_THAT(svg, HasSubstr("…"));
  EXPECT_THAT(svg, Not(HasSubstr(std::string(61, 'x'))));
  for (const Color& color :
       {Color{77, 77, 77}, Color{27, 115, 70}, Color{163, 22, 61}, Color{160, 74, 0}}) {
    EXPECT_GE(Contrast({255, 255, 255}, color), 4.5) << Hex(color);
  }
}

TEST(ReportTest, SmallTablesHavePages) {
  for (const char* csv :
       {"a\n", "a,x\n", "a,x,y\n", "a,x\nm,1\n", "a,x,y\nm,1,2\n", "a,x,y\nm,,\n"}) {
    const std::string html = Report(ParseReport(csv));
    EXPECT_THAT(html, HasSubstr("</html>")) << csv;
    EXPECT_THAT(html, Not(HasSubstr(">nan"))) << csv;
    EXPECT_THAT(DataOf(html).dump(), Not(HasSubstr("nan"))) << csv;
  }
  EXPECT_THAT(Report(ParseReport("a,x\nm,1\n")), HasSubstr("needs the scores of two benchmarks"));
}

TEST(ReportTest, ThousandsOfBenchmarksAreCutAndItSaysSo) {
  std::vector<AxisEntry> benchmarks;
  for (int b = 0; b < 3000; ++b) {
    benchmarks.push_back({absl::StrCat("b", b), {}});
  }
  ASSERT_OK_AND_ASSIGN(const ScoreTable table,
                       ScoreTable::Create({{"m", {}}, {"n", {}}}, benchmarks));
  const std::string html = Report(table);
  EXPECT_THAT(html, HasSubstr("This page shows the first 60 of 3000 benchmarks"));
  EXPECT_THAT(
      html,
      HasSubstr("2 approaches (m, n) on 60 benchmarks (b0, b1, b2, b3, b4, b5 and 54 more)."));
  EXPECT_THAT(DataOf(html)["benchmarks"], SizeIs(60));
  EXPECT_LT(html.size(), 4u << 20);
}

TEST(ReportTest, LongTablesAreCutAndItSaysSo) {
  ReportOptions options;
  Table more;
  more.columns = {{"k", "k"}};
  more.rows.assign(30, {TextCell("v")});
  options.tables = {{"More", more}};
  options.rows_max = 10;
  EXPECT_THAT(Report(ParseReport(kReportScores), options), HasSubstr("20 of 30 rows are left out"));
}

TEST(ReportTest, UnknownTagsAreNamed) {
  ReportOptions options;
  options.group_by = "kinds";
  EXPECT_THAT(ReportHtml(ParseReport(kReportScores), options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("did you mean \"kind\"?")));
}

TEST(ReportTest, SameTableSameBytes) {
  EXPECT_EQ(Report(ParseReport(kReportScores)), Report(ParseReport(kReportScores)));
}

// The variables of each block of the style sheet that sets --page: light, dark (by the system),
// dark (by choice) and print.
std::vector<std::map<std::string, Color>> Palettes() {
  std::vector<std::map<std::string, Color>> palettes;
  for (const absl::string_view line : absl::StrSplit(kReportCss, '\n')) {
    const size_t name = line.find("--");
    const size_t value = line.find(": #");
    if (name == absl::string_view::npos || value == absl::string_view::npos || value < name) {
      continue;
    }
    const std::string key(line.substr(name + 2, value - name - 2));
    if (key == "page") {
      palettes.emplace_back();
    }
    const auto channel = [&](size_t at) {
      return static_cast<double>(
          std::stoi(std::string(line.substr(value + 3 + at, 2)), nullptr, 16));
    };
    palettes.back()[key] = {channel(0), channel(2), channel(4)};
  }
  return palettes;
}

TEST(ReportTest, EveryPairOfColoursMeetsWcagAa) {
  const std::vector<std::map<std::string, Color>> palettes = Palettes();
  ASSERT_THAT(palettes, SizeIs(4));
  for (size_t i = 0; i < palettes.size(); ++i) {
    for (const char* ground : {"page", "panel"}) {
      for (const auto& [name, color] : palettes[i]) {
        if (name == "page" || name == "panel" || name == "line") {
          continue;  // grounds; and lines that only decorate
        }
        EXPECT_GE(Contrast(color, palettes[i].at(ground)), 4.5)
            << "palette " << i << ": --" << name << " on --" << ground;
      }
    }
  }
  EXPECT_THAT(palettes[1], SizeIs(palettes[2].size()));
}

}  // namespace
}  // namespace concur::analysis
