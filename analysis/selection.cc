// SPDX-License-Identifier: Apache-2.0
#include "analysis/selection.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "analysis/intervals.h"
#include "base/status_macros.h"
#include "base/suggest.h"

namespace concur::analysis {
namespace {

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

using NameIndex = absl::flat_hash_map<std::string, size_t>;

NameIndex IndexNames(const std::vector<AxisEntry>& entries) {
  NameIndex index;
  for (size_t i = 0; i < entries.size(); ++i) {
    index.emplace(entries[i].name, i);
  }
  return index;
}

absl::StatusOr<size_t> Find(const NameIndex& index, const std::string& name,
                            absl::string_view kind) {
  const auto found = index.find(name);
  if (found == index.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a score names the ", kind, " \"", name, "\", which the table does not have"));
  }
  return found->second;
}

std::string Describe(const ScoreRecord& record) {
  return absl::StrCat("the score of ", record.approach, " trained on ", record.train, ", setting ",
                      record.setting, ", seed ", record.seed, ", on ", record.test);
}

// The metric that counts for each test benchmark; "" where no record has a value.
absl::StatusOr<std::vector<std::string>> MetricsOfTests(absl::Span<const ScoreRecord> records,
                                                        const SelectionOptions& options,
                                                        const NameIndex& benchmarks) {
  std::vector<std::string> metrics(options.benchmarks.size(), options.metric);
  std::set<std::string> known;
  for (const ScoreRecord& record : records) {
    if (record.metric.empty()) {
      continue;
    }
    known.insert(record.metric);
    CONCUR_ASSIGN_OR_RETURN(const size_t test, Find(benchmarks, record.test, "benchmark"));
    if (metrics[test].empty()) {
      metrics[test] = record.metric;
    }
  }
  if (!options.metric.empty() && !known.empty() && known.count(options.metric) == 0) {
    return absl::InvalidArgumentError(absl::StrCat("no score has the metric \"", options.metric,
                                                   "\"; the metrics are ",
                                                   absl::StrJoin(known, ", ")));
  }
  return metrics;
}

absl::StatusOr<Systems> GroupRecords(absl::Span<const ScoreRecord> records,
                                     const SelectionOptions& options) {
  const NameIndex approaches = IndexNames(options.approaches);
  const NameIndex benchmarks = IndexNames(options.benchmarks);
  CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> metrics,
                          MetricsOfTests(records, options, benchmarks));
  Systems systems;
  for (const ScoreRecord& record : records) {
    CONCUR_ASSIGN_OR_RETURN(const size_t approach, Find(approaches, record.approach, "approach"));
    CONCUR_ASSIGN_OR_RETURN(const size_t train, Find(benchmarks, record.train, "benchmark"));
    CONCUR_ASSIGN_OR_RETURN(const size_t test, Find(benchmarks, record.test, "benchmark"));
    if (!record.metric.empty() && record.metric != metrics[test]) {
      continue;
    }
    if (record.state == CellState::kValue && !std::isfinite(record.value)) {
      return absl::InvalidArgumentError(
          absl::StrCat(Describe(record), ": expected a finite number, got ", record.value));
    }
    systems[{approach, train}][test].push_back(
        {record.setting, record.seed, record.state, record.value, record.examples});
  }
  for (auto& [key, evaluations] : systems) {
    for (auto& [test, observations] : evaluations) {
      const auto order = [](const Observation& a, const Observation& b) {
        return std::tie(a.setting, a.seed) < std::tie(b.setting, b.seed);
      };
      std::stable_sort(observations.begin(), observations.end(), order);
      for (size_t i = 1; i < observations.size(); ++i) {
        if (!order(observations[i - 1], observations[i])) {
          ScoreRecord twice;
          twice.approach = options.approaches[key.approach].name;
          twice.train = options.benchmarks[key.train].name;
          twice.test = options.benchmarks[test].name;
          twice.setting = observations[i].setting;
          twice.seed = observations[i].seed;
          return absl::InvalidArgumentError(absl::StrCat(Describe(twice), " comes twice"));
        }
      }
    }
  }
  return systems;
}

// Means over seeds, by setting; settings without a value are left out.
std::map<int64_t, double> MeansBySetting(const Observations& observations) {
  std::map<int64_t, std::vector<double>> values;
  for (const Observation& observation : observations) {
    if (observation.state == CellState::kValue) {
      values[observation.setting].push_back(observation.value);
    }
  }
  std::map<int64_t, double> means;
  for (const auto& [setting, list] : values) {
    means[setting] = ComputeMoments(list).mean;
  }
  return means;
}

// The best setting by one test set; nothing when it has no value.
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

// Sums up observations: a seed's value is the mean over its settings, the cell's the mean over
// seeds.
ScoreCell SummarizeSelection(const Observations& observations) {
  std::map<int64_t, std::vector<double>> by_seed;
  std::set<int64_t> settings;
  ScoreCell cell;
  for (const Observation& observation : observations) {
    settings.insert(observation.setting);
    cell.failed += observation.state == CellState::kFailed ? 1 : 0;
    cell.pending += observation.state == CellState::kPending ? 1 : 0;
    cell.missing += observation.state == CellState::kMissing ? 1 : 0;
    if (observation.state == CellState::kValue) {
      by_seed[observation.seed].push_back(observation.value);
      cell.examples = std::max(cell.examples, observation.examples);
    }
  }
  cell.setting = settings.size() == 1 ? *settings.begin() : -1;
  if (by_seed.empty()) {
    cell.state = cell.pending > 0  ? CellState::kPending
                 : cell.failed > 0 ? CellState::kFailed
                                   : CellState::kMissing;
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

class Builder {
 public:
  Builder(const SelectionOptions& options, const Systems& systems)
      : options_(options), systems_(systems) {
    std::set<size_t> trains;
    for (const auto& [key, evaluations] : systems_) {
      trains.insert(key.train);
      for (const auto& [test, observations] : evaluations) {
        const bool in_rows = options_.layout == Layout::kTrainInRows;
        columns_.emplace(std::make_pair(in_rows ? 0 : key.train, test), 0);
        for (const Observation& observation : observations) {
          settings_[key.approach].insert(observation.setting);
        }
      }
    }
    one_train_ = trains.size() <= 1;
  }

  absl::StatusOr<ScoreTable> Build() {
    std::vector<AxisEntry> benchmarks;
    for (auto& [key, position] : columns_) {
      position = benchmarks.size();
      benchmarks.push_back(ColumnEntry(key.first, key.second));
    }
    std::vector<AxisEntry> approaches;
    for (size_t approach = 0; approach < options_.approaches.size(); ++approach) {
      AddRows(approach, approaches);
    }
    CONCUR_ASSIGN_OR_RETURN(ScoreTable table,
                            ScoreTable::Create(std::move(approaches), std::move(benchmarks)));
    CONCUR_RETURN_IF_ERROR(table.Minimize(options_.minimize));
    for (const auto& [row, position] : rows_) {
      const auto& [approach, train, setting] = row;
      if (options_.layout == Layout::kTrainInRows) {
        Fill({approach, train}, setting, position, table);
        continue;
      }
      auto system = systems_.lower_bound({approach, 0});
      for (; system != systems_.end() && system->first.approach == approach; ++system) {
        Fill(system->first, setting, position, table);
      }
    }
    return table;
  }

 private:
  AxisEntry ColumnEntry(size_t train, size_t test) const {
    AxisEntry entry = options_.benchmarks[test];
    if (options_.layout == Layout::kTrainInColumns && !one_train_ && train != test) {
      entry.name = absl::StrCat(options_.benchmarks[train].name, " → ", entry.name);
    }
    return entry;
  }

  // The rows of one approach: by train benchmark and by setting where the options ask for that.
  void AddRows(size_t approach, std::vector<AxisEntry>& entries) {
    std::vector<size_t> trains = {0};
    if (options_.layout == Layout::kTrainInRows) {
      trains.clear();
      for (auto system = systems_.lower_bound({approach, 0});
           system != systems_.end() && system->first.approach == approach; ++system) {
        trains.push_back(system->first.train);
      }
    }
    std::vector<int64_t> settings = {0};
    if (options_.select == Select::kEach && settings_.count(approach) > 0) {
      settings.assign(settings_[approach].begin(), settings_[approach].end());
    }
    for (const size_t train : trains) {
      for (const int64_t setting : settings) {
        AxisEntry entry = options_.approaches[approach];
        if (options_.select == Select::kEach) {
          absl::StrAppend(&entry.name, " #", setting);
          entry.tags["setting"] = absl::StrCat(setting);
        }
        if (options_.layout == Layout::kTrainInRows) {
          const std::string& name = options_.benchmarks[train].name;
          entry.tags["train"] = name;
          if (!one_train_) {
            absl::StrAppend(&entry.name, " ← ", name);
          }
        }
        rows_[{approach, train, setting}] = entries.size();
        entries.push_back(std::move(entry));
      }
    }
  }

  void Fill(const SystemKey& key, int64_t setting, size_t row, ScoreTable& table) const {
    const auto found = systems_.find(key);
    if (found == systems_.end()) {
      return;
    }
    const Evaluations& evaluations = found->second;
    const std::optional<int64_t> best =
        options_.select == Select::kBest ? BestOf(evaluations, key.train, table) : std::nullopt;
    for (const auto& [test, observations] : evaluations) {
      table.cell(row, ColumnOf(key.train, test)) = Choose(observations, best, setting);
    }
  }

  size_t ColumnOf(size_t train, size_t test) const {
    const bool in_rows = options_.layout == Layout::kTrainInRows;
    return columns_.at(std::make_pair(in_rows ? 0 : train, test));
  }

  std::optional<int64_t> BestOf(const Evaluations& evaluations, size_t train,
                                const ScoreTable& table) const {
    const auto best_on = [&](size_t test, const Observations& observations) {
      return BestSetting(observations, table.benchmarks()[ColumnOf(train, test)].metric.goal);
    };
    const auto own = evaluations.find(train);
    std::optional<int64_t> best;
    if (own != evaluations.end()) {
      best = best_on(train, own->second);
    }
    for (auto it = evaluations.begin(); !best.has_value() && it != evaluations.end(); ++it) {
      best = best_on(it->first, it->second);
    }
    return best;
  }

  ScoreCell Choose(const Observations& observations, std::optional<int64_t> best,
                   int64_t setting) const {
    switch (options_.select) {
      case Select::kDefault:
        return SummarizeSelection(OfSetting(observations, 0));
      case Select::kEach:
        return SummarizeSelection(OfSetting(observations, setting));
      case Select::kMean:
        return SummarizeSelection(observations);
      case Select::kBest:
        break;
    }
    const ScoreCell all = SummarizeSelection(observations);
    if (!best.has_value()) {
      return all;
    }
    ScoreCell cell = SummarizeSelection(OfSetting(observations, *best));
    cell.setting = *best;
    cell.failed = all.failed;
    cell.pending = all.pending;
    cell.missing = all.missing;
    return cell;
  }

  const SelectionOptions& options_;
  const Systems& systems_;
  bool one_train_ = true;
  std::map<size_t, std::set<int64_t>> settings_;         // by approach
  std::map<std::pair<size_t, size_t>, size_t> columns_;  // (train or 0, test) -> position
  std::map<std::tuple<size_t, size_t, int64_t>, size_t> rows_;
};

}  // namespace

absl::StatusOr<Select> ParseSelect(absl::string_view name) {
  for (const Select select : {Select::kBest, Select::kDefault, Select::kMean, Select::kEach}) {
    if (SelectName(select) == name) {
      return select;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("select: ", ExpectedOneOf({"best", "default", "mean", "each"}, name)));
}

absl::string_view SelectName(Select select) {
  switch (select) {
    case Select::kBest:
      return "best";
    case Select::kDefault:
      return "default";
    case Select::kMean:
      return "mean";
    case Select::kEach:
      return "each";
  }
  return "best";
}

absl::StatusOr<ScoreTable> BuildScoreTable(absl::Span<const ScoreRecord> records,
                                           const SelectionOptions& options) {
  CONCUR_ASSIGN_OR_RETURN(const Systems systems, GroupRecords(records, options));
  return Builder(options, systems).Build();
}

}  // namespace concur::analysis
