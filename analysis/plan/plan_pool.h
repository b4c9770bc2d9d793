// SPDX-License-Identifier: Apache-2.0
// Estimates of many coefficients borrow strength: each is moved towards the sum of an effect of
// either benchmark, as far as its distance from that sum looks like chance.
//
// Thread-safe (stateless). Formulas and sources: docs/planning.md.
#ifndef CONCUR_ANALYSIS_PLAN_PLAN_POOL_H_
#define CONCUR_ANALYSIS_PLAN_PLAN_POOL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/statistics/intervals.h"

namespace concur::analysis {

struct PairEstimate {
  size_t a = 0;
  size_t b = 0;
  int64_t n = 0;         // approaches with both scores
  bool defined = false;  // else value and pooled are 0 and the interval is [-1, 1]
  double value = 0;      // value of the weighted coefficient
  double pooled = 0;    // value, moved towards what the other pairs of a and b say; in the interval
  double variance = 0;  // variance of value
  double unit_variance = 0;  // variance * n for a small share of many approaches
  Interval interval;         // interval of value
};

// Sets `pooled` of the pairs that are defined. `influences` has a list for each pair: what each
// approach contributes to its error, as EstimatePairs computes it.
void PoolPairs(size_t benchmarks, const std::vector<std::vector<double>>& influences,
               std::vector<PairEstimate>& pairs);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_PLAN_PLAN_POOL_H_
