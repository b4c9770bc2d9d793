// SPDX-License-Identifier: Apache-2.0
// Commands with --scores: goals, missing scores, and rows with one name.

#include <nlohmann/json.hpp>
#include <string>

#include "base/check.h"
#include "base/file.h"
#include "tests/cli/run_concur.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

class ScoreFilesTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& text) {
    const std::string path = dir_.File("s.csv");
    CONCUR_CHECK_OK(WriteFileAtomically(path, text));
    return path;
  }
  TempDir dir_;
};

// Accuracy and perplexity rank alike.
constexpr char kAlike[] = "approach,acc,ppl\na,90,10\nb,80,20\nc,70,30\nd,60,45\n";

TEST_F(ScoreFilesTest, MatrixOfPerplexityAndAccuracyThatRankAlikeIsOne) {
  const std::string file = Write(kAlike);
  Output output = RunConcur({"matrix", "--scores", file, "--interval", "0", "-o", "csv"});
  EXPECT_THAT(output.out, HasSubstr("kendall,acc,ppl,4,-1,"));
  EXPECT_THAT(output.err, HasSubstr("column \"ppl\": read as a score of which more is better"));
  output =
      RunConcur({"matrix", "--scores", file, "--minimize", "p*", "--interval", "0", "-o", "csv"});
  EXPECT_THAT(output.out, HasSubstr("kendall,acc,ppl,4,1,"));
  EXPECT_EQ(output.err, "") << "nothing is asked that is answered";
  output = RunConcur({"matrix", "--scores", file, "--minimize", "ppl"});
  EXPECT_THAT(output.out, HasSubstr("Less is better on ppl"));
  output = RunConcur({"matrix", "--scores", file, "--minimize", "acc,pp"});
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.err, HasSubstr("minimize: unknown column \"pp\" (did you mean \"ppl\"?)"));
}

// "a quote inside an unquoted field" was all that JSON was told.
TEST_F(ScoreFilesTest, JsonIsToldWhatIsExpected) {
  const Output output = RunConcur({"rank", "--scores", Write("{\"a\": 1}\n")});
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.err, HasSubstr("s.csv:1: expected CSV, got JSON"));
}

TEST_F(ScoreFilesTest, RankPutsTheLowestPerplexityFirst) {
  const std::string file = Write(kAlike);
  Output output = RunConcur(
      {"rank", "--scores", file, "--minimize", "ppl", "-o", "csv", "--group", "perplexity=ppl"});
  EXPECT_THAT(output.out, HasSubstr("\n1,a,10\n2,b,20\n"));
  output = RunConcur({"rank", "--scores", file, "--minimize", "ppl", "-o", "csv"});
  EXPECT_THAT(output.out, HasSubstr("rank,approach,more is better,less is better\n1,a,90,10\n"));
}

TEST_F(ScoreFilesTest, CurvesByBudgetTakeARowForEachApproachAndSetting) {
  const std::string file =
      Write("approach,setting,x,y\nm,0,30,3\nm,1,10,1\nn,0,40,2\nn,1,50,3\nn,2,60,NA\n");
  Output output = RunConcur({"curve", "--by", "best", "--scores", file, "-o", "csv"});
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("m,x,2,30,2\n"));
  output = RunConcur({"curve", "--by", "best", "--scores", file, "--minimize", "x", "-o", "csv"});
  EXPECT_THAT(output.out, HasSubstr("m,x,2,10,2\n"));
  output = RunConcur({"curve", "--by", "budget", "--scores", file, "-o", "csv"});
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("\nx,y,2,"));
}

TEST_F(ScoreFilesTest, CurvesByBudgetSayWhichShapeTheyNeed) {
  const Output output =
      RunConcur({"curve", "--by", "best", "--scores", Write("approach,x\nm,1\nn,2\n")});
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.err, HasSubstr("column \"setting\""));
  EXPECT_THAT(output.err, HasSubstr("--by best needs a row for each approach and setting: "
                                    "approach,setting,BENCHMARK"));
}

TEST_F(ScoreFilesTest, PublishedTablesWithOneNameTwiceTakeAKey) {
  const std::string file =
      Write("system,rank,old,new\nJenga,12,80,70\nJenga,14,78,72\nr,3,90,85\n");
  Output output = RunConcur({"shift", "--scores", file, "--from", "old", "--to", "new"});
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.err, HasSubstr("here --key \"rank\""));
  output = RunConcur({"shift", "--scores", file, "--key", "rank", "--from", "old", "--to", "new"});
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("Jenga (14)"));
}

TEST_F(ScoreFilesTest, CrossTakesOneRowForEachTrainSet) {
  const std::string file = Write("model,train,x\nm,wiki,10\nm,news,20\n");
  const Output output = RunConcur({"transfer", "--scores", file, "-o", "csv"});
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("m,wiki,10,\nm,news,20,\n"));
  EXPECT_THAT(
      RunConcur({"transfer", "--scores", Write("model,trained,x\nm,wiki,10\n")}).err,
      HasSubstr("column \"train\": expected a column of this name in the header, got none"));
}

TEST_F(ScoreFilesTest, FractionsBesidePercentsAreNoFloor) {
  const Output output = RunConcur(
      {"matrix", "--scores", Write("a,p,f\nm,81,0.81\nn,62,0.62\no,70,0.7\np,55,0.55\n")});
  EXPECT_THAT(output.out, Not(HasSubstr("floor")));
}

}  // namespace
}  // namespace concur::cli
