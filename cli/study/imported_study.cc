// SPDX-License-Identifier: Apache-2.0
#include "cli/study/imported_study.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/metric_meaning.h"
#include "base/status_macros.h"
#include "core/fields.h"
#include "core/ids.h"
#include "core/result.h"
#include "proto/rpc/convert_value.h"
#include "qa/example_scores.h"
#include "qa/raw_bytes.h"
#include "qa/results/imported.h"
#include "qa/results/results.h"

namespace concur::cli {
namespace {

using SourceJson = nlohmann::ordered_json;

constexpr char kImportedSweep[] = "s1";

// A job's place in the order model, seed, task.
uint64_t IndexOfCell(uint64_t model, uint64_t seed, uint64_t task, uint64_t seeds, uint64_t tasks) {
  return (model * seeds + seed) * tasks + task;
}

void SetMeaning(const MetricMeaning& meaning, v1::Benchmark& benchmark) {
  if (meaning.goal == Goal::kMinimize) {
    benchmark.set_goal(v1::Benchmark::GOAL_MINIMIZE);
  }
  switch (meaning.scale.kind) {
    case Scale::Kind::kUnstated:
      break;
    case Scale::Kind::kPercent:
      benchmark.mutable_scale()->set_kind(v1::Benchmark::Scale::KIND_PERCENT);
      break;
    case Scale::Kind::kFraction:
      benchmark.mutable_scale()->set_kind(v1::Benchmark::Scale::KIND_FRACTION);
      break;
    case Scale::Kind::kRange:
      benchmark.mutable_scale()->set_kind(v1::Benchmark::Scale::KIND_RANGE);
      benchmark.mutable_scale()->set_low(meaning.scale.low);
      benchmark.mutable_scale()->set_high(meaning.scale.high);
      break;
    case Scale::Kind::kNone:
      benchmark.mutable_scale()->set_kind(v1::Benchmark::Scale::KIND_NONE);
      break;
  }
}

absl::StatusOr<MetricMeaning> MeaningFrom(const v1::Benchmark& benchmark) {
  MetricMeaning meaning;
  if (benchmark.goal() == v1::Benchmark::GOAL_MINIMIZE) {
    meaning.goal = Goal::kMinimize;
  }
  switch (benchmark.scale().kind()) {
    case v1::Benchmark::Scale::KIND_PERCENT:
      meaning.scale.kind = Scale::Kind::kPercent;
      break;
    case v1::Benchmark::Scale::KIND_FRACTION:
      meaning.scale.kind = Scale::Kind::kFraction;
      break;
    case v1::Benchmark::Scale::KIND_RANGE:
      meaning.scale = {Scale::Kind::kRange, benchmark.scale().low(), benchmark.scale().high()};
      break;
    case v1::Benchmark::Scale::KIND_NONE:
      meaning.scale.kind = Scale::Kind::kNone;
      break;
    default:
      break;
  }
  CONCUR_RETURN_IF_ERROR(CheckScale(meaning.scale));
  return meaning;
}

std::string SourceText(const SourceJson& json) {
  return json.dump(-1, ' ', false, SourceJson::error_handler_t::replace);
}

// The line of "sources.jsonl" for a run: what is known, and no more.
std::string SourceLine(const std::string& job, const std::string& model, const std::string& task,
                       const imports::Run& run, const imports::ImportedFile& file) {
  SourceJson json;
  json["job"] = job;
  json["model"] = model;
  json["task"] = task;
  const auto text = [&json](const char* name, const std::string& value) {
    if (!value.empty()) {
      json[name] = value;
    }
  };
  text("revision", run.revision);
  text("version", run.version);
  text("data_revision", run.data_revision);
  text("split", run.split);
  if (run.shots.has_value()) {
    json["shots"] = *run.shots;
  }
  text("tool", run.tool);
  const auto number = [&json](const char* name, const std::optional<double>& value) {
    if (value.has_value()) {
      json[name] = *value;
    }
  };
  number("seconds", run.seconds);
  number("tokens", run.tokens);
  number("co2_kg", run.co2_kg);
  number("cost_usd", run.cost_usd);
  json["metrics"] = SourceJson::array();
  for (const imports::Metric& metric : run.metrics) {
    SourceJson about;
    about["name"] = metric.name;
    const size_t comma = metric.name.find(',');
    if (comma != std::string::npos) {
      about["filter"] = metric.name.substr(comma + 1);
    }
    about["goal"] = std::string(GoalName(metric.meaning.goal));
    if (const std::string scale = ScaleText(metric.meaning.scale); !scale.empty()) {
      about["scale"] = scale;
    }
    if (metric.standard_error.has_value()) {
      about["standard_error"] = *metric.standard_error;
    }
    json["metrics"].push_back(std::move(about));
  }
  json["file"] = file.path;
  text("place", run.place);
  json["sha256"] = file.digest.ToHex();
  return SourceText(json) + "\n";
}

// Sets the time of the job to the time that the evaluation took.
void SetSeconds(const SourceJson& source, v1::JobResult& result) {
  if (!source.contains("seconds") || !source["seconds"].is_number()) {
    return;
  }
  const double seconds = source["seconds"];
  if (seconds >= 0 && absl::Seconds(seconds) <= kSpanMax) {
    *result.mutable_run_time() = rpc::ToProto(absl::Seconds(seconds));
  }
}

void SetSpec(const imports::ImportedResults& results, v1::Sweep& sweep) {
  v1::SweepSpec& spec = *sweep.mutable_spec();
  spec.set_name(sweep.name());
  for (const imports::ImportedAxis& model : results.models) {
    v1::Approach& approach = *spec.add_approaches();
    approach.set_name(model.name);
    approach.mutable_tags()->insert(model.tags.begin(), model.tags.end());
  }
  for (const imports::ImportedAxis& task : results.tasks) {
    v1::Benchmark& benchmark = *spec.add_benchmarks();
    benchmark.set_name(task.name);
    benchmark.mutable_tags()->insert(task.tags.begin(), task.tags.end());
    benchmark.set_format(v1::Benchmark::FORMAT_FILE);
    benchmark.set_metric(task.metric);
    SetMeaning(task.meaning, benchmark);
  }
  for (uint32_t seed = 1; seed <= results.seeds; ++seed) {
    spec.add_seeds(seed);
  }
  spec.set_evaluate_on(v1::SweepSpec::EVALUATE_ON_ALL);
  spec.set_select(v1::SweepSpec::SELECTION_DEFAULT);
}

void SetResult(const imports::Run& run, v1::Job& job) {
  v1::JobResult& result = *job.mutable_result();
  result.set_succeeded(true);
  for (const imports::Metric& metric : run.metrics) {
    v1::Metric& written = *result.add_metrics();
    written.set_name(metric.name);
    written.set_value(metric.value);
    written.set_examples(metric.examples);
  }
}

// Keeps the per-example scores of a run and names them in its job.
void SetExamples(const imports::Run& run, Goal goal, std::map<Digest, std::string>& kept,
                 v1::Job& job) {
  if (run.examples.empty()) {
    return;
  }
  std::string text = qa::ValueJsonLines(run.examples, goal);
  const Digest digest = Sha256Of(text);
  v1::Artifact& artifact = *job.mutable_result()->add_artifacts();
  artifact.set_kind(v1::Artifact::KIND_EXAMPLES);
  artifact.set_digest(digest.ToBytes());
  artifact.set_size_bytes(static_cast<int64_t>(text.size()));
  kept.emplace(digest, std::move(text));
}

// Keeps the files that say more than scores, as far as they fit.
void KeepOriginals(imports::ImportedResults& results, Study& study) {
  constexpr int64_t kOriginalBytesMax = int64_t{64} << 20;
  constexpr size_t kOriginalsBytesMax = size_t{512} << 20;
  std::set<size_t> used;
  for (const imports::ImportedCell& cell : results.cells) {
    used.insert(results.runs[cell.run].file);
  }
  size_t total = 0;
  const auto keep = [&](const std::string& path, const std::string& name, const Digest* digest) {
    absl::StatusOr<std::string> bytes =
        path.empty() ? std::string() : qa::ReadUnpacked(path, kOriginalBytesMax);
    if (!bytes.ok() || total + bytes->size() > kOriginalsBytesMax ||
        (digest != nullptr && Sha256Of(*bytes) != *digest)) {
      imports::SkippedCount& count =
          results.skipped["an original that is too large to keep: its scores are"];
      count.first_place = count.count++ == 0 ? path : count.first_place;
    } else if (!path.empty()) {
      total += bytes->size();
      study.originals.emplace(name, *std::move(bytes));
    }
  };
  for (const size_t index : used) {
    const imports::ImportedFile& file = results.files[index];
    if (!file.original.empty()) {
      keep(file.original, OriginalPath(file.digest.ToHex()), &file.digest);
      keep(file.samples, OriginalSamplesPath(file.digest.ToHex()), nullptr);
    }
  }
}

absl::Status CheckNames(const char* field, const std::vector<std::string>& names) {
  std::set<absl::string_view> seen;
  for (const std::string& name : names) {
    bool is_line = !name.empty() && name.size() <= imports::kNameBytesMax + 100;
    for (const char c : name) {
      is_line = is_line && static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
    }
    if (!is_line || !seen.insert(name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("sweep.json: spec.", field, ": \"", name.substr(0, 60),
                       "\": expected different names of one line each"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string OriginalPath(absl::string_view sha256) {
  return absl::StrCat("originals/", sha256, ".json");
}

std::string OriginalSamplesPath(absl::string_view sha256) {
  return absl::StrCat("originals/", sha256, "_samples.jsonl");
}

absl::StatusOr<SweepSpec> ImportedSpec(const v1::SweepSpec& proto) {
  SweepSpec spec;
  spec.name = proto.name();
  std::vector<std::string> approaches;
  std::vector<std::string> benchmarks;
  for (const v1::Approach& from : proto.approaches()) {
    ApproachSpec approach;
    approach.name = from.name();
    approach.tags.insert(from.tags().begin(), from.tags().end());
    approaches.push_back(from.name());
    spec.approaches.push_back(std::move(approach));
  }
  for (const v1::Benchmark& from : proto.benchmarks()) {
    BenchmarkSpec benchmark;
    benchmark.name = from.name();
    benchmark.tags.insert(from.tags().begin(), from.tags().end());
    benchmark.format = DataFormat::kFile;
    benchmark.metric = from.metric();
    CONCUR_ASSIGN_OR_RETURN(benchmark.meaning, MeaningFrom(from));
    benchmarks.push_back(from.name());
    spec.benchmarks.push_back(std::move(benchmark));
  }
  CONCUR_RETURN_IF_ERROR(CheckNames("approaches", approaches));
  CONCUR_RETURN_IF_ERROR(CheckNames("benchmarks", benchmarks));
  spec.seeds.assign(proto.seeds().begin(), proto.seeds().end());
  for (size_t i = 0; i < spec.seeds.size(); ++i) {
    if (spec.seeds[i] != static_cast<int64_t>(i) + 1) {
      return absl::InvalidArgumentError(
          "sweep.json: spec.seeds: expected 1, 2, … in a bundle of imported results");
    }
  }
  spec.evaluate_on = EvaluateOn::kAll;
  spec.select = Selection::kDefault;
  return spec;
}

absl::StatusOr<Study> StudyOfImport(imports::ImportedResults& results, const std::string& name) {
  const uint64_t seeds = results.seeds;
  const uint64_t tasks = results.tasks.size();
  if (IndexOfCell(results.models.size(), 0, 0, seeds, tasks) > kJobsMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected at most ", kJobsMax, " places for scores, got ", results.models.size(),
        " models × ", tasks, " tasks × ", seeds, " runs; import a part of them"));
  }
  Study study;
  study.sweep.set_id(kImportedSweep);
  study.sweep.set_name(name);
  study.sweep.set_owner("import");
  study.sweep.set_state(v1::Sweep::STATE_SUCCEEDED);
  study.sweep.set_cell_count(static_cast<uint32_t>(results.models.size() * seeds));
  study.sweep.mutable_counts()->set_succeeded(static_cast<uint32_t>(results.cells.size()));
  SetSpec(results, study.sweep);
  CONCUR_ASSIGN_OR_RETURN(study.spec, ImportedSpec(study.sweep.spec()));
  KeepOriginals(results, study);
  // Shared by the study and its copies, which read it only.
  const auto examples = std::make_shared<std::map<Digest, std::string>>();
  study.jobs.reserve(results.cells.size());
  for (const imports::ImportedCell& cell : results.cells) {
    imports::ImportedRun& imported = results.runs[cell.run];
    v1::Job job;
    job.set_id(absl::StrCat(kImportedSweep, "/",
                            IndexOfCell(cell.model, cell.seed, cell.task, seeds, tasks)));
    job.set_kind(v1::Job::KIND_EVAL);
    job.set_state(v1::Job::STATE_SUCCEEDED);
    job.set_approach(results.models[cell.model].name);
    job.set_test_benchmark(results.tasks[cell.task].name);
    job.set_seed(cell.seed + 1);
    SetResult(imported.run, job);
    SetExamples(imported.run, results.tasks[cell.task].meaning.goal, *examples, job);
    study.sources += SourceLine(job.id(), job.approach(), job.test_benchmark(), imported.run,
                                results.files[imported.file]);
    study.jobs.push_back(std::move(job));
    imported.run = imports::Run();  // a written run is not kept twice
  }
  std::vector<imports::ImportedRun>().swap(results.runs);
  std::vector<imports::ImportedFile>().swap(results.files);
  study.read_artifact = [examples](const Digest& digest) -> absl::StatusOr<std::string> {
    const auto found = examples->find(digest);
    if (found == examples->end()) {
      return absl::NotFoundError("no such per-example scores");
    }
    return found->second;
  };
  return study;
}

absl::StatusOr<v1::ImportSweepRequest> ImportRequestOf(const Study& study) {
  CONCUR_RETURN_IF_ERROR(CheckImportedJobs(study));
  v1::ImportSweepRequest request;
  *request.mutable_spec() = study.sweep.spec();
  request.mutable_spec()->clear_imported();
  const std::vector<absl::string_view> lines = absl::StrSplit(study.sources, '\n');
  for (size_t i = 0; i < study.jobs.size(); ++i) {
    const v1::Job& job = study.jobs[i];
    const std::string index = job.id().substr(job.id().rfind('/') + 1);
    uint32_t number = 0;
    CONCUR_CHECK(absl::SimpleAtoi(index, &number));
    v1::ImportedResult& imported = *request.add_results();
    imported.set_job(number);
    *imported.mutable_result() = job.result();
    SourceJson source = SourceJson::parse(lines[i], nullptr, /*allow_exceptions=*/false);
    source.erase("job");
    SetSeconds(source, *imported.mutable_result());
    std::string text = SourceText(source);
    while (text.size() > kMessageBytesMax && source.contains("metrics") &&
           source["metrics"].is_array() && !source["metrics"].empty()) {
      source["metrics"].erase(source["metrics"].size() - 1);
      source["metrics_left_out"] =
          job.result().metrics_size() - static_cast<int>(source["metrics"].size());
      text = SourceText(source);
    }
    imported.mutable_result()->set_message(std::move(text));
  }
  return request;
}

void TakeSources(Study& study) {
  std::erase_if(study.jobs,
                [](const v1::Job& job) { return job.state() != v1::Job::STATE_SUCCEEDED; });
  for (v1::Job& job : study.jobs) {
    SourceJson source;
    source["job"] = job.id();
    const SourceJson told =
        SourceJson::parse(job.result().message(), nullptr, /*allow_exceptions=*/false);
    if (told.is_object()) {
      source.update(told);
    } else {  // another program imported it
      source["source"] = job.result().message();
    }
    source["job"] = job.id();
    absl::StrAppend(&study.sources, SourceText(source), "\n");
    job.mutable_result()->clear_message();
  }
}

absl::Status CheckImportedJobs(const Study& study) {
  std::map<absl::string_view, uint64_t> approaches;
  std::map<absl::string_view, uint64_t> benchmarks;
  for (const ApproachSpec& approach : study.spec.approaches) {
    approaches.emplace(approach.name, approaches.size());
  }
  for (const BenchmarkSpec& benchmark : study.spec.benchmarks) {
    benchmarks.emplace(benchmark.name, benchmarks.size());
  }
  const std::vector<absl::string_view> lines = absl::StrSplit(study.sources, '\n');
  if (lines.size() != study.jobs.size() + 1) {
    return absl::DataLossError(absl::StrCat("sources.jsonl: expected ", study.jobs.size(),
                                            " lines, one for each job, got ", lines.size() - 1));
  }
  std::optional<uint64_t> last;
  for (size_t i = 0; i < study.jobs.size(); ++i) {
    const v1::Job& job = study.jobs[i];
    const auto approach = approaches.find(job.approach());
    const auto benchmark = benchmarks.find(job.test_benchmark());
    const auto seeds = static_cast<int64_t>(study.spec.seeds.size());
    if (approach == approaches.end() || benchmark == benchmarks.end() || job.seed() < 1 ||
        job.seed() > seeds || job.kind() != v1::Job::KIND_EVAL) {
      return absl::DataLossError(absl::StrCat(
          "jobs.jsonl:", i + 1, ": expected an eval job of the sweep's approaches and benchmarks"));
    }
    const uint64_t index =
        IndexOfCell(approach->second, static_cast<uint64_t>(job.seed() - 1), benchmark->second,
                    static_cast<uint64_t>(seeds), benchmarks.size());
    if (job.id() != absl::StrCat(study.sweep.id(), "/", index) || (last && index <= *last)) {
      return absl::DataLossError(absl::StrCat("jobs.jsonl:", i + 1, ": id: expected ",
                                              study.sweep.id(), "/", index, ", each once, got ",
                                              job.id()));
    }
    last = index;
    const SourceJson source = SourceJson::parse(lines[i], nullptr, /*allow_exceptions=*/false);
    if (!source.is_object() || !source.contains("job") || source["job"] != job.id()) {
      return absl::DataLossError(
          absl::StrCat("sources.jsonl:", i + 1, ": job: expected ", job.id()));
    }
  }
  return absl::OkStatus();
}

}  // namespace concur::cli
