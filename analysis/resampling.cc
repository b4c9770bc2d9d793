// SPDX-License-Identifier: Apache-2.0
#include "analysis/resampling.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "analysis/statistics/correlation.h"
#include "base/check.h"

namespace concur::analysis {
namespace {

constexpr double kNoReplicate = std::numeric_limits<double>::quiet_NaN();
constexpr size_t kBlock = 32;  // lanes that one pass keeps in registers

template <typename Vector, typename Lane>
constexpr size_t kLanesOf = sizeof(Vector) / sizeof(Lane);

// Unaligned, so that wider ones can read what narrower ones wrote.
using Shorts16 = int16_t __attribute__((vector_size(16), aligned(2), may_alias));
using Shorts32 = int16_t __attribute__((vector_size(32), aligned(2), may_alias));

// Adds up right * left over the rows of two matrices that are `stride` wide: one column of `left`
// and kBlock columns of `right`. Whole numbers: the width of the vectors cannot change a bit.
template <typename Vector>
inline __attribute__((always_inline)) void SumProducts(const int16_t* left, const int16_t* right,
                                                       size_t rows, size_t stride, int16_t* sums) {
  constexpr size_t kLanes = kLanesOf<Vector, int16_t>;
  constexpr size_t kVectors = kBlock / kLanes;
  Vector total[kVectors] = {};
  for (size_t row = 0; row < rows; ++row) {
    const auto* from = reinterpret_cast<const Vector*>(right + row * stride);
    for (size_t v = 0; v < kVectors; ++v) {
      total[v] += from[v] * left[row * stride];
    }
  }
  std::memcpy(sums, total, sizeof(total));
}

#if defined(__x86_64__)
// With AVX2, which most processors have but baseline x86-64 lacks.
__attribute__((target("avx2"))) void SumProductsWide(const int16_t* left, const int16_t* right,
                                                     size_t rows, size_t stride, int16_t* sums) {
  SumProducts<Shorts32>(left, right, rows, stride, sums);
}
#endif

void SumProductsOf(const int16_t* left, const int16_t* right, size_t rows, size_t stride,
                   int16_t* sums) {
#if defined(__x86_64__)
  static const bool has_wide = __builtin_cpu_supports("avx2") != 0;
  if (has_wide) {
    SumProductsWide(left, right, rows, stride, sums);
    return;
  }
#endif
  SumProducts<Shorts16>(left, right, rows, stride, sums);
}

// No tau-b of so few approaches lies between kOne and 1; NaN stays.
double AtMostOne(double value) {
  constexpr double kOne = 1 - 1e-14;
  return value > kOne ? 1 : value < -kOne ? -1 : value;
}

}  // namespace

WeightedCoefficients::WeightedCoefficients(const ScoreTable& table, Coefficient coefficient,
                                           size_t top)
    : coefficient_(coefficient),
      top_(top),
      approaches_(table.approaches().size()),
      benchmarks_(table.benchmarks().size()),
      lanes_((benchmarks_ + kBlock - 1) / kBlock * kBlock) {
  // Coefficients weighted by rank are evaluated pair by pair.
  const bool by_pair = coefficient == Coefficient::kWeightedKendall || LeastValue(coefficient) == 0;
  complete_.assign(benchmarks_, !by_pair);
  present_.assign(benchmarks_ * approaches_, false);
  values_.assign(benchmarks_ * approaches_, 0.0);
  dense_ranks_.assign(approaches_ * lanes_, 0);
  differences_.assign(approaches_ * lanes_, 0.0);
  order_.resize(benchmarks_ * approaches_);
  ranks_.resize(benchmarks_ * approaches_);
  dense_lesser_.assign(approaches_ * lanes_, -1);
  lesser_.resize(benchmarks_ * approaches_);
  no_larger_.resize(benchmarks_ * approaches_);
  std::vector<double> levels;       // distinct scores, ascending
  std::vector<int32_t> lesser;      // by level: lower levels that differ
  std::vector<uint32_t> no_larger;  // by level: levels that are no higher ones that differ
  for (size_t b = 0; b < benchmarks_; ++b) {
    const absl::Span<const ScoreCell> column = table.column(b);
    double* values = values_.data() + b * approaches_;
    for (size_t i = 0; i < approaches_; ++i) {
      const bool present = column[i].state == CellState::kValue;
      present_[b * approaches_ + i] = present;
      values[i] = present ? column[i].value : 0.0;
      complete_[b] = complete_[b] && present;
    }
    uint32_t* order = order_.data() + b * approaches_;
    std::iota(order, order + approaches_, 0U);
    std::stable_sort(order, order + approaches_,
                     [&](uint32_t i, uint32_t j) { return values[i] < values[j]; });
    levels.clear();
    for (size_t k = 0; k < approaches_; ++k) {
      if (k == 0 || values[order[k]] != values[order[k - 1]]) {
        levels.push_back(values[order[k]]);
      }
    }
    const double within =
        coefficient == Coefficient::kKendall ? table.benchmarks()[b].ties_within : 0;
    lesser.clear();
    no_larger.assign(levels.size(), static_cast<uint32_t>(levels.size()));
    for (size_t level = 0, below = 0; level < levels.size(); ++level) {
      for (; ExceedsBy(levels[level], levels[below], within); ++below) {
        no_larger[below] = static_cast<uint32_t>(level);
      }
      lesser.push_back(static_cast<int32_t>(below));
    }
    int32_t rank = 0;
    for (size_t k = 0; k < approaches_; ++k) {
      rank += k > 0 && values[order[k]] != values[order[k - 1]] ? 1 : 0;
      dense_ranks_[order[k] * lanes_ + b] = rank;
      dense_lesser_[order[k] * lanes_ + b] = lesser[static_cast<size_t>(rank)] - 1;
      lesser_[b * approaches_ + order[k]] =
          static_cast<uint32_t>(lesser[static_cast<size_t>(rank)]);
      no_larger_[b * approaches_ + order[k]] = no_larger[static_cast<size_t>(rank)];
      const bool present = present_[b * approaches_ + order[k]];
      ranks_[b * approaches_ + order[k]] = present ? static_cast<uint32_t>(rank) + 1 : 0;
    }
    if (!complete_[b]) {
      all_complete_ = false;
      continue;  // its pairs are evaluated one by one
    }
    if (rank > 0) {
      // Each replicate centers them anew; a middle value as the origin keeps the digits of most.
      const std::vector<double> differences =
          ScaledDifferences(absl::MakeSpan(values, approaches_), values[order[approaches_ / 2]]);
      double largest = 0;
      for (const double difference : differences) {
        largest = std::max(largest, std::abs(difference));
      }
      for (size_t i = 0; i < approaches_; ++i) {
        differences_[i * lanes_ + b] = differences[i] / largest;
      }
    }
  }
}

size_t WeightedCoefficients::PairCount(size_t row_begin, size_t row_end) const {
  size_t count = 0;
  for (size_t a = row_begin; a < row_end; ++a) {
    count += benchmarks_ - a - 1;
  }
  return count;
}

void WeightedCoefficients::Evaluate(absl::Span<const int32_t> weights, size_t row_begin,
                                    size_t row_end, Scratch& scratch, double* out) const {
  CONCUR_CHECK(weights.size() == approaches_);
  scratch.active.clear();
  for (size_t i = 0; i < approaches_; ++i) {
    if (weights[i] > 0) {
      scratch.active.push_back(i);
    }
  }
  scratch.scale.assign(lanes_, kNoReplicate);
  // Sums of products of weights over pairs stay below total² / 2: 16 bits do for totals of up to
  // 255. Beyond that, sorting beats looking at every two approaches.
  constexpr int32_t kShortTotalMax = 255;
  const bool sorts = coefficient_ == Coefficient::kKendall &&
                     (approaches_ > size_t{kShortTotalMax} ||
                      std::accumulate(weights.begin(), weights.end(), 0) > kShortTotalMax);
  if (coefficient_ == Coefficient::kKendall && !sorts) {
    EvaluateKendall(weights, row_begin, row_end, scratch, out);
  } else if (coefficient_ == Coefficient::kPearson || coefficient_ == Coefficient::kSpearman) {
    EvaluateMoments(weights, row_begin, row_end, scratch, out);
  }
  if (all_complete_ && !sorts) {
    return;
  }
  size_t at = 0;
  for (size_t a = row_begin; a < row_end; ++a) {
    for (size_t b = a + 1; b < benchmarks_; ++b, ++at) {
      if (sorts || !complete_[a] || !complete_[b]) {
        out[at] = EvaluatePair(weights, a, b, scratch);
      }
    }
  }
}

// For every two active approaches the signs of their differences on all benchmarks make one row of
// a matrix S, and their weights' product a diagonal matrix W: the numerators of all tau-b are the
// entries of S' W S, the denominators come from its diagonal.
void WeightedCoefficients::EvaluateKendall(absl::Span<const int32_t> weights, size_t row_begin,
                                           size_t row_end, Scratch& scratch, double* out) const {
  using Vector = Shorts;
  using Lane = int16_t;
  std::vector<Vector>& memory = scratch.shorts;
  constexpr size_t kLanes = kLanesOf<Vector, Lane>;
  const size_t vectors = lanes_ / kLanes;
  const size_t active = scratch.active.size();
  const size_t pairs = active * (active - 1) / 2;
  memory.resize((2 * pairs + 2 * active + 1) * vectors);
  Vector* const signs = memory.data();
  Vector* const weighted = signs + pairs * vectors;
  Vector* const ranks = weighted + pairs * vectors;
  Vector* const lesser = ranks + active * vectors;
  Vector* const squares = lesser + active * vectors;
  for (size_t i = 0; i < active; ++i) {
    Lane* lanes = reinterpret_cast<Lane*>(ranks + i * vectors);
    for (size_t l = 0; l < lanes_; ++l) {
      lanes[l] = static_cast<Lane>(dense_ranks_[scratch.active[i] * lanes_ + l]);
    }
    lanes = reinterpret_cast<Lane*>(lesser + i * vectors);
    for (size_t l = 0; l < lanes_; ++l) {
      lanes[l] = static_cast<Lane>(dense_lesser_[scratch.active[i] * lanes_ + l]);
    }
  }
  std::fill(squares, squares + vectors, Vector{});
  size_t k = 0;
  for (size_t i = 0; i < active; ++i) {
    for (size_t j = 0; j < i; ++j, ++k) {
      const auto weight =
          static_cast<Lane>(weights[scratch.active[i]] * weights[scratch.active[j]]);
      for (size_t v = 0; v < vectors; ++v) {
        const Vector sign = (ranks[i * vectors + v] <= lesser[j * vectors + v]) -
                            (ranks[j * vectors + v] <= lesser[i * vectors + v]);
        signs[k * vectors + v] = sign;
        weighted[k * vectors + v] = sign * weight;
        squares[v] += sign * sign * weight;
      }
    }
  }
  const Lane* square = reinterpret_cast<const Lane*>(squares);
  for (size_t b = 0; b < benchmarks_; ++b) {
    scratch.scale[b] = square[b] > 0 ? 1 / std::sqrt(static_cast<double>(square[b])) : kNoReplicate;
  }
  size_t at = 0;
  for (size_t a = row_begin; a < row_end; ++a) {
    for (size_t block = (a + 1) / kBlock * kBlock; block < lanes_; block += kBlock) {
      Lane sum[kBlock];
      SumProductsOf(reinterpret_cast<const Lane*>(weighted) + a,
                    reinterpret_cast<const Lane*>(signs) + block, pairs, lanes_, sum);
      const size_t end = std::min(block + kBlock, benchmarks_);
      for (size_t b = std::max(a + 1, block); b < end; ++b, ++at) {
        const double value =
            static_cast<double>(sum[b - block]) * scratch.scale[a] * scratch.scale[b];
        out[at] = AtMostOne(value);
      }
    }
  }
}

// Average ranks under the weights, less their mean: exact multiples of one half.
void WeightedCoefficients::FillWeightedRanks(absl::Span<const int32_t> weights,
                                             Scratch& scratch) const {
  double* ranks = reinterpret_cast<double*>(scratch.doubles.data());
  const double middle = (std::accumulate(weights.begin(), weights.end(), 0.0) + 1) / 2;
  for (size_t b = 0; b < benchmarks_; ++b) {
    if (!complete_[b]) {
      continue;
    }
    const uint32_t* order = order_.data() + b * approaches_;
    const double* values = values_.data() + b * approaches_;
    double below = 0;
    for (size_t begin = 0; begin < approaches_;) {
      size_t end = begin;
      double tied = 0;
      for (; end < approaches_ && values[order[end]] == values[order[begin]]; ++end) {
        tied += weights[order[end]];
      }
      for (; begin < end; ++begin) {
        ranks[order[begin] * lanes_ + b] = below + (tied + 1) / 2 - middle;
      }
      below += tied;
    }
  }
}

// Subtracts the mean under the weights from the scores of every benchmark.
void WeightedCoefficients::CenterScores(absl::Span<const int32_t> weights, Scratch& scratch) const {
  const size_t vectors = lanes_ / kLanesOf<Doubles, double>;
  double total = 0;
  std::vector<Doubles>& means = scratch.means;
  means.assign(vectors, Doubles{});
  for (const size_t approach : scratch.active) {
    const double weight = weights[approach];
    const Doubles* row = scratch.doubles.data() + approach * vectors;
    total += weight;
    for (size_t v = 0; v < vectors; ++v) {
      means[v] += row[v] * weight;
    }
  }
  for (Doubles& mean : means) {
    mean /= std::max(total, 1.0);
  }
  for (const size_t approach : scratch.active) {
    Doubles* row = scratch.doubles.data() + approach * vectors;
    for (size_t v = 0; v < vectors; ++v) {
      row[v] -= means[v];
    }
  }
}

// Pearson's r from weighted moments, of scores or of ranks, whose mean is 0.
void WeightedCoefficients::EvaluateMoments(absl::Span<const int32_t> weights, size_t row_begin,
                                           size_t row_end, Scratch& scratch, double* out) const {
  constexpr size_t kLanes = kLanesOf<Doubles, double>;
  constexpr size_t kPass = 8;  // lanes in registers; doubles are wider than ranks
  constexpr size_t kVectors = kPass / kLanes;
  const size_t vectors = lanes_ / kLanes;
  const size_t active = scratch.active.size();
  scratch.doubles.assign(approaches_ * vectors, Doubles{});
  double* const scores = reinterpret_cast<double*>(scratch.doubles.data());
  if (coefficient_ == Coefficient::kSpearman) {
    FillWeightedRanks(weights, scratch);
  } else {
    std::copy(differences_.begin(), differences_.end(), scores);
    CenterScores(weights, scratch);
  }
  for (size_t b = 0; b < benchmarks_; ++b) {
    double squares = 0;
    bool constant = true;
    for (size_t i = 0; i < active; ++i) {
      const size_t approach = scratch.active[i];
      const double score = scores[approach * lanes_ + b];
      squares += weights[approach] * score * score;
      constant = constant && dense_ranks_[approach * lanes_ + b] ==
                                 dense_ranks_[scratch.active[0] * lanes_ + b];
    }
    scratch.scale[b] = !constant && squares > 0 ? 1 / std::sqrt(squares) : kNoReplicate;
  }
  size_t at = 0;
  for (size_t a = row_begin; a < row_end; ++a) {
    for (size_t block = (a + 1) / kPass * kPass; block < lanes_; block += kPass) {
      Doubles sums[kVectors] = {};
      for (size_t i = 0; i < active; ++i) {
        const size_t approach = scratch.active[i];
        const double left = weights[approach] * scores[approach * lanes_ + a];
        const Doubles* right = scratch.doubles.data() + approach * vectors + block / kLanes;
        for (size_t v = 0; v < kVectors; ++v) {
          sums[v] += right[v] * left;
        }
      }
      const double* sum = reinterpret_cast<const double*>(sums);
      const size_t end = std::min(block + kPass, benchmarks_);
      for (size_t b = std::max(a + 1, block); b < end; ++b, ++at) {
        const double value = sum[b - block] * scratch.scale[a] * scratch.scale[b];
        out[at] = value > 1 ? 1 : value < -1 ? -1 : value;  // NaN stays
      }
    }
  }
}

namespace {

// Replaces values by their average ranks under the weights.
void RankWeighted(std::vector<double>& values, const std::vector<double>& w) {
  std::vector<std::pair<double, size_t>> sorted;
  for (size_t i = 0; i < values.size(); ++i) {
    sorted.emplace_back(values[i], i);
  }
  std::sort(sorted.begin(), sorted.end());
  double below = 0;
  for (size_t begin = 0; begin < sorted.size();) {
    size_t end = begin;
    double tied = 0;
    for (; end < sorted.size() && sorted[end].first == sorted[begin].first; ++end) {
      tied += w[sorted[end].second];
    }
    for (; begin < end; ++begin) {
      values[sorted[begin].second] = below + (tied + 1) / 2;
    }
    below += tied;
  }
}

double WeightedR(const std::vector<double>& x, const std::vector<double>& y,
                 const std::vector<double>& w) {
  const auto constant = [](const std::vector<double>& v) {
    return std::all_of(v.begin(), v.end(), [&](double value) { return value == v[0]; });
  };
  if (constant(x) || constant(y)) {
    return kNoReplicate;
  }
  const auto scaled = [&](const std::vector<double>& v) {
    std::vector<double> deviations = ScaledDeviations(v);
    double sum = 0;
    double total = 0;
    for (size_t i = 0; i < v.size(); ++i) {
      sum += w[i] * deviations[i];
      total += w[i];
    }
    for (double& deviation : deviations) {
      deviation -= sum / total;
    }
    return deviations;
  };
  const std::vector<double> dx = scaled(x);
  const std::vector<double> dy = scaled(y);
  double xx = 0;
  double yy = 0;
  double xy = 0;
  for (size_t i = 0; i < dx.size(); ++i) {
    xx += w[i] * dx[i] * dx[i];
    yy += w[i] * dy[i] * dy[i];
    xy += w[i] * dx[i] * dy[i];
  }
  return xx > 0 && yy > 0 ? std::clamp(xy / std::sqrt(xx * yy), -1.0, 1.0) : kNoReplicate;
}

}  // namespace

// Tau-b in the order of one benchmark: for each approach the weight of those before it, beyond
// ties, that have less on the other one, less the weight of those that have more, from a Fenwick
// tree over the ranks there (Knight's method, 1966, with weights). Whole numbers: the order of sums
// changes no bit.
double WeightedCoefficients::EvaluateTau(absl::Span<const int32_t> weights, size_t a, size_t b,
                                         Scratch& scratch) const {
  const uint32_t* order = order_.data() + a * approaches_;
  const uint32_t* rank_a = ranks_.data() + a * approaches_;
  const uint32_t* rank_b = ranks_.data() + b * approaches_;
  std::vector<int64_t>& tree = scratch.tree;  // by rank on b, from 1
  std::vector<int64_t>& by_rank = scratch.by_rank;
  tree.assign(approaches_ + 1, 0);
  by_rank.assign(approaches_ + 1, 0);
  const auto upto = [&tree](size_t rank) {
    int64_t sum = 0;
    for (; rank > 0; rank &= rank - 1) {
      sum += tree[rank];
    }
    return sum;
  };
  const uint32_t* lesser_a = lesser_.data() + a * approaches_;
  const uint32_t* lesser_b = lesser_.data() + b * approaches_;
  const uint32_t* no_larger_b = no_larger_.data() + b * approaches_;
  const auto is_drawn = [&](uint32_t i) {
    return weights[i] != 0 && rank_a[i] != 0 && rank_b[i] != 0;
  };
  int64_t total = 0;  // sum of the weights in the tree
  int64_t difference = 0;
  int64_t differ_a = 0;  // products of the weights of pairs that differ
  int64_t differ_b = 0;
  size_t next = 0;  // in the order of a, to be inserted
  for (size_t k = 0; k < approaches_; ++k) {
    const uint32_t i = order[k];
    if (!is_drawn(i)) {
      continue;
    }
    for (; rank_a[order[next]] <= lesser_a[i]; ++next) {
      const uint32_t j = order[next];
      if (is_drawn(j)) {
        total += weights[j];
        for (size_t rank = rank_b[j]; rank <= approaches_; rank += rank & (0 - rank)) {
          tree[rank] += weights[j];
        }
      }
    }
    difference += weights[i] * (upto(lesser_b[i]) + upto(no_larger_b[i]) - total);
    differ_a += weights[i] * total;
    by_rank[rank_b[i]] += weights[i];
  }
  std::partial_sum(by_rank.begin(), by_rank.end(), by_rank.begin());
  for (size_t k = 0; k < approaches_; ++k) {
    if (is_drawn(order[k])) {
      differ_b += weights[order[k]] * by_rank[lesser_b[order[k]]];
    }
  }
  const auto pairs_a = static_cast<double>(differ_a);
  const auto pairs_b = static_cast<double>(differ_b);
  if (pairs_a == 0 || pairs_b == 0) {
    return kNoReplicate;
  }
  const auto numerator = static_cast<double>(difference);
  // As EvaluateKendall rounds where no score is missing.
  return complete_[a] && complete_[b]
             ? AtMostOne(numerator * (1 / std::sqrt(pairs_a)) * (1 / std::sqrt(pairs_b)))
             : std::clamp(numerator / std::sqrt(pairs_a * pairs_b), -1.0, 1.0);
}

// Direct evaluation, for pairs with missing scores and coefficients that weigh by rank.
double WeightedCoefficients::EvaluatePair(absl::Span<const int32_t> weights, size_t a, size_t b,
                                          Scratch& scratch) const {
  if (coefficient_ == Coefficient::kKendall) {
    return EvaluateTau(weights, a, b, scratch);
  }
  scratch.x.clear();
  scratch.y.clear();
  scratch.w.clear();
  const bool by_rank = coefficient_ == Coefficient::kRbo;
  for (const size_t i : scratch.active) {
    if (present_[a * approaches_ + i] && present_[b * approaches_ + i]) {
      scratch.x.push_back(by_rank ? ranks_[a * approaches_ + i] : values_[a * approaches_ + i]);
      scratch.y.push_back(by_rank ? ranks_[b * approaches_ + i] : values_[b * approaches_ + i]);
      scratch.w.push_back(weights[i]);
    }
  }
  if (scratch.x.size() < 2) {
    return kNoReplicate;
  }
  if (coefficient_ == Coefficient::kWeightedKendall) {
    return WeightedKendallValue(scratch.x, scratch.y, scratch.w, scratch.ranks);
  }
  if (coefficient_ == Coefficient::kTopK) {
    return TopKValue(scratch.x, scratch.y, scratch.w, top_, scratch.ranks);
  }
  if (by_rank) {
    return RankBiasedOverlapOfRanks(scratch.x, scratch.y, scratch.w, scratch.ranks);
  }
  if (coefficient_ == Coefficient::kSpearman) {
    RankWeighted(scratch.x, scratch.w);
    RankWeighted(scratch.y, scratch.w);
  }
  return WeightedR(scratch.x, scratch.y, scratch.w);
}

}  // namespace concur::analysis
