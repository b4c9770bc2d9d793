// SPDX-License-Identifier: Apache-2.0
#include "analysis/score_table.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analysis/comparison/generalization.h"
#include "base/csv.h"
#include "report/writers.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

ScoreTable ParseScoreTable(const std::string& text) {
  absl::StatusOr<ParsedScores> parsed = ParseScoresCsv(text, "s.csv");
  EXPECT_OK(parsed);
  return parsed.ok() ? parsed->table : ScoreTable();
}

TEST(ScoresCsvTest, TextColumnsAreTagsAndEmptyCellsAreMissing) {
  const ScoreTable table =
      ParseScoreTable("approach,kind,X,Y\na,old,1.5,\n\"b, 2\",new,-2e1,+.5\n");
  EXPECT_THAT(NamesOf(table.approaches()), ElementsAre("a", "b, 2"));
  EXPECT_THAT(NamesOf(table.benchmarks()), ElementsAre("X", "Y"));
  EXPECT_EQ(table.approaches()[1].tags.at("kind"), "new");
  EXPECT_EQ(table.cell(0, 0).value, 1.5);
  EXPECT_EQ(table.cell(1, 0).value, -20);
  EXPECT_EQ(table.cell(1, 1).value, 0.5);
  EXPECT_EQ(table.cell(0, 1).state, CellState::kMissing);
}

TEST(ScoresCsvTest, ByteOrderMarkAndCarriageReturnsChangeNothing) {
  EXPECT_EQ(WriteScores(ParseScoreTable("\xEF\xBB\xBF"
                                        "approach,X\r\na,1\r\n\r\nb,2"),
                        TableFormat::kJson),
            WriteScores(ParseScoreTable("approach,X\na,1\nb,2\n"), TableFormat::kJson));
}

TEST(ScoresCsvTest, QuotedFieldsMayHoldQuotesAndLineBreaks) {
  const ScoreTable table = ParseScoreTable("approach,X\n\"a \"\"big\"\"\nmodel\",1\n");
  EXPECT_THAT(NamesOf(table.approaches()), ElementsAre("a \"big\" model"));
}

TEST(ScoresCsvTest, ZeroAndOneApproachesAreTables) {
  EXPECT_THAT(ParseScoreTable("approach,X,Y\n").approaches(), IsEmpty());
  EXPECT_EQ(ParseScoreTable("approach,X,Y\n").benchmarks().size(), 2U);
  EXPECT_EQ(ParseScoreTable("approach,X,Y\na,1,2\n").approaches().size(), 1U);
  EXPECT_THAT(ParseScoreTable("approach\na\n").benchmarks(), IsEmpty());
}

TEST(ScoresCsvTest, BadFilesAreRefusedWithTheirPlace) {
  const struct {
    const char* name;
    std::string text;
    const char* message;
  } cases[] = {
      {"empty file", "", "s.csv:1: expected a header line"},
      {"only blank lines", "\n\r\n", "s.csv:1: expected a header line"},
      {"NaN", "approach,X\na,1\nb,NaN\n", "s.csv:3: column \"X\": expected a finite number"},
      {"infinity", "approach,X\na,-Infinity\n", "s.csv:2: column \"X\": expected a finite number"},
      {"overflow", "approach,X\na,1e999\n", "got \"1e999\""},
      {"short row", "approach,X\na\n", "s.csv:2: expected 2 fields as in the header, got 1"},
      {"long row", "approach,X\na,1,2\n", "s.csv:2: expected 2 fields as in the header, got 3"},
      {"approach twice", "approach,X\na,1\nb,2\na,3\n",
       "s.csv:4: column \"approach\": approach \"a\" is already on line 2"},
      {"benchmark twice", "approach,X,X\n", "column \"X\": the name comes twice"},
      {"unnamed benchmark", "approach,,X\n", "s.csv:1: column 2 has no name"},
      {"unnamed approach", "approach,X\n ,1\n", "expected the name of an approach"},
      {"not UTF-8", "approach,X\na\xFF,1\n", "s.csv:2: expected UTF-8, got the byte 0xff"},
      {"overlong UTF-8", "approach,X\na\xC0\x80,1\n", "s.csv:2: expected UTF-8"},
      {"surrogate", "approach,X\na\xED\xA0\x80,1\n", "s.csv:2: expected UTF-8"},
      {"truncated UTF-8", "approach,X\na,1\xE2\x82", "s.csv:2: expected UTF-8"},
      {"NUL", std::string("approach,X\na\0b,1\n", 16), "s.csv:2: expected text, got a NUL byte"},
      {"quote inside", "approach,X\na\"b,1\n", "s.csv:2: a quote inside an unquoted field"},
      {"text after quote", "approach,X\n\"a\"b,1\n",
       "s.csv:2: expected \",\" or the end of the line after a closing quote"},
      {"open quote", "approach,X\n\"a,1\nb,2\n", "s.csv:2: the quote opened here is never closed"},
  };
  for (const auto& test : cases) {
    EXPECT_THAT(ParseScoresCsv(test.text, "s.csv"),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(test.message)))
        << test.name;
  }
}

TEST(ScoresCsvTest, AColumnOfNumbersWithASlipIsReported) {
  ASSERT_OK_AND_ASSIGN(const ParsedScores parsed,
                       ParseScoresCsv("approach,X,Y\na,1,2\nb,1O,3\n", "s.csv"));
  EXPECT_THAT(parsed.warnings,
              ElementsAre(HasSubstr("s.csv:3: column \"X\": read as a tag, not as a benchmark, "
                                    "because of \"1O\"")));
}

TEST(ScoresCsvTest, ScoresWithUnitsMarginsAndMarksAreScores) {
  // A column of percents was a tag.
  for (const char* score : {"80.1%", "**80.1**", "80.1 ± 0.2", "80.1 (0.2)", "80.1†", "80,1"}) {
    ASSERT_OK_AND_ASSIGN(
        const ParsedScores parsed,
        ParseScoresCsv(absl::StrCat("approach;X;Y;size\na;", score, ";1;7B\n"), "s.csv"));
    ASSERT_THAT(NamesOf(parsed.table.benchmarks()), ElementsAre("X", "Y")) << score;
    EXPECT_EQ(parsed.table.cell(0, 0).value, 80.1) << score;
  }
  ASSERT_OK_AND_ASSIGN(const ParsedScores parsed,
                       ParseScoresCsv("approach,X\na,80.1 ± 0.2\nb,OOM\nc,94/92\n", "s.csv"));
  EXPECT_THAT(parsed.warnings, ElementsAre(HasSubstr("s.csv:4: column \"X\": read as a tag")))
      << "which of a pair counts is not known";
}

TEST(ScoresCsvTest, WhatIsAssumedOfAColumnIsAWarning) {
  ASSERT_OK_AND_ASSIGN(
      const ParsedScores parsed,
      ParseScoresCsv("# mine\napproach,X,Y\na,85%,OOM\nb,0.9,2\nc,80%,3 (1)\n", "s.csv"));
  EXPECT_EQ(parsed.table.cell(0, 0).value, 0.85);
  EXPECT_EQ(parsed.table.cell(0, 1).state, CellState::kMissing);
  EXPECT_THAT(
      parsed.warnings,
      ElementsAre("s.csv:1: left out: a comment",
                  HasSubstr("s.csv:2: column \"X\": 2 of 3 numbers have \"%\": read as fractions"),
                  HasSubstr("1 margin is not kept"),
                  HasSubstr("\"OOM\" and the like are missing scores: 1")));
}

TEST(ScoresCsvTest, NumericColumnsCanBeTagsOnRequest) {
  ASSERT_OK_AND_ASSIGN(const ParsedScores parsed,
                       ParseScoresCsv("approach,year,X\na,2019,1\n", "s.csv", {{"year"}}));
  EXPECT_EQ(parsed.table.approaches()[0].tags.at("year"), "2019");
  EXPECT_THAT(ParseScoresCsv("approach,year,X\na,2019,1\n", "s.csv", {{"yeer"}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("did you mean \"year\"")));
}

TEST(ScoresCsvTest, NaIsAMissingScoreAndNotATag) {
  // Was: `column "X": read as a tag, not as a benchmark, because of "NA"`.
  for (const char* absent : {"NA", "N/A", "na", "n/a", "-", "--", "–", "—", " NA "}) {
    ASSERT_OK_AND_ASSIGN(
        const ParsedScores parsed,
        ParseScoresCsv(absl::StrCat("approach,X\na,1\nb,", absent, "\n"), "s.csv"));
    ASSERT_THAT(parsed.table.benchmarks(), SizeIs(1)) << absent;
    EXPECT_EQ(parsed.table.cell(1, 0).state, CellState::kMissing) << absent;
    EXPECT_THAT(parsed.warnings, IsEmpty()) << absent;
  }
}

TEST(ScoresCsvTest, NaOfATagStaysItsValue) {
  const ScoreTable table = ParseScoreTable("approach,kind,X\na,old,1\nb,NA,2\n");
  EXPECT_EQ(table.approaches()[1].tags.at("kind"), "NA");
}

TEST(ScoresCsvTest, RowsWithOneNameAreRefusedWithTheColumnThatTellsThemApart) {
  const std::string csv =
      "system,group,rank,X\nJenga,single,12,1\nJenga,single,14,2\nr,single,3,3\n";
  EXPECT_THAT(
      ParseScoresCsv(csv, "s.csv"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("s.csv:3: column \"system\": approach \"Jenga\" is already on line "
                         "2; --key COLUMN tells rows with one name apart, here --key "
                         "\"rank\"")));
  EXPECT_THAT(ParseScoresCsv(csv, "s.csv", {{}, {"group"}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("approach \"Jenga (single)\" is already on line 2")));
  ASSERT_OK_AND_ASSIGN(const ParsedScores parsed, ParseScoresCsv(csv, "s.csv", {{}, {"rank"}}));
  EXPECT_THAT(NamesOf(parsed.table.approaches()), ElementsAre("Jenga (12)", "Jenga (14)", "r"));
  EXPECT_THAT(NamesOf(parsed.table.benchmarks()), ElementsAre("X"));
  EXPECT_EQ(parsed.table.approaches()[1].tags.at("rank"), "14");
}

TEST(ScoresCsvTest, SettingsAndTrainSetsAreNamedAsSweepsNameThem) {
  ASSERT_OK_AND_ASSIGN(ParsedScores parsed, ParseScoresCsv("a,setting,X\nm,0,1\nm,1,2\nn,0,3\n",
                                                           "s.csv", {{}, {"setting"}}));
  EXPECT_THAT(NamesOf(parsed.table.approaches()), ElementsAre("m #0", "m #1", "n"));
  ASSERT_OK_AND_ASSIGN(parsed,
                       ParseScoresCsv("a,train,X\nm,p,1\nm,q,2\n", "s.csv", {{}, {"train"}}));
  EXPECT_THAT(NamesOf(parsed.table.approaches()), ElementsAre("m ← p", "m ← q"));
  EXPECT_EQ(ApproachOfRow(parsed.table.approaches()[1]), "m");
}

TEST(ScoresCsvTest, MeansAndStandardDeviationsMakeOneColumn) {
  ScoresCsvOptions options;
  options.deviations = {"_mean", "_sd", 10};
  options.train_column = "trained_on";
  options.keys = {"train"};
  ASSERT_OK_AND_ASSIGN(
      const ParsedScores parsed,
      ParseScoresCsv("model,trained_on,A_mean,A_sd,B_mean\nm,x,40.9,0.6,1\nm,y,11.5,,2\n", "f.csv",
                     options));
  EXPECT_EQ(NamesOf(parsed.table.benchmarks()), (std::vector<std::string>{"A", "B_mean"}));
  EXPECT_EQ(parsed.table.approaches()[0].name, "m ← x");
  EXPECT_EQ(TagValue(parsed.table.approaches()[1], "train"), "y");
  EXPECT_EQ(parsed.table.cell(0, 0).value, 40.9);
  EXPECT_EQ(parsed.table.cell(0, 0).standard_deviation, 0.6);
  EXPECT_EQ(parsed.table.cell(0, 0).seeds, 10);
  EXPECT_EQ(parsed.table.cell(1, 0).seeds, 0) << "no deviation is given";
  EXPECT_THAT(ParseScoresCsv("m,A_mean,A_sd\nx,1,-1\n", "f.csv", options).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("trained_on")));
  options.train_column = "";
  options.keys = {};
  EXPECT_THAT(ParseScoresCsv("m,A_mean,A_sd\nx,1,-1\n", "f.csv", options).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("f.csv:2: column \"A_sd\": expected a standard deviation")));
  EXPECT_THAT(ParseScoresCsv("m,A,B\nx,1,1\n", "f.csv", options).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("f.csv:1: expected two columns NAME_mean and NAME_sd")));
}

TEST(ScoresCsvTest, ReadsBackWhatIsWritten) {
  const std::string text = "approach,kind,X,\"Y, z\"\n\" a\",old,0.1,\nb,\"q\"\"r\",-1e-300,2\n";
  const std::string written = WriteScores(ParseScoreTable(text), TableFormat::kCsv);
  EXPECT_EQ(WriteScores(ParseScoreTable(written), TableFormat::kCsv), written);
}

TEST(ScoreTableTest, WhereKeepsRowsByTag) {
  const ScoreTable table = ParseScoreTable("approach,kind,X\na,old,1\nb,new,2\nc,old,3\n");
  ASSERT_OK_AND_ASSIGN(const ScoreTable old, table.Where({"kind=old"}));
  EXPECT_THAT(NamesOf(old.approaches()), ElementsAre("a", "c"));
  EXPECT_EQ(old.cell(1, 0).value, 3);
  ASSERT_OK_AND_ASSIGN(const ScoreTable rest, table.Where({"kind!=old"}));
  EXPECT_THAT(NamesOf(rest.approaches()), ElementsAre("b"));
}

TEST(ScoreTableTest, WhereNamesWhatItCannotFind) {
  const ScoreTable table = ParseScoreTable("approach,kind,X\na,old,1\nb,new,2\n");
  EXPECT_THAT(table.Where({"knd=old"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("did you mean \"kind\"")));
  EXPECT_THAT(table.Where({"kind=odd"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("its values are new, old")));
  EXPECT_THAT(table.Where({"=x"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected TAG=VALUE")));
}

TEST(ScoreTableTest, SelectBenchmarksKeepsTheOrderAsked) {
  const ScoreTable table = ParseScoreTable("approach,X,Y,Z\na,1,2,3\n");
  ASSERT_OK_AND_ASSIGN(const ScoreTable two, table.SelectBenchmarks({"Z", "X"}));
  EXPECT_THAT(NamesOf(two.benchmarks()), ElementsAre("Z", "X"));
  EXPECT_EQ(two.cell(0, 0).value, 3);
  EXPECT_THAT(table.SelectBenchmarks({"W"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("unknown column \"W\"")));
  EXPECT_THAT(table.SelectBenchmarks({"X", "X"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("named twice")));
}

TEST(ScoreTableTest, EveryStateOfACellIsVisibleInText) {
  ASSERT_OK_AND_ASSIGN(
      ScoreTable table,
      ScoreTable::Create({{"a", {}}}, {{"V", {}}, {"P", {}}, {"F", {}}, {"M", {}}, {"S", {}}}));
  table.cell(0, 0) = {CellState::kValue, 12.345, 0.5, 3, 100, 0, 1, 0};
  table.cell(0, 1).state = CellState::kPending;
  table.cell(0, 2).state = CellState::kFailed;
  table.cell(0, 4).state = CellState::kStopped;
  EXPECT_EQ(WriteScores(table, TableFormat::kText),
            "approach             V        P       F  M        S\n"
            "a         12.35 ±0.50*  pending  failed  —  stopped\n"
            "\n4 of 5 cells have no score: 1 failed, 1 pending, 1 stopped, 1 missing (—).\n"
            "\n± the standard deviation over seeds.\n"
            "\n* some seeds or settings of this cell failed, are pending, or were canceled or "
            "stopped.\n");
}

TEST(ScoreTableTest, ABenchmarkCalledApproachIsWrittenAndReadBack) {
  const ScoreTable table = ParseScoreTable("system,approach\na,1\n");
  EXPECT_EQ(WriteScores(table, TableFormat::kCsv), ",approach\na,1\n");
  EXPECT_EQ(WriteScores(ParseScoreTable(WriteScores(table, TableFormat::kCsv)), TableFormat::kCsv),
            WriteScores(table, TableFormat::kCsv));
}

TEST(ScoreTableTest, ATableWithoutColumnsIsReadBackWhateverSeparatesItsNames) {
  // "a;b" made it a table of two columns, and "#x" a comment.
  const std::string text = "approach\n#x\na;b\n";
  EXPECT_EQ(WriteScores(ParseScoreTable(text), TableFormat::kCsv), text);
}

TEST(ScoreTableTest, ControlCharactersOfNamesDoNotReachTheScreen) {
  const std::string text =
      WriteScores(ParseScoreTable("approach,X\n\x1B[31mred,1\n"), TableFormat::kText);
  EXPECT_EQ(text.find('\x1B'), std::string::npos) << text;
}

TEST(ScoreTableTest, TooManyCellsAreRefused) {
  std::vector<AxisEntry> many;
  for (int i = 0; i < 10'000; ++i) {
    many.push_back({absl::StrCat("n", i), {}});
  }
  EXPECT_THAT(ScoreTable::Create(many, many),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("10000 approaches x 10000")));
}

}  // namespace
}  // namespace concur::analysis
