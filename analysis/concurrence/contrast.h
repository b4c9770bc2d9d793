// SPDX-License-Identifier: Apache-2.0
// Do two groups of approaches (pretrained or not) see the benchmarks' agreement alike? Differences
// of every coefficient between the groups.
//
// Thread-safe (stateless). The same table, options and seed give the same bits on any number of
// threads.
#ifndef CONCUR_ANALYSIS_CONCURRENCE_CONTRAST_H_
#define CONCUR_ANALYSIS_CONCURRENCE_CONTRAST_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/bootstrap.h"
#include "analysis/score_table.h"
#include "analysis/statistics/correlation.h"
#include "analysis/statistics/intervals.h"

namespace concur::analysis {

struct PairContrast {
  size_t a = 0;  // benchmarks
  size_t b = 0;
  Correlation first;
  Correlation second;
  // Nothing where either coefficient is undefined, or in most replicates.
  std::optional<double> difference;  // first less second
  std::optional<Interval> interval;
  std::optional<double> p_value;       // two-sided, of no difference
  std::optional<double> p_value_holm;  // over all pairs
};

struct GroupContrast {
  Coefficient coefficient = Coefficient::kKendall;
  std::string tag;
  std::string first;  // values of the tag
  std::string second;
  int64_t first_count = 0;
  int64_t second_count = 0;
  std::vector<PairContrast> pairs;  // in the order of ConcurrenceMatrix::pairs
};

// Coefficients among approaches with tag=first less those with tag=second ("TAG=FIRST,SECOND"; or
// "TAG", which must have two values, in order of value). The groups are drawn independently, each
// with replacement, in families where they are declared; percentiles at the level expanded for the
// smaller group. InvalidArgument for what cannot be read, a group of fewer than three approaches,
// and what BootstrapPairs refuses.
absl::StatusOr<GroupContrast> ContrastGroups(const ScoreTable& table, Coefficient coefficient,
                                             const std::string& query,
                                             const BootstrapOptions& options);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_CONCURRENCE_CONTRAST_H_
