// SPDX-License-Identifier: Apache-2.0
// The structure of a matrix: an order that puts similar benchmarks side by side.
//
// Thread-safe (stateless).
#ifndef CONCUR_ANALYSIS_CONCURRENCE_CLUSTER_H_
#define CONCUR_ANALYSIS_CONCURRENCE_CLUSTER_H_

#include <cstddef>
#include <vector>

#include "analysis/concurrence/matrix.h"

namespace concur::analysis {

// The benchmarks in the order of the leaves of an average-linkage tree (statistics/linkage.h) on
// distances 1 - coefficient; an undefined coefficient counts as 0. O(n³), for the at most
// kMatrixBenchmarksMax benchmarks of a matrix.
std::vector<size_t> ClusterOrder(const ConcurrenceMatrix& matrix);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_CONCURRENCE_CLUSTER_H_
