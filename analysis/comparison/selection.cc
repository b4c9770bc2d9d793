// SPDX-License-Identifier: Apache-2.0
#include "analysis/comparison/selection.h"

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
#include "analysis/observations.h"
#include "analysis/statistics/intervals.h"
#include "base/status_macros.h"
#include "base/suggest.h"

namespace concur::analysis {
namespace {

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

absl::StatusOr<Systems> GroupRecords(absl::Span<const ScoreRecord> records,
                                     const SelectionOptions& options) {
  const NameIndex approaches = IndexNames(options.approaches);
  const NameIndex benchmarks = IndexNames(options.benchmarks);
  Systems systems;
  for (const ScoreRecord& record : records) {
    CONCUR_ASSIGN_OR_RETURN(const size_t approach, Find(approaches, record.approach, "approach"));
    CONCUR_ASSIGN_OR_RETURN(const size_t train, Find(benchmarks, record.train, "benchmark"));
    CONCUR_ASSIGN_OR_RETURN(const size_t test, Find(benchmarks, record.test, "benchmark"));
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

class Builder {
 public:
  Builder(const SelectionOptions& options, const Systems& systems)
      : options_(options), systems_(systems) {
    for (const auto& [part, whole] : options.part_of) {
      first_part_.emplace(whole, part);
    }
    for (const auto& [key, evaluations] : systems_) {
      if (IsTrained(key.approach)) {
        trains_.insert(key.train);
      }
    }
    for (const auto& [key, evaluations] : systems_) {
      for (const auto& [test, observations] : evaluations) {
        if (IsShown(test)) {
          columns_.emplace(PlaceOf(key, test), 0);
        }
        for (const Observation& observation : observations) {
          settings_[key.approach].insert(observation.setting);
        }
      }
    }
  }

  absl::StatusOr<ScoreTable> Build() {
    std::vector<AxisEntry> benchmarks;
    for (auto& [key, position] : columns_) {
      position = benchmarks.size();
      benchmarks.push_back(ColumnEntry(std::get<0>(key), std::get<2>(key)));
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
      if (InRows() && IsTrained(approach)) {
        CONCUR_RETURN_IF_ERROR(Fill({approach, train}, setting, position, table));
        continue;
      }
      auto system = systems_.lower_bound({approach, 0});
      for (; system != systems_.end() && system->first.approach == approach; ++system) {
        CONCUR_RETURN_IF_ERROR(Fill(system->first, setting, position, table));
      }
    }
    for (const auto& [column, summary] : choices_) {
      const std::vector<double>& gains = summary.gains;
      SettingChoice choice;
      choice.on = summary.on.count("test") > 0 ? "test" : absl::StrJoin(summary.on, ", ");
      if (!gains.empty()) {
        choice.optimism = ComputeMoments(gains).mean + 0.0;  // -0 is 0
      }
      table.SetChoice(column, std::move(choice));
    }
    table.MergeTies();
    return table;
  }

 private:
  bool InRows() const { return options_.layout == Layout::kTrainInRows; }
  bool IsTrained(size_t approach) const { return options_.untrained.count(approach) == 0; }
  bool OneTrain() const { return trains_.size() <= 1; }

  // Under which train benchmark (0: whatever it is), test benchmark and part of it (or itself) a
  // column stands.
  using Place = std::tuple<size_t, size_t, size_t>;
  Place PlaceOf(const SystemKey& key, size_t test) const {
    if (InRows()) {
      return {0, WholeOf(test), test};
    }
    const bool is_everywhere = !IsTrained(key.approach) && trains_.size() == 1;
    return {is_everywhere ? *trains_.begin() : key.train, WholeOf(test), test};
  }

  bool IsPart(size_t test) const { return options_.part_of.count(test) > 0; }
  size_t WholeOf(size_t test) const { return IsPart(test) ? options_.part_of.at(test) : test; }

  AxisEntry ColumnEntry(size_t train, size_t test) const {
    AxisEntry entry = options_.benchmarks[test];
    const auto owner = options_.validation_of.find(test);
    const bool is_own =
        train == WholeOf(test) || (owner != options_.validation_of.end() && owner->second == train);
    if (!InRows() && !OneTrain() && !is_own) {
      entry.name = absl::StrCat(options_.benchmarks[train].name, " → ", entry.name);
    }
    return entry;
  }

  // The rows of one approach: by train benchmark and by setting where the options ask for that.
  void AddRows(size_t approach, std::vector<AxisEntry>& entries) {
    std::vector<size_t> trains = {0};
    if (InRows() && IsTrained(approach)) {
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
        if (InRows()) {
          const std::string name = IsTrained(approach) ? options_.benchmarks[train].name : "";
          entry.tags["train"] = name;
          if (!name.empty() && !OneTrain()) {
            absl::StrAppend(&entry.name, " ← ", name);
          }
        }
        rows_[{approach, train, setting}] = entries.size();
        entries.push_back(std::move(entry));
      }
    }
  }

  // The setting that was chosen for a system.
  struct Chosen {
    std::optional<int64_t> setting;  // nothing can be chosen yet, or ever
    // By a test set: BestOnOtherSeeds of it.
    std::map<int64_t, int64_t> by_seed = {};
    std::string on;              // as SettingChoice::on; "" where there was one setting only
    std::optional<size_t> test;  // the test set that decided
    ScoreCell unknown;           // its counts: what could have changed the choice
  };

  bool IsShown(size_t test) const {
    return (options_.show_validation || options_.validation_of.count(test) == 0) &&
           first_part_.count(test) == 0;
  }

  absl::Status Fill(const SystemKey& key, int64_t setting, size_t row, ScoreTable& table) {
    const auto found = systems_.find(key);
    if (found == systems_.end()) {
      return absl::OkStatus();
    }
    const Evaluations& evaluations = found->second;
    const bool chooses = options_.select == Select::kBest ||
                         options_.select == Select::kBestOnTest ||
                         options_.select == Select::kBestOnOtherSeeds;
    const Chosen chosen = chooses ? ChooseFor(key, evaluations, table) : Chosen();
    if (NeedsOtherSeeds(chosen) && chosen.by_seed.empty() &&
        SummarizeSelection(evaluations.at(*chosen.test)).pending == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("select: best-on-other-seeds needs scores of two seeds, and ",
                       options_.approaches[key.approach].name, " trained on ",
                       options_.benchmarks[key.train].name,
                       " has those of one; give the sweep more seeds, or use best-on-test"));
    }
    for (const auto& [test, observations] : evaluations) {
      if (!IsShown(test)) {
        continue;
      }
      const size_t column = columns_.at(PlaceOf(key, test));
      ScoreCell& cell = table.cell(row, column);
      if (!chooses) {
        cell = SummarizeUnchosen(observations, setting);
        continue;
      }
      const auto whole = evaluations.find(WholeOf(test));
      cell = SummarizeChosen(observations, chosen, test,
                             whole == evaluations.end() ? Observations() : whole->second);
      if (!chosen.on.empty()) {
        NoteChoice(chosen, key, test, column, observations, table);
      }
    }
    return absl::OkStatus();
  }

  // True if each seed's setting is chosen on the other seeds.
  bool NeedsOtherSeeds(const Chosen& chosen) const {
    return options_.select == Select::kBestOnOtherSeeds && chosen.test.has_value() &&
           chosen.setting.has_value();
  }

  // Goal on a set; on one without a column, that of its first part, or of the benchmark that it
  // validates, which may have one.
  Goal GoalOf(const SystemKey& key, size_t test, const ScoreTable& table) const {
    const auto owner = options_.validation_of.find(test);
    const size_t whole = owner == options_.validation_of.end() ? test : owner->second;
    const auto part = first_part_.find(whole);
    const size_t shown = part == first_part_.end() ? whole : part->second;
    const auto column = columns_.find(PlaceOf(key, shown));
    return column == columns_.end() ? options_.benchmarks[shown].metric.goal
                                    : table.benchmarks()[column->second].metric.goal;
  }

  // The validation sets of a train set on which the system was evaluated.
  std::vector<size_t> ValidationSetsOf(const Evaluations& evaluations, size_t train) const {
    const auto mixed = options_.parts.find(train);
    const std::vector<size_t> parts =
        mixed == options_.parts.end() ? std::vector<size_t>{train} : mixed->second;
    std::vector<size_t> sets;
    for (const auto& [validation, owner] : options_.validation_of) {
      if (evaluations.count(validation) > 0 &&
          std::find(parts.begin(), parts.end(), owner) != parts.end()) {
        sets.push_back(validation);
      }
    }
    return sets;
  }

  Chosen ChooseFor(const SystemKey& key, const Evaluations& evaluations,
                   const ScoreTable& table) const {
    std::set<int64_t> settings;
    for (const auto& [test, observations] : evaluations) {
      for (const Observation& observation : observations) {
        settings.insert(observation.setting);
      }
    }
    if (settings.size() == 1) {
      Chosen only;
      only.setting = *settings.begin();
      return only;
    }
    if (options_.select == Select::kBest) {
      const std::vector<size_t> validation = ValidationSetsOf(evaluations, key.train);
      if (!validation.empty()) {
        return ChooseByValidation(key, evaluations, validation, table);
      }
    }
    return ChooseByTest(key, evaluations, table);
  }

  Chosen ChooseByValidation(const SystemKey& key, const Evaluations& evaluations,
                            const std::vector<size_t>& validation, const ScoreTable& table) const {
    std::map<int64_t, std::vector<double>> means;  // by setting, oriented
    Chosen chosen;
    chosen.on = "validation";
    for (const size_t test : validation) {
      const Observations& observations = evaluations.at(test);
      const double sign = GoalOf(key, test, table) == Goal::kMinimize ? -1 : 1;
      for (const auto& [setting, mean] : MeansBySetting(observations)) {
        means[setting].push_back(sign * mean);
      }
      AddCounts(SummarizeSelection(observations), chosen.unknown);
    }
    std::map<int64_t, double> whole;
    for (const auto& [setting, list] : means) {
      if (list.size() == validation.size()) {
        whole[setting] = ComputeMoments(list).mean;
      }
    }
    chosen.setting = BestOf(whole, Goal::kMaximize);
    return chosen;
  }

  Chosen ChooseByTest(const SystemKey& key, const Evaluations& evaluations,
                      const ScoreTable& table) const {
    Chosen chosen;
    const auto try_test = [&](size_t test, const Observations& observations) {
      const Goal goal = GoalOf(key, test, table);
      chosen.setting = BestSetting(observations, goal);
      chosen.by_seed = BestOnOtherSeeds(observations, goal);
      chosen.test = test;
      chosen.on =
          test == key.train ? "test" : absl::StrCat("test of ", options_.benchmarks[test].name);
    };
    const auto own = evaluations.find(key.train);
    if (own != evaluations.end()) {
      try_test(key.train, own->second);
    }
    for (auto it = evaluations.begin(); !chosen.setting.has_value() && it != evaluations.end();
         ++it) {
      if (options_.validation_of.count(it->first) == 0 && !IsPart(it->first)) {
        try_test(it->first, it->second);
      }
    }
    return chosen;
  }

  static void AddCounts(const ScoreCell& from, ScoreCell& to) {
    to.failed += from.failed;
    to.pending += from.pending;
    to.missing += from.missing;
    to.stopped += from.stopped;
  }

  ScoreCell SummarizeUnchosen(const Observations& observations, int64_t setting) const {
    switch (options_.select) {
      case Select::kDefault:
        return SummarizeSelection(OfSetting(observations, 0));
      case Select::kEach:
        return SummarizeSelection(OfSetting(observations, setting));
      default:
        return SummarizeSelection(observations);
    }
  }

  // The cell of the chosen setting, and the counts of what could have changed the choice. `whole`
  // are the observations on the whole of a part.
  ScoreCell SummarizeChosen(const Observations& observations, const Chosen& chosen, size_t test,
                            const Observations& whole) const {
    const bool by_validation = chosen.on == "validation";
    if (!chosen.setting.has_value()) {
      if (!by_validation && !IsPart(test)) {
        return SummarizeSelection(observations);
      }
      if (!by_validation) {
        ScoreCell cell = SummarizeSelection(whole.empty() ? observations : whole);
        cell.state = StateWithoutValue(cell);
        return cell;
      }
      ScoreCell cell = chosen.unknown;
      cell.state = StateWithoutValue(cell);
      return cell;
    }
    ScoreCell cell;
    if (NeedsOtherSeeds(chosen)) {
      cell = SummarizeSelection(OfSettings(observations, chosen.by_seed));
    } else {
      cell = SummarizeSelection(OfSetting(observations, *chosen.setting));
      cell.setting = *chosen.setting;
    }
    if (chosen.on.empty()) {
      return cell;
    }
    if (by_validation) {
      if (options_.validation_of.count(test) == 0) {
        AddCounts(chosen.unknown, cell);
      }
      return cell;
    }
    const ScoreCell all = SummarizeSelection(IsPart(test) ? whole : observations);
    cell.failed = all.failed;
    cell.pending = all.pending;
    cell.missing = IsPart(test) ? std::max(cell.missing, all.missing) : all.missing;
    cell.stopped = all.stopped;
    if (NeedsOtherSeeds(chosen) && cell.state != CellState::kValue) {
      cell.state = StateWithoutValue(cell);
    }
    return cell;
  }

  // Notes what a column is to say of a choice, and what choosing on its test set adds.
  void NoteChoice(const Chosen& chosen, const SystemKey& key, size_t test, size_t column,
                  const Observations& observations, const ScoreTable& table) {
    if (MeansBySetting(observations).empty()) {
      return;  // nothing is shown of which it could be said
    }
    ChoiceSummary& summary = choices_[column];
    const bool on_this = chosen.test == WholeOf(test);
    summary.on.insert(NeedsOtherSeeds(chosen) ? "other seeds"
                      : on_this               ? "test"
                      : chosen.on == "test"
                          ? absl::StrCat("test of ", options_.benchmarks[*chosen.test].name)
                          : chosen.on);
    // Where settings were stopped early, it is not known what choosing them would have added.
    if (!chosen.setting.has_value() || options_.validation_of.count(test) > 0 || IsPart(test) ||
        SummarizeSelection(observations).stopped > 0) {
      return;
    }
    const Goal goal = GoalOf(key, test, table);
    const std::map<int64_t, double> means = MeansBySetting(observations);
    const std::optional<int64_t> best = BestSetting(observations, goal);
    std::optional<double> honest;
    if (on_this) {
      const ScoreCell cell = SummarizeSelection(OfSettings(observations, chosen.by_seed));
      honest = cell.state == CellState::kValue ? std::make_optional(cell.value) : std::nullopt;
    } else if (const auto mine = means.find(*chosen.setting);
               chosen.on == "validation" && mine != means.end()) {
      honest = mine->second;
    }
    if (honest.has_value() && best.has_value()) {
      const double gain = means.at(*best) - *honest;
      summary.gains.push_back(goal == Goal::kMinimize ? -gain : gain);
    }
  }

  struct ChoiceSummary {
    std::set<std::string> on;
    std::vector<double> gains;  // one for each system; where no score lacks, at least 0
  };

  const SelectionOptions& options_;
  const Systems& systems_;
  std::set<size_t> trains_;                       // sets that something was trained on
  std::map<size_t, std::set<int64_t>> settings_;  // by approach
  std::map<size_t, size_t> first_part_;           // by whole
  std::map<Place, size_t> columns_;               // positions
  std::map<std::tuple<size_t, size_t, int64_t>, size_t> rows_;
  std::map<size_t, ChoiceSummary> choices_;  // by column
};

}  // namespace

absl::StatusOr<Select> ParseSelect(absl::string_view name) {
  for (const Select select : {Select::kBest, Select::kDefault, Select::kMean, Select::kEach,
                              Select::kBestOnTest, Select::kBestOnOtherSeeds}) {
    if (SelectName(select) == name) {
      return select;
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "select: ",
      ExpectedOneOf({"best", "default", "mean", "each", "best-on-test", "best-on-other-seeds"},
                    name)));
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
    case Select::kBestOnTest:
      return "best-on-test";
    case Select::kBestOnOtherSeeds:
      return "best-on-other-seeds";
  }
  return "best";
}

absl::StatusOr<ScoreTable> BuildScoreTable(absl::Span<const ScoreRecord> records,
                                           const SelectionOptions& options) {
  CONCUR_ASSIGN_OR_RETURN(const Systems systems, GroupRecords(records, options));
  return Builder(options, systems).Build();
}

}  // namespace concur::analysis
