// SPDX-License-Identifier: Apache-2.0
// Rankings as tables: averages over benchmarks with rank sets, and train × test tables.
//
// Thread-safe (stateless).
#ifndef CONCUR_REPORT_RANKING_TABLES_H_
#define CONCUR_REPORT_RANKING_TABLES_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "analysis/comparison/generalization.h"
#include "analysis/comparison/rank_sets.h"
#include "analysis/score_table.h"
#include "report/table.h"

namespace concur::analysis {

// Says which benchmark makes up most of the group's averages, where some scale has no limits to
// convert by and scores of one benchmark are ten times another's; else "".
std::string SizesSentence(const ScoreTable& table, const BenchmarkGroup& group);

// One row for each approach; what is missing is named below.
Table GeneralizationTable(const ScoreTable& table, const Generalization& generalization);

// Adds rank sets and groups to the rows of GeneralizationTable whose approaches, in its order, are
// ranked, and says below how many neighbours differ.
void AddRankSets(const RankEstimate& estimate, const RankSets& sets, const RankSetOptions& options,
                 Table& table);

// GeneralizationTable with how scores were chosen and, where there is an estimate, with rank sets.
// `goals_differ`: GroupsByGoal gave two groups, of which the first one ranks.
absl::StatusOr<Table> RankingTable(const ScoreTable& table, const Generalization& ranking,
                                   bool goals_differ, const std::optional<RankEstimate>& estimate,
                                   const RankSetOptions& options);

// A train × test table: one row for each approach and train set (the tag "train" of rows, as
// BuildScoreTable makes them with Layout::kTrainInRows), one column for each test benchmark, mean ±
// sd over seeds. The best train set of each approach is marked in each column; equal best ones are
// all marked. A row with an empty tag needed no training. InvalidArgument when rows carry no tag
// "train".
absl::StatusOr<Table> CrossTable(const ScoreTable& table);

}  // namespace concur::analysis

#endif  // CONCUR_REPORT_RANKING_TABLES_H_
