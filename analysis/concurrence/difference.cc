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
#include "analysis/replicates.h"
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
  const size_t pairs = evaluator.PairCount(0, names.size());
  const auto replicates = static_cast<size_t>(options.replicates);
  std::vector<double> values(queries.size() * replicates);
  // Writes the difference of each query, `stride` apart.
  const auto evaluate = [&](const std::vector<int32_t>& weights,
                            WeightedCoefficients::Scratch& scratch, std::vector<double>& row,
                            double* out, size_t stride) {
    evaluator.Evaluate(weights, 0, names.size(), scratch, row.data());
    for (size_t q = 0; q < positions.size(); ++q) {
      out[q * stride] = row[positions[q].first] - row[positions[q].second];
    }
  };
  options.parallel_for(ReplicateChunks(replicates), [&](size_t chunk) {
    WeightedCoefficients::Scratch scratch;
    std::vector<double> row(pairs);
    ForEachReplicate(options.seed, approaches, draws.families, replicates, chunk,
                     [&](size_t replicate, const std::vector<int32_t>& weights) {
                       evaluate(weights, scratch, row, values.data() + replicate, replicates);
                     });
  });
  WeightedCoefficients::Scratch scratch;
  std::vector<double> row(pairs);
  std::vector<int32_t> weights(approaches, 1);
  std::vector<double> estimates(queries.size());
  evaluate(weights, scratch, row, estimates.data(), 1);
  const size_t units = draws.units.size();
  std::vector<double> jackknife(queries.size() * units);
  for (size_t u = 0; u < units; ++u) {
    for (const size_t i : draws.units[u]) {
      weights[i] = 0;
    }
    evaluate(weights, scratch, row, jackknife.data() + u, units);
    for (const size_t i : draws.units[u]) {
      weights[i] = 1;
    }
  }
  for (size_t q = 0; q < queries.size(); ++q) {
    if (std::isnan(estimates[q])) {
      differences[q].warning = "undefined: one of the coefficients is";
      continue;
    }
    differences[q].value = estimates[q];
    const IntervalRule& rule = rules[q];
    if (rule.level == 0) {
      differences[q].warning = kTooFewFamilies;
      continue;
    }
    std::vector<double> of_query(values.begin() + static_cast<ptrdiff_t>(q * replicates),
                                 values.begin() + static_cast<ptrdiff_t>((q + 1) * replicates));
    const BootstrapInterval interval = IntervalFromReplicates(
        of_query, estimates[q], absl::MakeSpan(jackknife).subspan(q * units, units), rule.level,
        rule.method);
    differences[q].interval = interval.interval;
    differences[q].p_value =
        SignPValue(of_query, estimates[q], absl::MakeSpan(jackknife).subspan(q * units, units),
                   rule.method, rule.expanded_by);
    differences[q].warning = interval.warning;
    if (const std::string few =
            FewApproachesWarning(std::min(differences[q].n_first, differences[q].n_second));
        interval.interval.has_value() && !few.empty()) {
      absl::StrAppend(&differences[q].warning, interval.warning.empty() ? "" : "; ", few);
    }
  }
  return differences;
}

}  // namespace concur::analysis
