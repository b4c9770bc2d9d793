// SPDX-License-Identifier: Apache-2.0
// Performance of approaches on many benchmarks at once: macro averages over groups of benchmarks, a
// ranking by them, and the improvement over a baseline (Fisch et al., MRQA 2019); and which train
// set serves which test set best (Bartolo et al., TACL 2020).
//
// Thread-safe (stateless). Averages and differences are in the scores' unit.
#ifndef CONCUR_ANALYSIS_COMPARISON_GENERALIZATION_H_
#define CONCUR_ANALYSIS_COMPARISON_GENERALIZATION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "analysis/score_table.h"

namespace concur::analysis {

// Benchmarks that are averaged together, e.g. a split of a shared task.
struct BenchmarkGroup {
  std::string name;
  std::vector<size_t> benchmarks;  // columns of the table, ascending
};

// "NAME=PATTERN[,PATTERN…]": the benchmarks whose names match a pattern, in which "*" stands for
// any text; names with commas are quoted as in CSV. InvalidArgument when it cannot be read or a
// pattern matches nothing.
absl::StatusOr<BenchmarkGroup> ParseGroup(const ScoreTable& table, const std::string& text);

// One group for each value of a tag that benchmarks carry, in order of value; benchmarks without
// the tag are in none. InvalidArgument for a tag that no benchmark carries.
absl::StatusOr<std::vector<BenchmarkGroup>> GroupsByTag(const ScoreTable& table,
                                                        const std::string& tag);

// All benchmarks in one group, "all"; or two, "more is better" and "less is better", where the
// table has benchmarks of both goals.
std::vector<BenchmarkGroup> GroupsByGoal(const ScoreTable& table);

// Scores that were multiplied so that an average has one scale.
struct Conversion {
  std::string benchmark;
  double factor = 1;
};
// Makes shares of another scale than percent, stated or guessed (0 to 1, 0 to 5), percents where a
// group has benchmarks of several scales. Groups with a scale that does not begin at 0, or has no
// limits, stay as they are. Returns which benchmarks changed.
std::vector<Conversion> ToPercent(absl::Span<const BenchmarkGroup> groups, ScoreTable& table);
// The scales of a group's benchmarks, stated or guessed, by name; "" for one without limits.
std::set<std::string> ScalesOf(const ScoreTable& table, const BenchmarkGroup& group);

struct Average {
  std::optional<double> value;  // the unweighted mean over benchmarks; none when a score is missing
  std::vector<size_t> missing;  // benchmarks of the group without a score
};

struct RankedApproach {
  size_t approach = 0;
  int64_t rank = 0;               // by the first group, 1 is the best, ties share it; 0: unranked
  std::vector<Average> averages;  // one for each group
  // By how much the first group's average is better than the baseline's; negative: worse.
  std::optional<double> gain;
};

struct Generalization {
  std::vector<BenchmarkGroup> groups;      // the first one without `left_out`
  std::vector<size_t> left_out;            // benchmarks of the first group that it does not average
  std::vector<Conversion> converted;       // changes that the caller made to the table by ToPercent
  std::vector<RankedApproach> approaches;  // by rank; then the unranked; ties in the table's order
  std::optional<size_t> baseline;
};

// Sums of the same scores in another order differ by less, in relation to the largest one.
inline constexpr double kSumError = 1e-12;
// The positions of finite values, the largest first, those that differ by no more than kSumError
// together and in order.
std::vector<std::vector<size_t>> TiedGroups(absl::Span<const double> values);

// Ranks by the first group, the least average first where its benchmarks are minimized. An approach
// that lacks a score of a group has no average of that group: averages over different benchmarks
// are not comparable. The first group averages common benchmarks only. These are the benchmarks
// that all approaches have, but for references and, unless all do, for approaches that lack more
// than a third of the group. While they are half of the group or fewer, the approaches that lack
// the benchmark that the fewest lack are left out. Where one approach would be left, it is the
// largest set on the way; without any, the whole group.
// InvalidArgument when there is no group, for a group of benchmarks with different goals, for a
// baseline that the table lacks or that has no average of the first group, and for an average that
// is too large for a number.
absl::StatusOr<Generalization> RankByAverage(const ScoreTable& table,
                                             absl::Span<const BenchmarkGroup> groups,
                                             const std::optional<std::string>& baseline);

// Tables of the same approaches side by side; rows are matched by name, in the order of first
// appearance, and cells that a table does not have are missing. InvalidArgument when a benchmark
// comes twice or a tag has two values.
absl::StatusOr<ScoreTable> JoinTables(absl::Span<const ScoreTable> tables);

// For each row of a train × test table (BuildScoreTable with Layout::kTrainInRows) and each column,
// whether it is the best of its approach; equal best ones all are. REQUIRES: every row has the tag
// "train".
std::vector<std::vector<bool>> BestTrainSets(const ScoreTable& table);

// The approach of such a row: its name without " ← TRAIN".
std::string ApproachOfRow(const AxisEntry& row);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_COMPARISON_GENERALIZATION_H_
