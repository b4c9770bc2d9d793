// SPDX-License-Identifier: Apache-2.0
// All pairs of columns of a score table, fast: what can be computed for one column is computed
// once, and a pair of complete columns of a few dozen approaches then costs a few dozen
// nanoseconds.
//
// Thread-compatible (it keeps null distributions between calls). The results are bit for bit those
// of Correlate on the pair's complete rows or, with ties_within, of KendallTauBWithin.
#ifndef CONCUR_ANALYSIS_CONCURRENCE_PAIRWISE_H_
#define CONCUR_ANALYSIS_CONCURRENCE_PAIRWISE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/bootstrap.h"
#include "analysis/score_table.h"
#include "analysis/statistics/correlation.h"
#include "analysis/statistics/spearman_null.h"

namespace concur::analysis {

class PairwiseCorrelations {
 public:
  // Unasked p-values are NaN. `table` must outlive this. What takes long is done for all
  // pairs at once, by `parallel_for`.
  PairwiseCorrelations(const ScoreTable& table, Coefficient coefficient, bool with_p_values,
                       size_t top = kTopDefault, const ParallelFor& parallel_for = SequentialFor);

  // The coefficient of benchmarks a and b over the approaches that have both scores; the indices
  // of the others are appended to `missing`.
  Correlation Compute(size_t a, size_t b, std::vector<size_t>& missing);

 private:
  struct Column {
    bool complete = true;
    bool constant = false;  // equal, but for ties_within
    // Kendall: for every two approaches i < j, whether the scores differ and whether i's is larger.
    std::vector<uint64_t> differs;
    std::vector<uint64_t> larger;
    // Kendall of many approaches: the approaches from the least score on and, for each of them, how
    // many have a lesser score and how many have no larger one.
    std::vector<uint16_t> order;
    std::vector<uint16_t> lesser;
    std::vector<uint16_t> no_larger;
    Ties ties;
    // Pearson and Spearman: scaled deviations of scores or ranks, and the sum of their squares.
    std::vector<double> deviations;
    std::vector<double> ranks;  // Spearman
    double squares = 0;
    std::vector<double> members;  // top-k: TopMembers
  };

  void PrepareBits(const std::vector<double>& values, double within, Column& column) const;
  void PrepareOrder(const std::vector<double>& values, Column& column) const;
  void CountAll(const ParallelFor& parallel_for);
  void WeighAll(const ParallelFor& parallel_for);
  size_t PairIndex(size_t a, size_t b) const {
    return a * (2 * columns_.size() - a - 1) / 2 + (b - a - 1);
  }
  Correlation ComputeComplete(size_t a, size_t b);
  Correlation ComputeWithHoles(size_t a, size_t b, std::vector<size_t>& missing) const;

  const ScoreTable& table_;
  Coefficient coefficient_;
  bool with_p_values_;
  size_t top_;
  bool is_within_ = false;  // some benchmark has ties_within
  std::vector<Column> columns_;
  // By pair of complete columns, where they are computed at once:
  std::vector<int64_t> differences_;  // Kendall: concordant less discordant pairs of approaches
  std::vector<double> weighted_;      // weighted Kendall
  KendallNull null_;
  SpearmanNull spearman_null_;
};

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_CONCURRENCE_PAIRWISE_H_
