// SPDX-License-Identifier: Apache-2.0
// Partial tau-b: how similarly two benchmarks rank the approaches beyond what a third column, such
// as another benchmark or the models' sizes, makes them agree.
//
// Thread-safe (stateless). The same table, options and seed give the same bits on any number of
// threads. Measured coverage of the intervals: docs/coverage.md.
#ifndef CONCUR_ANALYSIS_CONCURRENCE_PARTIAL_H_
#define CONCUR_ANALYSIS_CONCURRENCE_PARTIAL_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/concurrence/matrix.h"
#include "analysis/score_table.h"
#include "analysis/statistics/intervals.h"

namespace concur::analysis {

// (ab - az bz) / sqrt((1 - az²) (1 - bz²)) of three tau-b, in [-1, 1] (Kendall, Biometrika 1942;
// the R package ppcor has the same). NaN where a or b is ordered wholly as z, or against it.
double PartialTau(double ab, double az, double bz);

struct PartialPair {
  std::optional<double> value;  // nothing where any of the three tau-b is, or PartialTau
  std::optional<Interval> interval;
  std::string warning;  // about the interval; mostly ""
};

struct PartialMatrix {
  std::string given;
  // The pairs of all other benchmarks, over approaches that have the given column; its level and
  // method are those of the partial intervals, and its pairs have none of their own.
  ConcurrenceMatrix plain;
  std::vector<PartialPair> pairs;     // in the order of plain.pairs; the same approaches
  std::vector<std::string> left_out;  // approaches without the given column
};

// Partial tau-b of all pairs of benchmarks but `given`, which is a benchmark or, where none is
// called so, a tag of approaches whose values are numbers. Every pair uses the approaches that have
// its scores and the given column. Of `options` the coefficient is tau-b, and what a pair lists
// beside its coefficient is left out. InvalidArgument for an unknown column, tags that are no
// numbers, fewer than two other benchmarks, and what ComputeMatrix and BootstrapStatistics refuse.
absl::StatusOr<PartialMatrix> ComputePartial(const ScoreTable& table, const std::string& given,
                                             const MatrixOptions& options);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_CONCURRENCE_PARTIAL_H_
