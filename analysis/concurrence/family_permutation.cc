// SPDX-License-Identifier: Apache-2.0
#include "analysis/concurrence/family_permutation.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "analysis/score_table.h"
#include "analysis/statistics/correlation.h"
#include "base/random.h"

namespace concur::analysis {

double FamilyPermutationPValue(const ScoreTable& table,
                               const std::vector<std::vector<size_t>>& families, size_t a, size_t b,
                               Coefficient coefficient, size_t top, int64_t permutations) {
  std::vector<double> x;
  std::vector<double> y;
  std::vector<std::vector<double>> blocks;  // values of y, by family
  for (const std::vector<size_t>& family : families) {
    std::vector<double> block;
    for (const size_t i : family) {
      if (table.cell(i, a).state == CellState::kValue &&
          table.cell(i, b).state == CellState::kValue) {
        x.push_back(table.cell(i, a).value);
        block.push_back(table.cell(i, b).value);
      }
    }
    if (!block.empty()) {
      y.insert(y.end(), block.begin(), block.end());
      blocks.push_back(std::move(block));
    }
  }
  const Correlation observed = Correlate(coefficient, x, y, top);
  if (!observed.defined()) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  constexpr double kTieMargin = 1e-12;
  const double bound = std::abs(observed.value) - kTieMargin;
  Random random(1, "permutation/families");
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  int64_t as_far = 1;  // the observation (Davison and Hinkley, 1997, § 4.3)
  for (int64_t permutation = 0; permutation < permutations; ++permutation) {
    random.Shuffle(order);
    y.clear();
    for (size_t f = 0; f < blocks.size(); ++f) {
      std::vector<double> from = blocks[order[f]];
      random.Shuffle(from);
      for (size_t i = 0; i < blocks[f].size(); ++i) {
        y.push_back(from[i % from.size()]);
      }
    }
    const Correlation permuted = Correlate(coefficient, x, y, top);
    as_far += !permuted.defined() || std::abs(permuted.value) >= bound ? 1 : 0;
  }
  return static_cast<double>(as_far) / static_cast<double>(permutations + 1);
}

}  // namespace concur::analysis
