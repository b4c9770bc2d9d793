// SPDX-License-Identifier: Apache-2.0
#include "analysis/statistics/correlation.h"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "analysis/statistics/spearman_null.h"
#include "analysis/statistics/weighted_rank.h"
#include "base/check.h"

namespace concur::analysis {
namespace {

using Policy = boost::math::policies::policy<
    boost::math::policies::domain_error<boost::math::policies::ignore_error>,
    boost::math::policies::pole_error<boost::math::policies::ignore_error>,
    boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
    boost::math::policies::evaluation_error<boost::math::policies::ignore_error>>;

constexpr double kNoPValue = std::numeric_limits<double>::quiet_NaN();

bool IsConstant(absl::Span<const double> values) {
  return std::all_of(values.begin(), values.end(), [&](double v) { return v == values[0]; });
}

// Checks what makes any of the coefficients undefined; sets n.
Correlation Begin(absl::Span<const double> x, absl::Span<const double> y) {
  CONCUR_CHECK(x.size() == y.size());
  Correlation result;
  result.n = static_cast<int64_t>(x.size());
  if (x.size() < 2) {
    result.undefined = Undefined::kTooFew;
  } else if (const bool constant_y = IsConstant(y); IsConstant(x)) {
    result.undefined = constant_y ? Undefined::kBothConstant : Undefined::kFirstConstant;
  } else if (constant_y) {
    result.undefined = Undefined::kSecondConstant;
  }
  if (!result.defined()) {
    result.p_value = kNoPValue;
  }
  return result;
}

// Counts the groups of positions that `same` joins to their predecessors.
template <typename Same>
Ties CountTies(size_t n, Same same) {
  Ties ties;
  int64_t run = 1;
  for (size_t i = 1; i <= n; ++i) {
    if (i < n && same(i - 1, i)) {
      ++run;
    } else {
      ties.Add(run);
      run = 1;
    }
  }
  return ties;
}

// Sorts `values` and returns how many pairs were out of order: a merge sort from the bottom up.
int64_t SortAndCountInversions(std::vector<double>& values) {
  int64_t inversions = 0;
  std::vector<double> merged(values.size());
  for (size_t width = 1; width < values.size(); width *= 2) {
    for (size_t begin = 0; begin < values.size(); begin += 2 * width) {
      const size_t middle = std::min(begin + width, values.size());
      const size_t end = std::min(begin + 2 * width, values.size());
      size_t left = begin;
      size_t right = middle;
      for (size_t out = begin; out < end; ++out) {
        if (right == end || (left < middle && values[left] <= values[right])) {
          merged[out] = values[left++];
        } else {
          inversions += static_cast<int64_t>(middle - left);
          merged[out] = values[right++];
        }
      }
    }
    values.swap(merged);
  }
  return inversions;
}

// By count, up to the middle: 2 P(number of discordant pairs <= count) among n values without
// ties: permutations by inversions, one element at a time, as probabilities.
std::vector<double> TwiceBelow(int64_t n) {
  const int64_t total = n * (n - 1) / 2;
  std::vector<double> mass(static_cast<size_t>(total / 2) + 1, 0.0);
  mass[0] = 1;
  std::vector<double> next(mass.size());
  for (int64_t size = 2; size <= n; ++size) {
    double window = 0;  // the sum of the last `size` masses, which grow towards the middle
    for (size_t k = 0; k < mass.size(); ++k) {
      window += mass[k];
      if (k >= static_cast<size_t>(size)) {
        window -= mass[k - size];
      }
      next[k] = window / static_cast<double>(size);
    }
    mass.swap(next);
  }
  double sum = 0;
  for (double& value : mass) {
    sum += value;
    value = std::min(1.0, 2 * sum);
  }
  return mass;
}

}  // namespace

void Ties::Add(int64_t t) {
  const auto size = static_cast<double>(t);
  pairs += t * (t - 1) / 2;
  triples += size * (size - 1) * (size - 2);
  spread += size * (size - 1) * (2 * size + 5);
}

double KendallNull::PValue(int64_t n, int64_t discordant) {
  const int64_t total = n * (n - 1) / 2;
  const int64_t count = std::min(discordant, total - discordant);
  if (n <= 2 || 2 * count == total) {
    return 1;
  }
  if (count <= 1) {
    // 1 permutation has no inversion, n - 1 have one: 2 / n! and 2 n / n!.
    double p = 2;
    for (int64_t i = 2; i <= (count == 0 ? n : n - 1); ++i) {
      p /= static_cast<double>(i);
    }
    return std::min(1.0, p);
  }
  CONCUR_CHECK(n <= kSizeMax);
  below_.resize(kSizeMax + 1);
  std::vector<double>& below = below_[static_cast<size_t>(n)];
  if (below.empty()) {
    below = TwiceBelow(n);
  }
  return below[static_cast<size_t>(count)];
}

Correlation KendallFromCounts(int64_t n, int64_t difference, const Ties& x, const Ties& y,
                              bool with_p_value, KendallNull& null) {
  const int64_t total = n * (n - 1) / 2;
  Correlation result;
  result.n = n;
  result.p_value = kNoPValue;
  // One square root: exactly the difference when both lists order the same pairs.
  const double scale =
      std::sqrt(static_cast<double>(total - x.pairs) * static_cast<double>(total - y.pairs));
  result.value = std::clamp(static_cast<double>(difference) / scale, -1.0, 1.0);
  if (!with_p_value) {
    return result;
  }
  const int64_t discordant = (total - difference) / 2;  // without ties
  if (x.pairs == 0 && y.pairs == 0 &&
      (n <= KendallNull::kSizeMax || std::min(discordant, total - discordant) <= 1)) {
    result.p_value = null.PValue(n, discordant);
    return result;
  }
  const auto size = static_cast<double>(n);
  const double m = size * (size - 1);
  double variance = (m * (2 * size + 5) - x.spread - y.spread) / 18 +
                    2 * static_cast<double>(x.pairs) * static_cast<double>(y.pairs) / m;
  if (n > 2) {
    variance += x.triples * y.triples / (9 * m * (size - 2));
  }
  result.p_value =
      std::erfc(std::abs(static_cast<double>(difference)) / std::sqrt(variance) / std::sqrt(2.0));
  return result;
}

Correlation PearsonFromSums(int64_t n, double xx, double yy, double xy) {
  Correlation result;
  result.n = n;
  result.p_value = kNoPValue;
  if (xx == 0 || yy == 0) {
    result.undefined = xx != 0   ? Undefined::kSecondConstant
                       : yy != 0 ? Undefined::kFirstConstant
                                 : Undefined::kBothConstant;
    return result;
  }
  result.value = xy / std::sqrt(xx * yy);
  // Least magnitude that rounding leaves for points on a line.
  constexpr double kOne = 1 - 4 * std::numeric_limits<double>::epsilon();
  if (std::abs(result.value) > kOne) {
    result.value = result.value > 0 ? 1 : -1;
  }
  return result;
}

double PearsonPValue(int64_t n, double r) {
  if (n == 2) {
    return 1;
  }
  const double half = static_cast<double>(n) / 2 - 1;
  return 2 * boost::math::ibeta(half, half, (1 - std::abs(r)) / 2, Policy());
}

std::vector<double> ScaledDifferences(absl::Span<const double> values, double reference) {
  double largest = std::abs(reference);
  for (const double value : values) {
    largest = std::max(largest, std::abs(value));
  }
  // Powers of two, which round nothing.
  constexpr double kHuge = 0x1p+1000;
  constexpr double kTiny = 0x1p-960;
  const double scale = largest > kHuge ? 0x1p-60 : largest < kTiny ? 0x1p+60 : 1;
  std::vector<double> differences(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    differences[i] = values[i] * scale - reference * scale;
  }
  return differences;
}

std::vector<double> ScaledDeviations(absl::Span<const double> values) {
  if (values.empty() || IsConstant(values)) {
    return std::vector<double>(values.size(), 0.0);
  }
  // Differences from one of the values are rounded by 1 part in 2^53 of the spread, whatever the
  // size of the values; what is left to center is as small as the spread.
  std::vector<double> deviations = ScaledDifferences(values, values[0]);
  double mean = 0;
  for (const double deviation : deviations) {
    mean += deviation;
  }
  mean /= static_cast<double>(values.size());
  double largest = 0;
  for (double& deviation : deviations) {
    deviation -= mean;
    largest = std::max(largest, std::abs(deviation));
  }
  if (largest > 0) {
    for (double& deviation : deviations) {
      deviation /= largest;
    }
  }
  return deviations;
}

Correlation KendallTauB(absl::Span<const double> x, absl::Span<const double> y) {
  Correlation result = Begin(x, y);
  if (!result.defined()) {
    return result;
  }
  const size_t n = x.size();
  std::vector<std::pair<double, double>> points(n);
  for (size_t i = 0; i < n; ++i) {
    points[i] = {x[i], y[i]};
  }
  std::sort(points.begin(), points.end());
  const Ties ties_x =
      CountTies(n, [&](size_t a, size_t b) { return points[a].first == points[b].first; });
  const Ties ties_both = CountTies(n, [&](size_t a, size_t b) { return points[a] == points[b]; });
  std::vector<double> sorted_y(n);
  for (size_t i = 0; i < n; ++i) {
    sorted_y[i] = points[i].second;
  }
  const int64_t discordant = SortAndCountInversions(sorted_y);
  const Ties ties_y = CountTies(n, [&](size_t a, size_t b) { return sorted_y[a] == sorted_y[b]; });
  const auto size = static_cast<int64_t>(n);
  const int64_t total = size * (size - 1) / 2;
  const int64_t difference = total - ties_x.pairs - ties_y.pairs + ties_both.pairs - 2 * discordant;
  KendallNull null;
  return KendallFromCounts(size, difference, ties_x, ties_y, true, null);
}

Correlation KendallTauBWithin(absl::Span<const double> x, absl::Span<const double> y,
                              double within_x, double within_y) {
  if (within_x == 0 && within_y == 0) {
    return KendallTauB(x, y);
  }
  Correlation result;
  result.n = static_cast<int64_t>(x.size());
  result.p_value = kNoPValue;
  if (x.size() < 2) {
    result.undefined = Undefined::kTooFew;
    return result;
  }
  Ties ties_x;
  Ties ties_y;
  int64_t difference = 0;
  const auto sign = [](double a, double b, double within) {
    return static_cast<int64_t>(ExceedsBy(a, b, within)) -
           static_cast<int64_t>(ExceedsBy(b, a, within));
  };
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const int64_t sign_x = sign(x[i], x[j], within_x);
      const int64_t sign_y = sign(y[i], y[j], within_y);
      difference += sign_x * sign_y;
      ties_x.pairs += 1 - sign_x * sign_x;
      ties_y.pairs += 1 - sign_y * sign_y;
    }
  }
  const int64_t total = result.n * (result.n - 1) / 2;
  if (ties_x.pairs == total || ties_y.pairs == total) {
    result.undefined = ties_x.pairs != total   ? Undefined::kSecondConstant
                       : ties_y.pairs != total ? Undefined::kFirstConstant
                                               : Undefined::kBothConstant;
    return result;
  }
  KendallNull null;
  return KendallFromCounts(result.n, difference, ties_x, ties_y, false, null);
}

namespace {

Correlation PearsonValue(absl::Span<const double> x, absl::Span<const double> y) {
  const std::vector<double> dx = ScaledDeviations(x);
  const std::vector<double> dy = ScaledDeviations(y);
  double xx = 0;
  double yy = 0;
  double xy = 0;
  for (size_t i = 0; i < dx.size(); ++i) {
    xx += dx[i] * dx[i];
    yy += dy[i] * dy[i];
    xy += dx[i] * dy[i];
  }
  return PearsonFromSums(static_cast<int64_t>(x.size()), xx, yy, xy);
}

}  // namespace

Correlation PearsonR(absl::Span<const double> x, absl::Span<const double> y) {
  Correlation result = Begin(x, y);
  if (!result.defined()) {
    return result;
  }
  result = PearsonValue(x, y);
  if (result.defined()) {
    result.p_value = PearsonPValue(result.n, result.value);
  }
  return result;
}

Correlation SpearmanRho(absl::Span<const double> x, absl::Span<const double> y) {
  Correlation result = Begin(x, y);
  if (!result.defined()) {
    return result;
  }
  const std::vector<double> ranks_x = AverageRanks(x);
  const std::vector<double> ranks_y = AverageRanks(y);
  result = PearsonValue(ranks_x, ranks_y);
  if (result.defined()) {
    SpearmanNull null;
    result.p_value = null.PValue(ranks_x, ranks_y, result.value);
  }
  return result;
}

Correlation Correlate(Coefficient coefficient, absl::Span<const double> x,
                      absl::Span<const double> y, size_t top) {
  switch (coefficient) {
    case Coefficient::kKendall:
      return KendallTauB(x, y);
    case Coefficient::kPearson:
      return PearsonR(x, y);
    case Coefficient::kSpearman:
      return SpearmanRho(x, y);
    case Coefficient::kWeightedKendall:
      return WeightedKendall(x, y);
    case Coefficient::kTopK:
      return TopKOverlap(x, y, top);
    case Coefficient::kRbo:
      return RankBiasedOverlap(x, y);
  }
  return {};
}

std::vector<double> AverageRanks(absl::Span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) {
      ++end;
    }
    const double rank = static_cast<double>(begin + 1 + end) / 2;
    for (size_t i = begin; i < end; ++i) {
      ranks[order[i]] = rank;
    }
    begin = end;
  }
  return ranks;
}

}  // namespace concur::analysis
