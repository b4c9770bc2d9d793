// SPDX-License-Identifier: Apache-2.0
#include "report/block_table.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "analysis/concurrence/concordance.h"
#include "analysis/statistics/correlation.h"
#include "report/notes.h"

namespace concur::analysis {
namespace {

// The coefficients of the pairs between two groups.
struct MemberBlock {
  std::vector<std::pair<double, const MatrixPair*>> values;  // ascending
  int64_t undefined = 0;
};

MemberBlock BlockOf(const ConcurrenceMatrix& matrix, const BenchmarkGroup& first,
                    const BenchmarkGroup& second) {
  std::vector<std::pair<size_t, size_t>> seen;  // a pair may come twice where groups overlap
  MemberBlock block;
  for (const size_t a : first.benchmarks) {
    for (const size_t b : second.benchmarks) {
      const auto key = std::minmax(a, b);
      if (a != b) {
        seen.emplace_back(key.first, key.second);
      }
    }
  }
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  for (const auto& [a, b] : seen) {
    const MatrixPair& pair = matrix.pair(a, b);
    if (pair.correlation.defined()) {
      block.values.emplace_back(pair.correlation.value, &pair);
    } else {
      ++block.undefined;
    }
  }
  std::stable_sort(block.values.begin(), block.values.end(),
                   [](const auto& x, const auto& y) { return x.first < y.first; });
  return block;
}

void AppendConcordance(const Concordance& within, TableRow& row) {
  row.push_back(CoefficientCell(within.w));
  row.push_back(LowCell(within.interval));
  row.push_back(WithFootnote(HighCell(within.interval), DaggerOf(within.interval)));
  row.push_back(WithFootnote(IntegerCell(within.n), within.left_out > 0 ? "*" : ""));
  row.push_back(TextCell(within.warning));
}

void AddConcordanceNotes(const std::vector<BenchmarkGroup>& groups,
                         absl::Span<const Concordance> within, const std::string& intervals,
                         Table& table) {
  if (within.empty()) {
    return;
  }
  table.notes.push_back(absl::StrCat(
      "W: Kendall's coefficient of concordance of all benchmarks of a group, 1 / their number by "
      "chance, 1 where all rank alike",
      intervals.empty() ? "." : absl::StrCat("; ", intervals, ".")));
  std::vector<std::string> left_out;
  bool is_flat = false;
  for (size_t i = 0; i < within.size(); ++i) {
    is_flat = is_flat || !DaggerOf(within[i].interval).empty();
    if (within[i].left_out > 0) {
      left_out.push_back(absl::StrCat(groups[i].name, " ", within[i].left_out));
    }
    if (!within[i].warning.empty() && DaggerOf(within[i].interval).empty()) {
      table.notes.push_back(absl::StrCat("W of ", groups[i].name, ": ", within[i].warning, "."));
    }
  }
  if (!left_out.empty()) {
    table.notes.push_back(absl::StrCat("* without approaches that lack a score of the group: ",
                                       absl::StrJoin(left_out, "; "), "."));
  }
  if (is_flat) {
    table.notes.emplace_back(kAllReplicatesAgree);
  }
}

}  // namespace

Table BlockTable(const ConcurrenceMatrix& matrix, const std::vector<BenchmarkGroup>& groups,
                 absl::Span<const Concordance> within, const std::string& intervals) {
  Table table;
  table.title =
      absl::StrCat(CoefficientName(matrix.coefficient), " between groups of benchmarks, over ",
                   matrix.approaches.size(), " approaches");
  table.key_columns = 2;
  table.columns = {{"a", "a"},
                   {"b", "b"},
                   {"pairs", "pairs", true},
                   {"undefined", "undefined", true},
                   {"median", "median", true},
                   {"least", "least", true},
                   {"least_pair", "of the least"},
                   {"greatest", "greatest", true},
                   {"greatest_pair", "of the greatest"}};
  if (!within.empty()) {
    table.columns.push_back({"w", "W", true});
    table.columns.push_back({"w_low", "low", true});
    table.columns.push_back({"w_high", "high", true});
    table.columns.push_back({"w_n", "n of W", true});
    table.columns.push_back(ForPrograms("w_warning"));
  }
  const auto name = [&](const MatrixPair& pair) {
    return TextCell(absl::StrCat(matrix.benchmarks[pair.a], " – ", matrix.benchmarks[pair.b]));
  };
  std::vector<bool> grouped(matrix.benchmarks.size(), false);
  for (size_t i = 0; i < groups.size(); ++i) {
    for (const size_t benchmark : groups[i].benchmarks) {
      grouped[benchmark] = true;
    }
    for (size_t j = i; j < groups.size(); ++j) {
      const MemberBlock block = BlockOf(matrix, groups[i], groups[j]);
      std::vector<TableCell> row = {
          TextCell(groups[i].name), TextCell(groups[j].name),
          IntegerCell(static_cast<int64_t>(block.values.size()) + block.undefined),
          IntegerCell(block.undefined)};
      if (block.values.empty()) {
        row.resize(9);
      } else {
        const size_t n = block.values.size();
        row.push_back(
            NumberCell((block.values[(n - 1) / 2].first + block.values[n / 2].first) / 2));
        row.push_back(NumberCell(block.values.front().first));
        row.push_back(name(*block.values.front().second));
        row.push_back(NumberCell(block.values.back().first));
        row.push_back(name(*block.values.back().second));
      }
      if (!within.empty() && i == j) {
        AppendConcordance(within[i], row);
      }
      row.resize(table.columns.size());
      table.rows.push_back(std::move(row));
    }
  }
  AddConcordanceNotes(groups, within, intervals, table);
  std::vector<std::string> rest;
  for (size_t b = 0; b < grouped.size(); ++b) {
    if (!grouped[b]) {
      rest.push_back(matrix.benchmarks[b]);
    }
  }
  if (!rest.empty()) {
    table.notes.push_back(absl::StrCat("In no group: ", absl::StrJoin(rest, "; "), "."));
  }
  if (!matrix.missing.empty()) {
    table.notes.push_back(absl::StrCat(matrix.missing.size(),
                                       " scores are missing; each pair uses the approaches that "
                                       "have both."));
  }
  table.details = ChoiceNotes(matrix);
  return table;
}

}  // namespace concur::analysis
