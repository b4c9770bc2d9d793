// SPDX-License-Identifier: Apache-2.0
#include "analysis/statistics/weighted_rank.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "analysis/statistics/coefficient.h"
#include "base/check.h"

namespace concur::analysis {
namespace {

constexpr double kNoRank = std::numeric_limits<double>::quiet_NaN();

// Weights of exchanges, summed over every two values of a group. A value that stands m times and
// whose copies' weights sum to w meets one of (m', w') with weight m' w + m w'; copies of one value
// never differ and are left out of every sum.
struct GroupSum {
  double count = 0;
  double weight = 0;
  double own = 0;

  void Add(double m, double w) {
    count += m;
    weight += w;
    own += m * w;
  }
  double Pairs() const { return weight * count - own; }
};

// The weights of all groups of neighbours in `order` that `same` joins.
template <typename Same>
double TiedWeight(const std::vector<uint32_t>& order, absl::Span<const double> counts,
                  const std::vector<double>& weights, Same same) {
  double tied = 0;
  for (size_t begin = 0; begin < order.size();) {
    GroupSum group;
    size_t end = begin;
    for (; end < order.size() && same(order[begin], order[end]); ++end) {
      group.Add(counts[order[end]], weights[order[end]]);
    }
    tied += group.Pairs();
    begin = end;
  }
  return tied;
}

// Sorts scratch.order by falling y and returns the weight of the pairs that were out of order.
double SortAndWeighExchanges(absl::Span<const double> y, absl::Span<const double> counts,
                             RankScratch& scratch) {
  std::vector<uint32_t>& order = scratch.order;
  scratch.merged.resize(order.size());
  double exchanged = 0;
  for (size_t width = 1; width < order.size(); width *= 2) {
    for (size_t begin = 0; begin < order.size(); begin += 2 * width) {
      const size_t middle = std::min(begin + width, order.size());
      const size_t end = std::min(begin + 2 * width, order.size());
      double count = 0;  // sum of what remains on the left
      double weight = 0;
      for (size_t i = begin; i < middle; ++i) {
        count += counts[order[i]];
        weight += scratch.weights[order[i]];
      }
      size_t left = begin;
      size_t right = middle;
      for (size_t out = begin; out < end; ++out) {
        if (right == end || (left < middle && y[order[left]] >= y[order[right]])) {
          const uint32_t i = order[left++];
          count -= counts[i];
          weight -= scratch.weights[i];
          scratch.merged[out] = i;
        } else {
          const uint32_t i = order[right++];
          exchanged += counts[i] * weight + scratch.weights[i] * count;
          scratch.merged[out] = i;
        }
      }
    }
    order.swap(scratch.merged);
  }
  return exchanged;
}

// Weighted tau with ranks by falling x, ties by falling y. What is tied in both may stand in any
// order: it only trades weights among equals.
double RankedBy(absl::Span<const double> x, absl::Span<const double> y,
                absl::Span<const double> counts, RankScratch& scratch) {
  std::vector<uint32_t>& order = scratch.order;
  order.resize(x.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return x[a] != x[b] ? x[a] > x[b] : y[a] != y[b] ? y[a] > y[b] : a < b;
  });
  scratch.weights.resize(x.size());
  GroupSum all;
  int64_t rank = 0;
  for (const uint32_t i : order) {
    double weight = 0;
    for (auto copies = static_cast<int64_t>(counts[i]); copies > 0; --copies) {
      weight += 1 / static_cast<double>(++rank);
    }
    scratch.weights[i] = weight;
    all.Add(counts[i], weight);
  }
  const double tied_x = TiedWeight(order, counts, scratch.weights,
                                   [&](uint32_t a, uint32_t b) { return x[a] == x[b]; });
  const double tied_both = TiedWeight(order, counts, scratch.weights, [&](uint32_t a, uint32_t b) {
    return x[a] == x[b] && y[a] == y[b];
  });
  const double exchanged = SortAndWeighExchanges(y, counts, scratch);
  const double tied_y = TiedWeight(order, counts, scratch.weights,
                                   [&](uint32_t a, uint32_t b) { return y[a] == y[b]; });
  const double total = all.Pairs();
  const double difference = total - (tied_x + tied_y - tied_both) - 2 * exchanged;
  return difference / std::sqrt(total - tied_x) / std::sqrt(total - tied_y);
}

bool IsConstantRanking(absl::Span<const double> values) {
  return std::all_of(values.begin(), values.end(), [&](double v) { return v == values[0]; });
}

Correlation BeginRanking(absl::Span<const double> x, absl::Span<const double> y, size_t more_than,
                         Undefined too_few) {
  CONCUR_CHECK(x.size() == y.size());
  Correlation result;
  result.n = static_cast<int64_t>(x.size());
  result.p_value = kNoRank;
  if (x.size() < 2) {
    result.undefined = Undefined::kTooFew;
  } else if (x.size() <= more_than) {
    result.undefined = too_few;
  } else if (const bool constant_y = IsConstantRanking(y); IsConstantRanking(x)) {
    result.undefined = constant_y ? Undefined::kBothConstant : Undefined::kFirstConstant;
  } else if (constant_y) {
    result.undefined = Undefined::kSecondConstant;
  }
  return result;
}

// Share of each value, by position, that is among the `top` best. As counts are at least 1, the
// last place goes to one of the `top` largest values: no others are sorted.
void FillMembers(absl::Span<const double> values, absl::Span<const double> counts, size_t top,
                 std::vector<uint32_t>& order, std::vector<double>& members) {
  order.resize(values.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto better = [&](uint32_t a, uint32_t b) { return values[a] > values[b]; };
  const auto largest = order.begin() + static_cast<std::ptrdiff_t>(std::min(top, order.size()));
  std::nth_element(order.begin(), largest, order.end(), better);
  std::sort(order.begin(), largest, better);
  const auto places = static_cast<double>(top);
  double last = values[order[0]];
  double taken = 0;
  for (auto i = order.begin(); i != largest && taken < places; ++i) {
    last = values[*i];
    taken += counts[*i];
  }
  double above = 0;
  double tied = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    above += values[i] > last ? counts[i] : 0;
    tied += values[i] == last ? counts[i] : 0;
  }
  const double share = std::min(1.0, (places - above) / tied);
  members.resize(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    members[i] = values[i] > last ? 1 : values[i] == last ? share : 0;
  }
}

}  // namespace

double WeightedKendallValue(absl::Span<const double> x, absl::Span<const double> y,
                            absl::Span<const double> counts, RankScratch& scratch) {
  if (x.size() < 2 || IsConstantRanking(x) || IsConstantRanking(y)) {
    return kNoRank;
  }
  const double value = (RankedBy(x, y, counts, scratch) + RankedBy(y, x, counts, scratch)) / 2;
  // Least magnitude that rounding leaves for equal (or opposite) orders.
  constexpr double kOne = 1 - 1e-13;
  return value > kOne ? 1 : value < -kOne ? -1 : value;
}

double TopKValue(absl::Span<const double> x, absl::Span<const double> y,
                 absl::Span<const double> counts, size_t top, RankScratch& scratch) {
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  if (total <= static_cast<double>(top) || x.size() < 2 || IsConstantRanking(x) ||
      IsConstantRanking(y)) {
    return kNoRank;
  }
  FillMembers(x, counts, top, scratch.order, scratch.members_x);
  FillMembers(y, counts, top, scratch.order, scratch.members_y);
  double shared = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    shared += counts[i] * std::min(scratch.members_x[i], scratch.members_y[i]);
  }
  return std::min(1.0, shared / static_cast<double>(top));
}

double RankBiasedOverlapOfRanks(absl::Span<const double> x, absl::Span<const double> y,
                                absl::Span<const double> counts, RankScratch& scratch) {
  if (x.size() < 2 || IsConstantRanking(x) || IsConstantRanking(y)) {
    return kNoRank;
  }
  // Replaces the counts by rank by how many values are better.
  const auto fill_better = [&](absl::Span<const double> ranks, std::vector<double>& better) {
    better.assign(static_cast<size_t>(*std::max_element(ranks.begin(), ranks.end())) + 1, 0.0);
    for (size_t i = 0; i < ranks.size(); ++i) {
      better[static_cast<size_t>(ranks[i])] += counts[i];
    }
    double above = 0;
    for (size_t rank = better.size(); rank-- > 0;) {
      above += std::exchange(better[rank], above);
    }
    return static_cast<size_t>(above);
  };
  const size_t total = fill_better(x, scratch.members_x);
  fill_better(y, scratch.members_y);
  // Counts that enter each list, and both, at a depth: what has d better ones stands at d + 1.
  std::vector<double>& entering = scratch.weights;
  entering.assign(3 * total, 0.0);
  for (size_t i = 0; i < x.size(); ++i) {
    const auto at_x = static_cast<size_t>(scratch.members_x[static_cast<size_t>(x[i])]);
    const auto at_y = static_cast<size_t>(scratch.members_y[static_cast<size_t>(y[i])]);
    entering[3 * at_x] += counts[i];
    entering[3 * at_y + 1] += counts[i];
    entering[3 * std::max(at_x, at_y) + 2] += counts[i];
  }
  double in_lists = 0;
  double in_both = 0;
  double weight = 1 - kRboPersistence;  // that of the depth
  double value = 0;
  for (size_t depth = 0; depth < total; ++depth) {
    in_lists += entering[3 * depth] + entering[3 * depth + 1];
    in_both += entering[3 * depth + 2];
    value += weight * 2 * in_both / in_lists;
    weight *= kRboPersistence;
  }
  value += weight / (1 - kRboPersistence);
  constexpr double kOne = 1 - 1e-13;  // equal orders, but for rounding
  return value > kOne ? 1 : value;
}

double RankBiasedOverlapValue(absl::Span<const double> x, absl::Span<const double> y,
                              absl::Span<const double> counts, RankScratch& scratch) {
  const auto ranks = [&](absl::Span<const double> values) {
    scratch.order.resize(values.size());
    std::iota(scratch.order.begin(), scratch.order.end(), 0U);
    std::sort(scratch.order.begin(), scratch.order.end(),
              [&](uint32_t a, uint32_t b) { return values[a] < values[b]; });
    std::vector<double> result(values.size());
    double rank = 0;
    for (size_t k = 0; k < values.size(); ++k) {
      rank += k == 0 || values[scratch.order[k]] != values[scratch.order[k - 1]] ? 1 : 0;
      result[scratch.order[k]] = rank;
    }
    return result;
  };
  return RankBiasedOverlapOfRanks(ranks(x), ranks(y), counts, scratch);
}

std::vector<double> TopMembers(absl::Span<const double> values, size_t top) {
  std::vector<uint32_t> order;
  std::vector<double> members;
  FillMembers(values, std::vector<double>(values.size(), 1.0), top, order, members);
  return members;
}

double SharedTop(absl::Span<const double> members_x, absl::Span<const double> members_y,
                 size_t top) {
  double shared = 0;
  for (size_t i = 0; i < members_x.size(); ++i) {
    shared += std::min(members_x[i], members_y[i]);
  }
  return std::min(1.0, shared / static_cast<double>(top));
}

Correlation WeightedKendall(absl::Span<const double> x, absl::Span<const double> y) {
  Correlation result = BeginRanking(x, y, 1, Undefined::kTooFew);
  if (result.defined()) {
    RankScratch scratch;
    const std::vector<double> counts(x.size(), 1.0);
    result.value = WeightedKendallValue(x, y, counts, scratch);
  }
  return result;
}

Correlation RankBiasedOverlap(absl::Span<const double> x, absl::Span<const double> y) {
  Correlation result = BeginRanking(x, y, 1, Undefined::kTooFew);
  if (result.defined()) {
    RankScratch scratch;
    result.value = RankBiasedOverlapValue(x, y, std::vector<double>(x.size(), 1.0), scratch);
  }
  return result;
}

Correlation TopKOverlap(absl::Span<const double> x, absl::Span<const double> y, size_t top) {
  CONCUR_CHECK(top >= 1);
  Correlation result = BeginRanking(x, y, top, Undefined::kAllOnTop);
  if (result.defined()) {
    result.value = SharedTop(TopMembers(x, top), TopMembers(y, top), top);
  }
  return result;
}

}  // namespace concur::analysis
