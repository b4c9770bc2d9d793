// SPDX-License-Identifier: Apache-2.0
#include "analysis/concurrence/partial.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "analysis/bootstrap.h"
#include "analysis/families.h"
#include "analysis/resampling.h"
#include "base/status_macros.h"

namespace concur::analysis {
namespace {

// With 8 approaches intervals held the truth in 90 to 97 % of simulations, with 12 in 98 to 99.
constexpr size_t kPartialApproachesMin = 12;

// The given column by approach: cells of a benchmark, or the numbers of a tag.
absl::StatusOr<std::vector<ScoreCell>> GivenCells(const ScoreTable& table,
                                                  const std::string& given) {
  for (size_t b = 0; b < table.benchmarks().size(); ++b) {
    if (table.benchmarks()[b].name == given) {
      return std::vector<ScoreCell>(table.column(b).begin(), table.column(b).end());
    }
  }
  const std::vector<std::string> tags = TagsOf(table.approaches());
  if (std::find(tags.begin(), tags.end(), given) == tags.end()) {
    return FindEntry(table.benchmarks(), given, "given: no benchmark or tag of numbers",
                     "benchmarks")
        .status();
  }
  std::vector<ScoreCell> cells;
  for (const AxisEntry& approach : table.approaches()) {
    ScoreCell& cell = cells.emplace_back();
    const std::string text = TagValue(approach, given);
    if (text.empty()) {
      continue;
    }
    if (!absl::SimpleAtod(text, &cell.value) || !std::isfinite(cell.value)) {
      return absl::InvalidArgumentError(absl::StrCat("given: expected a number as the tag ", given,
                                                     " of \"", approach.name, "\", got \"", text,
                                                     "\""));
    }
    cell.state = CellState::kValue;
  }
  return cells;
}

// The other benchmarks, then the given column, of the approaches that have it.
absl::StatusOr<ScoreTable> WithGivenLast(const ScoreTable& table, const std::string& given,
                                         std::vector<std::string>& left_out) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<ScoreCell> cells, GivenCells(table, given));
  std::vector<AxisEntry> rows;
  std::vector<size_t> kept;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].state == CellState::kValue) {
      rows.push_back(table.approaches()[i]);
      kept.push_back(i);
    } else {
      left_out.push_back(table.approaches()[i].name);
    }
  }
  std::vector<AxisEntry> columns;
  std::vector<size_t> others;
  for (size_t b = 0; b < table.benchmarks().size(); ++b) {
    if (table.benchmarks()[b].name != given) {
      columns.push_back(table.benchmarks()[b]);
      others.push_back(b);
    }
  }
  if (others.size() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("given: expected two benchmarks beside \"", given, "\", got ", others.size()));
  }
  columns.push_back({given, {}});
  CONCUR_ASSIGN_OR_RETURN(ScoreTable used, ScoreTable::Create(rows, columns));
  for (size_t i = 0; i < kept.size(); ++i) {
    for (size_t b = 0; b < others.size(); ++b) {
      used.cell(i, b) = table.cell(kept[i], others[b]);
    }
    used.cell(i, others.size()) = cells[kept[i]];
  }
  return used;
}

// Adds the pairs of all columns but the last, given one. REQUIRES: no score is missing; `table` is
// oriented.
absl::Status AddPairs(const ScoreTable& table, const std::optional<BootstrapOptions>& bootstrap,
                      std::vector<PartialPair>& pairs) {
  const size_t given = table.benchmarks().size() - 1;
  const size_t approaches = table.approaches().size();
  const size_t count = given * (given - 1) / 2;
  if (approaches == 0) {
    pairs.resize(pairs.size() + count);
    return absl::OkStatus();
  }
  const WeightedCoefficients evaluator(table, Coefficient::kKendall);
  const auto make = [&]() -> WeightedStatistics {
    return [&evaluator, given, scratch = WeightedCoefficients::Scratch(),
            tau = std::vector<double>(evaluator.PairCount(0, given + 1))](
               absl::Span<const int32_t> weights, double* out) mutable {
      evaluator.Evaluate(weights, 0, given + 1, scratch, tau.data());
      const auto at = [given](size_t a, size_t b) {
        return a * (2 * given + 1 - a) / 2 + (b - a - 1);
      };
      for (size_t a = 0; a < given; ++a) {
        for (size_t b = a + 1; b < given; ++b) {
          *out++ = PartialTau(tau[at(a, b)], tau[at(a, given)], tau[at(b, given)]);
        }
      }
    };
  };
  std::vector<BootstrappedStatistic> results(count);
  std::string few;
  const bool are_enough = approaches >= kPartialApproachesMin;
  if (bootstrap.has_value() && are_enough) {
    BootstrapOptions options = *bootstrap;
    options.families = FamiliesTagIn(table, options.families);
    CONCUR_ASSIGN_OR_RETURN(const DrawUnits draws, DrawUnitsOf(table, options));
    const IntervalRule rule = RuleOfPair(table, draws, *bootstrap, Coefficient::kKendall, 0, 1);
    few = FewUnitsWarning(!draws.families.empty(), rule.expanded_by,
                          static_cast<int64_t>(approaches));
    CONCUR_ASSIGN_OR_RETURN(
        results, BootstrapStatistics(approaches, draws, std::vector<IntervalRule>(count, rule),
                                     *bootstrap, make));
  } else {
    std::vector<double> values(count);
    make()(std::vector<int32_t>(approaches, 1), values.data());
    for (size_t i = 0; i < count; ++i) {
      results[i].estimate = values[i];
    }
  }
  for (const BootstrappedStatistic& result : results) {
    PartialPair& pair = pairs.emplace_back();
    if (!std::isnan(result.estimate)) {
      pair.value = result.estimate;
      pair.interval = result.interval.interval;
      pair.warning = result.interval.warning;
    }
    if (bootstrap.has_value() && !are_enough) {
      pair.warning = absl::StrCat("fewer than ", kPartialApproachesMin, " approaches: no interval");
    }
    if (pair.interval.has_value() && !few.empty()) {
      absl::StrAppend(&pair.warning, pair.warning.empty() ? "" : "; ", few);
    }
  }
  return absl::OkStatus();
}

}  // namespace

double PartialTau(double ab, double az, double bz) {
  const double rest = (1 - az * az) * (1 - bz * bz);
  return rest > 0 ? std::clamp((ab - az * bz) / std::sqrt(rest), -1.0, 1.0)
                  : std::numeric_limits<double>::quiet_NaN();
}

absl::StatusOr<PartialMatrix> ComputePartial(const ScoreTable& table, const std::string& given,
                                             const MatrixOptions& options) {
  PartialMatrix result;
  result.given = given;
  CONCUR_ASSIGN_OR_RETURN(ScoreTable used, WithGivenLast(table, given, result.left_out));
  if (options.complete_cases) {
    used = used.CompleteCases();
  }
  std::vector<std::string> names = NamesOf(used.benchmarks());
  names.pop_back();
  CONCUR_ASSIGN_OR_RETURN(const ScoreTable others, used.SelectBenchmarks(names));
  MatrixOptions plain;
  plain.families = options.families;
  plain.parallel_for = options.parallel_for;
  CONCUR_ASSIGN_OR_RETURN(result.plain, ComputeMatrix(others, plain));
  std::optional<BootstrapOptions> bootstrap = options.bootstrap;
  if (bootstrap.has_value()) {
    CONCUR_RETURN_IF_ERROR(ValidateBootstrapOptions(*bootstrap));
    bootstrap->families = options.families;
    result.plain.level = bootstrap->level;
    result.plain.interval_method = BootstrapText(*bootstrap, result.plain.families);
    if (!result.plain.families.declared() && options.families.empty()) {
      result.plain.relatives = LikelyRelatives(others);
    }
  }
  const ScoreTable oriented = used.Oriented();
  const ScoreTable complete = oriented.CompleteCases();
  if (complete.approaches().size() == oriented.approaches().size()) {
    CONCUR_RETURN_IF_ERROR(AddPairs(complete, bootstrap, result.pairs));
    return result;
  }
  for (const MatrixPair& pair : result.plain.pairs) {
    CONCUR_ASSIGN_OR_RETURN(const ScoreTable three,
                            oriented.SelectBenchmarks({names[pair.a], names[pair.b], given}));
    CONCUR_RETURN_IF_ERROR(AddPairs(three.CompleteCases(), bootstrap, result.pairs));
  }
  return result;
}

}  // namespace concur::analysis
