// SPDX-License-Identifier: Apache-2.0
// Work that the intervals of a matrix take.
//
// Pure function.
#ifndef CONCUR_ANALYSIS_CONCURRENCE_MATRIX_WORK_H_
#define CONCUR_ANALYSIS_CONCURRENCE_MATRIX_WORK_H_

#include <cstddef>

#include "analysis/score_table.h"

namespace concur::analysis {

// True if bootstrap intervals of all pairs take seconds at most. Unless they are asked for, larger
// tables go without.
inline bool IntervalsAreQuick(const ScoreTable& table) {
  constexpr size_t kWorkMax = 100'000;
  const size_t benchmarks = table.benchmarks().size();
  return benchmarks * benchmarks * table.approaches().size() <= kWorkMax;
}

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_CONCURRENCE_MATRIX_WORK_H_
