// SPDX-License-Identifier: Apache-2.0
// Figures as self-contained SVG documents: matrices as heat maps, scatter panels of one benchmark
// against others, shift panels of one test set against others, and train × test tables as heat
// maps.
//
// Thread-safe (stateless). Every point and cell has a title with its name and figures. What cannot
// be drawn (a missing score, a score without a place on a probit axis) is counted below its panel.
#ifndef CONCUR_REPORT_FIGURES_FIGURES_H_
#define CONCUR_REPORT_FIGURES_FIGURES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "analysis/comparison/fit.h"
#include "analysis/concurrence/matrix.h"
#include "analysis/score_table.h"
#include "report/table.h"

namespace concur::analysis {

struct MatrixFigure {
  std::string title = {};  // empty: MatrixTitle
  double width = 0;        // pixels that the figure takes; 0: as it is drawn
};
// The lower triangle coloured from -1 over 0 to 1 with a bar that says so, each cell with its value
// and its interval where there is one. Text has a contrast of at least 4.5 : 1 to its cell. Long
// names are cut in the middle; every cell's title has them whole.
std::string MatrixSvg(const ConcurrenceMatrix& matrix, const MatrixFigure& figure = {});

struct ScatterOptions {
  std::string x;               // a benchmark
  std::vector<std::string> y;  // one panel for each; at most kPanelsMax
  // A tag of approaches whose values make groups, each with its own marker and coefficients; empty:
  // one group.
  std::string group_by;
  // Approaches whose points are labelled with their names, where there is room.
  std::vector<std::string> labels = {};
  std::string families = {};  // a tag, as FamiliesOf takes it
};
inline constexpr size_t kPanelsMax = 100;

// Coefficients of one panel: over all approaches, then for each group.
struct ScatterPanel {
  size_t x = 0;
  size_t y = 0;
  std::vector<size_t> labels;  // approaches
  struct Part {
    std::string group;               // "all" or TAG=VALUE
    std::vector<size_t> approaches;  // that have both scores
    std::vector<size_t> missing;
    std::vector<std::vector<size_t>> families;  // groups of `approaches`; empty: none are declared
  };
  std::vector<Part> parts;
};

// InvalidArgument for an unknown benchmark, one that is also x, too many panels, a tag that no
// approach carries, or an unknown approach to label.
absl::StatusOr<std::vector<ScatterPanel>> ScatterPanels(const ScoreTable& table,
                                                        const ScatterOptions& options);

// One row for each panel and part: n, tau-b and r, with their p-values, which permute families
// where there are some.
Table ScatterTable(const ScoreTable& table, absl::Span<const ScatterPanel> panels);
std::string ScatterSvg(const ScoreTable& table, absl::Span<const ScatterPanel> panels);

// One panel for each fit, its axes in the fit's scale with the scores written on them: the systems,
// the line y = x (dashed) and the fitted line. Systems that are not part of the fit are hollow.
std::string ShiftSvg(const std::vector<ShiftFit>& fits);

// The train × test table of ranking_tables.h as a heat map: mean ± sd, the best of each approach
// and test set framed. InvalidArgument when rows carry no tag "train".
absl::StatusOr<std::string> CrossSvg(const ScoreTable& table);

}  // namespace concur::analysis

#endif  // CONCUR_REPORT_FIGURES_FIGURES_H_
