// SPDX-License-Identifier: Apache-2.0
// Changes between two score tables: which approaches swapped places, and which cells did it.
//
// Thread-safe (stateless). Tables are matched by names; margins are in the scores' unit.
#ifndef CONCUR_ANALYSIS_COMPARISON_TABLE_DIFFERENCE_H_
#define CONCUR_ANALYSIS_COMPARISON_TABLE_DIFFERENCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/score_table.h"

namespace concur::analysis {

// Two approaches whose order on one benchmark is the opposite in the second table.
struct Flip {
  // Which of the two cells moved far enough to turn the order by itself.
  enum class Cause { kFirst, kSecond, kEither, kBothTogether };
  std::string benchmark;
  std::string first;   // ahead in the first table
  std::string second;  // ahead in the second table
  double first_before = 0;
  double second_before = 0;
  double first_after = 0;
  double second_after = 0;
  int decimals = 2;  // that tell the scores of the benchmark apart
  Cause cause = Cause::kBothTogether;
};

// Something that only one of the tables has, or that cannot be compared.
struct Unmatched {
  enum class Kind { kApproaches, kBenchmarks, kGoal, kCell };
  Kind kind = Kind::kCell;
  // kApproaches, kBenchmarks: the first table has them. kGoal: less is better there.
  bool in_first = false;
  std::vector<std::string> names = {};  // kApproaches, kBenchmarks
  std::string benchmark = {};           // kGoal, kCell
  std::string approach = {};            // kCell, as is all below: one of its cells has no score
  ScoreCell before = {};
  ScoreCell after = {};
  int decimals_before = 2;
  int decimals_after = 2;
};

struct TableDifference {
  // By benchmark in the first table's order; within it the largest lesser margin first.
  std::vector<Flip> flips;
  int64_t pairs = 0;  // pairs of approaches on a benchmark with all four scores
  int64_t ties = 0;   // pairs that are tied in one of the tables only
  int64_t changed_cells = 0;
  int64_t common_cells = 0;
  std::vector<Unmatched> only_in_one;
  // The columns of both tables, each with how its settings were chosen.
  std::vector<AxisEntry> benchmarks_before;
  std::vector<AxisEntry> benchmarks_after;
};

// "Ahead" is by the benchmark's goal; a benchmark with different goals is named, not compared.
TableDifference CompareTables(const ScoreTable& before, const ScoreTable& after);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_COMPARISON_TABLE_DIFFERENCE_H_
