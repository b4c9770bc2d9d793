// SPDX-License-Identifier: Apache-2.0
#include "analysis/comparison/fit.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "analysis/score_table.h"
#include "analysis/statistics/intervals.h"
#include "report/table.h"
#include "report/text.h"
#include "report/writers.h"
#include "tests/analysis/reference_scores.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

ScoreTable ParseFit(const std::string& csv) {
  absl::StatusOr<ParsedScores> parsed = ParseScoresCsv(csv, "s.csv");
  EXPECT_OK(parsed);
  return parsed.ok() ? parsed->table : ScoreTable();
}

ShiftFit FitOf(const std::string& csv, const FitOptions& options = {}) {
  absl::StatusOr<std::vector<ShiftFit>> fits = FitShift(ParseFit(csv), "X", {"Y"}, options);
  EXPECT_OK(fits);
  return fits.ok() ? (*fits)[0] : ShiftFit();
}

TEST(FitTest, ALineIsRecovered) {
  const ShiftFit fit = FitOf("system,X,Y\na,10,25\nb,20,45\nc,30,65\n");
  EXPECT_NEAR(*fit.slope, 2, 1e-14);
  EXPECT_NEAR(*fit.intercept, 5, 1e-12);
  EXPECT_NEAR(*fit.r_squared, 1, 1e-14);
  EXPECT_NEAR(*fit.mean_gap, -25, 1e-12);
  EXPECT_EQ(fit.n, 3);
}

TEST(FitTest, OtherColumnsDoNotChangeTheUnit) {
  // A column of perplexities made shares from 0 to 1 percents.
  FitOptions options;
  options.scale = FitScale::kProbit;
  const ShiftFit alone = FitOf("system,X,Y\na,.5,.4\nb,.6,.7\nc,.9,.8\n", options);
  const ShiftFit beside = FitOf("system,X,Y,PPL\na,.5,.4,30\nb,.6,.7,20\nc,.9,.8,48\n", options);
  EXPECT_EQ(*beside.slope, *alone.slope);
  EXPECT_EQ(beside.full_score, 1);
}

// Percents against shares had a mean gap of 53.59, without a word.
TEST(FitTest, PercentsAgainstSharesAreRefusedUnlessTheUnitIsStated) {
  const ScoreTable table = ParseFit("system,X,Y\na,50,.4\nb,60,.7\nc,90,.8\n");
  EXPECT_THAT(FitShift(table, "X", {"Y"}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("\"X\" looks like percents and \"Y\" like shares")));
  FitOptions stated;
  stated.full_score = 100;
  EXPECT_OK(FitShift(table, "X", {"Y"}, stated));
}

TEST(FitTest, IntervalsOfScoresAreInTheirUnit) {
  const std::string csv = "system,X,Y\na,.5,.4\nb,.6,.7\n";
  std::vector<ShiftFit> fits = {FitOf(csv)};
  ExampleTable x;
  x.benchmark = "X";
  x.approaches = {"a"};
  x.examples = 10;
  x.values = {1, 1, 1, 1, 1, 0, 0, 0, 0, 0};
  ASSERT_OK(AddScoreIntervals({x}, ParseFit(csv), {}, fits));
  EXPECT_NEAR(fits[0].systems[1].from_interval->low, ClopperPearson(5, 10, 0.95)->low, 1e-12);
  EXPECT_NEAR(*ScoreErrors({x}, ParseFit(csv), "X", {})[0], std::sqrt(.25 / 9), 1e-12);
  const std::string text = WriteShift(fits, TableFormat::kText);
  EXPECT_THAT(text, HasSubstr("scores with 95 % intervals from their examples"));
  EXPECT_THAT(text, Not(HasSubstr("bootstrap"))) << "no line was drawn";
}

TEST(FitTest, RanksAreSharedByTiesAndDeltaIsTheRise) {
  const ShiftFit fit = FitOf("system,X,Y\na,10,30\nb,20,20\nc,20,10\n");
  ASSERT_EQ(fit.systems.size(), 3U);
  EXPECT_EQ(fit.systems[0].name, "b");
  EXPECT_EQ(fit.systems[0].rank, 1);
  EXPECT_EQ(fit.systems[1].rank, 1);
  EXPECT_EQ(fit.systems[2].rank, 3);
  EXPECT_EQ(fit.systems[2].new_rank, 1);
  EXPECT_THAT(WriteShift({fit}, TableFormat::kJson),
              HasSubstr(R"("rank":3,"new_rank":1,"delta_rank":2)"));
}

TEST(FitTest, ExcludedSystemsAreListedButNotFitted) {
  FitOptions options;
  options.exclude = {"human"};
  const ShiftFit fit = FitOf("system,X,Y\na,10,20\nb,20,40\nhuman,15,90\n", options);
  EXPECT_NEAR(*fit.slope, 2, 1e-14);
  EXPECT_EQ(fit.n, 2);
  EXPECT_EQ(fit.systems[1].name, "human");
  EXPECT_FALSE(fit.systems[1].fitted);
  EXPECT_NEAR(*fit.systems[1].residual, 60, 1e-12);
  EXPECT_THAT(WriteShift({fit}, TableFormat::kText), HasSubstr("human †"));
  options.exclude = {"humn"};
  EXPECT_THAT(FitShift(ParseFit("system,X,Y\nhuman,1,2\n"), "X", {"Y"}, options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("did you mean \"human\"")));
}

TEST(FitTest, ScalesAreInvertible) {
  for (const FitScale scale : {FitScale::kLinear, FitScale::kProbit, FitScale::kLogit}) {
    for (const double share : {0.001, 0.3, 0.5, 0.97}) {
      EXPECT_NEAR(InverseTransform(scale, Transform(scale, share)), share, 1e-14);
    }
  }
  EXPECT_NEAR(Transform(FitScale::kProbit, 0.975), 1.959963984540054, 1e-14);
  EXPECT_NEAR(Transform(FitScale::kLogit, 0.75), std::log(3.0), 1e-15);
}

TEST(FitTest, FullScoresHaveNoProbitAndStayOutOfTheLine) {
  FitOptions options;
  options.scale = FitScale::kProbit;
  const ShiftFit fit = FitOf("system,X,Y\na,10,10\nb,60,60\nc,100,90\n", options);
  EXPECT_EQ(fit.n, 2);
  EXPECT_NEAR(*fit.slope, 1, 1e-12);
  EXPECT_FALSE(fit.systems[0].fitted);
  EXPECT_FALSE(fit.systems[0].residual.has_value());
}

TEST(FitTest, ScoresOutsideTheScaleAreRefused) {
  FitOptions options;
  options.scale = FitScale::kLogit;
  EXPECT_THAT(FitShift(ParseFit("system,X,Y\na,10,101\n"), "X", {"Y"}, options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("from 0 to 100, got 101")));
  options.full_score = 1;
  EXPECT_THAT(FitShift(ParseFit("system,X,Y\na,0.5,2\n"), "X", {"Y"}, options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("from 0 to 1, got 2")));
}

TEST(FitTest, UndefinedFitsAreEmptyNotNumbers) {
  const struct {
    const char* name;
    const char* csv;
  } cases[] = {{"no system", "system,X,Y\n"},
               {"one system", "system,X,Y\na,1,2\n"},
               {"equal scores", "system,X,Y\na,1,2\nb,1,3\n"}};
  for (const auto& test : cases) {
    const ShiftFit fit = FitOf(test.csv);
    EXPECT_FALSE(fit.slope.has_value()) << test.name;
    EXPECT_FALSE(fit.r_squared.has_value()) << test.name;
    EXPECT_THAT(WriteShift({fit}, TableFormat::kJson), HasSubstr(R"("slope":null)")) << test.name;
    EXPECT_THAT(WriteShift({fit}, TableFormat::kText), HasSubstr("slope undef")) << test.name;
  }
  const ShiftFit flat = FitOf("system,X,Y\na,1,2\nb,2,2\n");
  EXPECT_EQ(flat.slope, 0);
  EXPECT_FALSE(flat.r_squared.has_value());
}

TEST(FitTest, MissingScoresAreListed) {
  const ShiftFit fit = FitOf("system,X,Y\na,1,2\nb,2,\nc,3,4\n");
  EXPECT_THAT(fit.missing, ElementsAre("b"));
  EXPECT_EQ(fit.n, 2);
  EXPECT_THAT(WriteShift({fit}, TableFormat::kText), HasSubstr("Without both scores: 1: b"));
  EXPECT_THAT(WriteShift({fit}, TableFormat::kCsv), HasSubstr(",b,,,,,,,no,,,,,,,,,,\n"));
}

TEST(FitTest, UnknownColumnsAreNamed) {
  EXPECT_THAT(FitShift(ParseFit("system,orig,new\na,1,2\n"), "orgi", {"new"}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("unknown column \"orgi\"")));
}

TEST(FitTest, IntervalsHoldTheSlope) {
  FitOptions options;
  options.level = 0.95;
  const std::string csv = "system,X,Y\na,10,12\nb,20,19\nc,30,33\nd,40,38\ne,50,51\n";
  const ShiftFit fit = FitOf(csv, options);
  EXPECT_LT(fit.slope_interval->low, *fit.slope);
  EXPECT_GT(fit.slope_interval->high, *fit.slope);
  EXPECT_EQ(WriteShift({fit}, TableFormat::kJson),
            WriteShift({FitOf(csv, options)}, TableFormat::kJson));
}

TEST(PublishedShiftTest, SlopesOnNewWikipediaAreThoseOfTheStudy) {
  CONCUR_LOAD_REFERENCE(table, "shift-f1-wikipedia.csv");
  ASSERT_OK_AND_ASSIGN(const std::vector<ShiftFit> linear,
                       FitShift(table, "squad_v1.1_test", {"new_test"}, {}));
  EXPECT_NEAR(*linear[0].slope, 0.92, 0.005);
  EXPECT_NEAR(*linear[0].r_squared, 0.99, 0.005);
  FitOptions options;
  options.scale = FitScale::kProbit;
  ASSERT_OK_AND_ASSIGN(const std::vector<ShiftFit> probit,
                       FitShift(table, "squad_v1.1_test", {"new_test"}, options));
  EXPECT_NEAR(*probit[0].slope, 0.84, 0.01);
  EXPECT_NEAR(*probit[0].r_squared, 0.99, 0.005);
}

TEST(FitTest, BandsAreNarrowestInTheMiddleAndHoldTheLine) {
  FitOptions options;
  options.level = 0.95;
  const ShiftFit fit =
      FitOf("system,X,Y\na,10,12\nb,20,19\nc,30,33\nd,40,38\ne,50,52\nf,60,59\ng,70,73\n", options);
  ASSERT_TRUE(fit.mean_gap_interval.has_value());
  EXPECT_LT(fit.mean_gap_interval->low, *fit.mean_gap);
  EXPECT_GT(fit.mean_gap_interval->high, *fit.mean_gap);
  std::vector<double> widths;
  for (const FittedSystem& system : fit.systems) {
    ASSERT_TRUE(system.predicted_interval.has_value()) << system.name;
    EXPECT_LE(system.predicted_interval->low, *system.predicted) << system.name;
    EXPECT_GE(system.predicted_interval->high, *system.predicted) << system.name;
    EXPECT_GT(system.residual_interval->high - system.residual_interval->low,
              system.predicted_interval->high - system.predicted_interval->low)
        << "a system scatters around the line";
    widths.push_back(system.predicted_interval->high - system.predicted_interval->low);
  }
  EXPECT_LT(widths[3], widths.front());
  EXPECT_LT(widths[3], widths.back());
  EXPECT_THAT(WriteShift({fit}, TableFormat::kJson), HasSubstr(R"("mean_gap_interval":[)"));
  EXPECT_THAT(WriteShift({fit}, TableFormat::kJson), HasSubstr(R"("residual_interval":[)"));
  EXPECT_THAT(WriteShift({fit}, TableFormat::kText), HasSubstr("mean gap -0.86 ["));
}

// Intervals took relatives as strangers: with families of 4, they held the slope in 65 %.
TEST(FitTest, IntervalsTakeFamiliesWhole) {
  std::string csv = "system,family,X,Y\n";
  for (int i = 0; i < 24; ++i) {
    const int family = i / 4;
    csv += "s" + std::to_string(i) + ",f" + std::to_string(family) + "," +
           std::to_string(20 + 10 * family + i % 4) + "," +
           std::to_string(25 + 8 * family + 6 * (family % 2) + i % 3) + "\n";
  }
  FitOptions options;
  options.level = 0.95;
  const ShiftFit families = FitOf(csv, options);
  options.families = "none";
  const ShiftFit strangers = FitOf(csv, options);
  const auto width = [](const std::optional<Interval>& interval) {
    return interval.value().high - interval.value().low;
  };
  EXPECT_EQ(families.slope, strangers.slope);
  EXPECT_GT(width(families.slope_interval), 1.5 * width(strangers.slope_interval));
  EXPECT_GT(width(families.mean_gap_interval), 1.5 * width(strangers.mean_gap_interval));
  EXPECT_THAT(WriteShift({families}, TableFormat::kText), HasSubstr("CR3 over families by family"));
  EXPECT_THAT(WriteShift({strangers}, TableFormat::kText), HasSubstr("HC3"));
  options.families = "team";
  EXPECT_THAT(FitShift(ParseFit(csv), "X", {"Y"}, options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("team")));
  options.level = 1;
  EXPECT_THAT(FitShift(ParseFit(csv), "X", {"Y"}, options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("interval")));
}

TEST(FitTest, ScoreIntervalsAreClopperPearsonOrStudentsT) {
  const ScoreTable table = ParseFit("system,X,Y\na,50,40\nb,60,70\n");
  std::vector<ShiftFit> fits = {FitOf("system,X,Y\na,50,40\nb,60,70\n")};
  ExampleTable x;
  x.benchmark = "X";
  x.approaches = {"a"};
  x.examples = 10;
  x.values = {1, 1, 1, 1, 1, 0, 0, 0, 0, 0};
  ExampleTable y = x;
  y.benchmark = "Y";
  y.values[0] = 0.5;
  ASSERT_OK(AddScoreIntervals({x, y}, table, {}, fits));
  const FittedSystem& a = fits[0].systems[1];
  ASSERT_EQ(a.name, "a");
  EXPECT_NEAR(a.from_interval->low, 100 * ClopperPearson(5, 10, 0.95)->low, 1e-12);
  EXPECT_NEAR(a.to_interval->high, 100 * MeanInterval(y.row(0), 0.95)->high, 1e-12);
  EXPECT_FALSE(fits[0].systems[0].from_interval.has_value()) << "b has no examples";
  EXPECT_THAT(WriteShift(fits, TableFormat::kCsv),
              HasSubstr(",from_low,from_high,to_low,to_high\n"));
  for (const TableFormat format : {TableFormat::kText, TableFormat::kLatex}) {
    EXPECT_THAT(WriteShift(fits, format), HasSubstr("50.00 " + IntervalText(*a.from_interval, 2)));
  }
  EXPECT_THAT(AddScoreIntervals({x}, table, {.level = 2}, fits),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("level")));
}

}  // namespace
}  // namespace concur::analysis
