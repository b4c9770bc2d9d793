// SPDX-License-Identifier: Apache-2.0
// Parts of benchmarks (MMLU's subjects) as columns of their own, which carry their benchmark's name
// as a tag: one benchmark's parts are alike, and count as one unit where benchmarks are a sample.
//
// Thread-safe (stateless).
#ifndef CONCUR_ANALYSIS_COMPARISON_PARTS_H_
#define CONCUR_ANALYSIS_COMPARISON_PARTS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "analysis/comparison/generalization.h"
#include "analysis/score_table.h"

namespace concur::analysis {

inline constexpr char kPartTag[] = "part_of";

// "mmlu/anatomy".
std::string PartColumn(absl::string_view benchmark, absl::string_view part);

// Appends a group for each benchmark that has several parts in the table and is not all of it,
// unless there is a group of its name.
void AddPartGroups(const ScoreTable& table, std::vector<BenchmarkGroup>& groups);

// Sentences on columns that are parts: scores that no job will make, other numbers of examples,
// scores from 0 to 1 beside percents.
std::vector<std::string> PartWarnings(const ScoreTable& table);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_COMPARISON_PARTS_H_
