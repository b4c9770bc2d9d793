// SPDX-License-Identifier: Apache-2.0
// Whatever is made from a table whose settings were chosen on the test sets says so.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analysis/comparison/fit.h"
#include "analysis/comparison/generalization.h"
#include "analysis/comparison/table_difference.h"
#include "analysis/concurrence/cluster.h"
#include "analysis/concurrence/contrast.h"
#include "analysis/concurrence/curve.h"
#include "analysis/concurrence/matrix.h"
#include "analysis/plan/plan.h"
#include "analysis/plan/plan_next.h"
#include "analysis/score_table.h"
#include "report/block_table.h"
#include "report/comparison_tables.h"
#include "report/curve_tables.h"
#include "report/figures/figures.h"
#include "report/notes.h"
#include "report/plan_tables.h"
#include "report/ranking_tables.h"
#include "report/writers.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

constexpr char kOnTest[] = "Settings were chosen on the test";

ScoreTable ParseChoices(const std::string& csv) {
  auto parsed = ParseScoresCsv(csv, "s.csv");
  EXPECT_OK(parsed.status());
  return parsed.ok() ? parsed->table : ScoreTable();
}

// Six approaches, of two kinds, on two benchmarks.
std::string ChosenCsv(const std::string& rows) {
  std::string csv = "approach,kind,train,x,y\n" + rows;
  for (int i = 0; i < 6; ++i) {
    absl::StrAppend(&csv, "m", i, i < 3 ? ",new" : ",old", ",t,", 10 * i + 5, ",", i * i + 1, "\n");
  }
  return csv;
}

ScoreTable ChosenOnTest() { return ParseChoices(ChosenCsv("#chosen,,,test,test\n")); }

TEST(ChoiceNotesTest, FiguresSayThatSettingsWereChosenOnTheTestSet) {
  const ScoreTable table = ChosenOnTest();
  ASSERT_OK_AND_ASSIGN(const std::vector<ScatterPanel> panels,
                       ScatterPanels(table, {"x", {"y"}, ""}));
  EXPECT_THAT(ScatterSvg(table, panels), HasSubstr(kOnTest));
  ASSERT_OK_AND_ASSIGN(const ConcurrenceMatrix matrix, ComputeMatrix(table, {}));
  EXPECT_THAT(MatrixSvg(matrix), HasSubstr(kOnTest));
  const std::vector<std::string> to = {"y"};
  ASSERT_OK_AND_ASSIGN(const std::vector<ShiftFit> fits, FitShift(table, "x", to, {}));
  EXPECT_THAT(ShiftSvg(fits), HasSubstr(kOnTest));
  ASSERT_OK_AND_ASSIGN(const std::string cross, CrossSvg(table));
  EXPECT_THAT(cross, HasSubstr(kOnTest));
  EXPECT_THAT(ScatterSvg(ParseChoices(ChosenCsv("")), panels), Not(HasSubstr(kOnTest)));
}

TEST(ChoiceNotesTest, TablesSayThatSettingsWereChosenOnTheTestSet) {
  const ScoreTable table = ChosenOnTest();
  std::vector<Table> tables;
  ASSERT_OK_AND_ASSIGN(const std::vector<ScatterPanel> panels,
                       ScatterPanels(table, {"x", {"y"}, ""}));
  tables.push_back(ScatterTable(table, panels));
  ASSERT_OK_AND_ASSIGN(const ConcurrenceMatrix matrix, ComputeMatrix(table, {}));
  tables.push_back(BlockTable(matrix, {}));
  BootstrapOptions bootstrap;
  bootstrap.replicates = 100;
  ASSERT_OK_AND_ASSIGN(const GroupContrast contrast,
                       ContrastGroups(table, Coefficient::kKendall, "kind", bootstrap));
  tables.push_back(ContrastTable(table, contrast, bootstrap));
  ASSERT_OK_AND_ASSIGN(Table cross, CrossTable(table));
  tables.push_back(std::move(cross));
  const CellCosts costs = EqualCosts(table);
  ASSERT_OK_AND_ASSIGN(const NextCells next, PlanNext(table, costs, {}));
  tables.push_back(NextTable(next, table, costs, {}));
  tables.push_back(DifferenceTable(CompareTables(table, table), "a", "b"));
  for (const Table& made : tables) {
    const std::string text = WriteTable(made, TableFormat::kText, {.details = true});
    EXPECT_THAT(text, HasSubstr(kOnTest)) << made.title;
    EXPECT_EQ(text.find(kOnTest), text.rfind(kOnTest)) << "--notes said it twice: " << text;
    EXPECT_THAT(WriteTable(made, TableFormat::kJson), HasSubstr(kOnTest)) << made.title;
  }
  EXPECT_THAT(ExpectedBestTable({}, {}).notes, ElementsAre(kBestOnTestNote));
  for (const TableFormat format :
       {TableFormat::kText, TableFormat::kMarkdown, TableFormat::kJson}) {
    EXPECT_THAT(WriteScores(table, format), HasSubstr(kOnTest));
  }
}

// Only the benchmarks that are drawn count.
TEST(ChoiceNotesTest, AFigureSaysNothingOfBenchmarksThatItDoesNotShow) {
  const ScoreTable table =
      ParseChoices("approach,x,y,z\n#chosen,,,test\na,1,2,3\nb,2,3,4\nc,3,1,2\n");
  ASSERT_OK_AND_ASSIGN(const std::vector<ScatterPanel> panels,
                       ScatterPanels(table, {"x", {"y"}, ""}));
  EXPECT_THAT(ScatterTable(table, panels).details, ElementsAre());
}

// Every analysis, figure and page said "added at least: x 0.00, y 0.00".
TEST(ChoiceNotesTest, AChoiceThatChangesNoScoreIsNoWarning) {
  const auto warning = [](const std::string& rows) {
    return ChoiceWarning(ParseChoices(ChosenCsv(rows)).benchmarks());
  };
  EXPECT_THAT(warning("#chosen,,,test,test\n#optimism,,,0,0.001\n"), ElementsAre());
  EXPECT_THAT(warning("#chosen,,,test,test\n#optimism,,,0,1.5\n"),
              ElementsAre("Settings were chosen on the test sets: scores are too good."));
  EXPECT_THAT(warning("#chosen,,,test,validation\n"),
              ElementsAre("Settings of x were chosen on the test sets: scores are too good."));
  EXPECT_THAT(warning("#chosen,,,validation,validation\n#optimism,,,0.5,1.5\n"), ElementsAre());
}

TEST(ChoiceNotesTest, TwoTablesSayWhichOfThemChoseOnTheTestSet) {
  const ScoreTable chosen = ChosenOnTest();
  const ScoreTable plain = ParseChoices(ChosenCsv(""));
  EXPECT_THAT(ChoiceNotes(plain.benchmarks(), plain.benchmarks()), ElementsAre());
  EXPECT_THAT(ChoiceNotes(plain.benchmarks(), chosen.benchmarks()),
              ElementsAre(HasSubstr(absl::StrCat("Second table: ", kOnTest))));
}

TEST(ChoiceNotesTest, AFileOfScoresKeepsHowSettingsWereChosen) {
  const std::string csv = ChosenCsv("#chosen,,,test,validation\n#optimism,,,1.25,-0.5\n");
  const ScoreTable table = ParseChoices(csv);
  EXPECT_EQ(table.benchmarks()[0].choice, (SettingChoice{"test", 1.25}));
  EXPECT_EQ(table.benchmarks()[1].choice, (SettingChoice{"validation", -0.5}));
  const std::string written = WriteScores(table, TableFormat::kCsv);
  EXPECT_THAT(written, HasSubstr("\n#chosen,,,test,validation\n#optimism,,,1.25,-0.5\n"));
  EXPECT_EQ(ParseChoices(written).benchmarks(), table.benchmarks());
}

TEST(ChoiceNotesTest, WhatAFileSaysOfAChoiceIsChecked) {
  EXPECT_THAT(ParseScoresCsv("a,x\n#chosen,luck\nm,1\n", "s.csv"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("s.csv:2: column \"x\": expected validation, test, test of NAME "
                                 "or other seeds, got \"luck\"")));
  for (const char* text : {"testing", "test on x", "validations", "other seedss"}) {
    EXPECT_THAT(ParseScoresCsv(absl::StrCat("a,x\n#chosen,", text, "\nm,1\n"), "s.csv"),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("other seeds, got \"")))
        << text;
  }
  for (const char* text : {"test of x", "validation", "other seeds", "\"validation, test of x\""}) {
    EXPECT_OK(ParseScoresCsv(absl::StrCat("a,x\n#chosen,", text, "\nm,1\n"), "s.csv").status());
  }
  EXPECT_THAT(ParseScoresCsv("a,x\n#optimism,much\nm,1\n", "s.csv"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("s.csv:2: column \"x\": expected a number, got \"much\"")));
}

}  // namespace
}  // namespace concur::analysis
