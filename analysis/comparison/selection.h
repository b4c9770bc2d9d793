// SPDX-License-Identifier: Apache-2.0
// From the scores of a sweep to one score table: which setting stands for an approach, and how
// seeds are summed up.
//
// Thread-safe (stateless). The result depends on the records and on the order of the names in the
// options, not on the order of the records.
#ifndef CONCUR_ANALYSIS_COMPARISON_SELECTION_H_
#define CONCUR_ANALYSIS_COMPARISON_SELECTION_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "analysis/score_table.h"

namespace concur::analysis {

// One score of one system, or the fact that it is not there.
struct ScoreRecord {
  std::string approach;
  // The benchmark (or mixture) whose train set made the system. Of what needs no training: that on
  // which a setting is chosen.
  std::string train;
  int64_t setting = 0;
  int64_t seed = 0;
  std::string test;  // the benchmark whose test set was scored
  double value = 0;
  int64_t examples = 0;
  CellState state = CellState::kValue;  // kMissing: nobody will make it
};

// Rule by which the settings of an approach become one value.
//   kBest: one setting for each approach and train benchmark: the best mean over seeds on the
//     validation sets of what it was trained on (of several, the mean of these means), among the
//     settings that have values on all of them; without any, as kBestOnTest. Validation scores that
//     failed or are still pending could have been better: the cell counts them. A cell has no value
//     while no setting can be chosen.
//   kBestOnTest: the best mean over seeds on the train benchmark's own test set, or, where it was
//     not evaluated there, on the first test set (in the order of `benchmarks`) that has values.
//     Failed and pending scores count likewise.
//   kBestOnOtherSeeds: as kBestOnTest, but the score of each seed is that of the setting with the
//     best mean over the other seeds: what was chosen does not stand on the score that it gets. An
//     approach with several settings needs two seeds.
//   All three go by the goal of the metric; tied means (base/metric_meaning.h) go to the lower
//   setting. kDefault: setting 0. kMean: the mean over settings, seed by seed. kEach: every setting
//   is a row of its own, named "APPROACH #SETTING".
enum class Select { kBest, kDefault, kMean, kEach, kBestOnTest, kBestOnOtherSeeds };
// "best", "default", "mean", "each", "best-on-test", "best-on-other-seeds"; InvalidArgument for
// anything else.
absl::StatusOr<Select> ParseSelect(absl::string_view name);
absl::string_view SelectName(Select select);

// Meaning of rows and columns.
//   kTrainInColumns: rows are approaches. A column is a pair of train and test benchmark, named by
//     the test benchmark when it is the train benchmark's own (a concurrence study) or when the
//     whole sweep trained on one benchmark (a shift study); otherwise "TRAIN → TEST". What needs no
//     training stands in the columns of the whole sweep's one train benchmark, or as trained on
//     what it is tested on.
//   kTrainInRows: rows are approaches and what they were trained on, "APPROACH ← TRAIN" (with the
//     tag train=TRAIN), columns are test benchmarks: a train × test matrix. Rows are named by the
//     approach alone when the whole sweep trained on one benchmark. What needs no training has one
//     row, with an empty tag.
enum class Layout { kTrainInColumns, kTrainInRows };

struct SelectionOptions {
  std::vector<AxisEntry> approaches;  // the order of rows
  std::vector<AxisEntry> benchmarks;  // the order of columns; every train and test name
  std::set<size_t> untrained = {};    // those of `approaches` that need no training; positions
  Select select = Select::kBest;
  Layout layout = Layout::kTrainInColumns;
  // Those of `benchmarks` that are validation sets, with the benchmark that each is for; positions.
  std::map<size_t, size_t> validation_of = {};
  // Parts that mixtures consist of; positions.
  std::map<size_t, std::vector<size_t>> parts = {};
  // Parts among `benchmarks` (analysis/comparison/parts.h), with the benchmark of each, which then
  // has no column; positions. Settings are chosen by the scores of the whole.
  std::map<size_t, size_t> part_of = {};
  bool show_validation = false;  // columns for validation sets, which are left out else
  // Patterns of columns of which less is better, beside those whose metric says so; settings are
  // chosen accordingly.
  std::vector<std::string> minimize = {};
};

// The table of a sweep. A cell's value is the mean over seeds, its standard deviation is taken over
// seeds; failed, pending and missing scores are counted in the cell even where others gave it a
// value.
// A pair of train and test benchmark that no record names makes no column. The columns say how
// their settings were chosen (SettingChoice), where some approach has several.
// InvalidArgument when a record names an approach or benchmark that the options lack, holds a value
// that is not finite, or repeats another record, when no column matches a pattern of `minimize`, or
// when kBestOnOtherSeeds finds a single seed.
absl::StatusOr<ScoreTable> BuildScoreTable(absl::Span<const ScoreRecord> records,
                                           const SelectionOptions& options);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_COMPARISON_SELECTION_H_
