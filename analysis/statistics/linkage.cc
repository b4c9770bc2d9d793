// SPDX-License-Identifier: Apache-2.0
#include "analysis/statistics/linkage.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace concur::analysis {

std::vector<std::vector<size_t>> AverageLinkage(std::vector<double> distances, size_t n,
                                                double limit) {
  std::vector<std::vector<size_t>> clusters(n);
  for (size_t a = 0; a < n; ++a) {
    clusters[a] = {a};
  }
  for (size_t joins = 1; joins < n; ++joins) {
    double least = limit;
    size_t left = n;
    size_t right = n;
    for (size_t a = 0; a < n; ++a) {
      for (size_t b = a + 1; !clusters[a].empty() && b < n; ++b) {
        if (!clusters[b].empty() && distances[a * n + b] < least) {
          least = distances[a * n + b];
          left = a;
          right = b;
        }
      }
    }
    if (left == n) {
      break;
    }
    const auto size_left = static_cast<double>(clusters[left].size());
    const auto size_right = static_cast<double>(clusters[right].size());
    for (size_t c = 0; c < n; ++c) {
      distances[left * n + c] = distances[c * n + left] =
          (size_left * distances[left * n + c] + size_right * distances[right * n + c]) /
          (size_left + size_right);
    }
    clusters[left].insert(clusters[left].end(), clusters[right].begin(), clusters[right].end());
    clusters[right].clear();
  }
  clusters.erase(std::remove_if(clusters.begin(), clusters.end(),
                                [](const std::vector<size_t>& cluster) { return cluster.empty(); }),
                 clusters.end());
  return clusters;
}

}  // namespace concur::analysis
