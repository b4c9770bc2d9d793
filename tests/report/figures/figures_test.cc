// SPDX-License-Identifier: Apache-2.0
#include "report/figures/figures.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "report/figures/label_places.h"
#include "report/figures/svg_canvas.h"
#include "tests/analysis/reference_scores.h"
#include "tests/testing/test.h"
#include "tests/testing/text.h"

namespace concur::analysis {
namespace {

using ::concur::testing::Count;

ScoreTable ParseFigures(const std::string& csv) {
  auto parsed = ParseScoresCsv(csv, "test.csv");
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed->table;
}

TEST(SvgCanvasTest, InksAndMarkersMeetWcagAa) {
  const Color white = {255, 255, 255};
  EXPECT_NEAR(Contrast(white, {0, 0, 0}), 21, 1e-9);
  EXPECT_NEAR(Contrast({119, 119, 119}, white), 4.48, 0.005) << "a published example";
  for (int i = -100; i <= 100; ++i) {
    for (const Color& color : {DivergingColor(i / 100.0), SequentialColor(i / 100.0)}) {
      const bool black = InkOn(color) == std::string("#000000");
      EXPECT_GE(Contrast(color, black ? Color{} : white), 4.5) << i;
    }
  }
  for (size_t group = 0; group < kGroupStyles; ++group) {
    const std::string fill = StyleOfGroup(group).fill;
    const auto channel = [&](size_t at) {
      return static_cast<double>(std::stoi(fill.substr(at, 2), nullptr, 16));
    };
    EXPECT_GE(Contrast({channel(1), channel(3), channel(5)}, white), 4.5) << fill;
  }
}

TEST(SvgCanvasTest, TicksAreRoundAndInside) {
  EXPECT_THAT(RoundTicks(0, 100, 5), ElementsAre(0, 20, 40, 60, 80, 100));
  EXPECT_THAT(RoundTicks(61.2, 91.7, 5), ElementsAre(70, 80, 90));
  EXPECT_THAT(RoundTicks(3, 3, 5), Not(IsEmpty()));
}

TEST(SvgCanvasTest, RangesOfFewDoublesHaveATick) {
  const double more = std::nextafter(1.0, 2.0);
  for (const auto& [low, high] : std::vector<std::pair<double, double>>{
           {0.3, 0.1 + 0.2},
           {1, more},
           {-more, -1},
           {71.5, 71.50000000000001},
           {1e300, 1e300},
           {0, std::numeric_limits<double>::denorm_min()},
           {std::numeric_limits<double>::min(), std::nextafter(1e-307, 1)}}) {
    const std::vector<double> ticks = RoundTicks(low, high, 6);
    EXPECT_THAT(ticks, Not(IsEmpty())) << low;
    EXPECT_LE(ticks.size(), 10u) << low;
    EXPECT_THAT(ticks, Each(AllOf(::testing::Ge(low), ::testing::Le(high))));
  }
}

TEST(ScatterTest, PanelsHaveGroupsAndCoefficients) {
  CONCUR_LOAD_REFERENCE(table, "concurrence-em.csv");
  ScatterOptions options;
  options.x = "SQuAD";
  options.y = {"MRQA NewsQA", "QAMR"};
  options.group_by = "pretrained";
  ASSERT_OK_AND_ASSIGN(const std::vector<ScatterPanel> panels, ScatterPanels(table, options));
  const std::string svg = ScatterSvg(table, panels);
  EXPECT_THAT(svg, HasSubstr("all: τ 0.87, r 0.98, n 20"));
  EXPECT_THAT(svg, HasSubstr("pretrained=no: τ "));
  EXPECT_THAT(svg, HasSubstr("BERT (large, uncased): 84.17, 54.99"));
  // Twenty points in each panel and one marker for each group in the legend.
  EXPECT_EQ(Count(svg, "fill-opacity"), 2 * 20u + 2);
  const std::string text = WriteTable(ScatterTable(table, panels), TableFormat::kCsv);
  EXPECT_THAT(text, HasSubstr("SQuAD,QAMR,pretrained=yes,10,"));
}

TEST(ScatterTest, ApproachesWithoutTheTagAreAGroupThatSaysSo) {
  const ScoreTable table = ParseFigures("a,t,x,y\nm,yes,1,2\nn,,3,4\no,yes,5,6\n");
  ASSERT_OK_AND_ASSIGN(const std::vector<ScatterPanel> panels,
                       ScatterPanels(table, {"x", {"y"}, "t"}));
  const std::string text = WriteTable(ScatterTable(table, panels), TableFormat::kCsv);
  EXPECT_THAT(text, HasSubstr("x,y,no t,1,"));
  EXPECT_THAT(text, HasSubstr("x,y,t=yes,2,"));
}

TEST(ScatterTest, PValuesTakeRelativesAsSuch) {
  // Four families of five near-copies: twenty approaches that tell as much as four.
  std::string csv = "a,family,x,y\n";
  for (int i = 0; i < 20; ++i) {
    absl::StrAppend(&csv, "m", i, ",f", i / 5, ",", 10 * (i / 5) + i % 5, ",",
                    10 * (i / 5) + 4 - i % 5, "\n");
  }
  const ScoreTable table = ParseFigures(csv);
  const auto p_of = [&](const std::string& families) -> double {
    const auto panels = ScatterPanels(table, {"x", {"y"}, "", {}, families});
    return ScatterTable(table, *panels).rows.at(0).at(5).number;
  };
  EXPECT_LT(p_of("none"), 0.001);
  EXPECT_GT(p_of(""), 0.05) << "four families in order come in one of twelve permutations";
  EXPECT_EQ(ScatterPanels(table, {"x", {"y"}, "", {}, "nosuch"}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ScatterTest, TheBenchmarkWithoutAScoreIsNamed) {
  // "Perplexity: m", though m lacks the other one.
  const ScoreTable table = ParseFigures("a,x,y\nm,,1\nn,2,\no,3,2\np,4,3\n");
  ASSERT_OK_AND_ASSIGN(const std::vector<ScatterPanel> panels,
                       ScatterPanels(table, {"x", {"y"}, ""}));
  EXPECT_THAT(ScatterTable(table, panels).notes, ElementsAre("Without a score on: x: m; y: n"));
}

TEST(ScatterTest, MissingScoresAreNamedAndNamesAreEscaped) {
  const ScoreTable table = ParseFigures("a,x,<y>\n\"</svg>&\",1,2\nhole,3,\nc,4,5\n");
  ASSERT_OK_AND_ASSIGN(const std::vector<ScatterPanel> panels,
                       ScatterPanels(table, {"x", {"<y>"}, ""}));
  const std::string svg = ScatterSvg(table, panels);
  EXPECT_THAT(svg, HasSubstr("Not drawn, without both scores: &lt;y&gt;:</text>"));
  EXPECT_THAT(svg, HasSubstr("&lt;/svg&gt;&amp;: 1.00, 2.00"));
  EXPECT_EQ(Count(svg, "</svg>"), 1u);
}

TEST(ScatterTest, PointsAreLabelledWhereThereIsRoom) {
  const ScoreTable table = ParseFigures(
      "a,x,y\nalpha,1,1\nbeta,50,50\nthe twin of beta,50,50\nanother twin of beta,50,50\n"
      "a third twin of beta,50,50\nthe fourth twin,50,50\nthe fifth twin of beta,50,50\n"
      "the sixth twin of beta,50,50\nseventh twin,50,50\nthe eighth twin,50,50\nomega,90,90\n");
  ASSERT_OK_AND_ASSIGN(std::vector<ScatterPanel> panels,
                       ScatterPanels(table, {"x", {"y"}, "", {"*"}}));
  const std::string svg = ScatterSvg(table, panels);
  EXPECT_THAT(svg, HasSubstr(">alpha</text>"));
  EXPECT_THAT(svg, HasSubstr(">beta</text>"));
  EXPECT_THAT(svg, HasSubstr(">omega</text>"));
  EXPECT_THAT(svg, HasSubstr("y: no room for 5 names"));
  ASSERT_OK_AND_ASSIGN(panels, ScatterPanels(table, {"x", {"y"}, "", {"alpha"}}));
  EXPECT_THAT(ScatterSvg(table, panels), Not(HasSubstr(">omega</text>")));
  EXPECT_THAT(ScatterPanels(table, {"x", {"y"}, "", {"alphas"}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("label: unknown approach \"alphas\" (did you mean \"alpha\"?)")));
}

TEST(LabelPlacesTest, NoLabelCoversAnotherLabelOrAPoint) {
  std::vector<LabelPlaces::Point> points;
  for (int i = 0; i < 60; ++i) {
    points.push_back({10.0 + (i * 37) % 180, 10.0 + (i * 53) % 180});
  }
  LabelPlaces places({0, 0, 200, 200}, points);
  std::vector<PixelBox> boxes;
  for (const LabelPlaces::Point& point : points) {
    if (const auto box = places.Place(point, 30, 10); box.has_value()) {
      EXPECT_TRUE(box->left >= 0 && box->right <= 200 && box->top >= 0 && box->bottom <= 200);
      for (const PixelBox& other : boxes) {
        EXPECT_FALSE(box->left < other.right && other.left < box->right &&
                     box->top < other.bottom && other.top < box->bottom);
      }
      for (const LabelPlaces::Point& other : points) {
        EXPECT_FALSE(box->left < other.x && other.x < box->right && box->top < other.y &&
                     other.y < box->bottom);
      }
      boxes.push_back(*box);
    }
  }
  EXPECT_GT(boxes.size(), 5u);
  EXPECT_LT(boxes.size(), points.size());
}

TEST(ScatterTest, DegenerateTablesHaveFigures) {
  for (const char* csv : {"a,x,y\n", "a,x,y\nm,1,1\n", "a,x,y\nm,1,\n", "a,x,y\nm,0,0\nn,0,0\n"}) {
    const ScoreTable table = ParseFigures(csv);
    ASSERT_OK_AND_ASSIGN(const std::vector<ScatterPanel> panels,
                         ScatterPanels(table, {"x", {"y"}, ""}));
    const std::string svg = ScatterSvg(table, panels);
    EXPECT_THAT(svg, HasSubstr("</svg>"));
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, Not(HasSubstr("inf")));
  }
}

TEST(ScatterTest, BadOptionsAreNamed) {
  const ScoreTable table = ParseFigures("a,t,x,y\nm,yes,1,2\n");
  const auto invalid = [&](const ScatterOptions& options, const char* part) {
    EXPECT_THAT(ScatterPanels(table, options),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(part)));
  };
  invalid({"z", {"y"}, ""}, "unknown column \"z\"");
  invalid({"x", {"x"}, ""}, "on both axes");
  invalid({"x", {"y"}, "u"}, "no approach has the tag \"u\"");
  invalid({"x", std::vector<std::string>(101, "y"), ""}, "at most 100 panels");
}

TEST(ShiftFigureTest, DrawsEverySystemAndBothLines) {
  CONCUR_LOAD_REFERENCE(table, "shift-f1-wikipedia.csv");
  FitOptions options;
  options.scale = FitScale::kProbit;
  options.exclude = {"XLNet"};
  ASSERT_OK_AND_ASSIGN(
      const std::vector<ShiftFit> fits,
      FitShift(table, "squad_v1.1_test", std::vector<std::string>{"new_test"}, options));
  const std::string svg = ShiftSvg(fits);
  EXPECT_EQ(Count(svg, "fill-opacity"), fits[0].systems.size());
  EXPECT_THAT(svg, HasSubstr("slope 0.84, R² 0.99"));
  EXPECT_THAT(svg, HasSubstr("XLNet: 95.10, 92.30 (not fitted)"));
  EXPECT_THAT(svg, HasSubstr("stroke-dasharray"));
  const std::string latex = WriteShift(fits, TableFormat::kLatex);
  EXPECT_THAT(latex, HasSubstr("not part of the fit"));
}

TEST(ShiftFigureTest, ScoresOfZeroHaveNoPlaceOnProbitAxes) {
  const ScoreTable table = ParseFigures("a,x,y\nm,50,40\nn,0,10\no,80,70\n");
  FitOptions options;
  options.scale = FitScale::kProbit;
  ASSERT_OK_AND_ASSIGN(const std::vector<ShiftFit> fits,
                       FitShift(table, "x", std::vector<std::string>{"y"}, options));
  const std::string svg = ShiftSvg(fits);
  EXPECT_THAT(svg, HasSubstr("y: 1 systems with a score of 0 or 100 %"));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  EXPECT_THAT(ShiftSvg({}), HasSubstr("</svg>"));
}

TEST(CrossFigureTest, FramesTheBest) {
  const ScoreTable table = ParseFigures("row,train,x\nm ← a,a,10\nm ← b,b,20\n");
  ASSERT_OK_AND_ASSIGN(const std::string svg, CrossSvg(table));
  EXPECT_EQ(Count(svg, "stroke=\"#a3163d\""), 1u);
  EXPECT_THAT(svg, HasSubstr("m ← b on x: 20.00"));
  EXPECT_THAT(CrossSvg(ParseFigures("row,x\nm,1\n")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no tag \"train\"")));
}

}  // namespace
}  // namespace concur::analysis
