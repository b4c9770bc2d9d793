// SPDX-License-Identifier: Apache-2.0
#include "qa/results/assemble.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "qa/results/column_names.h"
#include "qa/results/data_choice.h"
#include "qa/results/imported.h"
#include "qa/results/results.h"
#include "qa/results/settings.h"
#include "qa/results/stored_run.h"
#include "qa/results/variants.h"
#include "qa/score.h"

namespace concur::imports {
namespace {

constexpr size_t kNamesNotComparedMax = 20;
constexpr double kValueMax = 1e15;  // as of a job's metrics

// Judges each name once: 100,000 runs have few.
class NameJudge {
 public:
  explicit NameJudge(std::function<bool(const std::string&)> judge) : judge_(std::move(judge)) {}
  bool operator()(const std::string& name) {
    const auto [at, is_new] = known_.emplace(name, false);
    at->second = is_new ? judge_(name) : at->second;
    return at->second;
  }

 private:
  std::function<bool(const std::string&)> judge_;
  std::map<std::string, bool> known_;
};

// Why a name cannot be one; "" when it can.
std::string FaultOfName(absl::string_view name) {
  if (name.empty()) {
    return "an empty name";
  }
  if (name.size() > kNameBytesMax) {
    return absl::StrCat("a name of more than ", kNameBytesMax, " bytes");
  }
  if (!IsUtf8(name)) {
    return "a name that is not UTF-8";
  }
  for (const char c : name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      return "a name with a control character";
    }
  }
  return "";
}

std::string Trimmed(absl::string_view name) {
  return std::string(absl::StripAsciiWhitespace(name));
}

// The entry that is counted most often, the first of several. REQUIRES: there is one.
template <typename Key>
auto MostOf(const std::map<Key, int64_t>& counts) {
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
}

Digest DigestOfIds(const std::vector<qa::ExampleScore>& examples) {
  std::vector<absl::string_view> ids;
  ids.reserve(examples.size());
  for (const qa::ExampleScore& example : examples) {
    ids.push_back(example.id);
  }
  std::sort(ids.begin(), ids.end());
  Sha256 hash;
  for (const absl::string_view id : ids) {
    hash.UpdateField(id);
  }
  return hash.Finish();
}

// "accuracy" asks for "choice/accuracy", where a task has one such metric.
auto EndsWithPart(const std::string& wanted) {
  return [end = absl::StrCat("/", wanted)](const std::string& name) {
    return absl::EndsWith(name, end);
  };
}

}  // namespace

Assembly::Assembly(const ImportRequest& request)
    : request_(request),
      leave_out_(
          [this](const std::string& reason, const StoredRun& stored, const std::string& detail) {
            Skip(reason, absl::StrCat(results_.files[stored.file].path, ": ", stored.run.task,
                                      detail.empty() ? "" : ": ", detail));
          }) {}

void Assembly::Skip(const std::string& reason, const std::string& place, int64_t count) {
  SkippedCount& skipped = results_.skipped[reason];
  if (skipped.count == 0) {
    skipped.first_place = place;
  }
  skipped.count += count;
}

void Assembly::Add(FileResults file) {
  ++results_.files_read;
  for (const Skipped& skipped : file.skipped) {
    Skip(skipped.reason, skipped.place, skipped.count);
  }
  results_.columns.insert(results_.columns.end(), file.columns.begin(), file.columns.end());
  if (file.runs.empty()) {
    return;
  }
  // Statistics may be equal between models: a file is a copy only where its first run is, too.
  Sha256 key;
  key.UpdateField(file.evaluation.empty() ? file.digest.ToBytes() : file.evaluation);
  for (const std::string* part :
       {&file.runs[0].model, &file.runs[0].task, &file.runs[0].revision}) {
    key.UpdateField(*part);
  }
  if (!files_.insert(key.Finish()).second) {
    Skip(file.evaluation.empty() ? "a file with the same bytes as another"
                                 : "a file of the same evaluation as another",
         file.path);
    return;
  }
  results_.files.push_back(
      {file.path, file.digest, std::move(file.original), std::move(file.samples)});
  for (Run& run : file.runs) {
    run.model = Trimmed(run.model);
    run.task = Trimmed(run.task);
    std::string fault = FaultOfName(run.model);
    fault = fault.empty() ? FaultOfName(run.task) : fault;
    std::vector<Metric> metrics;
    for (Metric& metric : run.metrics) {
      const std::string fault_of_metric = FaultOfName(metric.name);
      if (!fault_of_metric.empty()) {
        fault = fault_of_metric;
      } else if (!(std::abs(metric.value) <= kValueMax)) {
        fault = "a score that is too large";
      } else if (metrics.size() < kMetricsOfRunMax) {
        metrics.push_back(std::move(metric));
      }
    }
    run.metrics = std::move(metrics);
    if (run.metrics.empty() || !fault.empty()) {
      Skip(fault.empty() ? "no score" : fault, file.path);
    }
    if (!run.metrics.empty() && FaultOfName(run.model).empty() && FaultOfName(run.task).empty()) {
      if (run.shots.has_value()) {
        AddSetting(run.data_settings, "", "shots", absl::StrCat(*run.shots));
      }
      AddSetting(run.data_settings, "", "version", run.version);
      MoveNotCompared(run);
      StoredRun stored;
      stored.file = results_.files.size() - 1;
      stored.order = runs_.size();
      stored.data_settings = Shared(run.data_settings);
      stored.model_settings = Shared(run.model_settings);
      stored.task_settings = Shared(run.task_settings);
      stored.not_compared = Shared(run.not_compared);
      stored.run = std::move(run);
      runs_.push_back(std::move(stored));
    }
  }
}

const Settings* Assembly::Shared(Settings& settings) {
  const Settings* const shared = &*settings_.insert(std::move(settings)).first;
  settings.clear();
  return shared;
}

absl::Status Assembly::ChooseSplitsAndRevisions() {
  CONCUR_ASSIGN_OR_RETURN(auto splits, ChooseSplits(request_.splits, runs_));
  const auto has_split = [&](const Run& run) { return run.split == splits[run.task]; };
  // By model, its experiment and task: whether it lacks a score on the split, then the revision.
  using Rank = std::pair<bool, std::string>;
  std::map<std::tuple<std::string, std::string, std::string>, Rank> chosen;
  const auto key_of = [](const StoredRun& stored) {
    return std::make_tuple(stored.run.model,
                           ValueIn(*stored.model_settings, std::string(kExperimentSetting)),
                           stored.run.task);
  };
  for (StoredRun& stored : runs_) {
    if (request_.each_revision && !stored.run.revision.empty()) {
      absl::StrAppend(&stored.run.model, "@", stored.run.revision);
    }
    const Rank rank(!has_split(stored.run), stored.run.revision);
    const auto [at, is_new] = chosen.emplace(key_of(stored), rank);
    at->second = std::min(at->second, rank);
  }
  // In place, as a second list of all runs would be most of the memory.
  std::erase_if(runs_, [&](const StoredRun& stored) {
    if (chosen[key_of(stored)].second != stored.run.revision) {
      leave_out_("another revision of a model, which has the score already", stored, "");
      return true;
    }
    if (!has_split(stored.run)) {
      leave_out_("a score on another split than the one on which its task is compared", stored,
                 stored.run.split);
      return true;
    }
    return false;
  });
  return absl::OkStatus();
}

absl::Status Assembly::ChooseMetrics() {
  std::map<std::string, std::map<std::string, int64_t>> firsts;    // by task and metric
  std::map<std::string, std::map<std::string, int64_t>> measures;  // those of runs without a score
  std::map<std::string, std::set<std::string>> names;
  std::set<std::string> all_names;
  NameJudge names_measure([](const std::string& name) { return NamesMeasure(name); });
  const auto is_measure = [&](const Metric& metric) { return names_measure(metric.name); };
  for (const StoredRun& stored : runs_) {
    const std::vector<Metric>& of_run = stored.run.metrics;
    const auto first = std::find_if_not(of_run.begin(), of_run.end(), is_measure);
    if (first != of_run.end()) {
      ++firsts[stored.run.task][first->name];
    } else {
      ++measures[stored.run.task][of_run[0].name];
    }
    for (const Metric& metric : stored.run.metrics) {
      names[stored.run.task].insert(metric.name);
      all_names.insert(metric.name);
    }
  }
  for (const std::string& wanted : request_.metrics) {
    if (std::any_of(all_names.begin(), all_names.end(), EndsWithPart(wanted))) {
      all_names.insert(wanted);
    }
  }
  CONCUR_RETURN_IF_ERROR(CheckAskedFor("--metric", "metric", request_.metrics, all_names));
  for (const auto& [task, of_task] : names) {
    std::string& chosen = task_metrics_[task].name;
    for (const std::string& wanted : request_.metrics) {
      if (chosen.empty() && of_task.count(wanted) > 0) {
        chosen = wanted;
      }
      if (chosen.empty() &&
          std::count_if(of_task.begin(), of_task.end(), EndsWithPart(wanted)) == 1) {
        chosen = *std::find_if(of_task.begin(), of_task.end(), EndsWithPart(wanted));
      }
    }
    if (chosen.empty()) {
      const bool has_scores = firsts.count(task) > 0;
      chosen = MostOf(has_scores ? firsts[task] : measures[task])->first;
      if (!has_scores) {
        results_.columns.push_back({"benchmark", task, 0,
                                    absl::StrCat("a guess: compared by \"", chosen,
                                                 "\", as it has no score by its name")});
      }
    }
  }
  for (StoredRun& stored : runs_) {
    const TaskMetric& chosen = task_metrics_[stored.run.task];
    std::vector<Metric>& metrics = stored.run.metrics;
    const auto main = std::find_if(metrics.begin(), metrics.end(), [&](const Metric& metric) {
      return metric.name == chosen.name;
    });
    if (main != metrics.begin()) {
      stored.run.examples.clear();  // they are of another metric
    }
    if (main == metrics.end()) {
      Skip(
          "a run without the metric by which its task is compared",
          absl::StrCat(results_.files[stored.file].path, ": ", stored.run.task, ": ", chosen.name));
      continue;
    }
    std::rotate(metrics.begin(), main, main + 1);
  }
  return absl::OkStatus();
}

void Assembly::SettleMeanings() {
  std::map<std::string, std::vector<StoredRun*>> by_task;
  for (StoredRun& stored : runs_) {
    if (stored.run.metrics[0].name == task_metrics_[stored.run.task].name) {
      by_task[stored.run.task].push_back(&stored);
    }
  }
  for (const auto& [task, runs] : by_task) {
    std::vector<std::string> assumed;
    task_metrics_[task].meaning = SettleMeaning(runs, assumed);
    for (std::string& why : assumed) {
      results_.columns.push_back({"benchmark", task, 0, std::move(why)});
    }
  }
}

void Assembly::AlignExamples() {
  std::map<std::string, std::map<Digest, int64_t>> sets;  // by task and examples
  std::vector<Digest> digests(runs_.size());
  for (size_t i = 0; i < runs_.size(); ++i) {
    if (!runs_[i].run.examples.empty()) {
      digests[i] = DigestOfIds(runs_[i].run.examples);
      ++sets[runs_[i].run.task][digests[i]];
    }
  }
  for (size_t i = 0; i < runs_.size(); ++i) {
    Run& run = runs_[i].run;
    if (run.examples.empty()) {
      continue;
    }
    const auto& counts = sets[run.task];
    if (digests[i] != MostOf(counts)->first) {
      Skip("per-example scores on other examples than most runs of the task have",
           absl::StrCat(results_.files[runs_[i].file].path, ": ", run.task));
      run.examples.clear();
    }
  }
}

void Assembly::CountOtherData() {
  std::map<std::string, std::map<std::string, int64_t>> revisions;  // by task
  for (const StoredRun& stored : runs_) {
    if (!stored.run.data_revision.empty()) {
      ++revisions[stored.run.task][stored.run.data_revision];
    }
  }
  for (const StoredRun& stored : runs_) {
    const auto& counts = revisions[stored.run.task];
    if (stored.run.data_revision.empty() || stored.run.data_revision == MostOf(counts)->first) {
      continue;
    }
    if (results_.other_data.count++ == 0) {
      results_.other_data.first_place = absl::StrCat(
          results_.files[stored.file].path, ": ", stored.run.task, ": ", stored.run.data_revision);
    }
  }
}

void Assembly::CountNotCompared(const StoredRun& first, const StoredRun& other) {
  const size_t before = results_.names_not_compared.size();
  bool differs = false;
  for (const auto& [a, b] : {std::make_pair(&first, &other), std::make_pair(&other, &first)}) {
    for (const auto& [name, value] : *a->not_compared) {
      if (ValueIn(*b->not_compared, name) != value) {
        differs = true;
        if (before < kNamesNotComparedMax) {
          results_.names_not_compared.insert(name);
        }
      }
    }
  }
  if (differs && results_.not_compared.count++ == 0) {
    results_.not_compared.first_place =
        absl::StrCat(results_.files[other.file].path, ": ", other.run.task);
  }
}

uint32_t Assembly::AxisOf(std::vector<ImportedAxis>& axes, std::map<std::string, uint32_t>& numbers,
                          const std::string& name, const Tags& tags) {
  const auto [at, is_new] = numbers.emplace(name, static_cast<uint32_t>(axes.size()));
  if (is_new) {
    axes.push_back({name, {}, "", {}});
  }
  for (const auto& [tag, value] : tags) {
    axes[at->second].tags.emplace(tag, value);
  }
  return at->second;
}

absl::Status Assembly::NumberCells() {
  std::map<std::string, uint32_t> models;
  std::map<std::string, uint32_t> tasks;
  // Leaderboards keep their order; folders have none worth keeping.
  if (request_.format != "leaderboard") {
    std::set<std::string> model_names;
    std::set<std::string> task_names;
    for (const StoredRun& stored : runs_) {
      model_names.insert(stored.run.model);
      task_names.insert(stored.run.task);
    }
    for (const std::string& name : model_names) {
      AxisOf(results_.models, models, name, {});
    }
    for (const std::string& name : task_names) {
      AxisOf(results_.tasks, tasks, name, {});
    }
  }
  struct Repetitions {
    const StoredRun* first = nullptr;
    uint32_t count = 0;
    std::string place;  // the first one's
  };
  int64_t unnumbered = 0;  // cells with repetitions that nothing numbers
  std::string first_unnumbered;
  std::map<std::pair<uint32_t, uint32_t>, Repetitions> seeds;
  for (StoredRun& stored : runs_) {
    ImportedCell cell;
    cell.model = AxisOf(results_.models, models, stored.run.model, stored.run.model_tags);
    cell.task = AxisOf(results_.tasks, tasks, stored.run.task, stored.run.task_tags);
    Repetitions& repetitions = seeds[{cell.model, cell.task}];
    const std::string place =
        absl::StrCat(results_.files[stored.file].path, ": ", stored.run.place);
    if (repetitions.first == nullptr) {
      repetitions.first = &stored;
      repetitions.place = place;
    } else if (!AreRepetitions(*repetitions.first, stored)) {
      leave_out_("a run with other settings than another of the same name", stored, "");
      continue;
    } else {
      CountNotCompared(*repetitions.first, stored);
      if (repetitions.count == 1 && stored.run.repeat.empty() && unnumbered++ == 0) {
        first_unnumbered = absl::StrCat("\"", stored.run.model, "\" on \"", stored.run.task, "\", ",
                                        repetitions.place, " and ", place);
      }
    }
    cell.seed = repetitions.count++;
    cell.run = results_.runs.size();
    results_.seeds = std::max(results_.seeds, cell.seed + 1);
    results_.cells.push_back(cell);
    stored.run.model_tags.clear();
    stored.run.task_tags.clear();
    results_.runs.push_back({std::move(stored.run), stored.file});
  }
  if (unnumbered > 0 && request_.format == "leaderboard") {
    results_.columns.push_back(
        {"repeat", "several scores", unnumbered,
         absl::StrCat("a guess: repetitions, as no setting differs; ", first_unnumbered)});
  }
  for (ImportedAxis& task : results_.tasks) {
    // Not of its first run, which may lack the metric.
    task.metric = task_metrics_[task.name].name;
    task.meaning = task_metrics_[task.name].meaning;
  }
  if (results_.models.size() > kModelsMax || results_.tasks.size() > kTasksMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected at most ", kModelsMax, " models and ", kTasksMax, " tasks, got ",
        results_.models.size(), " and ", results_.tasks.size(), "; import a part of them"));
  }
  std::sort(results_.cells.begin(), results_.cells.end(),
            [](const ImportedCell& a, const ImportedCell& b) {
              return std::tie(a.model, a.seed, a.task) < std::tie(b.model, b.seed, b.task);
            });
  return absl::OkStatus();
}

void Assembly::LeaveOutMeans() {
  const std::vector<std::string>& keep = request_.options.keep;
  NameJudge is_mean([&keep](const std::string& task) {
    return std::find(keep.begin(), keep.end(), task) == keep.end() &&
           (task == "all" || absl::StrContains(task, ":_average") || NamesAggregate(task));
  });
  if (request_.format == "leaderboard" ||
      std::all_of(runs_.begin(), runs_.end(),
                  [&](const StoredRun& stored) { return is_mean(stored.run.task); })) {
    return;
  }
  std::erase_if(runs_, [&](const StoredRun& stored) {
    const bool leaves = is_mean(stored.run.task);
    if (leaves) {
      leave_out_("a task that is called a mean of others", stored, "");
    }
    return leaves;
  });
}

absl::Status Assembly::CheckNotEmpty() const {
  if (!runs_.empty()) {
    return absl::OkStatus();
  }
  std::string why;
  for (const auto& [reason, count] : results_.skipped) {
    absl::StrAppend(&why, "; ", reason, ": ", count.count, " (first: ", count.first_place, ")");
  }
  return absl::InvalidArgumentError(absl::StrCat(request_.paths[0], ": expected scores of ",
                                                 request_.format, ", found none", why));
}

absl::StatusOr<ImportedResults> Assembly::Finish() {
  CONCUR_RETURN_IF_ERROR(CheckNotEmpty());
  LeaveOutMeans();
  CONCUR_RETURN_IF_ERROR(SeparateBenchmarks(request_.variants, results_.files, runs_, leave_out_));
  CONCUR_RETURN_IF_ERROR(ChooseSplitsAndRevisions());
  CONCUR_RETURN_IF_ERROR(ChooseSubsets(request_.subsets, runs_, leave_out_));
  CONCUR_RETURN_IF_ERROR(CheckNotEmpty());
  CONCUR_RETURN_IF_ERROR(SeparateVariants(request_.variants, results_.files, runs_, leave_out_));
  std::stable_sort(runs_.begin(), runs_.end(), [](const StoredRun& a, const StoredRun& b) {
    return std::tie(a.run.repeat, a.order) < std::tie(b.run.repeat, b.order);
  });
  if (request_.format == "leaderboard") {
    std::stable_sort(runs_.begin(), runs_.end(),
                     [](const StoredRun& a, const StoredRun& b) { return a.order < b.order; });
  }
  CONCUR_RETURN_IF_ERROR(ChooseMetrics());
  SettleMeanings();
  AlignExamples();
  CountOtherData();
  CONCUR_RETURN_IF_ERROR(NumberCells());
  return std::move(results_);
}

}  // namespace concur::imports
