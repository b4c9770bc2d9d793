// SPDX-License-Identifier: Apache-2.0
#include "analysis/comparison/table_difference.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace concur::analysis {
namespace {

using Index = absl::flat_hash_map<std::string, size_t>;

Index IndexOf(const std::vector<AxisEntry>& entries) {
  Index index;
  for (size_t i = 0; i < entries.size(); ++i) {
    index.emplace(entries[i].name, i);
  }
  return index;
}

// Positions of the entries that both axes have, in the order of `before`.
std::vector<std::pair<size_t, size_t>> Common(const std::vector<AxisEntry>& before,
                                              const std::vector<AxisEntry>& after,
                                              Unmatched::Kind kind,
                                              std::vector<Unmatched>& only_in_one) {
  const Index in_before = IndexOf(before);
  const Index in_after = IndexOf(after);
  std::vector<std::pair<size_t, size_t>> common;
  const auto note = [&](std::vector<std::string> names, bool in_first) {
    if (!names.empty()) {
      only_in_one.push_back({kind, in_first, std::move(names)});
    }
  };
  std::vector<std::string> only_before;
  for (size_t i = 0; i < before.size(); ++i) {
    const auto found = in_after.find(before[i].name);
    if (found == in_after.end()) {
      only_before.push_back(before[i].name);
    } else {
      common.emplace_back(i, found->second);
    }
  }
  std::vector<std::string> only_after;
  for (const AxisEntry& entry : after) {
    if (in_before.find(entry.name) == in_before.end()) {
      only_after.push_back(entry.name);
    }
  }
  note(std::move(only_before), true);
  note(std::move(only_after), false);
  return common;
}

// The scores of one approach on one benchmark in both tables, oriented.
struct Move {
  const std::string* approach = nullptr;
  double before = 0;
  double after = 0;
};

// `sign` takes oriented scores back to the benchmark's own.
Flip MakeFlip(const std::string& benchmark, const Move& first, const Move& second, double sign) {
  Flip flip;
  flip.benchmark = benchmark;
  flip.first = *first.approach;
  flip.second = *second.approach;
  flip.first_before = sign * first.before;
  flip.first_after = sign * first.after;
  flip.second_before = sign * second.before;
  flip.second_after = sign * second.after;
  const bool first_alone = first.after < second.before;
  const bool second_alone = first.before < second.after;
  flip.cause = first_alone && second_alone ? Flip::Cause::kEither
               : first_alone               ? Flip::Cause::kFirst
               : second_alone              ? Flip::Cause::kSecond
                                           : Flip::Cause::kBothTogether;
  return flip;
}

double LesserMargin(const Flip& flip) {
  return std::min(std::abs(flip.first_before - flip.second_before),
                  std::abs(flip.second_after - flip.first_after));
}

void AddFlips(const std::string& benchmark, const std::vector<Move>& moves, double sign,
              TableDifference& difference) {
  const size_t begin = difference.flips.size();
  for (size_t i = 0; i < moves.size(); ++i) {
    for (size_t j = i + 1; j < moves.size(); ++j) {
      const double before = moves[i].before - moves[j].before;
      const double after = moves[i].after - moves[j].after;
      ++difference.pairs;
      difference.ties += (before == 0) != (after == 0) ? 1 : 0;
      if (before > 0 && after < 0) {
        difference.flips.push_back(MakeFlip(benchmark, moves[i], moves[j], sign));
      } else if (before < 0 && after > 0) {
        difference.flips.push_back(MakeFlip(benchmark, moves[j], moves[i], sign));
      }
    }
  }
  std::stable_sort(difference.flips.begin() + static_cast<std::ptrdiff_t>(begin),
                   difference.flips.end(),
                   [](const Flip& x, const Flip& y) { return LesserMargin(x) > LesserMargin(y); });
}

}  // namespace

TableDifference CompareTables(const ScoreTable& before, const ScoreTable& after) {
  TableDifference difference;
  difference.benchmarks_before = before.benchmarks();
  difference.benchmarks_after = after.benchmarks();
  const auto rows = Common(before.approaches(), after.approaches(), Unmatched::Kind::kApproaches,
                           difference.only_in_one);
  const auto columns = Common(before.benchmarks(), after.benchmarks(), Unmatched::Kind::kBenchmarks,
                              difference.only_in_one);
  for (const auto& [b, b_after] : columns) {
    const std::string& benchmark = before.benchmarks()[b].name;
    const double sign = before.sign(b);
    if (sign != after.sign(b_after)) {
      difference.only_in_one.push_back({Unmatched::Kind::kGoal, sign < 0, {}, benchmark});
      continue;
    }
    std::vector<Move> moves;
    for (const auto& [row, row_after] : rows) {
      const ScoreCell& x = before.cell(row, b);
      const ScoreCell& y = after.cell(row_after, b_after);
      const std::string& approach = before.approaches()[row].name;
      if (x.state == CellState::kValue && y.state == CellState::kValue) {
        moves.push_back({&approach, sign * x.value, sign * y.value});
        ++difference.common_cells;
        difference.changed_cells += x.value != y.value ? 1 : 0;
      } else if (x.state != y.state) {
        difference.only_in_one.push_back({Unmatched::Kind::kCell,
                                          false,
                                          {},
                                          benchmark,
                                          approach,
                                          x,
                                          y,
                                          before.decimals(b),
                                          after.decimals(b_after)});
      }
    }
    const size_t begin = difference.flips.size();
    AddFlips(benchmark, moves, sign, difference);
    const int decimals = std::max(before.decimals(b), after.decimals(b_after));
    for (size_t i = begin; i < difference.flips.size(); ++i) {
      difference.flips[i].decimals = decimals;
    }
  }
  return difference;
}

}  // namespace concur::analysis
