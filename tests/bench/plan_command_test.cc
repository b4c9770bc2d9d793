// SPDX-License-Identifier: Apache-2.0
// `scripts/bench plan`: the tables that it reads, and the forms in which it prints.

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"
#include "base/file.h"
#include "tests/bench/run_replay.h"
#include "tests/cli/run_concur.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

using PlanJson = nlohmann::ordered_json;

class PlanReplayTest : public ::testing::Test {
 protected:
  // 24 models on three benchmarks; on the last one less is better. The leaderboard also has a rank,
  // an organisation and a mean, which are no benchmarks.
  PlanReplayTest() {
    std::string scores = "model,x,y,errors\n#goal,,,minimize\n";
    std::string board = "Rank\tModel\tOrg\tAverage\tx\ty\terrors ↓\n";
    for (int i = 0; i < 24; ++i) {
      const int x = 7 * i % 24;
      const int y = (7 * i + i % 5 * 3) % 29;
      const int errors = 5 * i % 24;
      absl::StrAppend(&scores, "m", i, ",", x, ",", y, ",", errors, "\n");
      absl::StrAppend(&board, i + 1, "\tm", i, "\torg-", i / 3, "\t", (x + y + errors) / 3, "\t", x,
                      "\t", y, "\t", errors, "\n");
    }
    CONCUR_CHECK_OK(WriteFileAtomically(scores_, scores));
    CONCUR_CHECK_OK(WriteFileAtomically(board_, board));
  }

  Replayed Replay(const std::string& table, std::vector<std::string> more) {
    std::vector<std::string> args = {"plan", "--replay", table, "--replays", "20"};
    args.insert(args.end(), more.begin(), more.end());
    return RunReplay(args);
  }

  const TempDir dir_;
  const std::string scores_ = dir_.File("scores.csv");
  const std::string board_ = dir_.File("board.tsv");
};

TEST_F(PlanReplayTest, ALeaderboardAndItsBundleAreReplayedAsTheirScoresAre) {
  const Replayed scores = Replay(scores_, {"-o", "json"});
  ASSERT_EQ(scores.code, 0) << scores.err;
  EXPECT_THAT(PlanJson::parse(scores.out)["points"], SizeIs(4));
  const Replayed board = Replay(board_, {"-o", "json"});
  ASSERT_EQ(board.code, 0) << board.err;
  EXPECT_EQ(board.out, scores.out);

  const std::string bundle = dir_.File("bundle");
  ASSERT_EQ(RunConcur({"import", "leaderboard", board_, "--out", bundle}).code, 0);
  const Replayed imported = Replay(bundle, {"-o", "json"});
  ASSERT_EQ(imported.code, 0) << imported.err;
  EXPECT_EQ(imported.out, scores.out);
}

TEST_F(PlanReplayTest, ALeaderboardWithGapsIsRefusedUnlessTheyAreLeftOut) {
  std::string board = *ReadFile(board_);
  absl::StrAppend(&board, "25\tgap\torg-9\t5\t5\t-\t5\n");
  CONCUR_CHECK_OK(WriteFileAtomically(board_, board));
  const Replayed refused = Replay(board_, {"-o", "json"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("gap"));
  const Replayed complete = Replay(board_, {"-o", "json", "--complete"});
  ASSERT_EQ(complete.code, 0) << complete.err;
  EXPECT_EQ(complete.out, Replay(scores_, {"-o", "json"}).out);
}

TEST_F(PlanReplayTest, PrintsATable) {
  const Replayed output = Replay(scores_, {"--budgets", "0.3,0.5"});
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(output.out,
            R"(Kendall's tau-b from part of a table of 24 approaches and 3 benchmarks: 20 replays

budget  run            cost  mean |error|      se  coverage  half-width  undefined
  0.30  planned       0.292         0.264  0.0132     1.000       0.617      0.000
  0.30  random rows   0.292         0.264  0.0132     1.000       0.622      0.000
  0.30  random cells  0.292         0.185  0.0380     1.000       0.999      0.767
  0.50  planned       0.500         0.152  0.0111     0.983       0.355      0.000
  0.50  random rows   0.500         0.152  0.0111     0.983       0.360      0.000
  0.50  random cells  0.500         0.257  0.0304     0.983       0.746      0.017

Budgets and costs are shares of the whole table's; coverage is that of 95 % intervals, over )"
            "replays and pairs.\n");
}

TEST_F(PlanReplayTest, TheCurvesOfTheFigureAreThePointsOfTheJson) {
  const Replayed json = Replay(scores_, {"-o", "json"});
  const Replayed svg = Replay(scores_, {"--format", "svg"});
  ASSERT_EQ(svg.code, 0) << svg.err;
  EXPECT_THAT(
      svg.out,
      AllOf(StartsWith("<svg xmlns="),
            HasSubstr("<title>Kendall&#39;s tau-b of 3 benchmarks from part of 24 approaches&#39; "
                      "cells</title>"),
            HasSubstr(">mean |error| of Kendall&#39;s tau-b, ± its standard error</text>"),
            HasSubstr(">share of the whole table&#39;s cost</text>")));
  const PlanJson points = PlanJson::parse(json.out)["points"];
  for (const auto& [key, name] : std::vector<std::pair<const char*, const char*>>{
           {"planned", "planned"}, {"rows", "random rows"}, {"cells", "random cells"}}) {
    size_t from = 0;
    for (const PlanJson& point : points) {
      const PlanJson& result = point[key];
      const std::string marker =
          absl::StrFormat("<title>%s: %.3f at %.2f of the cost, coverage %.1f %%</title>", name,
                          result["mean_abs_error"].get<double>(), result["cost"].get<double>(),
                          100 * result["coverage"].get<double>());
      const size_t found = svg.out.find(marker, from);
      EXPECT_NE(found, std::string::npos) << marker << " after " << from;
      from = found;
    }
  }
  // The planned curve and one of its bars; 0.35 and half of the cost are near the corner.
  EXPECT_THAT(svg.out,
              AllOf(HasSubstr(R"(<path d="M133.8 286.0L203.7 74.7L308.4 134.5L483.0 212.9" )"
                              R"(fill="none" stroke="#1f5fa8" stroke-width="1.5"/>)"),
                    HasSubstr(R"(<path d="M203.7 96.1L203.7 53.3" )")));
}

TEST_F(PlanReplayTest, TheFigureMarksWhereUntilStops) {
  const PlanJson until = PlanJson::parse(
      Replay(scores_, {"--until", "tau ±0.3", "--budgets", "0.3", "-o", "json"}).out)["until"];
  const Replayed svg =
      Replay(scores_, {"--until", "tau ±0.3", "--budgets", "0.3", "--format", "svg"});
  ASSERT_EQ(svg.code, 0) << svg.err;
  // The axis of costs ends a twentieth beyond the mark, as no curve goes further.
  EXPECT_THAT(
      svg.out,
      AllOf(HasSubstr(absl::StrFormat(
                "<title>stopped by tau ±0.3: %.3f at %.2f of the cost, coverage %.1f %%</title>",
                until["mean_abs_error"].get<double>(), until["cost"].get<double>(),
                100 * until["coverage"].get<double>())),
            HasSubstr(R"(<path d="M483.0 40.0L483.0 320.0" stroke="#8a3c94" stroke-dasharray=)"),
            HasSubstr(">stopped by tau ±0.3</text>")));
  EXPECT_THAT(Replay(scores_, {"--budgets", "0.3", "--format", "svg"}).out,
              Not(HasSubstr("stopped by")));
}

TEST_F(PlanReplayTest, UntilSaysWhatStoppingWouldHaveDone) {
  const Replayed output = Replay(scores_, {"--until", "tau ±0.3"});
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(output.out,
            R"(Runs that stop when Kendall's tau-b of every pair is known to ± 0.3: 20 replays

 cost  looks  coverage  all hold  mean |error|  widest ±  ran all
0.792   4.00     0.983     0.950         0.065     0.237    0.000

Means over replays at the time of stopping: the share of the whole table's cost; how often )"
            "intervals hold what the whole table gives, over replays and pairs, and "
            "all of a replay at once. The intervals of all looks together have the "
            "level 95 %.\n");
  EXPECT_EQ(Replay(board_, {"--until", "tau ±0.3"}).out, output.out);
  EXPECT_THAT(Replay(scores_, {"--until", "tau ±0.001"}).out,
              AllOf(HasSubstr("\n1.000   "), HasSubstr("   1.000\n")))
      << "ran all";

  const Replayed both = Replay(scores_, {"--until", "tau ±0.3", "--budgets", "0.3"});
  EXPECT_EQ(both.out, output.out + "\n" + Replay(scores_, {"--budgets", "0.3"}).out);
}

TEST_F(PlanReplayTest, UntilIsBesideThePointsInJson) {
  const std::vector<std::string> options = {"--until", "tau ±0.3", "--budgets",
                                            "0.3",     "-o",       "json"};
  const PlanJson json = PlanJson::parse(Replay(scores_, options).out);
  ASSERT_THAT(json["points"], SizeIs(1));
  EXPECT_EQ(json["points"][0]["budget"], 0.3);
  std::vector<std::string> keys;
  for (const auto& item : json["until"].items()) {
    keys.push_back(item.key());
  }
  EXPECT_THAT(keys, ElementsAre("cost", "looks", "coverage", "all_hold", "mean_abs_error",
                                "half_width", "whole"));
  EXPECT_LE(json["until"]["half_width"], 0.3);
  EXPECT_LT(json["until"]["cost"], 1);
  EXPECT_THAT(PlanJson::parse(Replay(scores_, {"--budgets", "0.3", "-o", "json"}).out),
              Not(Contains("until")));
}

TEST_F(PlanReplayTest, UntilNeedsAWidth) {
  for (const char* width : {"top ±0.1", "0.1", "tau ±1"}) {
    const Replayed output = Replay(scores_, {"--until", width});
    EXPECT_EQ(output.code, 2) << width;
    EXPECT_THAT(
        output.err,
        HasSubstr(absl::StrCat(
            "--until: expected \"tau ±W\", \"r ±W\" or \"rho ±W\" with a half-width W between "
            "0 and 1, such as \"tau ±0.1\", got \"",
            width, "\"")));
  }
}

TEST_F(PlanReplayTest, ATableIsRequired) {
  const Replayed output = RunReplay({"plan", "--until", "tau ±0.1"});
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.err, HasSubstr("--replay is required"));
}

TEST_F(PlanReplayTest, UntilNamesTheCoefficient) {
  const Replayed rho = Replay(scores_, {"--until", "rho ±0.5", "--budgets", "0.8"});
  EXPECT_EQ(rho.code, 0) << rho.err;
  EXPECT_THAT(rho.out, AllOf(HasSubstr("Spearman's rho of every pair is known to ± 0.5"),
                             HasSubstr("Spearman's rho from part of a table")));
  const Replayed two = Replay(scores_, {"--until", "rho ±0.5", "--coefficient", "pearson"});
  EXPECT_EQ(two.code, 2);
  EXPECT_THAT(two.err, HasSubstr("--coefficient: expected that of --until rho ±0.5"));
}

}  // namespace
}  // namespace concur::cli
