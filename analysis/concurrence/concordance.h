// SPDX-License-Identifier: Apache-2.0
// Kendall's coefficient of concordance W: how alike all benchmarks of a group rank the approaches,
// from 0 (their ranks cancel) to 1 (one order). Unrelated benchmarks have 1 / m on average, m the
// number of benchmarks.
//
// Thread-safe (stateless). The same table, options and seed give the same bits on any number of
// threads. Measured coverage of the interval: docs/coverage.md.
#ifndef CONCUR_ANALYSIS_CONCURRENCE_CONCORDANCE_H_
#define CONCUR_ANALYSIS_CONCURRENCE_CONCORDANCE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "analysis/bootstrap.h"
#include "analysis/score_table.h"
#include "analysis/statistics/intervals.h"

namespace concur::analysis {

struct Concordance {
  int64_t n = 0;            // approaches with every score of the group
  int64_t left_out = 0;     // approaches that lack one
  std::optional<double> w;  // nothing of fewer than two such approaches or benchmarks, and where
                            // all scores of each benchmark are equal
  std::optional<Interval> interval;  // where there are options
  std::string warning;               // about the interval; mostly ""
};

// W = 12 S / (m² (n³ - n) - m sum of T), S the sum of squared deviations of the n approaches' rank
// sums, T the sum of t³ - t over a benchmark's groups of t tied approaches, which share their
// average rank (Kendall and Babington Smith, Annals of Mathematical Statistics 1939; ties: Kendall,
// Rank Correlation Methods, 1970). That is Friedman's statistic / (m (n - 1)). Scores are oriented
// first. InvalidArgument for what DrawUnitsOf, ValidateBootstrapOptions and BootstrapStatistics
// refuse. REQUIRES: benchmarks are columns of the table, each once.
absl::StatusOr<Concordance> ComputeConcordance(const ScoreTable& table,
                                               absl::Span<const size_t> benchmarks,
                                               const std::optional<BootstrapOptions>& options);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_CONCURRENCE_CONCORDANCE_H_
