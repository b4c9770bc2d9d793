// SPDX-License-Identifier: Apache-2.0
// Coefficients of all pairs of benchmarks under weights of approaches: what bootstrap and jackknife
// do thousands of times.
//
// Immutable after construction, thread-safe; each thread brings its own Scratch. A weight is how
// often an approach was drawn, so that n equal weights of 1 give the coefficient itself.
#ifndef CONCUR_ANALYSIS_RESAMPLING_H_
#define CONCUR_ANALYSIS_RESAMPLING_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "analysis/score_table.h"
#include "analysis/statistics/correlation.h"
#include "analysis/statistics/weighted_rank.h"

namespace concur::analysis {

class WeightedCoefficients {
 public:
  // Eight 16-bit or two 64-bit lanes: what every x86-64 and ARM64 has.
  using Shorts = int16_t __attribute__((vector_size(16)));
  using Doubles = double __attribute__((vector_size(16)));

  // Memory for one evaluation, kept between calls.
  struct Scratch {
    std::vector<size_t> active;  // approaches with a positive weight
    std::vector<Shorts> shorts;
    std::vector<Doubles> doubles;
    std::vector<double> scale;  // by benchmark: 1 / sqrt(variance), NaN when constant
    std::vector<Doubles> means;
    std::vector<double> x;
    std::vector<double> y;
    std::vector<double> w;
    std::vector<int64_t> tree;
    std::vector<int64_t> by_rank;
    RankScratch ranks;
  };

  WeightedCoefficients(const ScoreTable& table, Coefficient coefficient, size_t top = kTopDefault);

  Coefficient coefficient() const { return coefficient_; }
  size_t approaches() const { return approaches_; }
  size_t benchmarks() const { return benchmarks_; }
  // Number of pairs (a, b) with a < b that have a in [row_begin, row_end).
  size_t PairCount(size_t row_begin, size_t row_end) const;

  // Writes the coefficient of each such pair, by rows, to `out`; NaN where it is undefined.
  // REQUIRES: weights.size() == approaches(), sum of weights <= 30000.
  void Evaluate(absl::Span<const int32_t> weights, size_t row_begin, size_t row_end,
                Scratch& scratch, double* out) const;

 private:
  void EvaluateKendall(absl::Span<const int32_t> weights, size_t row_begin, size_t row_end,
                       Scratch& scratch, double* out) const;
  void EvaluateMoments(absl::Span<const int32_t> weights, size_t row_begin, size_t row_end,
                       Scratch& scratch, double* out) const;
  void CenterScores(absl::Span<const int32_t> weights, Scratch& scratch) const;
  void FillWeightedRanks(absl::Span<const int32_t> weights, Scratch& scratch) const;
  double EvaluateTau(absl::Span<const int32_t> weights, size_t a, size_t b, Scratch& scratch) const;
  double EvaluatePair(absl::Span<const int32_t> weights, size_t a, size_t b,
                      Scratch& scratch) const;

  Coefficient coefficient_;
  size_t top_;
  size_t approaches_ = 0;
  size_t benchmarks_ = 0;
  size_t lanes_ = 0;  // benchmarks_, rounded up to whole blocks
  bool all_complete_ = true;
  std::vector<bool> complete_;        // by benchmark
  std::vector<bool> present_;         // benchmark-major
  std::vector<double> values_;        // benchmark-major
  std::vector<int32_t> dense_ranks_;  // approach-major, lanes_ wide; ranks from 0, ties equal
  std::vector<double> differences_;   // approach-major, lanes_ wide; complete benchmarks only
  std::vector<uint32_t> order_;       // benchmark-major: approaches by ascending value
  std::vector<uint32_t> ranks_;       // benchmark-major: dense ranks from 1, 0 where there is none
  // By ties_within of the benchmark: the highest rank that is less, beyond it (0: none), and the
  // highest that is not more.
  std::vector<int32_t> dense_lesser_;  // as dense_ranks_; ranks from 0, -1: none
  std::vector<uint32_t> lesser_;       // as ranks_
  std::vector<uint32_t> no_larger_;    // as ranks_
};

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_RESAMPLING_H_
