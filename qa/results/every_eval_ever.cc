// SPDX-License-Identifier: Apache-2.0
// Every Eval Ever: one JSON file for each evaluation of a model, and a file of its samples.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/metric_meaning.h"
#include "base/status_macros.h"
#include "base/table/words.h"
#include "qa/raw_stream.h"
#include "qa/results/example_means.h"
#include "qa/results/json.h"
#include "qa/results/reader.h"
#include "qa/results/results.h"
#include "qa/results/settings.h"
#include "qa/results/variants.h"

namespace concur::imports {
namespace {

constexpr absl::string_view kSchemas = "|0.1.0|0.2.0|0.2.1|0.2.2|0.3.0|";

Metric MetricOf(const MaybeJson& config, const MaybeJson& details) {
  Metric metric;
  for (const char* name : {"metric_id", "metric_name", "metric_kind"}) {
    if (metric.name.empty()) {
      metric.name = Text(Field(config, name));
    }
  }
  if (metric.name.empty()) {
    metric.name = "score";
  }
  const auto lower = Boolean(Field(config, "lower_is_better"));
  metric.is_goal_stated = lower.has_value();
  metric.meaning.goal =
      lower.value_or(UsuallyMinimized(metric.name)) ? Goal::kMinimize : Goal::kMaximize;
  const auto low = Number(Field(config, "min_score"));
  const auto high = Number(Field(config, "max_score"));
  if (low && high && std::isfinite(*low) && std::isfinite(*high) && *low < *high) {
    Scale& scale = metric.meaning.scale;
    if (*low == 0 && (*high == 1 || *high == 100)) {
      scale.kind = *high == 1 ? Scale::Kind::kFraction : Scale::Kind::kPercent;
    } else {
      scale = {Scale::Kind::kRange, *low, *high};
    }
  } else if (Text(Field(config, "min_score")) == "-Infinity" &&
             Text(Field(config, "max_score")) == "Infinity") {
    metric.meaning.scale.kind = Scale::Kind::kNone;
  }
  const MaybeJson uncertainty = Field(details, "uncertainty");
  metric.standard_error = Number(Field(Field(uncertainty, "standard_error"), "value"));
  metric.examples = std::max<int64_t>(0, Integer(Field(uncertainty, "num_samples")).value_or(0));
  return metric;
}

// The tags that an export wrote among the details of a model or a data set, as "tag NAME".
void AddExportedTags(Tags& tags, const MaybeJson& details) {
  constexpr absl::string_view kTag = "tag ";
  if (const auto fields = Object(details)) {
    for (const auto& [name, value] : *fields) {
      const absl::string_view key(name.data(), name.size());
      if (absl::StartsWith(key, kTag) && key.size() > kTag.size()) {
        AddTag(tags, std::string(key.substr(kTag.size())), Text(MaybeJson(value)));
      }
    }
  }
}

void LeaveOutTagsAndUnknown(Settings& settings) {
  std::erase_if(settings, [](const auto& setting) {
    return absl::StartsWith(setting.first, "tag ") || setting.second == "unknown";
  });
}

void TakeModelSettings(const MaybeJson& model, Settings& settings) {
  AddSettings(settings, "inference_platform", Field(model, "inference_platform"));
  const MaybeJson engine = Field(model, "inference_engine");
  AddSettings(settings, "inference_engine", Field(engine, "name"));
  AddSettings(settings, "inference_engine_version", Field(engine, "version"));
  AddSettings(settings, "additional_details", Field(model, "additional_details"), {"revision"});
  LeaveOutTagsAndUnknown(settings);
}

// The program that evaluated, and who says so.
void TakeSourceSettings(const JsonValue& root, Settings& settings) {
  const MaybeJson library = Field(root, "eval_library");
  AddSettings(settings, "eval_library", Field(library, "name"));
  AddSettings(settings, "eval_library_version", Field(library, "version"));
  AddSettings(settings, "eval_library", Field(library, "additional_details"));
  const MaybeJson source = Field(root, "source_metadata");
  AddSettings(settings, "source_metadata", source,
              {"source_organization_url", "source_organization_logo_url"});
  LeaveOutTagsAndUnknown(settings);
}

// Where the samples of a file are: `file_path` is given from the repository's root, which may be
// any of the folders above; else beside the file.
std::string SamplesPath(const std::string& path, const std::string& file_path) {
  std::error_code ignored;
  const std::filesystem::path given(file_path);
  if (file_path.empty() || absl::StrContains(file_path, "..") || given.is_absolute()) {
    return "";
  }
  const std::filesystem::path file = std::filesystem::absolute(path, ignored);
  for (std::filesystem::path folder = file.parent_path(); !folder.empty();
       folder = folder.parent_path()) {
    const std::filesystem::path candidate = folder / given;
    if (std::filesystem::is_regular_file(candidate, ignored)) {
      return candidate.string();
    }
    if (folder == folder.root_path()) {
      break;
    }
  }
  const std::filesystem::path beside = file.parent_path() / given.filename();
  return std::filesystem::is_regular_file(beside, ignored) ? beside.string() : "";
}

// Tokens that the samples of a result took.
struct SampleTokens {
  double sum = 0;
  int64_t without = 0;  // samples that do not say
};

absl::Status ReadInstanceScores(const std::string& path, std::vector<Run>& runs,
                                JsonDocument& document, FileResults& results) {
  std::map<std::string, ExampleMeans> by_result;
  std::map<std::string, SampleTokens> tokens;
  CONCUR_ASSIGN_OR_RETURN(qa::LineReader lines, qa::LineReader::Open(path));
  for (;;) {
    CONCUR_ASSIGN_OR_RETURN(const MaybeJson sample, NextLine(lines, document));
    if (!sample.has_value()) {
      break;
    }
    const std::string id = Text(Field(sample, "sample_id"));
    if (id.empty()) {
      return WrongField(lines.place(), "sample_id", "an id", Field(sample, "sample_id"));
    }
    const MaybeJson evaluation = Field(sample, "evaluation");
    std::optional<double> score = Number(Field(evaluation, "score"));
    if (const auto truth = Boolean(Field(evaluation, "score"))) {
      score = *truth ? 1 : 0;
    }
    std::string of = Text(Field(sample, "evaluation_result_id"));
    if (of.empty()) {
      of = Text(Field(sample, "evaluation_name"));
    }
    CONCUR_RETURN_IF_ERROR(by_result[of].Add(id, score, lines.place()));
    const auto used = Number(Field(Field(sample, "token_usage"), "total_tokens"));
    tokens[of].sum += used.value_or(0);
    tokens[of].without += used.has_value() ? 0 : 1;
  }
  for (Run& run : runs) {
    for (const std::string& name : {run.place, run.task}) {
      const auto found = by_result.find(name);
      if (run.examples.empty() && found != by_result.end()) {
        found->second.Store(path, run, results.skipped);
        if (!run.tokens.has_value() && tokens[name].without == 0) {
          run.tokens = tokens[name].sum;
        }
        break;
      }
    }
  }
  return absl::OkStatus();
}

// Adds one of "evaluation_results"; results of one name with several metrics are one run.
// `of_metrics` has for each run the settings of its metrics.
absl::Status TakeResult(const JsonValue& result, size_t number, const Run& common,
                        const std::string& path, std::vector<Run>& runs,
                        std::vector<Settings>& of_metrics, FileResults& results) {
  const std::string place = absl::StrCat("evaluation_results[", number, "]");
  Run run = common;
  run.task = Text(Field(result, "evaluation_name"));
  if (run.task.empty()) {
    return WrongField(path, absl::StrCat(place, ".evaluation_name"), "a name",
                      Field(result, "evaluation_name"));
  }
  const MaybeJson details = Field(result, "score_details");
  const std::optional<double> score = Number(Field(details, "score"));
  if (!score.has_value() || !std::isfinite(*score)) {
    results.skipped.push_back(
        {"a score that is no number", absl::StrCat(path, ": ", place, ".score_details.score")});
    return absl::OkStatus();
  }
  Metric metric = MetricOf(Field(result, "metric_config"), details);
  metric.value = *score;
  const MaybeJson source = Field(result, "source_data");
  AddTag(run.task_tags, "dataset", Text(Field(source, "dataset_name")));
  AddExportedTags(run.task_tags, Field(source, "additional_details"));
  run.split = Text(Field(source, "hf_split"));
  if (metric.examples == 0) {
    metric.examples = std::max<int64_t>(0, Integer(Field(source, "samples_number")).value_or(0));
  }
  const MaybeJson more = Field(Field(result, "generation_config"), "additional_details");
  for (const char* name : {"num_fewshot", "n_shot", "shots"}) {
    int64_t shots = 0;
    if (!run.shots.has_value() && absl::SimpleAtoi(Text(Field(more, name)), &shots)) {
      run.shots = shots;
    }
  }
  AddSettings(run.model_settings, "generation_config", Field(result, "generation_config"),
              {"num_fewshot", "n_shot", "shots", "limit", "execution_command"});
  AddSetting(run.data_settings, "", kLimitSetting, Text(Field(more, "limit")));
  for (const char* name : {"dataset_name", "hf_repo"}) {
    AddDataSettings(run.data_settings, name, Field(source, name));
  }
  AddSettings(run.task_settings, "source_data", source, {"hf_split"});
  LeaveOutTagsAndUnknown(run.task_settings);
  MoveNotCompared(run);
  Settings of_metric;  // no part of the comparison below, as a run has several metrics
  AddSettings(of_metric, metric.name, Field(result, "metric_config"),
              {"metric_id", "metric_name", "metric_kind", "evaluation_description"});
  // The schema has no place for costs; an export writes them among the details.
  const MaybeJson costs = Field(details, "details");
  run.seconds = LooseNumber(Field(costs, "seconds"));
  run.tokens = LooseNumber(Field(costs, "tokens"));
  run.co2_kg = LooseNumber(Field(costs, "co2_kg"));
  run.cost_usd = LooseNumber(Field(costs, "cost_usd"));
  run.place = Text(Field(result, "evaluation_result_id"));
  if (run.place.empty()) {
    run.place = place;
  }
  for (size_t i = 0; i < runs.size(); ++i) {
    Run& earlier = runs[i];
    const bool has_it = std::any_of(earlier.metrics.begin(), earlier.metrics.end(),
                                    [&](const Metric& other) { return other.name == metric.name; });
    if (earlier.task == run.task && !has_it && earlier.task_tags == run.task_tags &&
        earlier.split == run.split && earlier.shots == run.shots &&
        earlier.data_settings == run.data_settings &&
        earlier.model_settings == run.model_settings &&
        earlier.task_settings == run.task_settings) {
      for (const auto& [name, value] : of_metric) {
        AddSetting(of_metrics[i], metric.name, name, value);
      }
      earlier.metrics.push_back(std::move(metric));
      return absl::OkStatus();
    }
  }
  run.metrics.push_back(std::move(metric));
  runs.push_back(std::move(run));
  of_metrics.push_back(std::move(of_metric));
  return absl::OkStatus();
}

absl::StatusOr<FileResults> ReadEveryEvalEver(const std::string& path,
                                              const ReadOptions& /*options*/,
                                              JsonDocument& document) {
  FileResults results;
  results.path = path;
  CONCUR_ASSIGN_OR_RETURN(const JsonValue root, document.Read(path));
  results.digest = document.digest();
  const std::string schema = Text(Field(root, "schema_version"));
  if (!HasWord(kSchemas, schema)) {
    const std::vector<absl::string_view> known = absl::StrSplit(kSchemas, '|', absl::SkipEmpty());
    return WrongField(path, "schema_version", absl::StrCat("one of ", absl::StrJoin(known, ", ")),
                      Field(root, "schema_version"));
  }
  const auto list = List(Field(root, "evaluation_results"));
  if (!list.has_value()) {
    return WrongField(path, "evaluation_results", "a list", Field(root, "evaluation_results"));
  }
  const MaybeJson model = Field(root, "model_info");
  Run common;
  common.model = Text(Field(model, "id"));
  if (common.model.empty()) {
    common.model = Text(Field(model, "name"));
  }
  if (common.model.empty()) {
    return WrongField(path, "model_info.id", "the name of a model", Field(model, "id"));
  }
  std::string family = Text(Field(model, "developer"));
  if (family.empty() || family == "unknown") {
    family = FamilyInName(common.model);
  }
  AddTag(common.model_tags, "family", family);
  const MaybeJson about = Field(model, "additional_details");
  common.revision = Text(Field(about, "revision"));
  AddTag(common.model_tags, "parameters-billions", Text(Field(about, "params_billions")));
  AddTag(common.model_tags, "architecture", Text(Field(about, "architecture")));
  AddTag(common.model_tags, "precision", Text(Field(about, "precision")));
  AddExportedTags(common.model_tags, about);
  AddTag(common.task_tags, "source", Text(Field(Field(root, "source_metadata"), "source_name")));
  TakeModelSettings(model, common.model_settings);
  TakeSourceSettings(root, common.task_settings);
  const MaybeJson library = Field(root, "eval_library");
  common.tool = absl::StrCat(Text(Field(library, "name")), " ", Text(Field(library, "version")));
  common.repeat = Text(Field(root, "evaluation_timestamp"));
  if (common.repeat.empty()) {
    common.repeat = Text(Field(root, "retrieved_timestamp"));
  }
  std::vector<Run> runs;
  std::vector<Settings> of_metrics;
  size_t number = 0;
  for (const JsonValue result : *list) {
    CONCUR_RETURN_IF_ERROR(TakeResult(result, number++, common, path, runs, of_metrics, results));
  }
  for (size_t i = 0; i < runs.size(); ++i) {
    for (const auto& [name, value] : of_metrics[i]) {
      AddSetting(runs[i].task_settings, "metric", name, value);
    }
  }
  const std::string samples =
      SamplesPath(path, Text(Field(Field(root, "detailed_evaluation_results"), "file_path")));
  results.original = path;
  results.samples = samples;
  if (!samples.empty()) {
    CONCUR_RETURN_IF_ERROR(ReadInstanceScores(samples, runs, document, results));
  }
  results.runs = std::move(runs);
  return results;
}

}  // namespace

Format EveryEvalEverFormat() {
  return {"every-eval-ever", "evaluations in the form of Every Eval Ever",
          [](absl::string_view name) {
            return absl::EndsWith(name, ".json") && !absl::EndsWith(name, ".schema.json");
          },
          ReadEveryEvalEver};
}

}  // namespace concur::imports
