// SPDX-License-Identifier: Apache-2.0
#include "analysis/concurrence/structure.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/resampling.h"
#include "analysis/score_table.h"
#include "analysis/statistics/correlation.h"
#include "analysis/statistics/intervals.h"
#include "base/decimal.h"
#include "base/metric_meaning.h"

namespace concur::analysis {
namespace {

bool HasBoth(const ScoreTable& table, size_t approach, size_t a, size_t b) {
  return table.cell(approach, a).state == CellState::kValue &&
         table.cell(approach, b).state == CellState::kValue;
}

double DeviationOf(const ScoreTable& table, size_t benchmark) {
  std::vector<double> values;
  for (const ScoreCell& cell : table.column(benchmark)) {
    if (cell.state == CellState::kValue) {
      values.push_back(cell.value);
    }
  }
  return ComputeMoments(values).standard_deviation;
}

}  // namespace

std::vector<std::vector<Influence>> LeaveOneOut(const ScoreTable& table, Coefficient coefficient,
                                                size_t count, size_t top) {
  const size_t benchmarks = table.benchmarks().size();
  const size_t approaches = table.approaches().size();
  const WeightedCoefficients evaluator(table, coefficient, top);
  const size_t pairs = evaluator.PairCount(0, benchmarks);
  std::vector<std::vector<Influence>> influences(pairs);
  if (approaches == 0) {
    return influences;
  }
  WeightedCoefficients::Scratch scratch;
  std::vector<int32_t> weights(approaches, 1);
  std::vector<double> with(pairs);
  std::vector<double> without(pairs);
  evaluator.Evaluate(weights, 0, benchmarks, scratch, with.data());
  for (size_t i = 0; i < approaches; ++i) {
    weights[i] = 0;
    evaluator.Evaluate(weights, 0, benchmarks, scratch, without.data());
    weights[i] = 1;
    size_t pair = 0;
    for (size_t a = 0; a < benchmarks; ++a) {
      for (size_t b = a + 1; b < benchmarks; ++b, ++pair) {
        if (std::isnan(with[pair]) || !HasBoth(table, i, a, b)) {
          continue;
        }
        Influence influence;
        influence.approach = i;
        if (!std::isnan(without[pair])) {
          influence.without = without[pair];
          influence.change = with[pair] - without[pair];
        }
        influences[pair].push_back(influence);
      }
    }
  }
  for (std::vector<Influence>& list : influences) {
    std::stable_sort(list.begin(), list.end(), [](const Influence& x, const Influence& y) {
      if (x.without.has_value() != y.without.has_value()) {
        return !x.without.has_value();
      }
      return std::abs(x.change) > std::abs(y.change);
    });
    list.resize(std::min(list.size(), count));
  }
  return influences;
}

std::vector<Swap> FindSwaps(const ScoreTable& table, size_t a, size_t b) {
  std::vector<Swap> swaps;
  const size_t approaches = table.approaches().size();
  for (size_t i = 0; i < approaches; ++i) {
    for (size_t j = i + 1; j < approaches; ++j) {
      if (!HasBoth(table, i, a, b) || !HasBoth(table, j, a, b)) {
        continue;
      }
      const auto exceeds = [&](size_t better, size_t worse, size_t benchmark) {
        return ExceedsBy(table.cell(better, benchmark).value, table.cell(worse, benchmark).value,
                         table.benchmarks()[benchmark].ties_within);
      };
      const double on_a = table.cell(i, a).value - table.cell(j, a).value;
      const double on_b = table.cell(i, b).value - table.cell(j, b).value;
      if (exceeds(i, j, a) && exceeds(j, i, b)) {
        swaps.push_back({i, j, on_a, -on_b});
      } else if (exceeds(j, i, a) && exceeds(i, j, b)) {
        swaps.push_back({j, i, -on_a, on_b});
      }
    }
  }
  // There is a swap, so that neither deviation is 0.
  const double deviation_a = DeviationOf(table, a);
  const double deviation_b = DeviationOf(table, b);
  const auto lesser = [&](const Swap& swap) {
    return std::min(swap.margin_a / deviation_a, swap.margin_b / deviation_b);
  };
  std::stable_sort(swaps.begin(), swaps.end(),
                   [&](const Swap& x, const Swap& y) { return lesser(x) > lesser(y); });
  return swaps;
}

std::string BenchmarkFlagName(BenchmarkFlag::Kind kind) {
  switch (kind) {
    case BenchmarkFlag::Kind::kFloor:
      return "floor";
    case BenchmarkFlag::Kind::kCeiling:
      return "ceiling";
    case BenchmarkFlag::Kind::kConstant:
      return "constant";
  }
  return "constant";
}

std::vector<std::string> BeyondScale(const ScoreTable& table) {
  std::vector<std::string> sentences;
  for (size_t b = 0; b < table.benchmarks().size(); ++b) {
    const AxisEntry& benchmark = table.benchmarks()[b];
    const std::optional<ScoreRange> range = table.range(b);
    if (benchmark.metric.scale.kind == Scale::Kind::kUnstated || !range.has_value()) {
      continue;
    }
    int64_t beyond = 0;
    size_t first = 0;
    for (size_t i = 0; i < table.approaches().size(); ++i) {
      const ScoreCell& cell = table.cell(i, b);
      if (cell.state == CellState::kValue &&
          (cell.value < range->low || cell.value > range->high)) {
        first = beyond == 0 ? i : first;
        ++beyond;
      }
    }
    if (beyond > 0) {
      sentences.push_back(absl::StrCat(
          beyond, beyond == 1 ? " score of " : " scores of ", benchmark.name,
          beyond == 1 ? " lies" : " lie", " beyond its scale, ", ShortestDecimal(range->low),
          " to ", ShortestDecimal(range->high), ": ", table.approaches()[first].name, " has ",
          ShortestDecimal(table.cell(first, b).value), "; mend the scale, or the scores"));
    }
  }
  return sentences;
}

std::vector<BenchmarkFlag> FlagBenchmarks(const ScoreTable& table) {
  constexpr double kNear = 0.01;
  std::vector<BenchmarkFlag> flags;
  for (size_t b = 0; b < table.benchmarks().size(); ++b) {
    const std::optional<ScoreRange> range = table.range(b);
    const double near = range.has_value() ? kNear * (range->high - range->low) : 0;
    int64_t n = 0;
    int64_t low = 0;
    int64_t high = 0;
    int64_t same = 0;  // as the first one
    double first = 0;
    for (const ScoreCell& cell : table.column(b)) {
      if (cell.state == CellState::kValue) {
        const double v = cell.value;
        first = n == 0 ? v : first;
        ++n;
        same += v == first ? 1 : 0;
        low += range.has_value() && v >= range->low - near && v <= range->low + near ? 1 : 0;
        high += range.has_value() && v >= range->high - near && v <= range->high + near ? 1 : 0;
      }
    }
    if (n < 2) {
      continue;
    }
    if (same == n) {
      flags.push_back({b, BenchmarkFlag::Kind::kConstant, n});
    }
    const auto add = [&](BenchmarkFlag::Kind kind, int64_t count, double end) {
      if (count >= 2 && 4 * count >= n) {
        flags.push_back({b, kind, count, end});
      }
    };
    const bool up = table.benchmarks()[b].metric.goal == Goal::kMaximize;
    const double worst = !range.has_value() ? 0 : up ? range->low : range->high;
    const double best = !range.has_value() ? 0 : up ? range->high : range->low;
    add(BenchmarkFlag::Kind::kFloor, up ? low : high, worst);
    add(BenchmarkFlag::Kind::kCeiling, up ? high : low, best);
  }
  return flags;
}

}  // namespace concur::analysis
