// SPDX-License-Identifier: Apache-2.0
#include "analysis/concurrence/cluster.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "analysis/concurrence/matrix.h"
#include "analysis/statistics/correlation.h"
#include "analysis/statistics/linkage.h"

namespace concur::analysis {
namespace {

const MatrixPair& PairOf(const ConcurrenceMatrix& matrix, size_t a, size_t b) {
  return matrix.pair(std::min(a, b), std::max(a, b));
}

}  // namespace

std::vector<size_t> ClusterOrder(const ConcurrenceMatrix& matrix) {
  const size_t n = matrix.benchmarks.size();
  std::vector<double> distances(n * n, 0.0);
  for (size_t a = 0; a < n; ++a) {
    for (size_t b = 0; b < n; ++b) {
      if (a != b) {
        const Correlation& correlation = PairOf(matrix, a, b).correlation;
        distances[a * n + b] = 1 - (correlation.defined() ? correlation.value : 0);
      }
    }
  }
  const std::vector<std::vector<size_t>> clusters =
      AverageLinkage(std::move(distances), n, std::numeric_limits<double>::infinity());
  return clusters.empty() ? std::vector<size_t>() : clusters[0];
}

}  // namespace concur::analysis
