// SPDX-License-Identifier: Apache-2.0
#include "analysis/contrast.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "analysis/bootstrap.h"
#include "analysis/families.h"
#include "analysis/multiplicity.h"
#include "analysis/notes.h"
#include "analysis/pairwise.h"
#include "analysis/replicates.h"
#include "analysis/resampling.h"
#include "analysis/text.h"
#include "base/decimal.h"
#include "base/status_macros.h"

namespace concur::analysis {
namespace {

// Reads "TAG=FIRST,SECOND" or "TAG".
absl::Status ReadQuery(const ScoreTable& table, const std::string& query, GroupContrast& contrast) {
  const size_t sign = query.find('=');
  contrast.tag = query.substr(0, sign);
  const std::vector<std::string> tags = TagsOf(table.approaches());
  if (std::find(tags.begin(), tags.end(), contrast.tag) == tags.end()) {
    return UnknownTag("contrast: no approach has the tag", contrast.tag, tags);
  }
  std::set<std::string> values;
  for (const AxisEntry& approach : table.approaches()) {
    if (const std::string value = TagValue(approach, contrast.tag); !value.empty()) {
      values.insert(value);
    }
  }
  std::vector<std::string> chosen(values.begin(), values.end());
  if (sign != std::string::npos) {
    chosen = absl::StrSplit(query.substr(sign + 1), ',');
  }
  if (chosen.size() != 2 || chosen[0] == chosen[1] || values.count(chosen[0]) == 0 ||
      values.count(chosen[1]) == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("contrast: expected TAG=FIRST,SECOND with two of the values of ", contrast.tag,
                     " (", absl::StrJoin(values, ", "), "), got \"", query, "\""));
  }
  contrast.first = chosen[0];
  contrast.second = chosen[1];
  return absl::OkStatus();
}

// One group: its coefficients, and their replicates pair by pair.
struct GroupReplicates {
  ScoreTable table;
  DrawUnits draws;
  std::vector<Correlation> values;
  std::vector<double> replicates;  // pair-major
};

absl::StatusOr<GroupReplicates> DrawGroup(const ScoreTable& table, Coefficient coefficient,
                                          const std::string& condition,
                                          const BootstrapOptions& options) {
  GroupReplicates group;
  CONCUR_ASSIGN_OR_RETURN(group.table, table.Where({condition}));
  const size_t approaches = group.table.approaches().size();
  if (approaches < 3) {
    return absl::InvalidArgumentError(absl::StrCat("contrast: expected at least 3 approaches with ",
                                                   condition, ", got ", approaches));
  }
  CONCUR_ASSIGN_OR_RETURN(group.draws, DrawUnitsOf(group.table, options));
  const size_t benchmarks = group.table.benchmarks().size();
  PairwiseCorrelations correlations(group.table, coefficient, false, options.top);
  for (size_t a = 0; a < benchmarks; ++a) {
    for (size_t b = a + 1; b < benchmarks; ++b) {
      std::vector<size_t> missing;
      group.values.push_back(correlations.Compute(a, b, missing));
    }
  }
  const WeightedCoefficients evaluator(group.table, coefficient, options.top);
  const size_t pairs = evaluator.PairCount(0, benchmarks);
  const auto replicates = static_cast<size_t>(options.replicates);
  constexpr size_t kValuesMax = 50'000'000;
  if (pairs * replicates > kValuesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("contrast: ", replicates, " replicates of ", pairs,
                     " pairs are more than can be kept; ask for fewer, or for fewer benchmarks"));
  }
  group.replicates.resize(pairs * replicates);
  // A group's draws have a seed of their own, so that the groups are independent.
  options.parallel_for(ReplicateChunks(replicates), [&](size_t chunk) {
    WeightedCoefficients::Scratch scratch;
    std::vector<double> row(pairs);
    ForEachReplicate(options.seed, approaches, group.draws.families, replicates, chunk,
                     [&](size_t replicate, const std::vector<int32_t>& weights) {
                       evaluator.Evaluate(weights, 0, benchmarks, scratch, row.data());
                       for (size_t pair = 0; pair < pairs; ++pair) {
                         group.replicates[pair * replicates + replicate] = row[pair];
                       }
                     });
  });
  return group;
}

}  // namespace

absl::StatusOr<GroupContrast> ContrastGroups(const ScoreTable& table, Coefficient coefficient,
                                             const std::string& query,
                                             const BootstrapOptions& options) {
  CONCUR_RETURN_IF_ERROR(ValidateBootstrapOptions(options));
  GroupContrast contrast;
  contrast.coefficient = coefficient;
  CONCUR_RETURN_IF_ERROR(ReadQuery(table, query, contrast));
  const auto condition = [&](const std::string& value) {
    return absl::StrCat(contrast.tag, "=", value);
  };
  CONCUR_ASSIGN_OR_RETURN(const GroupReplicates first,
                          DrawGroup(table, coefficient, condition(contrast.first), options));
  BootstrapOptions other = options;
  other.seed = options.seed + (uint64_t{1} << 32);
  CONCUR_ASSIGN_OR_RETURN(const GroupReplicates second,
                          DrawGroup(table, coefficient, condition(contrast.second), other));
  contrast.first_count = static_cast<int64_t>(first.table.approaches().size());
  contrast.second_count = static_cast<int64_t>(second.table.approaches().size());
  const auto units =
      static_cast<double>(std::min(first.draws.units.size(), second.draws.units.size()));
  const double level = units > 2 ? ExpandedLevel(options.level, units) : 0;
  const auto replicates = static_cast<size_t>(options.replicates);
  std::vector<double> p_values;
  size_t at = 0;
  for (size_t a = 0; a < table.benchmarks().size(); ++a) {
    for (size_t b = a + 1; b < table.benchmarks().size(); ++b, ++at) {
      PairContrast& pair = contrast.pairs.emplace_back();
      pair.a = a;
      pair.b = b;
      pair.first = first.values[at];
      pair.second = second.values[at];
      p_values.push_back(std::numeric_limits<double>::quiet_NaN());
      if (!pair.first.defined() || !pair.second.defined()) {
        continue;
      }
      pair.difference = pair.first.value - pair.second.value;
      std::vector<double> differences(replicates);
      for (size_t r = 0; r < replicates; ++r) {
        differences[r] =
            first.replicates[at * replicates + r] - second.replicates[at * replicates + r];
      }
      if (level == 0) {
        continue;
      }
      pair.interval = IntervalFromReplicates(differences, *pair.difference, {}, level,
                                             BootstrapMethod::kPercentile)
                          .interval;
      if (pair.interval.has_value()) {
        pair.p_value = SignPValue(differences);
        p_values.back() = *pair.p_value;
      }
    }
  }
  const std::vector<double> holm = HolmAdjusted(p_values);
  for (size_t i = 0; i < holm.size(); ++i) {
    if (!std::isnan(holm[i])) {
      contrast.pairs[i].p_value_holm = holm[i];
    }
  }
  return contrast;
}

Table ContrastTable(const ScoreTable& table, const GroupContrast& contrast,
                    const BootstrapOptions& options) {
  Table result;
  result.title = absl::StrCat(
      CoefficientName(contrast.coefficient), " among ", contrast.first_count, " approaches with ",
      contrast.tag, "=", contrast.first, " less that among ", contrast.second_count, " with ",
      contrast.tag, "=", contrast.second, "; ", ShortestDecimal(options.level * 100),
      " % intervals: percentile bootstrap in both groups, expanded for their size, ",
      options.replicates, " replicates, seed ", options.seed);
  result.columns = {{"a", "a"},
                    {"b", "b"},
                    {"first", contrast.first, true},
                    {"second", contrast.second, true},
                    {"difference", "difference", true},
                    ForPrograms("low"),
                    ForPrograms("high"),
                    {"p_value", "p", true, 4},
                    {"p_value_holm", "p (Holm)", true, 4}};
  bool is_flat = false;
  for (const PairContrast& pair : contrast.pairs) {
    TableCell difference = SignedCell(pair.difference);
    if (pair.interval.has_value()) {
      absl::StrAppend(&difference.text, " ", IntervalText(*pair.interval, 2),
                      DaggerOf(pair.interval));
      is_flat = is_flat || !DaggerOf(pair.interval).empty();
    }
    result.rows.push_back(
        {TextCell(table.benchmarks()[pair.a].name), TextCell(table.benchmarks()[pair.b].name),
         CoefficientCell(pair.first.OptionalValue()), CoefficientCell(pair.second.OptionalValue()),
         std::move(difference), LowCell(pair.interval), HighCell(pair.interval),
         NumberCell(pair.p_value), NumberCell(pair.p_value_holm)});
  }
  if (is_flat) {
    result.notes.emplace_back(
        "† all replicates agree: resampling cannot show the uncertainty, and p says nothing");
  }
  if (const std::string few =
          FewApproachesWarning(std::min(contrast.first_count, contrast.second_count));
      !few.empty()) {
    result.notes.push_back(absl::StrCat("intervals: a group has ", few));
  }
  for (std::string& choice : ChoiceNotes(table.benchmarks())) {
    result.notes.push_back(std::move(choice));
  }
  return result;
}

}  // namespace concur::analysis
