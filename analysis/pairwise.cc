#include "analysis/pairwise.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "analysis/correlation.h"
#include "analysis/score_table.h"

namespace concur::analysis {
namespace {

// Above this, sorting beats looking at every two approaches.
constexpr size_t kBitsApproachesMax = 4096;

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
// The same with the processor's own instruction, which the baseline lacks.
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
                                           bool with_p_values, size_t top)
    : table_(table),
      coefficient_(coefficient),
      with_p_values_(with_p_values),
      use_bits_(table.approaches().size() <= kBitsApproachesMax),
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
    column.constant =
        std::all_of(values.begin(), values.end(), [&](double value) { return value == values[0]; });
    if (coefficient == Coefficient::kKendall) {
      if (use_bits_) {
        PrepareBits(values, column);
        column.ties = TiesOf(values);
      }
      continue;
    }
    if (coefficient != Coefficient::kPearson && coefficient != Coefficient::kSpearman) {
      continue;
    }
    column.deviations =
        ScaledDeviations(coefficient == Coefficient::kPearson ? values : AverageRanks(values));
    for (const double deviation : column.deviations) {
      column.squares += deviation * deviation;
    }
  }
}

void PairwiseCorrelations::PrepareBits(const std::vector<double>& values, Column& column) const {
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
      differs = differs << 1 | uint64_t{values[i] != value};
      larger = larger << 1 | uint64_t{values[i] > value};
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

Correlation PairwiseCorrelations::ComputeComplete(const Column& x, const Column& y) {
  const auto n = static_cast<int64_t>(table_.approaches().size());
  Correlation result;
  result.n = n;
  result.p_value = std::numeric_limits<double>::quiet_NaN();
  if (n < 2) {
    result.undefined = Undefined::kTooFew;
    return result;
  }
  if (x.constant || y.constant) {
    result.undefined = !y.constant   ? Undefined::kFirstConstant
                       : !x.constant ? Undefined::kSecondConstant
                                     : Undefined::kBothConstant;
    return result;
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
    result.p_value = coefficient_ == Coefficient::kPearson ? PearsonPValue(n, result.value)
                                                           : SpearmanPValue(n, result.value);
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
  Correlation result = Correlate(coefficient_, x, y, top_);
  if (!with_p_values_) {
    result.p_value = std::numeric_limits<double>::quiet_NaN();
  }
  return result;
}

Correlation PairwiseCorrelations::Compute(size_t a, size_t b, std::vector<size_t>& missing) {
  const bool prepared = (use_bits_ && coefficient_ == Coefficient::kKendall) ||
                        coefficient_ == Coefficient::kPearson ||
                        coefficient_ == Coefficient::kSpearman;
  return prepared && columns_[a].complete && columns_[b].complete
             ? ComputeComplete(columns_[a], columns_[b])
             : ComputeWithHoles(a, b, missing);
}

}  // namespace concur::analysis
