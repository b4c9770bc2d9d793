// SPDX-License-Identifier: Apache-2.0
// Rows of a leaderboard with the same model: variants by columns that differ, versions by dates and
// notes, repetitions, copies.
//
// Pure functions, and RowCopies: thread-compatible.
#ifndef CONCUR_QA_RESULTS_TABLE_ROWS_H_
#define CONCUR_QA_RESULTS_TABLE_ROWS_H_

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "qa/results/leaderboard_columns.h"
#include "qa/results/results.h"

namespace concur::imports {

bool IsGap(absl::string_view field);

// Few of `columns` that tell rows apart, of those that are equal in `base`, as well as all of them
// do: one, where one does; else none of them can be left out.
std::vector<size_t> FewestColumns(const LeaderboardTable& table, const std::vector<size_t>& base,
                                  std::vector<size_t> columns);

// Dates and notes by which rows differ that nothing else tells apart, no number of a repetition
// either: these are versions of a model, not repetitions.
struct Versions {
  std::vector<size_t> columns;
  std::set<std::string> models;  // with such rows; of others dates are those of repetitions
};

// Takes the columns from `occasions`, for rows that are equal in `base`, the cells; notes them in
// `results`. A model has versions only if no group, rows that are equal in `group`, has more
// occasions than its fullest cell: else each score has a date of its own.
Versions FindVersions(const LeaderboardTable& table, size_t model, const std::vector<size_t>& group,
                      const std::vector<size_t>& base, const std::vector<size_t>& occasions,
                      FileResults& results);

// Appends the fields of `columns` in a row, with the columns' names where they are numbers.
void AddFields(const LeaderboardTable& table, const LeaderboardTable::Row& row,
               const std::vector<size_t>& columns, std::vector<std::string>& words);

// Tells copies of rows from repetitions with equal scores. Rows outlive it.
class RowCopies {
 public:
  using Key = std::vector<std::string>;
  void Add(const Key& key, const LeaderboardTable::Row& row) { kinds_[key].insert(&row.fields); }
  // True if a row is certain to be a copy of one that came before: it has the number of a
  // repetition, or all rows of its key are equal.
  bool IsCopy(const Key& key, const LeaderboardTable::Row& row, bool is_numbered) {
    return (is_numbered || kinds_[key].size() == 1) && !seen_.insert(&row.fields).second;
  }

 private:
  struct ByValue {
    bool operator()(const Key* a, const Key* b) const { return *a < *b; }
  };
  using Rows = std::set<const Key*, ByValue>;
  std::map<Key, Rows> kinds_;
  Rows seen_;
};

}  // namespace concur::imports

#endif  // CONCUR_QA_RESULTS_TABLE_ROWS_H_
