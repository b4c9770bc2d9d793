// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan/plan.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "analysis/score_table.h"
#include "analysis/statistics/coefficient.h"
#include "base/check.h"
#include "base/random.h"
#include "base/suggest.h"

namespace concur::analysis {
namespace {

// Sums of costs in another order may differ by rounding.
constexpr double kCostSlack = 1 + 1e-12;

double MedianOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) {
    return *middle;
  }
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// Effects of rows and columns on the logarithms of costs: Tukey's median polish over known cells.
struct CostEffects {
  std::vector<double> rows;
  std::vector<double> columns;
};
CostEffects PolishCosts(const ScoreTable& costs) {
  CostEffects effects;
  effects.rows.assign(costs.approaches().size(), 0.0);
  effects.columns.assign(costs.benchmarks().size(), 0.0);
  const auto polish = [&](std::vector<double>& into, bool by_row) {
    for (size_t at = 0; at < into.size(); ++at) {
      std::vector<double> rests;
      for (size_t other = 0; other < (by_row ? effects.columns : effects.rows).size(); ++other) {
        const size_t row = by_row ? at : other;
        const size_t column = by_row ? other : at;
        const ScoreCell& cell = costs.cell(row, column);
        if (cell.state == CellState::kValue && cell.value > 0) {
          rests.push_back(std::log(cell.value) -
                          (by_row ? effects.columns[column] : effects.rows[row]));
        }
      }
      into[at] = rests.empty() ? 0 : MedianOf(std::move(rests));
    }
  };
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    polish(effects.columns, /*by_row=*/false);
    polish(effects.rows, /*by_row=*/true);
  }
  return effects;
}

// Benchmarks that are run for the same approaches, and how many pairs of benchmarks they limit.
struct PlanBlock {
  double weight = 0;
  double cost = 0;
  std::vector<size_t> benchmarks;
};

// With the benchmarks by cost, the j-th (from 0) limits its pairs with the j cheaper ones. The sum
// of the variances of all pairs, in which a benchmark with rate r counts as j / r, is least at a
// given cost for rates sqrt(j / cost); benchmarks that would get a higher rate than a cheaper one
// share theirs with it (pool adjacent violators).
std::vector<PlanBlock> BlocksByCost(const CellGrid& costs) {
  std::vector<double> sums(costs.benchmarks, 0.0);
  for (size_t i = 0; i < costs.approaches; ++i) {
    for (size_t b = 0; b < costs.benchmarks; ++b) {
      sums[b] += costs.at(i, b);
    }
  }
  std::vector<size_t> order(costs.benchmarks);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return sums[a] < sums[b]; });
  std::vector<PlanBlock> blocks;
  for (size_t j = 0; j < order.size(); ++j) {
    blocks.push_back({static_cast<double>(j), sums[order[j]], {order[j]}});
    while (blocks.size() > 1) {
      const PlanBlock& last = blocks.back();
      PlanBlock& before = blocks[blocks.size() - 2];
      if (before.weight * last.cost > last.weight * before.cost * kCostSlack) {
        break;
      }
      before.weight += last.weight;
      before.cost += last.cost;
      before.benchmarks.insert(before.benchmarks.end(), last.benchmarks.begin(),
                               last.benchmarks.end());
      blocks.pop_back();
    }
  }
  return blocks;
}

size_t ReverseBits(size_t value, int bits) {
  size_t reversed = 0;
  for (int bit = 0; bit < bits; ++bit) {
    reversed = reversed << 1 | (value >> bit & 1);
  }
  return reversed;
}

// A number in (0, 1) for each approach: evenly spaced, with a random shift, and given out so that
// those below any threshold are spread evenly over the approaches by cost (a van der Corput
// sequence; equal costs in random order).
std::vector<double> PermanentNumbers(const CellGrid& costs, Random& random) {
  const size_t n = costs.approaches;
  std::vector<double> sums(n, 0.0);
  for (size_t i = 0; i < n; ++i) {
    for (size_t b = 0; b < costs.benchmarks; ++b) {
      sums[i] += costs.at(i, b);
    }
  }
  std::vector<size_t> by_cost(n);
  std::iota(by_cost.begin(), by_cost.end(), size_t{0});
  random.Shuffle(by_cost);
  std::stable_sort(by_cost.begin(), by_cost.end(),
                   [&](size_t a, size_t b) { return sums[a] < sums[b]; });
  int bits = 1;
  while (size_t{1} << bits < n) {
    ++bits;
  }
  std::vector<size_t> turns(n);
  std::iota(turns.begin(), turns.end(), size_t{0});
  std::sort(turns.begin(), turns.end(),
            [&](size_t a, size_t b) { return ReverseBits(a, bits) < ReverseBits(b, bits); });
  const size_t first = random.Below(n);
  const double within = (static_cast<double>(random.Below(1U << 20)) + 0.5) / (1U << 20);
  std::vector<double> numbers(n);
  for (size_t k = 0; k < n; ++k) {
    numbers[by_cost[turns[k]]] =
        (static_cast<double>((k + first) % n) + within) / static_cast<double>(n);
  }
  return numbers;
}

CellSample EmptySample(const CellGrid& costs) {
  CellSample sample;
  sample.has.assign(costs.values.size(), false);
  sample.probability = CellGrid(costs.approaches, costs.benchmarks, 0.0);
  return sample;
}

double TotalOf(const CellGrid& costs) {
  return std::accumulate(costs.values.begin(), costs.values.end(), 0.0);
}

struct PlannedNames {
  Coefficient coefficient;
  const char* symbol;
  const char* title;
};
constexpr PlannedNames kPlannedNames[] = {{Coefficient::kKendall, "tau", "Kendall's tau-b"},
                                          {Coefficient::kPearson, "r", "Pearson's r"},
                                          {Coefficient::kSpearman, "rho", "Spearman's rho"}};

const PlannedNames& PlannedNamesOf(Coefficient coefficient) {
  const auto* const names =
      std::find_if(std::begin(kPlannedNames), std::end(kPlannedNames),
                   [&](const PlannedNames& other) { return other.coefficient == coefficient; });
  CONCUR_CHECK(names != std::end(kPlannedNames));
  return *names;
}

}  // namespace

absl::StatusOr<Coefficient> ParsePlannedCoefficient(absl::string_view name) {
  std::vector<std::string> known;
  for (const PlannedNames& names : kPlannedNames) {
    known.emplace_back(CoefficientName(names.coefficient));
    if (known.back() == name) {
      return names.coefficient;
    }
  }
  return absl::InvalidArgumentError(ExpectedOneOf(known, name));
}

absl::string_view PlannedTitle(Coefficient coefficient) {
  return PlannedNamesOf(coefficient).title;
}

absl::string_view PlannedSymbol(Coefficient coefficient) {
  return PlannedNamesOf(coefficient).symbol;
}

CellCosts EqualCosts(const ScoreTable& table) {
  return {CellGrid(table.approaches().size(), table.benchmarks().size(), 1.0), 0};
}

absl::StatusOr<CellCosts> MatchCosts(const ScoreTable& table, const ScoreTable& costs) {
  std::map<std::string, size_t> rows;
  for (size_t i = 0; i < costs.approaches().size(); ++i) {
    rows[costs.approaches()[i].name] = i;
  }
  std::map<std::string, size_t> columns;
  for (size_t b = 0; b < costs.benchmarks().size(); ++b) {
    columns[costs.benchmarks()[b].name] = b;
    bool is_known = false;
    for (size_t i = 0; i < costs.approaches().size(); ++i) {
      const ScoreCell& cell = costs.cell(i, b);
      if (cell.state == CellState::kValue && cell.value < 0) {
        return absl::InvalidArgumentError(absl::StrCat(
            "costs: approach \"", costs.approaches()[i].name, "\", benchmark \"",
            costs.benchmarks()[b].name, "\": expected a cost of at least 0, got ", cell.value));
      }
      is_known = is_known || (cell.state == CellState::kValue && cell.value > 0);
    }
    if (!is_known) {
      columns.erase(costs.benchmarks()[b].name);
    }
  }
  const CostEffects effects = PolishCosts(costs);
  CellCosts matched = EqualCosts(table);
  for (size_t b = 0; b < table.benchmarks().size(); ++b) {
    const auto column = columns.find(table.benchmarks()[b].name);
    if (column == columns.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("costs: benchmark \"", table.benchmarks()[b].name,
                       "\" has none above 0; add a column with at least one"));
    }
    for (size_t i = 0; i < table.approaches().size(); ++i) {
      const auto row = rows.find(table.approaches()[i].name);
      if (row != rows.end()) {
        const ScoreCell& cell = costs.cell(row->second, column->second);
        if (cell.state == CellState::kValue && cell.value > 0) {
          matched.grid.at(i, b) = cell.value;
          continue;
        }
      }
      ++matched.estimated;
      matched.grid.at(i, b) = std::exp(effects.columns[column->second] +
                                       (row == rows.end() ? 0 : effects.rows[row->second]));
    }
  }
  return matched;
}

CellPlan::CellPlan(const CellCosts& costs, uint64_t seed)
    : costs_(costs.grid),
      rates_(costs.grid.approaches, costs.grid.benchmarks, 0.0),
      total_(TotalOf(costs.grid)) {
  Random random(seed, "plan/approaches");
  const std::vector<double> numbers = PermanentNumbers(costs_, random);
  const std::vector<PlanBlock> blocks = BlocksByCost(costs_);
  for (size_t i = 0; i < costs_.approaches; ++i) {
    for (const PlanBlock& block : blocks) {
      double cost = 0;
      for (const size_t b : block.benchmarks) {
        cost += costs_.at(i, b);
      }
      for (const size_t b : block.benchmarks) {
        // One benchmark alone limits no pair, and is run as a block of weight 1 would be.
        rates_.at(i, b) = std::sqrt(std::max(block.weight, 1.0) / cost);
        cells_.push_back({numbers[i] / rates_.at(i, b), i, b});
      }
    }
  }
  std::stable_sort(cells_.begin(), cells_.end(),
                   [](const PlannedCell& a, const PlannedCell& b) { return a.key < b.key; });
}

double CellPlan::Probability(size_t approach, size_t benchmark, double threshold) const {
  return std::min(1.0, threshold * rates_.at(approach, benchmark));
}

CellSample CellPlan::Below(double threshold) const {
  CellSample sample = EmptySample(costs_);
  for (const PlannedCell& cell : cells_) {
    if (cell.key >= threshold) {
      break;
    }
    sample.has[cell.approach * costs_.benchmarks + cell.benchmark] = true;
    sample.cost += costs_.at(cell.approach, cell.benchmark);
  }
  for (size_t i = 0; i < costs_.approaches; ++i) {
    for (size_t b = 0; b < costs_.benchmarks; ++b) {
      sample.probability.at(i, b) = Probability(i, b, threshold);
    }
  }
  return sample;
}

CellSample CellPlan::Within(double cost) const {
  double spent = 0;
  for (const PlannedCell& cell : cells_) {
    spent += costs_.at(cell.approach, cell.benchmark);
    if (spent > cost * kCostSlack) {
      return Below(cell.key);
    }
  }
  return Below(std::numeric_limits<double>::infinity());
}

CellSample RandomRows(const CellCosts& costs, double cost, uint64_t seed) {
  CellSample sample = EmptySample(costs.grid);
  // The numbers that a plan of equal costs draws: with equal costs both run the same approaches,
  // and comparisons are not blurred by chance.
  Random random(seed, "plan/approaches");
  const std::vector<double> numbers =
      PermanentNumbers(CellGrid(costs.grid.approaches, costs.grid.benchmarks, 1.0), random);
  std::vector<size_t> order(costs.grid.approaches);
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return numbers[a] < numbers[b]; });
  size_t count = 0;
  for (const size_t i : order) {
    double of_row = 0;
    for (size_t b = 0; b < costs.grid.benchmarks; ++b) {
      of_row += costs.grid.at(i, b);
    }
    if (sample.cost + of_row > cost * kCostSlack) {
      break;
    }
    sample.cost += of_row;
    ++count;
    for (size_t b = 0; b < costs.grid.benchmarks; ++b) {
      sample.has[i * costs.grid.benchmarks + b] = true;
    }
  }
  std::fill(sample.probability.values.begin(), sample.probability.values.end(),
            static_cast<double>(count) / static_cast<double>(order.size()));
  return sample;
}

CellSample RandomCells(const CellCosts& costs, double cost, uint64_t seed) {
  CellSample sample = EmptySample(costs.grid);
  sample.independent = true;
  Random random(seed, "plan/random-cells");
  std::vector<size_t> order(costs.grid.values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  random.Shuffle(order);
  size_t count = 0;
  for (const size_t at : order) {
    if (sample.cost + costs.grid.values[at] > cost * kCostSlack) {
      break;
    }
    sample.cost += costs.grid.values[at];
    ++count;
    sample.has[at] = true;
  }
  std::fill(sample.probability.values.begin(), sample.probability.values.end(),
            static_cast<double>(count) / static_cast<double>(order.size()));
  return sample;
}

}  // namespace concur::analysis
