// SPDX-License-Identifier: Apache-2.0
#include "analysis/statistics/weighted_columns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "base/check.h"

namespace concur::analysis {
namespace {

constexpr size_t kLanes = 8;
constexpr size_t kHalf = kLanes / 2;
constexpr int32_t kPositionBits = 16;
constexpr int32_t kPositionMask = (1 << kPositionBits) - 1;

// Arrays are not aligned as these are: they are copied, not cast.
using LaneKeys = int32_t __attribute__((vector_size(4 * kLanes)));
using HalfKeys = int32_t __attribute__((vector_size(4 * kHalf)));
using HalfMask = int64_t __attribute__((vector_size(8 * kHalf)));
using HalfSums = double __attribute__((vector_size(8 * kHalf)));

// A group of equal values, each once: the weight of every two.
struct TiedGroup {
  double count = 0;
  double weight = 0;

  void Add(double w) {
    count += 1;
    weight += w;
  }
  double Pairs() const { return weight * count - weight; }
};

// Sorts two neighbouring sorted blocks of `width` rows into one, in every lane, by a network: the
// same comparisons whatever the values are. Rows from `end` on do not exist, and count as larger.
inline __attribute__((always_inline)) void MergeBlocks(int32_t* keys, size_t begin, size_t width,
                                                       size_t end) {
  const auto sort_two = [keys](size_t a, size_t b) __attribute__((always_inline)) {
    LaneKeys first;
    LaneKeys second;
    std::memcpy(&first, keys + a * kLanes, sizeof(first));
    std::memcpy(&second, keys + b * kLanes, sizeof(second));
    const LaneKeys less = first < second ? first : second;
    const LaneKeys more = first < second ? second : first;
    std::memcpy(keys + a * kLanes, &less, sizeof(less));
    std::memcpy(keys + b * kLanes, &more, sizeof(more));
  };
  const size_t last = begin + 2 * width - 1;
  for (size_t k = last < end ? 0 : last - end + 1; k < width; ++k) {
    sort_two(begin + k, last - k);
  }
  for (size_t distance = width / 2; distance > 0; distance /= 2) {
    for (size_t part = begin; part + distance < std::min(begin + 2 * width, end);
         part += 2 * distance) {
      const size_t stop = std::min(part + distance, end - distance);
      for (size_t a = part; a < stop; ++a) {
        sort_two(a, a + distance);
      }
    }
  }
}

// Walks through the rows of a merged block in order, for half of the lanes: adds to `exchanged` the
// weights of the pairs that the merge exchanged, and leaves in `total` the weight of all rows,
// which was that of the left half of them. In the order of the merge sort in weighted_rank.cc.
inline __attribute__((always_inline)) void WeighBlock(const int32_t* keys, size_t begin,
                                                      size_t width, size_t end,
                                                      const double* weights, double* exchanged,
                                                      double* total) {
  const HalfSums zero = {};
  HalfSums weight;
  HalfSums sum;
  std::memcpy(&weight, total, sizeof(weight));
  std::memcpy(&sum, exchanged, sizeof(sum));
  HalfSums all = zero;
  HalfSums count = zero + static_cast<double>(width);
  const HalfSums one = zero + 1.0;
  for (size_t row = begin; row < end; ++row) {
    const int32_t* key = keys + row * kLanes;
    HalfSums w;
    for (size_t lane = 0; lane < kHalf; ++lane) {
      w[lane] = weights[key[lane] & kPositionMask];
    }
    HalfKeys side;
    std::memcpy(&side, key, sizeof(side));
    side = (side & static_cast<int32_t>(width)) == 0;
    const HalfMask left = __builtin_convertvector(side, HalfMask);
    weight -= reinterpret_cast<HalfSums>(left & reinterpret_cast<HalfMask>(w));
    count -= reinterpret_cast<HalfSums>(left & reinterpret_cast<HalfMask>(one));
    const HalfSums exchange = weight + w * count;
    sum += reinterpret_cast<HalfSums>(~left & reinterpret_cast<HalfMask>(exchange));
    all += w;
  }
  std::memcpy(exchanged, &sum, sizeof(sum));
  std::memcpy(total, &all, sizeof(all));
}

// Sorts all lanes and sums what each exchanged. `totals` has kLanes numbers for each row.
inline __attribute__((always_inline)) void SortLanes(int32_t* keys, size_t rows,
                                                     const double* weights, double* totals,
                                                     double* exchanged) {
  for (size_t row = 0; row < rows; ++row) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      totals[row * kLanes + lane] = weights[keys[row * kLanes + lane] & kPositionMask];
    }
  }
  for (size_t width = 1; width < rows; width *= 2) {
    size_t block = 0;
    for (size_t begin = 0; begin + width < rows; begin += 2 * width, ++block) {
      const size_t end = std::min(begin + 2 * width, rows);
      MergeBlocks(keys, begin, width, end);
      double* const total = totals + block * kLanes;
      std::memmove(total, totals + 2 * block * kLanes, kLanes * sizeof(double));
      WeighBlock(keys, begin, width, end, weights, exchanged, total);
      WeighBlock(keys + kHalf, begin, width, end, weights, exchanged + kHalf, total + kHalf);
    }
    if (block * 2 * width < rows) {  // alone, so that it stays as it is
      std::memmove(totals + block * kLanes, totals + 2 * block * kLanes, kLanes * sizeof(double));
    }
  }
}

#if defined(__x86_64__)
// With AVX2, which most processors have but baseline x86-64 lacks. No fused operations: the same
// bits.
__attribute__((target("avx2"))) void SortLanesWide(int32_t* keys, size_t rows,
                                                   const double* weights, double* totals,
                                                   double* exchanged) {
  SortLanes(keys, rows, weights, totals, exchanged);
}
#endif

void SortAndWeighLanes(int32_t* keys, size_t rows, const double* weights, double* totals,
                       double* exchanged) {
#if defined(__x86_64__)
  static const bool has_wide = __builtin_cpu_supports("avx2") != 0;
  if (has_wide) {
    SortLanesWide(keys, rows, weights, totals, exchanged);
    return;
  }
#endif
  SortLanes(keys, rows, weights, totals, exchanged);
}

}  // namespace

struct WeightedColumns::Work {
  // By row and lane: the rank in y and the position in x, in the high and the low bits.
  std::vector<int32_t> keys;
  std::vector<double> totals;  // sums over blocks of rows
  std::vector<uint16_t> next;  // for each group of x, where its next value goes
};

WeightedColumns::WeightedColumns(size_t rows) : rows_(rows), weights_(rows) {
  CONCUR_CHECK(rows >= 2 && rows <= kRowsMax);
  TiedGroup all;
  for (size_t rank = 0; rank < rows; ++rank) {
    weights_[rank] = 1 / static_cast<double>(rank + 1);
    all.Add(weights_[rank]);
  }
  total_ = all.Pairs();
}

size_t WeightedColumns::Add(absl::Span<const double> values) {
  CONCUR_CHECK(values.size() == rows_);
  Column column;
  column.order.resize(rows_);
  column.first.resize(rows_);
  std::iota(column.order.begin(), column.order.end(), uint16_t{0});
  std::sort(column.order.begin(), column.order.end(), [&](uint16_t a, uint16_t b) {
    return values[a] != values[b] ? values[a] > values[b] : a < b;
  });
  for (size_t begin = 0; begin < rows_;) {
    TiedGroup group;
    size_t end = begin;
    for (; end < rows_ && values[column.order[end]] == values[column.order[begin]]; ++end) {
      column.first[column.order[end]] = static_cast<uint16_t>(begin);
      group.Add(weights_[end]);
    }
    if (end - begin > 1) {
      column.ties.emplace_back(static_cast<uint16_t>(begin), static_cast<uint16_t>(end));
      column.tied += group.Pairs();
    }
    begin = end;
  }
  columns_.push_back(std::move(column));
  return columns_.size() - 1;
}

void WeightedColumns::FillRows(const Column& x, const Column& y, size_t lane, Work& work) const {
  work.next.resize(rows_);
  std::iota(work.next.begin(), work.next.end(), uint16_t{0});
  for (const uint16_t i : y.order) {
    const uint16_t position = work.next[x.first[i]]++;
    work.keys[position * kLanes + lane] =
        static_cast<int32_t>(uint32_t{y.first[i]} << kPositionBits | position);
  }
}

double WeightedColumns::TiedInBoth(const Column& x, size_t lane, const Work& work) const {
  const auto rank = [&](size_t row) { return work.keys[row * kLanes + lane] >> kPositionBits; };
  double tied = 0;
  for (const auto& [first, last] : x.ties) {
    for (size_t begin = first; begin < last;) {
      TiedGroup group;
      size_t end = begin;
      for (; end < last && rank(end) == rank(begin); ++end) {
        group.Add(weights_[end]);
      }
      if (end - begin > 1) {
        tied += group.Pairs();
      }
      begin = end;
    }
  }
  return tied;
}

double WeightedColumns::TiedInRows(const Column& y, size_t lane, const Work& work) const {
  double tied = 0;
  for (const auto& [first, last] : y.ties) {
    TiedGroup group;
    for (size_t row = first; row < last; ++row) {
      group.Add(weights_[static_cast<size_t>(work.keys[row * kLanes + lane] & kPositionMask)]);
    }
    tied += group.Pairs();
  }
  return tied;
}

void WeightedColumns::RankedBy(size_t x, absl::Span<double> out) const {
  CONCUR_CHECK(out.size() == size());
  const Column& ranking = columns_[x];
  Work work;
  work.keys.assign(rows_ * kLanes, 0);
  work.totals.resize(rows_ * kLanes);
  for (size_t first = 0; first < size(); first += kLanes) {
    const size_t lanes = std::min(kLanes, size() - first);
    std::array<double, kLanes> tied_both{};
    for (size_t lane = 0; lane < kLanes; ++lane) {
      // Lanes without a column of their own repeat one.
      const size_t y = first + std::min(lane, lanes - 1);
      FillRows(ranking, columns_[y], lane, work);
      tied_both[lane] = TiedInBoth(ranking, lane, work);
    }
    std::array<double, kLanes> exchanged{};
    SortAndWeighLanes(work.keys.data(), rows_, weights_.data(), work.totals.data(),
                      exchanged.data());
    for (size_t lane = 0; lane < lanes; ++lane) {
      const Column& other = columns_[first + lane];
      const double tied_y = TiedInRows(other, lane, work);
      const double difference =
          total_ - (ranking.tied + tied_y - tied_both[lane]) - 2 * exchanged[lane];
      out[first + lane] =
          difference / std::sqrt(total_ - ranking.tied) / std::sqrt(total_ - tied_y);
    }
  }
}

double WeightedColumns::Mean(double by_x, double by_y) {
  const double value = (by_x + by_y) / 2;
  // Least magnitude that rounding leaves for equal (or opposite) orders.
  constexpr double kOne = 1 - 1e-13;
  return value > kOne ? 1 : value < -kOne ? -1 : value;
}

}  // namespace concur::analysis
