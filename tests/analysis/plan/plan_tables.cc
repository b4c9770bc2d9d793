// SPDX-License-Identifier: Apache-2.0
#include "tests/analysis/plan/plan_tables.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"

namespace concur::analysis {

ScoreTable EmptyTable(size_t approaches, size_t benchmarks) {
  std::vector<AxisEntry> rows;
  for (size_t i = 0; i < approaches; ++i) {
    rows.push_back({absl::StrCat("a", i), {}});
  }
  std::vector<AxisEntry> columns;
  for (size_t b = 0; b < benchmarks; ++b) {
    columns.push_back({absl::StrCat("b", b), {}});
  }
  return *ScoreTable::Create(std::move(rows), std::move(columns));
}

void SetScore(ScoreTable& table, size_t approach, size_t benchmark, double value) {
  table.cell(approach, benchmark).state = CellState::kValue;
  table.cell(approach, benchmark).value = value;
}

ScoreTable AbilityTable(size_t approaches, size_t benchmarks, uint64_t seed) {
  ScoreTable table = EmptyTable(approaches, benchmarks);
  Random random(seed, "ability");
  for (size_t i = 0; i < approaches; ++i) {
    const double ability = random.Normal();
    for (size_t b = 0; b < benchmarks; ++b) {
      SetScore(table, i, b, std::round(10 * (ability + random.Normal())));
    }
  }
  return table;
}

CellCosts SteepCosts(const ScoreTable& table, uint64_t seed) {
  Random random(seed, "costs");
  CellCosts costs = EqualCosts(table);
  for (size_t i = 0; i < table.approaches().size(); ++i) {
    const double of_row = std::exp(1.5 * random.Normal());
    for (size_t b = 0; b < table.benchmarks().size(); ++b) {
      costs.grid.at(i, b) = of_row * std::pow(3.0, static_cast<double>(b));
    }
  }
  return costs;
}

ScoreTable TableOfScores(const std::vector<std::vector<double>>& rows) {
  std::vector<AxisEntry> approaches;
  for (size_t i = 0; i < rows.size(); ++i) {
    approaches.push_back({absl::StrCat("a", i), {}});
  }
  std::vector<AxisEntry> benchmarks;
  for (size_t b = 0; b < rows[0].size(); ++b) {
    benchmarks.push_back({absl::StrCat("b", b), {}});
  }
  ScoreTable table = *ScoreTable::Create(std::move(approaches), std::move(benchmarks));
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t b = 0; b < rows[i].size(); ++b) {
      table.cell(i, b).state = CellState::kValue;
      table.cell(i, b).value = rows[i][b];
    }
  }
  return table;
}

ScoreTable Abilities(size_t approaches, size_t benchmarks, double step, uint64_t seed) {
  Random random(seed, "plan_coefficients");
  std::vector<std::vector<double>> rows(approaches);
  for (std::vector<double>& row : rows) {
    const double ability = random.Normal();
    for (size_t b = 0; b < benchmarks; ++b) {
      const double score = ability + random.Normal();
      row.push_back(1e6 + (step == 0 ? score : step * std::round(score / step)));
    }
  }
  return TableOfScores(rows);
}

}  // namespace concur::analysis
