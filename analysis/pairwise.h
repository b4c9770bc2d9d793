// All pairs of columns of a score table, fast: what can be computed for one column is computed
// once, and a pair of complete columns then costs a few dozen nanoseconds.
//
// Thread-compatible (it keeps null distributions between calls). The results are bit for bit those
// of Correlate on the pair's complete rows.
#ifndef CONCUR_ANALYSIS_PAIRWISE_H_
#define CONCUR_ANALYSIS_PAIRWISE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/correlation.h"
#include "analysis/score_table.h"

namespace concur::analysis {

class PairwiseCorrelations {
 public:
  // Without p-values, they are NaN. `table` must outlive this.
  PairwiseCorrelations(const ScoreTable& table, Coefficient coefficient, bool with_p_values,
                       size_t top = kTopDefault);

  // The coefficient of benchmarks a and b over the approaches that have both scores; the indices
  // of the others are appended to `missing`.
  Correlation Compute(size_t a, size_t b, std::vector<size_t>& missing);

 private:
  struct Column {
    bool complete = true;
    bool constant = false;
    // Kendall: for every two approaches i < j, whether the scores differ and whether i's is larger.
    std::vector<uint64_t> differs;
    std::vector<uint64_t> larger;
    Ties ties;
    // Pearson and Spearman: scaled deviations of scores or ranks, and the sum of their squares.
    std::vector<double> deviations;
    double squares = 0;
  };

  void PrepareBits(const std::vector<double>& values, Column& column) const;
  Correlation ComputeComplete(const Column& x, const Column& y);
  Correlation ComputeWithHoles(size_t a, size_t b, std::vector<size_t>& missing) const;

  const ScoreTable& table_;
  Coefficient coefficient_;
  bool with_p_values_;
  bool use_bits_;
  size_t top_;
  std::vector<Column> columns_;
  KendallNull null_;
};

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_PAIRWISE_H_
