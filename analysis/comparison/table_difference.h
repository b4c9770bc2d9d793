// SPDX-License-Identifier: Apache-2.0
// What changed between two score tables: which approaches swapped places, and which cells did it.
//
// Thread-safe (stateless). Tables are matched by names; margins are in the scores' unit.
#ifndef CONCUR_ANALYSIS_TABLE_DIFFERENCE_H_
#define CONCUR_ANALYSIS_TABLE_DIFFERENCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/score_table.h"
#include "analysis/table.h"

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

struct TableDifference {
  // By benchmark in the first table's order; within it the largest lesser margin first.
  std::vector<Flip> flips;
  int64_t pairs = 0;  // of approaches on a benchmark with all four scores
  int64_t ties = 0;   // pairs that are tied in one of the tables only
  int64_t changed_cells = 0;
  int64_t common_cells = 0;
  // In words: axes and cells that only one table has, each once.
  std::vector<std::string> only_in_one;
  std::vector<std::string> choices;  // how settings were chosen: ChoiceNotes
};

// "Ahead" is by the benchmark's goal; a benchmark with different goals is named, not compared.
TableDifference CompareTables(const ScoreTable& before, const ScoreTable& after);

// One row for each flip; `before` and `after` name the tables.
Table DifferenceTable(const TableDifference& difference, const std::string& before,
                      const std::string& after);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_TABLE_DIFFERENCE_H_
