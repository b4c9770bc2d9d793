// SPDX-License-Identifier: Apache-2.0
#include "analysis/statistics/spearman_null.h"

#include <algorithm>
#include <bit>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <vector>

#include "absl/types/span.h"

namespace concur::analysis {
namespace {

// Twice the ranks' distance from their mean: whole numbers.
std::vector<int> DoubledRanks(absl::Span<const double> ranks) {
  std::vector<int> doubled;
  for (const double rank : ranks) {
    doubled.push_back(static_cast<int>(std::lround(2 * rank)) - static_cast<int>(ranks.size()) - 1);
  }
  return doubled;
}

// For each s from 0: the share of all pairings of x and y whose sum of products is s or more in
// size. Counts sums over subsets of y, the first k values of x being paired with k values of y.
std::vector<double> TailsOf(const std::vector<int>& x, const std::vector<int>& y) {
  int squares_x = 0;
  int squares_y = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    squares_x += x[i] * x[i];
    squares_y += y[i] * y[i];
  }
  // No partial sum is larger (Cauchy and Schwarz).
  const int bound = std::max(squares_x, squares_y);
  const auto width = 2 * static_cast<size_t>(bound) + 1;
  const uint32_t subsets = uint32_t{1} << x.size();
  std::vector<double> ways(subsets * width, 0.0);
  ways[static_cast<size_t>(bound)] = 1;
  for (uint32_t subset = 0; subset + 1 < subsets; ++subset) {
    const int next = x[static_cast<size_t>(std::popcount(subset))];
    const double* from = ways.data() + subset * width;
    for (size_t j = 0; j < y.size(); ++j) {
      const uint32_t bit = uint32_t{1} << j;
      if ((subset & bit) != 0) {
        continue;
      }
      const int product = next * y[j];
      double* to = ways.data() + (subset | bit) * width;
      for (int s = std::max(0, -product); s < static_cast<int>(width) - std::max(0, product); ++s) {
        to[s + product] += from[s];
      }
    }
  }
  const double* all = ways.data() + (subsets - 1) * width;
  double total = 0;
  std::vector<double> tails(static_cast<size_t>(bound) + 1, 0.0);
  for (int s = bound; s >= 0; --s) {
    total += all[bound + s] + (s > 0 ? all[bound - s] : 0);
    tails[static_cast<size_t>(s)] = total;
  }
  for (double& tail : tails) {
    tail /= total;
  }
  return tails;
}

double ByStudentsT(size_t n, double rho) {
  const auto degrees = static_cast<double>(n) - 2;
  const double rest = (1 + rho) * (1 - rho);
  if (rest <= 0) {
    return 2 / std::tgamma(static_cast<double>(n) + 1);
  }
  const double t = std::abs(rho) * std::sqrt(degrees / rest);
  using NullPolicy = boost::math::policies::policy<
      boost::math::policies::overflow_error<boost::math::policies::ignore_error>>;
  const boost::math::students_t_distribution<double, NullPolicy> distribution(degrees);
  return 2 * boost::math::cdf(boost::math::complement(distribution, t));
}

}  // namespace

double SpearmanNull::PValue(absl::Span<const double> ranks_x, absl::Span<const double> ranks_y,
                            double rho) {
  const size_t n = ranks_x.size();
  if (n <= 2) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (n > kSizeMax) {
    return ByStudentsT(n, rho);
  }
  std::vector<int> x = DoubledRanks(ranks_x);
  std::vector<int> y = DoubledRanks(ranks_y);
  int observed = 0;
  for (size_t i = 0; i < n; ++i) {
    observed += x[i] * y[i];
  }
  std::sort(x.begin(), x.end());
  std::sort(y.begin(), y.end());
  std::vector<int> key = x;
  key.insert(key.end(), y.begin(), y.end());
  std::vector<double>& tails = tails_[key];
  if (tails.empty()) {
    tails = TailsOf(x, y);
  }
  return tails[static_cast<size_t>(std::abs(observed))];
}

}  // namespace concur::analysis
