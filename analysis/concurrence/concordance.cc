// SPDX-License-Identifier: Apache-2.0
#include "analysis/concurrence/concordance.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "analysis/bootstrap.h"
#include "analysis/families.h"
#include "analysis/score_table.h"
#include "base/status_macros.h"

namespace concur::analysis {
namespace {

// Approaches by ascending score on a benchmark, those with one score together.
using TiedOrder = std::vector<std::vector<size_t>>;

TiedOrder TiedOrderOf(absl::Span<const ScoreCell> column) {
  std::vector<size_t> order(column.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t i, size_t j) { return column[i].value < column[j].value; });
  TiedOrder groups;
  for (const size_t i : order) {
    if (groups.empty() || column[groups.back()[0]].value != column[i].value) {
      groups.emplace_back();
    }
    groups.back().push_back(i);
  }
  return groups;
}

// W of approaches that count as often as they weigh; NaN where undefined. Divided by 12 above and
// below: squared deviations of rank sums over m times those of the ranks.
double WeightedW(const std::vector<TiedOrder>& orders, absl::Span<const int32_t> weights,
                 std::vector<double>& sums) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  sums.assign(weights.size(), 0.0);
  double of_ranks = 0;
  for (const TiedOrder& order : orders) {
    double below = 0;
    for (const std::vector<size_t>& tied : order) {
      double count = 0;
      for (const size_t i : tied) {
        count += weights[i];
      }
      const double deviation = below + (count - total) / 2;  // average rank less the mean one
      for (const size_t i : tied) {
        sums[i] += deviation;
      }
      of_ranks += count * deviation * deviation;
      below += count;
    }
  }
  double of_sums = 0;
  for (size_t i = 0; i < sums.size(); ++i) {
    of_sums += weights[i] * sums[i] * sums[i];
  }
  return of_ranks > 0 ? std::min(1.0, of_sums / (static_cast<double>(orders.size()) * of_ranks))
                      : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

absl::StatusOr<Concordance> ComputeConcordance(const ScoreTable& table,
                                               absl::Span<const size_t> benchmarks,
                                               const std::optional<BootstrapOptions>& options) {
  std::vector<std::string> names;
  for (const size_t benchmark : benchmarks) {
    names.push_back(table.benchmarks()[benchmark].name);
  }
  CONCUR_ASSIGN_OR_RETURN(const ScoreTable group, table.SelectBenchmarks(names));
  const ScoreTable used = group.Oriented().CompleteCases();
  const size_t approaches = used.approaches().size();
  Concordance result;
  result.n = static_cast<int64_t>(approaches);
  result.left_out = static_cast<int64_t>(table.approaches().size() - approaches);
  if (approaches < 2 || benchmarks.size() < 2) {
    return result;
  }
  std::vector<TiedOrder> orders;
  for (size_t b = 0; b < names.size(); ++b) {
    orders.push_back(TiedOrderOf(used.column(b)));
  }
  std::vector<double> sums;
  const double w = WeightedW(orders, std::vector<int32_t>(approaches, 1), sums);
  if (std::isnan(w)) {
    return result;
  }
  result.w = w;
  if (!options.has_value()) {
    return result;
  }
  CONCUR_RETURN_IF_ERROR(ValidateBootstrapOptions(*options));
  BootstrapOptions own = *options;
  CONCUR_RETURN_IF_ERROR(FamiliesOf(table, own.families).status());
  own.families = FamiliesTagIn(used, own.families);
  CONCUR_ASSIGN_OR_RETURN(const DrawUnits draws, DrawUnitsOf(used, own));
  const IntervalRule rule = RuleOfPair(used, draws, *options, Coefficient::kSpearman, 0, 1);
  CONCUR_ASSIGN_OR_RETURN(
      const std::vector<BootstrappedStatistic> bootstrapped,
      BootstrapStatistics(approaches, draws, {rule}, *options, [&]() -> WeightedStatistics {
        return [&, rank_sums = std::vector<double>()](absl::Span<const int32_t> weights,
                                                      double* out) mutable {
          *out = WeightedW(orders, weights, rank_sums);
        };
      }));
  result.interval = bootstrapped[0].interval.interval;
  result.warning = bootstrapped[0].interval.warning;
  if (const std::string few = FewUnitsWarning(!draws.families.empty(), rule.expanded_by, result.n);
      result.interval.has_value() && !few.empty()) {
    absl::StrAppend(&result.warning, result.warning.empty() ? "" : "; ", few);
  }
  return result;
}

}  // namespace concur::analysis
