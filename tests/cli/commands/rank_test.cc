// SPDX-License-Identifier: Apache-2.0
// `concur rank` and `concur transfer`.

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/file.h"
#include "tests/cli/study_fixture.h"
#include "tests/testing/test.h"
#include "tests/testing/text.h"

namespace concur::cli {
namespace {

using ::concur::testing::Count;
using PlainJson = nlohmann::ordered_json;

class RankTest : public StudyFixture {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    CONCUR_CHECK_OK(WriteFileAtomically(dir_.File(name), text));
    return dir_.File(name);
  }
  TempDir dir_;
};

TEST_F(RankTest, RanksASweepAndListsWhoLacksScores) {
  const Output output = Concur({"rank", "demo", "--baseline", "guess", "-o", "json"});
  ASSERT_EQ(output.code, 0) << output.err;
  const PlainJson json = PlainJson::parse(output.out);
  ASSERT_THAT(json["rows"], SizeIs(4));
  EXPECT_EQ(json["rows"][0]["approach"], "bert");
  EXPECT_EQ(json["rows"][0]["all"], 78.75);
  EXPECT_EQ(json["rows"][0]["gain"], 61.25);
  EXPECT_TRUE(json["rows"][3]["rank"].is_null());
  EXPECT_THAT(json["notes"][1], HasSubstr("broken: news (failed), wiki (failed)"));
}

// An average of 424.17 of an Elo number and an accuracy ranked the systems, with a note below it.
TEST_F(RankTest, ScalesThatNothingConvertsAreNotAveragedUnasked) {
  const std::string scores =
      Write("elo.csv", "approach,elo,acc\na,1200,0.9\nb,1300,0.5\nc,1100,0.7\n");
  const Output refused = RunConcur({"rank", "--scores", scores});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("The averages of all follow elo, whose scores are about 1200; "
                                     "on acc they are about 0.7"));
  EXPECT_EQ(RunConcur({"rank", "--scores", scores, "--group", "all=*"}).code, 0);
}

TEST_F(RankTest, JoinsFilesAndGroupsTheirColumns) {
  const std::string a = Write("a.csv", "system,x_f1,x_em\nm,10,5\nn,20,1\n");
  const std::string b = Write("b.csv", "system,y_f1\nm,40\n");
  const Output output = RunConcur({"rank", "--scores", a, "--scores", b, "--group", "F1=*_f1",
                                   "--group", "EM=*_em", "--format", "markdown"});
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("| 1 | m | 25.00 | 5.00 |"));
  EXPECT_THAT(output.out, HasSubstr("n: y\\_f1"));
}

TEST_F(RankTest, ShowsHowMuchOfTheRankingIsResolved) {
  const std::string scores = Write("s.csv", "model,x,y\na,90,80\nb,89,80\nc,40,30\n");
  const std::string errors = Write("e.csv", "model,x,y\na,1,1\nb,1,1\nc,1,1\n");
  const Output output =
      RunConcur({"rank", "--scores", scores, "--errors", errors, "--seed", "3", "-o", "json"});
  ASSERT_EQ(output.code, 0) << output.err;
  const PlainJson json = PlainJson::parse(output.out);
  EXPECT_EQ(json["rows"][0]["rank_low"], 1);
  EXPECT_EQ(json["rows"][0]["rank_high"], 2);
  EXPECT_EQ(json["rows"][1]["group"], 1);
  EXPECT_EQ(json["rows"][2]["group"], 2);
  EXPECT_EQ(json["rows"][2]["all_ranks_low"], 3);
  EXPECT_GT(json["rows"][0]["next_p"], 0.05);
  EXPECT_LT(json["rows"][1]["next_p"], 0.001);
  EXPECT_THAT(json["notes"][0],
              HasSubstr("1 of 2 pairs of neighbours in the ranking differ with 95 % "
                        "confidence for all pairs together; 2 groups"));
  const std::string wide = Write("w.csv", "model,x,y\na,99,99\nb,99,99\nc,99,99\n");
  EXPECT_THAT(RunConcur({"rank", "--scores", scores, "--errors", wide, "-o", "json"}).out,
              HasSubstr("; 1 group."));
  EXPECT_THAT(RunConcur({"rank", "--scores", scores, "--resolve", "errors"}).err,
              HasSubstr("needs --errors FILE.csv"));
  EXPECT_THAT(RunConcur({"rank", "--scores", scores, "--resolve", "benchmarks"}).err,
              HasSubstr("at least 3 of them and at most 2000, all has 2"));
}

TEST_F(RankTest, BenchmarksOfOneTagValueAreOneUnit) {
  const std::string scores =
      Write("t.csv",
            "model,x,x2,y,y2,z,z2\na,50,51,42,42,61,61\nb,47,47,40,40,57,57\nc,43,43,41,41,52,52\n"
            "d,44,44,36,36,51,51\ne,40,40,45,45,49,49\nf,51,51,38,38,47,47\n");
  const Output found = RunConcur({"rank", "--scores", scores});
  EXPECT_THAT(found.out, HasSubstr("Resolved by 3 groups of benchmarks: "));
  EXPECT_THAT(found.out, HasSubstr("as their scores vary alike: x, x2; y, y2; z, z2."));
  const Output declared = RunConcur({"rank", "--scores", scores, "--group", "all=*", "--group",
                                     "first=x,x2", "--group", "second=y*"});
  EXPECT_THAT(declared.out, HasSubstr("Resolved by 4 groups of benchmarks: "));
  EXPECT_THAT(declared.out, HasSubstr("Count as one benchmark: x, x2; y, y2.\n"));
}

TEST_F(RankTest, MixedGoalsSayHowToChooseWhatRanks) {
  const std::string scores =
      Write("g.csv", "model,acc,mae\n#goal,,minimize\na,0.9333,0.1\nb,0.925,0.2\n");
  const Output output = RunConcur({"rank", "--scores", scores});
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("more is better; --group NAME=PATTERN chooses others"));
  EXPECT_THAT(output.out, HasSubstr("0.9250"));
  EXPECT_EQ(RunConcur({"rank", "--scores", scores, "--group", "M=mae"}).out.find("--group"),
            std::string::npos);
}

// Neighbours were taken from the worst on: sets and p-values stood beside other approaches.
TEST_F(RankTest, SetsFromExamplesKnowThatLessIsBetter) {
  std::string folder;
  for (int approach = 0; approach < 2; ++approach) {
    folder = dir_.File(absl::StrCat("runs/a", approach, "/errors"));
    CONCUR_CHECK_OK(MakeDirectories(folder));
    std::vector<std::pair<std::string, bool>> examples;
    for (int e = 0; e < 60; ++e) {
      examples.emplace_back(absl::StrCat("e", e), e < (approach == 0 ? 4 : 50));
    }
    CONCUR_CHECK_OK(WriteFileAtomically(folder + "/0.jsonl", ExampleLines(examples)));
  }
  const std::string scores = Write("s.csv", "model,errors\na0,6.67\na1,83.33\n");
  const Output output = RunConcur({"rank", "--scores", scores, "--minimize", "errors", "--examples",
                                   dir_.File("runs"), "-o", "json"});
  ASSERT_EQ(output.code, 0) << output.err;
  const PlainJson json = PlainJson::parse(output.out);
  EXPECT_EQ(json["rows"][0]["approach"], "a0");
  EXPECT_EQ(json["rows"][0]["rank_high"], 1);
  EXPECT_EQ(json["rows"][1]["rank_low"], 2);
}

TEST_F(RankTest, UsageErrorsAreNamed) {
  EXPECT_THAT(RunConcur({"rank"}).err, HasSubstr("expected either SWEEP or --scores"));
  EXPECT_EQ(Concur({"rank", "demo", "--format", "svg"}).code, 2);
  EXPECT_THAT(Concur({"rank", "demo", "--by", "domain"}).err,
              HasSubstr("no benchmark has the tag"));
}

TEST_F(RankTest, CrossShowsEveryTrainSet) {
  Output output = Concur({"transfer", "demo", "-o", "json"});
  ASSERT_EQ(output.code, 0) << output.err;
  const PlainJson json = PlainJson::parse(output.out);
  ASSERT_THAT(json["rows"], SizeIs(8));
  EXPECT_EQ(Count(json["notes"].dump(), "scores are too good"), 1u) << "was said twice";
  EXPECT_EQ(json["rows"][0]["approach"], "lr");
  EXPECT_EQ(json["rows"][0]["train"], "news");
  EXPECT_EQ(json["rows"][0]["news"], 75);
  EXPECT_TRUE(json["rows"][0]["wiki"].is_null());
  const std::string file = Write("c.csv", "row,train,x\nm1,wiki,10\nm2,news,20\n");
  output = RunConcur({"transfer", "--scores", file});
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("m2        news"));
}

}  // namespace
}  // namespace concur::cli
