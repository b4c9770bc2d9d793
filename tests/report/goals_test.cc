// SPDX-License-Identifier: Apache-2.0
// Benchmarks of which less is better, and scales: through every analysis of a score table.

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/comparison/fit.h"
#include "analysis/comparison/generalization.h"
#include "analysis/comparison/selection.h"
#include "analysis/comparison/table_difference.h"
#include "analysis/concurrence/bounds.h"
#include "analysis/concurrence/curve.h"
#include "analysis/concurrence/matrix.h"
#include "analysis/concurrence/structure.h"
#include "analysis/score_table.h"
#include "report/comparison_tables.h"
#include "report/figures/figures.h"
#include "report/html/report_summary.h"
#include "report/notes.h"
#include "report/ranking_tables.h"
#include "report/table.h"
#include "report/writers.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

ScoreTable ParseGoals(const std::string& csv) {
  absl::StatusOr<ParsedScores> parsed = ParseScoresCsv(csv, "s.csv");
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed.ok() ? parsed->table : ScoreTable();
}

// Both rank a over b over c over d.
constexpr char kAlike[] =
    "approach,acc,ppl\n#goal,,minimize\n#scale,percent,none\na,90,10\nb,80,20\nc,70,30\nd,60,45\n";

TEST(GoalsTest, MatrixOfAccuracyAndPerplexityThatRankAlikeIsOne) {
  // Was -1.00.
  for (const Coefficient coefficient :
       {Coefficient::kKendall, Coefficient::kSpearman, Coefficient::kWeightedKendall,
        Coefficient::kTopK, Coefficient::kRbo}) {
    MatrixOptions options;
    options.coefficient = coefficient;
    options.top = 2;
    ASSERT_OK_AND_ASSIGN(const ConcurrenceMatrix matrix,
                         ComputeMatrix(ParseGoals(kAlike), options));
    EXPECT_EQ(matrix.pairs[0].correlation.value, 1) << CoefficientName(coefficient);
    EXPECT_THAT(matrix.minimized, ElementsAre("ppl"));
  }
}

TEST(GoalsTest, ErrorsWithoutAStatedScaleHaveNoCeiling) {
  // One error above 1 made all of them percents: "ceiling: 4 of 5 approaches".
  const ScoreTable table =
      ParseGoals("approach,mae\n#goal,minimize\na,0.33\nb,0.49\nc,0.34\nd,0.35\ne,2.25\n");
  EXPECT_FALSE(table.range(0).has_value());
  EXPECT_THAT(FlagBenchmarks(table), IsEmpty());
  EXPECT_THAT(FlagBenchmarks(table.Oriented()), IsEmpty());
}

TEST(GoalsTest, AScoreBeyondAGuessedScaleLeavesNone) {
  // A missing Elo rating was given 0 to 100, and its bounds passed for exact.
  const ScoreTable table = ParseGoals("approach,elo,loss,acc\na,1000,-5,70\nb,1300,-2,90\n");
  EXPECT_FALSE(table.range(0).has_value());
  EXPECT_FALSE(table.range(1).has_value());
  EXPECT_EQ(table.range(2)->high, 100);
}

TEST(GoalsTest, ScoresUpToOneHaveFourDecimals) {
  // Ranks 1 and 2 had "0.93" both.
  const ScoreTable table = ParseGoals(
      "approach,acc,em,mae\n#goal,,,minimize\n"
      "wide,0.9333,93.33,0.3122\nnear,0.925,92.5,0.3141\n");
  EXPECT_EQ(table.decimals(0), 4);
  EXPECT_EQ(table.decimals(1), 2);
  EXPECT_EQ(table.decimals(2), 4);
  EXPECT_EQ(AsTableCell(table, 0, 0).text, "0.9333");
  EXPECT_EQ(AsTableCell(table, 0, 1).text, "93.33");
  ASSERT_OK_AND_ASSIGN(const ScoreTable accuracy, table.SelectBenchmarks({"acc"}));
  ASSERT_OK_AND_ASSIGN(const Generalization ranking,
                       RankByAverage(accuracy, GroupsByGoal(accuracy), "near"));
  const std::string text = WriteTable(GeneralizationTable(accuracy, ranking), TableFormat::kText);
  EXPECT_THAT(text, HasSubstr("0.9333"));
  EXPECT_THAT(text, HasSubstr("0.9250"));
  EXPECT_THAT(text, HasSubstr("+0.0083"));
}

TEST(GoalsTest, PartialScoresAreMarkedInEveryTableMadeFromThem) {
  ScoreTable table = ParseGoals(kAlike);
  table.cell(1, 0).failed = 1;
  EXPECT_THAT(CellText(table.cell(1, 0), 2), "80.00*");
  ASSERT_OK_AND_ASSIGN(const Generalization ranking,
                       RankByAverage(table, GroupsByGoal(table), std::nullopt));
  const std::string text = WriteTable(GeneralizationTable(table, ranking), TableFormat::kText);
  EXPECT_THAT(text, HasSubstr("80.00*"));
  EXPECT_THAT(text, HasSubstr("70.00 "));
  EXPECT_THAT(text, HasSubstr("* some seeds or settings of its scores failed"));
  ASSERT_OK_AND_ASSIGN(const ConcurrenceMatrix matrix, ComputeMatrix(table, {}));
  EXPECT_THAT(WriteMatrix(matrix, TableFormat::kText, {.text = {.details = true}}),
              HasSubstr("Scores that lack seeds or settings: acc (1)"));
  EXPECT_THAT(FindingsOf(table, &matrix, {})[1].text,
              HasSubstr("Of 1 score some seeds or settings are not there"));
}

TEST(GoalsTest, MatrixSaysWhatItOriented) {
  ASSERT_OK_AND_ASSIGN(const ConcurrenceMatrix matrix, ComputeMatrix(ParseGoals(kAlike), {}));
  EXPECT_THAT(WriteMatrix(matrix, TableFormat::kText), HasSubstr("Less is better on ppl"));
  EXPECT_THAT(WriteMatrix(matrix, TableFormat::kJson), HasSubstr("\"minimized\":[\"ppl\"]"));
}

TEST(GoalsTest, IntervalsInfluencesAndSwapsAreThoseOfNegatedScores) {
  ScoreTable table = ParseGoals("approach,x,y\na,1,9\nb,2,5\nc,3,7\nd,4,1\ne,5,2\nf,6,6\n");
  const ScoreTable negated =
      ParseGoals("approach,x,y\na,1,-9\nb,2,-5\nc,3,-7\nd,4,-1\ne,5,-2\nf,6,-6\n");
  ASSERT_OK(table.Minimize({"y"}));
  MatrixOptions options;
  options.bootstrap = BootstrapOptions();
  options.bootstrap->replicates = 100;
  options.influences = 3;
  options.swaps = true;
  ASSERT_OK_AND_ASSIGN(const ConcurrenceMatrix minimized, ComputeMatrix(table, options));
  ASSERT_OK_AND_ASSIGN(const ConcurrenceMatrix other, ComputeMatrix(negated, options));
  EXPECT_EQ(minimized.pairs[0].interval->low, other.pairs[0].interval->low);
  EXPECT_EQ(minimized.pairs[0].interval->high, other.pairs[0].interval->high);
  ASSERT_THAT(minimized.pairs[0].swaps, SizeIs(other.pairs[0].swaps.size()));
  EXPECT_EQ(minimized.pairs[0].swaps[0].first, other.pairs[0].swaps[0].first);
  EXPECT_EQ(minimized.pairs[0].influences[0].approach, other.pairs[0].influences[0].approach);
}

TEST(GoalsTest, SelectBestTakesTheLowestPerplexity) {
  // Took the worst setting, silently.
  std::vector<ScoreRecord> records;
  for (int setting = 0; setting < 3; ++setting) {
    ScoreRecord record;
    record.approach = "m";
    record.train = record.test = "b";
    record.setting = setting;
    record.seed = 1;
    record.value = setting == 1 ? 12.5 : 30 + setting;
    records.push_back(record);
  }
  SelectionOptions options;
  options.approaches = {{"m", {}}};
  options.benchmarks = {{"b", {}, {Goal::kMinimize, {}}}};
  ASSERT_OK_AND_ASSIGN(const ScoreTable table, BuildScoreTable(records, options));
  EXPECT_EQ(table.cell(0, 0).value, 12.5);
  EXPECT_EQ(table.cell(0, 0).setting, 1);
  EXPECT_THAT(table.Minimized(), ElementsAre("b"));
}

TEST(GoalsTest, RankPutsTheLowestPerplexityFirst) {
  ScoreTable table = ParseGoals("approach,x,y\nhigh,40,50\nlow,10,20\nnone,,1\n");
  ASSERT_OK(table.Minimize({"*"}));
  ASSERT_OK_AND_ASSIGN(const Generalization ranking,
                       RankByAverage(table, GroupsByGoal(table), std::string("high")));
  EXPECT_EQ(table.approaches()[ranking.approaches[0].approach].name, "low");
  EXPECT_EQ(ranking.approaches[0].rank, 1);
  EXPECT_EQ(ranking.approaches[0].gain, 30) << "better by 30";
  EXPECT_EQ(ranking.approaches[2].rank, 0);
  EXPECT_THAT(WriteTable(GeneralizationTable(table, ranking), TableFormat::kText),
              HasSubstr("Less is better on x, y."));
}

TEST(GoalsTest, AveragesAreOfOneGoal) {
  const ScoreTable table = ParseGoals(kAlike);
  const std::vector<BenchmarkGroup> groups = GroupsByGoal(table);
  ASSERT_THAT(groups, SizeIs(2));
  EXPECT_EQ(groups[0].name, "more is better");
  EXPECT_THAT(groups[1].benchmarks, ElementsAre(1u));
  EXPECT_THAT(RankByAverage(table, {{"both", {0, 1}}}, std::nullopt),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("group both: expected benchmarks of one goal, got \"acc\", of "
                                 "which more is better, and \"ppl\", of which less is better")));
}

TEST(GoalsTest, CurvesAreOfOrientedScores) {
  ASSERT_OK_AND_ASSIGN(const std::vector<CurvePoint> points, ApproachCurve(ParseGoals(kAlike), {}));
  EXPECT_EQ(points.back().value, 1);
}

TEST(GoalsTest, ExpectedBestOfPerplexitiesFalls) {
  ASSERT_OK_AND_ASSIGN(const ParsedScores parsed,
                       ParseScoresCsv("approach,setting,x,y\n#goal,,minimize,\nm,0,30,3\nm,1,10,1\n"
                                      "m,2,20,2\nn,0,40,2\nn,1,50,3\nn,2,60,5\n",
                                      "s.csv", {{}, {"setting"}}));
  ASSERT_OK_AND_ASSIGN(const SettingScores scores, GroupSettings(parsed.table));
  const std::vector<ExpectedBest> curve = ExpectedBestCurve(scores);
  EXPECT_EQ(curve[0].value, 20);
  EXPECT_EQ(curve[2].value, 10) << "the best of three is the least";
  ASSERT_OK_AND_ASSIGN(const std::vector<CurvePoint> budget, BudgetCurve(scores, {}));
  EXPECT_EQ(budget.back().value, -1) << "m is better on x (10 < 40), n on y (3 < 5)";
}

TEST(GoalsTest, AccuraciesInFractionsBesidePercentsAreNoFloor) {
  // Was: "b: floor: 3 of 4 approaches within 1 % of zero".
  const ScoreTable table = ParseGoals("approach,a,b\nm,81,0.81\nn,62,0.62\no,70,0.7\np,55,0.55\n");
  EXPECT_THAT(FlagBenchmarks(table), IsEmpty());
}

TEST(GoalsTest, FloorAndCeilingFollowGoalAndScale) {
  const ScoreTable table = ParseGoals(
      "approach,error,mean opinion,perplexity\n#goal,minimize,maximize,minimize\n"
      "#scale,percent,1..5,none\na,0.1,1,0\nb,0.2,1.01,0.1\nc,50,3,0.1\nd,60,4,0.2\n");
  const std::vector<BenchmarkFlag> flags = FlagBenchmarks(table);
  ASSERT_THAT(flags, SizeIs(2));
  EXPECT_EQ(flags[0].kind, BenchmarkFlag::Kind::kCeiling) << "errors near 0 are nearly perfect";
  EXPECT_EQ(flags[1].kind, BenchmarkFlag::Kind::kFloor);
  EXPECT_EQ(flags[1].end, 1) << "the worst of 1 to 5";
  ASSERT_OK_AND_ASSIGN(const ConcurrenceMatrix matrix, ComputeMatrix(table, {}));
  EXPECT_THAT(WriteMatrix(matrix, TableFormat::kText),
              HasSubstr("Floor (within 1 % of the worst score, 1): mean opinion (2 of 4)."));
  EXPECT_THAT(FindingsOf(table, &matrix, {})[2].text,
              HasSubstr("Ceiling (within 1 % of a perfect score): error (2 of 4)."));
}

TEST(GoalsTest, BoundsOfPearsonNeedLimits) {
  const ScoreTable none =
      ParseGoals("approach,x,y\n#scale,none,1..5\na,1,2\nb,2,3\nc,3,\n").Oriented();
  ASSERT_OK_AND_ASSIGN(auto bounds, BoundsOfPair(none, Coefficient::kPearson, 0, 1, {}));
  ASSERT_TRUE(bounds.has_value()) << "the score that lacks is of y, which has limits";
  EXPECT_EQ(bounds->high, 1) << "4 is within 1 to 5";
  const ScoreTable other =
      ParseGoals("approach,x,y\n#scale,1..5,none\na,1,2\nb,2,3\nc,3,\n").Oriented();
  ASSERT_OK_AND_ASSIGN(bounds, BoundsOfPair(other, Coefficient::kPearson, 0, 1, {}));
  EXPECT_FALSE(bounds.has_value());
  ASSERT_OK_AND_ASSIGN(bounds, BoundsOfPair(other, Coefficient::kKendall, 0, 1, {}));
  EXPECT_TRUE(bounds.has_value()) << "ranks need no limits";
}

TEST(GoalsTest, BoundsOfMinimizedBenchmarksAreOfTheirScale) {
  ScoreTable table =
      ParseGoals("approach,x,y\n#goal,,minimize\n#scale,,1..5\na,1,3\nb,2,2\nc,3,\n");
  MatrixOptions options;
  options.coefficient = Coefficient::kPearson;
  options.bounds = true;
  ASSERT_OK_AND_ASSIGN(const ConcurrenceMatrix matrix, ComputeMatrix(table, options));
  ASSERT_TRUE(matrix.pairs[0].bounds.has_value());
  EXPECT_EQ(matrix.pairs[0].bounds->high, 1) << "3, 2, 1 is a line";
  EXPECT_NEAR(matrix.pairs[0].bounds->low, -0.6546, 1e-4) << "3, 2, 5";
}

TEST(GoalsTest, CrossMarksTheLeast) {
  ScoreTable table = ParseGoals("approach,train,x\nm ← a,a,10\nm ← b,b,20\n");
  ASSERT_OK(table.Minimize({"x"}));
  EXPECT_THAT(BestTrainSets(table), ElementsAre(ElementsAre(true), ElementsAre(false)));
}

TEST(GoalsTest, DiffPutsTheLesserAhead) {
  ScoreTable before = ParseGoals("approach,x\nm,1\nn,2\n");
  ScoreTable after = ParseGoals("approach,x\nm,3\nn,2\n");
  ASSERT_OK(before.Minimize({"x"}));
  EXPECT_THAT(DifferenceTable(CompareTables(before, after), "a", "b").notes,
              Contains(HasSubstr("x: less is better before")));
  ASSERT_OK(after.Minimize({"x"}));
  const TableDifference difference = CompareTables(before, after);
  ASSERT_THAT(difference.flips, SizeIs(1));
  EXPECT_EQ(difference.flips[0].first, "m");
  EXPECT_EQ(difference.flips[0].first_before, 1);
  EXPECT_EQ(difference.flips[0].cause, Flip::Cause::kFirst);
}

TEST(GoalsTest, ShiftRanksTheLeastFirst) {
  ScoreTable table = ParseGoals("approach,x,y\nm,10,20\nn,20,15\no,30,30\n");
  EXPECT_THAT(table.Minimize({"z"}), StatusIs(absl::StatusCode::kInvalidArgument,
                                              HasSubstr("minimize: unknown column \"z\"")));
  ASSERT_OK(table.Minimize({"x"}));
  EXPECT_THAT(FitShift(table, "x", {"y"}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected one goal")));
  ASSERT_OK(table.Minimize({"y"}));
  ASSERT_OK_AND_ASSIGN(const std::vector<ShiftFit> fits, FitShift(table, "x", {"y"}, {}));
  EXPECT_EQ(fits[0].systems[0].name, "m");
  EXPECT_EQ(fits[0].systems[0].rank, 1);
  EXPECT_EQ(fits[0].systems[0].new_rank, 2);
}

TEST(GoalsTest, ShiftInProbitScaleNeedsShares) {
  FitOptions options;
  options.scale = FitScale::kProbit;
  const ScoreTable table =
      ParseGoals("approach,p,f,n\n#scale,percent,fraction,none\na,50,0.5,3\nb,60,0.6,2\n");
  EXPECT_THAT(FitShift(table, "p", {"f"}, options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected one scale")));
  EXPECT_THAT(FitShift(table, "p", {"n"}, options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"n\": a score in probit")));
}

TEST(GoalsTest, ScatterCountsAgreementOnWhatIsBetter) {
  const ScoreTable table = ParseGoals(kAlike);
  ASSERT_OK_AND_ASSIGN(const std::vector<ScatterPanel> panels,
                       ScatterPanels(table, {"acc", {"ppl"}, ""}));
  EXPECT_THAT(WriteTable(ScatterTable(table, panels), TableFormat::kCsv),
              HasSubstr("acc,ppl,all,4,1,"));
  EXPECT_THAT(ScatterSvg(table, panels), HasSubstr("ppl (less is better)"));
}

TEST(GoalsTest, ScoreFilesKeepGoalsAndScales) {
  const ScoreTable table = ParseGoals(kAlike);
  const std::string written = WriteScores(table, TableFormat::kCsv);
  EXPECT_THAT(written,
              HasSubstr("approach,acc,ppl\n#goal,maximize,minimize\n#scale,percent,none\n"));
  EXPECT_EQ(ParseGoals(written).benchmarks(), table.benchmarks());
  EXPECT_THAT(WriteScores(table, TableFormat::kText), HasSubstr("Less is better on ppl."));
  EXPECT_THAT(WriteScores(table, TableFormat::kJson),
              HasSubstr("\"goal\":\"minimize\",\"scale\":\"none\""));
}

TEST(GoalsTest, TablesOfPercentsSayNothingAboutGoals) {
  const std::string written =
      WriteScores(ParseGoals("approach,x\n#scale,percent\na,1\n"), TableFormat::kCsv);
  EXPECT_EQ(written, "approach,x\na,1\n");
}

TEST(GoalsTest, ScoresBeyondTheirScaleAreWarnedOf) {
  // A scale of 0 to 0.5 with a score of 0.7 passed without a word.
  const ScoreTable table = ParseGoals(
      "approach,x,y,z\n#goal,,minimize,\n#scale,0..0.5,0..1,percent\na,0.2,-1,3\nb,0.7,0.1,100\n"
      "c,0.9,1.5,0\n");
  EXPECT_THAT(
      BeyondScale(table),
      ElementsAre("2 scores of x lie beyond its scale, 0 to 0.5: b has 0.7; mend the scale, "
                  "or the scores",
                  "2 scores of y lie beyond its scale, 0 to 1: a has -1; mend the scale, or "
                  "the scores"));
  EXPECT_THAT(WriteScores(table, TableFormat::kText), HasSubstr("Warning: 2 scores of x lie"));
  ASSERT_OK_AND_ASSIGN(const ConcurrenceMatrix matrix, ComputeMatrix(table, {}));
  EXPECT_THAT(WriteMatrix(matrix, TableFormat::kText), HasSubstr("2 scores of x lie beyond"));
  EXPECT_THAT(BeyondScale(ParseGoals("approach,x\na,0.2\nb,170\n")), ElementsAre())
      << "no scale is stated";
}

TEST(GoalsTest, BadGoalsAndScalesNameTheirColumn) {
  const struct {
    const char* csv;
    const char* message;
  } cases[] = {
      {"a,x,y\n#goal,,up\nm,1,2\n", "s.csv:2: column \"y\": expected maximize or minimize, got"},
      {"a,x\n#scale,5..1\nm,1\n",
       "s.csv:2: column \"x\": expected finite ends, the lower one first"},
      {"a,x\n#scale,wide\nm,1\n", "expected percent, fraction, none or LOW..HIGH, got \"wide\""},
      {"a,x\n#goal,minimize\n#goal,minimize\nm,1\n",
       "s.csv:3: column \"a\": a second row \"#goal\""},
      {"a,x\nm,1\n#goal,minimize\n",
       "s.csv:3: column \"a\": expected the row \"#goal\" right below"},
      {"a,x\n#goal,minimize\nm,old\n", "s.csv:3: column \"x\": expected a number, as line 2 says"},
  };
  for (const auto& test : cases) {
    EXPECT_THAT(ParseScoresCsv(test.csv, "s.csv"),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(test.message)));
  }
}

TEST(GoalsTest, ColumnsOfWhichLessIsUsuallyBetterAreAskedAbout) {
  ASSERT_OK_AND_ASSIGN(ParsedScores parsed, ParseScoresCsv("a,Wiki perplexity\nm,1\n", "s.csv"));
  EXPECT_THAT(parsed.warnings, ElementsAre(HasSubstr("if less is better, say so with --minimize")));
  ASSERT_OK_AND_ASSIGN(parsed, ParseScoresCsv("a,Wiki perplexity\n#goal,maximize\nm,1\n", "s.csv"));
  EXPECT_THAT(parsed.warnings, IsEmpty());
}

}  // namespace
}  // namespace concur::analysis
