// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/random.h"
#include "imports/import.h"
#include "imports/leaderboard_columns.h"
#include "tests/imports/import_fixture.h"
#include "tests/testing/shared_data.h"
#include "tests/testing/status_matchers.h"

namespace concur::imports {
namespace {

using ::concur::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LeaderboardTest : public ImportFixture {};

TEST(ParseScoreTest, UnitsMarginsRemarksAndPairsAreRead) {
  EXPECT_EQ(ParseScore("71.2")->value, 71.2);
  EXPECT_EQ(ParseScore(" 71.2% ")->value, 71.2);
  EXPECT_TRUE(ParseScore("71.2%")->percent);
  EXPECT_EQ(ParseScore("71.2 ± 0.4")->value, 71.2);
  EXPECT_EQ(ParseScore("71.2*")->value, 71.2);
  EXPECT_EQ(ParseScore("**71.2**")->value, 71.2);
  EXPECT_EQ(ParseScore("1,234.5")->value, 1234.5);
  EXPECT_EQ(ParseScore("94.0/92.0")->value, 93.0);
  EXPECT_THAT(ParseScore("94.0/92.0")->parts, ElementsAre(94.0, 92.0));
}

TEST(ParseScoreTest, DatesSizesAndWordsAreNoScores) {
  for (const char* field : {"2023/3/15", "67B", "N/A", "", "nan", "inf", "0x10", "1e400", "71,2",
                            "0,123", "1234,567", ",123", "about 3", "12-14", "/", "1//2"}) {
    EXPECT_EQ(ParseScore(field), std::nullopt) << field;
  }
}

TEST_F(LeaderboardTest, MetadataRanksAndMeansAreNoBenchmarks) {
  const std::string path = Write("board.tsv",
                                 "Rank\tModel\tCompany\tParameters\tAverage\tBoolean Q\tWER ↓\n"
                                 "1\tA\tX Corp\t67B\t80\t90.5\t3\n"
                                 "2\tB\tX Corp\tN/A\t70\t-\t4\n");
  const auto results = ImportAs("leaderboard", {path});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(Names(results->tasks), ElementsAre("Boolean Q", "WER"));
  EXPECT_EQ(results->tasks[0].meaning.goal, Goal::kMaximize);
  EXPECT_EQ(results->tasks[1].meaning.goal, Goal::kMinimize);
  EXPECT_EQ(results->models[0].tags.at("family"), "X Corp");
  EXPECT_EQ(results->models[0].tags.at("parameters"), "67B");
  EXPECT_EQ(results->models[1].tags.count("parameters"), 0);
  EXPECT_EQ(Score(*results, "A", "Boolean Q"), 90.5);
  EXPECT_EQ(Score(*results, "B", "Boolean Q"), std::nullopt);
  EXPECT_EQ(SkippedOf(*results, "no score: a gap"), 1);
  EXPECT_EQ(SkippedOf(*results, "a column that is called a mean or an overall score"), 1);
}

TEST_F(LeaderboardTest, AMeanUnderAnyNameIsFound) {
  std::string text = "model,overall_v2,a,b,c\n";
  for (int i = 0; i < 20; ++i) {
    const int a = (i * 7) % 20;
    const int b = (i * 11 + 3) % 20;
    const int c = (i * i) % 17;
    text += absl::StrCat("m", i, ",", (a + b + c) / 3.0, ",", a, ",", b, ",", c, "\n");
  }
  const auto results = ImportAs("leaderboard", {Write("board.csv", text)});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(Names(results->tasks), ElementsAre("a", "b", "c"));
  request_.options.keep = {"overall_v2"};
  EXPECT_THAT(Names(ImportAs("leaderboard", {dir_.File("board.csv")})->tasks),
              ElementsAre("overall_v2", "a", "b", "c"));
}

TEST(MeansOfOthersTest, AMeanIsFoundAtEveryPlaceAndNothingElseIs) {
  // Each column of 200 had all products of columns computed anew: 26 s for 4,500 models.
  constexpr size_t kColumns = 12;
  for (size_t mean = 0; mean < kColumns; ++mean) {
    for (const size_t rows : {kColumns + 4, kColumns + 5, size_t{100}}) {
      LeaderboardTable table;
      table.header.assign(kColumns, "");
      std::vector<size_t> columns;
      for (size_t c = 0; c < kColumns; ++c) {
        columns.push_back(c);
      }
      Random random(7, "means");
      for (size_t r = 0; r < rows; ++r) {
        std::vector<double> values(kColumns);
        for (double& value : values) {
          value = static_cast<double>(random.Below(1000)) / 10;
        }
        values[mean] = (values[(mean + 1) % kColumns] + values[(mean + 2) % kColumns] +
                        values[(mean + 5) % kColumns]) /
                       3;
        LeaderboardTable::Row row;
        for (const double value : values) {
          row.fields.push_back(absl::StrFormat("%.2f", value));
        }
        table.rows.push_back(std::move(row));
      }
      if (rows < kColumns + 5) {
        EXPECT_THAT(MeansOfOthers(table, columns), IsEmpty()) << "too few rows to tell";
      } else {
        EXPECT_THAT(MeansOfOthers(table, columns), ElementsAre(mean)) << rows << " rows";
      }
    }
  }
}

TEST_F(LeaderboardTest, RowsOfOneModelAreRuns) {
  const auto results =
      ImportAs("leaderboard", {Write("board.csv", "model,x,y\nA,1,2\nA,3,4\nA,1,2\nB,5,6\n")});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(results->seeds, 2U);
  EXPECT_EQ(Score(*results, "A", "x", 0), 1);
  EXPECT_EQ(Score(*results, "A", "x", 1), 3);
  EXPECT_EQ(SkippedOf(*results, "a row that came before, field by field"), 1);
}

TEST_F(LeaderboardTest, RowsOfOneNameAndDifferentTeamsAreDifferentModels) {
  const auto results = ImportAs(
      "leaderboard", {Write("board.tsv", "Name\tModel\tx\tz\nT1\tA\t1\t2\nT2\tA\t3\t4\n")});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(Names(results->models), ElementsAre("A (T1)", "A (T2)"));
}

TEST_F(LeaderboardTest, SemicolonsAndDecimalCommasOfSpreadsheetsAreRead) {
  const auto results =
      ImportAs("leaderboard", {Write("board.csv",
                                     "model;x;y;z;size;places\nA;71,25;1,234;1.5;7;\"a;b\"\n"
                                     "B;70;2,345;2;1,3B;c\nC;-0,5 ± 0,1;3,456;-;n/a;d, e\n")});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(Names(results->tasks), ElementsAre("x", "y", "z"));
  EXPECT_EQ(Score(*results, "A", "x"), 71.25);
  EXPECT_EQ(Score(*results, "B", "x"), 70);
  EXPECT_EQ(Score(*results, "A", "y"), 1.234) << "the comma of all columns is the decimal one";
  EXPECT_EQ(results->models[0].tags.at("places"), "a;b");
}

TEST_F(LeaderboardTest, ThreeDecimalsBehindACommaAreDecimalsWhereSemicolonsSeparate) {
  // 71,234 was 71,234 points.
  struct Case {
    const char* name;
    const char* text;
    double x;
    double y;
  };
  for (const Case& c :
       {Case{"semicolons", "model;x;y\nA;71,234;1,234\nB;-1,500 ± 0,125;2,345\n", 71.234, 1.234},
        Case{"pairs", "model;x;y\nA;71,234/73,234;1,234%\nB;1,500/2,500;2,345%\n", 72.234, 1.234},
        Case{"thousands", "model;x;y\nA;1,234;1,234\nB;2,345.5;2,345,678\n", 1234, 1234},
        Case{"both", "model;x;y\nA;1,234;1,234\nB;2,345,678;2\nC;0,5;3\n", 1.234, 1.234},
        Case{"commas", "model,x,y\nA,\"71,234\",\"1,234\"\nB,\"1,500\",2\n", 71234, 1234},
        Case{"tabs", "model\tx\ty\nA\t71,234\t1,234\nB\t1,500\t2\n", 71234, 1234}}) {
    const auto results = ImportAs("leaderboard", {Write("board.csv", c.text)});
    ASSERT_TRUE(results.ok()) << c.name << results.status();
    EXPECT_EQ(Score(*results, "A", "x"), c.x) << c.name;
    EXPECT_EQ(Score(*results, "A", "y"), c.y) << c.name;
  }
  EXPECT_EQ(ImportAs("leaderboard", {Write("board.csv", "model;x;by\nA;1;1,234 B\nB;2;a,b\n")})
                ->models[0]
                .tags.at("by"),
            "1,234 B")
      << "of words";
}

TEST_F(LeaderboardTest, ThreeDigitsBehindAZeroAreDecimals) {
  const auto results = ImportAs(
      "leaderboard", {Write("board.csv", "model;x\nA;0,123\nB;0,456\nC;1,234\nD;0,7\nE;see\n")});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(Score(*results, "A", "x"), 0.123);
  EXPECT_EQ(Score(*results, "C", "x"), 1.234) << "its column tells";
  EXPECT_EQ(SkippedOf(*results, "a field that is no score"), 1) << "as with points";
}

TEST_F(LeaderboardTest, SemicolonsWithinQuotedNamesDoNotSeparate) {
  const auto results =
      ImportAs("leaderboard", {Write("board.csv", "model,\"x; y; z\"\r\nA,1\r\nB,2\r\n")});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(Names(results->tasks), ElementsAre("x; y; z"));
}

TEST_F(LeaderboardTest, DecimalCommasAreReadInTabbedTablesToo) {
  const auto results =
      ImportAs("leaderboard", {Write("board.tsv", "model\tx\ty\nA\t0,5\t1\nB\t0,75\t2\n")});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(Score(*results, "B", "x"), 0.75);
}

TEST_F(LeaderboardTest, AHeaderWithoutTheNamesColumnIsCompleted) {
  const auto results =
      ImportAs("leaderboard", {Write("board.tsv", "Mean\tx\ty\nA\t2\t1\t3\nB\t4\t3\t5\n")});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(Names(results->models), ElementsAre("A", "B"));
  EXPECT_THAT(Names(results->tasks), ElementsAre("x", "y"));
}

TEST_F(LeaderboardTest, LongTablesHaveRepeatsMetricsAndErrors) {
  const auto results =
      ImportAs("leaderboard", {Write("long.csv",
                                     "model,task,metric,value,stderr,seed\n"
                                     "A,t,acc,0.5,0.01,2\nA,t,f1,0.6,,2\nA,t,acc,0.4,0.02,1\n"
                                     "B,t,acc,,,1\nB,t,acc,0.7,,10\n")});
  ASSERT_TRUE(results.ok()) << results.status();
  const imports::Run* const first = RunOf(*results, "A", "t", 0);
  ASSERT_NE(first, nullptr);
  EXPECT_THAT(first->metrics, SizeIs(2));
  EXPECT_EQ(first->metrics[0].standard_error, 0.01);
  EXPECT_EQ(Score(*results, "A", "t", 1), 0.4);
  EXPECT_EQ(Score(*results, "B", "t"), 0.7);
}

TEST_F(LeaderboardTest, MetricsJoinTheRunsOfLongTablesInTheirOrder) {
  // The f1 of the first run went to the second one, and that of the second one made a third.
  struct Case {
    const char* name;
    const char* rows;
  };
  for (const Case& order :
       {Case{"by metric", "A,t,acc,0.9\nA,t,acc,0.8\nA,t,f1,55/57\nA,t,f1,44/46\n"},
        Case{"by run", "A,t,acc,0.9\nA,t,f1,55/57\nA,t,acc,0.8\nA,t,f1,44/46\n"},
        Case{"of two models",
             "A,t,acc,0.9\nB,t,f1,1\nA,t,acc,0.8\nB,t,acc,0.1\n"
             "A,t,f1,55/57\nB,t,acc,0.2\nA,t,f1,44/46\nB,t,f1,2\n"}}) {
    const auto results = ImportAs(
        "leaderboard", {Write("long.csv", absl::StrCat("model,task,metric,value\n", order.rows))});
    ASSERT_TRUE(results.ok()) << results.status();
    EXPECT_EQ(results->seeds, 2U) << order.name;
    for (const uint32_t seed : {0U, 1U}) {
      const imports::Run* const run = RunOf(*results, "A", "t", seed);
      ASSERT_NE(run, nullptr) << order.name;
      ASSERT_THAT(run->metrics, SizeIs(4)) << order.name << ": both parts of f1 are kept, too";
      EXPECT_EQ(run->metrics[0].name, "acc") << order.name;
      EXPECT_EQ(run->metrics[0].value, seed == 0 ? 0.9 : 0.8) << order.name;
      EXPECT_EQ(run->metrics[1].name, "f1") << order.name;
      EXPECT_EQ(run->metrics[1].value, seed == 0 ? 56 : 45) << order.name;
      EXPECT_EQ(run->metrics[3].name, "f1/2") << order.name;
      EXPECT_EQ(run->metrics[3].value, seed == 0 ? 57 : 46) << order.name;
    }
  }
}

TEST_F(LeaderboardTest, WhatIsNoTableIsAnErrorThatNamesTheFile) {
  struct Case {
    const char* name;
    const char* text;
    const char* message;
  };
  for (const Case& wrong :
       {Case{"empty.csv", "", "expected a header and a row or more, got 0 lines"},
        Case{"header.csv", "model,x\n", "got 1 line"},
        Case{"twice.csv", "model,x,x\nA,1,2\n", "the column \"x\" comes twice"},
        Case{"words.csv", "model,x\nA,b\n", "expected a column of scores beside \"model\""},
        Case{"open.csv", "model,x\nA,\"1\n", "open.csv:2"},
        Case{"bytes.tsv", "model\tx\nA\t\xff\n", "bytes.tsv:2: byte 3: not UTF-8"}}) {
    EXPECT_THAT(ImportAs("leaderboard", {Write(wrong.name, wrong.text)}).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(wrong.name), HasSubstr(wrong.message))))
        << wrong.name;
  }
  EXPECT_THAT(ImportAs("leaderboard", {dir_.File("absent.csv")}).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("absent.csv")));
  EXPECT_THAT(ImportAs("leaderboards", {}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("leaderboard")));
}

TEST_F(LeaderboardTest, ShortRowsBelowAWideHeaderAreRefusedBeforeTheyAreFilledUp) {
  // 188 KB took 4 GB, and ended with bad_alloc.
  std::string text = "\nmodel";
  for (int c = 1; c < 10'000; ++c) {
    absl::StrAppend(&text, ",t", c);
  }
  text += "\nA,1,2\n";
  const auto small = ImportAs("leaderboard", {Write("small.csv", text)});
  ASSERT_TRUE(small.ok()) << small.status();
  EXPECT_THAT(small->tasks, SizeIs(2));
  for (int r = 0; r < 1'000; ++r) {
    absl::StrAppend(&text, "m", r, "\n");
  }
  EXPECT_THAT(ImportAs("leaderboard", {Write("wide.csv", text)}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("wide.csv:2: expected at most 10000000 fields, got 1001 rows of "
                                 "10000 columns; import a part of them")));
}

TEST_F(LeaderboardTest, RealBoardsHaveTheSizesThatTheyShould) {
  struct Case {
    const char* path;
    size_t models;
    size_t tasks;
    size_t scores;
  };
  for (const Case& board : {Case{"leaderboards/benchbench/bbh.tsv", 107, 27, 2889},
                            Case{"leaderboards/benchbench/helm-accuracy.tsv", 67, 16, 876},
                            Case{"leaderboards/benchbench/vtab.tsv", 16, 19, 304},
                            Case{"leaderboards/benchbench/glue.tsv", 84, 11, 956},
                            Case{"leaderboards/open-llm/v1-frozen.csv", 1756, 6, 10824},
                            Case{"leaderboards/open-llm/v2.csv", 340, 7, 2436},
                            Case{"leaderboards/open-llm/livebench.csv", 52, 6, 312},
                            Case{"leaderboards/mteb-eng-v2/scores.csv", 196, 21, 4116},
                            Case{"leaderboards/mteb-eng-v2/repeats.csv", 120, 4, 4800}}) {
    CONCUR_SHARED_DATA_OR_SKIP(path, board.path);
    const auto results = ImportAs("leaderboard", {path});
    ASSERT_TRUE(results.ok()) << results.status();
    EXPECT_THAT(results->models, SizeIs(board.models)) << board.path;
    EXPECT_THAT(results->tasks, SizeIs(board.tasks)) << board.path;
    EXPECT_THAT(results->cells, SizeIs(board.scores)) << board.path;
  }
}

}  // namespace
}  // namespace concur::imports
