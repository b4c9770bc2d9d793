// SPDX-License-Identifier: Apache-2.0
#include "analysis/concurrence/difference.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "analysis/bootstrap.h"
#include "analysis/resampling.h"
#include "analysis/score_table.h"
#include "analysis/statistics/correlation.h"
#include "base/status_macros.h"

namespace concur::analysis {
namespace {

// The positions of a query's two pairs in the order of WeightedCoefficients.
struct Positions {
  size_t first = 0;
  size_t second = 0;
};

size_t PositionOf(size_t a, size_t b, size_t benchmarks) {
  if (a > b) {
    std::swap(a, b);
  }
  return a * (2 * benchmarks - a - 1) / 2 + (b - a - 1);
}

int64_t CountBoth(const ScoreTable& table, size_t a, size_t b) {
  int64_t n = 0;
  for (size_t i = 0; i < table.approaches().size(); ++i) {
    n += table.cell(i, a).state == CellState::kValue && table.cell(i, b).state == CellState::kValue
             ? 1
             : 0;
  }
  return n;
}

size_t IndexIn(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

}  // namespace

absl::StatusOr<std::vector<PairDifference>> BootstrapDifferences(
    const ScoreTable& table, Coefficient coefficient, absl::Span<const DifferenceQuery> queries,
    const BootstrapOptions& options) {
  CONCUR_RETURN_IF_ERROR(ValidateBootstrapOptions(options));
  std::vector<std::string> names;
  for (const DifferenceQuery& query : queries) {
    if (query.a == query.b || query.c == query.d) {
      return absl::InvalidArgumentError(
          absl::StrCat("difference: expected pairs of two benchmarks, got \"", query.a,
                       "\" with \"", query.b, "\" and \"", query.c, "\" with \"", query.d, "\""));
    }
    for (const std::string* name : {&query.a, &query.b, &query.c, &query.d}) {
      if (IndexIn(names, *name) == names.size()) {
        names.push_back(*name);
      }
    }
  }
  CONCUR_ASSIGN_OR_RETURN(const ScoreTable used, table.SelectBenchmarks(names));
  const size_t approaches = used.approaches().size();
  std::vector<PairDifference> differences;
  std::vector<Positions> positions;
  for (const DifferenceQuery& query : queries) {
    const size_t a = IndexIn(names, query.a);
    const size_t b = IndexIn(names, query.b);
    const size_t c = IndexIn(names, query.c);
    const size_t d = IndexIn(names, query.d);
    PairDifference& difference = differences.emplace_back();
    difference.of = query;
    difference.n_first = CountBoth(used, a, b);
    difference.n_second = CountBoth(used, c, d);
    positions.push_back({PositionOf(a, b, names.size()), PositionOf(c, d, names.size())});
  }
  if (approaches == 0 || queries.empty()) {
    return differences;
  }
  CONCUR_ASSIGN_OR_RETURN(const DrawUnits draws, DrawUnitsOf(used, options));
  std::vector<IntervalRule> rules;  // rule of each query's pair with fewer families
  for (const DifferenceQuery& query : queries) {
    const auto rule = [&](const std::string& a, const std::string& b) {
      return RuleOfPair(used, draws, options, coefficient, IndexIn(names, a), IndexIn(names, b));
    };
    rules.push_back(std::min(rule(query.a, query.b), rule(query.c, query.d),
                             [](const IntervalRule& x, const IntervalRule& y) {
                               return x.expanded_by < y.expanded_by;
                             }));
  }
  const WeightedCoefficients evaluator(used, coefficient, options.top);
  CONCUR_ASSIGN_OR_RETURN(
      const std::vector<BootstrappedStatistic> results,
      BootstrapStatistics(approaches, draws, rules, options, [&]() -> WeightedStatistics {
        return [&, scratch = WeightedCoefficients::Scratch(),
                row = std::vector<double>(evaluator.PairCount(0, names.size()))](
                   absl::Span<const int32_t> weights, double* out) mutable {
          evaluator.Evaluate(weights, 0, names.size(), scratch, row.data());
          for (size_t q = 0; q < positions.size(); ++q) {
            out[q] = row[positions[q].first] - row[positions[q].second];
          }
        };
      }));
  for (size_t q = 0; q < queries.size(); ++q) {
    const BootstrappedStatistic& result = results[q];
    PairDifference& difference = differences[q];
    if (std::isnan(result.estimate)) {
      difference.warning = "undefined: one of the coefficients is";
      continue;
    }
    difference.value = result.estimate;
    difference.interval = result.interval.interval;
    difference.p_value = result.p_value;
    difference.warning = result.interval.warning;
    if (const std::string few =
            FewApproachesWarning(std::min(difference.n_first, difference.n_second));
        difference.interval.has_value() && !few.empty()) {
      absl::StrAppend(&difference.warning, difference.warning.empty() ? "" : "; ", few);
    }
  }
  return differences;
}

}  // namespace concur::analysis
