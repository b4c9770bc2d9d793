// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan/plan_next.h"

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
#include "absl/strings/str_cat.h"
#include "analysis/plan/plan.h"
#include "analysis/plan/plan_estimate.h"
#include "analysis/plan/plan_power.h"
#include "analysis/score_table.h"
#include "analysis/statistics/coefficient.h"
#include "base/status_macros.h"

namespace concur::analysis {
namespace {

absl::Status CheckNext(const ScoreTable& table, const NextOptions& options) {
  const size_t approaches = table.approaches().size();
  const size_t benchmarks = table.benchmarks().size();
  constexpr size_t kApproachesMin = 5;
  if (approaches < kApproachesMin || benchmarks < 2 ||
      benchmarks * (benchmarks - 1) / 2 * approaches > kPlanSizeMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        "scores: expected at least ", kApproachesMin, " approaches and 2 benchmarks, and at most ",
        kPlanSizeMax, " pairs of benchmarks times approaches, got ", approaches, " and ",
        benchmarks,
        approaches < kApproachesMin ? "; concur next --power says how many approaches it takes"
                                    : ""));
  }
  return CheckPrecision(options.within, options.level);
}

bool HasScore(const ScoreTable& table, size_t approach, size_t benchmark) {
  return table.cell(approach, benchmark).state == CellState::kValue;
}

bool IsExcluded(const ScoreTable& table, const PlannedCell& planned, const NextOptions& options) {
  const ScoreCell& cell = table.cell(planned.approach, planned.benchmark);
  return options.empty_is_excluded && cell.state == CellState::kMissing && cell.missing == 0;
}

// True if the cell has no score and may get one.
bool CanRun(const ScoreTable& table, const PlannedCell& planned, const NextOptions& options) {
  const CellState state = table.cell(planned.approach, planned.benchmark).state;
  return state != CellState::kValue && state != CellState::kFailed &&
         state != CellState::kStopped && !IsExcluded(table, planned, options);
}

// The scores that are there as a sample: the beginning of the plan, or, where they are something
// else, approaches drawn with equal probabilities on each benchmark.
CellSample SampleOf(const ScoreTable& table, const CellPlan& plan, const NextOptions& options,
                    bool& in_order) {
  double threshold = std::numeric_limits<double>::infinity();
  size_t scored = 0;
  size_t planned = 0;
  for (const PlannedCell& cell : plan.cells()) {
    const CellState state = table.cell(cell.approach, cell.benchmark).state;
    if (CanRun(table, cell, options)) {
      threshold = std::min(threshold, cell.key);
    }
    scored += state == CellState::kValue ? 1 : 0;
    planned += state == CellState::kValue && cell.key < threshold ? 1 : 0;
  }
  CellSample sample = plan.Below(threshold);
  // A few cells beyond the threshold are those that were running while others waited.
  constexpr double kOfPlanMin = 0.9;
  in_order = static_cast<double>(planned) >= kOfPlanMin * static_cast<double>(scored);
  for (size_t b = 0; b < table.benchmarks().size(); ++b) {
    size_t count = 0;
    for (size_t i = 0; i < table.approaches().size(); ++i) {
      count += HasScore(table, i, b) ? 1 : 0;
    }
    for (size_t i = 0; i < table.approaches().size(); ++i) {
      const size_t at = i * table.benchmarks().size() + b;
      if (!in_order) {
        sample.has[at] = true;
        sample.probability.values[at] =
            static_cast<double>(count) / static_cast<double>(table.approaches().size());
      }
      sample.has[at] = sample.has[at] && HasScore(table, i, b);
    }
  }
  return sample;
}

// Half the width of an interval around `value` on Fisher's scale.
double HalfWidthAround(double value, double variance, double level) {
  constexpr double kMost = 0.99;
  const double inside = std::clamp(value, -kMost, kMost);
  const double reach = NormalQuantile(level) * std::sqrt(variance) / (1 - inside * inside);
  const double middle = std::atanh(inside);
  return (std::tanh(middle + reach) - std::tanh(middle - reach)) / 2;
}

// The variance of one approach's share in a coefficient; of independent benchmarks where it is not
// known.
double UnitVariance(Coefficient coefficient, const PairEstimate& pair) {
  constexpr int64_t kKnownMin = 8;
  const double independent = coefficient == Coefficient::kKendall ? 4.0 / 9 : 1;
  return pair.defined && pair.n >= kKnownMin ? pair.unit_variance : independent;
}

// The widest interval to be expected of the sample of a threshold.
double ExpectedHalfWidth(const CellPlan& plan, const std::vector<PairEstimate>& pairs, size_t n,
                         double threshold, const NextOptions& options) {
  double widest = 0;
  for (const PairEstimate& pair : pairs) {
    double inverses = 0;
    for (size_t i = 0; i < n; ++i) {
      inverses += 1 / std::min(plan.Probability(i, pair.a, threshold),
                               plan.Probability(i, pair.b, threshold)) -
                  1;
    }
    const auto count = static_cast<double>(n);
    widest = std::max(
        widest, HalfWidthAround(pair.value,
                                UnitVariance(options.coefficient, pair) * inverses / count / count,
                                options.level));
  }
  return widest;
}

// The place in the plan up to which to run so that every interval is expected to be narrow enough.
size_t CellsUntil(const CellPlan& plan, const ScoreTable& table, const NextCells& next,
                  const NextOptions& options) {
  const size_t n = table.approaches().size();
  size_t low = 0;
  while (low < plan.cells().size() && !CanRun(table, plan.cells()[low], options)) {
    ++low;
  }
  size_t high = plan.cells().size();
  if (low == high) {
    return high;
  }
  // Intervals that are wider now than was expected of this many cells stay so.
  double within = options.within;
  const double expected = ExpectedHalfWidth(plan, next.pairs, n, plan.cells()[low].key, options);
  if (next.in_order && expected > 0 && expected < next.half_width) {
    within *= expected / next.half_width;
  }
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (ExpectedHalfWidth(plan, next.pairs, n, plan.cells()[middle].key, options) <= within) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return high;
}

void AddSampleView(size_t n, const NextOptions& options, NextCells& next) {
  for (size_t p = 0; p < next.pairs.size(); ++p) {
    const PairEstimate& pair = next.pairs[p];
    const double unit = UnitVariance(options.coefficient, pair);
    const double width = HalfWidthAround(pair.value, unit / static_cast<double>(n), options.level);
    if (width <= next.sample_half_width) {
      continue;
    }
    next.sample_half_width = width;
    next.sample_widest = p;
    int64_t needed = static_cast<int64_t>(n);
    constexpr int64_t kNeededMax = 100'000'000;
    while (needed < kNeededMax && HalfWidthAround(pair.value, unit / static_cast<double>(needed),
                                                  options.level) > options.within) {
      needed += std::max<int64_t>(1, needed / 100);
    }
    next.approaches_more = needed - static_cast<int64_t>(n);
  }
}

}  // namespace

absl::StatusOr<NextCells> PlanNext(const ScoreTable& table, const CellCosts& costs,
                                   const NextOptions& options) {
  CONCUR_RETURN_IF_ERROR(CheckNext(table, options));
  const size_t n = table.approaches().size();
  const CellPlan plan(costs, options.seed);
  NextCells next;
  PairEstimateOptions estimate;
  estimate.coefficient = options.coefficient;
  estimate.level = options.level;
  next.pairs = EstimatePairs(RankedTable(table.Oriented()),
                             SampleOf(table, plan, options, next.in_order), estimate);
  for (size_t p = 0; p < next.pairs.size(); ++p) {
    const double width = (next.pairs[p].interval.high - next.pairs[p].interval.low) / 2;
    if (width > next.half_width) {
      next.half_width = width;
      next.widest = p;
    }
  }
  AddSampleView(n, options, next);
  const bool is_known = next.half_width <= options.within;
  const size_t count = is_known ? 0 : CellsUntil(plan, table, next, options);
  // Cells with the same key go together, also at the end.
  const double last = count < plan.cells().size() ? plan.cells()[count].key
                                                  : std::numeric_limits<double>::infinity();
  double key = -1;
  for (const PlannedCell& cell : plan.cells()) {
    const CellState state = table.cell(cell.approach, cell.benchmark).state;
    next.failed += state == CellState::kFailed ? 1 : 0;
    next.stopped += state == CellState::kStopped ? 1 : 0;
    next.excluded += IsExcluded(table, cell, options) ? 1 : 0;
    if (!CanRun(table, cell, options)) {
      continue;
    }
    const double cost = costs.grid.at(cell.approach, cell.benchmark);
    next.cost_of_rest += cost;
    if (is_known || cell.key > last) {
      continue;
    }
    if (cell.key != key || next.steps.empty() || next.steps.back().approach != cell.approach) {
      next.steps.push_back({cell.approach, {}, 0});
      key = cell.key;
    }
    next.steps.back().benchmarks.push_back(cell.benchmark);
    next.steps.back().cost += cost;
    next.cost += cost;
  }
  return next;
}

}  // namespace concur::analysis
