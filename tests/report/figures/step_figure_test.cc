// SPDX-License-Identifier: Apache-2.0
#include "report/figures/step_figure.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "report/html/report.h"
#include "tests/testing/test.h"
#include "tests/testing/text.h"

namespace concur::analysis {
namespace {

using ::concur::testing::Count;

StepCurve Curve(int64_t setting, StepCurve::End end,
                std::vector<std::pair<int64_t, double>> points) {
  StepCurve curve;
  curve.setting = setting;
  curve.seed = 42;
  curve.end = end;
  curve.points = std::move(points);
  return curve;
}

TEST(StepFigureTest, TellsHowEachCurveEnded) {
  StepFigure figure;
  figure.metric = "validation_f1";
  figure.panels = {{"lr",
                    "news",
                    {Curve(0, StepCurve::End::kDone, {{1, 50}, {2, 60}}),
                     Curve(1, StepCurve::End::kStopped, {{1, 40}}),
                     Curve(2, StepCurve::End::kOpen, {{1, 45}})}}};
  figure.panels[0].curves[0].selected = true;
  const std::string html = StepFigureHtml(figure);
  EXPECT_THAT(html, HasSubstr("<strong>lr</strong> on news"));
  EXPECT_THAT(html, HasSubstr(">validation_f1</text>")) << "the vertical axis";
  EXPECT_THAT(html, HasSubstr(">step</text>"));
  EXPECT_THAT(html, HasSubstr("<g class=\"curve selected\"><title>setting 0 (selected), seed 42: "
                              "trained to its end; step 2: 60</title>"));
  EXPECT_THAT(html, HasSubstr("<g class=\"curve stopped\"><title>setting 1, seed 42: stopped; "
                              "step 1: 40</title>"));
  EXPECT_EQ(Count(html, "class=\"stop-mark\""), 2u) << "a curve, and the legend";
  EXPECT_EQ(Count(html, "class=\"open-mark\""), 2u);
  EXPECT_THAT(html, Not(HasSubstr("other settings"))) << "none was trained to its end";
  EXPECT_LT(html.find("setting 2, seed"), html.find("setting 0 (selected), seed"))
      << "the selected one is drawn above the others";
}

TEST(StepFigureTest, PanelsOfOneTrainSetShareAnAxisWithoutOutliers) {
  StepFigure figure;
  figure.metric = "loss";
  std::vector<std::pair<int64_t, double>> points;
  for (int64_t step = 1; step <= 20; ++step) {
    points.emplace_back(step, 1.0 / static_cast<double>(step));
  }
  figure.panels = {{"a", "news", {Curve(0, StepCurve::End::kDone, points)}},
                   {"b", "news", {Curve(0, StepCurve::End::kDone, {{1, 0.5}, {2, 1e9}})}}};
  const std::string html = StepFigureHtml(figure);
  EXPECT_EQ(Count(html, ">1</text>"), 2u) << html;
  EXPECT_THAT(html, Not(HasSubstr("e+09</text>")));
  EXPECT_THAT(html, HasSubstr("far from all others are drawn at the edge"));
  figure.panels[1].curves[0].points[1].second = 0.6;
  EXPECT_THAT(StepFigureHtml(figure), Not(HasSubstr("far from all others")));
}

TEST(StepFigureTest, WhereHalfOfTheValuesAreEqualNoOtherIsAnOutlier) {
  for (const double most : {0.0, 0.1, -50.0}) {
    StepFigure figure;
    figure.metric = "f1";
    StepCurve curve = Curve(0, StepCurve::End::kDone, {});
    for (int64_t step = 0; step < 20; ++step) {
      const double rest = static_cast<double>(step) * 1e-13;  // as of sums in another order
      curve.points.emplace_back(step, most + (step < 16 ? rest * most : 10 + rest));
    }
    figure.panels = {{"a", "b", {curve}}};
    const std::string html = StepFigureHtml(figure);
    EXPECT_THAT(html, Not(HasSubstr("far from all others"))) << most;
    EXPECT_THAT(html, HasSubstr(absl::StrCat(">", most == -50 ? -40 : 10, "</text>"))) << most;
  }
}

TEST(StepFigureTest, LongCurvesAreThinnedAndKeepTheirEnds) {
  StepFigure figure;
  figure.metric = "f1";
  StepCurve curve = Curve(0, StepCurve::End::kDone, {});
  for (int64_t step = 0; step <= 10'000; ++step) {
    curve.points.emplace_back(step, static_cast<double>(step % 2));
  }
  figure.panels = {{"a", "b", {curve}}};
  const std::string html = StepFigureHtml(figure);
  EXPECT_LT(html.size(), 5'000u);
  const std::string path = html.substr(html.find("step 10000: 0"));
  EXPECT_EQ(Count(path, "L"), kStepPointsMax - 1);
  EXPECT_THAT(path, HasSubstr("M48.0 ")) << "step 0";
  EXPECT_THAT(path, HasSubstr("L268.0 ")) << "the last step";
}

TEST(StepFigureTest, AnyFiniteValuesHavePlaces) {
  const double largest = std::numeric_limits<double>::max();
  for (const std::vector<double>& values :
       std::vector<std::vector<double>>{{0},
                                        {-0.0, 0},
                                        {5, 5, 5},
                                        {-largest, largest},
                                        {largest},
                                        {-largest},
                                        {1e-300, 2e-300},
                                        {0.3, 0.1 + 0.2},
                                        {1, std::nextafter(1.0, 2.0)},
                                        {-1, std::nextafter(-1.0, -2.0)},
                                        {71.5, 71.50000000000001},
                                        {0, std::numeric_limits<double>::denorm_min()}}) {
    StepFigure figure;
    figure.metric = "x";
    StepCurve curve = Curve(0, StepCurve::End::kStopped, {});
    for (const double value : values) {
      curve.points.emplace_back(static_cast<int64_t>(curve.points.size()), value);
    }
    figure.panels = {{"a", "b", {curve}}};
    const std::string html = StepFigureHtml(figure);
    EXPECT_THAT(html, Not(HasSubstr("nan"))) << values[0];
    EXPECT_THAT(html, Not(HasSubstr("inf"))) << values[0];
  }
}

TEST(StepFigureTest, NamesAreEscapedOnThePage) {
  StepFigure figure;
  const std::string evil = "<script>alert(1)</script>\"'&";
  figure.metric = evil;
  figure.notes = {evil};
  figure.panels = {{evil, evil, {Curve(0, StepCurve::End::kDone, {{1, 1}})}}};
  ReportOptions options;
  options.title = "t";
  options.curves = figure;
  ASSERT_OK_AND_ASSIGN(const ScoreTable table, ScoreTable::Create({{"m", {}}}, {{"x", {}}}));
  ASSERT_OK_AND_ASSIGN(const std::string html, ReportHtml(table, options));
  EXPECT_THAT(html, HasSubstr("<a href=\"#curves\">Learning curves</a>"));
  EXPECT_THAT(html, HasSubstr("<section id=\"curves\">"));
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, Not(HasSubstr("\"'&"))) << "an attribute that ends too early";
  EXPECT_THAT(html,
              HasSubstr("aria-label=\"&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp; by "
                        "step of "));
  EXPECT_THAT(html, Not(HasSubstr(" style=\""))) << "which the page's policy would refuse";
}

}  // namespace
}  // namespace concur::analysis
