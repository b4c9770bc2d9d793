// SPDX-License-Identifier: Apache-2.0
#include "imports/assemble.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "imports/imported.h"
#include "imports/results.h"
#include "qa/score.h"

namespace concur::imports {
namespace {

constexpr double kValueMax = 1e15;  // as of a job's metrics

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

// InvalidArgument when a metric that was asked for is in no task; `names` by task.
absl::Status CheckWanted(const std::vector<std::string>& wanted,
                         const std::map<std::string, std::set<std::string>>& names) {
  for (const std::string& metric : wanted) {
    const bool is_known = std::any_of(names.begin(), names.end(), [&](const auto& task) {
      return task.second.count(metric) > 0;
    });
    if (!is_known) {
      std::set<std::string> all;
      for (const auto& [task, metrics] : names) {
        all.insert(metrics.begin(), metrics.end());
      }
      const std::vector<std::string> known(all.begin(), all.end());
      return absl::InvalidArgumentError(absl::StrCat("--metric: no score has the metric \"", metric,
                                                     "\"", DidYouMean(metric, known),
                                                     "; there are ", FirstNames(known)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

void Assembly::Skip(const std::string& reason, const std::string& place) {
  SkippedCount& count = results_.skipped[reason];
  if (count.count++ == 0) {
    count.first_place = place;
  }
}

void Assembly::Add(FileResults file) {
  ++results_.files_read;
  for (const Skipped& skipped : file.skipped) {
    Skip(skipped.reason, skipped.place);
  }
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
      runs_.push_back({std::move(run), results_.files.size() - 1, runs_.size()});
    }
  }
}

void Assembly::NameVariants() {
  struct Variants {
    std::set<std::string> versions;
    std::set<int64_t> shots;
  };
  std::map<std::string, Variants> tasks;
  for (const Stored& stored : runs_) {
    Variants& variants = tasks[stored.run.task];
    variants.versions.insert(stored.run.version);
    variants.shots.insert(stored.run.shots.value_or(-1));
  }
  for (Stored& stored : runs_) {
    const Variants& variants = tasks[stored.run.task];
    if (variants.shots.size() > 1 && stored.run.shots.has_value()) {
      absl::StrAppend(&stored.run.task, " (", *stored.run.shots, "-shot)");
    }
    if (variants.versions.size() > 1 && !stored.run.version.empty()) {
      absl::StrAppend(&stored.run.task, " (version ", stored.run.version, ")");
    }
  }
}

void Assembly::ChooseRevisions() {
  if (request_.each_revision) {
    for (Stored& stored : runs_) {
      if (!stored.run.revision.empty()) {
        absl::StrAppend(&stored.run.model, "@", stored.run.revision);
      }
    }
    return;
  }
  // By model and task: whether it lacks a test score, then the revision's name.
  using Rank = std::pair<bool, std::string>;
  const auto rank = [](const Run& run) { return Rank(run.split != "test", run.revision); };
  std::map<std::pair<std::string, std::string>, Rank> chosen;
  for (const Stored& stored : runs_) {
    const auto [at, is_new] =
        chosen.emplace(std::make_pair(stored.run.model, stored.run.task), rank(stored.run));
    if (!is_new) {
      at->second = std::min(at->second, rank(stored.run));
    }
  }
  std::vector<Stored> kept;
  kept.reserve(runs_.size());
  for (Stored& stored : runs_) {
    if (chosen[{stored.run.model, stored.run.task}] == rank(stored.run)) {
      kept.push_back(std::move(stored));
    } else {
      Skip("another revision of a model, which has the score already",
           results_.files[stored.file].path);
    }
  }
  runs_ = std::move(kept);
}

absl::Status Assembly::ChooseMetrics() {
  std::map<std::string, std::map<std::string, int64_t>> firsts;  // by task and metric
  std::map<std::string, std::set<std::string>> names;
  for (const Stored& stored : runs_) {
    ++firsts[stored.run.task][stored.run.metrics[0].name];
    for (const Metric& metric : stored.run.metrics) {
      names[stored.run.task].insert(metric.name);
    }
  }
  CONCUR_RETURN_IF_ERROR(CheckWanted(request_.metrics, names));
  for (const auto& [task, counts] : firsts) {
    std::string& chosen = task_metrics_[task].name;
    for (const std::string& wanted : request_.metrics) {
      if (chosen.empty() && names[task].count(wanted) > 0) {
        chosen = wanted;
      }
    }
    if (chosen.empty()) {
      chosen = std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
                 return a.second < b.second;
               })->first;
    }
  }
  std::set<std::string> with_meaning;  // tasks
  for (Stored& stored : runs_) {
    TaskMetric& chosen = task_metrics_[stored.run.task];
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
    if (with_meaning.insert(stored.run.task).second) {
      chosen.meaning = main->meaning;
    }
    std::rotate(metrics.begin(), main, main + 1);
  }
  return absl::OkStatus();
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
    const auto most =
        std::max_element(counts.begin(), counts.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (digests[i] != most->first) {
      Skip("per-example scores on other examples than most runs of the task have",
           absl::StrCat(results_.files[runs_[i].file].path, ": ", run.task));
      run.examples.clear();
    }
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
    for (const Stored& stored : runs_) {
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
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> seeds;
  for (Stored& stored : runs_) {
    ImportedCell cell;
    cell.model = AxisOf(results_.models, models, stored.run.model, stored.run.model_tags);
    cell.task = AxisOf(results_.tasks, tasks, stored.run.task, stored.run.task_tags);
    cell.seed = seeds[{cell.model, cell.task}]++;
    cell.run = results_.runs.size();
    results_.seeds = std::max(results_.seeds, cell.seed + 1);
    results_.cells.push_back(cell);
    stored.run.model_tags.clear();
    stored.run.task_tags.clear();
    results_.runs.push_back({std::move(stored.run), stored.file});
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

absl::StatusOr<ImportedResults> Assembly::Finish() {
  if (runs_.empty()) {
    std::string why;
    for (const auto& [reason, count] : results_.skipped) {
      absl::StrAppend(&why, "; ", reason, ": ", count.count, " (first: ", count.first_place, ")");
    }
    return absl::InvalidArgumentError(absl::StrCat(request_.paths[0], ": expected scores of ",
                                                   request_.format, ", found none", why));
  }
  NameVariants();
  ChooseRevisions();
  std::stable_sort(runs_.begin(), runs_.end(), [](const Stored& a, const Stored& b) {
    return std::tie(a.run.repeat, a.order) < std::tie(b.run.repeat, b.order);
  });
  if (request_.format == "leaderboard") {
    std::stable_sort(runs_.begin(), runs_.end(),
                     [](const Stored& a, const Stored& b) { return a.order < b.order; });
  }
  CONCUR_RETURN_IF_ERROR(ChooseMetrics());
  AlignExamples();
  CONCUR_RETURN_IF_ERROR(NumberCells());
  return std::move(results_);
}

}  // namespace concur::imports
