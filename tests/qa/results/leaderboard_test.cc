// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "qa/results/import.h"
#include "qa/results/leaderboard_columns.h"
#include "tests/qa/results/import_fixture.h"
#include "tests/testing/shared_data.h"
#include "tests/testing/test.h"

namespace concur::imports {
namespace {

class LeaderboardTest : public ImportFixture {
 protected:
  static std::string WhyOf(const ImportedResults& results, const std::string& column) {
    for (const ColumnNote& note : results.columns) {
      if (note.name == column) {
        return note.why;
      }
    }
    return "no such column";
  }
};

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
      std::vector<ScoreColumn> columns(kColumns);
      Random random(7, "means");
      for (size_t r = 0; r < rows; ++r) {
        std::vector<double> values(kColumns);
        for (double& value : values) {
          value = static_cast<double>(random.Below(1000)) / 10;
        }
        values[mean] = (values[(mean + 1) % kColumns] + values[(mean + 2) % kColumns] +
                        values[(mean + 5) % kColumns]) /
                       3;
        for (size_t c = 0; c < kColumns; ++c) {
          columns[c].push_back(std::round(values[c] * 100) / 100);
        }
      }
      if (rows < kColumns + 5) {
        EXPECT_THAT(MeansOfOthers(columns), IsEmpty()) << "too few rows to tell";
      } else {
        EXPECT_THAT(MeansOfOthers(columns), ElementsAre(mean)) << rows << " rows";
      }
    }
  }
}

TEST_F(LeaderboardTest, RowsOfOneModelAreRuns) {
  const auto results =
      ImportAs("leaderboard", {Write("board.csv", "model,x,y\nA,1,2\nA,3,4\nA,1,2\nB,5,6\n")});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(results->seeds, 3U);
  EXPECT_EQ(Score(*results, "A", "x", 0), 1);
  EXPECT_EQ(Score(*results, "A", "x", 1), 3);
  EXPECT_EQ(Score(*results, "A", "x", 2), 1);
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

TEST_F(LeaderboardTest, TasksInRowsAreTurned) {
  // Models were benchmarks, and benchmarks models.
  for (const char* text :
       {"dataset,version,metric,mode,m-small,m-large\ngsm8k,1d7,accuracy,gen,20,60\n"
        "math,265,accuracy,gen,10,30\nAverage,,,,15,45\n",
        "Benchmark (shots),m-small,m-large\ngsm8k,20,60\nmath,10,30\n",
        "Category\tTask\tm-small\tm-large\nmaths\tgsm8k\t20\t60\nmaths\tmath\t10\t30\n"}) {
    const auto results = ImportAs("leaderboard", {Write("board.csv", text)});
    ASSERT_TRUE(results.ok()) << results.status();
    EXPECT_THAT(Names(results->models), ElementsAre("m-small", "m-large")) << text;
    EXPECT_THAT(Names(results->tasks), ElementsAre("gsm8k", "math")) << text;
    EXPECT_EQ(Score(*results, "m-large", "gsm8k"), 60);
    EXPECT_THAT(WhyOf(*results, "score"), HasSubstr("a guess: rows are tasks"));
  }
  // Nothing but the names tells.
  const std::string path =
      Write("board.csv", ",GPT-4,Llama 2 (70B)\nMMLU,86,69\nWER ↓,3,4\nGSM8K,92,57\n");
  EXPECT_THAT(Names(ImportAs("leaderboard", {path})->models),
              ElementsAre("GPT-4", "Llama 2 (70B)"));
  EXPECT_THAT(Names(ImportAs("leaderboard", {path})->tasks), ElementsAre("MMLU", "WER", "GSM8K"));
  EXPECT_EQ(ImportAs("leaderboard", {path})->tasks[1].meaning.goal, Goal::kMinimize);
  request_.options.rows = "models";
  EXPECT_THAT(Names(ImportAs("leaderboard", {path})->models),
              ElementsAre("MMLU", "WER ↓", "GSM8K"));
  request_.options.rows = "tasks";
  EXPECT_THAT(Names(ImportAs("leaderboard", {Write("b.csv", "x,y,z\nt,1,2\n")})->models),
              ElementsAre("y", "z"));
}

TEST_F(LeaderboardTest, AHeaderThatContradictsTheNamesIsRefused) {
  EXPECT_THAT(
      ImportAs("leaderboard", {Write("board.csv", "Model,GPT-4,Llama-7B\nMMLU,86,69\nGSM8K,9,5\n")})
          .status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("board.csv:1: the column \"Model\" has names of benchmarks")));
}

TEST_F(LeaderboardTest, NamesOfPropertiesDoNotDropScores) {
  // Code, Context and Type were tags, and nothing said so.
  const auto results = ImportAs(
      "leaderboard",
      {Write("board.csv", "Model,Math,Code,Context,Type\na,40,30,20,10\nb,44,20,22,11\n")});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(Names(results->tasks), ElementsAre("Math", "Code", "Context", "Type"));
  EXPECT_THAT(WhyOf(*results, "Code"), HasSubstr("a guess: it may be a property"));
  const auto tags =
      ImportAs("leaderboard",
               {Write("board.csv",
                      "Model,Math,Context,Merged,Params (B)\na,40,4096,0,7\nb,44,8192,1,70\n")});
  EXPECT_THAT(Names(tags->tasks), ElementsAre("Math"));
  EXPECT_THAT(WhyOf(*tags, "Context"), HasSubstr("--keep makes it a benchmark"));
}

TEST_F(LeaderboardTest, FailuresAreGapsAndHalfAColumnOfScoresIsABenchmark) {
  // A column with OOM in a fifth of its cells was a tag.
  const auto results =
      ImportAs("leaderboard",
               {Write("board.csv",
                      "Method,A,C,D,E\nm1,81,OOM,see\u00a01,x\nm2,83,oom,3,y\nm3,79,66,-,3\n")});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(Names(results->tasks), UnorderedElementsAre("A", "C", "D"));
  EXPECT_EQ(SkippedOf(*results, "no score: a failure, as OOM"), 2);
  EXPECT_EQ(SkippedOf(*results, "a field that is no score"), 1);
  EXPECT_EQ(WhyOf(*results, "D"), "1 word is left out");
  EXPECT_EQ(WhyOf(*results, "E"), "2 words; its 1 numbers are left out but for --keep");
}

TEST_F(LeaderboardTest, ColumnsThatTellRowsOfLongTablesApartAreSettings) {
  // Rows with other numbers of shots were seeds.
  const auto tasks = [this](const char* text) {
    const auto results = ImportAs("leaderboard", {Write("long.csv", text)});
    EXPECT_TRUE(results.ok()) << results.status();
    return results.ok() ? Names(results->tasks) : std::vector<std::string>();
  };
  EXPECT_THAT(tasks("model,task,shots,score\na,mmlu,0,40\na,mmlu,5,60\nb,mmlu,0,50\nb,mmlu,5,52\n"),
              ElementsAre("mmlu (0-shot)", "mmlu (5-shot)"));
  EXPECT_THAT(tasks("model,task,language,acc\na,t,de,40\na,t,en,60\nb,t,de,50\n"),
              ElementsAre("t (language de)", "t (language en)"));
  const auto sampled = ImportAs(
      "leaderboard",
      {Write("long.csv",
             "model,task,temperature,seed,acc\na,t,0,1,40\na,t,0.7,1,60\na,t,0.7,2,50\n")});
  EXPECT_THAT(Names(sampled->models), ElementsAre("a (temperature 0)", "a (temperature 0.7)"));
  EXPECT_THAT(tasks("model,task,precision,acc\na,t,fp16,1\na,u,fp16,2\nb,t,fp16,3\n"),
              ElementsAre("t", "u"))
      << "does not differ";
  const auto models =
      ImportAs("leaderboard",
               {Write("long.csv", "model,task,dtype,acc\na,t,fp16,1\na,t,int8,2\nb,t,fp16,3\n")});
  EXPECT_THAT(Names(models->models), ElementsAre("a (dtype fp16)", "a (dtype int8)", "b"));
  const auto seeds = ImportAs(
      "leaderboard", {Write("long.csv", "model,task,cost,acc\na,t,x1,1\na,t,x2,2\nb,t,x3,3\n")});
  EXPECT_EQ(seeds->seeds, 2U);
  EXPECT_THAT(WhyOf(*seeds, "cost"), HasSubstr("a guess: a measure by its name"));
  const auto apart =
      ImportAs("leaderboard", {Write("long.csv",
                                     "model,task,shots,metric,score\na,t,0,acc,1\na,t,5,f1,2\n"
                                     "a,t,0,f1,3\na,t,5,acc,4\n")});
  ASSERT_TRUE(apart.ok()) << apart.status();
  EXPECT_THAT(Names(apart->tasks), ElementsAre("t (0-shot)", "t (5-shot)"));
  EXPECT_EQ(apart->cells.size(), 2U) << "metrics of other settings are of other runs";
  const auto metrics = ImportAs(
      "leaderboard", {Write("long.csv", "model,task,acc,f1\na,t,1,2\na,u,3,4\nb,t,5,6\n")});
  EXPECT_THAT(Names(metrics->tasks), ElementsAre("t", "u"));
  EXPECT_THAT(RunOf(*metrics, "a", "t")->metrics, SizeIs(2)) << "a metric a column";
}

TEST_F(LeaderboardTest, CellsWithAndWithoutPercentComeToOneUnitPerTask) {
  const auto wide = ImportAs("leaderboard", {Write("board.csv", "Model,A\na,85.0%\nb,0.90\n")});
  EXPECT_EQ(Score(*wide, "a", "A"), 0.85);
  EXPECT_THAT(WhyOf(*wide, "A"), HasSubstr("read as fractions"));
  const auto turned =
      ImportAs("leaderboard", {Write("board.csv", "Task,a,b\nt,85%,0.9\nu,85%,90\nv,85%,95%\n")});
  EXPECT_EQ(Score(*turned, "a", "t"), 0.85);
  EXPECT_EQ(Score(*turned, "a", "u"), 85);
  EXPECT_EQ(turned->tasks[2].meaning.scale.kind, Scale::Kind::kPercent);
}

TEST_F(LeaderboardTest, NamesThatDifferByAnArrowOnlyStayTwoBenchmarks) {
  const auto results =
      ImportAs("leaderboard", {Write("board.csv", "Model,A,A ↓,F1 (higher is better)\na,1,2,3\n")});
  EXPECT_THAT(Names(results->tasks), ElementsAre("A", "A ↓", "F1 (higher is better)"));
}

TEST_F(LeaderboardTest, TheOnlyScoreMayBeCalledAMean) {
  const auto results = ImportAs(
      "leaderboard",
      {Write("board.csv", "model,win_rate,standard_error,n_wins\na,76,0.9,676\nb,77,1.2,640\n")});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(Names(results->tasks), ElementsAre("win_rate"));
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
        Case{"bytes.tsv", "model\tx\nA\t\xff\n",
             "bytes.tsv:2: expected UTF-8, got the byte 0xff"}}) {
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
                            Case{"leaderboards/benchbench/glue.tsv", 85, 11, 956},
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
