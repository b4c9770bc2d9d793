// SPDX-License-Identifier: Apache-2.0
#include "analysis/concurrence/suite.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "analysis/concurrence/matrix.h"
#include "analysis/score_table.h"
#include "analysis/statistics/correlation.h"
#include "base/status_macros.h"

namespace concur::analysis {
namespace {

// Adds each approach's rank on a benchmark to its sum, and counts it.
void AddRanks(const ScoreTable& oriented, size_t benchmark, std::vector<double>& sums,
              std::vector<double>& counts) {
  std::vector<size_t> present;
  std::vector<double> values;
  for (size_t i = 0; i < sums.size(); ++i) {
    if (oriented.cell(i, benchmark).state == CellState::kValue) {
      present.push_back(i);
      values.push_back(oriented.cell(i, benchmark).value);
    }
  }
  const std::vector<double> ranks = AverageRanks(values);
  for (size_t k = 0; k < present.size(); ++k) {
    sums[present[k]] += (ranks[k] - 0.5) / static_cast<double>(ranks.size());
    ++counts[present[k]];
  }
}

}  // namespace

absl::StatusOr<ScoreTable> AgainstOthers(const ScoreTable& table, size_t benchmark) {
  const ScoreTable oriented = table.Oriented();
  AxisEntry entry = oriented.benchmarks()[benchmark];
  CONCUR_ASSIGN_OR_RETURN(
      ScoreTable pair,
      ScoreTable::Create(oriented.approaches(),
                         {entry, {absl::StrCat("mean rank without ", entry.name), {}}}));
  std::vector<double> sums(oriented.approaches().size(), 0.0);
  std::vector<double> counts(sums.size(), 0.0);
  for (size_t b = 0; b < oriented.benchmarks().size(); ++b) {
    if (b != benchmark) {
      AddRanks(oriented, b, sums, counts);
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    pair.cell(i, 0) = oriented.cell(i, benchmark);
    if (counts[i] > 0) {
      pair.cell(i, 1).state = CellState::kValue;
      pair.cell(i, 1).value = sums[i] / counts[i];
    }
  }
  pair.MergeTies();
  return pair;
}

absl::StatusOr<std::vector<ConcurrenceMatrix>> CompareWithSuite(const ScoreTable& table,
                                                                const MatrixOptions& options) {
  if (table.benchmarks().size() < 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("suite: expected at least 3 benchmarks, got ", table.benchmarks().size()));
  }
  std::vector<ConcurrenceMatrix> members;
  for (size_t b = 0; b < table.benchmarks().size(); ++b) {
    CONCUR_ASSIGN_OR_RETURN(const ScoreTable pair, AgainstOthers(table, b));
    CONCUR_ASSIGN_OR_RETURN(ConcurrenceMatrix member, ComputeMatrix(pair, options));
    members.push_back(std::move(member));
  }
  return members;
}

}  // namespace concur::analysis
