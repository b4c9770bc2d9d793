// SPDX-License-Identifier: Apache-2.0
// The scores of a sweep by system, and which setting they choose: what selection.h builds tables
// from.
//
// Thread-safe (stateless).
#ifndef CONCUR_ANALYSIS_OBSERVATIONS_H_
#define CONCUR_ANALYSIS_OBSERVATIONS_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "analysis/score_table.h"

namespace concur::analysis {

struct Observation {
  int64_t setting = 0;
  int64_t seed = 0;
  CellState state = CellState::kMissing;
  double value = 0;
  int64_t examples = 0;
};

// Sorted by setting, then seed.
using Observations = std::vector<Observation>;

struct SystemKey {
  size_t approach = 0;
  size_t train = 0;
  auto operator<=>(const SystemKey&) const = default;
};

// The scores of one approach trained on one benchmark, by test benchmark.
using Evaluations = std::map<size_t, Observations>;
using Systems = std::map<SystemKey, Evaluations>;

// Means over seeds, by setting; settings without a value are left out. Where seeds were stopped
// early, only the settings with the fewest of these: one lucky seed is no match for three.
std::map<int64_t, double> MeansBySetting(const Observations& observations);

// The setting with the best mean; nothing when there is none.
std::optional<int64_t> BestOf(const std::map<int64_t, double>& means, Goal goal);

// The best setting by one test set; nothing when it has no value. Here and below tied means
// (base/metric_meaning.h) go to the lower setting.
std::optional<int64_t> BestSetting(const Observations& observations, Goal goal);

// For each seed the setting that is best by the values of all other seeds. Empty when no setting
// has two values.
std::map<int64_t, int64_t> BestOnOtherSeeds(const Observations& observations, Goal goal);

// The observations of one setting; of the setting that `by_seed` has for their seed.
Observations OfSetting(const Observations& observations, int64_t setting);
Observations OfSettings(const Observations& observations,
                        const std::map<int64_t, int64_t>& by_seed);

// State of a cell without a value, by its counts: the first of pending, failed, missing, stopped.
CellState StateWithoutValue(const ScoreCell& counts);

// Sums up observations: a seed's value is the mean over its settings, the cell's the mean over
// seeds.
ScoreCell SummarizeSelection(const Observations& observations);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_OBSERVATIONS_H_
