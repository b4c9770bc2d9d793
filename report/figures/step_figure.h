// SPDX-License-Identifier: Apache-2.0
// Learning curves as small multiples: what the systems of each approach and train set scored step
// by step, one curve for each setting and seed.
//
// Thread-safe (stateless). HTML for a page with report.css, in whose colours the curves are drawn:
// light, dark and on paper. How a curve ended is told by its width, dashes and end mark as well as
// by its colour.
#ifndef CONCUR_REPORT_FIGURES_STEP_FIGURE_H_
#define CONCUR_REPORT_FIGURES_STEP_FIGURE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace concur::analysis {

struct StepCurve {
  enum class End {
    kDone,     // trained to its end
    kStopped,  // ended by early stopping
    kOpen,     // still under way, failed or canceled
  };
  int64_t setting = 0;
  int64_t seed = 0;
  bool selected = false;
  End end = End::kDone;
  std::vector<std::pair<int64_t, double>> points = {};  // steps grow from 0 on; values are finite
};

struct StepPanel {
  std::string approach;
  std::string benchmark;  // or train set
  std::vector<StepCurve> curves;
};

struct StepFigure {
  std::string metric;
  std::vector<StepPanel> panels;
  std::vector<std::string> notes;  // sentences: what is left out
};

// Limits on what a page shows. Whoever makes a figure keeps to the first two and says in its notes
// what is left out; points are thinned here.
inline constexpr size_t kStepPanelsMax = 48;
inline constexpr size_t kStepCurvesMax = 30;  // in a panel
inline constexpr size_t kStepPointsMax = 100;

// A legend, the notes and the panels; without panels, the notes alone. Panels of one benchmark have
// one vertical axis, without the outliers that are more than ten interquartile ranges away from the
// quartiles of their values: those are drawn at its edge. Where half of the values are equal, none
// is one. REQUIRES: each panel has a point.
std::string StepFigureHtml(const StepFigure& figure);

}  // namespace concur::analysis

#endif  // CONCUR_REPORT_FIGURES_STEP_FIGURE_H_
