// SPDX-License-Identifier: Apache-2.0
// Results of the lm-evaluation-harness: results_TIME.json, and samples_TASK_TIME.jsonl beside it.
// Known are the keys "METRIC,FILTER" (0.4) and "METRIC" (before), and the layout of lighteval.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/metric_meaning.h"
#include "base/status_macros.h"
#include "base/table/words.h"
#include "qa/results/harness_samples.h"
#include "qa/results/json.h"
#include "qa/results/reader.h"
#include "qa/results/results.h"
#include "qa/results/settings.h"
#include "qa/results/variants.h"

namespace concur::imports {
namespace {

// "pretrained=org/model,dtype=float16": the value of the first of the names that is there.
std::string ModelArgument(const MaybeJson& arguments, absl::string_view wanted) {
  if (arguments.has_value() && arguments->is_object()) {
    return Text(Field(arguments, wanted));
  }
  for (const absl::string_view part : absl::StrSplit(Text(arguments), ',')) {
    const size_t equals = part.find('=');
    if (equals != absl::string_view::npos && part.substr(0, equals) == wanted) {
      return std::string(part.substr(equals + 1));
    }
  }
  return "";
}

std::string FirstOf(std::initializer_list<std::string> texts) {
  for (const std::string& text : texts) {
    if (!text.empty()) {
      return text;
    }
  }
  return "";
}

// "acc,none" is acc; "exact_match,strict-match" keeps its filter.
std::string MetricName(absl::string_view key) {
  return std::string(absl::StripSuffix(key, ",none"));
}

bool IsStandardError(absl::string_view key) {
  return absl::EndsWith(key.substr(0, key.find(',')), "_stderr");
}

void SetGoal(const MaybeJson& root, const std::string& task, const std::string& name,
             Metric& metric) {
  std::optional<bool> higher = Boolean(Field(Field(Field(root, "higher_is_better"), task), name));
  if (!higher.has_value()) {
    if (const auto list = List(Field(Field(Field(root, "configs"), task), "metric_list"))) {
      for (const JsonValue entry : *list) {
        if (Text(Field(entry, "metric")) == name) {
          higher = Boolean(Field(entry, "higher_is_better"));
        }
      }
    }
  }
  metric.is_goal_stated = higher.has_value();
  metric.meaning.goal =
      higher.value_or(!UsuallyMinimized(name)) ? Goal::kMaximize : Goal::kMinimize;
}

void TakeMetrics(const JsonValue& root, const std::string& task,
                 const simdjson::dom::object& values, const std::string& path, Run& run,
                 FileResults& results) {
  const std::optional<int64_t> examples =
      Integer(Field(Field(Field(root, "n-samples"), task), "effective"));
  for (const auto field : values) {
    const std::string key(field.key);
    if (key == "alias" || key == "name" || key == "samples" || key == "sample_len" ||
        key == "sample_count" || IsStandardError(key)) {
      continue;
    }
    const std::optional<double> value = Number(MaybeJson(field.value));
    if (!value.has_value() || !std::isfinite(*value)) {
      results.skipped.push_back(
          {"a metric whose value is no number", absl::StrCat(path, ": results.", task, ".", key)});
      continue;
    }
    const std::vector<std::string> parts = absl::StrSplit(key, absl::MaxSplits(',', 1));
    Metric metric;
    metric.name = MetricName(key);
    metric.value = *value;
    metric.examples = std::max<int64_t>(examples.value_or(0), 0);
    // "N/A" where the harness has none.
    const std::string error_key = absl::StrCat(parts[0], "_stderr", parts.size() > 1 ? "," : "",
                                               parts.size() > 1 ? parts[1] : "");
    for (const auto other : values) {
      if (std::string_view(other.key) == error_key) {
        metric.standard_error = Number(MaybeJson(other.value));
      }
    }
    SetGoal(root, task, parts[0], metric);
    run.metrics.push_back(std::move(metric));
  }
}

// True if a task is a mean over others of which the file has some. Releases 0.4.0 and 0.4.1 name no
// members: there it is a group when the file has results of what is none, too.
bool IsGroup(const JsonValue& root, const simdjson::dom::object& tasks, const std::string& task) {
  const auto members = List(Field(Field(root, "group_subtasks"), task));
  if (members.has_value() && members->size() > 0) {
    for (const JsonValue member : *members) {
      if (Field(Field(root, "results"), Text(member)).has_value()) {
        return true;
      }
    }
    return false;
  }
  const MaybeJson groups = Field(root, "groups");
  return Field(groups, task).has_value() &&
         std::any_of(tasks.begin(), tasks.end(), [&](const auto& field) {
           return !Field(groups, absl::string_view(field.key.data(), field.key.size())).has_value();
         });
}

// lighteval's stands under the task's name with or without "|SHOTS".
MaybeJson ConfigOf(const JsonValue& root, std::string task) {
  const MaybeJson configs = Field(root, "config_tasks");
  const MaybeJson of_harness = Field(Field(root, "configs"), task);
  while (!Field(configs, task).has_value() && absl::StrContains(task, '|')) {
    task.resize(task.rfind('|'));
  }
  return of_harness.has_value() ? of_harness : Field(configs, task);
}

// The examples that were taken, or what --limit said (below 1 a fraction); "" when it was all.
std::string LimitOf(const JsonValue& root, const std::string& task, const MaybeJson& task_config) {
  const MaybeJson samples = Field(Field(root, "n-samples"), task);
  auto original = Integer(Field(samples, "original"));
  auto effective = Integer(Field(samples, "effective"));
  if (!samples.has_value()) {
    original = Integer(Field(task_config, "original_num_docs"));
    effective = Integer(Field(task_config, "effective_num_docs"));
  }
  if (original.has_value() && effective.has_value()) {
    return *effective < *original ? absl::StrCat(*effective) : "";
  }
  return FirstOf({Text(Field(Field(root, "config"), "limit")),
                  Text(Field(Field(root, "config_general"), "max_samples"))});
}

void AddArgumentsOf(const MaybeJson& config, const char* name, Settings& settings) {
  const MaybeJson arguments = Field(config, name);
  if (arguments.has_value() && arguments->is_string()) {
    AddArguments(settings, name, Text(arguments));
  } else {
    AddSettings(settings, name, arguments);
  }
}

// A task's metadata but for the version and the arguments of the model, which they repeat.
void AddMetadata(const MaybeJson& task_config, const MaybeJson& arguments, Settings& settings) {
  const auto metadata = Object(Field(task_config, "metadata"));
  if (!metadata.has_value()) {
    return;
  }
  for (const auto one : *metadata) {
    const std::string name(one.key);
    if (name != "version" && ModelArgument(arguments, name).empty()) {
      AddSettings(settings, name, MaybeJson(one.value));
    }
  }
}

// Fields of a file that are about its model; others, but for results and times, are about how the
// tasks were evaluated.
constexpr absl::string_view kModelFields[] = {
    "system_instruction",  "system_instruction_sha", "chat_template",      "chat_template_sha",
    "max_length",          "fewshot_as_multiturn",   "eot_token_id",       "model_source",
    "tokenizer_pad_token", "tokenizer_eos_token",    "tokenizer_bos_token"};

Settings ModelSettings(const JsonValue& root, const Run& run) {
  Settings settings;
  const MaybeJson config = Field(root, "config");
  AddArgumentsOf(config, "model_args", settings);
  AddArgumentsOf(config, "gen_kwargs", settings);
  for (const absl::string_view name : kModelFields) {
    AddSettings(settings, name, Field(root, name));
  }
  AddSettings(settings, "config", config,
              {"model_args", "gen_kwargs", "limit", "num_fewshot", "model_name", "model_sha",
               "model_revision", "revision"});
  AddSettings(settings, "config_general", Field(root, "config_general"),
              {"model_name", "model_sha", "max_samples", "job_id", "start_time", "end_time",
               "total_evaluation_time_secondes"});  // so spelt
  std::erase_if(settings, [&](const auto& setting) {
    return setting.second == run.model || setting.first == "revision";
  });
  return settings;
}

// The harness's version, and whatever else the file records of the evaluation; of fields by task
// that of this one.
void AddFieldsOfFile(const JsonValue& root, const std::string& task, Settings& settings) {
  constexpr absl::string_view kNoSettings =
      "|results|groups|group_subtasks|configs|versions|n-shot|n-samples|config|config_general|"
      "config_tasks|summary_general|summary_tasks|samples|higher_is_better|model_name|date|"
      "start_time|end_time|total_evaluation_time_seconds|model_name_sanitized|";
  const auto fields = Object(MaybeJson(root));
  for (const auto field : *fields) {
    const absl::string_view name(field.key.data(), field.key.size());
    if (!HasWord(kNoSettings, name) && std::find(std::begin(kModelFields), std::end(kModelFields),
                                                 name) == std::end(kModelFields)) {
      const MaybeJson of_task = Field(field.value, task);
      AddSettings(settings, name, of_task.has_value() ? of_task : MaybeJson(field.value));
    }
  }
}

decltype(Run::shots) ShotsOf(const JsonValue& root, const std::string& task,
                             const MaybeJson& task_config) {
  for (const MaybeJson& field :
       {Field(Field(root, "n-shot"), task), Field(task_config, "num_fewshot"),
        Field(Field(root, "config"), "num_fewshot"), Field(task_config, "num_fewshots")}) {
    if (const auto shots = Integer(field)) {
      return shots;
    }
  }
  return std::nullopt;
}

absl::StatusOr<FileResults> ReadLmEval(const std::string& path, const ReadOptions& /*options*/,
                                       JsonDocument& document) {
  FileResults results;
  results.path = path;
  CONCUR_ASSIGN_OR_RETURN(const JsonValue root, document.Read(path));
  results.digest = document.digest();
  const auto tasks = Object(Field(root, "results"));
  if (!tasks.has_value()) {
    return WrongField(
        path, "results",
        "an object of tasks, as the lm-evaluation-harness 0.3 and 0.4 write it (known are the "
        "metrics METRIC and METRIC,FILTER)",
        Field(root, "results"));
  }
  const MaybeJson config = Field(root, "config");
  const MaybeJson arguments = Field(config, "model_args");
  const MaybeJson general = Field(root, "config_general");
  Run common;
  common.model = FirstOf({Text(Field(root, "model_name")), Text(Field(config, "model_name")),
                          ModelArgument(arguments, "peft"), ModelArgument(arguments, "pretrained"),
                          ModelArgument(arguments, "model"), ModelArgument(arguments, "engine"),
                          Text(Field(config, "model")), Text(Field(general, "model_name")),
                          Text(Field(Field(general, "model_config"), "model_name"))});
  if (common.model.empty()) {
    return WrongField(path, "model_name", "the name of a model (or config.model_args)",
                      Field(root, "model_name"));
  }
  common.revision =
      FirstOf({Text(Field(config, "model_sha")), ModelArgument(arguments, "revision"),
               Text(Field(config, "model_revision")), Text(Field(general, "model_sha"))});
  AddTag(common.model_tags, "family", FamilyInName(common.model));
  AddTag(common.model_tags, "dtype", Text(Field(config, "model_dtype")));
  AddTag(common.model_tags, "parameters", Text(Field(config, "model_num_parameters")));
  const std::string version = Text(Field(root, "lm_eval_version"));
  common.tool =
      absl::StrCat("lm-evaluation-harness", version.empty() ? "" : absl::StrCat(" ", version));
  if (const auto date = LooseNumber(Field(root, "date"))) {
    common.repeat = absl::StrCat(static_cast<int64_t>(std::clamp(*date, 0.0, 1e15)));
  }
  common.model_settings = ModelSettings(root, common);
  std::vector<Run> runs;
  for (const auto field : *tasks) {
    const std::string task(field.key);
    const auto values = Object(MaybeJson(field.value));
    if (!values.has_value()) {
      return WrongField(path, absl::StrCat("results.", task),
                        "an object of metrics METRIC or METRIC,FILTER", field.value);
    }
    if (IsGroup(root, *tasks, task)) {
      results.skipped.push_back(
          {"a group whose tasks are there themselves", absl::StrCat(path, ": results.", task)});
      continue;
    }
    Run run = common;
    run.task = task;
    run.place = absl::StrCat("results.", task);
    run.version = Text(Field(Field(root, "versions"), task));
    const MaybeJson task_config = ConfigOf(root, task);
    run.split = FirstOf(
        {Text(Field(task_config, "test_split")), Text(Field(task_config, "validation_split"))});
    run.shots = ShotsOf(root, task, task_config);
    AddSetting(run.data_settings, "", kLimitSetting, LimitOf(root, task, task_config));
    for (const char* name : {"dataset_path", "dataset_name", "dataset_kwargs", "hf_repo",
                             "hf_subset", "evaluation_splits"}) {
      AddDataSettings(run.data_settings, name, Field(task_config, name));
    }
    const auto samples = Integer(Field(Field(Field(root, "n-samples"), task), "original"));
    AddSetting(run.task_settings, "", "samples", samples ? absl::StrCat(*samples) : "");
    AddFieldsOfFile(root, task, run.task_settings);
    AddMetadata(task_config, arguments, run.task_settings);
    AddSettings(run.task_settings, task, task_config,
                {"task", "task_alias", "tag", "group", "group_alias", "metadata", "num_fewshot",
                 "version", "should_decontaminate", "doc_to_decontamination_query",
                 "original_num_docs", "effective_num_docs"});
    TakeMetrics(root, task, *values, path, run, results);
    if (run.metrics.empty()) {
      results.skipped.push_back(
          {"a task without a metric", absl::StrCat(path, ": results.", task)});
      continue;
    }
    runs.push_back(std::move(run));
  }
  // The time is that of the whole program.
  if (runs.size() == 1) {
    runs[0].seconds = LooseNumber(Field(root, "total_evaluation_time_seconds"));
  }
  for (Run& run : runs) {
    const std::string samples = FindHarnessSamples(path, run.task);
    if (!samples.empty()) {
      CONCUR_RETURN_IF_ERROR(ReadHarnessSamples(samples, run, results.skipped));
    }
    results.runs.push_back(std::move(run));
  }
  return results;
}

}  // namespace

Format LmEvalFormat() {
  return {"lm-eval", "results_*.json of the lm-evaluation-harness, samples_*.jsonl beside it",
          [](absl::string_view name) { return absl::EndsWith(name, ".json"); }, ReadLmEval};
}

}  // namespace concur::imports
