// SPDX-License-Identifier: Apache-2.0
// Tables of scores and costs for tests of plans.
//
// Thread-safe (stateless).
#ifndef CONCUR_TESTS_ANALYSIS_PLAN_PLAN_TABLES_H_
#define CONCUR_TESTS_ANALYSIS_PLAN_PLAN_TABLES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/plan/plan.h"
#include "analysis/score_table.h"

namespace concur::analysis {

ScoreTable EmptyTable(size_t approaches, size_t benchmarks);
void SetScore(ScoreTable& table, size_t approach, size_t benchmark, double value);

// An ability, and as much noise of each benchmark; rounded, so that there are ties.
ScoreTable AbilityTable(size_t approaches, size_t benchmarks, uint64_t seed);

// Approach by approach.
ScoreTable TableOfScores(const std::vector<std::vector<double>>& rows);
// An ability and noise; a large mean, and ties where `step` is not 0.
ScoreTable Abilities(size_t approaches, size_t benchmarks, double step, uint64_t seed);

// Approaches and benchmarks that cost up to a hundred times as much as others.
CellCosts SteepCosts(const ScoreTable& table, uint64_t seed);

}  // namespace concur::analysis

#endif  // CONCUR_TESTS_ANALYSIS_PLAN_PLAN_TABLES_H_
