// SPDX-License-Identifier: Apache-2.0
#include "report/figures/step_figure.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "report/figures/svg_canvas.h"
#include "report/markup.h"
#include "report/table.h"
#include "report/text.h"

namespace concur::analysis {
namespace {

constexpr double kPanelWidth = 280;
constexpr double kPanelHeight = 204;
constexpr double kPanelLeft = 48;
constexpr double kPanelTop = 22;
constexpr double kPanelRight = 268;
constexpr double kPanelBottom = 168;
constexpr double kOutlierRanges = 10;

struct StepScale {
  int64_t step_max = 1;
  double low = 0;
  double high = 0;
  bool is_cut = false;  // some values are beyond it

  double X(int64_t step) const {
    return kPanelLeft +
           (kPanelRight - kPanelLeft) * (static_cast<double>(step) / static_cast<double>(step_max));
  }
  double Y(double value) const {
    const double share = (std::clamp(value, low, high) - low) / (high - low);
    return kPanelBottom - (kPanelBottom - kPanelTop) * share;
  }
};

// Room above and below, for a curve on the very edge would look like a cut one.
StepScale ScaleOfValues(std::vector<double> values, int64_t step_max) {
  std::sort(values.begin(), values.end());
  const double lower = values[values.size() / 4];
  const double upper = values[values.size() - 1 - values.size() / 4];
  // Where half of the values are equal, these ranges say nothing of the others.
  constexpr double kNoRange = 1e-9;
  const bool is_one_value = upper - lower <= kNoRange * std::max(std::abs(lower), std::abs(upper));
  const double reach =
      is_one_value ? std::numeric_limits<double>::infinity() : kOutlierRanges * (upper - lower);
  StepScale scale;
  scale.step_max = std::max<int64_t>(step_max, 1);
  const double low = *std::find_if(values.begin(), values.end(),
                                   [&](double value) { return !(value < lower - reach); });
  const double high = *std::find_if(values.rbegin(), values.rend(),
                                    [&](double value) { return !(value > upper + reach); });
  scale.is_cut = low > values.front() || high < values.back();
  const double room = high > low ? 0.04 * (high - low) : std::max(std::abs(high) * 0.1, 0.5);
  constexpr double kLargest = 1e300;  // so that the span is finite
  scale.low = std::clamp(low - room, -kLargest, 0.9 * kLargest);
  scale.high = std::clamp(high + room, -0.9 * kLargest, kLargest);
  return scale;
}

std::map<std::string, StepScale> ScalesByBenchmark(const std::vector<StepPanel>& panels) {
  std::map<std::string, std::pair<std::vector<double>, int64_t>> values;
  for (const StepPanel& panel : panels) {
    auto& [list, step_max] = values[panel.benchmark];
    for (const StepCurve& curve : panel.curves) {
      for (const auto& [step, value] : curve.points) {
        list.push_back(value);
        step_max = std::max(step_max, step);
      }
    }
  }
  std::map<std::string, StepScale> scales;
  for (auto& [benchmark, found] : values) {
    scales[benchmark] = ScaleOfValues(std::move(found.first), found.second);
  }
  return scales;
}

std::string CurveTitle(const StepCurve& curve) {
  constexpr std::array<absl::string_view, 3> kEnds = {"trained to its end", "stopped",
                                                      "not at its end"};
  return absl::StrFormat("setting %d%s, seed %d: %s; step %d: %.4g", curve.setting,
                         curve.selected ? " (selected)" : "", curve.seed,
                         kEnds[static_cast<size_t>(curve.end)], curve.points.back().first,
                         curve.points.back().second);
}

// At most kStepPointsMax points, the first and the last among them.
std::string CurvePath(const StepCurve& curve, const StepScale& scale) {
  const size_t last = curve.points.size() - 1;
  const size_t drawn = std::min(last, kStepPointsMax - 1);
  std::string path;
  for (size_t i = 0; i <= drawn; ++i) {
    const auto& [step, value] = curve.points[drawn == 0 ? 0 : i * last / drawn];
    absl::StrAppendFormat(&path, "%s%.1f %.1f", path.empty() ? "M" : "L", scale.X(step),
                          scale.Y(value));
  }
  return path + "h0";  // a single point is a dot
}

std::string EndMark(const StepCurve& curve, double x, double y) {
  if (curve.end == StepCurve::End::kDone) {
    return "";
  }
  const bool is_stopped = curve.end == StepCurve::End::kStopped;
  return absl::StrFormat(
      "<path class=\"%s\" d=\"M%.1f %.1f%s\"/>", is_stopped ? "stop-mark" : "open-mark", x, y,
      is_stopped ? "m-3.5 -3.5l7 7m0 -7l-7 7" : "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z");
}

std::string CurveClass(const StepCurve& curve) {
  return absl::StrCat("curve", curve.selected ? " selected" : "",
                      curve.end == StepCurve::End::kStopped ? " stopped" : "");
}

std::string Axes(const StepScale& scale, const std::string& metric) {
  SvgCanvas canvas;
  for (const double step : RoundTicks(0, static_cast<double>(scale.step_max), 4)) {
    if (step != std::floor(step)) {
      continue;
    }
    const double x = scale.X(static_cast<int64_t>(step));
    canvas.Line(x, kPanelTop, x, kPanelBottom, "class=\"grid\"");
    canvas.Text(x, kPanelBottom + 14, absl::StrFormat("%g", step + 0.0),
                SvgCanvas::Anchor::kMiddle);
  }
  for (const double value : RoundTicks(scale.low, scale.high, 6)) {
    canvas.Line(kPanelLeft, scale.Y(value), kPanelRight, scale.Y(value), "class=\"grid\"");
    canvas.Text(kPanelLeft - 5, scale.Y(value) + 4, absl::StrFormat("%g", value + 0.0),
                SvgCanvas::Anchor::kEnd);
  }
  canvas.Box(kPanelLeft, kPanelTop, kPanelRight - kPanelLeft, kPanelBottom - kPanelTop,
             "class=\"frame\"");
  canvas.Text(kPanelLeft, kPanelTop - 8, ShortName(metric, 34));
  canvas.Text((kPanelLeft + kPanelRight) / 2, kPanelBottom + 30, "step",
              SvgCanvas::Anchor::kMiddle);
  return canvas.body();
}

std::string PanelHtml(const StepPanel& panel, const StepScale& scale, const std::string& metric) {
  std::string html = absl::StrFormat(
      "<figure class=\"card\"><figcaption><strong>%s</strong> on %s</figcaption>"
      "<svg class=\"plot\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"%s\">\n",
      EscapeXml(panel.approach), EscapeXml(panel.benchmark), kPanelWidth, kPanelHeight,
      EscapeXml(absl::StrCat(metric, " by step of ", panel.approach, " on ", panel.benchmark,
                             "; curves: ", panel.curves.size())));
  html += Axes(scale, metric);
  std::vector<const StepCurve*> drawn;  // the selected ones last, above the others
  for (const StepCurve& curve : panel.curves) {
    drawn.push_back(&curve);
  }
  std::stable_partition(drawn.begin(), drawn.end(),
                        [](const StepCurve* curve) { return !curve->selected; });
  for (const StepCurve* curve : drawn) {
    if (curve->points.empty()) {
      continue;
    }
    const auto& [step, value] = curve->points.back();
    absl::StrAppend(&html, "<g class=\"", CurveClass(*curve), "\"><title>",
                    EscapeXml(CurveTitle(*curve)), "</title><path d=\"", CurvePath(*curve, scale),
                    "\"/>", EndMark(*curve, scale.X(step), scale.Y(value)), "</g>\n");
  }
  return html + "</svg></figure>\n";
}

// Only what occurs.
std::string Legend(const std::vector<StepPanel>& panels) {
  struct Entry {
    StepCurve curve;  // one that looks so
    const char* text;
    bool occurs = false;
  };
  std::array<Entry, 4> entries = {{{{.selected = true}, "selected setting"},
                                   {{}, "other settings"},
                                   {{.end = StepCurve::End::kStopped}, "stopped early"},
                                   {{.end = StepCurve::End::kOpen}, "not at its end"}}};
  for (const StepPanel& panel : panels) {
    for (const StepCurve& curve : panel.curves) {
      entries[0].occurs = entries[0].occurs || curve.selected;
      entries[1].occurs =
          entries[1].occurs || (!curve.selected && curve.end == StepCurve::End::kDone);
      entries[2].occurs = entries[2].occurs || curve.end == StepCurve::End::kStopped;
      entries[3].occurs = entries[3].occurs || curve.end == StepCurve::End::kOpen;
    }
  }
  std::string html = "<ul class=\"legend\">";
  for (const Entry& entry : entries) {
    if (entry.occurs) {
      absl::StrAppend(&html,
                      "<li><svg class=\"sample\" width=\"36\" height=\"12\" aria-hidden=\"true\">"
                      "<g class=\"",
                      CurveClass(entry.curve), "\"><path d=\"M3 6H28\"/>",
                      EndMark(entry.curve, 28, 6), "</g></svg> ", entry.text, "</li>");
    }
  }
  return html + "</ul>\n";
}

}  // namespace

std::string StepFigureHtml(const StepFigure& figure) {
  const std::map<std::string, StepScale> scales = ScalesByBenchmark(figure.panels);
  std::string html;
  if (!figure.panels.empty()) {
    html = HtmlParagraph(absl::StrCat(figure.metric,
                                      " by step of training, as jobs reported it: a curve for each "
                                      "setting and seed. Panels of one train set share an axis."),
                         "quiet");
  }
  for (const std::string& note : figure.notes) {
    html += HtmlParagraph(note, "left-out");
  }
  if (figure.panels.empty()) {
    return html;
  }
  if (std::any_of(scales.begin(), scales.end(),
                  [](const auto& scale) { return scale.second.is_cut; })) {
    html +=
        HtmlParagraph("Values far from all others are drawn at the edge of their panel.", "quiet");
  }
  html += Legend(figure.panels);
  html += "<div class=\"multiples\">\n";
  for (const StepPanel& panel : figure.panels) {
    html += PanelHtml(panel, scales.at(panel.benchmark), figure.metric);
  }
  return html + "</div>\n";
}

}  // namespace concur::analysis
