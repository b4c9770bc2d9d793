// SPDX-License-Identifier: Apache-2.0
// Difference between two pairs of benchmarks in how similarly they rank the approaches, with an
// interval.
//
// Thread-safe (stateless). The same table, options and seed give the same bits on any number of
// threads.
#ifndef CONCUR_ANALYSIS_CONCURRENCE_DIFFERENCE_H_
#define CONCUR_ANALYSIS_CONCURRENCE_DIFFERENCE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "analysis/bootstrap.h"
#include "analysis/score_table.h"
#include "analysis/statistics/correlation.h"
#include "analysis/statistics/intervals.h"

namespace concur::analysis {

// The coefficient of benchmarks a and b less that of c and d, by name.
struct DifferenceQuery {
  std::string a;
  std::string b;
  std::string c;
  std::string d;
};

struct PairDifference {
  DifferenceQuery of;
  int64_t n_first = 0;  // approaches with both scores
  int64_t n_second = 0;
  std::optional<double> value;  // nothing where either coefficient is undefined
  std::optional<Interval> interval;
  // Two-sided, of no difference: twice the smaller share of replicates on one side of 0.
  std::optional<double> p_value;
  std::string warning;
};

// The differences in the order of the queries. Both coefficients of a replicate come from the same
// draw of approaches, the draws of BootstrapPairs, so that what moves both pairs alike cancels.
// Each pair uses the approaches that have its two scores. InvalidArgument for an unknown benchmark,
// a pair of a benchmark with itself, and what BootstrapPairs refuses.
absl::StatusOr<std::vector<PairDifference>> BootstrapDifferences(
    const ScoreTable& table, Coefficient coefficient, absl::Span<const DifferenceQuery> queries,
    const BootstrapOptions& options);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_CONCURRENCE_DIFFERENCE_H_
