#include "cli/bundle_files.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "analysis/bootstrap.h"
#include "analysis/comparison.h"
#include "analysis/correlation.h"
#include "analysis/csv.h"
#include "analysis/matrix.h"
#include "analysis/table.h"
#include "analysis/writers.h"
#include "base/status_macros.h"
#include "cli/render.h"
#include "core/expansion.h"
#include "core/params.h"
#include "qa/example_scores.h"
#include "rpc/convert_sweep.h"
#include "rpc/convert_value.h"

namespace concur::cli {
namespace {

// JSON of a message with its keys in order: the library writes maps in any.
std::string MessageJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  (void)google::protobuf::util::MessageToJsonString(message, &text, options);
  return nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false)
      .dump(-1, ' ', false, nlohmann::detail::error_handler_t::replace);
}

absl::Status ParseMessage(absl::string_view text, absl::string_view place,
                          google::protobuf::Message& message) {
  const auto status = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(text.data(), text.size()), &message);
  if (!status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        place, ": ", absl::string_view(status.message().data(), status.message().size())));
  }
  return absl::OkStatus();
}

std::string TrainName(const SweepSpec& spec, const Block& block) {
  return block.train_set == kNoTrainSet ? "" : spec.train_sets[block.train_set].name;
}

// One line for each job that the spec implies.
absl::StatusOr<std::string> CellsCsv(const v1::SweepSpec& proto) {
  CONCUR_ASSIGN_OR_RETURN(SweepSpec spec, rpc::FromProto(proto));
  CONCUR_ASSIGN_OR_RETURN(const Expansion expansion, Expansion::Make(std::move(spec)));
  std::string text = "index,kind,approach,train,test,setting,seed,values\n";
  for (uint32_t index = 0; index < expansion.job_count(); ++index) {
    const JobCoordinates at = expansion.Locate(index);
    const Block& block = expansion.blocks()[at.block];
    absl::StrAppend(
        &text, index, ",", at.is_train ? "train" : "eval", ",",
        analysis::CsvField(expansion.spec().approaches[block.approach].name), ",",
        analysis::CsvField(TrainName(expansion.spec(), block)), ",",
        at.is_train ? "" : analysis::CsvField(expansion.spec().benchmarks[at.test_benchmark].name));
    absl::StrAppend(
        &text, ",", at.setting, ",", expansion.spec().seeds[at.seed_index], ",",
        analysis::CsvField(concur::SettingText(expansion.Settings(block.approach)[at.setting])),
        "\n");
  }
  return text;
}

std::string ScoresLongCsv(const Study& study) {
  std::string text =
      "job,approach,train,test,setting,seed,state,metric,value,examples,per_example\n";
  for (const v1::Job& job : study.jobs) {
    if (job.kind() != v1::Job::KIND_EVAL) {
      continue;
    }
    const std::string head = absl::StrJoin(
        {job.id(), analysis::CsvField(job.approach()), analysis::CsvField(job.train_set()),
         analysis::CsvField(job.test_benchmark()), absl::StrCat(job.setting_index()),
         absl::StrCat(job.seed()), StateText(job.state())},
        ",");
    const std::optional<Digest> examples = ExamplesOf(job);
    const std::string path = examples.has_value() ? ExamplesPath(*examples) : "";
    if (job.state() != v1::Job::STATE_SUCCEEDED || job.result().metrics().empty()) {
      absl::StrAppend(&text, head, ",,,,", path, "\n");
      continue;
    }
    for (const v1::Metric& metric : job.result().metrics()) {
      absl::StrAppend(&text, head, ",", analysis::CsvField(metric.name()), ",",
                      analysis::ShortestDecimal(metric.value()), ",", metric.examples(), ",", path,
                      "\n");
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

absl::StatusOr<std::string> ComparisonsJson(const Study& study, const BundleOptions& options) {
  analysis::ComparisonOptions comparison;
  comparison.bootstrap = BootstrapFor(options);
  if (options.level == 0) {
    comparison.bootstrap.level = 0.95;
  }
  CONCUR_ASSIGN_OR_RETURN(const std::vector<analysis::ExampleTable> tables,
                          ExampleTablesOf(study, "", "", {}));
  CONCUR_ASSIGN_OR_RETURN(const std::vector<analysis::BenchmarkComparison> comparisons,
                          CompareAll(tables, comparison));
  return analysis::WriteTable(analysis::ComparisonTable(comparisons, comparison),
                              analysis::TableFormat::kJson);
}

absl::Status Lost(absl::string_view what) { return absl::DataLossError(what); }

// What a job says of itself and what the spec implies for its index.
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
                          rpc::FromProto(job.setting(), rpc::FieldPath(job.id()), "setting"));
  const std::vector<std::pair<const char*, std::pair<std::string, std::string>>> fields = {
      {"kind", {at.is_train ? "train" : "eval", KindText(job.kind())}},
      {"approach", {spec.approaches[block.approach].name, job.approach()}},
      {"train_set", {TrainName(spec, block), job.train_set()}},
      {"test_benchmark",
       {at.is_train ? "" : spec.benchmarks[at.test_benchmark].name, job.test_benchmark()}},
      {"setting_index", {absl::StrCat(at.setting), absl::StrCat(job.setting_index())}},
      {"setting",
       {concur::SettingText(expansion.Settings(block.approach)[at.setting]),
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

// The metrics of a job and its per-example scores.
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
  for (const v1::Metric& metric : job.result().metrics()) {
    std::optional<double> expected;
    if (metric.name() == "exact_match") {
      expected = qa::ExactMatchPercent(examples);
    } else if (metric.name() == "f1") {
      expected = qa::F1Percent(examples);
    }
    if (expected.has_value() && *expected != metric.value()) {
      return Lost(absl::StrCat("jobs.jsonl: ", job.id(), ": ", metric.name(), ": expected ",
                               analysis::ShortestDecimal(*expected), " from ",
                               ExamplesPath(*digest), ", got ",
                               analysis::ShortestDecimal(metric.value())));
    }
    if (expected.has_value() && metric.examples() != static_cast<int64_t>(examples.size())) {
      return Lost(absl::StrCat("jobs.jsonl: ", job.id(), ": ", metric.name(), ": expected ",
                               examples.size(), " examples, got ", metric.examples()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string ExamplesPath(const Digest& digest) {
  return absl::StrCat("examples/", digest.ToHex(), ".jsonl");
}

BundleFiles PrimaryFiles(const Study& study) {
  BundleFiles files;
  files["sweep.json"] = MessageJson(study.sweep) + "\n";
  std::string& jobs = files["jobs.jsonl"];
  for (const v1::Job& job : study.jobs) {
    absl::StrAppend(&jobs, MessageJson(job), "\n");
  }
  return files;
}

absl::StatusOr<Study> ParsePrimaryFiles(const std::string& sweep_json,
                                        const std::string& jobs_jsonl) {
  Study study;
  CONCUR_RETURN_IF_ERROR(ParseMessage(sweep_json, "sweep.json", study.sweep));
  int line = 0;
  for (const absl::string_view text : absl::StrSplit(jobs_jsonl, '\n')) {
    ++line;
    if (text.empty()) {
      continue;
    }
    v1::Job job;
    CONCUR_RETURN_IF_ERROR(ParseMessage(text, absl::StrCat("jobs.jsonl:", line), job));
    study.jobs.push_back(std::move(job));
  }
  return study;
}

absl::StatusOr<BundleFiles> DerivedFiles(const Study& study, const BundleOptions& options) {
  BundleFiles files;
  CONCUR_ASSIGN_OR_RETURN(files["cells.csv"], CellsCsv(study.sweep.spec()));
  files["scores.csv"] = ScoresLongCsv(study);
  CONCUR_ASSIGN_OR_RETURN(const analysis::ScoreTable table, ScoreTableOf(study, "", ""));
  files["table.csv"] = analysis::ScoresCsv(table);
  files["table.json"] = analysis::ScoresJson(table);
  if (table.benchmarks().size() >= 2) {
    for (const analysis::Coefficient coefficient :
         {analysis::Coefficient::kKendall, analysis::Coefficient::kPearson,
          analysis::Coefficient::kSpearman}) {
      analysis::MatrixOptions matrix_options;
      matrix_options.coefficient = coefficient;
      if (options.level > 0) {
        matrix_options.bootstrap = BootstrapFor(options);
      }
      CONCUR_ASSIGN_OR_RETURN(const analysis::ConcurrenceMatrix matrix,
                              analysis::ComputeMatrix(table, matrix_options));
      files[absl::StrCat("matrix-", analysis::CoefficientName(coefficient), ".json")] =
          analysis::MatrixJson(matrix);
    }
  }
  CONCUR_ASSIGN_OR_RETURN(files["comparisons.json"], ComparisonsJson(study, options));
  return files;
}

absl::Status CheckJobs(const Study& study) {
  CONCUR_ASSIGN_OR_RETURN(SweepSpec spec, rpc::FromProto(study.sweep.spec()));
  CONCUR_ASSIGN_OR_RETURN(const Expansion expansion, Expansion::Make(std::move(spec)));
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
