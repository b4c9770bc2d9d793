// SPDX-License-Identifier: Apache-2.0
// Runs of HELM: a folder with run_spec.json and stats.json; scenario.json and
// per_instance_stats.json are used where they are there.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "base/metric_meaning.h"
#include "base/status_macros.h"
#include "qa/results/example_means.h"
#include "qa/results/json.h"
#include "qa/results/reader.h"
#include "qa/results/results.h"
#include "qa/results/settings.h"

namespace concur::imports {
namespace {

constexpr size_t kHelmMetricsMax = 40;
constexpr size_t kHelmSplitsMax = 20;
// HELM's name of its limit, which its published runs all have: named only where runs differ in it.
constexpr char kHelmLimit[] = "max_eval_instances";

// "commonsense:dataset=hellaswag,model=x" without what says which model answered.
std::string TaskOfRun(absl::string_view name) {
  const size_t colon = name.find(':');
  if (colon == absl::string_view::npos) {
    return std::string(name);
  }
  std::vector<absl::string_view> kept;
  for (const absl::string_view part : absl::StrSplit(name.substr(colon + 1), ',')) {
    if (!absl::StartsWith(part, "model=") && !absl::StartsWith(part, "model_deployment=") &&
        !part.empty()) {
      kept.push_back(part);
    }
  }
  return absl::StrCat(name.substr(0, colon), kept.empty() ? "" : ":", absl::StrJoin(kept, ","));
}

// Metrics that HELM's own tables show for a scenario; then those of its core scenarios, in the
// order in which they are preferred.
std::vector<std::string> MainMetrics(const std::string& task, const MaybeJson& scenario) {
  std::vector<std::string> names;
  if (const std::string main = Text(Field(Field(scenario, "metadata"), "main_metric"));
      !main.empty()) {
    names.push_back(main);
  }
  if (const std::string main = Text(Field(scenario, "main_metric")); !main.empty()) {
    names.push_back(main);
  }
  constexpr std::pair<const char*, const char*> kByMetric[] = {
      // beginnings of tasks
      {"exact_match", "mmlu|commonsense|truthful_qa"},
      {"quasi_exact_match", "boolq|imdb|civil_comments|raft"},
      {"f1_score", "narrative_qa|natural_qa|quac"},
      {"rouge_2", "summarization"},
      {"bleu_4", "wmt_14"},
      {"bits_per_byte", "the_pile"},
      {"final_number_exact_match", "gsm"},
      {"math_equiv_chain_of_thought", "math"}};
  for (const auto& [metric, scenarios] : kByMetric) {
    for (const absl::string_view begin : absl::StrSplit(scenarios, '|')) {
      if (absl::StartsWith(task, begin)) {
        names.emplace_back(metric);
      }
    }
  }
  for (const char* name :
       {"exact_match", "quasi_exact_match", "final_number_exact_match",
        "math_equiv_chain_of_thought", "math_equiv", "f1_score", "NDCG@10", "RR@10", "rouge_2",
        "bleu_4", "ifeval_strict_accuracy", "chain_of_thought_correctness", "bits_per_byte"}) {
    names.emplace_back(name);
  }
  return names;
}

// True if a statistic is about how the model was asked, and not how well it answered.
bool IsBookkeeping(absl::string_view name) {
  for (const char* prefix : {"num_", "finish_reason", "training_", "inference_", "batch_size",
                             "prompt_truncated", "max_prob", "logprob", "estimated_"}) {
    if (absl::StartsWith(name, prefix)) {
      return true;
    }
  }
  return false;
}

struct Statistics {
  std::map<std::string, double> means;  // by name, of the chosen split
  std::vector<std::string> order;
};

// The splits that models answered; that of the examples shown is none.
std::set<std::string> SplitsOf(const simdjson::dom::array& stats) {
  std::set<std::string> splits;
  for (const JsonValue stat : stats) {
    const std::string split = Text(Field(Field(stat, "name"), "split"));
    if (!split.empty() && split != "train" && splits.size() < kHelmSplitsMax) {
      splits.insert(split);
    }
  }
  return splits;
}

// Statistics of unperturbed examples of one split.
Statistics StatisticsOf(const simdjson::dom::array& stats, const std::string& split) {
  Statistics found;
  for (const JsonValue stat : stats) {
    const MaybeJson name = Field(stat, "name");
    const std::optional<double> mean = Number(Field(stat, "mean"));
    if (Text(Field(name, "split")) != split || Field(name, "perturbation").has_value() ||
        Field(name, "sub_split").has_value() || !mean.has_value() || !std::isfinite(*mean)) {
      continue;
    }
    const std::string metric = Text(Field(name, "name"));
    if (!metric.empty() && found.means.emplace(metric, *mean).second) {
      found.order.push_back(metric);
    }
  }
  return found;
}

void TakeStatistics(const Statistics& stats, const std::vector<std::string>& preferred, Run& run) {
  std::vector<std::string> order;
  for (const std::string& name : preferred) {
    if (stats.means.count(name) > 0 && std::find(order.begin(), order.end(), name) == order.end()) {
      order.push_back(name);
    }
  }
  for (const std::string& name : stats.order) {
    if (!IsBookkeeping(name) && std::find(order.begin(), order.end(), name) == order.end()) {
      order.push_back(name);
    }
  }
  const auto instances = stats.means.find("num_instances");
  for (const std::string& name : order) {
    if (run.metrics.size() == kHelmMetricsMax) {
      break;
    }
    Metric metric;
    metric.name = name;
    metric.value = stats.means.at(name);
    metric.meaning.goal = UsuallyMinimized(name) ? Goal::kMinimize : Goal::kMaximize;
    if (instances != stats.means.end() && instances->second >= 0 && instances->second < 1e12) {
      metric.examples = static_cast<int64_t>(instances->second);
    }
    run.metrics.push_back(std::move(metric));
  }
  if (const auto runtime = stats.means.find("inference_runtime");
      runtime != stats.means.end() && instances != stats.means.end()) {
    run.seconds = runtime->second * instances->second;
  }
  const auto prompt = stats.means.find("num_prompt_tokens");
  const auto output = stats.means.find("num_output_tokens");
  if (prompt != stats.means.end() && output != stats.means.end() &&
      instances != stats.means.end()) {
    run.tokens = (prompt->second + output->second) * instances->second;
  }
}

absl::Status ReadInstances(const std::string& path, Run& run, JsonDocument& document,
                           FileResults& results) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) {
    return absl::OkStatus();
  }
  CONCUR_ASSIGN_OR_RETURN(const JsonValue root, document.ReadAny(path));
  const auto instances = List(root);
  if (!instances.has_value()) {
    return WrongField(path, "the document", "a list of instances", root);
  }
  ExampleMeans means;
  for (const JsonValue instance : *instances) {
    const auto stats = List(Field(instance, "stats"));
    if (Field(instance, "perturbation").has_value() || !stats.has_value()) {
      continue;
    }
    std::optional<double> score;
    bool is_of_split = false;
    for (const JsonValue stat : *stats) {
      const MaybeJson name = Field(stat, "name");
      if (Text(Field(name, "split")) != run.split || Field(name, "perturbation").has_value()) {
        continue;
      }
      is_of_split = true;
      if (Text(Field(name, "name")) == run.metrics[0].name) {
        score = Number(Field(stat, "mean"));
      }
    }
    if (is_of_split) {
      CONCUR_RETURN_IF_ERROR(means.Add(Text(Field(instance, "instance_id")), score, path));
    }
  }
  means.Store(path, run, results.skipped);
  return absl::OkStatus();
}

absl::StatusOr<FileResults> ReadHelm(const std::string& path, const ReadOptions& /*options*/,
                                     JsonDocument& document) {
  FileResults results;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const std::string stats_path = (folder / "stats.json").string();
  results.path = stats_path;
  Run common;
  int64_t limit = 0;
  {
    Run& run = common;
    CONCUR_ASSIGN_OR_RETURN(const JsonValue root, document.Read(path));
    const std::string name = Text(Field(root, "name"));
    if (name.empty()) {
      return WrongField(path, "name",
                        "the name of a run, as HELM 0.2 to 0.5 write it beside adapter_spec.model",
                        Field(root, "name"));
    }
    run.task = TaskOfRun(name);
    const MaybeJson adapter = Field(root, "adapter_spec");
    run.model = Text(Field(adapter, "model"));
    if (run.model.empty()) {
      return WrongField(path, "adapter_spec.model", "the name of a model", Field(adapter, "model"));
    }
    run.shots = Integer(Field(adapter, "max_train_instances"));
    AddTag(run.model_tags, "family", FamilyInName(run.model));
    AddTag(run.model_tags, "deployment", Text(Field(adapter, "model_deployment")));
    AddSettings(run.model_settings, "adapter_spec", adapter,
                {"model", "max_train_instances", kHelmLimit, "eval_splits", "random"});
    AddSettings(run.data_settings, "scenario_spec", Field(root, "scenario_spec"));
    const auto fields = Object(MaybeJson(root));
    for (const auto field : *fields) {
      const absl::string_view part(field.key.data(), field.key.size());
      if (part != "name" && part != "adapter_spec" && part != "scenario_spec") {
        AddSettings(run.task_settings, part, MaybeJson(field.value));
      }
    }
    limit = Integer(Field(adapter, kHelmLimit)).value_or(0);
    if (const auto groups = List(Field(root, "groups")); groups && groups->size() > 0) {
      AddTag(run.task_tags, "group", Text(groups->at(0).value_unsafe()));
    }
  }
  std::vector<std::string> preferred;
  const std::string scenario_path = (folder / "scenario.json").string();
  std::error_code ignored;
  if (std::filesystem::is_regular_file(scenario_path, ignored)) {
    CONCUR_ASSIGN_OR_RETURN(const JsonValue scenario, document.Read(scenario_path));
    preferred = MainMetrics(common.task, scenario);
    AddTag(common.task_tags, "scenario", Text(Field(scenario, "name")));
  } else {
    preferred = MainMetrics(common.task, std::nullopt);
  }
  CONCUR_ASSIGN_OR_RETURN(const JsonValue root, document.ReadAny(stats_path));
  results.digest = document.digest();
  const auto stats = List(root);
  if (!stats.has_value()) {
    return WrongField(
        stats_path, "the document",
        "a list of statistics {name: {name, split}, mean}, as HELM 0.2 to 0.5 write it", root);
  }
  common.tool = "helm";
  // The folder of runs is what HELM calls a suite.
  common.repeat = folder.parent_path().filename().string();
  double instances = 0;
  for (const std::string& split : SplitsOf(*stats)) {
    Run run = common;
    run.split = split;
    const Statistics of_split = StatisticsOf(*stats, split);
    TakeStatistics(of_split, preferred, run);
    const auto count = of_split.means.find("num_instances");
    instances += count == of_split.means.end() ? 0 : count->second;
    if (!run.metrics.empty()) {
      results.runs.push_back(std::move(run));
    }
  }
  if (results.runs.empty()) {
    results.skipped.push_back({"a run without a statistic of its examples", stats_path});
    return results;
  }
  for (Run& run : results.runs) {
    // A limit beyond the data set changes nothing.
    if (limit > 0 && !(instances > 0 && instances < static_cast<double>(limit))) {
      AddSetting(run.data_settings, "", kHelmLimit, absl::StrCat(limit));
    }
    if (const int64_t scored = run.metrics[0].examples; scored > 0) {
      AddSetting(run.task_settings, "", "num_instances", absl::StrCat(scored));
    }
    CONCUR_RETURN_IF_ERROR(
        ReadInstances((folder / "per_instance_stats.json").string(), run, document, results));
  }
  return results;
}

}  // namespace

Format HelmFormat() {
  return {"helm", "run folders of HELM, with run_spec.json and stats.json",
          [](absl::string_view name) { return name == "run_spec.json"; }, ReadHelm};
}

}  // namespace concur::imports
