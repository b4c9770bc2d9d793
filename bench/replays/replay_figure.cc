// SPDX-License-Identifier: Apache-2.0
#include "bench/replays/replay_figure.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analysis/plan/plan.h"
#include "analysis/plan/plan_until.h"
#include "analysis/statistics/coefficient.h"
#include "bench/replays/plan_replay.h"
#include "report/figures/svg_canvas.h"

namespace concur::analysis {
namespace {

constexpr double kPlotLeft = 64;
constexpr double kPlotTop = 40;
constexpr double kPlotWidth = 440;
constexpr double kPlotHeight = 280;
constexpr double kLegendHeight = 60;
constexpr char kGridStroke[] = R"(stroke="#dddddd")";

struct ReplayCurve {
  const char* name;
  PolicyResult ReplayPoint::*policy;
};
constexpr ReplayCurve kReplayCurves[] = {{"planned", &ReplayPoint::planned},
                                         {"random rows", &ReplayPoint::rows},
                                         {"random cells", &ReplayPoint::cells}};

// From what was spent and the error to a place on the page.
struct ReplayScale {
  double cost_max = 0;
  double error_max = 0;
  double X(double cost) const { return kPlotLeft + kPlotWidth * cost / cost_max; }
  double Y(double error) const { return kPlotTop + kPlotHeight * (1 - error / error_max); }
};

ReplayScale ScaleOf(const std::vector<ReplayPoint>& points,
                    const std::optional<ReplayedStop>& stop) {
  ReplayScale scale;
  if (stop.has_value()) {
    scale.cost_max = stop->means.cost;
    scale.error_max = stop->means.mean_abs_error;
  }
  for (const ReplayPoint& point : points) {
    for (const ReplayCurve& curve : kReplayCurves) {
      const PolicyResult& result = point.*curve.policy;
      scale.cost_max = std::max({scale.cost_max, result.cost, point.budget});
      scale.error_max = std::max(scale.error_max, result.mean_abs_error + result.standard_error);
    }
  }
  scale.cost_max = scale.cost_max > 0 ? scale.cost_max * 1.05 : 1;
  scale.error_max = scale.error_max > 0 ? scale.error_max * 1.05 : 1;
  return scale;
}

void DrawReplayAxes(const ReplayScale& scale, Coefficient coefficient, SvgCanvas& canvas) {
  for (const double cost : RoundTicks(0, scale.cost_max, 5)) {
    canvas.Line(scale.X(cost), kPlotTop, scale.X(cost), kPlotTop + kPlotHeight, kGridStroke);
    canvas.Text(scale.X(cost), kPlotTop + kPlotHeight + 16, absl::StrFormat("%g", cost + 0.0),
                SvgCanvas::Anchor::kMiddle);
  }
  for (const double error : RoundTicks(0, scale.error_max, 5)) {
    canvas.Line(kPlotLeft, scale.Y(error), kPlotLeft + kPlotWidth, scale.Y(error), kGridStroke);
    canvas.Text(kPlotLeft - 6, scale.Y(error) + 4, absl::StrFormat("%g", error + 0.0),
                SvgCanvas::Anchor::kEnd);
  }
  canvas.Text(
      kPlotLeft, kPlotTop - 10,
      absl::StrCat("mean |error| of ", PlannedTitle(coefficient), ", ± its standard error"));
  canvas.Text(kPlotLeft + kPlotWidth, kPlotTop + kPlotHeight + 34,
              "share of the whole table's cost", SvgCanvas::Anchor::kEnd);
}

void DrawReplayCurve(const std::vector<ReplayPoint>& points, const ReplayScale& scale, size_t group,
                     SvgCanvas& canvas) {
  const ReplayCurve& curve = kReplayCurves[group];
  const std::string stroke =
      absl::StrCat("fill=\"none\" stroke=\"", StyleOfGroup(group).fill, "\" stroke-width=\"1.5\"");
  std::string path;
  for (const ReplayPoint& point : points) {
    const PolicyResult& result = point.*curve.policy;
    const double x = scale.X(result.cost);
    absl::StrAppendFormat(&path, "%s%.1f %.1f", path.empty() ? "M" : "L", x,
                          scale.Y(result.mean_abs_error));
    canvas.Line(x, scale.Y(result.mean_abs_error - result.standard_error), x,
                scale.Y(result.mean_abs_error + result.standard_error), stroke);
  }
  canvas.Path(path, stroke);
  for (const ReplayPoint& point : points) {
    const PolicyResult& result = point.*curve.policy;
    canvas.Marker(group, scale.X(result.cost), scale.Y(result.mean_abs_error),
                  absl::StrFormat("%s: %.3f at %.2f of the cost, coverage %.1f %%", curve.name,
                                  result.mean_abs_error, result.cost, 100 * result.coverage));
  }
}

void DrawLegend(size_t group, const std::string& name, double& x, SvgCanvas& canvas) {
  const double y = kPlotTop + kPlotHeight + kLegendHeight - 4;
  canvas.Marker(group, x, y - 4, name);
  canvas.Text(x + 10, y, name);
  x += 34 + TextWidth(name);
}

// Where runs stopped, on the mean of their costs and errors.
void DrawStop(const ReplayedStop& stop, const std::string& name, const ReplayScale& scale,
              size_t group, SvgCanvas& canvas) {
  const double x = scale.X(stop.means.cost);
  canvas.Line(x, kPlotTop, x, kPlotTop + kPlotHeight,
              absl::StrCat("stroke=\"", StyleOfGroup(group).fill, "\" stroke-dasharray=\"4 3\""));
  canvas.Marker(
      group, x, scale.Y(stop.means.mean_abs_error),
      absl::StrFormat("%s: %.3f at %.2f of the cost, coverage %.1f %%", name,
                      stop.means.mean_abs_error, stop.means.cost, 100 * stop.means.coverage));
}

}  // namespace

std::string ReplaySvg(const std::vector<ReplayPoint>& points, Coefficient coefficient,
                      const std::string& title, const std::optional<ReplayedStop>& stop) {
  std::vector<ReplayPoint> ordered = points;
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const ReplayPoint& a, const ReplayPoint& b) { return a.budget < b.budget; });
  SvgCanvas canvas;
  const ReplayScale scale = ScaleOf(ordered, stop);
  DrawReplayAxes(scale, coefficient, canvas);
  double x = kPlotLeft + 4;
  for (size_t group = 0; group < std::size(kReplayCurves); ++group) {
    DrawReplayCurve(ordered, scale, group, canvas);
    DrawLegend(group, kReplayCurves[group].name, x, canvas);
  }
  if (stop.has_value()) {
    const std::string name = absl::StrCat("stopped by ", UntilText(stop->rule));
    DrawStop(*stop, name, scale, std::size(kReplayCurves), canvas);
    DrawLegend(std::size(kReplayCurves), name, x, canvas);
  }
  return canvas.ToString(kPlotLeft + kPlotWidth + 24, kPlotTop + kPlotHeight + kLegendHeight + 16,
                         title);
}

}  // namespace concur::analysis
