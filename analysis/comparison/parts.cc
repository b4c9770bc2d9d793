// SPDX-License-Identifier: Apache-2.0
#include "analysis/comparison/parts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/decimal.h"
#include "base/suggest.h"

namespace concur::analysis {
namespace {

// Columns by benchmark.
std::map<std::string, std::vector<size_t>> PartsIn(const ScoreTable& table) {
  std::map<std::string, std::vector<size_t>> parts;
  for (size_t b = 0; b < table.benchmarks().size(); ++b) {
    const auto tag = table.benchmarks()[b].tags.find(kPartTag);
    if (tag != table.benchmarks()[b].tags.end()) {
      parts[tag->second].push_back(b);
    }
  }
  return parts;
}

void AddGaps(const ScoreTable& table, const std::string& benchmark,
             const std::vector<size_t>& parts, std::vector<std::string>& sentences) {
  std::vector<std::string> gaps;
  for (const size_t b : parts) {
    for (size_t i = 0; i < table.approaches().size(); ++i) {
      if (table.cell(i, b).missing > 0) {
        gaps.push_back(
            absl::StrCat(table.approaches()[i].name, " on ", table.benchmarks()[b].name));
      }
    }
  }
  if (!gaps.empty()) {
    sentences.push_back(absl::StrCat(
        gaps.size(), gaps.size() == 1 ? " cell" : " cells", " of the parts of ", benchmark,
        gaps.size() == 1 ? " lacks" : " lack",
        " scores that no job will make, as their jobs reported no such part or were canceled: ",
        FirstNames(gaps), "; --columns ", benchmark, " takes the jobs' own scores of the whole"));
  }
}

void AddUneven(const ScoreTable& table, const std::string& benchmark,
               const std::vector<size_t>& parts, std::vector<std::string>& sentences) {
  size_t uneven = 0;
  std::string first;
  for (const size_t b : parts) {
    size_t one = table.approaches().size();
    for (size_t i = 0; i < table.approaches().size(); ++i) {
      const int64_t examples = table.cell(i, b).examples;
      if (table.cell(i, b).state != CellState::kValue || examples == 0) {
        continue;
      }
      if (one == table.approaches().size()) {
        one = i;
      } else if (examples != table.cell(one, b).examples) {
        if (uneven++ == 0) {
          first = absl::StrCat("on ", table.benchmarks()[b].name, " ", table.approaches()[one].name,
                               " has ", table.cell(one, b).examples, ", ",
                               table.approaches()[i].name, " ", examples);
        }
        break;
      }
    }
  }
  if (uneven > 0) {
    sentences.push_back(absl::StrCat(uneven, uneven == 1 ? " part of " : " parts of ", benchmark,
                                     uneven == 1 ? " has" : " have",
                                     " scores over different numbers of examples: ", first,
                                     "; evaluate all approaches on the same examples"));
  }
}

// A scale of percents, stated or guessed, with an approach whose scores are all at most 1.
void AddMixedScales(const ScoreTable& table, const std::string& benchmark,
                    const std::vector<size_t>& parts, std::vector<std::string>& sentences) {
  std::vector<size_t> percents;
  std::copy_if(parts.begin(), parts.end(), std::back_inserter(percents),
               [&](size_t b) { return table.full_score(b) == 100; });
  std::vector<std::string> fractions;
  std::pair<double, std::string> most;  // the largest score, and whose it is
  for (size_t i = 0; i < table.approaches().size(); ++i) {
    double own = 0;
    size_t count = 0;
    for (const size_t b : percents) {
      if (table.cell(i, b).state == CellState::kValue) {
        own = std::max(own, table.cell(i, b).value);
        ++count;
      }
    }
    most = std::max(most, {own, table.approaches()[i].name});
    if (count >= 2 && own > 0 && own <= 1) {
      fractions.push_back(table.approaches()[i].name);
    }
  }
  if (!fractions.empty() && most.first > 1) {
    sentences.push_back(absl::StrCat("scores on the parts of ", benchmark, " are percents (",
                                     most.second, " has ", ShortestDecimal(most.first),
                                     "), and at most 1 for ", FirstNames(fractions),
                                     "; write all of them in percent, or all from 0 to 1"));
  }
}

}  // namespace

std::string PartColumn(absl::string_view benchmark, absl::string_view part) {
  return absl::StrCat(benchmark, "/", part);
}

void AddPartGroups(const ScoreTable& table, std::vector<BenchmarkGroup>& groups) {
  for (auto& [benchmark, parts] : PartsIn(table)) {
    const bool is_taken = std::any_of(
        groups.begin(), groups.end(),
        [name = &benchmark](const BenchmarkGroup& group) { return group.name == *name; });
    if (parts.size() > 1 && parts.size() < table.benchmarks().size() && !is_taken) {
      groups.push_back({benchmark, std::move(parts)});
    }
  }
}

std::vector<std::string> PartWarnings(const ScoreTable& table) {
  std::vector<std::string> sentences;
  for (const auto& [benchmark, parts] : PartsIn(table)) {
    AddGaps(table, benchmark, parts, sentences);
    AddUneven(table, benchmark, parts, sentences);
    AddMixedScales(table, benchmark, parts, sentences);
  }
  return sentences;
}

}  // namespace concur::analysis
