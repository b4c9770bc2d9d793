// SPDX-License-Identifier: Apache-2.0
// One square plot of a figure: two axes with ticks, and where values lie on them.
//
// Immutable; thread-compatible.
#ifndef CONCUR_REPORT_FIGURES_PANEL_H_
#define CONCUR_REPORT_FIGURES_PANEL_H_

#include <functional>
#include <string>
#include <vector>

#include "report/figures/label_places.h"
#include "report/figures/svg_canvas.h"

namespace concur::analysis {

struct Axis {
  std::string label;
  double low = 0;         // in the axis's own scale
  double high = 1;        // > low
  bool reversed = false;  // `low` is at the right or at the top: what is better is still there
  std::vector<double> ticks;
  std::function<std::string(double)> tick_text;
};

// From the least to the greatest of `values` with some room, ticks at round numbers. One value, or
// none, has an axis too.
Axis LinearAxis(std::string label, const std::vector<double>& values);

class Panel {
 public:
  static constexpr double kPlot = 200;   // side of the plot
  static constexpr double kLeft = 56;    // for the y axis's labels
  static constexpr double kTop = 74;     // for titles
  static constexpr double kBottom = 48;  // for the x axis's labels
  static constexpr double kWidth = kLeft + kPlot + 20;
  static constexpr double kHeight = kTop + kPlot + kBottom;

  // `left` and `top` are where the panel's corner lies.
  Panel(Axis x, Axis y, double left, double top);

  double X(double value) const;
  double Y(double value) const;
  PixelBox plot() const { return {left_, top_, left_ + kPlot, top_ + kPlot}; }
  void DrawFrame(const std::vector<std::string>& titles, SvgCanvas& canvas) const;
  // The part of the line y = intercept + slope * x that lies within the plot.
  void DrawLine(double slope, double intercept, absl::string_view attributes,
                SvgCanvas& canvas) const;

 private:
  Axis x_;
  Axis y_;
  double left_;
  double top_;
};

}  // namespace concur::analysis

#endif  // CONCUR_REPORT_FIGURES_PANEL_H_
