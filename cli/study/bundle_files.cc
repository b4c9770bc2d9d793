// SPDX-License-Identifier: Apache-2.0
#include "cli/study/bundle_files.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
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
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "analysis/bootstrap.h"
#include "analysis/comparison/comparison.h"
#include "analysis/comparison/parts.h"
#include "analysis/concurrence/matrix.h"
#include "analysis/statistics/correlation.h"
#include "base/decimal.h"
#include "base/status_macros.h"
#include "cli/output/print.h"
#include "cli/output/render.h"
#include "cli/study/example_runs.h"
#include "cli/study/imported_study.h"
#include "core/fields.h"
#include "core/sweep/expansion.h"
#include "core/sweep/params.h"
#include "proto/rpc/convert_sweep.h"
#include "proto/rpc/convert_value.h"
#include "qa/example_scores.h"
#include "qa/json_text.h"
#include "report/comparison_tables.h"
#include "report/table.h"
#include "report/writers.h"

namespace concur::cli {
namespace {

using analysis::IntegerCell;
using analysis::TextCell;

// JSON of a message with sorted keys: protobuf writes maps in no particular order.
std::string MessageJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  (void)google::protobuf::util::MessageToJsonString(message, &text, options);
  return nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false)
      .dump(-1, ' ', false, nlohmann::detail::error_handler_t::replace);
}

// `line` of `file` is the first one of `text`.
absl::Status ParseMessage(absl::string_view text, absl::string_view file, int64_t line,
                          google::protobuf::Message& message) {
  const auto status = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(text.data(), text.size()), &message);
  if (!status.ok()) {
    const std::string not_json = qa::ExplainJsonError(text, line);
    return absl::InvalidArgumentError(
        not_json.empty()
            ? absl::StrCat(file, ":", line, ": expected what concur bundle write makes: ",
                           absl::StrReplaceAll(
                               absl::string_view(status.message().data(), status.message().size()),
                               {{": Cannot find field.", ": no such field"}, {"\n", " "}}))
            : absl::StrCat(file, ": expected JSON: ", not_json));
  }
  return absl::OkStatus();
}

// A whole number as protobuf writes one of 64 bits: as text.
bool ReadWhole(const nlohmann::json& json, int64_t& value) {
  return json.is_string() && absl::SimpleAtoi(json.get_ref<const std::string&>(), &value);
}

bool ReadPlainMetric(const nlohmann::json& json, v1::Metric& metric) {
  for (const auto& [name, value] : json.items()) {
    int64_t examples = 0;
    if (name == "name" && value.is_string()) {
      metric.set_name(value.get_ref<const std::string&>());
    } else if (name == "value" && value.is_number()) {
      metric.set_value(value.get<double>());
    } else if (name == "examples" && ReadWhole(value, examples)) {
      metric.set_examples(examples);
    } else {
      return false;
    }
  }
  return json.is_object();
}

// Reads a line of imported scores without per-example ones, of which there are a hundred thousand,
// in a fifth of the time that protobuf's reader takes. False for any other line, which that reader
// then judges.
bool ReadPlainJob(absl::string_view text, v1::Job& job) {
  const nlohmann::json json =
      nlohmann::json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return false;
  }
  for (const auto& [name, value] : json.items()) {
    int64_t seed = 0;
    if (name == "id" && value.is_string()) {
      job.set_id(value.get_ref<const std::string&>());
    } else if (name == "approach" && value.is_string()) {
      job.set_approach(value.get_ref<const std::string&>());
    } else if (name == "test_benchmark" && value.is_string()) {
      job.set_test_benchmark(value.get_ref<const std::string&>());
    } else if (name == "kind" && value == "KIND_EVAL") {
      job.set_kind(v1::Job::KIND_EVAL);
    } else if (name == "state" && value == "STATE_SUCCEEDED") {
      job.set_state(v1::Job::STATE_SUCCEEDED);
    } else if (name == "seed" && ReadWhole(value, seed)) {
      job.set_seed(seed);
    } else if (name == "result" && value.is_object() && value.size() == 2 &&
               value.value("succeeded", false) && value.contains("metrics") &&
               value["metrics"].is_array()) {
      job.mutable_result()->set_succeeded(true);
      for (const nlohmann::json& metric : value["metrics"]) {
        if (!ReadPlainMetric(metric, *job.mutable_result()->add_metrics())) {
          return false;
        }
      }
    } else {
      return false;
    }
  }
  return true;
}

std::string TrainName(const SweepSpec& spec, const Block& block) {
  return block.train_set == kNoTrainSet ? "" : spec.train_sets[block.train_set].name;
}

// One line for each job that the spec implies.
absl::StatusOr<std::string> CellsCsv(const SweepSpec& spec) {
  CONCUR_ASSIGN_OR_RETURN(const Expansion expansion, Expansion::Make(spec));
  std::string text = analysis::CsvLine(
      TextCells({"index", "kind", "approach", "train", "test", "setting", "seed", "values"}));
  for (uint32_t index = 0; index < expansion.job_count(); ++index) {
    const JobCoordinates at = expansion.Locate(index);
    const Block& block = expansion.blocks()[at.block];
    text += analysis::CsvLine(
        {IntegerCell(index), TextCell(at.is_train ? "train" : "eval"),
         TextCell(expansion.spec().approaches[block.approach].name),
         TextCell(TrainName(expansion.spec(), block)),
         TextCell(at.is_train ? "" : expansion.spec().benchmarks[at.test_benchmark].name),
         IntegerCell(at.setting), IntegerCell(expansion.spec().seeds[at.seed_index]),
         TextCell(concur::SettingText(expansion.SettingOf(at.block, at.setting)))});
  }
  return text;
}

std::string ScoresLongCsv(const Study& study) {
  std::string text =
      analysis::CsvLine(TextCells({"job", "approach", "train", "test", "setting", "seed", "state",
                                   "metric", "value", "examples", "per_example"}));
  for (const v1::Job& job : study.jobs) {
    if (job.kind() != v1::Job::KIND_EVAL) {
      continue;
    }
    const std::optional<Digest> examples = ExamplesOf(job);
    const auto line = [&](const std::string& test, const std::string& metric,
                          const analysis::TableCell& value, const analysis::TableCell& count) {
      return analysis::CsvLine({TextCell(job.id()), TextCell(job.approach()),
                                TextCell(job.train_set()), TextCell(test),
                                IntegerCell(job.setting_index()), IntegerCell(job.seed()),
                                TextCell(StateText(job.state())), TextCell(metric), value, count,
                                TextCell(examples.has_value() ? ExamplesPath(*examples) : "")});
    };
    if (job.state() != v1::Job::STATE_SUCCEEDED || job.result().metrics().empty()) {
      text += line(job.test_benchmark(), "", {}, {});
      continue;
    }
    const auto lines = [&](const std::string& test, const auto& metrics) {
      for (const v1::Metric& metric : metrics) {
        text += line(test, metric.name(), analysis::NumberCell(metric.value()),
                     IntegerCell(metric.examples()));
      }
    };
    lines(job.test_benchmark(), job.result().metrics());
    for (const v1::Part& part : job.result().parts()) {
      lines(analysis::PartColumn(job.test_benchmark(), part.name()), part.metrics());
    }
  }
  return text;
}

analysis::BootstrapOptions BootstrapFor(const BundleOptions& options) {
  analysis::BootstrapOptions bootstrap;
  bootstrap.level = options.level;
  bootstrap.replicates = options.replicates;
  bootstrap.seed = options.seed;
  return bootstrap;
}

// The benchmarks of imported results that are compared pair by pair: those with per-example scores
// of few approaches. "concur significance" does any.
std::vector<std::string> ComparedBenchmarks(const Study& study) {
  constexpr size_t kApproachesComparedMax = 20;
  std::map<std::string, std::set<std::string>> approaches;
  for (const v1::Job& job : study.jobs) {
    if (ExamplesOf(job).has_value()) {
      approaches[job.test_benchmark()].insert(job.approach());
    }
  }
  std::vector<std::string> names;
  for (const auto& [benchmark, with_examples] : approaches) {
    if (with_examples.size() <= kApproachesComparedMax) {
      names.push_back(benchmark);
    }
  }
  return names;
}

// The columns of the study's table whose approaches have scores of the same examples.
absl::StatusOr<std::vector<std::string>> ComparableColumns(const Study& study) {
  CONCUR_ASSIGN_OR_RETURN(const analysis::ScoreTable table, ScoreTableOf(study, ""));
  std::vector<std::string> columns;
  for (const analysis::AxisEntry& benchmark : table.benchmarks()) {
    if (ExampleRunsOf(study, "", {}, {benchmark.name}).ok()) {
      columns.push_back(benchmark.name);
    }
  }
  return columns;
}

absl::StatusOr<std::string> ComparisonsJson(const Study& study, const BundleOptions& options) {
  analysis::ComparisonOptions comparison;
  comparison.bootstrap = BootstrapFor(options);
  if (options.level == 0) {
    comparison.bootstrap.level = 0.95;
  }
  std::vector<std::string> columns;
  if (study.imported()) {
    columns = ComparedBenchmarks(study);
    if (columns.empty()) {
      return analysis::WriteTable(analysis::ComparisonTable({}, comparison),
                                  analysis::TableFormat::kJson);
    }
  }
  absl::StatusOr<analysis::ExampleRuns> found = ExampleRunsOf(study, "", {}, columns);
  if (absl::IsInvalidArgument(found.status()) && columns.empty()) {
    CONCUR_ASSIGN_OR_RETURN(columns, ComparableColumns(study));
    found = columns.empty() ? analysis::ExampleRuns() : ExampleRunsOf(study, "", {}, columns);
  }
  CONCUR_ASSIGN_OR_RETURN(const analysis::ExampleRuns runs, std::move(found));
  CONCUR_ASSIGN_OR_RETURN(const std::vector<analysis::BenchmarkComparison> comparisons,
                          CompareAll(analysis::MeansOverRuns(runs), comparison));
  return analysis::WriteTable(analysis::ComparisonTable(comparisons, comparison),
                              analysis::TableFormat::kJson);
}

absl::Status Lost(absl::string_view what) { return absl::DataLossError(what); }

// Compares a job's fields with those that the spec implies for its index.
absl::Status CheckJob(const v1::Job& job, const Expansion& expansion) {
  const std::vector<std::string> parts = absl::StrSplit(job.id(), '/');
  uint32_t index = 0;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[1], &index) || index >= expansion.job_count()) {
    return Lost(absl::StrCat("jobs.jsonl: ", job.id(), ": the sweep has no such job; it has ",
                             expansion.job_count()));
  }
  const JobCoordinates at = expansion.Locate(index);
  const Block& block = expansion.blocks()[at.block];
  const SweepSpec& spec = expansion.spec();
  CONCUR_ASSIGN_OR_RETURN(const Setting setting,
                          rpc::FromProto(job.setting(), FieldPath(job.id()), "setting"));
  const std::vector<std::pair<const char*, std::pair<std::string, std::string>>> fields = {
      {"kind", {at.is_train ? "train" : "eval", KindText(job.kind())}},
      {"approach", {spec.approaches[block.approach].name, job.approach()}},
      {"train_set", {TrainName(spec, block), job.train_set()}},
      {"test_benchmark",
       {at.is_train ? "" : spec.benchmarks[at.test_benchmark].name, job.test_benchmark()}},
      {"setting_index", {absl::StrCat(at.setting), absl::StrCat(job.setting_index())}},
      {"setting",
       {concur::SettingText(expansion.SettingOf(at.block, at.setting)),
        concur::SettingText(setting)}},
      {"seed", {absl::StrCat(spec.seeds[at.seed_index]), absl::StrCat(job.seed())}}};
  for (const auto& [name, values] : fields) {
    if (values.first != values.second) {
      return Lost(absl::StrCat("jobs.jsonl: ", job.id(), ": ", name, ": expected \"", values.first,
                               "\" by the sweep's spec, got \"", values.second, "\""));
    }
  }
  return absl::OkStatus();
}

// Compares the metrics of a job with its per-example scores.
absl::Status CheckMetrics(const v1::Job& job, const Study& study) {
  const std::optional<Digest> digest = ExamplesOf(job);
  if (!digest.has_value()) {
    return absl::OkStatus();
  }
  const absl::StatusOr<std::string> text = study.read_artifact(*digest);
  if (absl::IsNotFound(text.status())) {
    return absl::OkStatus();  // not kept when the bundle was made; listed in bundle.json
  }
  CONCUR_RETURN_IF_ERROR(text.status());
  CONCUR_ASSIGN_OR_RETURN(const std::vector<qa::ExampleScore> examples,
                          qa::ParseExampleScores(*text, ExamplesPath(*digest)));
  const BenchmarkSpec* benchmark = BenchmarkNamed(study.spec, job.test_benchmark());
  if (benchmark == nullptr || !IsQa(benchmark->format)) {
    return absl::OkStatus();  // each analysis asks by itself about a program's own metrics
  }
  for (const v1::Metric& metric : job.result().metrics()) {
    std::optional<double> expected;
    if (metric.name() == "exact_match") {
      expected = qa::ExactMatchPercent(examples);
    } else if (metric.name() == "f1") {
      expected = qa::F1Percent(examples);
    }
    if (expected.has_value() && *expected != metric.value()) {
      return Lost(absl::StrCat("jobs.jsonl: ", job.id(), ": ", metric.name(), ": expected ",
                               ShortestDecimal(*expected), " from ", ExamplesPath(*digest),
                               ", got ", ShortestDecimal(metric.value())));
    }
    if (expected.has_value() && metric.examples() != static_cast<int64_t>(examples.size())) {
      return Lost(absl::StrCat("jobs.jsonl: ", job.id(), ": ", metric.name(), ": expected ",
                               examples.size(), " examples, got ", metric.examples()));
    }
  }
  return absl::OkStatus();
}

// Checks what a job reported step by step, as the coordinator takes it: all of it, or none.
absl::Status CheckSteps(const v1::Job& job) {
  if (job.steps().empty()) {
    return absl::OkStatus();
  }
  if (static_cast<size_t>(job.steps_size()) != job.step_count()) {
    return Lost(absl::StrCat("jobs.jsonl: ", job.id(), ": steps: expected ", job.step_count(),
                             " by step_count, got ", job.steps_size()));
  }
  std::map<std::string, int64_t> latest;
  for (const v1::StepRecord& step : job.steps()) {
    const auto [it, is_first] = latest.try_emplace(step.name(), -1);
    if (step.step() <= it->second || !std::isfinite(step.value())) {
      return Lost(absl::StrCat("jobs.jsonl: ", job.id(), ": steps: expected steps of ", step.name(),
                               " that grow, with finite values, got step ", step.step(), " after ",
                               it->second));
    }
    it->second = step.step();
  }
  return absl::OkStatus();
}

}  // namespace

std::string ExamplesPath(const Digest& digest) {
  return absl::StrCat("examples/", digest.ToHex(), ".jsonl");
}

int64_t JobLineBytes(const v1::Job& job) {
  return static_cast<int64_t>(MessageJson(job).size()) + 1;
}

BundleFiles PrimaryFiles(const Study& study) {
  BundleFiles files;
  files["sweep.json"] = MessageJson(study.sweep) + "\n";
  std::string& jobs = files["jobs.jsonl"];
  for (const v1::Job& job : study.jobs) {
    absl::StrAppend(&jobs, MessageJson(job), "\n");
  }
  if (study.imported()) {
    files[kSourcesFile] = study.sources;
  }
  return files;
}

absl::StatusOr<Study> ParsePrimaryFiles(const std::string& sweep_json,
                                        const std::string& jobs_jsonl, std::string sources) {
  Study study;
  study.sources = std::move(sources);
  CONCUR_RETURN_IF_ERROR(ParseMessage(sweep_json, "sweep.json", 1, study.sweep));
  if (study.imported()) {
    CONCUR_ASSIGN_OR_RETURN(study.spec, ImportedSpec(study.sweep.spec()));
  } else {
    CONCUR_ASSIGN_OR_RETURN(study.spec,
                            rpc::FromProto(study.sweep.spec(), FieldPath("sweep.json: spec")));
  }
  // No job has so short a line; empty ones are none.
  constexpr size_t kLineBytesMin = 64;
  study.jobs.reserve(
      std::min(static_cast<size_t>(std::count(jobs_jsonl.begin(), jobs_jsonl.end(), '\n')),
               jobs_jsonl.size() / kLineBytesMin));
  int64_t line = 0;
  for (const absl::string_view text : absl::StrSplit(jobs_jsonl, '\n')) {
    ++line;
    if (text.empty()) {
      continue;
    }
    v1::Job& job = study.jobs.emplace_back();
    if (!study.imported() || !ReadPlainJob(text, job)) {
      job.Clear();
      CONCUR_RETURN_IF_ERROR(ParseMessage(text, "jobs.jsonl", line, job));
    }
    CONCUR_RETURN_IF_ERROR(CheckSteps(job));
  }
  return study;
}

absl::StatusOr<BundleFiles> DerivedFiles(const Study& study, const BundleOptions& options) {
  BundleFiles files;
  if (!study.imported()) {  // whose cells are the scores that there are
    CONCUR_ASSIGN_OR_RETURN(files["cells.csv"], CellsCsv(study.spec));
  }
  files["scores.csv"] = ScoresLongCsv(study);
  CONCUR_ASSIGN_OR_RETURN(const analysis::ScoreTable table, ScoreTableOf(study, ""));
  files["table.csv"] = analysis::WriteScores(table, analysis::TableFormat::kCsv);
  files["table.json"] = analysis::WriteScores(table, analysis::TableFormat::kJson);
  if (table.benchmarks().size() >= 2 && table.benchmarks().size() <= kMatrixBenchmarksMax) {
    for (const analysis::Coefficient coefficient :
         {analysis::Coefficient::kKendall, analysis::Coefficient::kPearson,
          analysis::Coefficient::kSpearman}) {
      analysis::MatrixOptions matrix_options;
      matrix_options.coefficient = coefficient;
      matrix_options.p_values = options.p_values;
      if (options.level > 0) {
        matrix_options.bootstrap = BootstrapFor(options);
      }
      CONCUR_ASSIGN_OR_RETURN(analysis::ConcurrenceMatrix matrix,
                              analysis::ComputeMatrix(table, matrix_options));
      for (analysis::MatrixPair& pair : matrix.pairs) {
        pair.noise_free.reset();  // older bundles, whose bytes are compared, have none
      }
      files[absl::StrCat("matrix-", analysis::CoefficientName(coefficient), ".json")] =
          analysis::WriteMatrix(matrix, analysis::TableFormat::kJson);
    }
  }
  CONCUR_ASSIGN_OR_RETURN(files["comparisons.json"], ComparisonsJson(study, options));
  return files;
}

absl::Status CheckJobs(const Study& study) {
  if (study.imported()) {
    return CheckImportedJobs(study);
  }
  CONCUR_ASSIGN_OR_RETURN(const Expansion expansion, Expansion::Make(study.spec));
  if (study.jobs.size() != expansion.job_count()) {
    return Lost(absl::StrCat("jobs.jsonl: expected ", expansion.job_count(),
                             " jobs by the sweep's spec, got ", study.jobs.size()));
  }
  for (const v1::Job& job : study.jobs) {
    CONCUR_RETURN_IF_ERROR(CheckJob(job, expansion));
    CONCUR_RETURN_IF_ERROR(CheckMetrics(job, study));
  }
  return absl::OkStatus();
}

absl::Status FirstDifference(absl::string_view file, absl::string_view expected,
                             absl::string_view stored) {
  if (expected == stored) {
    return absl::OkStatus();
  }
  const size_t same = static_cast<size_t>(
      std::mismatch(
          expected.begin(),
          expected.begin() + static_cast<std::ptrdiff_t>(std::min(expected.size(), stored.size())),
          stored.begin())
          .first -
      expected.begin());
  const auto line =
      1 + std::count(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(same), '\n');
  // Some text before and after, within the line: enough to see which number it is.
  const auto around = [&](absl::string_view text) {
    constexpr size_t kBefore = 60;
    constexpr size_t kAfter = 24;
    const size_t line_break = same == 0 ? absl::string_view::npos : text.rfind('\n', same - 1);
    const size_t line_begin = line_break == absl::string_view::npos ? 0 : line_break + 1;
    const size_t begin = std::max(line_begin, same > kBefore ? same - kBefore : 0);
    const size_t end = std::min({text.size(), text.find('\n', same), same + kAfter});
    return end > begin ? text.substr(begin, end - begin) : absl::string_view("nothing");
  };
  return Lost(absl::StrCat(file, ":", line, ": column ",
                           same - (same == 0 ? 0 : expected.rfind('\n', same - 1) + 1) + 1,
                           ": expected ", around(expected), ", got ", around(stored)));
}

}  // namespace concur::cli
