// SPDX-License-Identifier: Apache-2.0
#include "analysis/observations.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "analysis/intervals.h"

namespace concur::analysis {

std::map<int64_t, double> MeansBySetting(const Observations& observations) {
  std::map<int64_t, std::vector<double>> values;
  std::map<int64_t, int64_t> stopped;
  for (const Observation& observation : observations) {
    if (observation.state == CellState::kValue) {
      values[observation.setting].push_back(observation.value);
    } else if (observation.state == CellState::kStopped) {
      ++stopped[observation.setting];
    }
  }
  std::optional<int64_t> fewest;
  for (const auto& [setting, list] : values) {
    fewest = std::min(fewest.value_or(stopped[setting]), stopped[setting]);
  }
  std::map<int64_t, double> means;
  for (const auto& [setting, list] : values) {
    if (stopped[setting] == fewest) {
      means[setting] = ComputeMoments(list).mean;
    }
  }
  return means;
}

std::optional<int64_t> BestSetting(const Observations& observations, Goal goal) {
  std::optional<int64_t> best;
  double best_mean = 0;
  for (const auto& [setting, mean] : MeansBySetting(observations)) {
    if (!best.has_value() || (goal == Goal::kMaximize ? mean > best_mean : mean < best_mean)) {
      best = setting;
      best_mean = mean;
    }
  }
  return best;
}

std::map<int64_t, int64_t> BestOnOtherSeeds(const Observations& observations, Goal goal) {
  struct Sum {
    double total = 0;
    int64_t count = 0;
  };
  std::map<int64_t, Sum> sums;                         // by setting
  std::map<int64_t, std::map<int64_t, double>> seeds;  // seed, setting: oriented value
  for (const Observation& observation : observations) {
    if (observation.state == CellState::kValue) {
      const double value = goal == Goal::kMinimize ? -observation.value : observation.value;
      sums[observation.setting].total += value;
      ++sums[observation.setting].count;
      seeds[observation.seed][observation.setting] = value;
    }
  }
  std::map<int64_t, int64_t> best;
  for (const auto& [seed, values] : seeds) {
    std::optional<double> best_mean;
    for (const auto& [setting, sum] : sums) {
      const auto own = values.find(setting);
      const bool has_own = own != values.end();
      const int64_t others = sum.count - (has_own ? 1 : 0);
      if (others == 0) {
        continue;
      }
      const double mean = (sum.total - (has_own ? own->second : 0)) / static_cast<double>(others);
      if (!best_mean.has_value() || mean > *best_mean) {
        best_mean = mean;
        best[seed] = setting;
      }
    }
  }
  return best;
}

CellState StateWithoutValue(const ScoreCell& counts) {
  return counts.pending > 0   ? CellState::kPending
         : counts.failed > 0  ? CellState::kFailed
         : counts.missing > 0 ? CellState::kMissing
         : counts.stopped > 0 ? CellState::kStopped
                              : CellState::kMissing;
}

ScoreCell SummarizeSelection(const Observations& observations) {
  std::map<int64_t, std::vector<double>> by_seed;
  std::set<int64_t> settings;
  ScoreCell cell;
  for (const Observation& observation : observations) {
    settings.insert(observation.setting);
    cell.failed += observation.state == CellState::kFailed ? 1 : 0;
    cell.pending += observation.state == CellState::kPending ? 1 : 0;
    cell.missing += observation.state == CellState::kMissing ? 1 : 0;
    cell.stopped += observation.state == CellState::kStopped ? 1 : 0;
    if (observation.state == CellState::kValue) {
      by_seed[observation.seed].push_back(observation.value);
      cell.examples = std::max(cell.examples, observation.examples);
    }
  }
  cell.setting = settings.size() == 1 ? *settings.begin() : -1;
  if (by_seed.empty()) {
    cell.state = StateWithoutValue(cell);
    return cell;
  }
  std::vector<double> values;
  values.reserve(by_seed.size());
  for (const auto& [seed, list] : by_seed) {
    values.push_back(ComputeMoments(list).mean);
  }
  const Moments moments = ComputeMoments(values);
  cell.state = CellState::kValue;
  cell.value = moments.mean;
  cell.standard_deviation = moments.standard_deviation;
  cell.seeds = moments.n;
  return cell;
}

Observations OfSetting(const Observations& observations, int64_t setting) {
  Observations kept;
  for (const Observation& observation : observations) {
    if (observation.setting == setting) {
      kept.push_back(observation);
    }
  }
  return kept;
}

Observations OfSettings(const Observations& observations,
                        const std::map<int64_t, int64_t>& by_seed) {
  Observations kept;
  for (const Observation& observation : observations) {
    const auto setting = by_seed.find(observation.seed);
    if (setting != by_seed.end() && setting->second == observation.setting) {
      kept.push_back(observation);
    }
  }
  return kept;
}

}  // namespace concur::analysis
