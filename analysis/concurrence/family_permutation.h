// SPDX-License-Identifier: Apache-2.0
// The p-value of a coefficient between benchmarks whose approaches come in families: how often
// families that change places on one of them agree as much.
//
// Thread-safe (stateless). The same scores give the same bits.
#ifndef CONCUR_ANALYSIS_CONCURRENCE_FAMILY_PERMUTATION_H_
#define CONCUR_ANALYSIS_CONCURRENCE_FAMILY_PERMUTATION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/score_table.h"
#include "analysis/statistics/correlation.h"

namespace concur::analysis {

// Two-sided, of no association of benchmarks a and b: the share of permutations, the observed order
// one of them, whose coefficient is as far from 0. A permutation gives each family the scores on b
// of another one, in random order; a larger family takes some of them again, a smaller one drops
// some, so that it is exact for families of one size (coverage: docs/coverage.md). Counts the
// families that have approaches with both scores. NaN where the coefficient is undefined.
double FamilyPermutationPValue(const ScoreTable& table,
                               const std::vector<std::vector<size_t>>& families, size_t a, size_t b,
                               Coefficient coefficient, size_t top, int64_t permutations);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_CONCURRENCE_FAMILY_PERMUTATION_H_
