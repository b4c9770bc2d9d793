// SPDX-License-Identifier: Apache-2.0
// One self-contained HTML page about a score table: the findings first, then concurrence with
// intervals, every pair, the scores themselves, averages, comparisons, and what is missing.
//
// Thread-safe (stateless). The page needs no network and no other file. Without scripts it still
// shows the heat map of Kendall's tau-b and all tables; with them it sorts, filters and switches
// coefficient. Names are escaped for HTML and for scripts; the page allows no script and no style
// but its own two, by their digests.
#ifndef CONCUR_REPORT_HTML_REPORT_H_
#define CONCUR_REPORT_HTML_REPORT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/bootstrap.h"
#include "analysis/comparison/comparison.h"
#include "analysis/score_table.h"
#include "report/figures/step_figure.h"
#include "report/table.h"

namespace concur::analysis {

struct ReportOptions {
  std::string title;  // e.g. "s12 demo"
  // Facts about what it was made from, in order: {"metric", "exact_match"}, {"scores", "sha256 …"}.
  std::vector<std::pair<std::string, std::string>> facts;
  std::optional<BootstrapOptions> bootstrap;  // for the coefficients; set: with intervals
  // A tag of approaches whose values get markers and matrices of their own; empty: the first tag
  // with two to six values.
  std::string group_by;
  // Paired comparisons of approaches, for the summary and a table; none: no per-example scores.
  std::vector<BenchmarkComparison> comparisons;
  ComparisonOptions comparison;  // options with which they were made
  // Further tables, each with a heading: train × test.
  std::vector<std::pair<std::string, Table>> tables;
  std::optional<StepFigure> curves;  // learning curves; its panels are all shown
  // Limits on what is shown, so that the page stays usable; what is left out is said at its top.
  size_t benchmarks_max = 60;
  size_t approaches_max = 500;
  size_t rows_max = 2000;  // in a further table
};

// InvalidArgument for a group_by that no approach carries, and what ComputeMatrix refuses.
absl::StatusOr<std::string> ReportHtml(const ScoreTable& table, const ReportOptions& options);

// A part of a page that has no script.
struct PageSection {
  std::string id;  // an HTML name
  std::string heading;
  std::vector<std::string> paragraphs = {};
  std::string svg = {};  // a figure
  Table table = {};      // without columns: none
};
// A page of these sections in the report's style, the first without a heading.
std::string SectionsHtml(const std::string& title, const std::vector<PageSection>& sections);

}  // namespace concur::analysis

#endif  // CONCUR_REPORT_HTML_REPORT_H_
