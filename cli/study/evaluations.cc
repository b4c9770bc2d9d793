// SPDX-License-Identifier: Apache-2.0
#include "cli/study/evaluations.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/decimal.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/metric_meaning.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "cli/study/example_runs.h"
#include "cli/study/imported_study.h"
#include "core/sweep/params.h"
#include "proto/rpc/convert_value.h"
#include "qa/example_scores.h"

namespace concur::cli {
namespace {

using EvaluationJson = nlohmann::ordered_json;

constexpr char kSchemaVersion[] = "0.3.0";
constexpr char kUnknown[] = "unknown";
constexpr int64_t kOriginalReadMax = int64_t{1} << 30;

// Jobs that one program evaluated in one run, of one approach.
struct EvaluationGroup {
  std::string approach;
  uint32_t setting = 0;
  int64_t seed = 0;
  std::string sha256;  // digest of the file that the scores came from
  std::string tool;

  auto Key() const { return std::tie(approach, setting, seed, sha256, tool); }
  bool operator<(const EvaluationGroup& other) const { return Key() < other.Key(); }
};

struct EvaluationJob {
  const v1::Job* job = nullptr;
  EvaluationJson source;  // {} when nothing is known
};

// A name as a part of a path.
std::string PathPart(absl::string_view name) {
  std::string part;
  for (const char c : name) {
    const bool safe = absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                      absl::StrContains("._+-@=", c) || static_cast<unsigned char>(c) >= 0x80;
    part += safe ? c : '_';
  }
  return part.empty() || part[0] == '.' ? absl::StrCat("_", part) : part;
}

// A UUID (version 4 in form) that follows from the text.
std::string UuidOf(absl::string_view text) {
  std::string hex = Sha256Of(text).ToHex().substr(0, 32);
  hex[12] = '4';
  hex[16] = '8';
  return absl::StrCat(hex.substr(0, 8), "-", hex.substr(8, 4), "-", hex.substr(12, 4), "-",
                      hex.substr(16, 4), "-", hex.substr(20));
}

std::string JsonText(const EvaluationJson& json, int indent) {
  return absl::StrCat(json.dump(indent, ' ', false, EvaluationJson::error_handler_t::replace),
                      "\n");
}

std::string TextOf(const EvaluationJson& json, const char* name) {
  return json.contains(name) && json[name].is_string() ? json[name].get<std::string>() : "";
}

// Statements of the source about one metric; {} when it has none.
EvaluationJson AboutMetric(const EvaluationJson& source, const std::string& name) {
  if (source.contains("metrics") && source["metrics"].is_array()) {
    for (const EvaluationJson& about : source["metrics"]) {
      if (TextOf(about, "name") == name) {
        return about;
      }
    }
  }
  return EvaluationJson::object();
}

EvaluationJson MetricConfig(const EvaluationJson& about, const std::string& name,
                            const MetricMeaning& meaning) {
  EvaluationJson config;
  config["metric_id"] = name;
  config["metric_name"] = name;
  const std::string goal = TextOf(about, "goal");
  config["lower_is_better"] =
      goal.empty() ? meaning.goal == Goal::kMinimize : goal == GoalName(Goal::kMinimize);
  config["score_type"] = "continuous";
  switch (meaning.scale.kind) {
    case Scale::Kind::kPercent:
      config["metric_unit"] = "percent";
      config["min_score"] = 0;
      config["max_score"] = 100;
      break;
    case Scale::Kind::kFraction:
      config["metric_unit"] = "proportion";
      config["min_score"] = 0;
      config["max_score"] = 1;
      break;
    case Scale::Kind::kRange:
      config["min_score"] = meaning.scale.low;
      config["max_score"] = meaning.scale.high;
      break;
    case Scale::Kind::kNone:
      config["min_score"] = "-Infinity";
      config["max_score"] = "Infinity";
      break;
    case Scale::Kind::kUnstated:  // the schema asks for both, and takes null
      config["min_score"] = nullptr;
      config["max_score"] = nullptr;
      break;
  }
  return config;
}

EvaluationJson SourceData(const BenchmarkSpec& benchmark, const EvaluationJson& source) {
  EvaluationJson data;
  const auto dataset = benchmark.tags.find("dataset");
  data["dataset_name"] = dataset == benchmark.tags.end() ? benchmark.name : dataset->second;
  data["source_type"] = "other";
  EvaluationJson details = EvaluationJson::object();
  for (const char* name : {"split", "version", "data_revision"}) {
    if (const std::string text = TextOf(source, name); !text.empty()) {
      details[name] = text;
    }
  }
  for (const auto& [name, value] : benchmark.tags) {
    if (name != "dataset") {
      details[absl::StrCat("tag ", name)] = value;
    }
  }
  if (!details.empty()) {
    data["additional_details"] = std::move(details);
  }
  return data;
}

// Settings, train set and number of shots, as text.
absl::StatusOr<EvaluationJson> GenerationDetails(const EvaluationJob& job) {
  EvaluationJson details = EvaluationJson::object();
  if (job.source.contains("shots") && job.source["shots"].is_number_integer()) {
    details["num_fewshot"] = absl::StrCat(job.source["shots"].get<int64_t>());
  }
  if (!job.job->train_set().empty()) {
    details["train_set"] = job.job->train_set();
  }
  CONCUR_ASSIGN_OR_RETURN(const Setting setting,
                          rpc::FromProto(job.job->setting(), FieldPath(job.job->id()), "setting"));
  for (const auto& [name, value] : setting) {
    details[absl::StrCat("setting ", name)] = ParamText(value);
  }
  return details;
}

std::string ResultId(const v1::Job& job, const std::string& metric) {
  return absl::StrCat(job.test_benchmark(),
                      job.train_set().empty() || job.train_set() == job.test_benchmark()
                          ? ""
                          : absl::StrCat(" trained on ", job.train_set()),
                      "/", metric, "#", job.id().substr(job.id().rfind('/') + 1));
}

// The main metric first: samples and readers take that one.
std::vector<const v1::Metric*> MetricsInOrder(const v1::Job& job, const std::string& main) {
  std::vector<const v1::Metric*> metrics;
  for (const v1::Metric& metric : job.result().metrics()) {
    metrics.push_back(&metric);
  }
  std::stable_partition(metrics.begin(), metrics.end(),
                        [&](const v1::Metric* metric) { return metric->name() == main; });
  return metrics;
}

absl::Status AddResults(const Study& study, const EvaluationJob& job, EvaluationJson& results) {
  const auto benchmark = std::find_if(
      study.spec.benchmarks.begin(), study.spec.benchmarks.end(),
      [&](const BenchmarkSpec& other) { return other.name == job.job->test_benchmark(); });
  if (benchmark == study.spec.benchmarks.end()) {
    return absl::DataLossError(absl::StrCat(job.job->id(), ": the sweep has no benchmark \"",
                                            job.job->test_benchmark(), "\""));
  }
  CONCUR_ASSIGN_OR_RETURN(const EvaluationJson details, GenerationDetails(job));
  for (const v1::Metric* metric : MetricsInOrder(*job.job, benchmark->metric)) {
    const EvaluationJson about = AboutMetric(job.source, metric->name());
    EvaluationJson result;
    result["evaluation_result_id"] = ResultId(*job.job, metric->name());
    result["evaluation_name"] = job.job->test_benchmark();
    result["source_data"] = SourceData(*benchmark, job.source);
    result["metric_config"] =
        MetricConfig(about, metric->name(), MeaningOf(study.spec, *benchmark, metric->name()));
    EvaluationJson& score = result["score_details"];
    score["score"] = metric->value();
    for (const char* name : {"seconds", "tokens", "co2_kg", "cost_usd"}) {
      if (job.source.contains(name) && job.source[name].is_number()) {
        score["details"][name] = ShortestDecimal(job.source[name].get<double>());
      }
    }
    if (about.contains("standard_error") && about["standard_error"].is_number()) {
      score["uncertainty"]["standard_error"]["value"] = about["standard_error"];
    }
    if (metric->examples() > 0) {
      score["uncertainty"]["num_samples"] = metric->examples();
    }
    if (!details.empty()) {
      result["generation_config"]["additional_details"] = details;
    }
    results.push_back(std::move(result));
  }
  return absl::OkStatus();
}

// The lines of the per-example scores of a job.
absl::StatusOr<std::string> SampleLines(const Study& study, const v1::Job& job,
                                        const std::string& evaluation, size_t& rows) {
  const std::optional<Digest> digest = ExamplesOf(job);
  if (!digest.has_value() || job.result().metrics().empty()) {
    return "";
  }
  const absl::StatusOr<std::string> text = study.read_artifact(*digest);
  if (absl::IsNotFound(text.status())) {
    return "";  // not kept any more
  }
  CONCUR_RETURN_IF_ERROR(text.status());
  std::string main;
  for (const BenchmarkSpec& benchmark : study.spec.benchmarks) {
    if (benchmark.name == job.test_benchmark()) {
      main = benchmark.metric;
    }
  }
  const v1::Metric& metric = *MetricsInOrder(job, main)[0];
  CONCUR_ASSIGN_OR_RETURN(
      const std::vector<qa::ExampleScore> examples,
      qa::ParseExampleScores(*text, job.id(),
                             ExampleNamesOf(study.spec, job.test_benchmark(), metric.name())));
  const std::string id = ResultId(job, metric.name());
  std::string lines;
  for (const qa::ExampleScore& example : examples) {
    EvaluationJson sample;
    sample["schema_version"] = kSchemaVersion;
    sample["evaluation_id"] = evaluation;
    sample["model_id"] = job.approach();
    sample["evaluation_name"] = job.test_benchmark();
    sample["evaluation_result_id"] = id;
    sample["sample_id"] = example.id;
    sample["interaction_type"] = "single_turn";
    sample["input"] = {{"raw", ""}, {"reference", EvaluationJson::array()}};
    sample["output"] = {{"raw", EvaluationJson::array()}};
    sample["answer_attribution"] = EvaluationJson::array();
    sample["evaluation"]["score"] = example.value;
    sample["evaluation"]["is_correct"] = example.exact_match;
    lines += JsonText(sample, -1);
    ++rows;
  }
  return lines;
}

EvaluationJson ModelInfo(const Study& study, const EvaluationGroup& group,
                         const EvaluationJson& source, const std::string& developer) {
  EvaluationJson model;
  model["name"] = group.approach.substr(group.approach.rfind('/') + 1);
  model["id"] = group.approach;
  model["developer"] = developer;
  EvaluationJson& details = model["additional_details"];
  details["deployment_type"] = kUnknown;
  details["model_availability"] = kUnknown;
  if (const std::string revision = TextOf(source, "revision"); !revision.empty()) {
    details["revision"] = revision;
  }
  const std::map<std::string, std::string> names = {{"parameters-billions", "params_billions"},
                                                    {"architecture", "architecture"},
                                                    {"precision", "precision"}};
  for (const ApproachSpec& approach : study.spec.approaches) {
    if (approach.name != group.approach) {
      continue;
    }
    for (const auto& [name, value] : approach.tags) {
      const auto known = names.find(name);
      if (name != "family") {
        details[known == names.end() ? absl::StrCat("tag ", name) : known->second] = value;
      }
    }
  }
  return model;
}

std::string DeveloperOf(const Study& study, const std::string& model) {
  for (const ApproachSpec& approach : study.spec.approaches) {
    const auto family = approach.tags.find("family");
    if (approach.name == model && family != approach.tags.end()) {
      return family->second;
    }
  }
  const size_t slash = model.find('/');
  return slash == std::string::npos ? kUnknown : model.substr(0, slash);
}

// Writes one evaluation in the schema's terms.
absl::Status AddEvaluation(const Study& study, const EvaluationOptions& options,
                           const EvaluationGroup& group, const std::vector<EvaluationJob>& jobs,
                           Evaluations& evaluations) {
  const std::string developer = DeveloperOf(study, group.approach);
  const std::string uuid =
      UuidOf(absl::StrCat(study.sweep.name(), "\n", group.approach, "\n", group.setting, "\n",
                          group.seed, "\n", group.sha256, "\n", group.tool));
  const std::string path =
      absl::StrCat("data/", PathPart(study.sweep.name()), "/", PathPart(developer), "/",
                   PathPart(group.approach.substr(group.approach.rfind('/') + 1)), "/", uuid);
  EvaluationJson root;
  root["schema_version"] = kSchemaVersion;
  root["evaluation_id"] =
      absl::StrCat(PathPart(study.sweep.name()), "/", PathPart(group.approach), "/", uuid);
  root["retrieved_timestamp"] = absl::StrCat(options.retrieved);
  EvaluationJson& about = root["source_metadata"];
  about["source_name"] = study.sweep.name();
  about["source_type"] =
      study.imported() && group.tool.empty() ? "documentation" : "evaluation_run";
  about["source_organization_name"] = study.imported() ? kUnknown : study.sweep.owner();
  about["evaluator_relationship"] = "other";
  for (const char* name : {"file", "sha256", "place"}) {
    if (const std::string text = TextOf(jobs[0].source, name); !text.empty()) {
      about["additional_details"][name] = text;
    }
  }
  const std::string tool = study.imported() ? std::string(absl::StripAsciiWhitespace(group.tool))
                                            : absl::StrCat("concur ", kVersion);
  const size_t space = tool.find(' ');
  root["eval_library"] = {
      {"name", tool.empty() ? kUnknown : tool.substr(0, space)},
      {"version", space == std::string::npos ? kUnknown : tool.substr(space + 1)}};
  root["model_info"] = ModelInfo(study, group, jobs[0].source, developer);
  root["evaluation_results"] = EvaluationJson::array();
  std::string samples;
  size_t rows = 0;
  for (const EvaluationJob& job : jobs) {
    CONCUR_RETURN_IF_ERROR(AddResults(study, job, root["evaluation_results"]));
    CONCUR_ASSIGN_OR_RETURN(
        const std::string lines,
        SampleLines(study, *job.job, root["evaluation_id"].get<std::string>(), rows));
    samples += lines;
  }
  evaluations.scores += root["evaluation_results"].size();
  if (!samples.empty()) {
    const std::string samples_path = path + "_samples.jsonl";
    root["detailed_evaluation_results"] = {{"format", "jsonl"},
                                           {"file_path", samples_path},
                                           {"hash_algorithm", "sha256"},
                                           {"checksum", Sha256Of(samples).ToHex()},
                                           {"total_rows", rows}};
    evaluations.files[samples_path] = std::move(samples);
  }
  evaluations.files[path + ".json"] = JsonText(root, 2);
  ++evaluations.count;
  return absl::OkStatus();
}

// Where an original belongs: beside the samples that it names, if that is a path of the datastore.
std::string PlaceOfOriginal(const EvaluationJson& root, const std::string& sha256) {
  std::string samples;
  if (root.contains("detailed_evaluation_results")) {
    samples = TextOf(root["detailed_evaluation_results"], "file_path");
  }
  const std::vector<std::string> parts = absl::StrSplit(samples, '/');
  const bool is_place = parts.size() == 5 && parts[0] == "data" &&
                        absl::EndsWith(samples, "_samples.jsonl") &&
                        std::all_of(parts.begin(), parts.end(),
                                    [](const std::string& part) { return part == PathPart(part); });
  if (is_place) {
    return std::string(absl::StripSuffix(samples, "_samples.jsonl"));
  }
  const EvaluationJson model =
      root.contains("model_info") ? root["model_info"] : EvaluationJson::object();
  const std::string id = TextOf(model, "id");
  const std::string developer = TextOf(model, "developer");
  const std::string evaluation = TextOf(root, "evaluation_id");
  return absl::StrCat("data/", PathPart(evaluation.substr(0, evaluation.find('/'))), "/",
                      PathPart(developer.empty() ? kUnknown : developer), "/",
                      PathPart(id.substr(id.rfind('/') + 1)), "/", UuidOf(sha256));
}

// Adds the file that the scores came from, as it was; false when it was not kept.
absl::StatusOr<bool> AddOriginal(const EvaluationOptions& options, const std::string& sha256,
                                 Evaluations& evaluations) {
  if (options.bundle.empty() || sha256.empty()) {
    return false;
  }
  const absl::StatusOr<Digest> digest = Digest::FromHex(sha256);
  if (!digest.ok()) {
    return false;
  }
  absl::StatusOr<std::string> bytes =
      ReadFile(absl::StrCat(options.bundle, "/", OriginalPath(sha256)), kOriginalReadMax);
  if (absl::IsNotFound(bytes.status())) {
    return false;
  }
  CONCUR_RETURN_IF_ERROR(bytes.status());
  if (Sha256Of(*bytes) != *digest) {
    return absl::DataLossError(absl::StrCat(options.bundle, "/", OriginalPath(sha256),
                                            ": the bytes have another SHA-256 than the name"));
  }
  const EvaluationJson root = EvaluationJson::parse(*bytes, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object()) {
    return false;
  }
  const std::string place = PlaceOfOriginal(root, sha256);
  absl::StatusOr<std::string> samples =
      ReadFile(absl::StrCat(options.bundle, "/", OriginalSamplesPath(sha256)), kOriginalReadMax);
  if (samples.ok()) {
    evaluations.files[place + "_samples.jsonl"] = *std::move(samples);
  } else if (!absl::IsNotFound(samples.status())) {
    return samples.status();
  }
  if (root.contains("evaluation_results")) {
    evaluations.scores += root["evaluation_results"].size();
  }
  evaluations.files[place + ".json"] = *std::move(bytes);
  ++evaluations.count;
  ++evaluations.originals;
  return true;
}

}  // namespace

absl::StatusOr<Evaluations> EvaluationsOf(const Study& study, const EvaluationOptions& options) {
  std::map<EvaluationGroup, std::vector<EvaluationJob>> groups;
  const std::vector<absl::string_view> sources = absl::StrSplit(study.sources, '\n');
  for (size_t i = 0; i < study.jobs.size(); ++i) {
    const v1::Job& job = study.jobs[i];
    if (job.kind() != v1::Job::KIND_EVAL || job.state() != v1::Job::STATE_SUCCEEDED) {
      continue;
    }
    EvaluationJob entry{&job, EvaluationJson::object()};
    if (study.imported() && i < sources.size()) {
      EvaluationJson source =
          EvaluationJson::parse(sources[i], nullptr, /*allow_exceptions=*/false);
      entry.source = source.is_object() ? std::move(source) : EvaluationJson::object();
    }
    groups[{job.approach(), job.setting_index(), job.seed(), TextOf(entry.source, "sha256"),
            TextOf(entry.source, "tool")}]
        .push_back(std::move(entry));
  }
  Evaluations evaluations;
  std::map<std::string, bool> originals;  // by digest: whether it was kept
  for (const auto& [group, jobs] : groups) {
    const auto [known, is_new] = originals.try_emplace(group.sha256, false);
    if (is_new) {
      CONCUR_ASSIGN_OR_RETURN(known->second, AddOriginal(options, group.sha256, evaluations));
    }
    if (!known->second) {
      CONCUR_RETURN_IF_ERROR(AddEvaluation(study, options, group, jobs, evaluations));
    }
  }
  if (evaluations.count == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(study.Name(), ": expected at least one score to export, found none"));
  }
  return evaluations;
}

}  // namespace concur::cli
