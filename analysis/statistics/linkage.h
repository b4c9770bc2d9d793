// SPDX-License-Identifier: Apache-2.0
// Average-linkage clustering (UPGMA; Sokal and Michener, University of Kansas Science Bulletin
// 1958).
//
// Thread-safe (stateless).
#ifndef CONCUR_ANALYSIS_STATISTICS_LINKAGE_H_
#define CONCUR_ANALYSIS_STATISTICS_LINKAGE_H_

#include <cstddef>
#include <vector>

namespace concur::analysis {

// Joins the closest clusters until none are closer than `limit`; a cluster holds the items in the
// order of the leaves of its tree. `distances` is n x n, symmetric. Equal distances are joined in
// the order of items; of two branches, and of clusters, the one with the lesser first item comes
// first. O(n³).
std::vector<std::vector<size_t>> AverageLinkage(std::vector<double> distances, size_t n,
                                                double limit);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_STATISTICS_LINKAGE_H_
