// SPDX-License-Identifier: Apache-2.0
#include "analysis/observations.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "analysis/statistics/intervals.h"
#include "base/metric_meaning.h"

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

std::optional<int64_t> BestOf(const std::map<int64_t, double>& means, Goal goal) {
  std::optional<int64_t> best;
  double highest = 0;
  for (const auto& [setting, mean] : means) {
    const double oriented = WithoutRounding(goal == Goal::kMinimize ? -mean : mean);
    if (!best.has_value() || oriented > highest) {
      best = setting;
      highest = oriented;
    }
  }
  return best;
}

std::optional<int64_t> BestSetting(const Observations& observations, Goal goal) {
  return BestOf(MeansBySetting(observations), goal);
}

std::map<int64_t, int64_t> BestOnOtherSeeds(const Observations& observations, Goal goal) {
  std::map<int64_t, std::map<int64_t, double>> values;  // setting, seed
  std::set<int64_t> seeds;
  for (const Observation& observation : observations) {
    if (observation.state == CellState::kValue) {
      values[observation.setting][observation.seed] = observation.value;
      seeds.insert(observation.seed);
    }
  }
  std::map<int64_t, int64_t> best;
  for (const int64_t seed : seeds) {
    std::map<int64_t, double> means;
    for (const auto& [setting, by_seed] : values) {
      std::vector<double> others;
      for (const auto& [other, value] : by_seed) {
        if (other != seed) {
          others.push_back(value);
        }
      }
      if (!others.empty()) {
        means[setting] = ComputeMoments(others).mean;
      }
    }
    if (const std::optional<int64_t> setting = BestOf(means, goal); setting.has_value()) {
      best[seed] = *setting;
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
