// SPDX-License-Identifier: Apache-2.0
#include "qa/results/data_choice.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/metric_meaning.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "base/table/table_text.h"
#include "qa/results/leaderboard_columns.h"
#include "qa/results/results.h"
#include "qa/results/stored_run.h"

namespace concur::imports {
namespace {

// Place of a split in the order of preference among those that equally many models have.
size_t PlaceOfSplit(const std::string& split) {
  static constexpr absl::string_view kOrder[] = {"test",    "validation", "valid", "dev",
                                                 "devtest", "dev2",       "val",   "standard"};
  const size_t place = static_cast<size_t>(std::find(std::begin(kOrder), std::end(kOrder), split) -
                                           std::begin(kOrder));
  return split == "train" ? std::size(kOrder) + 1 : place;
}

using SubsetNames = std::vector<std::string>;  // sorted

// By task, the models that have each of the sets.
using SubsetVotes = std::map<std::string, std::map<SubsetNames, std::set<std::string>>>;

SubsetNames NamesOf(const Run& run) {
  SubsetNames names;
  for (const auto& [name, score] : run.subsets) {
    names.push_back(name);
  }
  return names;
}

SubsetNames MostModelsHave(const std::map<SubsetNames, std::set<std::string>>& votes) {
  return std::max_element(votes.begin(), votes.end(),
                          [](const auto& a, const auto& b) {
                            return std::make_pair(a.second.size(), a.first.size()) <
                                   std::make_pair(b.second.size(), b.first.size());
                          })
      ->first;
}

Metric& MainMetric(StoredRun* stored) { return stored->run.metrics[0]; }

Goal SettleGoal(const std::vector<StoredRun*>& runs, std::vector<std::string>& assumed) {
  std::map<Goal, int64_t> stated;
  for (StoredRun* const stored : runs) {
    const Metric& metric = MainMetric(stored);
    stated[metric.meaning.goal] += metric.is_goal_stated ? 1 : 0;
  }
  const int64_t maximize = stated[Goal::kMaximize];
  const int64_t minimize = stated[Goal::kMinimize];
  if (maximize + minimize == 0) {
    const Metric& metric = MainMetric(runs[0]);
    if (metric.meaning.goal == Goal::kMinimize ||
        HasUnclearGoal(absl::StrCat(runs[0]->run.task, " ", metric.name))) {
      assumed.push_back("a guess by its name");
    }
    return metric.meaning.goal;
  }
  if (maximize > 0 && minimize > 0) {
    assumed.push_back(
        absl::StrCat("a guess: ", maximize, " scores state maximize, ", minimize, " minimize"));
  }
  return minimize > maximize ? Goal::kMinimize : Goal::kMaximize;
}

Scale SettleScale(const std::vector<StoredRun*>& runs, std::vector<std::string>& assumed) {
  std::map<std::string, std::pair<int64_t, Scale>> scales;  // by text: how many, and it
  for (StoredRun* const stored : runs) {
    if (const Scale& scale = MainMetric(stored).meaning.scale; !ScaleText(scale).empty()) {
      scales[ScaleText(scale)].second = scale;
      ++scales[ScaleText(scale)].first;
    }
  }
  if (const auto percent = scales.find("percent");
      percent != scales.end() && scales.count("fraction") > 0) {
    for (StoredRun* const stored : runs) {
      Metric& metric = MainMetric(stored);
      if (metric.meaning.scale.kind == Scale::Kind::kPercent) {
        metric.value /= 100;  // as scores of examples are
        metric.standard_error =
            metric.standard_error ? std::optional(*metric.standard_error / 100) : std::nullopt;
      }
    }
    assumed.push_back(absl::StrCat(percent->second.first, " scores in percent are divided by 100"));
    scales["fraction"].first += percent->second.first;
    scales.erase(percent);
  }
  std::pair<int64_t, Scale> most;
  for (const auto& [text, scale] : scales) {
    most = scale.first > most.first ? scale : most;
  }
  if (scales.size() > 1) {
    assumed.push_back(absl::StrCat("a guess: scores state ", scales.size(), " scales, most \"",
                                   ScaleText(most.second), "\""));
  }
  return most.second;
}

}  // namespace

absl::Status CheckAskedFor(absl::string_view option, absl::string_view noun,
                           const std::vector<std::string>& asked,
                           const std::set<std::string>& known) {
  for (const std::string& name : asked) {
    if (known.count(name) == 0) {
      const std::vector<std::string> names(known.begin(), known.end());
      return absl::InvalidArgumentError(absl::StrCat(option, ": no score has the ", noun, " \"",
                                                     name, "\"", DidYouMean(name, names),
                                                     "; there are ", FirstNames(names)));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, std::string>> ChooseSplits(
    const std::vector<std::string>& asked, const std::vector<StoredRun>& runs) {
  std::map<std::string, std::map<std::string, std::set<std::string>>> models;  // by task, split
  std::set<std::string> known;
  for (const StoredRun& stored : runs) {
    models[stored.run.task][stored.run.split].insert(stored.run.model);
    if (!stored.run.split.empty()) {
      known.insert(stored.run.split);
    }
  }
  CONCUR_RETURN_IF_ERROR(CheckAskedFor("--split", "split", asked, known));
  std::map<std::string, std::string> chosen;
  for (const auto& [task, of_splits] : models) {
    const auto rank = [&](const std::string& split, size_t models_of_split) {
      const auto wanted = std::find(asked.begin(), asked.end(), split) - asked.begin();
      return std::make_tuple(wanted, -static_cast<std::ptrdiff_t>(models_of_split),
                             PlaceOfSplit(split));
    };
    chosen[task] =
        std::min_element(of_splits.begin(), of_splits.end(), [&](const auto& a, const auto& b) {
          return rank(a.first, a.second.size()) < rank(b.first, b.second.size());
        })->first;
  }
  return chosen;
}

absl::Status ChooseSubsets(const std::vector<std::string>& asked, std::vector<StoredRun>& runs,
                           const LeaveOut& leave_out) {
  SubsetVotes votes;
  std::set<std::string> known;
  std::map<std::string, std::set<std::string>> wanted;  // names from `asked`, by task
  for (const StoredRun& stored : runs) {
    if (stored.run.subsets.empty()) {
      continue;
    }
    votes[stored.run.task][NamesOf(stored.run)].insert(stored.run.model);
    for (const auto& [name, score] : stored.run.subsets) {
      if (!asked.empty()) {
        known.insert(name);
      }
      if (std::find(asked.begin(), asked.end(), name) != asked.end()) {
        wanted[stored.run.task].insert(name);
      }
    }
  }
  CONCUR_RETURN_IF_ERROR(CheckAskedFor("--subsets", "subset", asked, known));
  std::map<std::string, SubsetNames> chosen;
  for (const auto& [task, sets] : votes) {
    const auto& of_task = wanted[task];
    chosen[task] =
        of_task.empty() ? MostModelsHave(sets) : SubsetNames(of_task.begin(), of_task.end());
  }
  std::vector<StoredRun> kept;
  for (StoredRun& stored : runs) {
    Run& run = stored.run;
    if (run.subsets.empty()) {
      kept.push_back(std::move(stored));
      continue;
    }
    const SubsetNames& names = chosen[run.task];
    double sum = 0;
    size_t found = 0;
    for (const std::string& name : names) {
      const auto at = run.subsets.find(name);
      sum += at == run.subsets.end() ? 0 : at->second;
      found += at == run.subsets.end() ? 0 : 1;
    }
    if (found < names.size()) {
      leave_out("a run that lacks subsets over which its task is compared", stored,
                absl::StrCat(names.size() - found, " of ", names.size()));
      continue;
    }
    if (run.subsets.size() > found) {
      leave_out("subsets beyond those over which a task is compared, of a run", stored,
                absl::StrCat(run.subsets.size() - found, " of ", run.subsets.size()));
    }
    run.metrics[0].value = sum / static_cast<double>(found);
    run.subsets.clear();
    kept.push_back(std::move(stored));
  }
  runs = std::move(kept);
  return absl::OkStatus();
}

MetricMeaning SettleMeaning(const std::vector<StoredRun*>& runs,
                            std::vector<std::string>& assumed) {
  const MetricMeaning meaning = {SettleGoal(runs, assumed), SettleScale(runs, assumed)};
  std::vector<Cell> cells(runs.size());
  std::vector<Cell*> all;
  std::set<size_t> files;
  for (size_t i = 0; i < runs.size(); ++i) {
    cells[i].kind = CellKind::kNumber;
    cells[i].first = MainMetric(runs[i]).value;
    all.push_back(&cells[i]);
    files.insert(runs[i]->file);
  }
  if (files.size() > 1 && meaning.IsPlain()) {  // a file's reader says it of that file
    RemarkOnFractions(all, assumed);
  }
  return meaning;
}

}  // namespace concur::imports
