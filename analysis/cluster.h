// SPDX-License-Identifier: Apache-2.0
// The structure of a matrix: an order that puts similar benchmarks side by side, and the
// coefficients between groups of benchmarks.
//
// Thread-safe (stateless).
#ifndef CONCUR_ANALYSIS_CLUSTER_H_
#define CONCUR_ANALYSIS_CLUSTER_H_

#include <cstddef>
#include <vector>

#include "analysis/generalization.h"
#include "analysis/matrix.h"
#include "analysis/table.h"

namespace concur::analysis {

// The benchmarks in the order of the leaves of an average-linkage tree (UPGMA; Sokal and Michener,
// 1958) on distances 1 - coefficient; an undefined coefficient counts as 0. Equal distances are
// joined in the order of benchmarks, and of two branches the one with the lesser first benchmark
// comes first. O(n³), for the at most kMatrixBenchmarksMax benchmarks of a matrix.
std::vector<size_t> ClusterOrder(const ConcurrenceMatrix& matrix);

// For every two groups, and each with itself: how many pairs of benchmarks lie between them, and
// the median, least and greatest coefficient, with the pairs that have them. Pairs of a benchmark
// with itself do not count; undefined pairs are counted apart. Lists the benchmarks in no group.
Table BlockTable(const ConcurrenceMatrix& matrix, const std::vector<BenchmarkGroup>& groups);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_CLUSTER_H_
