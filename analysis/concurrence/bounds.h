// SPDX-License-Identifier: Apache-2.0
// The least and the greatest value of a coefficient over all values that missing scores could have.
//
// Thread-safe (stateless).
#ifndef CONCUR_ANALYSIS_CONCURRENCE_BOUNDS_H_
#define CONCUR_ANALYSIS_CONCURRENCE_BOUNDS_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "analysis/score_table.h"
#include "analysis/statistics/correlation.h"

namespace concur::analysis {

struct CoefficientBounds {
  double low = 0;
  double high = 0;
  int64_t missing = 0;  // scores that were filled in
  // True: no filling lies outside (every order of the missing scores was tried, or there is one
  // missing score and a closed form). False: the ends were found by search; fillings that reach
  // them exist, and others may reach further.
  bool exact = true;
};

struct BoundsOptions {
  size_t top = kTopDefault;  // the k of the top-k overlap
};

// More approaches than this would take too long.
inline constexpr size_t kBoundsApproachesMax = 500;

// The least and the greatest value of the coefficient of benchmarks a and b over all approaches of
// the table, for every way to fill in their missing (also failed and pending) scores; ties with
// other scores included. Pearson's r depends on how far scores may go: within each benchmark's
// ScoreTable::range. Without missing scores both are the coefficient. Nothing where no filling that
// was tried defines it, and for Pearson's r where a benchmark without limits lacks a score.
// REQUIRES: `table` is oriented (ScoreTable::Oriented). InvalidArgument for a table of more than
// kBoundsApproachesMax approaches. Method: docs/statistics.md.
absl::StatusOr<std::optional<CoefficientBounds>> BoundsOfPair(const ScoreTable& table,
                                                              Coefficient coefficient, size_t a,
                                                              size_t b,
                                                              const BoundsOptions& options);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_CONCURRENCE_BOUNDS_H_
