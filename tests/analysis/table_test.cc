#include "analysis/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

namespace concur::analysis {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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
  const std::string replaced = "\xEF\xBF\xBD";
  EXPECT_THAT(text, HasSubstr(replaced + replaced + "[31m, " + replaced + ", " + replaced));
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
  EXPECT_THAT(WriteTable(table, TableFormat::kText), HasSubstr("system  score ±  all"));
}

}  // namespace
}  // namespace concur::analysis
