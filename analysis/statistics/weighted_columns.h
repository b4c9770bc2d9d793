// SPDX-License-Identifier: Apache-2.0
// Weighted Kendall of all pairs of many columns: what depends on one column is computed once, and
// eight columns are compared with one at a time, each in a lane of the processor's vectors. The
// results are bit for bit those of WeightedKendall.
//
// Const methods are thread-safe.
#ifndef CONCUR_ANALYSIS_STATISTICS_WEIGHTED_COLUMNS_H_
#define CONCUR_ANALYSIS_STATISTICS_WEIGHTED_COLUMNS_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace concur::analysis {

class WeightedColumns {
 public:
  // A rank and a position share 32 bits with a sign.
  static constexpr size_t kRowsMax = 32767;

  // REQUIRES: 2 <= rows <= kRowsMax.
  explicit WeightedColumns(size_t rows);

  // The column's index. REQUIRES: `rows` finite values, not all equal.
  size_t Add(absl::Span<const double> values);
  size_t size() const { return columns_.size(); }

  // By column y: weighted tau with ranks by column x and ties of x by y. out[x] is not set.
  // REQUIRES: out.size() == size().
  void RankedBy(size_t x, absl::Span<double> out) const;

  // The coefficient from both rankings.
  static double Mean(double by_x, double by_y);

 private:
  struct Column {
    std::vector<uint16_t> order;  // from the best value on, ties by position
    std::vector<uint16_t> first;  // for each value, where in `order` those equal to it begin
    std::vector<std::pair<uint16_t, uint16_t>> ties;  // groups of equal values in `order`
    double tied = 0;                                  // the weight of exchanges within these groups
  };
  struct Work;

  void FillRows(const Column& x, const Column& y, size_t lane, Work& work) const;
  // The weight of pairs tied in both, before the rows are sorted; and of pairs tied in y, after.
  double TiedInBoth(const Column& x, size_t lane, const Work& work) const;
  double TiedInRows(const Column& y, size_t lane, const Work& work) const;

  const size_t rows_;
  std::vector<double> weights_;  // by position in an order
  double total_ = 0;             // the weight of all exchanges
  std::vector<Column> columns_;
};

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_STATISTICS_WEIGHTED_COLUMNS_H_
