// SPDX-License-Identifier: Apache-2.0
#include "report/table.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "analysis/comparison/comparison.h"
#include "analysis/comparison/table_difference.h"
#include "analysis/concurrence/cluster.h"
#include "analysis/concurrence/curve.h"
#include "analysis/concurrence/uncertainty.h"
#include "analysis/score_table.h"
#include "analysis/statistics/intervals.h"
#include "report/block_table.h"
#include "report/comparison_tables.h"
#include "report/curve_tables.h"
#include "report/figures/figures.h"
#include "report/text.h"
#include "report/writers.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

Table Small() {
  Table table;
  table.title = "Two <rows>";
  table.columns = {{"name", "system"},
                   {"score", "score ±", true, 1},
                   {"n", "n", true, 0, TableColumn::Audience::kPrograms},
                   {"both", "all", true, 0, TableColumn::Audience::kPeople}};
  table.rows = {{TextCell("a_b & c|d"), NumberCell(61.26), IntegerCell(3), TextCell("x")},
                {TextCell("\x1b[31mred, \"quoted\""), NumberCell(std::nullopt), IntegerCell(0),
                 TextCell("100 %")}};
  table.rows[0][1].is_marked = true;
  table.notes = {"50 % of $x"};
  return table;
}

TEST(TableTest, TextIsAlignedAndMarksTheBest) {
  EXPECT_EQ(WriteTable(Small(), TableFormat::kText),
            "Two <rows>\n\n"
            "system              score ±    all\n"
            "a_b & c|d             61.3◂      x\n"
            "\xEF\xBF\xBD[31mred, \"quoted\"       —   100 %\n"
            "\n50 % of $x\n");
}

TEST(TableTest, WithoutRowsTheNotesAreTheText) {
  Table table = Small();
  table.rows.clear();
  EXPECT_EQ(WriteTable(table, TableFormat::kText), "Two <rows>\n\n50 % of $x\n");
  table.notes.clear();
  EXPECT_EQ(WriteTable(table, TableFormat::kText), "Two <rows>\n\nsystem  score ±  all\n");
}

TEST(TableTest, CsvHasEveryDigitAndNoPeopleColumns) {
  EXPECT_EQ(WriteTable(Small(), TableFormat::kCsv),
            "name,score,n\n"
            "a_b & c|d,61.26,3\n"
            "\"\x1b[31mred, \"\"quoted\"\"\",,0\n");
}

TEST(TableTest, JsonHasNullsAndNotes) {
  const auto json = nlohmann::json::parse(WriteTable(Small(), TableFormat::kJson));
  EXPECT_EQ(json["rows"][0]["score"], 61.26);
  EXPECT_TRUE(json["rows"][1]["score"].is_null());
  EXPECT_EQ(json["rows"][0]["n"], 3);
  EXPECT_FALSE(json["rows"][0].contains("both"));
  EXPECT_EQ(json["notes"][0], "50 % of $x");
}

TEST(TableTest, JsonReplacesBytesThatAreNotUtf8) {
  Table table = Small();
  table.rows[0][0] = TextCell("caf\xE9");
  EXPECT_THAT(WriteTable(table, TableFormat::kJsonLines), HasSubstr("caf\xEF\xBF\xBD"));
  EXPECT_THAT(WriteTable(table, TableFormat::kText), HasSubstr("caf\xEF\xBF\xBD"));
}

// A lead byte took the two bytes after it for its continuation, whatever they were.
TEST(TableTest, ABrokenCharacterSwallowsNothing) {
  Table table = Small();
  table.rows[0][0] = TextCell("\xE9\x1b[31m, \xE0\x80\x80, \xED\xA0\x80");
  const std::string text = WriteTable(table, TableFormat::kText);
  const std::string one = "\xEF\xBF\xBD";  // for each ill-formed byte, as CleanUtf8 has it
  const std::string three = one + one + one;
  EXPECT_THAT(text, HasSubstr(one + one + "[31m, " + three + ", " + three));
}

TEST(TableTest, FormulasInCsvAreText) {
  Table table;
  table.columns = {{"approach", "approach"}, {"=1+1", "x"}, {"n", "n", true}};
  for (const char* name : {"=cmd()", "+x", "@sum", "-x", "-1.5", "plain", "-"}) {
    table.rows.push_back({TextCell(name), TextCell("a,b"), NumberCell(-2)});
  }
  EXPECT_EQ(WriteTable(table, TableFormat::kCsv),
            "approach,'=1+1,n\n'=cmd(),\"a,b\",-2\n'+x,\"a,b\",-2\n'@sum,\"a,b\",-2\n"
            "'-x,\"a,b\",-2\n-1.5,\"a,b\",-2\nplain,\"a,b\",-2\n'-,\"a,b\",-2\n");
  ASSERT_OK_AND_ASSIGN(const ParsedScores parsed,
                       ParseScoresCsv("approach,'=kind,x\n'=m,'+old,-1\n", "s.csv"));
  EXPECT_EQ(parsed.table.approaches()[0].name, "=m");
  EXPECT_EQ(parsed.table.approaches()[0].tags.at("=kind"), "+old");
  EXPECT_EQ(WriteScores(parsed.table, TableFormat::kCsv), "approach,'=kind,x\n'=m,'+old,-1\n");
}

TEST(TableTest, NoTwoColumnsHaveOneHeading) {
  // Comparisons had "mean" twice.
  const BenchmarkComparison comparison;
  const TableDifference difference;
  for (const Table& table :
       {ComparisonTable({comparison}, {}), DifferenceTable(difference, "a", "b"),
        ScatterTable(ScoreTable(), {}), CurveTable({}, {}, {}, "settings", ""),
        UncertaintyTable({}), BlockTable({}, {})}) {
    std::set<std::string> heads;
    for (const TableColumn& column : table.columns) {
      if (column.audience != TableColumn::Audience::kPrograms) {
        EXPECT_TRUE(heads.insert(column.head).second) << column.head;
      }
    }
  }
}

TEST(TableTest, MarkdownAndLatexEscapeNames) {
  const std::string markdown = WriteTable(Small(), TableFormat::kMarkdown);
  EXPECT_THAT(markdown, HasSubstr("| a\\_b &amp; c\\|d | **61.3** | x |"));
  EXPECT_THAT(markdown, HasSubstr("Two &lt;rows>"));
  const std::string latex = WriteTable(Small(), TableFormat::kLatex);
  EXPECT_THAT(latex, HasSubstr("a\\_b \\& c|d & \\textbf{61.3} & x \\\\"));
  EXPECT_THAT(latex, HasSubstr("50 \\% of \\$x"));
  EXPECT_THAT(latex, HasSubstr("\\begin{tabular}{lrr}"));
  EXPECT_THAT(latex, Not(HasSubstr("\x1b")));
}

TEST(TableTest, EmptyTablesKeepTheirHeads) {
  Table table = Small();
  table.rows.clear();
  EXPECT_EQ(WriteTable(table, TableFormat::kCsv), "name,score,n\n");
  EXPECT_EQ(WriteTable(table, TableFormat::kJsonLines), "");
  // In a text the notes, which say why there are no rows, are enough.
  EXPECT_EQ(WriteTable(table, TableFormat::kText), "Two <rows>\n\n50 % of $x\n");
  table.notes.clear();
  EXPECT_EQ(WriteTable(table, TableFormat::kText), "Two <rows>\n\nsystem  score ±  all\n");
}

TEST(TableTest, AJsonListHasTheRowsAlone) {
  const auto json = nlohmann::json::parse(WriteTable(Small(), TableFormat::kJsonList));
  ASSERT_TRUE(json.is_array());
  EXPECT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0]["score"], 61.26);
}

TEST(TableTest, LongNamesAreCutButNeitherFiguresNorFootnotesAre) {
  Table table;
  table.columns = {{"name", "name"}, {"value", "value", true}};
  table.columns[0].width_max = table.columns[1].width_max = 4;
  table.rows = {{WithFootnote(TextCell("abcdef"), "†"), WithFootnote(NumberCell(123456), "*")}};
  const TextOptions screen{.width = 80};
  EXPECT_EQ(WriteTable(table, TableFormat::kText, screen),
            "name         va…e\n"
            "ab…f†  123456.00*\n");
  EXPECT_EQ(WriteTable(table, TableFormat::kText),
            "name          value\n"
            "abcdef†  123456.00*\n")
      << "nothing is cut when it is no terminal";
  EXPECT_THAT(WriteTable(table, TableFormat::kLatex), HasSubstr("abcdef† & 123456.00*"));
  EXPECT_EQ(WriteTable(table, TableFormat::kCsv), "name,value\nabcdef,123456\n");
  table.columns[0].width_max = 0;
  EXPECT_THAT(WriteTable(table, TableFormat::kText, screen), HasSubstr("abcdef†"));
}

// --- tables on a terminal ------------------------------------------------------------------------

Table Wide() {
  Table table;
  table.columns = {{"id", "ID"}, {"state", "STATE"}, {"age", "AGE", true}, {"why", "WHY"}};
  table.columns[2].drop = 1;
  table.rows = {{TextCell("s1"), WithTone(TextCell("failed"), Tone::kBad), TextCell("2m05s"),
                 TextCell("the program was not found on this machine")},
                {TextCell("s2"), TextCell("active"), TextCell(""), TextCell("")}};
  return table;
}

TEST(TextTableTest, ATableThatIsTooWideLosesTheColumnsThatMayGo) {
  Table table = Wide();
  EXPECT_THAT(WriteTable(table, TableFormat::kText, {.width = 60}),
              HasSubstr("s1  failed  2m05s  the program was not found on this machine\n"));
  EXPECT_EQ(WriteTable(table, TableFormat::kText, {.width = 59}),
            "ID  STATE   WHY\n"
            "s1  failed  the program was not found on this machine\n"
            "s2  active\n");
  EXPECT_THAT(WriteTable(table, TableFormat::kText), HasSubstr("2m05s")) << "no terminal";
}

TEST(TextTableTest, TextThatIsTooWideGoesOnBelow) {
  Table table = Wide();
  table.columns[3].wraps = true;
  EXPECT_EQ(WriteTable(table, TableFormat::kText, {.width = 40}),
            "ID  STATE   WHY\n"
            "s1  failed  the program was not found on\n"
            "            this machine\n"
            "s2  active\n");
  // A word that no line holds is broken, between characters.
  table.rows[0][3] = TextCell(std::string(29, 'x') + "éééé");
  EXPECT_THAT(WriteTable(table, TableFormat::kText, {.width = 42}),
              HasSubstr(std::string(29, 'x') + "é\n            ééé\n"));
}

TEST(TextTableTest, WhatStillDoesNotFitComesInBlocksOfColumns) {
  Table table;
  table.columns = {{"name", "name"}};
  TableRow row = {TextCell("lr")};
  for (int i = 0; i < 7; ++i) {
    table.columns.push_back({"", absl::StrCat("bench-", i), true});
    row.push_back(NumberCell(i));
  }
  table.rows = {row};
  EXPECT_EQ(WriteTable(table, TableFormat::kText, {.width = 34}),
            "name  bench-0  bench-1  bench-2\n"
            "lr       0.00     1.00     2.00\n"
            "\n"
            "name  bench-3  bench-4  bench-5\n"
            "lr       3.00     4.00     5.00\n"
            "\n"
            "name  bench-6\n"
            "lr       6.00\n");
  for (size_t width = 13; width < 100; ++width) {
    for (const absl::string_view line :
         absl::StrSplit(WriteTable(table, TableFormat::kText, {.width = width}), '\n')) {
      EXPECT_LE(line.size(), width);
    }
  }
}

// `concur audit` was 97 columns wide on a terminal of 80: a list comes in no blocks.
TEST(TextTableTest, NamesOfAListThatIsStillTooWideAreCut) {
  Table table;
  table.columns = {{"time", "TIME"}, {"user", "USER"}, {"outcome", "OUTCOME"}};
  table.columns[0].width_max = 0;
  table.key_columns = 3;
  table.rows = {
      {TextCell("2026-11-29"), TextCell("a-long-name-of-a-user"), TextCell("permission_denied")}};
  EXPECT_THAT(WriteTable(table, TableFormat::kText, {.width = 52}),
              HasSubstr("2026-11-29  a-long-name-of-a-user  permission_denied\n"));
  const std::string text = WriteTable(table, TableFormat::kText, {.width = 40});
  EXPECT_THAT(text, HasSubstr("\n2026-11-29  a-long"));
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    EXPECT_LE(DisplayWidth(line), 40u) << line;
  }
}

TEST(TextTableTest, APieceKeepsTheColumnsAndWidthsOfTheOneBefore) {
  Table table = Wide();
  TextLayout layout;
  EXPECT_EQ(WriteTextPiece(table, {.width = 59}, layout),
            "ID  STATE   WHY\n"
            "s1  failed  the program was not found on this machine\n"
            "s2  active\n");
  table.rows = {{TextCell("s3"), TextCell("ok"), TextCell("1 s"), TextCell("")},
                {TextCell("s1000"), TextCell("ok"), TextCell(""), TextCell("why")}};
  EXPECT_EQ(WriteTextPiece(table, {.width = 59}, layout),
            "s3     ok\n"
            "s1000  ok      why\n");
}

TEST(TextTableTest, ColoursStandBetweenTheBlanks) {
  EXPECT_EQ(WriteTable(Wide(), TableFormat::kText, {.width = 59, .color = true}),
            "ID  STATE   WHY\n"
            "s1  \x1b[31mfailed\x1b[0m  the program was not found on this machine\n"
            "s2  active\n");
  EXPECT_THAT(WriteTable(Wide(), TableFormat::kText, {.width = 59}), Not(HasSubstr("\x1b")));
}

TEST(TextTableTest, SentencesAreBrokenAtBlanks) {
  Table table = Wide();
  table.notes = {"two of these sweeps have not ended"};
  EXPECT_THAT(WriteTable(table, TableFormat::kText, {.width = 20}),
              HasSubstr("\n\ntwo of these sweeps\nhave not ended\n"));
}

TEST(TableTest, WithoutHeadingsThereIsNoLineForThem) {
  Table table;
  table.columns = {{"", ""}, {"", ""}};
  table.rows = {{TextCell("id"), TextCell("s1")}};
  EXPECT_EQ(WriteTable(table, TableFormat::kText), "id  s1\n");
}

TEST(TableTest, IntegersKeepEveryDigit) {
  EXPECT_EQ(CsvLine({IntegerCell(9'007'199'254'740'993), UnsignedCell(18'446'744'073'709'551'615U),
                     YesNoCell(true), TableCell()}),
            "9007199254740993,18446744073709551615,yes,\n");
}

TEST(TableTest, DifferencesShowTheirSignAndIntervalsTheirEnds) {
  Table table;
  table.columns = {
      {"d", "d", true}, {"low", "low", true}, {"high", "high", true}, {"r", "r", true}};
  table.rows = {{SignedCell(0.126), LowCell(Interval{-1, 2.5}), HighCell(Interval{-1, 2.5}),
                 CoefficientCell(std::nullopt)},
                {SignedCell(std::nullopt), LowCell(std::nullopt), HighCell(std::nullopt),
                 CoefficientCell(0.5)}};
  EXPECT_EQ(WriteTable(table, TableFormat::kText),
            "    d    low  high      r\n"
            "+0.13  -1.00  2.50  undef\n"
            "    —      —     —   0.50\n");
  EXPECT_EQ(WriteTable(table, TableFormat::kCsv), "d,low,high,r\n0.126,-1,2.5,\n,,,0.5\n");
}

TEST(TableTest, HtmlSortsByValuesAndSaysWhatIsLeftOut) {
  const std::string html = WriteHtmlTable(Small(), {"small", 1, {"a_b tag=x"}});
  EXPECT_THAT(html, HasSubstr("<table class=\"sortable\" id=\"small\">"));
  EXPECT_THAT(html, HasSubstr("<tr data-text=\"a_b tag=x\"><th scope=\"row\""));
  EXPECT_THAT(html, HasSubstr("<td data-v=\"61.26\" class=\"number best\">61.3 ◂</td>"));
  EXPECT_THAT(html, HasSubstr("1 of 2 rows are left out"));
  EXPECT_THAT(html, HasSubstr("aria-label=\"Two &lt;rows&gt;\""));
  EXPECT_THAT(html, Not(HasSubstr("red")));
  EXPECT_THAT(WriteHtmlTable(Small(), {"small", 2}),
              HasSubstr("<td class=\"number absent\">—</td>"));
}

}  // namespace
}  // namespace concur::analysis
