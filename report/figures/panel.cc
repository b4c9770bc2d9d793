// SPDX-License-Identifier: Apache-2.0
#include "report/figures/panel.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "report/text.h"

namespace concur::analysis {
namespace {

using Anchor = SvgCanvas::Anchor;
constexpr char kAxisStyle[] = "stroke=\"#595959\" fill=\"none\"";
constexpr char kGridStyle[] = "stroke=\"#e6e6e6\" fill=\"none\"";

}  // namespace

Axis LinearAxis(std::string label, const std::vector<double>& values) {
  Axis axis;
  axis.label = std::move(label);
  double low = 0;
  double high = 1;
  if (!values.empty()) {
    const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
    low = *least;
    high = *greatest;
  }
  const double room = high > low ? 0.06 * (high - low) : std::max(0.5, std::abs(low) * 0.05);
  axis.low = low - room;
  axis.high = high + room;
  axis.ticks = RoundTicks(axis.low, axis.high, 5);
  axis.tick_text = [](double value) {
    return absl::StrFormat("%g", std::abs(value) < 1e-12 ? 0.0 : value);
  };
  return axis;
}

Panel::Panel(Axis x, Axis y, double left, double top)
    : x_(std::move(x)), y_(std::move(y)), left_(left + kLeft), top_(top + kTop) {}

double Panel::X(double value) const {
  const double share = (value - x_.low) / (x_.high - x_.low);
  return left_ + (x_.reversed ? 1 - share : share) * kPlot;
}
double Panel::Y(double value) const {
  const double share = (value - y_.low) / (y_.high - y_.low);
  return top_ + (y_.reversed ? share : 1 - share) * kPlot;
}

void Panel::DrawFrame(const std::vector<std::string>& titles, SvgCanvas& canvas) const {
  double title_top = top_ - 10 - 14 * static_cast<double>(titles.size() - 1);
  for (const std::string& title : titles) {
    const bool first = &title == &titles.front();
    canvas.Text(left_, title_top, ShortName(title, 40), Anchor::kStart,
                first ? "font-weight=\"bold\"" : "font-size=\"11\"");
    title_top += 14;
  }
  for (const double tick : x_.ticks) {
    canvas.Line(X(tick), top_, X(tick), top_ + kPlot, kGridStyle);
    canvas.Text(X(tick), top_ + kPlot + 15, x_.tick_text(tick), Anchor::kMiddle,
                "font-size=\"11\"");
  }
  for (const double tick : y_.ticks) {
    canvas.Line(left_, Y(tick), left_ + kPlot, Y(tick), kGridStyle);
    canvas.Text(left_ - 5, Y(tick) + 4, y_.tick_text(tick), Anchor::kEnd, "font-size=\"11\"");
  }
  canvas.Box(left_, top_, kPlot, kPlot, kAxisStyle);
  canvas.Text(left_ + kPlot / 2, top_ + kPlot + 32, ShortName(x_.label, 32), Anchor::kMiddle);
  const double x = left_ - 40;
  const double y = top_ + kPlot / 2;
  canvas.Text(x, y, ShortName(y_.label, 32), Anchor::kMiddle,
              absl::StrFormat("transform=\"rotate(-90 %.1f %.1f)\"", x, y));
}

void Panel::DrawLine(double slope, double intercept, absl::string_view attributes,
                     SvgCanvas& canvas) const {
  // Where the line meets the sides of the plot.
  double from = x_.low;
  double to = x_.high;
  if (slope != 0) {
    const double at_low = (y_.low - intercept) / slope;
    const double at_high = (y_.high - intercept) / slope;
    from = std::max(from, std::min(at_low, at_high));
    to = std::min(to, std::max(at_low, at_high));
  } else if (intercept < y_.low || intercept > y_.high) {
    return;
  }
  if (from < to) {
    canvas.Line(X(from), Y(intercept + slope * from), X(to), Y(intercept + slope * to), attributes);
  }
}

}  // namespace concur::analysis
