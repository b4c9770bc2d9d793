// SPDX-License-Identifier: Apache-2.0
#include "qa/results/table_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/table/table_text.h"
#include "qa/results/leaderboard_columns.h"
#include "qa/results/results.h"
#include "qa/results/variants.h"

namespace concur::imports {
namespace {

using Fields = std::vector<absl::string_view>;

Fields FieldsOf(const LeaderboardTable::Row& row, const std::vector<size_t>& columns) {
  Fields fields;
  for (const size_t c : columns) {
    fields.push_back(row.fields[c]);
  }
  return fields;
}

}  // namespace

bool IsGap(absl::string_view field) { return ParseCell(field).kind == CellKind::kGap; }

std::vector<size_t> FewestColumns(const LeaderboardTable& table, const std::vector<size_t>& base,
                                  std::vector<size_t> columns) {
  const auto kinds_of_rows = [&](const std::vector<size_t>& more) {
    std::set<std::vector<absl::string_view>> kinds;
    for (const LeaderboardTable::Row& row : table.rows) {
      std::vector<absl::string_view> kind;
      for (const auto* list : {&base, &more}) {
        for (const size_t c : *list) {
          kind.push_back(row.fields[c]);
        }
      }
      kinds.insert(std::move(kind));
    }
    return kinds.size();
  };
  const size_t names = kinds_of_rows({});
  std::erase_if(
      columns, [&](size_t c) { return names == table.rows.size() || kinds_of_rows({c}) == names; });
  const size_t kinds = kinds_of_rows(columns);
  return FewestOf(std::move(columns),
                  [&](const auto& some) { return kinds_of_rows(some) == kinds; });
}

Versions FindVersions(const LeaderboardTable& table, size_t model, const std::vector<size_t>& group,
                      const std::vector<size_t>& base, const std::vector<size_t>& occasions,
                      FileResults& results) {
  Versions versions;
  versions.columns = FewestColumns(table, base, occasions);
  if (versions.columns.empty()) {
    return versions;
  }
  // Occasions in all rows of a group, and most in one cell of it.
  struct Group {
    std::set<Fields> occasions;
    size_t fullest_cell = 0;
  };
  std::map<std::string, std::map<Fields, Group>> groups;  // by model
  std::map<Fields, std::set<Fields>> cells;
  for (const LeaderboardTable::Row& row : table.rows) {
    Fields occasion = FieldsOf(row, versions.columns);
    std::set<Fields>& cell = cells[FieldsOf(row, base)];
    cell.insert(occasion);
    Group& of = groups[row.fields[model]][FieldsOf(row, group)];
    of.occasions.insert(std::move(occasion));
    of.fullest_cell = std::max(of.fullest_cell, cell.size());
  }
  for (const auto& [name, of_model] : groups) {
    const bool recur = std::all_of(of_model.begin(), of_model.end(), [](const auto& of) {
      return of.second.occasions.size() <= of.second.fullest_cell;
    });
    if (recur && std::any_of(of_model.begin(), of_model.end(),
                             [](const auto& of) { return of.second.fullest_cell > 1; })) {
      versions.models.insert(name);
    }
  }
  if (versions.models.empty()) {
    versions.columns.clear();
  }
  for (const size_t c : versions.columns) {
    results.columns.push_back(
        {"setting", table.header[c],
         static_cast<int64_t>(table.rows.size() - table.columns[c].gaps),
         "a guess: rows of a model that only it tells apart are versions; --leave-out makes them "
         "repetitions"});
  }
  return versions;
}

void AddFields(const LeaderboardTable& table, const LeaderboardTable::Row& row,
               const std::vector<size_t>& columns, std::vector<std::string>& words) {
  for (const size_t c : columns) {
    if (!IsGap(row.fields[c])) {
      words.push_back(table.columns[c].words > 0 || table.columns[c].numbers == 0
                          ? row.fields[c]
                          : absl::StrCat(table.header[c], " ", row.fields[c]));
    }
  }
}

}  // namespace concur::imports
