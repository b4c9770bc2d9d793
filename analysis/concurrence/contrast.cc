// SPDX-License-Identifier: Apache-2.0
#include "analysis/concurrence/contrast.h"

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
#include "analysis/concurrence/pairwise.h"
#include "analysis/families.h"
#include "analysis/replicates.h"
#include "analysis/resampling.h"
#include "analysis/statistics/multiplicity.h"
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
                     " pairs are too many to keep; ask for fewer replicates or benchmarks"));
  }
  group.replicates.resize(pairs * replicates);
  // The caller gives each group its own seed: the groups are independent.
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
  // Sizes of a group's families with both scores of a pair.
  const auto units_of = [](const GroupReplicates& group, const PairContrast& pair) {
    return SizesOfPair(group.table, group.draws.units, pair.a, pair.b);
  };
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
      const FamilySizes units = std::min(
          units_of(first, pair), units_of(second, pair),
          [](const FamilySizes& x, const FamilySizes& y) { return x.effective < y.effective; });
      if (!units.AreEnough()) {
        continue;
      }
      pair.interval = IntervalFromReplicates(differences, *pair.difference, {},
                                             ExpandedLevel(options.level, units.effective),
                                             BootstrapMethod::kPercentile)
                          .interval;
      if (pair.interval.has_value()) {
        pair.p_value = SignPValue(differences, *pair.difference, {}, BootstrapMethod::kPercentile,
                                  units.effective);
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

}  // namespace concur::analysis
