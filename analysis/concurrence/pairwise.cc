// SPDX-License-Identifier: Apache-2.0
#include "analysis/concurrence/pairwise.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "absl/types/span.h"
#include "analysis/bootstrap.h"
#include "analysis/score_table.h"
#include "analysis/statistics/correlation.h"
#include "analysis/statistics/weighted_columns.h"
#include "analysis/statistics/weighted_rank.h"

namespace concur::analysis {
namespace {

// Above this, inserting one approach after the other beats looking at every two of them, …
constexpr size_t kBitsApproachesMax = 256;
// … and above this, sorting beats that.
constexpr size_t kInsertedApproachesMax = 4096;
constexpr size_t kWordBits = 64;

struct PairCounts {
  int64_t differing = 0;  // pairs of approaches that differ on both benchmarks
  int64_t discordant = 0;
};

PairCounts CountPlainly(const uint64_t* differs_x, const uint64_t* larger_x,
                        const uint64_t* differs_y, const uint64_t* larger_y, size_t words) {
  PairCounts counts;
  for (size_t w = 0; w < words; ++w) {
    const uint64_t both = differs_x[w] & differs_y[w];
    counts.differing += std::popcount(both);
    counts.discordant += std::popcount((larger_x[w] ^ larger_y[w]) & both);
  }
  return counts;
}

#if defined(__x86_64__)
// The same by the popcnt instruction, which baseline x86-64 lacks.
__attribute__((target("popcnt"))) PairCounts CountByInstruction(const uint64_t* differs_x,
                                                                const uint64_t* larger_x,
                                                                const uint64_t* differs_y,
                                                                const uint64_t* larger_y,
                                                                size_t words) {
  PairCounts counts;
  for (size_t w = 0; w < words; ++w) {
    const uint64_t both = differs_x[w] & differs_y[w];
    counts.differing += __builtin_popcountll(both);
    counts.discordant += __builtin_popcountll((larger_x[w] ^ larger_y[w]) & both);
  }
  return counts;
}
#endif

PairCounts Count(const std::vector<uint64_t>& differs_x, const std::vector<uint64_t>& larger_x,
                 const std::vector<uint64_t>& differs_y, const std::vector<uint64_t>& larger_y) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("popcnt") != 0;
  if (has_instruction) {
    return CountByInstruction(differs_x.data(), larger_x.data(), differs_y.data(), larger_y.data(),
                              differs_x.size());
  }
#endif
  return CountPlainly(differs_x.data(), larger_x.data(), differs_y.data(), larger_y.data(),
                      differs_x.size());
}

// Which ranks of a benchmark have been inserted, and how many of them lie before each word.
struct InsertedRanks {
  static constexpr size_t kWords = kInsertedApproachesMax / kWordBits + 1;
  std::array<uint64_t, kWords> words{};
  std::array<int16_t, (kWords + 15) / 16 * 16> before{};
};

// Concordant less discordant pairs of approaches: in the order of one benchmark, for each approach,
// how many of those before it have a lesser and how many a larger score on the other.
inline __attribute__((always_inline)) int64_t CountInserted(absl::Span<const uint16_t> order_x,
                                                            absl::Span<const uint16_t> no_larger_x,
                                                            absl::Span<const uint16_t> lesser_y,
                                                            absl::Span<const uint16_t> no_larger_y,
                                                            absl::Span<const uint16_t> rank_y) {
  const size_t n = order_x.size();
  const size_t words = (n / kWordBits + 16) / 16 * 16;
  InsertedRanks inserted;
  const auto below = [&inserted](size_t rank) __attribute__((always_inline)) {
    const size_t word = rank / kWordBits;
    const uint64_t mask = (uint64_t{1} << (rank % kWordBits)) - 1;
    return static_cast<int64_t>(inserted.before[word]) +
           __builtin_popcountll(inserted.words[word] & mask);
  };
  int64_t difference = 0;
  for (size_t begin = 0; begin < n;) {
    const size_t end = no_larger_x[order_x[begin]];
    for (size_t k = begin; k < end; ++k) {
      const uint16_t i = order_x[k];
      difference += below(lesser_y[i]) + below(no_larger_y[i]) - static_cast<int64_t>(begin);
    }
    for (size_t k = begin; k < end; ++k) {
      const size_t rank = rank_y[order_x[k]];
      const auto word = static_cast<int16_t>(rank / kWordBits);
      inserted.words[rank / kWordBits] |= uint64_t{1} << (rank % kWordBits);
      for (size_t w = 0; w < words; ++w) {
        inserted.before[w] =
            static_cast<int16_t>(inserted.before[w] + (static_cast<int16_t>(w) > word ? 1 : 0));
      }
    }
    begin = end;
  }
  return difference;
}

#if defined(__x86_64__)
__attribute__((target("avx2,popcnt"))) int64_t CountInsertedWide(
    absl::Span<const uint16_t> order_x, absl::Span<const uint16_t> no_larger_x,
    absl::Span<const uint16_t> lesser_y, absl::Span<const uint16_t> no_larger_y,
    absl::Span<const uint16_t> rank_y) {
  return CountInserted(order_x, no_larger_x, lesser_y, no_larger_y, rank_y);
}
#endif

int64_t CountInsertedOf(absl::Span<const uint16_t> order_x, absl::Span<const uint16_t> no_larger_x,
                        absl::Span<const uint16_t> lesser_y, absl::Span<const uint16_t> no_larger_y,
                        absl::Span<const uint16_t> rank_y) {
#if defined(__x86_64__)
  static const bool has_wide =
      __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("popcnt") != 0;
  if (has_wide) {
    return CountInsertedWide(order_x, no_larger_x, lesser_y, no_larger_y, rank_y);
  }
#endif
  return CountInserted(order_x, no_larger_x, lesser_y, no_larger_y, rank_y);
}

Ties TiesOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  Ties ties;
  for (size_t begin = 0; begin < values.size();) {
    size_t end = begin;
    while (end < values.size() && values[end] == values[begin]) {
      ++end;
    }
    ties.Add(static_cast<int64_t>(end - begin));
    begin = end;
  }
  return ties;
}

}  // namespace

PairwiseCorrelations::PairwiseCorrelations(const ScoreTable& table, Coefficient coefficient,
                                           bool with_p_values, size_t top,
                                           const ParallelFor& parallel_for)
    : table_(table),
      coefficient_(coefficient),
      with_p_values_(with_p_values),
      top_(top),
      columns_(table.benchmarks().size()) {
  std::vector<double> values;
  for (size_t b = 0; b < columns_.size(); ++b) {
    Column& column = columns_[b];
    values.clear();
    for (const ScoreCell& cell : table.column(b)) {
      column.complete = column.complete && cell.state == CellState::kValue;
      values.push_back(cell.value);
    }
    if (!column.complete || values.empty()) {
      continue;
    }
    const double within =
        coefficient == Coefficient::kKendall ? table.benchmarks()[b].ties_within : 0;
    is_within_ = is_within_ || within > 0;
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    column.constant = !ExceedsBy(*most, *least, within);
    if (coefficient == Coefficient::kKendall) {
      if (values.size() <= kBitsApproachesMax) {
        PrepareBits(values, within, column);
      } else if (values.size() <= kInsertedApproachesMax) {
        PrepareOrder(values, column);
      }
      column.ties = TiesOf(values);
      if (within > 0 && !column.differs.empty()) {
        column.ties.pairs = static_cast<int64_t>(values.size() * (values.size() - 1) / 2);
        for (const uint64_t word : column.differs) {
          column.ties.pairs -= std::popcount(word);
        }
      }
      continue;
    }
    if (coefficient == Coefficient::kTopK) {
      column.members = TopMembers(values, top);
    }
    if (coefficient != Coefficient::kPearson && coefficient != Coefficient::kSpearman) {
      continue;
    }
    if (coefficient == Coefficient::kSpearman) {
      column.ranks = AverageRanks(values);
    }
    column.deviations = ScaledDeviations(column.ranks.empty() ? values : column.ranks);
    for (const double deviation : column.deviations) {
      column.squares += deviation * deviation;
    }
  }
  const size_t approaches = table.approaches().size();
  if (coefficient == Coefficient::kKendall && approaches > kBitsApproachesMax &&
      approaches <= kInsertedApproachesMax) {
    CountAll(parallel_for);
  }
  if (coefficient == Coefficient::kWeightedKendall && approaches >= 2 &&
      approaches <= WeightedColumns::kRowsMax) {
    WeighAll(parallel_for);
  }
}

void PairwiseCorrelations::PrepareOrder(const std::vector<double>& values, Column& column) const {
  column.order.resize(values.size());
  column.lesser.resize(values.size());
  column.no_larger.resize(values.size());
  std::iota(column.order.begin(), column.order.end(), uint16_t{0});
  std::sort(column.order.begin(), column.order.end(), [&](uint16_t i, uint16_t j) {
    return values[i] != values[j] ? values[i] < values[j] : i < j;
  });
  for (size_t begin = 0; begin < values.size();) {
    size_t end = begin;
    while (end < values.size() && values[column.order[end]] == values[column.order[begin]]) {
      ++end;
    }
    for (size_t k = begin; k < end; ++k) {
      column.lesser[column.order[k]] = static_cast<uint16_t>(begin);
      column.no_larger[column.order[k]] = static_cast<uint16_t>(end);
    }
    begin = end;
  }
}

void PairwiseCorrelations::CountAll(const ParallelFor& parallel_for) {
  differences_.resize(columns_.size() * (columns_.size() - 1) / 2);
  parallel_for(columns_.size(), [this](size_t b) {
    const Column& y = columns_[b];
    std::vector<uint16_t> rank(y.order.size());
    for (size_t k = 0; k < rank.size(); ++k) {
      rank[y.order[k]] = static_cast<uint16_t>(k);
    }
    for (size_t a = 0; a < b; ++a) {
      const Column& x = columns_[a];
      if (!x.order.empty() && !y.order.empty()) {
        differences_[PairIndex(a, b)] =
            CountInsertedOf(x.order, x.no_larger, y.lesser, y.no_larger, rank);
      }
    }
  });
}

void PairwiseCorrelations::WeighAll(const ParallelFor& parallel_for) {
  WeightedColumns weighted(table_.approaches().size());
  std::vector<size_t> benchmarks;  // by column of `weighted`
  std::vector<double> values;
  for (size_t b = 0; b < columns_.size(); ++b) {
    if (columns_[b].complete && !columns_[b].constant) {
      values.clear();
      for (const ScoreCell& cell : table_.column(b)) {
        values.push_back(cell.value);
      }
      weighted.Add(values);
      benchmarks.push_back(b);
    }
  }
  const size_t size = weighted.size();
  std::vector<double> ranked(size * size);
  parallel_for(size, [&](size_t x) {
    weighted.RankedBy(x, absl::MakeSpan(ranked).subspan(x * size, size));
  });
  weighted_.resize(columns_.size() * (columns_.size() - 1) / 2);
  for (size_t x = 0; x < size; ++x) {
    for (size_t y = x + 1; y < size; ++y) {
      weighted_[PairIndex(benchmarks[x], benchmarks[y])] =
          WeightedColumns::Mean(ranked[x * size + y], ranked[y * size + x]);
    }
  }
}

void PairwiseCorrelations::PrepareBits(const std::vector<double>& values, double within,
                                       Column& column) const {
  const size_t n = values.size();
  const size_t words = (n * (n - 1) / 2 + 63) / 64;
  column.differs.assign(words, 0);
  column.larger.assign(words, 0);
  // Words are put together in registers, the latest bit last.
  uint64_t differs = 0;
  uint64_t larger = 0;
  size_t bits = 0;
  size_t word = 0;
  for (size_t j = 1; j < n; ++j) {
    const double value = values[j];
    for (size_t i = 0; i < j; ++i) {
      const bool is_larger = ExceedsBy(values[i], value, within);
      differs = differs << 1 | uint64_t{is_larger || ExceedsBy(value, values[i], within)};
      larger = larger << 1 | uint64_t{is_larger};
      if (++bits == 64) {
        column.differs[word] = differs;
        column.larger[word++] = larger;
        differs = larger = bits = 0;
      }
    }
  }
  if (bits > 0) {
    column.differs[word] = differs;
    column.larger[word] = larger;
  }
}

Correlation PairwiseCorrelations::ComputeComplete(size_t a, size_t b) {
  const Column& x = columns_[a];
  const Column& y = columns_[b];
  const auto n = static_cast<int64_t>(table_.approaches().size());
  Correlation result;
  result.n = n;
  result.p_value = std::numeric_limits<double>::quiet_NaN();
  if (n < 2) {
    result.undefined = Undefined::kTooFew;
    return result;
  }
  if (coefficient_ == Coefficient::kTopK && static_cast<size_t>(n) <= top_) {
    result.undefined = Undefined::kAllOnTop;
    return result;
  }
  if (x.constant || y.constant) {
    result.undefined = !y.constant   ? Undefined::kFirstConstant
                       : !x.constant ? Undefined::kSecondConstant
                                     : Undefined::kBothConstant;
    return result;
  }
  if (coefficient_ == Coefficient::kWeightedKendall) {
    result.value = weighted_[PairIndex(a, b)];
    return result;
  }
  if (coefficient_ == Coefficient::kTopK) {
    result.value = SharedTop(x.members, y.members, top_);
    return result;
  }
  if (coefficient_ == Coefficient::kKendall && !differences_.empty()) {
    return KendallFromCounts(n, differences_[PairIndex(a, b)], x.ties, y.ties, with_p_values_,
                             null_);
  }
  if (coefficient_ == Coefficient::kKendall) {
    const PairCounts counts = Count(x.differs, x.larger, y.differs, y.larger);
    return KendallFromCounts(n, counts.differing - 2 * counts.discordant, x.ties, y.ties,
                             with_p_values_, null_);
  }
  double xy = 0;
  for (size_t i = 0; i < x.deviations.size(); ++i) {
    xy += x.deviations[i] * y.deviations[i];
  }
  result = PearsonFromSums(n, x.squares, y.squares, xy);
  if (with_p_values_ && result.defined()) {
    result.p_value = coefficient_ == Coefficient::kPearson
                         ? PearsonPValue(n, result.value)
                         : spearman_null_.PValue(x.ranks, y.ranks, result.value);
  }
  return result;
}

Correlation PairwiseCorrelations::ComputeWithHoles(size_t a, size_t b,
                                                   std::vector<size_t>& missing) const {
  std::vector<double> x;
  std::vector<double> y;
  const absl::Span<const ScoreCell> column_a = table_.column(a);
  const absl::Span<const ScoreCell> column_b = table_.column(b);
  for (size_t i = 0; i < column_a.size(); ++i) {
    if (column_a[i].state == CellState::kValue && column_b[i].state == CellState::kValue) {
      x.push_back(column_a[i].value);
      y.push_back(column_b[i].value);
    } else {
      missing.push_back(i);
    }
  }
  Correlation result = coefficient_ == Coefficient::kKendall
                           ? KendallTauBWithin(x, y, table_.benchmarks()[a].ties_within,
                                               table_.benchmarks()[b].ties_within)
                           : Correlate(coefficient_, x, y, top_);
  if (!with_p_values_) {
    result.p_value = std::numeric_limits<double>::quiet_NaN();
  }
  return result;
}

Correlation PairwiseCorrelations::Compute(size_t a, size_t b, std::vector<size_t>& missing) {
  const size_t approaches = table_.approaches().size();
  const bool prepared =
      (coefficient_ == Coefficient::kKendall &&
       approaches <= (is_within_ ? kBitsApproachesMax : kInsertedApproachesMax)) ||
      (coefficient_ == Coefficient::kWeightedKendall && !weighted_.empty()) ||
      coefficient_ == Coefficient::kPearson || coefficient_ == Coefficient::kSpearman ||
      coefficient_ == Coefficient::kTopK;
  return prepared && columns_[a].complete && columns_[b].complete ? ComputeComplete(a, b)
                                                                  : ComputeWithHoles(a, b, missing);
}

}  // namespace concur::analysis
